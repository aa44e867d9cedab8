"""What a process knows of itself and of the machine it shares; imports nothing heavy."""

import os
import resource
import sys
from pathlib import Path


def busy_seconds() -> float | None:
    """Say how long all cores have worked since the start of the machine, or been taken away."""
    file = Path("/proc/stat")
    if not file.exists():
        return None
    user, nice, system, _, _, interrupts, soft, stolen, *_ = file.read_text().split()[1:]
    ticks = sum(map(int, (user, nice, system, interrupts, soft, stolen)))
    return ticks / os.sysconf("SC_CLK_TCK")


def peak_bytes() -> int:
    """Say the most memory this process held.

    Linux lets a child begin with the ``ru_maxrss`` of its parent, so the kernel's own mark for this
    program is preferred.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def resident_bytes() -> int:
    """Say how much memory this process holds now; 0 where the system does not say."""
    file = Path("/proc/self/statm")
    return int(file.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if file.exists() else 0
