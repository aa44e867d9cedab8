"""Plans of a made-up device on round numbers, by hand."""

from dataclasses import replace
from typing import Any

import pytest

from dragoman.inspection import Device, Plan, Workload, communication_seconds, memory_of

DEVICE = Device(
    title="round",
    memory=1_100.0 + 44.0,
    bandwidth=1.0,
    link=100.0,
    peak={"fp32": 1_000.0},
    utilization=0.5,
    utilization_source="made up",
    reserved=44.0,
    source="made up",
)
WORK = Workload(
    parameters=25,
    slots=80,
    batches=1,
    operations=8_000.0,
    products={(1, 10, 20, 20): 8_000.0},
    moved=0.0,
    operators=0,
    updated=0.0,
    weights=100.0,
    gradients=100.0,
    moments=200.0,
    held=420.0,
    held_anyway=20.0,
    small=0.0,
    copies=100.0,
    saved=100.0,
    remembered=200.0,
    averaged=0,
    split=False,
)


def planned(work: Workload = WORK, count: int = 1, **options: Any) -> Plan:
    given = {"name": "p100", "device": DEVICE, "precision": "fp32", "steps": 450}
    return Plan(work=work, count=count, **{**given, **options})


def test_an_update_takes_its_operations_over_what_the_device_reaches() -> None:
    # 8,000 operations at 50 % of 1,000 a second; 450 of them are 2 hours.
    plan = planned(price=3.0)
    assert plan.time.total == 16.0
    assert plan.slots_per_second == 5.0
    assert plan.seconds == 7_200.0
    assert plan.cost == 6.0
    assert planned(utilization=0.25).time.total == 32.0


def test_an_update_is_not_faster_than_its_products_at_the_peak_and_its_memory() -> None:
    # 8 s of products at the peak. 5 bytes moved and 2 by the optimizer, 1 a second: 15 in all,
    # below the 16 s of the guess. 30 bytes moved: 40 s.
    plan = planned(replace(WORK, moved=5.0, updated=2.0))
    assert (plan.time.at_best, plan.time.total) == (15.0, 16.0)
    plan = planned(replace(WORK, moved=30.0, updated=2.0))
    assert (plan.time.at_best, plan.time.total) == (40.0, 40.0)
    # On 2 devices each moves half, but all make the whole step of the optimizer: 4 + 15 + 2, unless
    # that is split too: 4 + 15 + 1.
    two = replace(WORK, moved=30.0, updated=2.0)
    assert planned(two, 2).time.at_best == 21.0
    assert planned(replace(two, split=True), 2).time.at_best == 20.0


def test_operators_are_started_while_others_run_but_not_faster_than_that() -> None:
    slow = replace(DEVICE, operator_seconds=0.1)
    assert planned(replace(WORK, operators=70), device=slow).time.at_best == 8.0
    assert planned(replace(WORK, operators=90), device=slow).time.at_best == pytest.approx(9.0)


def test_a_timed_processor_takes_its_products_and_then_all_else() -> None:
    # 8,000 at 1,000 a second, 5 + 2 bytes at 1 a second, 90 operators of 0.1 s.
    device = replace(DEVICE, link=0.0, utilization=None, operator_seconds=0.1)
    plan = planned(replace(WORK, moved=5.0, updated=2.0, operators=90), device=device)
    assert plan.time.total == pytest.approx(8 + 7 + 9)
    assert plan.share_of_peak is None
    assert planned(WORK, device=device, utilization=0.5).time.total == 16.0


def test_devices_share_an_update_and_sum_their_gradients() -> None:
    # Half the work each; a ring sends 2 * 100 * 1 / 2 bytes through a link of 100 a second.
    plan = planned(count=2, price=3.0)
    assert (plan.time.computing, plan.time.communicating) == (8.0, 1.0)
    assert plan.cost == pytest.approx(450 * 9 / 3600 * 2 * 3)


def test_split_weights_are_gathered_twice_and_gradients_summed_once_for_each_batch() -> None:
    # 3 * 100 * 3 / 4 bytes over 100 a second, once or for each of 8 / 4 rounds.
    split = replace(WORK, split=True)
    assert communication_seconds(split, DEVICE, 4) == 2.25
    assert communication_seconds(replace(split, batches=8), DEVICE, 4) == 4.5


def test_activations_are_divided_and_copies_are_not_unless_they_are_split() -> None:
    whole, divided = memory_of(WORK, 1), memory_of(WORK, 4)
    assert whole.total == 100 + 100 + 200 + 420
    assert (divided.weights, divided.activations) == (100, 20 + 400 / 4)
    split = memory_of(replace(WORK, split=True), 4)
    assert (split.weights, split.gradients, split.moments) == (25, 25, 50)


def test_whole_batches_are_dealt_out_when_there_are_as_many_as_devices() -> None:
    assert memory_of(replace(WORK, batches=4), 4).activations == 420


def test_the_largest_batch_fills_the_room() -> None:
    # (1,144 - 44 reserved - 400 that stay) / 1.1 - 20 held anyway, at 5 a place: 123.3.
    plan = planned()
    assert plan.taken == pytest.approx(44 + 400 + 1.1 * 420)
    assert plan.fits
    assert plan.largest_slots == 123
    assert planned(count=2).largest_slots == 246  # half of the rows on each


