"""The page in a real browser: whose attention it shows, and which words it links."""

import re

import numpy as np
import pytest

from dragoman.translator import Translator, attention_as_written
from tests.serving.browser import (
    DOG,
    HUND,
    Browser,
    Visit,
    by_letter,
    expect,
    open_attention,
    serving,
    shown_map,
    taught,
    word,
)


def test_the_caret_in_the_source_links_too(visit: Visit) -> None:
    page = visit.open(HUND, DOG)
    page.locator("#source").press("Home")
    expect(page.locator("#caption")).to_contain_text("“der” was looked at by")
    expect(page.locator("#mirror .current")).to_have_text("der")


def test_maps_are_those_of_the_model_that_answered_and_rows_sum_to_one(
    visit: Visit, models: dict[str, Translator]
) -> None:
    page = visit.open()
    page.get_by_label("Model").select_option(index=1)
    page.locator("#source").fill(HUND)
    expect(page.locator("#translation")).to_have_text(DOG)
    open_attention(page)
    maps = models["two"].attention([HUND], [DOG])[0]
    others = models["one"].attention([HUND], [DOG])[0]
    for kind in ("cross", "encoder", "decoder"):
        weights, wrong = getattr(maps, kind), getattr(others, kind)
        page.locator("#kind").select_option(kind)
        for layer in ("1", "2", "mean"):
            page.locator("#layer").select_option(layer)
            for head in ("1", "2", "mean"):
                page.locator("#head").select_option(head)
                expect(page.locator("#map")).not_to_have_attribute("aria-busy", "true")
                shown = shown_map(page)
                layers = weights.mean(0) if layer == "mean" else weights[int(layer) - 1]
                expected = layers.mean(0) if head == "mean" else layers[int(head) - 1]
                np.testing.assert_allclose(shown, expected, atol=0.00051)
                np.testing.assert_allclose(shown.sum(1), 1, atol=0.0005 * shown.shape[1])
        assert np.abs(weights - wrong).max() > 0.05  # so that the comparison says something


def test_rows_are_named_after_what_was_written_and_bytes_after_their_letters(visit: Visit) -> None:
    page = visit.open(HUND, DOG)
    open_attention(page)
    rows = page.locator("#map tbody th").all_inner_texts()
    columns = page.locator("#map thead th").all_inner_texts()
    assert "".join(rows[:-1]).replace("-", "") == DOG.replace(" ", "")
    assert rows[-1] == columns[-1] == "end"
    assert {"ä¹", "ä²"} < set(columns)  # no piece of the vocabulary holds it
    page.locator("#kind").select_option("decoder")
    expect(page.locator("#map thead th").first).to_have_text("start")


def test_the_map_has_the_pieces_that_were_written_whatever_the_text_is_cut_into(
    browser: Browser,
) -> None:
    letters = taught(1, by_letter)
    with serving({"letters": letters}) as address:
        visit = Visit(browser, address)
        page = visit.open(HUND, DOG)
        open_attention(page)
        (found,) = letters.translate([HUND])
        (maps,) = attention_as_written(letters.bundle, found)
        anew = letters.attention([HUND], [DOG])[0]
        assert len(maps.written_pieces) == len(DOG) + 2 > len(anew.written_pieces)
        np.testing.assert_allclose(shown_map(page), maps.cross[-1].mean(0), atol=0.00051)
        word(page, "dog").hover()
        expect(page.locator("#map tbody th.lit")).to_have_count(3)
        visit.close()


def shares_of(translator: Translator, source: str, target: str, word: str) -> dict[str, float]:
    """Say how much of the attention each source word got while a target word was written."""
    maps = translator.attention([source], [target])[0]
    weights = maps.cross[-1].mean(0)  # the row of a piece is one above it: what wrote it
    at = target.index(word)
    spans = translator.bundle.target_tokenizer.spans(target)
    rows = [row for row, (a, b) in enumerate(spans) if a < at + len(word) and b > at]
    looked = weights[rows].mean(0)
    found: dict[str, float] = {}
    for part in re.finditer(r"\w+|\.", source):
        places = translator.bundle.source_tokenizer.spans(source)
        inside = [p for p, (a, b) in enumerate(places) if a < part.end() and b > part.start()]
        found[part[0]] = float(looked[inside].sum())
    return found


def test_hovering_a_word_of_the_translation_marks_what_it_looked_at(
    visit: Visit, models: dict[str, Translator]
) -> None:
    page = visit.open(HUND, DOG)
    open_attention(page)
    word(page, "dog").hover()
    linked = page.locator("#mirror .linked")
    expect(linked.first).to_be_attached()
    expected = shares_of(models["one"], HUND, DOG, "dog")
    shares = linked.evaluate_all(
        "all => all.map(e => [e.textContent, parseFloat(e.style.getPropertyValue('--share'))])"
    )
    assert dict(shares) == pytest.approx({w: s for w, s in expected.items() if s >= 0.05}, abs=6e-4)
    most = max(expected, key=expected.__getitem__)
    caption = f"“dog” looked at {most} {100 * expected[most]:.0f}%"
    expect(page.locator("#caption")).to_contain_text(caption)
    lit = page.locator("#map tbody tr:has(th.lit) th").all_inner_texts()
    assert "".join(lit).replace("-", "") == "dog"
    page.locator("h1").hover()
    expect(linked).to_have_count(0)


def test_hovering_the_source_or_the_map_marks_words_as_well(visit: Visit) -> None:
    page = visit.open(HUND, DOG)
    open_attention(page)
    box = page.locator("#mirror span").get_by_text("hund", exact=True).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator("#caption")).to_contain_text("“hund” was looked at by")
    expect(page.locator("#mirror .current")).to_have_text("hund")
    assert page.locator("#translation .linked").count() > 0
    assert "".join(page.locator("#map thead th.lit").all_inner_texts()).replace("-", "") == "hund"
    page.locator("#map tbody th").nth(2).hover()  # the first piece of "dog"
    expect(page.locator("#translation .current")).to_have_text("dog")
    expect(page.locator("#mirror .current")).to_have_count(0)
    page.locator("#map tbody tr").nth(2).locator("td").nth(4).hover()
    expect(page.locator("#caption")).to_have_text(
        re.compile(r"[\d.]+% of the attention of “.+” goes to “.+”")
    )


def test_a_model_without_attention_still_translates(browser: Browser, address: str) -> None:
    visit = Visit(browser, address)
    page = visit.page
    model = {"name": "one", "source_language": None, "target_languages": [], "attention": False}
    page.route("**/v1/models", lambda route: route.fulfill(json=[model]))
    visit.open(HUND, DOG)
    expect(page.locator("#target-name")).to_have_text("Translation")
    page.locator("#attention summary").click()
    expect(page.locator("#map-note")).to_contain_text("forms no attention weights")
    word(page, "dog").hover()
    page.wait_for_timeout(200)
    assert not [url for url in visit.asked if url.endswith("/v1/attention")]
    visit.close()
