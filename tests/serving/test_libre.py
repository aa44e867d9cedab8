"""The shapes of LibreTranslate, through its own client where that is installed."""

import threading
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi", reason="needs fastapi: the extra serve")

import uvicorn
from starlette.testclient import TestClient

from dragoman.serving import Limits, Served, make_app
from dragoman.serving.languages import guess_language
from dragoman.translator import Translator
from tests.fixtures import tiny_translator


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator()


@pytest.fixture(scope="module")
def client(translator: Translator) -> Iterator[TestClient]:
    served = [
        Served("one", translator, Limits(), source_language="de", target_languages=["en"]),
        Served("two", translator, Limits(), source_language="de", target_languages=["fr"]),
        Served("three", translator, Limits(), source_language="en", target_languages=["de"]),
    ]
    with TestClient(make_app(served, keys=())) as client:
        yield client


@pytest.fixture(scope="module")
def address(client: TestClient) -> Iterator[str]:
    config = uvicorn.Config(client.app, port=0, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    server.should_exit = True
    thread.join(20)


def test_its_own_client_translates_lists_and_detects(address: str, translator: Translator) -> None:
    name = "libretranslatepy"
    libre = pytest.importorskip(name, reason=f"needs {name}").LibreTranslateAPI(address)
    expected = translator.translate(["der hund schläft ."])[0].text
    assert libre.translate("der hund schläft .", "de", "en") == expected
    assert libre.languages() == [
        {"code": "de", "name": "German", "targets": ["en", "fr"]},
        {"code": "en", "name": "English", "targets": ["de"]},
    ]
    detected = libre.detect("Der Hund ist nicht da, und die Katze schläft.")
    assert detected[0]["language"] == "de"
    assert 0 < detected[0]["confidence"] <= 100


@pytest.mark.parametrize("shape", ["form", "json"])
def test_text_is_translated_whether_it_comes_as_a_form_or_as_json(
    shape: str, client: TestClient, translator: Translator
) -> None:
    asked = {"q": "der hund & die katze + 1 % ü", "source": "de", "target": "en"}
    answer = client.post("/translate", **{"data" if shape == "form" else "json": asked})  # type: ignore[arg-type]  # one of two
    assert answer.json() == {"translatedText": translator.translate([asked["q"]])[0].text}


def test_several_texts_alternatives_and_a_guess(client: TestClient, translator: Translator) -> None:
    texts = ["der hund ist nicht da .", "und die katze trinkt ."]
    asked = {"q": texts, "source": "auto", "target": "en", "alternatives": 2}
    answer = client.post("/translate", json=asked).json()
    expected = translator.translate(texts, n_best=3)
    assert answer["translatedText"] == [each.text for each in expected]
    for others, each in zip(answer["alternatives"], expected, strict=True):
        found = dict.fromkeys(h.text for h in each.hypotheses)  # of equal texts one
        assert others == [text for text in found if text != each.text]
    assert [each["language"] for each in answer["detectedLanguage"]] == ["de", "de"]


def test_the_language_that_is_told_is_the_one_that_was_translated_from(client: TestClient) -> None:
    asked = {"q": "it was là le chien et les", "source": "auto", "target": "de"}
    answer = client.post("/translate", json=asked).json()
    assert answer["detectedLanguage"]["language"] == "en"  # of German and English
    assert 0 < answer["detectedLanguage"]["confidence"] <= 100
    answer = client.post("/translate", json={**asked, "q": "12 狗", "target": "en"}).json()
    assert answer["detectedLanguage"] == {"language": "de", "confidence": 0.0}


def test_a_form_may_come_in_parts_or_behind_the_address(
    client: TestClient, translator: Translator
) -> None:
    asked = {"q": "der hund\r\n& die katze ü", "source": "de", "target": "en"}
    expected = {"translatedText": translator.translate(["der hund\n& die katze ü"])[0].text}
    parts = {name: (None, value) for name, value in asked.items()}
    assert client.post("/translate", files=parts).json() == expected
    assert client.post("/translate", params=asked).json() == expected
    detected = client.post("/detect", files={"q": (None, "der hund und die katze")}).json()
    assert detected[0]["language"] == "de"
    several = {**parts, "file": ("a.txt", b"words")}  # files are left out
    assert client.post("/translate", files=several).json() == expected


NAME = b'Content-Disposition: form-data; name="q"'
PARTS = {
    "another order": b'Content-Type: text/plain\r\nContent-Disposition: form-data; a="; b"; name=q',
    "quoted signs": b'content-disposition:form-data; a="\\"; name=x; "; name="\\q"',
    "blank behind the boundary": b"",
}


def in_parts(*parts: bytes) -> bytes:
    return b"".join(b"--a'b\r\n" + part + b"\r\n" for part in parts) + b"--a'b--\r\n"


@pytest.mark.parametrize("name", PARTS)
def test_a_part_is_read_as_its_head_says(name: str, client: TestClient) -> None:
    part = (PARTS[name] or NAME) + b"\r\n\r\nder hund und\r\n--a' die katze"
    body = in_parts(part)
    if not PARTS[name]:
        body = b"before\r\n" + body.replace(b"--a'b\r\n", b"--a'b \t\r\n") + b"behind"
    kind = {"content-type": 'Multipart/Form-Data; charset=utf-8; boundary="a\'b"'}
    answer = client.post("/detect", content=body, headers=kind)
    assert answer.json()[0]["language"] == "de"


NO_PARTS = {
    "no end": in_parts(NAME + b"\r\n\r\na")[:-6],
    "no head": in_parts(b"a"),
    "a head that is too long": in_parts(NAME + b"\r\nA: " + b"b" * 5000 + b"\r\n\r\na"),
    "a longer boundary": in_parts(NAME + b"\r\n\r\na").replace(b"--a'b\r", b"--a'bc\r"),
    "too many": in_parts(*[NAME + b"\r\n\r\na"] * 101),
    "a coding": in_parts(NAME + b"\r\nContent-Transfer-Encoding: base64\r\n\r\nYQ=="),
}


@pytest.mark.parametrize("name", NO_PARTS)
def test_parts_that_break_the_rules_are_refused(name: str, client: TestClient) -> None:
    kind = {"content-type": "multipart/form-data; boundary=a'b"}
    answer = client.post("/detect", content=NO_PARTS[name], headers=kind)
    assert answer.status_code == 400
    assert "form" in answer.json()["error"]


SLOW = {  # each was read for seconds or minutes once, while everybody waited
    "comments": in_parts(b"Content-Disposition: form-data; name=q " + b"(a)" * 300_000),
    "parameters": in_parts(NAME + b";a=b" * 200_000 + b"\r\n\r\na"),
    "folds": in_parts(NAME + b";\r\n a*0*=b" * 60_000 + b"\r\n\r\na"),
    "parts": b"--a'b\n\n" * 130_000,
    "quotes": in_parts(NAME + b'; a="\\' * 400 + b"\r\n\r\na"),
}


@pytest.mark.parametrize("name", SLOW)
def test_no_form_takes_long_to_read(name: str, client: TestClient) -> None:
    kind = {"content-type": "multipart/form-data; boundary=a'b" + "; a=b" * 9000}
    began = time.process_time()
    client.post("/detect", content=SLOW[name], headers=kind)
    assert time.process_time() - began < 1


def test_the_answer_says_that_files_are_not_translated(client: TestClient) -> None:
    settings = client.get("/frontend/settings").json()
    assert settings["filesTranslation"] is False
    assert settings["supportedFilesFormat"] == []
    assert client.get("/translate").status_code == 405


REFUSED = {
    "no text": ({"source": "de", "target": "en"}, "q"),
    "a number": ({"q": 5, "source": "de", "target": "en"}, "q"),
    "no target": ({"q": "a", "source": "de"}, "target"),
    "another pair": ({"q": "a", "source": "en", "target": "fr"}, "en to fr"),
    "another format": ({"q": "a", "source": "de", "target": "en", "format": "xml"}, "format"),
    "a number of formats": ({"q": "a", "source": "de", "target": "en", "format": 5}, "format"),
    "broken HTML": (
        {"q": f"&#{'9' * 2000};", "source": "de", "target": "en", "format": "html"},
        "q 0: line 1",
    ),
    "less than none": ({"q": "a", "source": "de", "target": "en", "alternatives": -1}, "alter"),
    "a list of numbers": ({"q": [1], "source": "de", "target": "en"}, "q"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_done_is_refused_with_a_reason(name: str, client: TestClient) -> None:
    asked, reason = REFUSED[name]
    answer = client.post("/translate", json=asked)
    assert answer.status_code == 400
    assert reason in answer.json()["error"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"[" * 9999, b'{"q": "\xff"}', b"q=%FF"])
def test_a_body_of_no_sense_is_refused(body: bytes, client: TestClient) -> None:
    kinds = ["application/json", "application/x-www-form-urlencoded", "text/plain"]
    for kind in [*kinds, "multipart/form-data", "multipart/form-data; boundary=x"]:
        answer = client.post("/translate", content=body, headers={"content-type": kind})
        assert answer.status_code == 400
        assert answer.json()["error"]


def test_settings_tell_the_limits(client: TestClient) -> None:
    settings = client.get("/frontend/settings").json()
    assert settings["charLimit"] == 20_000
    assert settings["language"]["source"] == {"code": "de", "name": "German"}
    assert not settings["keyRequired"]


GUESSES = {
    "The dog is not here, and it was you.": "en",
    "Le chien n'est pas là et les chats sont une joie.": "fr",
    "El perro no está en la casa y los gatos con una": "es",
    "Собака не в доме, и это что-то.": "ru",
    "Собака не в домі, і це щось її.": "uk",
    "狗不在家里。": "zh",
    "犬は家にいません。": "ja",
    "개는 집에 없다.": "ko",
    "الكلب ليس في البيت": "ar",
    "سگ در خانه نیست و این چه پژواکی است": "fa",
    "כלב": "he",
    "कुत्ता घर में नहीं है": "hi",
    "สุนัข": "th",
    "Mbwa hayuko katika nyumba ya wa kwa": "sw",
    "Der Hund schläft auf der Straße.": "de",
}


@pytest.mark.parametrize("text", GUESSES)
def test_a_language_is_guessed_by_script_letters_and_short_words(text: str) -> None:
    assert guess_language(text)[0][0] == GUESSES[text]


def test_a_guess_sums_to_one_keeps_to_what_is_asked_and_may_be_none() -> None:
    assert sum(value for _, value in guess_language("the dog und der hund")) == pytest.approx(1)
    assert guess_language("the dog und der", among=["de"]) == [("de", 1.0)]
    assert guess_language("123 !?") == []
