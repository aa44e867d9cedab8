"""Vocabularies without a ``tokenizer.json``: what their own classes make of their files."""

from pathlib import Path
from typing import Any

from dragoman.errors import ModelError
from dragoman.interop.vocabulary.files import read_ids, read_lines
from dragoman.interop.vocabulary.folder import Folder
from dragoman.interop.vocabulary.languages import MBART, MBART50
from dragoman.interop.vocabulary.looking_up import by_longest
from dragoman.interop.vocabulary.sentencepiece import read_model, sentencepiece_settings
from dragoman.tokenization import Json
from dragoman.tokenization.byte_level import BYTE_CHARACTERS

SENTENCEPIECE = ("spiece.model", "sentencepiece.bpe.model", "tokenizer.model")
_WORDPIECE = frozenset(
    ("", "Bert", "DistilBert", "Electra", "MobileBert", "RetriBert", "SqueezeBert", "ConvBert")
)
_OVER_BYTES = frozenset(("", "GPT2", "Bart", "Roberta", "Longformer", "LED", "OPT"))
_FAIRSEQ = ("<s>", "<pad>", "</s>", "<unk>")


def slow_settings(folder: Folder) -> tuple[Path, Json]:
    """Read the vocabulary of a folder that has no ``tokenizer.json``, as one would write it.

    Returns:
        The file of the pieces, and the settings.

    Raises:
        ModelError: there is no vocabulary, it is damaged, or its class cuts text in its own way.
    """
    path = folder.path
    kind = folder.tokenizer_class.removesuffix("Tokenizer")
    if "AutoTokenizer" in (folder.tokenizer.get("auto_map") or {}):
        raise ModelError(f"{path}: its tokenizer is a program, which is not run; {_SAVE}")
    for name in SENTENCEPIECE:
        if (path / name).exists():
            return path / name, _of_sentencepiece(folder, path / name, kind)
    if (path / "vocab.json").exists() and (path / "merges.txt").exists():
        _refuse_other(folder, kind, _OVER_BYTES)
        return path / "vocab.json", _over_bytes(folder)
    if (path / "vocab.txt").exists():
        _refuse_other(folder, kind, _WORDPIECE)
        return path / "vocab.txt", _wordpiece(folder)
    raise ModelError(
        f"{path}: holds no vocabulary that is known: none of tokenizer.json, vocab.txt, vocab.json "
        f"with merges.txt, source.spm, {', '.join(SENTENCEPIECE)}"
    )


_SAVE = "save it with transformers, so that the folder has a tokenizer.json"


def _refuse_other(folder: Folder, kind: str, known: frozenset[str]) -> None:
    if kind not in known and kind not in ("PreTrained", "TokenizersBackend"):
        raise ModelError(f"{folder.path}: {folder.tokenizer_class} cuts text its own way; {_SAVE}")


def _of_sentencepiece(folder: Folder, path: Path, kind: str) -> Json:
    model = read_model(path)
    if kind in ("MBart", "MBart50", "XLMRoberta") or path.name == SENTENCEPIECE[1]:
        codes = {"MBart50": MBART50, "XLMRoberta": ()}.get(kind, MBART)
        if not kind and folder.model_type == "xlm-roberta":
            codes = ()
        if kind not in ("", "MBart", "MBart50", "XLMRoberta"):
            raise ModelError(f"{path}: {folder.tokenizer_class} orders ids its own way; {_SAVE}")
        if {piece.text for piece in model.pieces[:3]} != {"<unk>", "<s>", "</s>"}:
            raise ModelError(f"{path}: does not begin with <unk>, <s> and </s>")
        return sentencepiece_settings(model, before=_FAIRSEQ, dropped=3, after=(*codes, "<mask>"))
    if kind in ("T5", "MT5") or folder.model_type in ("t5", "mt5"):
        room = (folder.size() or len(model.pieces) + 100) - len(model.pieces)
        extra = int(folder.tokenizer.get("extra_ids", 100 if room >= 100 else 0))
        sentinels = [f"<extra_id_{number}>" for number in range(extra)][::-1]
        return sentencepiece_settings(model, after=sentinels)
    if kind == "Albert":
        return _albert(folder, sentencepiece_settings(model))
    if kind not in ("", "Llama", "Gemma", "CodeLlama", "TokenizersBackend", "PreTrained"):
        raise ModelError(f"{path}: {folder.tokenizer_class} orders ids its own way; {_SAVE}")
    return sentencepiece_settings(model)


