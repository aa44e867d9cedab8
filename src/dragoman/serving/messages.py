"""What requests and answers of the own interface hold; the page of OpenAPI is made from these."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _unicode(text: str) -> str:
    """See that a string is Unicode text: JSON can write half a surrogate pair.

    Raises:
        ValueError: it holds one.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"character {error.start} is half of a surrogate pair") from None
    return text


Text = Annotated[str, AfterValidator(_unicode)]
Span = Annotated[list[int], Field(min_length=2, max_length=2)]  # first character, one past


class Asked(BaseModel):
    """A request; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", strict=True)

    model: Text | None = Field(None, description="Name of a model; the first unless given.")
    target_language: Text | None = Field(
        None, description="What to translate into, for a model of several languages."
    )


class TranslateRequest(Asked):
    """Texts to translate."""

    text: Text | list[Text] = Field(description="One text, or several.")
    beam: int = Field(4, ge=1, description="Hypotheses kept; 1 is greedy.")
    alpha: float = Field(0.6, ge=-10, le=10, description="Exponent of the length penalty.")
    n_best: int = Field(1, ge=1, description="Translations of each text, at most beam.")
    max_length: int | None = Field(None, ge=1, le=10_000, description="Most pieces of one.")
    sentences: bool = Field(False, description="Translate sentence by sentence.")
    stream: bool = Field(
        False, description="Answer with a line of JSON for each sentence, as it comes; one text."
    )


class Hypothesis(BaseModel):
    """One translation of a text."""

    text: str
    score: float = Field(description="log_prob over length_penalty.")
    log_prob: float = Field(description="Natural logarithm of its probability.")
    length: int = Field(description="Pieces, the end symbol included.")
    length_penalty: float | None = Field(description="None of a text translated in parts.")
    tokens: list[str]
    token_ids: list[list[int]] = Field(
        description="Ids of the tokens, a list for each part that was translated on its own."
    )
    token_log_probs: list[float]
    truncated: bool = Field(description="It reached the length limit before it ended.")


class Translated(BaseModel):
    """What became of one text."""

    text: str = Field(description="The best translation.")
    hypotheses: list[Hypothesis] = Field(description="Best first.")
    copied: bool = Field(description="Blank or without letters: given back as it came.")
    flags: list[str] = Field(description="What looks wrong with the best.")
    parts: int = Field(description="In how many parts it was translated.")
    source_ids: list[list[int]] = Field(
        description="Ids that were read, a list for each part; none where text was copied."
    )
    error: str = Field(description="Why there is no translation.")


class TranslateResponse(BaseModel):
    """Translations in the order of the texts."""

    model: str
    translations: list[Translated]


class ScoreRequest(Asked):
    """Pairs to score."""

    source: list[Text]
    target: list[Text]


class Scored(BaseModel):
    """How probable a target is."""

    log_prob: float
    token_log_probs: list[float]


class ScoreResponse(BaseModel):
    """Scores in the order of the pairs."""

    model: str
    scores: list[Scored]


class AttentionRequest(Asked):
    """A pair whose attention is asked for, each side as text or as ids."""

    source: Text | None = Field(None, description="Text, read as one segment.")
    source_ids: list[int] | None = Field(
        None, description="Instead: ids that a part was read by, that of a language included."
    )
    target: Text | None = Field(None, description="Text, cut into pieces anew.")
    target_ids: list[int] | None = Field(
        None, description="Instead: ids that a translation of that part was written by."
    )


class AttentionResponse(BaseModel):
    """Weights of every layer and head; each row sums to 1."""

    model: str
    note: str = Field(
        description="In what this model differs from what translates, if in anything."
    )
    source: str = Field(description="The text that source_spans are about.")
    target: str = Field(description="The text that target_spans and written_spans are about.")
    source_pieces: list[str] = Field(description="Rows and columns of encoder, columns of cross.")
    target_pieces: list[str] = Field(description="As read: columns of decoder, start symbol first.")
    written_pieces: list[str] = Field(description="As written: rows of decoder and cross.")
    source_spans: list[Span | None] = Field(
        description="The characters a piece stands for, first and one past; null of other symbols."
    )
    target_spans: list[Span | None]
    written_spans: list[Span | None]
    encoder: list[list[list[list[float]]]] = Field(description="[layer][head][query][key]")
    decoder: list[list[list[list[float]]]]
    cross: list[list[list[list[float]]]]


class AlternativesRequest(Asked):
    """A place in a translation."""

    source: Text
    target: Text
    position: int = Field(ge=0, description="A character of the word, from 0.")
    count: int = Field(5, ge=1, le=20)


class Alternative(BaseModel):
    """What could stand there."""

    word: str
    probability: float
    text: str = Field(description="The whole translation with it.")
    place: int = Field(description="Where the word begins in the text.")
    token_ids: list[int] = Field(description="Of the pieces of the whole translation.")


class AlternativesResponse(BaseModel):
    """By falling probability."""

    model: str
    alternatives: list[Alternative]


class ModelInfo(BaseModel):
    """A model that answers."""

    name: str
    source_language: str | None
    target_languages: list[str]
    attention: bool = Field(description="Whether its attention can be shown.")


class Health(BaseModel):
    """How the server is."""

    status: Literal["ok", "stopping"]


class Problem(BaseModel):
    """Why a request was refused."""

    error: str
