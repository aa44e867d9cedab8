"""The page in a real browser, against a real server on loopback."""

import io
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="needs fastapi: the extra serve")
pytest.importorskip("PIL", reason="needs pillow, which comes with matplotlib")
sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: the extra dev")

from PIL import Image  # noqa: E402
from playwright.sync_api import Browser, Locator, Page, Route, expect  # noqa: E402

from dragoman.serving.page import content_security_policy  # noqa: E402
from dragoman.translator import Translator  # noqa: E402
from tests.fixtures import ENGLISH, GERMAN  # noqa: E402
from tests.serving.browser import CHROMIUM, serving, taught  # noqa: E402

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium"),
]

HUND, DOG = GERMAN[0], ENGLISH[0]


@pytest.fixture(scope="module")
def models() -> dict[str, Translator]:
    return {"one": taught(1), "two": taught(2)}


@pytest.fixture(scope="module")
def address(models: dict[str, Translator]) -> Iterator[str]:
    with serving(models) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page with its own storage; notes what went wrong in it and whom it asked."""

    def __init__(self, browser: Browser, address: str, **options: Any) -> None:
        self.address = address
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.problems: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("dialog", lambda dialog: self.problems.append(dialog.message))

    def open(self, text: str = "", shown: str = "") -> Page:
        """Open the page, type, and wait until the translation stands there."""
        self.page.goto(self.address)
        if text:
            self.page.locator("#source").fill(text)
            expect(self.page.locator("#translation")).to_have_text(shown or re.compile(r"\w"))
            expect(self.page.locator("#translation")).not_to_have_attribute("aria-busy", "true")
        return self.page

    def close(self) -> None:
        """Hold the page to it: no word on the console, no request to anyone else."""
        self.context.close()
        assert self.problems == []
        own = (f"{self.address}/", "data:")
        assert [url for url in self.asked if not url.startswith(own)] == []


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    visit = Visit(browser, address, viewport={"width": 1180, "height": 800})
    yield visit
    visit.close()


def word(page: Page, text: str) -> Locator:
    return page.locator("#translation .word").get_by_text(text, exact=True).first


def open_attention(page: Page) -> None:
    page.locator("#attention summary").click()
    expect(page.locator("#map tbody td").first).to_be_visible()


def shown_map(page: Page) -> np.ndarray:
    rows = page.locator("#map tbody tr").evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td')].map(cell => cell.textContent))"
    )
    return np.array(rows, dtype=float) / 100


def picture(locator: Locator) -> np.ndarray:
    """Take a picture of a place on the page: (height, width, 3), 0 to 255."""
    return np.asarray(Image.open(io.BytesIO(locator.screenshot())).convert("RGB")).astype(int)


def test_translation_comes_as_one_types(visit: Visit) -> None:
    page = visit.open()
    page.locator("#source").press_sequentially(HUND)
    expect(page.locator("#translation")).to_have_text(DOG)
    expect(page.locator("#spoken")).to_have_text(f"Translation: {DOG}")
    assert page.locator("#spoken").get_attribute("aria-live") == "polite"
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#translation")).to_have_text("")
    expect(page.locator("#candidates")).to_be_hidden()


def test_one_request_is_sent_for_what_is_typed_in_one_go(visit: Visit) -> None:
    page = visit.open()
    page.locator("#source").press_sequentially(HUND, delay=5)
    expect(page.locator("#translation")).to_have_text(DOG)
    assert len([url for url in visit.asked if url.endswith("/v1/translate")]) == 1


def test_the_answer_to_an_older_text_is_never_shown(visit: Visit) -> None:
    page, held = visit.page, list[Route]()

    def hold_first(route: Route) -> None:
        held.append(route) if not held else route.continue_()

    page.route("**/v1/translate", hold_first)
    gone: list[str] = []
    page.on("requestfailed", lambda request: gone.append(request.failure or ""))
    visit.open()
    page.locator("#source").fill(HUND)
    with page.expect_event("requestfailed"):
        while not held:
            page.wait_for_timeout(10)
        page.locator("#source").fill(GERMAN[1])
    expect(page.locator("#translation")).to_have_text(ENGLISH[1])
    with suppress(sync_api.Error):  # nobody waits for it any more
        held[0].fulfill(content_type="application/x-ndjson", body=line(HUND, DOG))
    page.wait_for_timeout(100)
    assert page.locator("#translation").inner_text() == ENGLISH[1]
    assert gone == ["net::ERR_ABORTED"]


def test_what_is_out_of_date_is_faint_and_cannot_be_clicked(visit: Visit) -> None:
    page = visit.open(HUND, DOG)
    page.route("**/v1/translate", lambda route: None)
    page.locator("#source").fill(GERMAN[1])
    expect(page.locator("#progress")).to_have_text("Translating…")
    expect(page.locator("#translation")).to_have_css("opacity", "0.45")
    assert page.locator("#translation").evaluate("shown => shown.inert")
    page.unroute_all(behavior="ignoreErrors")


def test_a_long_text_comes_sentence_by_sentence_and_keeps_its_space(visit: Visit) -> None:
    text = "Wir gehen .\n\n  Der hund schläft .  Wir gehen ."
    page = visit.open(text)
    expect(page.locator("#progress")).to_have_text("3 sentences")
    parts = page.locator("#translation > span").evaluate_all("all => all.map(e => e.textContent)")
    whole = page.locator("#translation").evaluate("shown => shown.textContent")
    assert len(parts) == 3
    assert whole == f"{parts[0]}\n\n  {parts[1]}  {parts[2]}"
    steps = page.locator("#others .steps")
    expect(steps).to_contain_text("Sentence 1 of 3")
    steps.get_by_role("button", name="Next sentence").click()
    expect(steps).to_contain_text("Sentence 2 of 3")
    expect(page.locator("#candidates tbody tr").first.locator("button")).to_have_text(parts[1])


def test_n_best_are_listed_with_the_terms_of_their_scores(
    visit: Visit, models: dict[str, Translator]
) -> None:
    page = visit.open(HUND, DOG)
    expected = models["one"].translate([HUND], beam=4, n_best=4)[0].hypotheses
    rows = page.locator("#candidates tbody tr")
    expect(rows).to_have_count(4)
    for row, hypothesis in zip(rows.all(), expected, strict=True):
        cells = row.locator("td").all_inner_texts()
        assert cells[0].split() == hypothesis.text.split()
        log_prob, length, penalty, score = (float(cell.replace("−", "-")) for cell in cells[1:])
        assert length == len(hypothesis.tokens)
        assert log_prob == pytest.approx(sum(hypothesis.token_log_probs), abs=0.006)
        assert penalty == pytest.approx(((5 + length) / 6) ** 0.6, abs=0.006)
        assert score == pytest.approx(hypothesis.score, abs=0.0006)
    second = expected[1].text
    rows.nth(1).get_by_role("button").click()
    assert page.locator("#translation").inner_text().split() == second.split()
    assert rows.nth(1).get_attribute("aria-current") == "true"


def test_a_narrower_beam_lists_fewer(visit: Visit) -> None:
    page = visit.open(HUND, DOG)
    page.get_by_label("Beam").fill("2")
    page.get_by_label("Beam").press("Enter")
    expect(page.locator("#candidates tbody tr")).to_have_count(2)


def test_a_clicked_word_offers_others_and_one_of_them_replaces_the_translation(
    visit: Visit, models: dict[str, Translator]
) -> None:
    page = visit.open(HUND, DOG)
    word(page, "dog").click()
    items = page.get_by_role("menu", name="Other words here").get_by_role("menuitem")
    expect(items.first).to_be_focused()
    expected = models["one"].alternatives(HUND, DOG, DOG.index("dog"))
    assert [item.split("\n")[0] for item in items.all_inner_texts()] == [a.word for a in expected]
    items.nth(1).click()
    expect(page.locator("#menu")).to_be_hidden()
    assert page.locator("#translation").inner_text().split() == expected[1].text.split()
    focused = page.locator("#translation .word:focus")
    assert focused.inner_text() == expected[1].word
    expect(page.locator("#formula")).to_contain_text("changed at a word")
    page.locator("#candidates button").first.click()  # and back
    expect(page.locator("#translation")).to_have_text(DOG)


def test_everything_can_be_done_by_keyboard(visit: Visit) -> None:
    page = visit.open()
    expect(page.locator("#source")).to_be_focused()
    page.keyboard.type(HUND)
    expect(page.locator("#translation")).to_have_text(DOG)
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Clear")).to_be_focused()
    page.keyboard.press("Tab")
    expect(word(page, "the")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(word(page, "dog")).to_be_focused()
    expect(page.locator("#caption")).to_contain_text("“dog” looked at")
    page.keyboard.press("Enter")
    items = page.locator("#menu [role=menuitem]")
    expect(items.first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(items.nth(1)).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#menu")).to_be_hidden()
    expect(word(page, "dog")).to_be_focused()
    page.keyboard.press("End")
    expect(word(page, ".")).to_be_focused()
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    expect(items.first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#translation .word:focus")).to_have_count(1)
    page.locator("#attention summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#map tbody td").first).to_be_visible()
    for _ in range(4):  # kind, layer, head, numbers
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.locator("#map")).to_have_class("numbers")
    page.keyboard.press("Tab")
    expect(page.locator("#map tbody tr").nth(0).locator("td").nth(0)).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#map tbody tr").nth(1).locator("td").nth(1)).to_be_focused()
    expect(page.locator("#caption")).to_contain_text("of the attention of")


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


def test_places_are_counted_in_characters_behind_signs_of_two_units(visit: Visit) -> None:
    page, asked = visit.page, list[dict[str, Any]]()
    page.route(
        "**/v1/translate",
        lambda route: route.fulfill(
            content_type="application/x-ndjson", body=line("😀 der hund", "😀😀 the dog")
        ),
    )

    def note(route: Route) -> None:
        asked.append(json.loads(route.request.post_data or ""))
        found = {"word": "cat", "probability": 0.5, "text": "😀😀 the cat", "place": 7}
        route.fulfill(json={"model": "one", "alternatives": [found]})

    page.route("**/v1/alternatives", note)
    visit.open("😀 der hund", "😀😀 the dog")
    word(page, "dog").click()
    page.get_by_role("menuitem").first.click()
    expect(word(page, "cat")).to_be_focused()
    assert asked == [
        {
            "model": "one",
            "target_language": None,
            "source": "😀 der hund",
            "target": "😀😀 the dog",
            "position": 7,
        }
    ]


def line(source: str, target: str, **changes: Any) -> str:
    tokens = [*target.split(" "), "</s>"]
    hypothesis = {"text": target, "score": -1.0, "log_prob": -1.8, "length": len(tokens)}
    hypothesis |= {"length_penalty": 1.8, "tokens": tokens, "token_log_probs": []}
    hypothesis |= {"truncated": "truncated" in changes.get("flags", [])}
    shown = {"source": source, "before": "", "after": "", "text": target, "error": ""}
    shown |= {"hypotheses": [hypothesis], "copied": False, "flags": [], "parts": 1}
    return json.dumps(shown | changes) + "\n"


def test_flags_and_copies_are_said_in_words(visit: Visit) -> None:
    page = visit.page
    body = line(HUND, DOG, flags=["truncated", "lost-number"])
    page.route(
        "**/v1/translate",
        lambda route: route.fulfill(content_type="application/x-ndjson", body=body),
    )
    visit.open(HUND, DOG)
    assert page.locator("#notes li").all_inner_texts() == [
        "The translation was cut off at the length limit.",
        "A number of the source is missing or changed.",
    ]
    expect(page.locator("#spoken")).to_contain_text("A number of the source is missing")
    expect(page.locator("#candidates small")).to_have_text("Cut off at the length limit.")
    page.unroute("**/v1/translate")
    page.locator("#source").fill("123")
    expect(page.locator("#notes li")).to_have_text([re.compile("Given back as it came")])


def test_text_is_shown_as_text_whatever_it_holds(visit: Visit) -> None:
    page = visit.page
    evil = "<img src=x onerror=alert(1)> <script>alert(2)</script> ‮txt"
    page.route(
        "**/v1/translate",
        lambda route: route.fulfill(content_type="application/x-ndjson", body=line(evil, evil)),
    )
    visit.open(evil, evil)
    assert page.locator("main img, main script").count() == 0


def test_nothing_but_the_page_itself_may_run_or_be_asked(browser: Browser, address: str) -> None:
    visit = Visit(browser, address)
    page = visit.open()
    ran = page.evaluate(
        """async () => {
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
            const image = new Image();
            image.src = "https://example.org/pixel.png";
            const asked = await fetch("https://example.org/").then(() => true, () => false);
            return [window.ran === true, asked];
        }"""
    )
    assert ran == [False, False]
    assert all("Content Security Policy" in problem for problem in visit.problems[:2])
    visit.context.close()


def test_the_policy_names_each_script_and_style_by_its_hash() -> None:
    # printf 'a' | openssl dgst -sha256 -binary | base64, and of 'b'
    policy = content_security_policy("<style>a</style><script>b</script>")
    assert "style-src 'sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs='" in policy
    assert "script-src 'sha256-PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0='" in policy


def test_a_busy_server_is_asked_again_after_the_time_that_it_names(
    browser: Browser, address: str
) -> None:
    visit = Visit(browser, address)
    page, answers = visit.page, iter([429])

    def refuse_once(route: Route) -> None:
        if next(answers, None) is None:
            route.continue_()
            return
        problem = {"error": "too much is waiting already; try again in a moment"}
        route.fulfill(status=429, json=problem, headers={"Retry-After": "1"})

    page.route("**/v1/translate", refuse_once)
    page.goto(address)
    page.locator("#source").fill(HUND)
    expect(page.locator("#notes")).to_contain_text("too much is waiting already")
    expect(page.locator("#notes")).to_contain_text("Trying again in 1 s.")
    expect(page.locator("#translation")).to_have_text(DOG)
    expect(page.locator("#notes li")).to_have_count(0)
    assert len(visit.problems) == 1  # the browser notes the status itself
    visit.context.close()


def test_a_server_that_is_gone_is_said_to_be(browser: Browser, address: str) -> None:
    visit = Visit(browser, address)
    page = visit.open(HUND, DOG)
    page.route("**/v1/translate", lambda route: route.abort())
    page.locator("#source").fill(GERMAN[1])
    expect(page.locator("#notes")).to_have_text("The server cannot be reached.")
    expect(page.locator("#translation")).to_have_text("")
    visit.context.close()


def test_a_text_above_the_limit_is_not_sent(visit: Visit) -> None:
    page = visit.open()
    page.locator("#source").fill("a" * 20_001)
    expect(page.locator("#notes")).to_contain_text("the server takes 20,000 at a time")
    assert not [url for url in visit.asked if url.endswith("/v1/translate")]


def test_a_key_is_asked_for_where_one_is_needed_and_kept_for_the_tab_only(
    browser: Browser, models: dict[str, Translator]
) -> None:
    with serving({"one": models["one"]}, keys=["secret"]) as address:
        visit = Visit(browser, address)
        page = visit.page
        page.goto(address)
        key = page.get_by_label("API key")
        expect(key).to_be_visible()
        page.locator("#source").fill(HUND)
        expect(page.locator("#notes")).to_contain_text("wants an API key")
        key.fill("wrong")
        key.press("Enter")
        expect(page.locator("#notes")).to_contain_text("does not know this API key")
        key.fill("secret")
        key.press("Enter")
        expect(page.locator("#translation")).to_have_text(DOG)
        assert page.evaluate("[sessionStorage.getItem('key'), localStorage.length]") == [
            "secret",
            0,
        ]
        page.reload()
        page.locator("#source").fill(GERMAN[1])
        expect(page.locator("#translation")).to_have_text(ENGLISH[1])
        assert visit.context.cookies() == []
        visit.context.close()


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
        "target_pieces": ["<s>", *pieces[target]],
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
