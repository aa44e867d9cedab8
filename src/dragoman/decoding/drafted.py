"""Many texts decoded with a draft, one after the other."""

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from torch import nn

from dragoman.data import Frame
from dragoman.decoding.constraints import Ban
from dragoman.decoding.ctranslate2_search import CTranslate2Engine
from dragoman.decoding.drafting import Drafts
from dragoman.decoding.engine import Found, check_source_lengths, decode, most_written
from dragoman.decoding.engines import Engine, FusedEngine, one_thread
from dragoman.decoding.hypothesis import Hypothesis, Symbols
from dragoman.decoding.judging import Drawing, Greedy
from dragoman.decoding.reading import Reader, Reading, TorchReader, check_reading
from dragoman.decoding.sampling import Sampling
from dragoman.decoding.settings import BeamSearch, prefix_too_long
from dragoman.decoding.speculation import DraftCounts, Draftwise, Task, write
from dragoman.errors import ConfigError, ModelError
from dragoman.models import SequenceToSequence
from dragoman.nn import CausalLM, EncoderDecoder
from dragoman.tokenization import SpecialIds

CANNOT_READ = "the engine ctranslate2 cannot read several pieces at once"


@dataclass(frozen=True, slots=True)
class Speculation:
    """Who drafts, and how far.

    Args:
        drafts: makes the proposals.
        length: most pieces proposed at once, 1 to 1000.

    Raises:
        ConfigError: the length is outside its range.
    """

    drafts: Drafts
    length: int = 4

    def __post_init__(self) -> None:
        """Check the range."""
        if not 1 <= self.length <= 1000:
            raise ConfigError("draft_length", f"{self.length} is not between 1 and 1000")


def decode_drafted(
    model: SequenceToSequence | Engine,
    sources: Sequence[Sequence[int]],
    config: BeamSearch | Sampling,
    special: SpecialIds | Frame,
    speculation: Speculation,
    *,
    prefixes: Sequence[Sequence[int]] | None = None,
    ban: Ban | None = None,
    seeds: Sequence[int] | None = None,
) -> tuple[list[Found], DraftCounts]:
    """Translate sources with the help of a draft.

    Args:
        model: is run in evaluation mode; one that passes ``check_reading``; or its engine.
        sources: bare piece ids, without the end symbol.
        config: greedy search, with any controls but coverage; or sampling.
        special: ids that are never text.
        speculation: who drafts.
        prefixes: ids that each translation must begin with; may be empty.
        ban: phrases that come in no translation; for greedy search.
        seeds: with sampling, a number from 0 up for each source, which decides its draws; its
            place unless given.

    Returns:
        For each source what ``decode`` gives, or one sampled hypothesis; and what became of the
        proposals.

    Raises:
        ConfigError: the search keeps more than one hypothesis, or asks for a coverage penalty.
        ModelError: the model cannot go back to an earlier piece, or gives no numbers.
        ValueError: a source is longer than the positions of the model, a prefix holds the end
            symbol or an id outside the vocabulary, or counts differ.
    """
    reader = reader_of(model)
    large = reader.model
    if not isinstance(large, EncoderDecoder):
        raise ModelError("model: it reads no source")
    _check(config, ban)
    frame = Frame.of(special)
    check_source_lengths(large, sources, frame)
    prefixes = [()] * len(sources) if prefixes is None else prefixes
    _check_prefixes(prefixes, frame.special.end, large.generator.table.size(0))
    writer = Writer(config, frame, speculation, ban)
    answers: list[Found] = []
    counts = DraftCounts()
    numbers = range(len(sources)) if seeds is None else seeds
    for source, prefix, seed in zip(sources, prefixes, numbers, strict=True):
        limit = min(config.limit(len(source)), most_written(large, frame))
        if refusal := prefix_too_long(prefix, limit):
            answers.append(refusal)
            continue
        whole = frame.source(source)
        task = writer.task(frame.target_before, limit, prefix)
        with nullcontext() if isinstance(reader, TorchReader) else one_thread():
            answer, text = writer.write(reader.begin(whole, task.opening), whole, task, seed)
        counts += text.counts
        if text.close and not isinstance(config, Sampling):
            counts = replace(counts, repeated=counts.repeated + 1)
            answers += decode(model, [source], config, special, prefixes=[prefix], ban=ban)
        else:
            answers.append(answer)
    return answers, counts


