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
        body_bytes: of a request.
        body_seconds: a request may take to arrive.
        text_characters: of one text.
        attention_characters: of both texts together whose attention is asked for.
        texts: in one request.
        waiting_characters: of all texts that were accepted and are not yet translated.
        seconds: an answer may take, waiting included.
        beam: hypotheses kept.
        requests_per_minute: of one client, told apart by its key or else its address; None is no
            limit.
    """

    body_bytes: Count = 1_000_000
    body_seconds: Seconds = 10.0
    text_characters: Count = 20_000
    attention_characters: Count = 3_000
    texts: Count = 200
    waiting_characters: Count = 500_000
    seconds: Seconds = 60.0
    beam: Count = 16
    requests_per_minute: Count | None = None
