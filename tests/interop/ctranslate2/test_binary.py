"""The model file, read without the library; damage is told, and never more than that."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.errors import ModelError
from dragoman.interop.ctranslate2 import read_binary
from tests.interop.ctranslate2.binaries import PRETRAINED, binary, text, variable

ARRAYS = {
    "whole": np.arange(6, dtype=np.float32).reshape(2, 3) / 7,
    "short": np.array([-1000, 1000], dtype=np.int16),
    "tiny": np.array([[-127], [3]], dtype=np.int8),
    "number": np.array(5, dtype=np.int8),
}
HALF = np.array([0.5, -2.0, 1e-7], dtype=np.float16)


def put(folder: Path, data: bytes) -> Path:
    path = folder / "model.bin"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5, 6])
def test_every_version_gives_what_was_written(version: int, tmp_path: Path) -> None:
    arrays = dict(ARRAYS) if version < 4 else {**ARRAYS, "half": HALF}
    aliases = [("also", "whole")]
    found = read_binary(put(tmp_path, binary(arrays, version=version, aliases=aliases)))
    assert (found.version, found.revision) == (version, 1 if version == 1 else 7)
    assert found.specification == ("" if version == 1 else "TransformerSpec")
    assert found.aliases == ({} if version < 3 else {"also": "whole"})
    assert list(found.variables) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found.variables[name].items(), array)
        assert found.variables[name].shape == array.shape


def test_brain_floats_are_the_upper_halves_of_floats(tmp_path: Path) -> None:
    # By hand: 1.5 is 0x3FC00000, -2 is 0xC0000000.
    halves = np.array([0x3FC0, 0xC000], dtype=np.uint16)
    data = struct.pack("<I", 6) + text("TransformerSpec") + struct.pack("<II", 7, 1)
    data += variable("brain", halves, 6, kind="bfloat16") + struct.pack("<I", 0)
    found = read_binary(put(tmp_path, data))
    assert found.variables["brain"].items().tolist() == [1.5, -2.0]


@pytest.mark.parametrize("quantization", [None, "float16", "bfloat16", "int16", "int8"])
def test_files_of_the_library_give_its_own_variables(quantization: Any, tmp_path: Path) -> None:
    specs = pytest.importorskip("ctranslate2.specs", reason="needs ctranslate2: the extra ct2")
    layer = specs.common_spec.LinearSpec()
    rng = np.random.default_rng(1)
    layer.weight = rng.normal(size=(4, 3)).astype(np.float32)
    layer.bias = rng.normal(size=4).astype(np.float32)

    class Model(specs.ModelSpec):
        name, revision = "TransformerSpec", 3

        def __init__(self) -> None:
            super().__init__()
            self.linear = layer

    model = Model()
    model.validate()
    model.optimize(quantization=quantization)
    model.save(str(tmp_path))
    found = read_binary(tmp_path / "model.bin")
    assert (found.version, found.specification, found.revision) == (6, "TransformerSpec", 3)
    theirs = model.variables()
    assert found.variables.keys() == theirs.keys()
    for name, value in theirs.items():
        assert found.variables[name].kind == value.dtype
        exact = value.to("float32") if "float" in value.dtype else value
        np.testing.assert_array_equal(found.variables[name].items(), exact.numpy())


DAMAGED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", r"is cut off: its version takes 4 bytes, and 0 are left"),
    "pickle": (b"\x80\x04\x95\x0b\0\0\0\0\0\0\0", r"is a pickle, which could run code"),
    "archive": (b"PK\x03\x04" + bytes(40), r"is an archive, as torch.save makes them"),
    "later": (binary(ARRAYS, version=7), r"is no CTranslate2 model of the versions 1 to 6"),
    "longer": (binary(ARRAYS) + b"!", r"goes on for 1 bytes after its end"),
    "cut": (binary(ARRAYS)[:-30], r"is cut off"),
    "huge": (
        struct.pack("<I", 6) + text("S") + struct.pack("<II", 7, 1) + text("huge")
        + struct.pack("<BIIBI", 2, 1 << 31, 1 << 31, 0, 4),
        r"huge is \(2147483648, 2147483648\) of float32, and has 4 bytes",
    ),
    "more-than-there-is": (
        struct.pack("<I", 6) + text("S") + struct.pack("<II", 7, 1) + text("w")
        + struct.pack("<BIBI", 1, 1 << 29, 0, 1 << 31),
        r"is cut off: w takes 2,147,483,648 bytes, and 0 are left",
    ),
    "many": (struct.pack("<I", 6) + text("S") + struct.pack("<II", 7, 1 << 31), r"is cut off"),
    "dimensions": (
        binary({"w": np.zeros((1,) * 9, np.float32)}), r"w has 9 dimensions"
    ),
    "type": (
        binary({"w": np.zeros(1, np.float32)}).replace(
            struct.pack("<IBI", 1, 0, 4), struct.pack("<IBI", 1, 9, 4)
        ),
        r"w is of a type that is not known, 9",
    ),
    "twice": (
        struct.pack("<I", 6) + text("S") + struct.pack("<II", 7, 2)
        + variable("w", np.zeros(1, np.float32), 6) * 2 + struct.pack("<I", 0),
        r"has two variables w",
    ),
    "alias-twice": (binary(ARRAYS, aliases=[("whole", "short")]), r"has two variables whole"),
    "circle": (binary(ARRAYS, aliases=[("a", "b"), ("b", "a")]), r"a is an alias that leads to it"),
    "nowhere": (binary(ARRAYS, aliases=[("a", "b")]), r"a is an alias of b, which is not there"),
    "no-zero": (
        struct.pack("<I", 6) + struct.pack("<H", 3) + b"abc", r"its name does not end as it should"
    ),
    "not-utf8": (
        struct.pack("<I", 6) + struct.pack("<H", 3) + b"\xff\xfe\0", r"its name is not UTF-8"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_told_with_the_file(name: str, tmp_path: Path) -> None:
    data, message = DAMAGED[name]
    path = put(tmp_path, data)
    with pytest.raises(ModelError, match=message) as caught:
        read_binary(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_missing_file_and_a_folder_are_told(tmp_path: Path) -> None:
    for path in (tmp_path / "model.bin", tmp_path):
        with pytest.raises(ModelError, match="no such file"):
            read_binary(path)


SMALL = binary(ARRAYS, aliases=[("also", "whole")])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_is_cut_or_flipped_is_read_or_told(data: st.DataObject, tmp_path: Path) -> None:
    damaged = bytearray(SMALL)
    for place in data.draw(st.lists(st.integers(0, len(SMALL) - 1), max_size=4)):
        damaged[place] ^= data.draw(st.integers(1, 255))
    end = data.draw(st.none() | st.integers(0, len(SMALL)))
    try:
        found = read_binary(put(tmp_path, bytes(damaged[:end])))
    except ModelError:
        return
    for each in found.variables.values():
        assert each.items().shape == each.shape


@pytest.mark.skipif(not PRETRAINED.is_dir(), reason="needs ../shared/data/pretrained")
def test_published_files_of_three_versions_are_read_to_their_end() -> None:
    versions: dict[str, int] = {}
    for path in PRETRAINED.glob("ct2-*/**/model.bin"):
        found = read_binary(path)
        versions[path.parent.name] = found.version
        assert all(each.items().size for each in found.variables.values())
    assert versions == {
        "ct2-opennmt-lm": 6,
        "v1-aren-transliteration": 1,
        "v1-aren-transliteration-i16": 1,
        "v2-aren-transliteration": 2,
        "v2-aren-transliteration-i16": 2,
        "v2-aren-transliteration-i8": 2,
    }
