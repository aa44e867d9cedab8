"""The page of OpenAPI is true: requests made from it get the answers it promises."""

from typing import Any

import pytest

pytest.importorskip("schemathesis", reason="needs schemathesis: a dev dependency")

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from dragoman.serving import Limits, Served, make_app
from tests.fixtures import tiny_translator

served = Served("tiny", tiny_translator(), Limits(), source_language="de", target_languages=["en"])
app = make_app([served], Limits(text_characters=300, texts=5))
schema = schemathesis.openapi.from_asgi("/openapi.json", app)


@schema.parametrize()
@settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_answers_are_those_that_are_promised(case: Any) -> None:
    # What a schema cannot say, as that two lists are of one length, is refused with a reason.
    case.call_and_validate(excluded_checks=[positive_data_acceptance], timeout=100)