def continue_drafted(
    model: CausalLM,
    prompts: Sequence[Sequence[int]],
    limits: Sequence[int],
    sampling: Sampling,
    special: SpecialIds,
    speculation: Speculation,
    *,
    seeds: Sequence[int],
) -> tuple[list[Hypothesis], DraftCounts]:
    """Draw a continuation of each prompt with the help of a draft.

    Args:
        model: is run in evaluation mode; one that passes ``check_reading``.
        prompts: bare piece ids, without the start symbol; may be empty.
        limits: most pieces drawn for each prompt, which the positions of the model allow.
        sampling: how to draw; its ``max_length`` has gone into ``limits``.
        special: ids that are never text.
        speculation: who drafts.
        seeds: a number from 0 up for each prompt, which decides its draws.

    Raises:
        ModelError: the model cannot go back to an earlier piece, or gives no numbers.
        ValueError: counts differ.
    """
    reader = reader_of(model)
    writer = Writer(sampling, special, speculation)
    found: list[Hypothesis] = []
    counts = DraftCounts()
    for prompt, limit, seed in zip(prompts, limits, seeds, strict=True):
        task = writer.task((special.start, *prompt), limit)
        answer, text = writer.write(reader.begin((), task.opening), (), task, seed)
        found += answer
        counts += text.counts
    return found, counts


@dataclass(frozen=True, slots=True)
class Writer:
    """What all texts of a call have in common.

    Args:
        config: greedy search or sampling.
        special: ids that are never text, or how they stand around a source and before a target.
        speculation: who drafts.
        ban: phrases that may not come.
    """

    config: BeamSearch | Sampling
    special: SpecialIds | Frame
    speculation: Speculation
    ban: Ban | None = None

    def task(self, opening: Sequence[int], limit: int, prefix: Sequence[int] = ()) -> Task:
        """Say what is to be written of one text."""
        end, length = Frame.of(self.special).special.end, self.speculation.length
        return Task(tuple(opening), tuple(prefix), limit, end, length)

    def write(
        self, reading: Reading, source: Sequence[int], task: Task, number: int
    ) -> tuple[list[Hypothesis], Draftwise]:
        """Write one text; give its hypotheses, at most one, and how it came about."""
        symbols = Symbols.of(Frame.of(self.special))
        drafter = self.speculation.drafts.begin(source, task.opening)
        if isinstance(self.config, Sampling):
            text = write(reading, drafter, Drawing(self.config, symbols, number), task)
            return _hypotheses(text, math.fsum(text.log_probs), task.end), text
        judge = Greedy(
            self.config,
            symbols,
            self.ban,
            device=reading.device,
            forced=len(task.prefix),
            rounding=reading.rounding,
        )
        text = write(reading, drafter, judge, task)
        if text.stuck or not (text.pieces[-1] == task.end or judge.may_stop(text.pieces[-1])):
            return [], text
        score = self.config.final_score.of(text.total, len(text.pieces))
        return _hypotheses(text, score, task.end), text


def reader_of(model: SequenceToSequence | CausalLM | Engine, role: str = "model") -> Reader:
    """Make what reads a model or by an engine, for one text at a time.

    Args:
        model: is run in evaluation mode.
        role: what messages call it.

    Raises:
        ModelError: it does not pass ``check_reading``.
        ConfigError: the engine cannot read several pieces at once.
    """
    if isinstance(model, CTranslate2Engine):
        raise ConfigError("draft", CANNOT_READ, "set engine to torch or fused")
    if isinstance(model, FusedEngine):
        from dragoman.decoding.fused import FusedReader

        assert isinstance(model.model, EncoderDecoder)  # no other is packed
        return FusedReader(model.model, model.packed)
    module = model if isinstance(model, nn.Module) else model.model
    return TorchReader(check_reading(module.eval(), role))


def _hypotheses(text: Draftwise, score: float, end: int) -> list[Hypothesis]:
    ended = text.pieces[-1] == end
    ids = tuple(text.pieces[:-1] if ended else text.pieces)
    return [Hypothesis(ids, tuple(text.log_probs), score, not ended)]


def _check(config: BeamSearch | Sampling, ban: Ban | None) -> None:
    """See that what is asked for can be judged piece by piece."""
    if isinstance(config, Sampling):
        if ban is not None:
            raise ConfigError("draft", "sampling knows no banned phrases", "leave them out")
        return
    if config.beam > 1:
        problem = f"verifies one hypothesis, and beam is {config.beam}"
        raise ConfigError("draft", problem, "set beam to 1, or leave the draft out")
    if config.coverage:
        raise ConfigError("draft", "allows no coverage penalty", "set coverage to 0")


def _check_prefixes(prefixes: Sequence[Sequence[int]], end: int, vocabulary: int) -> None:
    for number, prefix in enumerate(prefixes):
        if end in prefix or min(prefix, default=0) < 0:
            raise ValueError(
                f"prefixes: {prefix} in sentence {number} holds the end symbol or no id"
            )
        if max(prefix, default=0) >= vocabulary:
            raise ValueError(f"prefixes: id {max(prefix)} is outside the vocabulary")
