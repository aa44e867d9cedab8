from pathlib import Path

import pytest

from tests.golden.case import Case, read_cases

HERE = Path(__file__).parent
OWN_CASES = HERE / "cases"
SHARED_CASES = HERE.parents[2] / "shared" / "golden"  # beside the repository


def golden_folder(config: pytest.Config) -> Path:
    """Choose the folder: as asked, else the full set beside the repository, else our own copies."""
    asked = config.getoption("--golden-dir")
    if asked is not None:
        return Path(asked)
    return SHARED_CASES if SHARED_CASES.is_dir() else OWN_CASES


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "golden_case" not in metafunc.fixturenames:
        return
    try:
        cases = read_cases(golden_folder(metafunc.config))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    runs = [(case, precision) for case in cases for precision in case.precisions]
    metafunc.parametrize(("golden_case", "precision"), runs, ids=[_name(*run) for run in runs])


def _name(case: Case, precision: str) -> str:
    return f"{case.topic}-{case.raw['id']}-{precision}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many cases were run, so that a filter cannot pass for agreement of all."""
    outcomes = {"passed": set[str](), "failed": set[str]()}
    for outcome, cases in outcomes.items():
        for report in terminalreporter.getreports(outcome):
            name = report.nodeid.partition("::test_case_agrees[")[2]
            if name:
                cases.add(name.rpartition("-")[0])  # without the precision
    run = len(outcomes["passed"] | outcomes["failed"])
    if run:
        disagree = len(outcomes["failed"])
        terminalreporter.write_line(f"golden cases: {run} run, {disagree} of them disagree")
