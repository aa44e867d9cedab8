"""Dragoman: the Transformer of "Attention Is All You Need" (Vaswani et al. 2017) as real software.

    import dragoman

    translator = dragoman.Translator.load("runs/my-model")
    translator.translate(["Ein Hund schläft."])[0].text

Public names load on first use, so that ``dragoman --help`` and tokenization never wait for torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.classifier import Classification, Classifier
    from dragoman.data import (
        Files,
        ImageFile,
        ParallelCorpus,
        Text,
        TsvFile,
        corpus_name,
        corpus_of_file,
        decode_lines,
        is_blank,
        open_corpus,
        read_aligned,
        read_lines,
        read_pixels,
        read_text,
    )
    from dragoman.decoding import BeamSearch, Sampling, length_penalty
    from dragoman.documents import FillOptions, fill_document
    from dragoman.errors import DragomanError
    from dragoman.language_model import Continuation, LanguageModel
    from dragoman.models import ModelConfig, build_model
    from dragoman.recipe import Recipe, read_recipe, recipe_toml
    from dragoman.run import (
        average,
        choose_recipe,
        compare,
        diagnose,
        evaluate,
        evaluate_alternatives,
        export,
        import_model,
        load_model,
        measure,
        quickstart_recipe,
        quickstart_results,
        train,
        verify_resume,
    )
    from dragoman.tokenization import Tokenizer
    from dragoman.translator import (
        CorpusScore,
        Draft,
        Translation,
        Translator,
        align_translations,
        attention_as_written,
        attention_note,
        best_share,
        explanation,
        mean_log_prob,
        one_line,
        parse,
        read_glossary,
        score_pairs,
        translate_fragments,
        windows,
        word_place,
    )

_HOMES = {
    "BeamSearch": "dragoman.decoding",
    "Classification": "dragoman.classifier",
    "Classifier": "dragoman.classifier",
    "Continuation": "dragoman.language_model",
    "CorpusScore": "dragoman.translator",
    "Draft": "dragoman.translator",
    "DragomanError": "dragoman.errors",
    "Files": "dragoman.data",
    "FillOptions": "dragoman.documents",
    "ImageFile": "dragoman.data",
    "LanguageModel": "dragoman.language_model",
    "ModelConfig": "dragoman.models",
    "ParallelCorpus": "dragoman.data",
    "Recipe": "dragoman.recipe",
    "Sampling": "dragoman.decoding",
    "Text": "dragoman.data",
    "Tokenizer": "dragoman.tokenization",
    "Translation": "dragoman.translator",
    "Translator": "dragoman.translator",
    "TsvFile": "dragoman.data",
    "align_translations": "dragoman.translator",
    "attention_as_written": "dragoman.translator",
    "attention_note": "dragoman.translator",
    "average": "dragoman.run",
    "best_share": "dragoman.translator",
    "build_model": "dragoman.models",
    "choose_recipe": "dragoman.run",
    "compare": "dragoman.run",
    "corpus_name": "dragoman.data",
    "corpus_of_file": "dragoman.data",
    "decode_lines": "dragoman.data",
    "diagnose": "dragoman.run",
    "evaluate": "dragoman.run",
    "evaluate_alternatives": "dragoman.run",
    "explanation": "dragoman.translator",
    "export": "dragoman.run",
    "import_model": "dragoman.run",
    "fill_document": "dragoman.documents",
    "is_blank": "dragoman.data",
    "length_penalty": "dragoman.decoding",
    "load_model": "dragoman.run",
    "mean_log_prob": "dragoman.translator",
    "measure": "dragoman.run",
    "one_line": "dragoman.translator",
    "open_corpus": "dragoman.data",
    "parse": "dragoman.translator",
    "quickstart_recipe": "dragoman.run",
    "quickstart_results": "dragoman.run",
    "read_aligned": "dragoman.data",
    "read_glossary": "dragoman.translator",
    "read_lines": "dragoman.data",
    "read_pixels": "dragoman.data",
    "read_recipe": "dragoman.recipe",
    "read_text": "dragoman.data",
    "recipe_toml": "dragoman.recipe",
    "score_pairs": "dragoman.translator",
    "train": "dragoman.run",
    "translate_fragments": "dragoman.translator",
    "verify_resume": "dragoman.run",
    "windows": "dragoman.translator",
    "word_place": "dragoman.translator",
}
_FOLDERS = (
    "data",
    "decoding",
    "evaluation",
    "inspection",
    "models",
    "nn",
    "tokenization",
    "training",
    "trees",
)

__all__ = [
    "BeamSearch",
    "Classification",
    "Classifier",
    "Continuation",
    "CorpusScore",
    "Draft",
    "DragomanError",
    "Files",
    "FillOptions",
    "ImageFile",
    "LanguageModel",
    "ModelConfig",
    "ParallelCorpus",
    "Recipe",
    "Sampling",
    "Text",
    "Tokenizer",
    "Translation",
    "Translator",
    "TsvFile",
    "align_translations",
    "attention_as_written",
    "attention_note",
    "average",
    "best_share",
    "build_model",
    "choose_recipe",
    "compare",
    "corpus_name",
    "corpus_of_file",
    "decode_lines",
    "diagnose",
    "evaluate",
    "evaluate_alternatives",
    "explanation",
    "export",
    "fill_document",
    "import_model",
    "is_blank",
    "length_penalty",
    "load_model",
    "mean_log_prob",
    "measure",
    "one_line",
    "open_corpus",
    "parse",
    "quickstart_recipe",
    "quickstart_results",
    "read_aligned",
    "read_glossary",
    "read_lines",
    "read_pixels",
    "read_recipe",
    "read_text",
    "recipe_toml",
    "score_pairs",
    "train",
    "translate_fragments",
    "verify_resume",
    "windows",
    "word_place",
]


def __getattr__(name: str) -> object:
    """Load a public name, or a folder such as ``dragoman.nn``, when it is first asked for."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _FOLDERS:
        return import_module(f"dragoman.{name}")
    raise AttributeError(f"module 'dragoman' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_FOLDERS})