def _albert(folder: Folder, settings: Json) -> Json:
    """Change text before the model does, as ``tokenization_albert.py`` says."""
    quotes = ("``", "''")
    steps: list[Json] = [
        {"type": "Replace", "pattern": {"String": each}, "content": '"'} for each in quotes
    ]
    if not folder.tokenizer.get("keep_accents", False):
        steps += [{"type": "NFKD"}, {"type": "StripAccents"}]
    if folder.tokenizer.get("do_lower_case", True):
        steps.append({"type": "Lowercase"})
    settings["normalizer"]["normalizers"][:0] = steps
    return settings


def _over_bytes(folder: Folder) -> Json:
    """Byte-pair encoding over bytes, as ``tokenization_gpt2.py`` has it."""
    file, merges = folder.path / "vocab.json", folder.path / "merges.txt"
    ids = read_ids(file)
    pairs = read_merges(merges)
    spelled = {piece for pair in pairs for piece in (*pair, "".join(pair))}
    for piece in sorted(spelled):
        if piece not in ids:
            raise ModelError(f"{merges}: {piece!r} is no piece of {file.name}")
        if not {*piece} <= {*BYTE_CHARACTERS}:
            raise ModelError(f"{merges}: {piece!r} is not written in bytes, which is not read here")
    spaced = bool(folder.tokenizer.get("add_prefix_space", False))
    step = {"type": "ByteLevel", "add_prefix_space": spaced, "trim_offsets": True}
    model = {"type": "BPE", "vocab": ids, "merges": [list(pair) for pair in pairs]}
    step["use_regex"] = True
    return {"added_tokens": [], "pre_tokenizer": step, "decoder": dict(step), "model": model}


def read_merges(path: Path) -> list[tuple[str, str]]:
    """Read pairs, one a line, the first line a comment.

    Raises:
        ModelError: a line holds something else.
    """
    pairs: list[tuple[str, str]] = []
    for number, line in enumerate(read_lines(path), 1):
        if not line or (number == 1 and line.startswith("#version")):
            continue
        match line.split(" "):
            case [left, right] if left and right:
                pairs.append((left, right))
            case _:
                raise ModelError(f"{path}: line {number}: {line[:40]!r} is no pair of pieces")
    return pairs


def _wordpiece(folder: Folder) -> Json:
    """Look up the longest pieces of words, as ``tokenization_bert.py`` does."""
    file = folder.path / "vocab.txt"
    lines = read_lines(file)
    ids = {piece: number for number, piece in enumerate(lines)}
    if len(ids) < len(lines):
        raise ModelError(f"{file}: has two pieces of one name; fetch the folder again")
    unknown = next((name for _, name in folder.named("unk_token")), "[UNK]")
    if unknown not in ids:
        raise ModelError(f"{file}: has no piece {unknown} for unknown text")
    if not folder.tokenizer_class and not any(piece.startswith("##") for piece in lines):
        # No WordPiece, and no class that says what else: RXNMapper cuts formulas so.
        settings = by_longest([piece for piece in lines if piece != unknown])
        settings["model"] |= {"unk_token": unknown, "vocab": ids}
        return {"added_tokens": [], **settings}
    if not folder.tokenizer.get("do_basic_tokenize", True):
        raise ModelError(
            f"{folder.path}: do_basic_tokenize is off, which is not read here; {_SAVE}"
        )
    option: dict[str, Any] = folder.tokenizer  # Any: as JSON has it
    return {
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": bool(option.get("tokenize_chinese_chars", True)),
            "strip_accents": option.get("strip_accents"),
            "lowercase": bool(option.get("do_lower_case", True)),
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": unknown,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": ids,
        },
    }
