"""``dragoman inspect attention``: what goes where, and with which exit status."""

import sys
from pathlib import Path

import numpy as np
import pytest

from dragoman.cli.main import main
from tests.fixtures import ENGLISH, GERMAN, tiny_folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_folder(tmp_path_factory.mktemp("models") / "tiny"))


def test_a_pair_is_text_arrays_picture_and_page(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / f"a.{suffix}" for suffix in ("npz", "png", "html")]
    options = [f"--{file.suffix[1:]}={file}" for file in files]
    command = ["inspect", "attention", model, f"--source={GERMAN[0]}", f"--target={ENGLISH[3]}"]
    assert main([*command, *options]) == 0
    out, err = capsys.readouterr()
    heading = "cross, layer 1, mean of all heads; each row looks, darker is more"
    assert out.splitlines()[0] == heading
    assert out.splitlines()[-1].lstrip().startswith("</s>")
    assert err.splitlines() == [
        f"{files[0]} holds the weights",
        f"{files[2]} holds the page",
        f"{files[1]} holds the picture",
    ]
    with np.load(files[0]) as arrays:
        assert set(arrays) == {
            *("encoder", "decoder", "cross", "source_pieces", "target_pieces", "written_pieces")
        }
        for name in ("encoder", "decoder", "cross"):
            np.testing.assert_allclose(arrays[name].sum(-1), 1, atol=1e-5)
        assert arrays["cross"].shape[2] == len(arrays["written_pieces"])
        assert "".join(arrays["target_pieces"][1:]).strip() == ENGLISH[3]
    assert files[1].read_bytes().startswith(b"\x89PNG")
    assert "Attention of tiny" in files[2].read_text("utf-8")


def test_files_are_shown_pair_by_pair_and_lines_without_target_by_the_models_own(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    german, english, tsv = tmp_path / "a.de", tmp_path / "a.en", tmp_path / "a.tsv"
    german.write_text("\n".join(GERMAN) + "\n", "utf-8")
    english.write_text("\n".join(ENGLISH) + "\n", "utf-8")
    tsv.write_text(f"{GERMAN[0]}\t{ENGLISH[3]}\n{GERMAN[3]}\n", "utf-8")
    command = ["inspect", "attention", model, "--kind", "encoder"]
    assert main([*command, f"--input={german}", f"--input={english}", "--lines", "2"]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if line.startswith("pair")] == [
        f"pair {number}, encoder, layer 1, mean of all heads; each row looks, darker is more"
        for number in (1, 2)
    ]
    npz, png = tmp_path / "a.npz", tmp_path / "a.png"
    assert main([*command, f"--input={tsv}", f"--npz={npz}", f"--png={png}", "--head=2"]) == 0
    with np.load(npz) as arrays:
        assert "".join(arrays["1.target_pieces"][1:]).strip() == ENGLISH[3]
        assert arrays["2.source_pieces"][-1] == "</s>"
    assert (tmp_path / "a-2.png").exists()
    assert not png.exists()


def test_what_cannot_be_shown_is_two_and_has_its_place(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*options: str) -> str:
        assert main(["inspect", "attention", model, *options]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        return err

    one, empty, wide = "--source=der hund", tmp_path / "none.tsv", tmp_path / "wide.tsv"
    empty.write_text("", "utf-8")
    wide.write_text("a\tb\na\tb\tc\n", "utf-8")
    assert "--source: one of --source and --input is needed" in refused()
    assert "--kind: 'self' is no kind; choose encoder" in refused(one, "--kind=self")
    assert "--layer: 2 of 1; choose from 1 to 1" in refused(one, "--layer=2")
    assert "--head: 3 of 2; choose from 1 to 2" in refused(one, "--head=3")
    assert "--png: x.pdf is not named .png" in refused(one, "--png=x.pdf")
    assert f"{empty}: no lines" in refused(f"--input={empty}")
    assert f"{wide}: line 2: 3 columns" in refused(f"--input={wide}")
    assert "--target: goes with --source" in refused(f"--input={wide}", "--target=a")
    assert "--lines: is for --input" in refused(one, "--lines=1")
    assert "target_language: 'de' is asked for" in refused(one, "--target-language=de")
    many = tmp_path / "many.tsv"
    many.write_text("a\tb\n" * 101, "utf-8")
    assert "--html: 101 pairs are too many for a page; give --lines 100" in refused(
        f"--input={many}", f"--html={tmp_path}/a.html"
    )


def test_a_source_that_is_too_long_is_named_by_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = str(tiny_folder(tmp_path / "short", learned=6))
    texts = tmp_path / "a.de"
    texts.write_text("hund\n" + "hund " * 20 + "\n", "utf-8")
    assert main(["inspect", "attention", short, f"--input={texts}"]) == 2
    assert capsys.readouterr().err.startswith("error: source: line 2: ")
    given = ["--source=" + "hund " * 20, "--target=dog"]
    assert main(["inspect", "attention", short, *given]) == 2
    assert "positions" in capsys.readouterr().err


def test_without_matplotlib_the_rest_is_shown_and_the_extra_named(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    one = ["inspect", "attention", model, "--source=der hund"]
    assert main([*one, f"--html={tmp_path}/a.html"]) == 0
    assert capsys.readouterr().out.startswith("cross, layer 1")
    assert main([*one, f"--png={tmp_path}/a.png"]) == 2
    assert "a picture of attention needs an extra" in capsys.readouterr().err
