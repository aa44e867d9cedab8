import hashlib
import io
import zipfile
from datetime import date
from pathlib import Path

import pytest

from dragoman.downloads import (
    Archive,
    Joining,
    Patience,
    Piece,
    PublicCorpus,
    Ready,
    data_table,
    get_corpus,
)
from dragoman.downloads import getting as getting_module
from dragoman.errors import DataError
from dragoman.recipe import read_recipe
from tests.downloads.corpora import MEMBERS, copy, corpus, gzipped, served, tar
from tests.downloads.server import Reply, Server

FAST = Patience(tries=2, timeout_seconds=5.0, sleep=lambda _: None)
TEXT = ["train.de", "train.en", "validation.de", "validation.en", "test.de", "test.en"]


def digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def run(wanted: PublicCorpus, folder: Path) -> Ready:
    *_, last = get_corpus(wanted, folder, patience=FAST, today=date(2026, 11, 30))
    assert isinstance(last, Ready)
    return last


def test_a_corpus_ends_as_two_plain_files_a_set(server: Server, tmp_path: Path) -> None:
    ready = run(served(server), tmp_path / "tiny")
    folder = tmp_path / "tiny"
    assert [file.path.name for file in ready.files] == TEXT
    assert [file.pairs for file in ready.files] == [4, 4, 1, 1, 2, 2]
    assert (folder / "train.de").read_bytes() == MEMBERS["training/a.de"].encode()
    assert (folder / "train.en").read_bytes() == MEMBERS["training/a.en"].encode()
    assert (folder / "validation.de").read_text() == "Gut.\n"
    assert (folder / "test.de").read_text() == "AT&T & Söhne\n5 < 6\n"
    assert (folder / "test.en").read_text() == "AT&T & sons\n5 < 6\n"
    beside = ["SOURCE", "recipe.toml", "checksums.sha256", "downloads", ".lock"]
    assert sorted(path.name for path in folder.iterdir()) == sorted(TEXT + beside)


def test_the_label_says_where_the_text_comes_from(server: Server, tmp_path: Path) -> None:
    wanted = served(server)
    run(wanted, tmp_path / "tiny")
    label = (tmp_path / "tiny/SOURCE").read_text()
    for said in (
        "tiny-de-en: A test",
        "Licence: For tests only.",
        "https://example.org/licence",
        "Please cite: Nobody 2017.",
        "on 2026-11-30",
        f"{server.address}/tiny.tgz",
        f"sha256 {wanted.archives[0].copies[0].digest} (this test)",
        "pairs 1 to 4: training/a.de, training/a.en",
        "train.de: 4 lines, sha256 " + digest(MEMBERS["training/a.de"].encode()).hex(),
    ):
        assert said in label


def test_the_checksums_are_those_of_the_files(server: Server, tmp_path: Path) -> None:
    run(served(server), tmp_path / "tiny")
    lines = (tmp_path / "tiny/checksums.sha256").read_text().splitlines()
    assert [line.split("  ")[1] for line in lines] == [*TEXT, "SOURCE"]
    for line in lines:
        known, name = line.split("  ")
        assert digest((tmp_path / "tiny" / name).read_bytes()).hex() == known


def test_the_recipe_beside_the_text_can_be_read(server: Server, tmp_path: Path) -> None:
    run(served(server), tmp_path / "tiny")
    data = read_recipe(tmp_path / "tiny/recipe.toml").data
    assert data.train.source == tmp_path / "tiny/train.de"  # type: ignore[union-attr]  # two files
    assert data.test.target == tmp_path / "tiny/test.en"  # type: ignore[union-attr]  # two files


def test_a_table_to_paste_quotes_odd_folders(tmp_path: Path) -> None:
    odd = Path('a "b"')
    wanted = corpus(copy("http://127.0.0.1/x", b"x"))
    (tmp_path / "recipe.toml").write_text(data_table(wanted, odd))
    data = read_recipe(tmp_path / "recipe.toml").data
    assert data.train.source == tmp_path / odd / "train.de"  # type: ignore[union-attr]  # two files


def test_nothing_is_fetched_when_the_text_is_there_and_whole(
    server: Server, tmp_path: Path
) -> None:
    wanted = served(server)
    first = run(wanted, tmp_path / "tiny")
    for path in first.archives:
        path.unlink()
    server.asked.clear()
    again = run(wanted, tmp_path / "tiny")
    assert (again.was_there, server.asked, again.files) == (True, [], first.files)


def test_a_recipe_that_a_user_changed_is_left_alone(server: Server, tmp_path: Path) -> None:
    wanted = served(server)
    run(wanted, tmp_path / "tiny")
    (tmp_path / "tiny/recipe.toml").write_text("# mine\n")
    (tmp_path / "tiny/train.de").unlink()
    assert not run(wanted, tmp_path / "tiny").was_there
    assert (tmp_path / "tiny/recipe.toml").read_text() == "# mine\n"
    assert (tmp_path / "tiny/train.de").exists()


def test_text_of_somebody_else_is_not_overwritten(server: Server, tmp_path: Path) -> None:
    (tmp_path / "train.en").write_text("mine\n")
    with pytest.raises(DataError, match=r"train\.en: is there already and holds something else"):
        run(served(server), tmp_path)
    assert (tmp_path / "train.en").read_text() == "mine\n"
    assert not (tmp_path / "train.de").exists()


def test_a_set_with_another_number_of_pairs_than_published_is_refused(
    server: Server, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="tiny-de-en, test: holds 2 pairs, not 3"):
        run(served(server, test_pairs=3), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "downloads"]


