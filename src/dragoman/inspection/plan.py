"""What a training needs on given devices before it runs: memory, time, cost, how far it scales.

All of it is arithmetic on a ``Workload``, which says what one update is. Sizes are bytes, times
seconds, a multiply-add is two operations.
"""

from dataclasses import dataclass, field

from dragoman.inspection.devices import IN_A_MACHINE, NETWORK, Device, Format
from dragoman.inspection.paper_runs import PAPER_SUSTAINED, PaperRun
from dragoman.inspection.work import Workload

COUNTS = (1, 2, 4, 8, 16, 32, 64)  # of devices, for which scaling is said
WORTHWHILE = 0.5  # of what so many devices could do is what they should do


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes on each device at the peak of an update."""

    weights: float
    gradients: float
    moments: float
    activations: float

    @property
    def lasting(self) -> float:
        """What does not depend on the batch."""
        return self.weights + self.gradients + self.moments

    @property
    def total(self) -> float:
        """All of them, without what libraries reserve."""
        return self.lasting + self.activations


@dataclass(frozen=True, slots=True)
class UpdateTime:
    """Seconds of one update; communication is not hidden behind computing here.

    Args:
        computing: by the share of the peak, or as products and all else take when measured.
        communicating: between devices.
        at_best: computing, if products ran at the peak and all else as fast as memory, and
            operators were not started more slowly than they run.
    """

    computing: float
    communicating: float
    at_best: float

    @property
    def total(self) -> float:
        """Computing and communicating, one after the other."""
        return self.computing + self.communicating


@dataclass(frozen=True, slots=True)
class Scaling:
    """One count of devices.

    Args:
        count: of devices that share each update.
        seconds: of an update.
        speedup: against one device.
        memory: bytes on each.
    """

    count: int
    seconds: float
    speedup: float
    memory: float

    @property
    def efficiency(self) -> float:
        """Speedup over count: 1 when nothing is lost."""
        return self.speedup / self.count


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A workload on devices.

    Args:
        name: of the device.
        device: what it can do.
        count: how many share each update; of a processor, threads of one process.
        precision: number format of products.
        work: one update.
        steps: updates in the run; None when that depends on the data.
        price: of one device for an hour, in any currency; None is unknown.
        utilization: share of the peak that an update reaches; that of the device unless given.
        paper: what the paper says of such a training; None of any other.
    """

    name: str
    device: Device
    count: int
    precision: Format
    work: Workload
    steps: int | None
    price: float | None = None
    utilization: float | None = None
    paper: PaperRun | None = None
    scaling: tuple[Scaling, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        """Say how the work scales, where there are links between devices."""
        if not self.device.processor:
            object.__setattr__(self, "scaling", tuple(self._scaled(count) for count in COUNTS))

    @property
    def share_of_peak(self) -> float | None:
        """What of the peak an update is taken to reach; None where its parts were timed."""
        return self.device.utilization if self.utilization is None else self.utilization

    @property
    def memory(self) -> Memory:
        """Bytes on each device."""
        return memory_of(self.work, 1 if self.device.processor else self.count)

    @property
    def available(self) -> float:
        """Bytes that a process may take on each device; threads share theirs."""
        return self.device.memory

    @property
    def phases(self) -> dict[str, float]:
        """Bytes that a process takes on each device at its peaks, libraries and rounding included.

        A processor's memory also holds a checkpoint as it is written (``training/checkpoint.py``
        makes both files whole before, the second of them twice for a moment), and those that are
        averaged at the end, with their mean. Not all that an update held is given back before.
        """
        memory = self.memory
        update = self.device.reserved + memory.lasting + self.device.rounding * memory.activations
        stays = self._between + self._kept
        return {
            "update": update,
            **{name: min(update, stays) + more for name, more in self._files.items()},
        }

    @property
    def _between(self) -> float:
        """What two updates have between them at least."""
        return self.device.reserved + self.memory.weights + self.memory.moments

    @property
    def _kept(self) -> float:
        """What a processor's allocator keeps of an update."""
        return self.device.kept * self.device.rounding * self.work.small

    @property
    def _files(self) -> dict[str, float]:
        """What a processor's memory holds of checkpoints, and when."""
        if not self.device.processor:
            return {}
        found = {"saving": self.work.saved + 2 * self.work.remembered}
        if self.work.averaged:
            found["averaging"] = (self.work.averaged + 1) * self.work.saved
        return found

    @property
    def taken(self) -> float:
        """The most of ``phases``."""
        return max(self.phases.values())

    @property
    def fits(self) -> bool:
        """Whether an update fits in memory."""
        return self.taken <= self.available

    @property
    def largest_slots(self) -> int:
        """Most target places of a batch that fit; 0 when not even weights do, or a checkpoint."""
        work = self.work
        left = self.available - self.device.reserved - self.memory.lasting
        grows = left / self.device.rounding - work.held_anyway
        each = (work.held - work.held_anyway) / work.slots
        divided = 1 if self.device.processor else _dividing(work, self.count)
        most = grows / each * divided
        for more in self._files.values():
            room = self.available - self._between - more
            if room < 0:
                return 0
            if self._kept:
                most = min(most, room / self._kept * work.slots)
        return max(0, int(most))

    @property
    def time(self) -> UpdateTime:
        """Seconds of an update."""
        return self._time(self.count)

    @property
    def slots_per_second(self) -> float:
        """Target places a second, those of padding included."""
        return self.work.slots * self.work.batches / self.time.total

    @property
    def seconds(self) -> float | None:
        """All updates; reading, validating and saving come on top."""
        return None if self.steps is None else self.steps * self.time.total

    @property
    def cost(self) -> float | None:
        """What the run costs, in the currency of the price."""
        if self.seconds is None or self.price is None:
            return None
        return self.seconds / 3600 * self.count * self.price

    @property
    def operations_as_in_the_paper(self) -> float | None:
        """Time x devices x sustained speed, 9.5 TFLOP/s of a P100 (section 6.1, footnote 5)."""
        if self.seconds is None or self.name != "p100":
            return None
        return self.seconds * self.count * PAPER_SUSTAINED

    @property
    def scales_to(self) -> int:
        """The most devices of ``COUNTS`` that do at least half of what they could."""
        return max((one.count for one in self.scaling if one.efficiency >= WORTHWHILE), default=1)

    def _time(self, count: int) -> UpdateTime:
        work, device, share = self.work, self.device, self.share_of_peak
        speed = device.peak[self.precision] * (1 if device.processor else count)
        shared = 1 if device.processor else count
        other = work.moved * work.batches / device.bandwidth / shared
        other += work.updated / device.bandwidth / (count if work.split else 1)
        starting = work.operators * work.batches * device.operator_seconds
        products = work.operations * work.batches / speed
        # A GPU works while the next operators are started; a processor starts them itself.
        together = products + other
        at_best = together + starting if device.processor else max(together, starting)
        computing = at_best if share is None else max(products / share, at_best)
        return UpdateTime(computing, communication_seconds(work, device, count), at_best)

    def _scaled(self, count: int) -> Scaling:
        seconds, alone = self._time(count).total, self._time(1).total
        return Scaling(count, seconds, alone / seconds, memory_of(self.work, count).total)


def memory_of(work: Workload, count: int) -> Memory:
    """Say what each of ``count`` devices holds.

    What is split lies on all of them in equal parts; the layers gathered for the moment are left
    out. An update of several batches deals them out whole when it can, as ``data/sharing.py`` does.
    """
    share = count if work.split else 1
    each = (work.held - work.held_anyway) / _dividing(work, count)
    return Memory(
        weights=work.weights / share,
        gradients=work.gradients / share,
        moments=work.moments / share,
        activations=work.held_anyway + each,
    )


def communication_seconds(work: Workload, device: Device, count: int) -> float:
    """Say how long devices exchange gradients, or what is split, in an update.

    Summing G bytes over N devices in a ring moves 2 G (N - 1) / N through each link (Patarasuk and
    Yuan 2009). What is split is gathered twice, forward and backward, and gradients are summed into
    parts: 3 (N - 1) / N of the weights for each batch (arXiv 1910.02054, section 7).
    """
    if count == 1 or device.processor:
        return 0.0
    link = device.link if count <= IN_A_MACHINE else min(device.link, NETWORK)
    others = (count - 1) / count
    if work.split:
        rounds = max(1, work.batches / count)
        return rounds * 3 * others * work.copies / link
    return 2 * others * work.gradients / link


def _dividing(work: Workload, count: int) -> int:
    """Say over how many devices one batch is divided."""
    return 1 if work.batches % count == 0 else count
