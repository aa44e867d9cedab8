"""Which pieces the two sides of a checkpoint have, family by family, and how text is cut."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from dragoman.errors import ConfigError, ModelError
from dragoman.interop.checkpoints.asked import Asked
from dragoman.interop.checkpoints.vocabulary import (
    Cut,
    Json,
    Listed,
    make_tokenizer,
    read_lines,
    special_of,
)
from dragoman.tokenization import Tokenizer

_LIST = "one piece a line, in the order of their ids"
Side = Literal["src", "trg"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """The text of one side.

    Args:
        file: that the pieces come from.
        listed: the pieces.
        cut: how text is cut.
        steps: what it goes through first.
    """

    file: Path
    listed: Listed
    cut: Cut | Path
    steps: tuple[Json, ...] = ()

    def tokenizer(self) -> Tokenizer:
        """Make what turns text into ids."""
        return make_tokenizer(self.listed, self.cut, steps=self.steps)


Texts = tuple[Text, Text]  # of sources and of targets


def pytorch_seq2seq_texts(asked: Asked) -> Texts:
    """Read the lists that whoever imports names.

    Raises:
        ConfigError: none is named.
        ModelError: one cannot be read, or has no special pieces.
    """
    files = asked.of_sides("vocabulary")
    if files is None:
        problem = "the checkpoint holds no list of pieces"
        raise ConfigError("vocabulary", problem, f"give a text file, {_LIST}")
    wanted = ("<pad>", "<sos>", "<eos>", "<unk>")
    return _both(asked, [_listed(file, wanted) for file in files], "pieces")


def fairseq_texts(said: Mapping[str, Any], path: Path, asked: Asked) -> Texts:
    """Read the dictionaries beside a checkpoint, ``dict.LANGUAGE.txt``.

    Raises:
        ConfigError: it cannot be told which they are.
        ModelError: one is missing or damaged.
    """
    files = asked.of_sides("vocabulary")
    if files is None:
        languages = (said.get("source_lang"), said.get("target_lang"))
        if not all(type(each) is str and Path(each).name == each for each in languages):
            problem = "the checkpoint does not say its languages"
            raise ConfigError("vocabulary", problem, "give both files dict.LANGUAGE.txt")
        files = (path.parent / f"dict.{languages[0]}.txt", path.parent / f"dict.{languages[1]}.txt")
    return _both(asked, [(file, _dictionary(file)) for file in files], "pieces")


def joeynmt_texts(settings: Mapping[str, Any], path: Path, asked: Asked) -> Texts:
    """Read ``src_vocab.txt`` and ``trg_vocab.txt`` beside a checkpoint.

    Raises:
        ConfigError: text was prepared in a way that is not known here.
        ModelError: a file is missing or damaged.
    """
    folder = path.parent
    files = asked.of_sides("vocabulary")
    files = (folder / "src_vocab.txt", folder / "trg_vocab.txt") if files is None else files
    data = _table(settings, "data")
    symbols = _table(data, "special_symbols")
    wanted = tuple(
        str(symbols.get(f"{name}_token") or usual)
        for name, usual in (("pad", "<pad>"), ("bos", "<s>"), ("eos", "</s>"), ("unk", "<unk>"))
    )
    controls = [str(tag) for tag in symbols.get("lang_tags") or ()]
    controls += [str(symbols["sep_token"])] if symbols.get("sep_token") else []
    given = asked.of_sides("tokenizer")
    texts: list[Text] = []
    sides: tuple[Side, Side] = ("src", "trg")
    for number, side in enumerate(sides):
        file, listed = _listed(files[number], wanted, controls)
        said = data if isinstance(data.get(side), str) else _table(data, side)
        where = f"{folder / 'config.yaml'}: data.{side}"
        cut = given[number] if given else asked.cut or _joeynmt_cut(said, data, folder, where)
        texts.append(Text(file=file, listed=listed, cut=cut, steps=_joeynmt_steps(said)))
    return texts[0], texts[1]


def opennmt_texts(vocabularies: object, path: Path, asked: Asked, advice: str) -> Texts:
    """Take the lists that a checkpoint holds.

    Raises:
        ModelError: they are no lists of strings.
    """
    table = cast("dict[str, Any]", vocabularies) if type(vocabularies) is dict else {}
    found: list[tuple[Path, Listed]] = []
    start = table.get("decoder_start_token") or "<s>"
    for side in ("src", "tgt"):
        names = cast("list[str]", table.get(side))
        if type(names) is not list or not all(type(name) is str for name in names):
            raise ModelError(f"{path}: vocab: {side}: is no list of pieces; {advice}")
        pieces = tuple(names)
        wanted = ("<blank>", str(start) if side == "tgt" else "<s>", "</s>", "<unk>")
        found.append((path, Listed(names=pieces, special=special_of(pieces, path, wanted=wanted))))
    return _both(asked, found, "pieces")


def _both(asked: Asked, found: list[tuple[Path, Listed]], usual: Cut) -> Texts:
    """Cut both sides as whoever imports says."""
    given = asked.of_sides("tokenizer")
    cuts: tuple[Cut | Path, Cut | Path] = given or (asked.cut or usual, asked.cut or usual)
    (file, listed), (other_file, other) = found
    source = Text(file=file, listed=listed, cut=cuts[0])
    return source, Text(file=other_file, listed=other, cut=cuts[1])


def _listed(
    path: Path, wanted: tuple[str, ...], controls: list[str] | None = None
) -> tuple[Path, Listed]:
    names = tuple(read_lines(path, hint=f"give a text file, {_LIST}"))
    listed = Listed(names=names, special=special_of(names, path, wanted=wanted))
    tags = listed.find(*(controls or ()))
    return path, Listed(names=names, special=listed.special, controls=tags)


def _dictionary(path: Path) -> Listed:
    """Read a dictionary of fairseq: a piece and its count a line; four pieces go without saying."""
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    for number, line in enumerate(read_lines(path, hint="give the dict.LANGUAGE.txt"), 1):
        name, space, count = line.rstrip().rpartition(" ")
        if not space or not name or not count.isdecimal():
            problem = f"{line[:40]!r} is not a piece and its count"
            raise ModelError(f"{path}: line {number}: {problem}; give the dict.LANGUAGE.txt")
        names.append(name)
    special = special_of(names, path, wanted=("<pad>", "</s>", "</s>", "<unk>"))
    start = names.index("<s>")
    return Listed(names=tuple(names), special=special, controls=(start,))


def _joeynmt_cut(
    said: Mapping[str, Any], data: Mapping[str, Any], folder: Path, where: str
) -> Cut | Path:
    """Say how JoeyNMT cut text: before 2.0 subwords came from outside, joined by spaces."""
    level = str(said.get("level") or data.get("level") or "word")
    own = _table(said, "tokenizer_cfg")
    if str(own.get("pretokenizer") or "none").lower() != "none":
        problem = f"{own['pretokenizer']!r} is not applied here"
        hint = "cut text by it yourself, and say how it is cut then: --tokenizer or --cut"
        raise ConfigError("tokenizer_cfg.pretokenizer", problem, hint).inside(file=where)
    if level == "char":
        return "characters"
    if level == "word" or said is data:
        return "pieces"
    named = own.get("model_file") or own.get("codes")
    if level != "bpe" or not isinstance(named, str):
        raise ConfigError("level", f"{level!r} names no file", "give --tokenizer").inside(
            file=where
        )
    beside = folder / Path(named).name  # where JoeyNMT copies it
    if not beside.is_file():
        hint = "put it there, or give --tokenizer"
        raise ConfigError("tokenizer_cfg", f"{beside}: no such file", hint).inside(file=where)
    return beside


def _joeynmt_steps(said: Mapping[str, Any]) -> tuple[Json, ...]:
    """Say what JoeyNMT does to text first."""
    steps: list[Json] = []
    if said.get("normalize"):
        steps.append({"type": "NFKC"})
        for old, new in (("’", "'"), ("“", '"'), ("”", '"'), ("\u200b", "")):
            steps.append(_replace({"String": old}, new))
        steps.append(_replace({"Regex": "[ \u3000]+"}, " "))
        steps += [_replace({"String": f" {mark}"}, mark) for mark in "?!,.:"]
        steps.append({"type": "Strip", "strip_left": True, "strip_right": True})
    if said.get("lowercase"):
        steps.append({"type": "Lowercase"})
    return tuple(steps)


def _replace(pattern: Json, content: str) -> Json:
    return {"type": "Replace", "pattern": pattern, "content": content}


def _table(table: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = table.get(name)
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}