def test_sides_of_unequal_length_are_refused(server: Server, tmp_path: Path) -> None:
    data = tar({**MEMBERS, "dev.en": "Good.\nToo much.\n"})
    with pytest.raises(DataError, match=r"dev\.de: line 2: has fewer lines than its other side"):
        run(corpus(copy(server.put("/x", data), data)), tmp_path)


def test_segments_that_are_numbered_apart_are_refused(server: Server, tmp_path: Path) -> None:
    moved = MEMBERS["test.en.sgm"].replace('id="2"', 'id="3"')
    data = tar({**MEMBERS, "test.en.sgm": moved})
    with pytest.raises(DataError, match="segment 3, but 2 on the other side"):
        run(corpus(copy(server.put("/x", data), data)), tmp_path)


def test_an_interrupt_while_joining_leaves_the_archive_and_nothing_half(
    server: Server, tmp_path: Path
) -> None:
    wanted = served(server)
    events = get_corpus(wanted, tmp_path, patience=FAST)
    for event in events:
        if isinstance(event, Joining):
            break
    with pytest.raises(KeyboardInterrupt):
        events.throw(KeyboardInterrupt())  # type: ignore[attr-defined]  # it is a generator
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "downloads"]
    server.asked.clear()
    run(wanted, tmp_path)
    assert server.asked == []


def test_what_a_killed_process_left_is_cleared_away(server: Server, tmp_path: Path) -> None:
    (tmp_path / ".text.writing-1").mkdir()
    (tmp_path / ".text.writing-1/train.de").write_text("half")
    run(served(server), tmp_path)
    assert not (tmp_path / ".text.writing-1").exists()


def test_two_at_once_do_not_write_into_one_folder(server: Server, tmp_path: Path) -> None:
    wanted = served(server)
    first = iter(get_corpus(wanted, tmp_path, patience=FAST))
    next(first)
    with pytest.raises(DataError, match="another process works on it"):
        run(wanted, tmp_path)
    first.close()  # type: ignore[attr-defined]  # it is a generator


def test_too_little_room_is_told_before_anything_is_asked(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr(getting_module.shutil, "disk_usage", lambda _: usage)  # pyright: ignore[reportUnknownLambdaType]  # a fake
    with pytest.raises(DataError, match=r"needs about .* bytes .*, 1,000 are free"):
        run(served(server), tmp_path)
    assert server.asked == []


def test_no_folder_for_archives_stays_when_none_could_be_fetched(
    server: Server, tmp_path: Path
) -> None:
    wanted = served(server)
    server.replies.clear()  # it has nothing any more
    with pytest.raises(DataError, match="no copy could be fetched"):
        run(wanted, tmp_path)
    assert [path for path in tmp_path.iterdir() if not path.name.startswith(".")] == []


def test_a_corpus_without_sets_is_split_by_its_source_sentences(
    server: Server, tmp_path: Path
) -> None:
    pairs = [(f"Satz {n // 2}.", f"Sentence {n}.") for n in range(600)]
    data = gzipped("".join(f"{source}\t{target}\tCC\n" for source, target in pairs))
    piece = Piece(archive="tiny", source="x", target="x", layout="columns", pairs=600)
    wanted = corpus(
        copy(server.put("/x", data), data, packing="gz"),
        train=(piece,),
        validation=(),
        test=(),
        test_pairs=None,
        one_in=10,
    )
    ready = run(wanted, tmp_path)
    sides = [file.path.read_text().splitlines() for file in ready.files]
    found = [list(zip(sides[n], sides[n + 1], strict=True)) for n in (0, 2, 4)]
    assert sorted(pair for pairs in found for pair in pairs) == sorted(pairs)
    sources = [{source for source, _ in pairs} for pairs in found]
    assert sum(len(names) for names in sources) == 300  # no sentence is in two sets
    # Of 300 sentences a tenth: 30, give or take four standard deviations of 5.2.
    assert all(9 <= len(names) <= 51 for names in sources[1:])
    again = [
        int.from_bytes(hashlib.sha256(s.encode()).digest()[:8], "big") % 10 for s in sources[1]
    ]
    assert set(again) == {0}


def test_members_that_are_packed_again_are_unpacked(server: Server, tmp_path: Path) -> None:
    members = {"a.de.gz": gzipped("Eins.\n"), "a.en.gz": gzipped("One.\n")}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, packed in members.items():
            archive.writestr(name, packed)
    data = stream.getvalue()
    inner = Archive(name="inner", copies=(copy(server.put("/inner", data), data, packing="zip"),))
    train = Piece(archive="inner", source="a.de.gz", target="a.en.gz", pairs=1)
    wanted = corpus(archives=(*served(server).archives, inner), train=(train,))
    run(wanted, tmp_path / "out")
    assert (tmp_path / "out/train.en").read_text() == "One.\n"


def test_a_poisoned_archive_writes_nothing(server: Server, tmp_path: Path) -> None:
    data = tar({**MEMBERS, "../../escaped": "x"})
    with pytest.raises(DataError, match="outside the folder"):
        run(corpus(copy(server.put("/x", data), data)), tmp_path / "tiny")
    assert not (tmp_path / "escaped").exists()
    assert not (tmp_path.parent / "escaped").exists()
    assert sorted(path.name for path in (tmp_path / "tiny").iterdir()) == [".lock", "downloads"]


def test_a_broken_connection_does_not_change_the_text(server: Server, tmp_path: Path) -> None:
    run(served(server, Reply(cut_at=100), Reply()), tmp_path)
    assert (tmp_path / "train.de").read_bytes() == MEMBERS["training/a.de"].encode()
    assert server.asked == [("/tiny.tgz", ""), ("/tiny.tgz", "bytes=100-")]
