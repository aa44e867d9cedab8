"""The attention that is answered for a translation is that by which it was written."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="needs fastapi: the extra serve")

from starlette.testclient import TestClient

from dragoman.decoding import FusedEngine
from dragoman.serving import Limits, Served, make_app
from dragoman.translator import Translator, attention_as_written
from tests.fixtures import GERMAN, tiny_translator

SOURCE = GERMAN[0]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator(learned=40)


def serving(translator: Translator, limits: Limits | None = None) -> TestClient:
    return TestClient(make_app([Served("tiny", translator, limits or Limits())], limits))


@pytest.fixture(scope="module")
def client(translator: Translator) -> Iterator[TestClient]:
    with serving(translator) as client:
        yield client


def translated(client: TestClient, **asked: Any) -> Any:
    asked = {"beam": 3, "n_best": 3, "max_length": 9, **asked}
    return client.post("/v1/translate", json=asked).json()["translations"][0]


def test_of_every_hypothesis_the_pieces_that_were_written_are_shown(
    client: TestClient, translator: Translator
) -> None:
    shown = translated(client, text=SOURCE)
    (expected,) = translator.translate([SOURCE], beam=3, n_best=3, max_length=9)
    for number, hypothesis in enumerate(shown["hypotheses"]):
        asked = {"source": SOURCE, "target_ids": hypothesis["token_ids"][0]}
        answer = client.post("/v1/attention", json=asked).json()
        (maps,) = attention_as_written(translator.bundle, expected, number)
        for kind in ("encoder", "decoder", "cross"):
            assert answer[kind] == getattr(maps, kind).tolist()
            np.testing.assert_allclose(np.sum(answer[kind], -1), 1, atol=1e-5)
        assert answer["written_pieces"] == hypothesis["tokens"]
        assert (answer["source"], answer["target"]) == (SOURCE, hypothesis["text"])
        assert answer["note"] == ""
        for pieces, spans, text in (
            ("source_pieces", "source_spans", SOURCE),
            ("written_pieces", "written_spans", hypothesis["text"]),
        ):
            assert len(answer[pieces]) == len(answer[spans])
            covered = {place for span in answer[spans] if span for place in range(*span)}
            assert covered == {*range(len(text))}
        assert answer["target_spans"] == [None, *answer["written_spans"][:-1]]
    anew = [translator.bundle.target_tokenizer.encode(h["text"]) for h in shown["hypotheses"]]
    assert any(ids != h["token_ids"][0] for ids, h in zip(anew, shown["hypotheses"], strict=True))
    assert translated(client, text=SOURCE) == shown


def test_of_a_long_text_each_part_is_shown_by_its_ids(
    client: TestClient, translator: Translator
) -> None:
    text = "der hund schläft . " * 6
    shown = translated(client, text=text, n_best=1)
    assert shown["parts"] == len(shown["source_ids"]) > 1
    (best,) = shown["hypotheses"]
    written = ""
    for source_ids, target_ids in zip(shown["source_ids"], best["token_ids"], strict=True):
        asked = {"source_ids": source_ids, "target_ids": target_ids}
        answer = client.post("/v1/attention", json=asked).json()
        assert answer["source"] in text
        assert len(answer["cross"][0][0]) == len(target_ids)
        written += answer["target"]
    assert written.replace(" ", "") == shown["text"].replace(" ", "")


def test_an_alternative_says_by_which_pieces_it_was_written(
    client: TestClient, translator: Translator
) -> None:
    asked = {"source": SOURCE, "target": "the dog sleeps .", "position": 4, "count": 3}
    for each in client.post("/v1/alternatives", json=asked).json()["alternatives"]:
        shown = {"source": SOURCE, "target_ids": each["token_ids"]}
        answer = client.post("/v1/attention", json=shown).json()
        assert answer["target"] == each["text"]
        tokenizer = translator.bundle.target_tokenizer
        assert answer["written_pieces"] == tokenizer.pieces(each["token_ids"])


def test_what_was_copied_was_neither_read_nor_written(client: TestClient) -> None:
    shown = translated(client, text="12 !")
    assert shown["source_ids"] == shown["hypotheses"][0]["token_ids"] == []


REFUSED: dict[str, tuple[dict[str, Any], int, str]] = {
    "no target": ({"source": "a"}, 422, "target: give either target or target_ids"),
    "two sources": ({"source": "a", "source_ids": [9], "target": "b"}, 422, "source: give either"),
    "no such piece": ({"source": "a", "target_ids": [9999]}, 422, "id 9999"),
    "less than none": ({"source_ids": [-4], "target": "b"}, 422, "id -4"),
    "a huge number": ({"source": "a", "target_ids": [10**30]}, 422, "id 1"),
    "the end inside": ({"source": "a", "target_ids": [2, 9]}, 422, "id 2, at 0"),
    "nothing": ({"source": "a", "target_ids": []}, 422, "target: no ids"),
    "nothing read": ({"source_ids": [], "target": "a"}, 422, "source: no ids"),
    "another language": (
        {"source_ids": [9], "target": "b", "target_language": "en"},
        422,
        "target_language: goes with source",
    ),
    "more than the model reads": ({"source": "a" * 90, "target": "b"}, 422, "40 positions"),
    "ids that are words": ({"source": "a", "target_ids": ["the"]}, 422, "target_ids"),
    "much": ({"source": "a", "target_ids": [9] * 3001}, 413, "3,001 ids"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_shown_is_refused_with_a_reason(name: str, client: TestClient) -> None:
    body, status, reason = REFUSED[name]
    answer = client.post("/v1/attention", json=body)
    assert answer.status_code == status, answer.text
    assert reason in answer.json()["error"]


def test_a_server_that_translates_by_other_weights_says_so() -> None:
    pytest.importorskip("numba", reason="needs numba: the extra fast")
    translator = tiny_translator()
    translator.engine = FusedEngine.of(translator.model, "int8")
    with serving(translator) as client:
        best = translated(client, text=SOURCE)["hypotheses"][0]
        asked = {"source": SOURCE, "target_ids": best["token_ids"][0]}
        answer = client.post("/v1/attention", json=asked).json()
    assert "fused translates in int8" in answer["note"]
    assert answer["written_pieces"] == best["tokens"]
