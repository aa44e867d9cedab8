"""Packages that come in: what we wrote comes back, and poisoned ones stay outside (report 30)."""

import io
import json
import pickle
import stat
import struct
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import torch

from dragoman.bundle import model_weights
from dragoman.errors import ConfigError, ModelError
from dragoman.interop.argos import archive, certify_argos, read_argos
from dragoman.translator import Translator
from tests.fixtures import ENGLISH, GERMAN
from tests.interop.argos.bundles import package, writing_bundle

pytest.importorskip("ctranslate2", reason="needs ctranslate2: the extra ct2")
pytest.importorskip("sentencepiece", reason="needs sentencepiece, which tests have")
ROOT = "translate-de_en-1_0"
METADATA = f"{ROOT}/metadata.json"


@cache
def members() -> dict[str, bytes]:
    with TemporaryDirectory() as folder:
        data = io.BytesIO(package(Path(folder), writing_bundle()).read_bytes())
    with zipfile.ZipFile(data) as found:
        return {name: found.read(name) for name in found.namelist()}


def packed(files: dict[str, bytes], *entries: tuple[zipfile.ZipInfo | str, bytes]) -> bytes:
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")  # it warns of names that come twice
        for name, content in files.items():
            archive.writestr(name, content)
        for entry, content in entries:
            archive.writestr(entry, content)
    return stream.getvalue()


def changed(name: str, change: dict[str, Any]) -> bytes:
    table = json.loads(members()[f"{ROOT}/{name}"])
    return packed({**members(), f"{ROOT}/{name}": json.dumps(table | change).encode()})


@pytest.mark.parametrize("joint", [True, False])
def test_what_was_written_comes_back_to_the_bit(joint: bool, tmp_path: Path) -> None:
    bundle = writing_bundle(joint=joint)
    path = package(tmp_path, bundle)
    back = read_argos(path)
    assert back.config == bundle.config
    ours, theirs = model_weights(bundle.model), model_weights(back.model)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert [t.to_json() for t in back.tokenizers] == [t.to_json() for t in bundle.tokenizers]
    again = tmp_path / "again"
    again.mkdir()
    assert package(again, back).read_bytes() == path.read_bytes()


def foreign() -> dict[str, bytes]:
    """Make the package of another program: nothing in it is ours."""
    files = {name: data for name, data in members().items() if "tokenizer.json" not in name}
    for name in ("metadata.json", "model/config.json"):
        table = json.loads(files[f"{ROOT}/{name}"])
        del table["dragoman"]
        files[f"{ROOT}/{name}"] = json.dumps(table).encode()
    return files


def test_packages_of_other_programs_translate_as_they_do(tmp_path: Path) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2")
    sentencepiece = pytest.importorskip("sentencepiece")
    path = tmp_path / "x.argosmodel"
    path.write_bytes(packed(foreign()))
    bundle = read_argos(path)
    with zipfile.ZipFile(path) as found:
        found.extractall(tmp_path)  # ours
    model = ctranslate2.Translator(str(tmp_path / ROOT / "model"))
    cutter = sentencepiece.SentencePieceProcessor(
        model_file=str(tmp_path / ROOT / "sentencepiece.model")
    )
    translator = Translator(bundle)
    for text in [*GERMAN, *ENGLISH, "der  hund </s> 🦊"]:
        pieces = cutter.encode(text, out_type=str)
        names = bundle.source_tokenizer.names()
        assert [names[number] for number in bundle.source_tokenizer.encode(text)] == pieces
        (theirs,) = model.translate_batch(
            [pieces], beam_size=1, min_decoding_length=0, max_decoding_length=20
        )
        (ours,) = translator.translate([text], beam=1, max_length=20)
        assert ours.text == cutter.decode_pieces(theirs.hypotheses[0])


def test_packages_of_other_programs_are_held_to_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "x.argosmodel"
    path.write_bytes(packed(foreign()))
    bundle = read_argos(path)
    found = certify_argos(path, bundle)
    assert found.client.startswith("ctranslate2.Translator with sentencepiece")
    with pytest.raises(ConfigError, match=r"tokenizer\.kind: a vocabulary of another toolkit"):
        package(tmp_path, bundle)


