"""The page in a real browser: what it refuses, what it is refused, whom it asks."""

from dragoman.translator import Translator
from tests.fixtures import ENGLISH, GERMAN
from tests.serving.browser import DOG, HUND, Browser, Limits, Route, Visit, expect, line, serving


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
    from dragoman.serving.page import content_security_policy  # needs an extra

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


def test_an_answer_that_breaks_off_is_not_taken_for_the_whole(visit: Visit) -> None:
    body = line(HUND, DOG) + '{"error": "not done within 60 s; send less, or try again"}\n'
    visit.page.route(
        "**/v1/translate",
        lambda route: route.fulfill(content_type="application/x-ndjson", body=body),
    )
    page = visit.open(HUND, DOG)
    notes = page.locator("#notes li")
    expect(notes.first).to_have_text("The answer broke off; what is shown is not all.")
    expect(notes.last).to_contain_text("not done within 60 s")


def test_what_finds_no_room_is_a_refusal_and_not_an_empty_answer(
    browser: Browser, models: dict[str, Translator]
) -> None:
    with serving({"one": models["one"]}, Limits(waiting_characters=10)) as address:
        visit = Visit(browser, address)
        visit.page.goto(address)
        visit.page.locator("#source").fill(HUND)
        expect(visit.page.locator("#notes")).to_contain_text("at most 10 at a time")
        assert "413" in visit.problems[0]
        visit.context.close()
