import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu import sentence_chrf

from dragoman.evaluation import chrf_table

TEXTS = st.text(st.sampled_from("ab c.é猫\n"), max_size=25)


@settings(max_examples=60)
@given(texts=st.lists(TEXTS, min_size=1, max_size=6))
def test_every_cell_is_the_sentence_chrf_of_sacrebleu(texts: list[str]) -> None:
    expected = [[sentence_chrf(h, [r]).score for r in texts] for h in texts]
    assert chrf_table(texts).tolist() == expected


def test_two_short_texts_by_hand() -> None:
    # "ab" against "abc": n = 1: precision 2/2, recall 2/3; n = 2: 1/1, 1/2; longer n do not count.
    # Means: 1 and 7/12. F2 = 5 * 1 * 7/12 / (4 * 1 + 7/12) = 35 / 55 = 0.636364.
    # The other way round: precision 7/12, recall 1: 5 * 7/12 / (4 * 7/12 + 1) = 35 / 40 = 0.875.
    table = chrf_table(["ab", "a bc"])
    assert table[0, 1] == pytest.approx(63.6364, abs=1e-4)
    assert table[1, 0] == pytest.approx(87.5)
    assert table.diagonal().tolist() == [100.0, 100.0]


def test_repeated_letters_count_as_often_as_both_have_them() -> None:
    # "aaaa" against "aa": n = 1 shares 2 of 4 and 2 of 2, n = 2 1 of 3 and 1 of 1; n = 3 only one
    # has. Means 5/12 and 1: F2 = 5 * 5/12 / (4 * 5/12 + 1) = 25 / 32.
    assert chrf_table(["aaaa", "aa"])[0, 1] == pytest.approx(78.125)


def test_an_empty_text_is_like_nothing() -> None:
    assert chrf_table(["", "a", " "]).tolist() == [[0, 0, 0], [0, 100, 0], [0, 0, 0]]
    assert chrf_table([]).shape == (0, 0)
