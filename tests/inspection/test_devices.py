from pathlib import Path

import pytest

from dragoman.errors import ConfigError
from dragoman.inspection import Format, devices, parse_hardware


def test_hardware_is_a_name_and_a_count() -> None:
    assert parse_hardware("h100:8") == ("h100", 8)
    assert parse_hardware(" P100 ") == ("p100", 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tpu", r"^--hardware: 'tpu' is not known; try p100, v100, a100, h100, h200, rtx3090, "),
        ("h100:0", r"^--hardware: '0' is no number of devices; try h100:8$"),
        ("h100:", r"^--hardware: '' is no number of devices"),
        ("h100:-2", r"^--hardware: '-2' is no number"),
    ],
)
def test_what_is_no_hardware_is_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_hardware(text)


def test_auto_is_bf16_where_there_are_units_for_it_and_float32_is_never_tf32() -> None:
    known = devices()
    assert known["h100"].format_for("auto") == "bf16"
    assert known["p100"].format_for("auto") == "fp32"
    assert known["a100"].format_for("fp32") == "fp32"
    with pytest.raises(ConfigError, match=r"P100 SXM2 has no fast bf16; .*one of fp32, fp16$"):
        known["p100"].format_for("bf16")


def test_every_figure_has_a_source_and_a_second_place_that_confirms_it() -> None:
    for device in devices().values():
        assert device.source
        assert device.utilization_source
        assert set(device.confirmed) == {"memory", "bandwidth", "link", *device.peak}
        assert all(device.confirmed.values())


@pytest.mark.parametrize("name", devices())
def test_the_guide_has_the_same_figures(name: str) -> None:
    guide = Path(__file__).parents[2] / "docs/guides/plan.md"
    (row,) = (x for x in guide.read_text("utf-8").splitlines() if x.startswith(f"| `{name}` |"))
    _, memory, bandwidth, link, *peaks, source, _ = (cell.strip() for cell in row.split("|")[1:-1])
    device = devices()[name]
    assert memory == f"{device.memory / 1e9:g} GB"
    assert bandwidth == f"{device.bandwidth / 1e9:,.0f} GB/s"
    assert link == f"{device.link / 1e9:g} GB/s"
    kinds: tuple[Format, ...] = ("fp32", "bf16", "fp16")
    expected = [f"{device.peak[x] / 1e12:g}" if x in device.peak else "-" for x in kinds]
    assert peaks == expected
    assert source == device.source


def test_figures_have_a_sensible_size() -> None:
    for device in devices().values():
        assert device.utilization is not None
        assert 0 < device.utilization < 1
        assert device.reserved < device.memory
        assert device.link < device.bandwidth
        assert device.peak["fp32"] <= device.peak.get("tf32", 1e99)


def test_this_machines_processor_has_no_figures_but_can_be_named() -> None:
    assert parse_hardware("cpu:2") == ("cpu", 2)
    assert "cpu" not in devices()