def refused(folder: Path, data: bytes, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """See that it is refused and that no file was made, there or in the folder for unpacking."""
    path, rooms = folder / "x.argosmodel", folder / "rooms"
    path.write_bytes(data)
    rooms.mkdir()
    kept: list[str] = []

    class Room(TemporaryDirectory[str]):
        def __init__(self, **options: Any) -> None:
            super().__init__(dir=rooms, **options)

        def __exit__(self, *_: object) -> None:
            kept.extend(str(p.relative_to(self.name)) for p in Path(self.name).rglob("*"))
            super().__exit__(None, None, None)

    monkeypatch.setattr(archive, "TemporaryDirectory", Room)
    with pytest.raises(ModelError, match=message) as caught:
        read_argos(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert str(rooms) not in str(caught.value)
    assert set(kept) <= {"model", "metadata.json"}
    assert sorted(each.name for each in folder.iterdir()) == ["rooms", "x.argosmodel"]
    assert not list(rooms.iterdir())


@pytest.mark.parametrize(
    "name",
    ["../x", f"{ROOT}/../../x", "/etc/x", "C:\\x", "..\\x", "\\\\host\\x", f"{ROOT}/C:/../x"],
)
def test_a_path_that_leads_out_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused(tmp_path, packed({**members(), name: b"x"}), "outside the folder", monkeypatch)


@pytest.mark.parametrize("name", ["link", "model/model.bin", "sentencepiece.model"])
def test_a_link_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = zipfile.ZipInfo(f"{ROOT}/{name}")
    link.create_system = 3
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    files = {each: data for each, data in members().items() if each != link.filename}
    refused(tmp_path, packed(files, (link, b"/etc/passwd")), "is a link", monkeypatch)


@pytest.mark.parametrize("first", ["", "./"])
def test_two_files_of_one_name_are_refused(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = packed(members(), (f"{first}{ROOT}/model/model.bin", b"other"))
    refused(tmp_path, data, r"holds '.*model\.bin' twice", monkeypatch)


def test_a_file_far_larger_than_the_package_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = packed({**members(), f"{ROOT}/model/model.bin": bytes(1 << 25)})  # 1,000 to 1
    refused(tmp_path, bomb, "far more than its size allows", monkeypatch)


@pytest.mark.parametrize("size", [10 << 30, 0xFFFFFFFE])
def test_a_file_that_says_it_is_huge_is_refused(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 10 GB stand in the extra field of 64 bits, 4 GB in the field of 32.
    data = bytearray(packed(members(), (f"{ROOT}/sparse", b"x" * 20)))
    place = data.rindex(b"PK\1\2")  # the last entry of the directory
    small = size if size < 0xFFFFFFFF else 0xFFFFFFFF
    struct.pack_into("<I", data, place + 24, small)
    if small != size:
        name = f"{ROOT}/sparse".encode()
        extra = struct.pack("<HHQ", 1, 8, size)
        struct.pack_into("<H", data, place + 30, len(extra))
        data[place + 46 + len(name) : place + 46 + len(name)] = extra
        end = data.rindex(b"PK\5\6")
        length = struct.unpack_from("<I", data, end + 12)[0] + len(extra)
        struct.pack_into("<I", data, end + 12, length)
    refused(tmp_path, bytes(data), "far more than its size allows", monkeypatch)


def test_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_MOST_FILES", 20)
    many = packed({**members(), **{f"{ROOT}/{number}": b"" for number in range(20)}})
    refused(tmp_path, many, "holds 2[0-9] files, a package has some 10", monkeypatch)


@pytest.mark.parametrize("code", ["../../m", "/etc", "C:\\x", "", None, 3, ["de"]])
def test_a_code_that_is_no_language_is_refused(
    code: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = changed("metadata.json", {"from_code": code})
    refused(tmp_path, data, r"metadata\.json: from_code: .* is not the code", monkeypatch)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"type": "sbd"}, "type: 'sbd' is no translation"),
        ({"target_prefix": "<2de>"}, "target_prefix: '<2de>' begins every target"),
    ],
)
def test_other_kinds_of_packages_are_refused(
    change: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused(tmp_path, changed("metadata.json", change), message, monkeypatch)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("metadata.json", "holds 0 folders with metadata.json"),
        ("sentencepiece.model", "sentencepiece.model is missing"),
        ("model/model.bin", "model.bin is missing"),
        ("model/config.json", "config.json: no such file"),
        ("model/shared_vocabulary.json", "vocabulary.json: no such file"),
    ],
)
def test_a_missing_file_is_named(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {each: data for each, data in members().items() if each != f"{ROOT}/{name}"}
    (tmp_path / "x.argosmodel").write_bytes(packed(files))
    with pytest.raises(ModelError, match=message):
        read_argos(tmp_path / "x.argosmodel")


def test_packages_that_cut_text_into_words_first_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {name.replace("sentencepiece.", "bpe."): data for name, data in members().items()}
    refused(tmp_path, packed(files), "cut into words first", monkeypatch)


def test_two_packages_in_one_file_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = packed({**members(), "other/metadata.json": b"{}"})
    refused(tmp_path, data, "holds 2 folders with metadata.json", monkeypatch)


class Trap:
    """Runs when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return (open, (str(self.mark), "w"))


READ = [
    "metadata.json",
    "sentencepiece.model",
    "model/model.bin",
    "model/config.json",
    "model/shared_vocabulary.json",
    "model/tokenizer.json",
]


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("protocol", [0, 4])
@pytest.mark.parametrize("maker", [members, foreign])
def test_a_pickle_in_place_of_a_file_is_refused_and_does_not_run(
    maker: Callable[[], dict[str, bytes]], name: str, protocol: int, tmp_path: Path
) -> None:
    if f"{ROOT}/{name}" not in maker():
        return
    mark, path = tmp_path / "mark", tmp_path / "x.argosmodel"
    poison = pickle.dumps(Trap(mark), protocol)
    path.write_bytes(packed({**maker(), f"{ROOT}/{name}": poison}))
    with pytest.raises(ModelError, match=rf"x\.argosmodel: .*{name.rsplit('/')[-1]}"):
        read_argos(path)
    assert not mark.exists()


@pytest.mark.parametrize("protocol", [0, 4])
def test_a_pickle_in_place_of_the_package_is_refused(protocol: int, tmp_path: Path) -> None:
    path = tmp_path / "x.argosmodel"
    path.write_bytes(pickle.dumps(Trap(tmp_path / "mark"), protocol))
    with pytest.raises(ModelError, match=r"x\.argosmodel: damaged"):
        read_argos(path)
    assert not (tmp_path / "mark").exists()


def test_files_that_are_not_read_do_not_matter(tmp_path: Path) -> None:
    poison = pickle.dumps(Trap(tmp_path / "mark"))
    extra = {f"{ROOT}/stanza/de/tokenize/x.pt": poison, f"{ROOT}/minisbd/lines.onnx": poison}
    (tmp_path / "x.argosmodel").write_bytes(packed({**members(), **extra}))
    read_argos(tmp_path / "x.argosmodel")
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("sentencepiece.model", "sentencepiece.model is not the vocabulary beside"),
        ("model/shared_vocabulary.json", "model: two lists of pieces are not the same"),
    ],
)
def test_a_vocabulary_of_another_model_is_refused(file: str, message: str, tmp_path: Path) -> None:
    content = members()[f"{ROOT}/{file}"]
    last = json.loads(members()[f"{ROOT}/model/shared_vocabulary.json"])[-1].encode()
    assert content.count(last)
    other = content.replace(last, last[::-1].replace(b"\x81\x96\xe2", b"\xe2\x96\x81"))
    assert other != content
    path = tmp_path / "x.argosmodel"
    path.write_bytes(packed({**members(), f"{ROOT}/{file}": other}))
    with pytest.raises(ModelError, match=message):
        read_argos(path)


def test_packages_are_told_from_other_files(tmp_path: Path) -> None:
    path = tmp_path / "x"
    assert not archive.is_package(path)
    assert not archive.is_package(tmp_path)
    for content in (b"", b"PK\5\6" + bytes(18), b"PK\3\4 and no zip", packed({"a/b": b"x"})):
        path.write_bytes(content)
        assert not archive.is_package(path)
    path.write_bytes(packed(members()))
    assert archive.is_package(path)


def test_no_such_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"x\.argosmodel: cannot be read: No such file"):
        read_argos(tmp_path / "x.argosmodel")
    with pytest.raises(ModelError, match=r"cannot be read: Is a directory"):
        read_argos(tmp_path)
