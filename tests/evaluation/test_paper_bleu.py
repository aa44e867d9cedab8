"""The paper's BLEU: tokens, compounds and scores by hand, by Perl, and by sacreBLEU."""

import math
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence

import pytest
from sacrebleu import corpus_bleu

from dragoman.errors import MissingExtraError
from dragoman.evaluation import PaperBleu, corpus_score, split_compounds

HYPHENS = [
    ("a rich-text format", "a rich ##AT##-##AT## text format"),
    ("Nord-Süd-Achse", "Nord ##AT##-##AT## Süd ##AT##-##AT## Achse"),
    ("a-b-c", "a ##AT##-##AT## b-c"),  # b is taken already
    ("a-b-c-d", "a ##AT##-##AT## b-c ##AT##-##AT## d"),
    ("a--b", "a ##AT##-##AT## -b"),
    ("- x -y z- 1 - 2", "- x -y z- 1 - 2"),  # a hyphen at an end joins nothing
    ("zwei–drei", "zwei–drei"),  # a dash is no hyphen
    ("", ""),
]


def german() -> PaperBleu:
    pytest.importorskip("sacremoses", reason="needs sacremoses: the extra moses")
    return PaperBleu("paper-bleu-de")


@pytest.mark.parametrize(("line", "expected"), HYPHENS)
def test_compounds_are_split_at_hyphens_between_characters(line: str, expected: str) -> None:
    assert split_compounds(line) == expected  # by hand


@pytest.mark.skipif(shutil.which("perl") is None, reason="needs Perl")
def test_perl_splits_compounds_alike() -> None:
    # The program of get_ende_bleu.sh is the independent side.
    script = "s{(\\S)-(\\S)}{$1 ##AT##-##AT## $2}g"
    text = "".join(f"{line}\n" for line, _ in HYPHENS)
    done = subprocess.run(
        ["perl", "-CS", "-ple", script],
        input=text.encode(),
        capture_output=True,
        check=True,
    )
    assert [split_compounds(line) for line, _ in HYPHENS] == done.stdout.decode().split("\n")[:-1]


def test_german_is_cut_as_moses_does_and_then_split() -> None:
    # By hand, after tokenizer.perl -l de: z.B. and Mio. keep their full stop, the last one goes.
    tokens = german().tokens('Der "rich-text"-Test kostet z.B. 1,5 Mio. Euro.')
    assert tokens == [
        *("Der", "&quot;", "rich", "##AT##-##AT##", "text", "&quot;", "-Test", "kostet"),
        *("z.B.", "1,5", "Mio.", "Euro", "."),
    ]


def test_french_is_cut_behind_apostrophes_and_keeps_its_compounds() -> None:
    pytest.importorskip("sacremoses", reason="needs sacremoses: the extra moses")
    tokens = PaperBleu("paper-bleu-fr").tokens("L'homme dit-il : oui.")
    assert tokens == ["L&apos;", "homme", "dit-il", ":", "oui", "."]


def test_parts_of_a_compound_are_worth_matches() -> None:
    # By hand. ein rich ##AT##-##AT## text Format: precisions 4/5, 3/4, 2/3, 1/2; their product 1/5.
    found = german().score(["ein rich-text Format"], ["ein rich-text Dokument"])
    assert found.value == pytest.approx(100 * 0.2**0.25)
    # Cut but not split there are three tokens, so no four in a row, and no score.
    pytest.importorskip("sacremoses", reason="needs sacremoses: the extra moses")
    french = PaperBleu("paper-bleu-fr")
    assert french.score(["ein rich-text Format"], ["ein rich-text Dokument"]).value == 0.0


def test_what_is_too_short_is_punished_once_for_the_corpus() -> None:
    # By hand: all precisions 1, four tokens for five.
    found = german().score(["ein rich-text"], ["ein rich-text Format"])
    assert found.value == pytest.approx(100 * math.exp(1 - 5 / 4))


LINES = [
    ("Die EU-Kommission prüft das.", "Die EU-Kommission prüft es."),
    ("Er sagte: „Das ist gut“, und ging.", "Er sagte, „das ist gut“ und ging."),
    ("Am 3. Mai 2013 kamen 1.200 Leute.", "Am 3. Mai kamen 1.200 Menschen."),
    ("Nord-Süd-Dialog", "der Nord-Süd-Dialog"),
]


def plain_bleu(hypotheses: Sequence[list[str]], references: Sequence[list[str]]) -> float:
    """Compute what multi-bleu.perl does, from its definition (Papineni et al. 2002)."""
    logs = 0.0
    for n in range(1, 5):
        right = total = 0
        for words, truth in zip(hypotheses, references, strict=True):
            grams = Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
            known = Counter(tuple(truth[i : i + n]) for i in range(len(truth) - n + 1))
            right += sum((grams & known).values())
            total += sum(grams.values())
        logs += math.log(right / total) / 4
    ours, theirs = sum(map(len, hypotheses)), sum(map(len, references))
    return 100 * math.exp(min(0.0, 1 - theirs / ours) + logs)


def test_a_corpus_scores_as_by_the_definition_and_as_by_sacrebleu_without_tokenizer() -> None:
    moses = pytest.importorskip(
        "sacremoses", reason="needs sacremoses: the extra moses"
    ).MosesTokenizer("de")
    cut = [[split_compounds(moses.tokenize(s, return_str=True)) for s in pair] for pair in LINES]
    hypotheses, references = [pair[0] for pair in cut], [pair[1] for pair in cut]
    sacre = corpus_bleu(
        hypotheses, [references], smooth_method="none", tokenize="none", force=True
    ).score
    plain = plain_bleu([h.split() for h in hypotheses], [r.split() for r in references])
    found = german().score([pair[0] for pair in LINES], [pair[1] for pair in LINES])
    assert found.value == pytest.approx(sacre)
    assert found.value == pytest.approx(plain)
    assert 0 < found.value < 100


def test_the_signature_cannot_be_taken_for_that_of_sacrebleu() -> None:
    texts, truth = [pair[0] for pair in LINES], [pair[1] for pair in LINES]
    paper, usual = german().score(texts, truth), corpus_score("bleu", texts, truth)
    assert str(paper).startswith("paper-bleu-de ")
    for part in ("tok:moses-de", "split:hyphens", "smooth:none", "not sacreBLEU"):
        assert part in paper.signature
    assert "tok:13a" in usual.signature
    assert abs(paper.value - usual.value) > 1.0  # on these lines


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(MissingExtraError, match=r"paper-bleu-de needs .*'dragoman\[moses\]'"):
        PaperBleu("paper-bleu-de")