def test_a_processor_also_holds_a_checkpoint_as_it_is_written_and_averaged() -> None:
    # Update: 44 + 100 + 100 + 200 + 1.1 * 420. Between updates 44 + 100 + 200 stay; to save takes
    # 100 and twice 200 more, to average 5 checkpoints 5 * 100 and their mean.
    core = replace(DEVICE, link=0.0)
    plan = planned(replace(WORK, averaged=5), device=core)
    assert plan.phases == pytest.approx({"update": 906, "saving": 844, "averaging": 944})
    assert plan.taken == pytest.approx(944)
    # Half of 100 in small pieces stays as well, 1.1 bytes for each; of 2,000 no more than an update
    # holds.
    keeps = replace(core, kept=0.5)
    small = planned(replace(WORK, small=100.0), device=keeps)
    assert small.phases == pytest.approx({"update": 906, "saving": 899})
    large = planned(replace(WORK, small=2_000.0), device=keeps)
    assert large.phases["saving"] == pytest.approx(906 + 500)
    assert list(planned(device=core).phases) == ["update", "saving"]
    assert list(planned().phases) == ["update"]  # a GPU holds no files


def test_no_batch_fits_where_a_checkpoint_does_not() -> None:
    # 44 + 100 + 300 between updates; 100 + 600 more to save is more than 1,144 - 1.
    core = replace(DEVICE, link=0.0, memory=1_143.0)
    plan = planned(replace(WORK, moments=300.0, remembered=300.0), device=core)
    assert plan.phases["saving"] == 1_144
    assert not plan.fits
    assert plan.largest_slots == 0


def test_what_stays_of_a_batch_must_leave_room_for_a_checkpoint() -> None:
    # 1,144 - 44 - 100 - 200 between updates - 500 to save are 300; of 80 places 110 stay, half of
    # 1.1 times 200: 218 places. The update alone would allow 123, and does.
    core = replace(DEVICE, link=0.0, kept=0.5)
    assert planned(replace(WORK, small=200.0), device=core).largest_slots == 123
    # When 600 of 80 places are small, 330 stay: 300 / 330 of 80.
    assert planned(replace(WORK, small=600.0), device=core).largest_slots == 72


@pytest.mark.parametrize(("count", "moved"), [(2, 100.0), (4, 150.0), (8, 175.0)])
def test_a_ring_moves_twice_all_but_one_part_of_the_gradients(count: int, moved: float) -> None:
    # By hand: G cut into p parts, p - 1 steps to sum them and p - 1 to hand them round, each of
    # G / p: 2 (p - 1) G / p. Of 100 bytes with 2, 4 and 8 devices.
    each = 100 / count
    assert moved == 2 * (count - 1) * each
    assert communication_seconds(WORK, DEVICE, count) == pytest.approx(moved / 100)


def test_beyond_a_machine_the_network_is_the_link() -> None:
    # 12.5e9 bytes a second: 200 * 15 / 16 bytes of gradients.
    fast = replace(DEVICE, link=1e12)
    assert communication_seconds(WORK, fast, 16) == pytest.approx(200 * 15 / 16 / 12.5e9)


def test_what_does_not_fit_is_said() -> None:
    heavy = planned(replace(WORK, weights=2_000.0))
    assert not heavy.fits
    assert heavy.largest_slots == 0


def test_scaling_ends_where_half_is_lost() -> None:
    # N devices: 16 / N computing, 2 (N - 1) / N communicating: 16 / (16 + 2 (N - 1)) of ideal,
    # which is 0.53 at 8. Beyond 8 the link, of 100, is slower than the network and stays.
    plan = planned()
    by_count = {one.count: one.efficiency for one in plan.scaling}
    assert by_count[8] == pytest.approx(16 / 30)
    assert by_count[16] == pytest.approx(16 / 46)
    assert plan.scales_to == 8


def test_the_paper_counts_time_and_devices_and_sustained_speed() -> None:
    # Section 6.1: 12 hours on 8 P100, 9.5 TFLOP/s each, are 3.3e18.
    twelve = replace(WORK, operations=0.5 * 1_000 * 8 * 0.432)
    plan = planned(twelve, 8, steps=100_000, device=replace(DEVICE, link=1e12))
    assert plan.seconds == pytest.approx(12 * 3600, rel=1e-3)
    assert plan.operations_as_in_the_paper == pytest.approx(3.3e18, rel=0.01)
    assert planned(name="h100").operations_as_in_the_paper is None


def test_threads_of_a_processor_share_its_memory_and_send_nothing() -> None:
    core = replace(DEVICE, link=0.0)
    plan = planned(count=2, device=core)
    assert plan.time.total == 16.0  # its peak is what all threads together reach
    assert plan.memory.total == 820
    assert plan.available == 1_144
    assert plan.scaling == ()


def test_a_run_of_epochs_has_no_length_yet() -> None:
    plan = planned(steps=None, price=1.0)
    assert (plan.seconds, plan.cost, plan.operations_as_in_the_paper) == (None, None, None)
