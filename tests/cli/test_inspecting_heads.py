"""``dragoman inspect heads`` and ``embedding``: what goes where, and with which exit status."""

import json
from pathlib import Path

import pytest

from dragoman.cli.main import main
from tests.fixtures import ENGLISH, GERMAN, tiny_folder, tiny_translator


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_folder(tmp_path_factory.mktemp("models") / "tiny"))


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    file = tmp_path / "pairs.tsv"
    rows = (f"{german}\t{english}\n" for german, english in zip(GERMAN, ENGLISH, strict=True))
    file.write_text("".join(rows), "utf-8")
    return file


def test_every_head_is_left_out_once(
    model: str, pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "heads.png"
    command = ["inspect", "heads", model, f"--file={pairs}", "--lines=2", "--json"]
    assert main([*command, f"--png={picture}"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    scores = tiny_translator().score(GERMAN[:2], ENGLISH[:2])
    pieces = sum(len(score.log_probs) for score in scores)
    assert found["whole"] == pytest.approx(-sum(score.log_prob for score in scores) / pieces)
    assert found["pairs"] == 2
    places = [(each["kind"], each["layer"], each["head"]) for each in found["heads"]]
    assert places == [(k, 1, h) for k in ("encoder", "decoder", "cross") for h in (1, 2)]
    for each in found["heads"]:
        assert each["worse"] == pytest.approx(each["value"] - found["whole"])
    assert err.splitlines()[-2:] == ["6 of 6 heads left out", f"{picture} holds the picture"]
    assert picture.exists()


def test_bleu_is_measured_on_new_translations(
    model: str, pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", "heads", model, f"--file={pairs}", "--lines=1", "--metric=bleu"]) == 0
    assert capsys.readouterr().out.startswith("with all heads: BLEU ")


def test_wrong_options_of_heads_are_two(
    model: str, pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*options: str) -> str:
        assert main(["inspect", "heads", model, *options]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        return err

    assert "give --source and --target, or --file" in refused()
    assert "give --source and --target, or --file" in refused(f"--source={pairs}")
    assert "--metric: 'ter' is not a choice" in refused(f"--file={pairs}", "--metric=ter")
    (tmp_path / "none.tsv").write_text("", "utf-8")
    assert "none.tsv: no lines" in refused(f"--file={tmp_path}/none.tsv")


def test_neighbours_of_a_word_are_pieces_of_its_side(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", "embedding", model, "hund", "--count=3"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 3
    cosines = [float(row.split()[0]) for row in rows]
    assert cosines == sorted(cosines, reverse=True)
    assert main(["inspect", "embedding", model, "xyz", "--side=target", "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert len(found["neighbours"]) == 10
    assert f"'xyz' is {len(found['pieces'])} pieces" in err
    assert not {each["piece"] for each in found["neighbours"]} & {"<s>", "</s>", "<pad>", "<unk>"}


def test_wrong_options_of_embedding_are_two(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "embedding", model, "a", "--side=left"]) == 2
    assert "--side: 'left' is not a choice" in capsys.readouterr().err
    assert main(["inspect", "embedding", model, ""]) == 2
    assert "WORD: '' has no pieces" in capsys.readouterr().err
