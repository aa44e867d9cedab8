"""Text in, text out: the few lines most users need."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypedDict, Unpack

from dragoman.bundle import Bundle, load_bundle
from dragoman.data import pad_rows
from dragoman.decoding import (
    BeamSearch,
    Engine,
    Hypothesis,
    LengthForm,
    NoRoom,
    TorchEngine,
    choose_engine,
    decode,
)
from dragoman.device import choose_device
from dragoman.errors import ConfigError, ModelError
from dragoman.evaluation import TargetScore, score_targets
from dragoman.inspection import AttentionMaps, attention_maps
from dragoman.nn import CausalLM, EncoderDecoder, EncoderOnly
from dragoman.translator.alternatives import Alternative, find_alternatives, pieces_before
from dragoman.translator.planning import Plan, Planner, TooLong
from dragoman.translator.requirements import Required, Terms, WordMachines, verified
from dragoman.translator.target_language import language_tag
from dragoman.translator.translation import Candidate, Translation
from dragoman.translator.windows import windows

NOTHING_LEFT = (
    "no translation within the limit is left by what may not come and what must; allow more, "
    "require less, or widen the beam"
)
SOURCE_LIMIT = 1024  # pieces of one segment, where positions have no limit of their own


class Controls(TypedDict, total=False):
    """What else ``BeamSearch`` may be told of a search; all of it is off unless given."""

    length_penalty: LengthForm
    word_reward: float
    coverage: float
    patience: float | None
    groups: int
    diversity: float
    min_length: int
    no_repeat_ngram: int
    repetition_penalty: float


class Translator:
    """A loaded model that turns text into text.

    Args:
        bundle: model, config and tokenizers; ``load`` reads them from a folder.
        engine: what searches; the model itself unless given.

    Raises:
        ModelError: the model has no decoder that reads a source.
    """

    def __init__(self, bundle: Bundle, engine: Engine | None = None) -> None:
        if isinstance(bundle.model, CausalLM | EncoderOnly):
            use = "generate (dragoman.LanguageModel in Python)"
            if isinstance(bundle.model, EncoderOnly):
                use = "classify or fill (dragoman.Classifier in Python)"
            raise ModelError(
                f"a model of the kind {bundle.config.architecture} does not translate; use "
                f"dragoman {use}"
            )
        self.bundle, self.model = bundle, bundle.model
        self.engine = TorchEngine(bundle.model) if engine is None else engine
        self.special = bundle.target_tokenizer.special
        self.source_limit = bundle.config.max_length or SOURCE_LIMIT
        self._words = WordMachines(bundle.source_tokenizer, bundle.target_tokenizer)

    @property
    def languages(self) -> tuple[str, ...]:
        """What ``target_language`` may be; empty for a model of one pair of languages."""
        return tuple(self.bundle.source_tokenizer.languages)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        *,
        device: str = "auto",
        dtype: str = "auto",
        engine: str = "auto",
        say: Callable[[str], None] = lambda _: None,
    ) -> "Translator":
        """Read a model or run folder.

        Args:
            folder: holds ``config.json``, weights and tokenizers.
            device: ``auto`` takes a GPU when there is one.
            dtype: ``float32``, ``bfloat16``, ``float16``, or with ``fused`` ``int8``; ``auto`` is
                float32.
            engine: ``torch``, ``fused`` (Transformers on a CPU; extra ``fast``), or ``auto``: the
                faster one, measured once for a machine and the shapes of a model.
            say: is told what takes long.

        Raises:
            ModelError: a file is missing, damaged, or does not fit the others.
            ConfigError: the device, dtype or engine is not known or not here.
        """
        bundle = load_bundle(Path(folder), choose_device(device))
        try:
            made = cls(bundle)
        except ModelError as error:
            raise ModelError(f"{folder}: {error}") from None
        made.engine = choose_engine(made.model, made.special, engine=engine, dtype=dtype, say=say)
        return made

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam: int = 4,
        alpha: float = 0.6,
        n_best: int = 1,
        max_length: int | None = None,
        batch_tokens: int = 4096,
        prefix: Sequence[str | None] | None = None,
        too_long: TooLong = "split",
        sentences: bool = False,
        copy_without_letters: bool = True,
        target_language: str | None = None,
        banned_words: Sequence[str] = (),
        required: Required = (),
        glossary: Terms = (),
        **controls: Unpack[Controls],
    ) -> list[Translation]:
        """Translate segments; the result does not depend on how they share batches.

        Args:
            texts: raw text, one segment each.
            beam: hypotheses kept; 1 is greedy.
            alpha: exponent of the length penalty ((5 + length) / 6)^alpha.
            n_best: how many translations of each to give, at most ``beam``.
            max_length: most target pieces, the end symbol included; source length + 50 if unset.
            batch_tokens: most source slots in a batch.
            prefix: for each segment, text that its translation must begin with, or None.
            too_long: what becomes of a segment longer than the model takes: translated sentence
                by sentence (a longer sentence in parts), cut, or left blank.
            sentences: translate every sentence on its own, joined by the white space that stood
                between them; ``too_long`` is then about sentences.
            copy_without_letters: give back segments without letters as they came. Blank ones
                are never translated.
            target_language: what to translate into, for a model of several languages.
            banned_words: text that no translation holds, however it is cut into pieces; words and
                phrases are banned as a whole, so "cat" leaves "cats" alone. A forced prefix may
                hold it.
            required: phrases that every translation holds as whole words, whatever pieces spell
                them; or a list for each text with those of its own. Of alternatives with ``|``
                between, any one will do.
            glossary: source and target terms; where a source term stands as whole words in a
                segment, its target is required. See ``dragoman.translator.Glossary``.
            controls: what else ``BeamSearch`` takes: ``length_penalty``, ``word_reward``,
                ``coverage``, ``patience``, ``groups``, ``diversity``, ``min_length``,
                ``no_repeat_ngram``, ``repetition_penalty``. All are off unless given.

        Raises:
            ConfigError: a setting is impossible, such as ``n_best`` above ``beam``, or
                ``coverage`` with a model that forms no attention weights, or
                ``target_language`` is not one of the model's, or missing.
            ValueError: ``prefix`` or what is required has another length than ``texts``.
            TypeError: ``texts`` is one string.
        """
        if isinstance(texts, str) or isinstance(prefix, str):
            raise TypeError("texts and prefix are lists of strings, not one string")
        search = BeamSearch(
            beam=beam, alpha=alpha, n_best=n_best, max_length=max_length, **controls
        )
        ban = self._words.ban(banned_words)
        if too_long not in ("split", "cut", "blank"):
            raise ConfigError("too_long", f"{too_long!r} is not a choice", "split, cut or blank")
        if prefix is not None and len(prefix) != len(texts):
            raise ValueError(f"{len(prefix)} prefixes for {len(texts)} texts")
        prefixes = [None] * len(texts) if prefix is None else prefix
        planner = Planner(
            source=self.bundle.source_tokenizer,
            target=self.bundle.target_tokenizer,
            limit=self.source_limit,
            too_long=too_long,
            sentences=sentences,
            copy=copy_without_letters,
            lead=language_tag(self.bundle.source_tokenizer, target_language),
        )
        plans = [planner.plan(text, given) for text, given in zip(texts, prefixes, strict=True)]
        bound = self._words.bind(plans, required, glossary)
        parts = [part for plan in plans for part in plan.parts]
        found = iter(
            decode(
                self.engine,
                [part.ids for part in parts],
                search,
                self.special,
                batch_tokens=batch_tokens,
                prefixes=[part.prefix for part in parts],
                ban=ban,
                required=bound.demands,
            )
        )
        return [
            verified(self._assemble(plan, list(islice(found, len(plan.parts)))), phrases)
            for plan, phrases in zip(plans, bound.phrases, strict=True)
        ]

    def stream(
        self, texts: Iterable[str], *, at_once: int = 0, **options: Any
    ) -> Iterator[Translation]:
        """Translate an endless supply of segments, some thousand at a time, in order.

        Memory does not grow with their number.

        Args:
            texts: raw text, one segment each.
            at_once: how many are read before the first is translated; 2,000 unless given, or
                fewer when they have a million characters.
            options: those of ``translate``.
        """
        for group in windows(texts, at_once or 2_000, size=len):
            yield from self.translate(group, **options)

    def alternatives(
        self,
        source: str,
        target: str,
        position: int,
        count: int = 5,
        *,
        search: BeamSearch | None = None,
        target_language: str | None = None,
    ) -> list[Alternative]:
        """Say what else could stand at a place in a translation, and how it would go on.

        Args:
            source: raw text.
            target: its translation, by whomever; what stands before the word is kept.
            position: a character of the word (from 0), or of the white space before it.
            count: most alternatives, at least 1.
            search: how what follows is found; as ``translate`` does unless given.
            target_language: as in ``translate``.

        Returns:
            By falling probability, the word that stands there among them if it is probable.

        Raises:
            ConfigError: ``target_language`` is not one of the model's, or missing.
            DragomanError: what stands before is longer than the model or ``search`` allows.
            ValueError: there is no such position, ``count`` is less than 1, or the source is
                longer than the model takes.
        """
        if not 0 <= position <= len(target) or count < 1:
            raise ValueError(f"position {position} of {len(target)}, count {count}")
        tag = language_tag(self.bundle.source_tokenizer, target_language)
        tokenizer = self.bundle.target_tokenizer
        place = len(tokenizer.normalize(target[:position]))
        beginning = pieces_before(tokenizer, tokenizer.normalize(target), place)
        ids = [*tag, *self.bundle.source_tokenizer.encode(source)]
        search = search or BeamSearch()
        return find_alternatives(self.engine, tokenizer, ids, beginning, search, count)

    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        batch_tokens: int = 4096,
        target_language: str | None = None,
    ) -> list[TargetScore]:
        """Say how probable each target is as a translation of its source.

        Args:
            sources: raw text.
            targets: raw text, one for each source.
            batch_tokens: most slots in a batch.
            target_language: as in ``translate``.

        Raises:
            ConfigError: ``target_language`` is not one of the model's, or missing.
            ValueError: the counts differ.
        """
        tag = language_tag(self.bundle.source_tokenizer, target_language)
        return score_targets(
            self.model,
            [[*tag, *ids] for ids in self.bundle.source_tokenizer.encode_many(sources)],
            self.bundle.target_tokenizer.encode_many(targets),
            start=self.special.start,
            end=self.special.end,
            batch_tokens=batch_tokens,
        )

    def attention(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        target_language: str | None = None,
    ) -> list[AttentionMaps]:
        """Say who attends to whom when each target is written from its source.

        Raises:
            ConfigError: ``target_language`` is not one of the model's, or missing.
            ValueError: the counts differ.
        """
        tag = language_tag(self.bundle.source_tokenizer, target_language)
        return [
            self._attention(source, target, tag)
            for source, target in zip(sources, targets, strict=True)
        ]

    def _attention(self, source: str, target: str, tag: tuple[int, ...]) -> AttentionMaps:
        if not isinstance(self.model, EncoderDecoder):
            kind = self.bundle.config.architecture
            raise ModelError(f"attention is shown of Transformers, and this model is {kind}")
        padding = self.bundle.config.padding
        device = next(self.model.parameters()).device
        source_ids = [*tag, *self.bundle.source_tokenizer.encode(source), self.special.end]
        target_ids = [self.special.start, *self.bundle.target_tokenizer.encode(target)]
        encoder, decoder, cross = attention_maps(
            self.model,
            pad_rows([source_ids], padding).to(device),
            pad_rows([target_ids], padding).to(device),
        )
        return AttentionMaps(
            encoder,
            decoder,
            cross,
            tuple(self.bundle.source_tokenizer.pieces(source_ids)),
            tuple(self.bundle.target_tokenizer.pieces(target_ids)),
        )

    def _assemble(self, plan: Plan, found: Sequence[Sequence[Hypothesis] | NoRoom]) -> Translation:
        if plan.copied:
            copied = Candidate(plan.text, 0.0, (), (), False)
            return Translation(plan.text, (copied,), copied=True)
        errors = [str(part) for part in found if isinstance(part, NoRoom)]
        if errors:
            return Translation(plan.text, (), error=errors[0])
        parts = [
            [self._candidate(hypothesis) for hypothesis in part]
            for part in found
            if not isinstance(part, NoRoom)
        ]
        if not parts:
            return Translation(plan.text, (), shortened=plan.shortened)
        if not all(parts):
            return Translation(plan.text, (), error=NOTHING_LEFT)
        best = [[part[0] for part in parts]]
        ways = [[each] for each in parts[0]] if len(parts) == 1 else best
        joined = tuple(plan.join(way) for way in ways)
        return Translation(plan.text, joined, shortened=plan.shortened, parts=len(parts))

    def _candidate(self, hypothesis: Hypothesis) -> Candidate:
        ids = hypothesis.ids if hypothesis.truncated else (*hypothesis.ids, self.special.end)
        return Candidate(
            self.bundle.target_tokenizer.decode(hypothesis.ids),
            hypothesis.score,
            tuple(self.bundle.target_tokenizer.pieces(ids)),
            hypothesis.log_probs,
            hypothesis.truncated,
        )
