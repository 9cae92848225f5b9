"""What is read off the machine: peak memory, and the work of other processes."""

import os
import resource
import sys
import time
from pathlib import Path

import psutil

_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


class PeakMemory:
    """The most resident memory since the start, over what was resident then, in MB.

    On Linux the kernel's high-water mark is set back first; elsewhere it is that of the whole process,
    which is right as long as nothing before the start took more.
    """

    def __init__(self) -> None:
        self._clears = _CLEAR.exists() and os.access(_CLEAR, os.W_OK)
        if self._clears:
            _CLEAR.write_text("5")
        self._start = psutil.Process().memory_info().rss

    def megabytes(self) -> float:
        return max(0.0, (self._mark() - self._start) / 1e6)

    def _mark(self) -> int:
        if self._clears:
            return _high_water(_STATUS)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT


def _high_water(status: Path) -> int:
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def peak(pid: int | str = "self") -> float:
    """The most memory that a process has held, since its mark was last set back, in MB."""
    return _high_water(Path(f"/proc/{pid}/status")) / 1e6


def workers() -> list[int]:
    """The processes that this one has started, and those that they have, but for bookkeepers."""
    started = psutil.Process().children(recursive=True)
    return [child.pid for child in started if "resource_tracker" not in " ".join(child.cmdline())]


class OtherProcesses:
    """Cores that processes other than this one and its children took since the start.

    The kernel counts in ticks of 10 ms: of a window below a second, read no second digit.
    """

    def __init__(self) -> None:
        self._start = self._read()

    def cores(self) -> float:
        busy, own, clock = (now - then for now, then in zip(self._read(), self._start, strict=True))
        return max(0.0, (busy - own) / clock)

    @staticmethod
    def _read() -> tuple[float, float, float]:
        machine = psutil.cpu_times()._asdict()
        kinds = ("user", "nice", "system", "irq", "softirq", "steal")
        own = sum(os.times()[:4]) + sum(
            _spent(child) for child in psutil.Process().children(recursive=True)
        )
        return sum(machine.get(kind, 0.0) for kind in kinds), own, time.perf_counter()


def _spent(process: psutil.Process) -> float:
    """Seconds of CPU, 0 of one that has just ended: the times of its parent have them."""
    try:
        return float(sum(process.cpu_times()[:2]))
    except psutil.Error:
        return 0.0
