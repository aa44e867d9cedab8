"""Web pages in the shapes of LibreTranslate: format html."""

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs fastapi: the extra serve")

from starlette.testclient import TestClient

from dragoman.documents import fill_document
from dragoman.serving import Limits, Served, make_app
from dragoman.translator import Fragment, Translator, translate_fragments
from tests.fixtures import ENGLISH, GERMAN
from tests.serving.taught import taught

PAGES = {
    "inline": "<p>der <b>hund <i>schläft</i></b> <br/> auf <a href='?a=1&amp;b=2'>milch</a>.</p>",
    "attributes": '<img alt="der hund" src=hund.jpg><input placeholder=milch value="katze">',
    "a form": "<textarea>der hund</textarea><input type=submit value='wir gehen'>",
    "references": "ein mann &amp; ein buch &lt;hund&gt; &nbsp; l&auml;uft &copy; &#33;",
    "not for people": "<script>let a = 'der hund <b>';</script><!-- hund --><style>p{}</style>wir",
    "unclosed": "<p>der hund<p>die <b>katze <i>trinkt</b> milch</i><li>wir gehen<li>ein mann",
    "CDATA": "<![CDATA[der hund]]> die katze trinkt <?php echo 'hund' ?> milch",
    "broken off": "der hund <a href='milch",
    "signs": "a < b & c > d",
    "kept": "<code>hund</code> der <span translate=no>hund</span> <pre>die  katze</pre>",
    "another encoding": "<meta charset=iso-8859-1><p>ein mädchen</p>",
    "a whole page": "<!DOCTYPE html>\r\n<html lang=de><title>hund</title><body>milch</body></html>",
    "deep": "<b><i>" * 100 + "der hund",
    "a mark": "\ufeff<p>der hund</p>",
    "nothing": "",
    "blank": " <br> \n",
}
_MARKUP = re.compile(r"<[a-zA-Z/!?][^<>]*>")


@pytest.fixture(scope="module")
def translator() -> Translator:
    return taught(1)


def serving(translator: Any, limits: Limits | None = None) -> TestClient:
    limits = limits or Limits()
    served = Served("tiny", translator, limits, source_language="de", target_languages=["en"])
    return TestClient(make_app([served], limits))


@pytest.fixture(scope="module")
def client(translator: Translator) -> Iterator[TestClient]:
    with serving(translator) as client:
        yield client


def asked(q: str | list[str], **more: Any) -> dict[str, Any]:
    return {"q": q, "source": "de", "target": "en", "format": "html", **more}


def as_document(translator: Translator, page: str) -> str:
    """Translate a page as the command does a file in UTF-8."""

    def translate(fragments: list[Fragment]) -> list[Fragment]:
        return translate_fragments(translator, fragments)

    data, _ = fill_document(("\ufeff" + page).encode(), "html", translate)
    return data.decode().removeprefix("\ufeff")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_translated_as_a_document_is(
    name: str, client: TestClient, translator: Translator
) -> None:
    page = PAGES[name]
    made = client.post("/translate", json=asked(page)).json()["translatedText"]
    assert made == as_document(translator, page)
    if "alt=" not in page and "value=" not in page:
        assert sorted(_MARKUP.findall(made)) == sorted(_MARKUP.findall(page))


def test_what_people_read_is_translated_and_all_else_stays(client: TestClient) -> None:
    (hund, katze, *_), (dog, cat, *_) = GERMAN, ENGLISH
    page = (
        f"<script>'{hund}'</script><!-- {hund} --><p class=x>{hund}<p title='{katze}'>{katze}<a b"
    )
    made = client.post("/translate", json=asked(page)).json()["translatedText"]
    assert made == (
        f"<script>'{hund}'</script><!-- {hund} --><p class=x>{dog}<p title='{cat}'>{cat}<a b"
    )


