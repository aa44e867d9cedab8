"""Text in, text out: the few lines most users need."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack

from dragoman.bundle import Bundle, load_bundle
from dragoman.decoding import (
    BeamSearch,
    CTranslate2Engine,
    Engine,
    Ensemble,
    EnsembleMean,
    Found,
    LengthForm,
    Sampling,
    TorchEngine,
    Tracer,
    Waiter,
    choose_engine,
    decode,
)
from dragoman.device import choose_device
from dragoman.errors import ConfigError, ModelError
from dragoman.evaluation import TargetScore, score_targets
from dragoman.inspection import AttentionMaps
from dragoman.models import SequenceToSequence
from dragoman.nn import CausalLM, EncoderOnly
from dragoman.translator.alignment import Head
from dragoman.translator.alternatives import Alternative, find_alternatives, pieces_before
from dragoman.translator.assembling import assemble
from dragoman.translator.attention_of import attention_of, attention_of_own
from dragoman.translator.ctranslate2_engine import ctranslate2_engine
from dragoman.translator.draft import Draft
from dragoman.translator.drawing import Choice, MbrOver
from dragoman.translator.joining import load_ensemble
from dragoman.translator.planning import Planner, TooLong
from dragoman.translator.requirements import Required, Terms, WordMachines, verified
from dragoman.translator.settling import Settling
from dragoman.translator.target_language import language_tag
from dragoman.translator.tracing import with_traces
from dragoman.translator.translation import Translation
from dragoman.translator.windows import windows
from dragoman.translator.word_alignment import WordAlignment, align_pairs

SOURCE_LIMIT = 1024  # pieces of one segment, where positions have no limit of their own


class Controls(TypedDict, total=False):
    """What else ``BeamSearch`` may be told of a search; all of it is off unless given."""

    max_extra: int
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
        ensemble: what translates instead of the model of the bundle, which is a member of it.

    Raises:
        ModelError: the model has no decoder that reads a source.
    """

    def __init__(
        self, bundle: Bundle, engine: Engine | None = None, *, ensemble: Ensemble | None = None
    ) -> None:
        if isinstance(bundle.model, CausalLM | EncoderOnly):
            use = "generate (dragoman.LanguageModel in Python)"
            if isinstance(bundle.model, EncoderOnly):
                use = "classify or fill (dragoman.Classifier in Python)"
            raise ModelError(
                f"a model of the kind {bundle.config.architecture} does not translate; use "
                f"dragoman {use}"
            )
        self.bundle = bundle
        self.model: SequenceToSequence | Ensemble = bundle.model if ensemble is None else ensemble
        self.engine = TorchEngine(self.model) if engine is None else engine
        self.special, self.frame = bundle.target_tokenizer.special, bundle.frame
        limit = bundle.config.max_length if ensemble is None else ensemble.max_source_length
        self.source_limit = limit or SOURCE_LIMIT
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
        ensemble: Sequence[str | Path] = (),
        ensemble_mean: EnsembleMean = "linear",
    ) -> "Translator":
        """Read a model or run folder.

        Args:
            folder: holds ``config.json``, weights and tokenizers.
            device: ``auto`` takes a GPU when there is one.
            dtype: ``float32``, ``bfloat16``, ``float16``, or with ``fused`` ``int8``; ``auto`` is
                float32.
            engine: ``torch``, ``fused`` (Transformers on a CPU; extra ``fast``), or ``auto``: the
                faster one, measured once for a machine and the shapes of a model; or
                ``ctranslate2``, with what ``dragoman.interop.write_ctranslate2`` wrote into it.
            say: is told what takes long.
            ensemble: folders of other models with the same vocabulary, which translate together
                with the first; architectures may differ.
            ensemble_mean: what is compared then: ``linear``, log of the mean of probabilities, or
                ``geometric``, mean of their logarithms, normalized.

        Raises:
            ModelError: a file is missing, damaged, or does not fit the others.
            ConfigError: the device, dtype or engine is not known or not here.
        """
        if isinstance(ensemble, str | Path):
            raise TypeError("ensemble is a list of folders, not one folder")
        if engine == "ctranslate2" and device == "auto":
            device = "cpu"
        bundle = load_bundle(Path(folder), choose_device(device))
        joined = None
        if ensemble:
            joined = load_ensemble((str(folder), bundle), ensemble, ensemble_mean, device=device)
        try:
            made = cls(bundle, ensemble=joined)
        except ModelError as error:
            raise ModelError(f"{folder}: {error}") from None
        made.equip(folder, engine=engine, dtype=dtype, say=say)
        return made

    def equip(
        self,
        folder: str | Path,
        *,
        engine: str = "auto",
        dtype: str = "auto",
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Choose what searches; arguments and errors are those of ``load``."""
        if engine != "ctranslate2":
            made = choose_engine(self.model, self.frame, engine=engine, dtype=dtype, say=say)
        elif isinstance(self.model, Ensemble):
            hint = "set engine to torch, or leave the ensemble out"
            raise ConfigError("engine", "ctranslate2 runs one model", hint)
        else:
            made = ctranslate2_engine(Path(folder), self.bundle, dtype)
        self.engine = made

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam: int = 4,
        alpha: float = 0.6,
        n_best: int = 1,
        max_length: int | None = None,
        batch_tokens: int = 4096,
        prefix: Sequence[str | None] | str | None = None,
        too_long: TooLong = "split",
        sentences: bool = False,
        copy_without_letters: bool = True,
        target_language: str | None = None,
        banned_words: Sequence[str] = (),
        required: Required = (),
        glossary: Terms = (),
        sampling: Sampling | None = None,
        mbr: int = 0,
        mbr_over: MbrOver = "samples",
        first_line: int = 0,
        trace: bool = False,
        draft: Draft | None = None,
        waiter: Waiter[Translation] | None = None,
        **controls: Unpack[Controls],
    ) -> list[Translation]:
        """Translate segments; the result does not depend on how they share batches.

        Args:
            texts: raw text, one segment each.
            beam: hypotheses kept; 1 is greedy.
            alpha: exponent of the length penalty ((5 + length) / 6)^alpha.
            n_best: how many translations of each to give, at most ``beam``.
            max_length: most target pieces, the end symbol included; unset, as many as the source
                has and ``max_extra`` more, which is 50 unless given.
            batch_tokens: most source slots in a batch.
            prefix: text that every translation must begin with; or for each segment its own, or
                None.
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
            sampling: draw translations at random instead of searching, ``n_best`` of each segment
                in the order drawn; ``beam`` and ``alpha`` have no part in it, scores are log P.
            mbr: find so many translations of each segment and give the ``n_best`` with the highest
                mean chrF against the others (minimum Bayes risk), which then is their score; 0 is
                off, see ``minimum_risk``.
            mbr_over: what ``mbr`` chooses from: ``samples``, drawn by ``sampling`` or else from the
                model as it is, or the n best of the ``beam``.
            first_line: number of the first text, from 0; with the seed it decides what is drawn.
            trace: write down every step of the search in ``traces``, for ``explanation``.
            draft: proposes pieces that the model verifies, one segment after the other; the
                translations of a beam of 1, which it needs, stay the same.
            waiter: is given each translation, by the place of its text, as soon as it is found,
                without traces, and may say meanwhile that it no longer wants one: then its search
                is broken off. What is drawn, or found with a draft, is given at the end.
            controls: what else ``BeamSearch`` takes: ``max_extra``, and, off unless given,
                ``length_penalty``, ``word_reward``, ``coverage``, ``patience``, ``groups``,
                ``diversity``, ``min_length``, ``no_repeat_ngram``, ``repetition_penalty``.

        Raises:
            ConfigError: a setting is impossible, such as ``n_best`` above ``beam``, a ``draft``
                with a beam above 1 or for another vocabulary, ``coverage`` with a model that forms
                no attention weights, or a control of the search when translations are drawn; or
                ``target_language`` is not one of the model's, or missing.
            ValueError: ``prefix`` or what is required has another length than ``texts``.
            TypeError: ``texts`` is one string.
        """
        if isinstance(texts, str):
            raise TypeError("texts is a list of strings, not one string")
        choice = Choice.of(
            sampling,
            n_best=n_best,
            max_length=max_length,
            mbr=mbr,
            mbr_over=mbr_over,
            first=first_line,
        )
        asked = 1 if choice.drawing else choice.found
        if choice.mbr and asked > beam:
            problem = f"{mbr} is more than beam {beam}, of whose best it chooses"
            raise ConfigError("mbr", problem, f"set beam to {mbr} or more")
        search = BeamSearch(beam=beam, alpha=alpha, n_best=asked, max_length=max_length, **controls)
        words = {"banned_words": banned_words, "required": required, "glossary": glossary}
        wishes = {name: bool(given) for name, given in words.items()}
        wishes["engine ctranslate2"] = isinstance(self.engine, CTranslate2Engine)
        choice.refuse(search, {"prefix": prefix is not None, **wishes})
        if draft is not None:
            draft.check(self.bundle)
            if trace or choice.drawing or required or glossary:
                hint = "leave it out, or do not draw, explain or require"
                raise ConfigError("draft", "goes with a greedy search alone", hint)
        ban = self._words.ban(banned_words)
        if too_long not in ("split", "cut", "blank"):
            raise ConfigError("too_long", f"{too_long!r} is not a choice", "split, cut or blank")
        if not (prefix is None or isinstance(prefix, str)) and len(prefix) != len(texts):
            raise ValueError(f"{len(prefix)} prefixes for {len(texts)} texts")
        prefixes = [prefix] * len(texts) if prefix is None or isinstance(prefix, str) else prefix
        planner = Planner(
            source=self.bundle.source_tokenizer,
            target=self.bundle.target_tokenizer,
            limit=self.source_limit,
            added=self.frame.source_added,
            too_long=too_long,
            sentences=sentences,
            copy=copy_without_letters,
            lead=language_tag(self.bundle.source_tokenizer, target_language),
        )
        tokenizer = self.bundle.target_tokenizer
        plans = [planner.plan(text, given) for text, given in zip(texts, prefixes, strict=True)]
        if drawing := choice.drawing:

            def drawn(text: int, found: Iterator[Found]) -> Translation:
                return choice.choose(assemble(tokenizer, plans[text], found, every=True))

            found = drawing.run(self.model, plans, self.frame, batch_tokens)
            return Settling(plans, drawn, waiter).all(found)
        bound = self._words.bind(plans, required, glossary)
        parts = [part for plan in plans for part in plan.parts]
        tracer = Tracer(search) if trace else None

        def searched_for(text: int, found: Iterator[Found]) -> Translation:
            made = choice.choose(assemble(tokenizer, plans[text], found))
            return verified(made, bound.phrases[text])

        settling = Settling(plans, searched_for, waiter)
        searched = partial(decode, tracer=tracer, required=bound.demands, waiter=settling.waiter)
        run = searched if draft is None else draft.decode
        found = run(
            self.engine,
            [part.ids for part in parts],
            search,
            self.frame,
            batch_tokens=batch_tokens,
            prefixes=[part.prefix for part in parts],
            ban=ban,
        )
        made = settling.all(found)
        if tracer is None:
            return made
        return with_traces(made, plans, tracer, self.bundle.target_tokenizer)

    def stream(
        self, texts: Iterable[str], *, at_once: int = 0, **options: Any
    ) -> Iterator[Translation]:
        """Translate an endless supply of segments, some thousand at a time, in order.

        Memory does not grow with their number.

        Args:
            texts: raw text, one segment each.
            at_once: how many are read before the first is translated; 2,000 unless given, or
                fewer when they have a million characters.
            options: those of ``translate``; ``prefix`` and ``required`` are those of all texts.
        """
        first = options.pop("first_line", 0)
        for group in windows(texts, at_once or 2_000, size=len):
            yield from self.translate(group, first_line=first, **options)
            first += len(group)

    def alternatives(
        self,
        source: str,
        target: str,
        position: int,
        count: int = 5,
        *,
        search: BeamSearch | None = None,
        target_language: str | None = None,
        wanted: Callable[[], bool] = lambda: True,
    ) -> list[Alternative]:
        """Say what else could stand at a place in a translation, and how it would go on.

        Args:
            source: raw text.
            target: its translation, by whomever; what stands before the word is kept.
            position: a character of the word (from 0), or of the white space before it.
            count: most alternatives, at least 1.
            search: how what follows is found; as ``translate`` does unless given.
            target_language: as in ``translate``.
            wanted: whether they are still waited for; asked before every step of the search.

        Returns:
            By falling probability, the word that stands there among them if it is probable.

        Raises:
            ConfigError: ``target_language`` is not one of the model's, or missing.
            DragomanError: what stands before is longer than the model or ``search`` allows, or
                nobody waits any more.
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
        return find_alternatives(self.engine, self.bundle, ids, beginning, search, count, wanted)

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
            self.frame,
            batch_tokens=batch_tokens,
        )

    def align(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        heads: Sequence[Head] = (),
        target_language: str | None = None,
    ) -> list[WordAlignment]:
        """Say of which source word each word of a translation was written, see ``word_alignment``.

        Args:
            sources: raw text.
            targets: raw text, one for each source.
            heads: layer and head of the decoder, from 0, whose mean attention is used; by default
                the layer that looks most sharply, with some trust in equal places.
            target_language: as in ``translate``.

        Raises:
            ModelError: the decoder forms no attention weights over the source.
            ConfigError: there is no such head, or ``target_language`` is as in ``translate``.
            ValueError: the counts differ.
        """
        lead = language_tag(self.bundle.source_tokenizer, target_language)
        limit = self.source_limit
        return align_pairs(self.bundle, sources, targets, heads=heads, lead=lead, limit=limit)

    def attention(
        self,
        sources: Sequence[str],
        targets: Sequence[str | None],
        *,
        search: BeamSearch | None = None,
        target_language: str | None = None,
    ) -> list[AttentionMaps]:
        """Say who attends to whom when each target is written from its source.

        Args:
            sources: raw text.
            targets: raw text, one for each source; None for the model's own translation.
            search: how that is found; as ``translate`` does unless given.
            target_language: as in ``translate``.

        Raises:
            ConfigError: ``target_language`` is not one of the model's, or missing.
            ModelError: the model is no Transformer, or forms no weights.
            ValueError: the counts differ, or a source is longer than the model takes.
        """
        tag = language_tag(self.bundle.source_tokenizer, target_language)
        search = search or BeamSearch()
        return [
            attention_of_own(self.bundle, self.engine, source, search, tag)
            if target is None
            else attention_of(self.bundle, source, target, tag)
            for source, target in zip(sources, targets, strict=True)
        ]
