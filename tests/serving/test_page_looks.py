"""The page in a real browser: themes, widths, scripts, and what a screen reader finds."""

import re
from typing import Any

import numpy as np
import pytest

from dragoman.translator import Translator
from tests.fixtures import GERMAN
from tests.serving.browser import (
    DOG,
    HUND,
    Browser,
    Limits,
    Visit,
    expect,
    line,
    open_attention,
    picture,
    serving,
    shown_map,
    word,
)


@pytest.mark.parametrize("width", [320, 360])
def test_a_phone_has_no_sideways_scrolling(browser: Browser, address: str, width: int) -> None:
    visit = Visit(browser, address, viewport={"width": width, "height": 740}, has_touch=True)
    page = visit.open(HUND + " " + "Donaudampfschiffahrtsgesellschaft" * 3)
    open_attention(page)
    page.locator("#numbers").check()
    fits = "() => document.documentElement.scrollWidth <= window.innerWidth"
    assert page.evaluate(fits)
    word(page, "dog").tap()
    expect(page.locator("#menu [role=menuitem]").first).to_be_focused()
    assert page.evaluate(fits)
    menu = page.locator("#menu").bounding_box()
    assert menu is not None
    assert menu["x"] >= 0
    assert menu["x"] + menu["width"] <= width
    panels = [panel.bounding_box() for panel in page.locator(".panel").all()]
    assert panels[0] is not None
    assert panels[1] is not None
    assert panels[1]["y"] >= panels[0]["y"] + panels[0]["height"]  # one below the other
    visit.close()


