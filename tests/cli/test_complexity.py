import json
from pathlib import Path

import pytest

from dragoman.cli.main import main


def test_table_1_is_printed_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "a.png"
    asked = ["inspect", "complexity", "--n", "8", "--d", "16", "--output", str(picture)]
    assert main(asked) == 0
    out, err = capsys.readouterr()
    assert out.startswith("Table 1 of the paper with n 8, d 16, k 3, r 31, heads 8\n")
    assert err == f"{picture} holds the picture\n"
    assert picture.exists()


def test_programs_get_json_with_measurements_when_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.run.layer_timing._seconds", lambda _: 1.0)
    sizes = ["--n", "4", "--d", "16", "--heads", "8", "--k", "2", "--r", "3"]
    assert main(["inspect", "complexity", *sizes, "--measure", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["layers"][0]["operations"] == 4 * 4 * 16
    assert {one["n"] for one in found["measured"]} == {1, 2, 4, 8, 16}
    assert {one["d"] for one in found["measured_crossings"]} == {8, 16}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--d", "20"], "error: --heads: 8 does not divide d 20\n"),
        (["--r", "30"], "error: --r: 30 keys do not lie centred on a query; try 29\n"),
        (["--output", "a.pdf"], "error: --output: a.pdf is not named .png; pictures are PNG\n"),
    ],
)
def test_what_cannot_be_is_two_and_says_which_option(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", "complexity", *options]) == 2
    assert capsys.readouterr() == ("", said)
