"""Every golden case, in each of its precisions and with each attention kernel."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.golden.case import KERNELS, PRECISIONS, Case, disagreements, read_cases
from tests.golden.kinds import KINDS, LEFT_OPEN

HERE = Path(__file__).parent


def check(case: Case, precision: str) -> None:
    """Compute a case and compare it; fail when nobody knows its kind."""
    compute = KINDS.get(case.kind)
    if compute is None:
        pytest.fail(f"unknown kind {case.kind!r}: enter it in tests/golden/kinds/__init__.py")
    for kernel in case.kernels:
        run = replace(case, dtype=PRECISIONS[precision], kernel=KERNELS[kernel])
        expected = dict(case.raw["expected"])
        for field in LEFT_OPEN.get(case.kind, ()):
            expected.pop(field, None)
        wrong = list(disagreements(expected, compute(run), case.raw["tolerance"], precision))
        assert not wrong, f"{kernel} kernel: " + "; ".join(wrong)


def test_case_agrees(golden_case: Case, precision: str) -> None:
    check(golden_case, precision)


def test_unknown_kind_fails() -> None:
    raw = {"id": "x", "kind": "alchemy", "inputs": {}, "expected": {}, "tolerance": {"exact": True}}
    with pytest.raises(pytest.fail.Exception, match="unknown kind 'alchemy'"):
        check(Case(raw, "attention", {"x": raw}), "float64")


def test_every_computed_kind_has_a_case_of_our_own() -> None:
    kinds = {case.kind for case in read_cases(HERE / "cases")}
    assert kinds == KINDS.keys()


@pytest.mark.parametrize("content", ["[]", '{"format": 2, "cases": []}', '{"format": 1}', "{"])
def test_file_that_holds_no_cases_stops_the_run(tmp_path: Path, content: str) -> None:
    (tmp_path / "more.json").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match="more"):
        read_cases(tmp_path)


def run_one(kind: str, inputs: dict[str, Any], expected: dict[str, Any]) -> None:
    tolerance = {"float64": 1e-9, "exact_integers": True}
    raw = {"id": "x", "kind": kind, "inputs": inputs, "expected": expected, "tolerance": tolerance}
    check(Case(raw, "any", {"x": raw}), "float64")


def test_optional_fields_may_be_absent() -> None:
    pairs = [
        {"left": "a", "right": "b", "pair_count": 9, "left_count": 10, "right_count": 10},
        {"left": "c", "right": "d", "pair_count": 8, "left_count": 8, "right_count": 10},
    ]
    # By hand: 9 / 100 and 8 / 80.
    chosen = {"bpe_would_merge": ["a", "b"], "wordpiece_merges": ["c", "d"]}
    run_one("wordpiece_score", {"pairs": pairs}, {"scores": [0.09, 0.1], **chosen})
    # By hand: a query that sees only its own key gives that key's value.
    q = {"q": [[1.0]], "k": [[2.0]], "v": [[3.0]]}
    run_one("sdpa", q, {"scores": [[2.0]], "weights": [[1.0]], "output": [[3.0]]})
    # By hand: 1 + (2 - 1) = 2 positions never cover nine.
    stack = {"kernels": [2], "strides": [1], "dilations": [1], "sequence_length": 9}
    run_one("receptive_field", stack, {"receptive_field": [2]})


def test_expected_field_that_nobody_computes_fails() -> None:
    with pytest.raises(AssertionError, match="colour: not computed"):
        run_one("max_length", {"input_length": 1}, {"max_output": 51, "colour": 1})


def test_case_that_misses_its_expected_number_fails() -> None:
    case = next(case for case in read_cases(HERE / "cases") if case.kind == "perplexity")
    wrong = {**case.raw, "expected": {"perplexity": [1.0] * len(case.inputs["mean_nll"])}}
    with pytest.raises(AssertionError, match=r"perplexity\[0\]: expected 1.0"):
        check(replace(case, raw=wrong), "float64")


def test_cases_of_another_folder_run_through_the_option(tmp_path: Path) -> None:
    source = {"file": None, "section": None, "paper": "5.3"}
    common = {"checks": "", "source": source, "tolerance": {"relative": 1e-4}}
    inputs = {"d_model": 512, "warmup": 4000, "steps": [4000], "factor": 1.0}
    peak = 6.98771e-4  # 512^-0.5 * 4000^-0.5
    right = {"id": "right", "kind": "learning_rate", "inputs": inputs, **common}
    right["expected"] = {"lr": [peak], "peak": peak}
    wrong = {**right, "id": "wrong", "expected": {"lr": [2 * peak], "peak": peak}}
    unknown = {**right, "id": "unknown", "kind": "alchemy"}
    content = {"format": 1, "topic": "training", "cases": [right, wrong, unknown]}
    (tmp_path / "training.json").write_text(json.dumps(content), encoding="utf-8")
    asked = [str(HERE / "test_golden.py"), "--golden-dir", str(tmp_path), "-k", "test_case_agrees"]
    quiet = ["-rA", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *asked, *quiet],
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "PASSED tests/golden/test_golden.py::test_case_agrees[training-right" in done.stdout
    assert "unknown kind 'alchemy'" in done.stdout
    assert "golden cases: 3 run, 2 of them disagree" in done.stdout


@pytest.mark.parametrize(
    ("expected", "got", "tolerance"),
    [
        (1.0, 1.0 + 9e-6, {"float32": 1e-5}),
        (1e6, 1e6 + 9, {"float32": 1e-5}),  # above 1 the tolerance is relative
        ("nan", float("nan"), {"float32": 1e-5}),
        ("-inf", float("-inf"), {"exact": True}),
        (1e-7, 1e-7 * (1 + 9e-10), {"relative": 1e-9}),
        (3, 3, {"exact_integers": True, "float32": 1e-5}),
        (0.73, 0.7349, {"absolute": 0.0051}),
        ({"a": [1, True]}, {"a": [1, True], "more": 2}, {"exact": True}),
        ({"gap": 0.1}, {"gap": 0.1 + 9e-10}, {"exact": True, "gap": 1e-9}),
        ({"a": 1}, {}, {"float64_only": ["a"], "float32": 1e-5}),
        (["inf", "nan"], ["inf", "nan"], {"exact": True}),  # pieces of words
        ({"score": 1 / 17}, {"score": 1 / 17 + 1e-17}, {"exact": True}),
    ],
)
def test_values_within_the_tolerance_agree(
    expected: Any, got: Any, tolerance: dict[str, Any]
) -> None:
    assert list(disagreements(expected, got, tolerance, "float32")) == []


@pytest.mark.parametrize(
    ("expected", "got", "tolerance"),
    [
        (1.0, 1.0 + 2e-5, {"float32": 1e-5}),
        (1.0, float("nan"), {"float32": 1e-5}),
        ("nan", 0.0, {"float32": 1e-5}),
        ("inf", float("-inf"), {"float32": 1e-5}),
        (1e-7, 1.1e-7, {"relative": 1e-9}),
        (3, 3.000001, {"exact_integers": True, "float32": 1e-5}),
        (True, 1, {"exact": True}),
        (1, True, {"exact": True}),
        ("a", "b", {"exact": True}),
        ([1, 2], [1, 2, 3], {"exact": True}),
        ([1.0], 1.0, {"float32": 1e-5}),
        (["inf"], ["info"], {"exact": True}),
        (0.5, 0.5 + 1e-11, {"exact": True}),
        (1, 1.0 + 1e-13, {"exact": True}),
        ({"a": 1}, {}, {"exact": True}),
    ],
)
def test_values_outside_the_tolerance_disagree(
    expected: Any, got: Any, tolerance: dict[str, Any]
) -> None:
    assert list(disagreements(expected, got, tolerance, "float32")) != []
