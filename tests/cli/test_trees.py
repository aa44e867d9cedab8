import json
from pathlib import Path

import pytest

from dragoman.cli.main import main
from dragoman.trees import Tree, read_tree_lines
from tests.fixtures import GERMAN, tiny_folder

TREEBANK = """
( (S (NP-SBJ-1 (PRP We)) (VP (VBD said)
      (SBAR (-NONE- 0) (S (-NONE- *T*-2)))) (. .)))
((NP (-NONE- *)))
(FRAG (INTJ (UH Oh)) (. !))
"""


def write(path: Path, *lines: str) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def test_a_treebank_becomes_parallel_text_and_its_trees_come_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    treebank = write(tmp_path / "bank.mrg", TREEBANK)
    words, tokens = str(tmp_path / "words"), str(tmp_path / "tokens")
    options = ["--words", words, "--tokens", tokens]
    assert main(["trees", "linearize", treebank, *options]) == 0
    assert Path(words).read_text("utf-8") == "We said .\nOh !\n"
    assert Path(tokens).read_text("utf-8") == (
        "(S (NP XX )NP (VP XX )VP . )S\n(FRAG (INTJ XX )INTJ . )FRAG\n"
    )
    assert main(["trees", "restore", tokens, "--words", words]) == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        "(S (NP (XX We)) (VP (XX said)) (. .))",
        "(FRAG (INTJ (XX Oh)) (. !))",
    ]
    assert shown.err == "0 of 2 sequences were repaired\n"
    assert main(["trees", "linearize", treebank, *options, "--leaves", "tags"]) == 0
    assert Path(tokens).read_text("utf-8").startswith("(S (NP PRP )NP (VP VBD )VP . )S\n")


def test_what_is_repaired_is_said_and_blank_lines_stay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = write(tmp_path / "words", "we go", "", "we go")
    tokens = write(tmp_path / "tokens", "(S (NP XX", "(S XX )S", "(S XX XX )S )S")
    assert main(["trees", "restore", tokens, "--words", words]) == 0
    shown = capsys.readouterr()
    assert shown.out == "(S (NP (XX we) (XX go)))\n\n(S (XX we) (XX go))\n"
    assert shown.err == (
        "2 of 2 sequences were repaired; unclosed 2; words missing 1; unopened 1\n"
    )


def test_any_translator_gives_a_tree_for_each_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A model with random weights knows nothing of trees; every sentence gets one all the same.
    folder = tiny_folder(tmp_path / "model")
    sentences = [*GERMAN, "", "( 1 )", "%"]
    given = write(tmp_path / "in", *sentences)
    options = ["--input", given, "--beam", "2", "--max-extra", "3", "--engine", "torch"]
    assert main(["trees", "parse", str(folder), *options]) == 0
    shown = capsys.readouterr()
    trees = [*read_tree_lines(shown.out.splitlines(), "out")]
    words = [tree.words if isinstance(tree, Tree) else () for tree in trees]
    assert words == [
        *(tuple(line.split()) for line in GERMAN),
        (),
        ("-LRB-", "1", "-RRB-"),
        ("%",),
    ]
    assert "6 sequences were repaired" in shown.err


GOLD = ("((S (NP-SBJ (N a)) (VP (V b) (NP (N c))) (. .)))", "(S (N a) (VP (V b)))")


def test_scores_are_those_of_evalb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = write(tmp_path / "gold", *GOLD, "(X (N a))", "(X (N a))")
    found = write(
        tmp_path / "found",
        "(S (NP (N a)) (VP (V b)) (NP (N c)) (. .))",
        "(S (N a) (VP (V b)))",
        "",
        "(X (N e))",
    )
    assert main(["trees", "score", gold, found, "--sentences"]) == 0
    # By hand: 3 of 4 and 2 of 2 brackets are right.
    assert capsys.readouterr().out.splitlines() == [
        "1\tscored\t75.00\t75.00\t75.00\t3\t4\t4\t0",
        "2\tscored\t100.00\t100.00\t100.00\t2\t2\t2\t0",
        "3\tskipped\t0.00\t0.00\t0.00\t0\t0\t0\t0",
        "4\terror\t0.00\t0.00\t0.00\t0\t0\t0\t0",
        "sentences 4  errors 1  skipped 1",
        "recall 83.33  precision 83.33  F1 83.33",
        "exact match 50.00  no crossing 100.00",
        "crossing 0.00 a sentence",
    ]
    assert main(["trees", "score", gold, found, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["matched"], told["gold"], told["found"], told["exact"]) == (5, 6, 6, 1)
    assert told["f1"] == pytest.approx(100 * 5 / 6)


def test_gold_tags_keep_a_word_that_may_be_punctuation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = write(tmp_path / "gold", "(NP (NP (NNS cats) (POS ')) (NNS tails))")
    found = write(tmp_path / "found", "(NP (NP (XX cats) ('' ')) (XX tails))")
    assert main(["trees", "score", gold, found]) == 0
    assert "errors 1" in capsys.readouterr().out
    assert main(["trees", "score", gold, found, "--gold-tags"]) == 0
    assert "F1 100.00" in capsys.readouterr().out


def test_there_is_a_score_to_beat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # By hand: (S a (VP b (VP c .))): the S and a VP of 4, 3 found; then both of 2.
    gold = write(tmp_path / "gold", *GOLD)
    assert main(["trees", "score", gold, "--right-branching"]) == 0
    assert "recall 66.67  precision 80.00  F1 72.73" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("gold", "found", "message"),
    [
        (["(S (N a))", "(S (N b)"], ["(S (N a))"], "gold: line 2: the tree that starts here"),
        (["(S (N a))"], ["(S (N a)))"], "found: line 1: a bracket closes that was not opened"),
        (["(S (N a))"] * 2, ["(S (N a))"], "found: ends before line 2"),
        (["(S (N a))"], ["(S (N a))"] * 2, "gold: ends before line 2"),
        (["(S (N a))", ""], ["(S (N a))"] * 2, "gold: line 2: no tree"),
    ],
)
def test_files_that_do_not_go_together_are_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    gold: list[str],
    found: list[str],
    message: str,
) -> None:
    paths = [write(tmp_path / "gold", *gold), write(tmp_path / "found", *found)]
    assert main(["trees", "score", *paths]) == 2
    assert message in capsys.readouterr().err


def test_a_score_needs_something_to_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = write(tmp_path / "gold", *GOLD)
    for arguments in ([gold], [gold, gold, "--right-branching"]):
        assert main(["trees", "score", *arguments]) == 2
        assert "FOUND: give it, or else --right-branching" in capsys.readouterr().err
