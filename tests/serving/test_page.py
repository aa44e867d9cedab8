"""The page in a real browser: text in, translations and other words out."""

import json
import re
from contextlib import suppress
from typing import Any

import pytest

from dragoman.translator import Translator
from tests.fixtures import ENGLISH, GERMAN
from tests.serving.browser import DOG, HUND, Error, Route, Visit, expect, line, word


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
    with suppress(Error):  # nobody waits for it any more
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
    leads = [f"… {a.text[a.place :]}" if a.place else a.text for a in expected]
    assert page.locator("#menu .leads").all_text_contents() == leads  # what differs, first
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
        found["token_ids"] = [4, 2]
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
    page.locator("#attention summary").click()
    expect(page.locator("#map-note")).to_contain_text("The model wrote nothing here")


# Says when a key came and when a translation was asked for, by the clock of the page.
NOTE_TIMES = """() => {
  window.times = { keys: [], asked: [] };
  const send = window.fetch;
  window.fetch = (...given) => {
    if (String(given[0]).endsWith("/v1/translate")) window.times.asked.push(performance.now());
    return send(...given);
  };
  document.addEventListener("input", () => window.times.keys.push(performance.now()), true);
}"""


def test_letters_put_together_of_several_keys_are_waited_for(visit: Visit) -> None:
    page = visit.open()
    expect(page.locator("#model option")).to_have_count(2)  # only then is a text asked for
    page.evaluate(NOTE_TIMES)
    session = visit.context.new_cdp_session(page)
    session.send("Input.imeSetComposition", {"text": HUND, "selectionStart": 1, "selectionEnd": 1})
    expect(page.locator("#translation")).to_have_text(DOG)  # at last, if nothing more comes
    times = page.evaluate("window.times")
    assert times["asked"][0] - times["keys"][-1] >= 4.9 * page.evaluate("PAUSE")


def test_details_begin_with_the_first_sentence_that_was_translated(visit: Visit) -> None:
    page = visit.open("123 456. Der hund schläft .")
    expect(page.locator("#others .steps")).to_contain_text("Sentence 2 of 2")
    expect(page.locator("#candidates tbody tr")).to_have_count(4)
