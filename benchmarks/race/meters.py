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
            line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM"))
            return int(line.split()[1]) * 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MAXRSS_UNIT


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
        own = os.times()
        return sum(machine.get(kind, 0.0) for kind in kinds), sum(own[:4]), time.perf_counter()
