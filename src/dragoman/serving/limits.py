"""What a server accepts; more is refused at once, with a reason."""

from typing import Annotated

from pydantic import Field

from dragoman.configfile import record

Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]


@record
class Limits:
    """Bounds of requests and of what waits.

    Args:
        connections: open at once; more are closed unanswered.
        requests: read, done or answered at once.
        head_bytes: of a request line and its headers.
        body_bytes: of a request.
        body_seconds: the head of a request may take to arrive, and its body as long again; so long
            may a client read nothing of its answer, too.
        unsent_bytes: of large answers together that clients have not yet read.
        text_characters: of one text.
        pair_characters: of a source and its target together, where a model reads them in one
            piece: scores, attention, alternatives. Time and memory grow with the square.
        attention_weights: in one answer, of all layers and heads.
        texts: in one request.
        waiting_characters: of all texts that were accepted and are not yet translated.
        seconds: an answer may take, waiting included.
        beam: hypotheses kept.
        requests_per_minute: of one client, told apart by its key or else its address; None is no
            limit.
    """

    connections: Count = 800  # a process may often have no more than 1,024 files open
    requests: Count = 400
    head_bytes: Count = 64_000
    body_bytes: Count = 1_000_000
    body_seconds: Seconds = 10.0
    unsent_bytes: Count = 200_000_000
    text_characters: Count = 20_000
    pair_characters: Count = 2_000
    attention_weights: Count = 2_000_000
    texts: Count = 200
    waiting_characters: Count = 500_000
    seconds: Seconds = 60.0
    beam: Count = 16
    requests_per_minute: Count | None = None
