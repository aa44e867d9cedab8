"""Find pickles without running them: a pickle is a program, and may be a hostile one.

A file of weights from ``torch.save`` is a pickle too, which may build tensors and nothing else.
Opcodes are read, never run.
"""

import io
import itertools
import pickletools
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path

from dragoman.errors import ModelError
from dragoman.interop.special_files import refuse_special

_MOST_FILES = 10_000
_MOST_BYTES = 64 << 20  # of one pickle; those of weights hold names and shapes only
_MOST_TEXT = 1 << 20
_MOST_OPCODES = 5_000_000  # a model of ten thousand weights has a tenth of them
_MOST_PICKLES = 16  # one after another; those of weights are five
_PROTOCOL = b"\x80"  # how pickles begin since version 2
_OPCODES = {opcode.code.encode("latin-1") for opcode in pickletools.opcodes}
_CALLS = {"REDUCE", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "BUILD"}
_NAMING, _HIDING = {"GLOBAL", "INST"}, {"STACK_GLOBAL", "EXT1", "EXT2", "EXT4"}
# What files of weights and of the settings of a training name; whatever else they name is refused.
_HARMLESS = (
    "argparse Namespace",
    "collections OrderedDict",
    "torch._utils _rebuild_",
    "torch device",
    "torch Size",
    "torch storage",
    "torch.storage TypedStorage",
    "torch.storage UntypedStorage",
    "transformers.training_args TrainingArguments",
    "transformers.training_args OptimizerNames",
    "transformers.trainer_utils ",
    "transformers.debug_utils DebugOption",
)


def refuse_pickles(folder: Path) -> None:
    """See that no file of a folder is a pickle that would do more than make tensors.

    Raises:
        ModelError: one is, named; one is no file but a pipe or a device; or the folder is a pile
            of files and no model.
    """
    for path in _files(folder):
        named = harmful_call(path)
        if named is not None:
            raise ModelError(
                f"{path}: is a pickle that would run {named}; it was not run. "
                "Do not use this folder unless you know who made it; remove the file otherwise"
            )


def harmful_call(path: Path) -> str | None:
    """Name what a file would run if it was loaded as a pickle; None when it is none, or harmless.

    Raises:
        ModelError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            start = file.read(2)
            if start == b"PK":
                return _harmful_in_archive(path)
            if start[:1] not in _OPCODES:
                return None
            file.seek(0)
            data = file.read(_MOST_BYTES if start[:1] == _PROTOCOL else _MOST_TEXT)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror or error}") from None
    return _harmful(data)


def _files(folder: Path) -> Iterator[Path]:
    found = itertools.islice(folder.rglob("*"), _MOST_FILES + 1)
    for number, path in enumerate(found):
        if number == _MOST_FILES:
            raise ModelError(
                f"{folder}: holds more than {_MOST_FILES:,} files; name a model folder"
            )
        refuse_special(path)
        if path.is_file():
            yield path


def _harmful_in_archive(path: Path) -> str | None:
    """Look into what ``torch.save`` writes today: an archive with a pickle inside."""
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if not member.filename.endswith(".pkl"):
                    continue
                if member.file_size > _MOST_BYTES:
                    return f"{member.file_size:,} bytes of code"
                with archive.open(member) as file:
                    named = _harmful(file.read(_MOST_BYTES))
                if named is not None:
                    return named
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, RuntimeError):
        return None  # whoever reads it says what is wrong with it
    return None


def _harmful(data: bytes) -> str | None:
    """Read the opcodes of pickles that stand one after another, as ``torch.save`` once wrote."""
    stream = io.BytesIO(data)
    for _ in range(_MOST_PICKLES):
        start = stream.tell()
        named, whole = _names_in_one(stream)
        binary = data[start : start + 1] == _PROTOCOL
        if not binary:  # text may read like code; what it names then has no such name
            named = [name for name in named if all(map(str.isidentifier, _words(name)))]
        # Loading a pickle that breaks off runs what stands before; text that is none breaks off.
        if (whole or binary) and (found := _first_harmful(named)):
            return found
        if not whole or data[:1] != _PROTOCOL:
            return None
    return None


def _names_in_one(stream: io.BytesIO) -> tuple[list[str], bool]:
    """List what one pickle names, if it calls anything; and say whether it has an end."""
    named: list[str] = []
    calls = False
    try:
        with warnings.catch_warnings():  # of escapes in what only looks like a string of code
            warnings.simplefilter("ignore")
            for number, (opcode, argument, _) in enumerate(pickletools.genops(stream)):
                if number == _MOST_OPCODES:
                    return ["more than can be looked at"], True
                calls = calls or opcode.name in _CALLS
                if opcode.name in _NAMING:
                    named.append(str(argument))
                elif opcode.name in _HIDING:  # names what was put together before
                    named.append("a function under a name put together")
    except ValueError:  # a byte that is no opcode, or an end too soon
        return named if calls else [], False
    return named if calls else [], True


def _words(name: str) -> list[str]:
    return name.replace(" ", ".", 1).split(".")


def _first_harmful(named: list[str]) -> str:
    for name in named:
        tensors = name.startswith("torch ") and name.endswith(("Storage", "Tensor"))
        types = name.startswith("torch ") and name.split()[-1] in _TYPES
        inside = "." in name.partition(" ")[2]  # of a name: another module, such as os.system
        if inside or not (name.startswith(_HARMLESS) or tensors or types):
            return name.replace(" ", ".") if name.count(" ") == 1 else name
    return ""


_TYPES = {"float16", "float32", "float64", "bfloat16", "int8", "uint8", "int32", "int64", "bool"}