def test_signs_of_a_translation_are_written_as_references(
    client: TestClient, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode = translator.bundle.target_tokenizer.decode

    def signs(ids: list[int]) -> str:
        return decode(ids).replace("the", "<&>")

    monkeypatch.setattr(translator.bundle.target_tokenizer, "decode", signs)
    made = client.post("/translate", json=asked(f"<p>{GERMAN[0]}</p>")).json()["translatedText"]
    assert made == "<p>&lt;&amp;&gt; dog sleeps .</p>"


def test_pages_come_in_lists_and_forms_without_alternatives(
    client: TestClient, translator: Translator
) -> None:
    pages = [PAGES["inline"], PAGES["signs"], PAGES["inline"]]
    expected = [as_document(translator, page) for page in pages]
    answer = client.post("/translate", json=asked(pages, alternatives=2, source="auto")).json()
    assert answer["translatedText"] == expected
    assert answer["alternatives"] == [[], [], []]
    assert answer["detectedLanguage"] == [answer["detectedLanguage"][0]] * 3
    assert client.post("/translate", data=asked(pages[0])).json() == {"translatedText": expected[0]}


def test_the_language_of_a_page_is_that_of_its_words(client: TestClient) -> None:
    page = "<a class='the and of is it you that was'><em>der hund und die katze</em></a>"
    with serving(taught(1)) as server:
        desk = server.app.state.desk  # type: ignore[attr-defined]  # ours
        (served,) = desk.models.values()
        desk.models["back"] = Served(
            "back", served.translator, Limits(), source_language="en", target_languages=["en"]
        )
        answer = server.post("/translate", json=asked(page, source="auto")).json()
    assert answer["detectedLanguage"]["language"] == "de"


class Gate:
    """A translator that notes what it is asked together, and first waits to be let through."""

    def __init__(self, translator: Translator) -> None:
        self.bundle, self.languages = translator.bundle, translator.languages
        self.source_limit, self.engine = translator.source_limit, translator.engine
        self._translator = translator
        self.open, self.began = threading.Event(), threading.Event()
        self.together: list[list[str]] = []

    def translate(self, texts: list[str], **options: Any) -> Any:
        self.together.append([*texts])
        self.began.set()
        assert self.open.wait(30)
        return self._translator.translate(texts, **options)


def test_pages_and_texts_of_many_clients_share_batches(translator: Translator) -> None:
    gate = Gate(translator)
    pages = [f"<p>der <b>hund</b> {number}</p>" for number in range(5)]
    with serving(gate) as client, ThreadPoolExecutor(8) as clients:
        queue = client.app.state.desk.models["tiny"].queue  # type: ignore[attr-defined]  # ours
        first = clients.submit(client.post, "/translate", json=asked("wir gehen", format="text"))
        assert gate.began.wait(20)
        answers = [clients.submit(client.post, "/translate", json=asked(page)) for page in pages]
        answers.append(clients.submit(client.post, "/translate", json=asked("x", format="text")))
        while queue.waiting < sum(len(f"der hund {n}") + 1 for n in range(5)) + 2 + 10:
            assert not first.done()
        gate.open.set()
        made = [answer.result().json()["translatedText"] for answer in answers]
    assert sorted(gate.together[1]) == sorted([*(f"der hund {n}" for n in range(5)), "x"])
    assert made[:5] == [as_document(translator, page) for page in pages]


def test_a_page_that_takes_too_long_is_given_up(translator: Translator) -> None:
    gate = Gate(translator)
    with serving(gate, Limits(seconds=0.3)) as client:
        answer = client.post("/translate", json=asked("<p>der hund</p>"))
        assert answer.status_code == 503
        gate.open.set()
        assert client.post("/translate", json=asked("<p>wir</p>")).status_code == 200


def test_a_page_that_finds_no_room_or_is_too_long_is_refused(translator: Translator) -> None:
    gate, limits = Gate(translator), Limits(waiting_characters=20, text_characters=90)
    with serving(gate, limits) as client, ThreadPoolExecutor(1) as clients:
        first = clients.submit(client.post, "/translate", json=asked("<p>wir gehen</p>"))
        assert gate.began.wait(20)  # so 10 of the 20 are taken
        answer = client.post("/translate", json=asked("<p>der hund schläft</p>"))
        gate.open.set()
        assert answer.status_code == 429
        assert first.result().status_code == 200
        answer = client.post("/translate", json=asked("<p>der hund schläft und schläft</p>"))
        assert answer.status_code == 413  # there is never so much room
        answer = client.post("/translate", json=asked("<p>" * 31))
        assert answer.status_code == 413
        assert client.post("/translate", json=asked("<p>wir</p>")).status_code == 200


def test_what_is_not_understood_is_refused_by_name(client: TestClient) -> None:
    answer = client.post("/translate", json=asked(["der hund", f"&#{'9' * 2000};"]))
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("q 1: line 1: a reference to a number")


def test_the_language_of_a_page_is_guessed_by_what_its_references_stand_for(
    client: TestClient,
) -> None:
    for page in ("<p>der m&auml;dchen &#252; &#xFC; &amp; und", f"<p>und &#{'9' * 9}; &bogus; &#;"):
        answer = client.post("/translate", json=asked(page) | {"source": "auto"})
        assert answer.json()["detectedLanguage"]["language"] == "de"
    answer = client.post("/translate", json=asked(f"und &#{'9' * 5000};") | {"source": "auto"})
    assert answer.status_code == 400
    assert "thousands of digits" in answer.json()["error"]