CONTRASTS = """() => {
    const parse = (color) => {
        const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
        const pen = canvas.getContext("2d");
        pen.fillStyle = color;
        pen.fillRect(0, 0, 1, 1);
        return [...pen.getImageData(0, 0, 1, 1).data];
    };
    const linear = (value) => {
        const share = value / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    };
    const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const behind = (node) => {
        for (let at = node; at; at = at.parentElement) {
            const color = parse(getComputedStyle(at).backgroundColor);
            if (color[3] === 255) return color;
        }
        return [255, 255, 255, 255];
    };
    const found = {};
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const node = texts.currentNode.parentElement;
        if (!texts.currentNode.data.trim() || !node.checkVisibility()) continue;
        if (node.closest("script, noscript, #mirror, .unseen, option")) continue;
        const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const name = `${node.tagName} ${node.className} ${texts.currentNode.data.slice(0, 20)}`;
        found[name] = Math.min(contrast, found[name] ?? 99);
    }
    return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_the_contrast_of_wcag_aa_in_both_themes(
    browser: Browser, address: str, scheme: Any
) -> None:
    visit = Visit(browser, address, color_scheme=scheme)
    page = visit.open(HUND, DOG)
    open_attention(page)
    page.locator("#numbers").check()
    # Cells of every share that a map can have.
    page.locator("#map tbody td").evaluate_all(
        """cells => cells.forEach((cell, place) => {
            const share = place / (cells.length - 1);
            cell.style.setProperty("--share", share);
        })"""
    )
    word(page, "dog").click()
    expect(page.locator("#menu [role=menuitem]").first).to_be_focused()
    contrasts: dict[str, float] = page.evaluate(CONTRASTS)
    assert len(contrasts) > 40
    assert {name: value for name, value in contrasts.items() if value < 4.5} == {}
    visit.close()


def test_the_theme_is_that_of_the_system_until_the_other_is_chosen(
    browser: Browser, address: str
) -> None:
    visit = Visit(browser, address, color_scheme="dark")
    page = visit.open(HUND, DOG)
    dark = picture(page.locator("main"))
    page.get_by_role("button", name="Light").click()
    page.locator("h1").hover()
    light = picture(page.locator("main"))
    assert dark.mean() < 60 < 200 < light.mean()
    page.reload()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate("localStorage.length") == 0  # as the system again
    visit.close()


def test_pictures_of_the_regions_have_something_in_them(visit: Visit) -> None:
    page = visit.open(HUND, DOG)
    open_attention(page)
    for name in ("#source", "#translation", "#candidates", "#map", ".legend"):
        seen = picture(page.locator(name))
        assert seen.shape[0] > 15, name
        assert seen.shape[1] > 150, name
        assert np.ptp(seen.mean(2)) > 100, name  # ink on paper
    weights = shown_map(page)
    strong = np.unravel_index(weights.argmax(), weights.shape)
    weak = np.unravel_index(weights.argmin(), weights.shape)
    middles = []
    for row, column in (strong, weak):
        cell = picture(page.locator("#map tbody tr").nth(int(row)).locator("td").nth(int(column)))
        middles.append(cell[6:-6, 6:-6].mean())
    assert middles[0] < middles[1] - 60  # darker is more
    source = page.locator(".panel").nth(0).bounding_box()
    target = page.locator(".panel").nth(1).bounding_box()
    assert source is not None
    assert target is not None
    assert source["y"] == target["y"]
    assert source["width"] == pytest.approx(target["width"], abs=1)


def test_typed_words_and_their_marks_lie_on_each_other(visit: Visit) -> None:
    page = visit.open(GERMAN[2] + " " + " ".join(GERMAN) * 3)
    box, mirror = page.locator("#source"), page.locator("#mirror")
    # As high as the text is: nothing scrolls in it, so a mark is where its word is.
    height = "node => [node.scrollHeight, node.clientHeight]"
    needed, given = box.evaluate(height)
    assert needed == given
    assert box.bounding_box() == mirror.bounding_box()
    fonts = [
        each.evaluate("n => { const s = getComputedStyle(n); return [s.font, s.padding]; }")
        for each in (box, mirror)
    ]
    assert fonts[0] == fonts[1]


def test_a_screen_reader_finds_names_and_roles(visit: Visit) -> None:
    page = visit.open(HUND, DOG)
    open_attention(page)
    expect(page.get_by_role("textbox", name="German")).to_be_visible()
    expect(page.get_by_role("region", name="English")).to_be_visible()
    assert page.get_by_role("group", name="Translation, word by word").count() == 1
    assert page.get_by_role("button", name="dog", exact=True).count() == 1
    grid = page.get_by_role("grid", name="each row is a piece")
    expect(grid.get_by_role("rowheader")).to_have_count(13)
    expect(grid.get_by_role("columnheader").last).to_have_text("end")
    assert re.fullmatch(r"\d+\.\d", grid.get_by_role("gridcell").last.inner_text())
    for control in page.locator("button, input, select, textarea").all():
        if control.is_visible():
            name = control.evaluate("e => e.labels?.[0]?.textContent || e.ariaLabel || e.innerText")
            assert name.strip()


def other_script_visit(browser: Browser, address: str, source: str, target: str) -> Visit:
    """Open the page as if it served a model from one language into another."""
    texts = {"zh": "一个男人戴帽子。", "ar": "رجل يرتدي قبعة."}
    pieces = {"zh": ["一个", "男人", "戴", "帽子", "。"], "ar": [" رجل", " يرتدي", " قبعة", "."]}

    def spans(language: str) -> list[list[int]]:
        starts = [texts[language].index(piece.strip()) for piece in pieces[language]]
        return [[s, s + len(p.strip())] for s, p in zip(starts, pieces[language], strict=True)]

    sources, targets = len(pieces[source]) + 1, len(pieces[target]) + 1
    cross = np.full((targets, sources), 0.1)
    cross[range(targets), [min(t, sources - 1) for t in range(targets)]] = 1 - 0.1 * (sources - 1)
    visit = Visit(browser, address)
    model = {"name": "m", "source_language": source, "target_languages": [target]}
    answer = {
        "model": "m",
        "source_pieces": [*pieces[source], "</s>"],
        "note": "",
        "target_pieces": ["<s>", *pieces[target]],
        "written_pieces": [*pieces[target], "</s>"],
        "written_spans": [*spans(target), None],
        "source_spans": [*spans(source), None],
        "target_spans": [None, *spans(target)],
        "cross": [[cross.tolist()]],
        "encoder": [[np.eye(sources).tolist()]],
        "decoder": [[np.eye(targets).tolist()]],
    }
    page = visit.page
    page.route("**/v1/models", lambda route: route.fulfill(json=[model | {"attention": True}]))
    page.route("**/v1/attention", lambda route: route.fulfill(json=answer))
    body = line(texts[source], texts[target])
    page.route(
        "**/v1/translate",
        lambda route: route.fulfill(content_type="application/x-ndjson", body=body),
    )
    visit.open(texts[source], texts[target])
    open_attention(page)
    return visit


def test_arabic_reads_from_the_right_and_so_does_its_map(browser: Browser, address: str) -> None:
    visit = other_script_visit(browser, address, "ar", "zh")
    page = visit.page
    for place in ("#source", "#mirror", ".scroller"):
        assert page.locator(place).evaluate("node => node.matches(':dir(rtl)')"), place
    first, last = (page.locator("#map thead th").nth(n).bounding_box() for n in (0, -1))
    assert first is not None
    assert last is not None
    assert first["x"] > last["x"]
    assert page.locator("#translation").evaluate("node => node.matches(':dir(ltr)')")
    visit.close()


def test_letters_in_one_chinese_piece_are_linked_together(browser: Browser, address: str) -> None:
    visit = other_script_visit(browser, address, "zh", "ar")
    page = visit.page
    expect(page.locator("#source-name")).to_have_text("Chinese")
    assert page.locator("#source").get_attribute("lang") == "zh"
    page.locator("#translation .word").nth(0).focus()
    expect(page.locator("#caption")).to_contain_text("looked at 一个 50%")
    # In right-to-left text the next word is to the left.
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#caption")).to_contain_text("looked at 男人 50%")
    label = page.locator("#map thead th").nth(0)
    assert label.inner_text() == "一个"
    height, width = picture(label.locator("bdi")).shape[:2]
    assert height > 1.6 * width  # one letter below the other, upright
    visit.close()


def test_the_names_of_columns_stand_over_the_middle_of_their_cells(visit: Visit) -> None:
    page = visit.open(HUND, DOG)
    open_attention(page)
    page.get_by_label("Numbers").check()  # cells are wider then than a letter is high
    for number in (0, 2, 5):
        name = page.locator("#map thead th bdi").nth(number).bounding_box()
        cell = page.locator("#map tbody tr").nth(0).locator("td").nth(number).bounding_box()
        assert name is not None
        assert cell is not None
        middles = [box["x"] + box["width"] / 2 for box in (name, cell)]
        assert abs(middles[0] - middles[1]) < 2


def test_a_note_on_a_text_that_is_too_long_can_be_seen_without_scrolling(
    browser: Browser, models: dict[str, Translator]
) -> None:
    with serving({"one": models["one"]}, Limits(text_characters=3000)) as address:
        visit = Visit(browser, address, viewport={"width": 1180, "height": 800})
        page = visit.open()
        page.locator("#source").fill("hund " * 601)
        page.evaluate("window.scrollTo(0, 0)")
        note = page.locator("#notes li")
        expect(note).to_have_text("This is 3,005 characters; the server takes 3,000 at a time.")
        expect(note).to_be_in_viewport()
        assert picture(page.locator(".panels")).shape[0] > 1000
        expect(page.locator("#count")).to_have_class(re.compile("bad"))
        visit.close()


def test_sentences_that_touched_are_kept_apart(browser: Browser, address: str) -> None:
    visit = Visit(browser, address)
    body = line("狗睡觉。", "the dog sleeps .") + line("猫喝奶。", "the cat drinks .", gap=" ")
    visit.page.route(
        "**/v1/translate",
        lambda route: route.fulfill(content_type="application/x-ndjson", body=body),
    )
    page = visit.open("狗睡觉。猫喝奶。", "the dog sleeps . the cat drinks .")
    word(page, "cat").focus()  # its source is found where it stands
    expect(page.locator("#others .steps")).to_contain_text("Sentence 2 of 2")
    visit.close()
