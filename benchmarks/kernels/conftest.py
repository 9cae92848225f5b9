"""Data, the fixture that times a kernel, and the table of rates after pytest-benchmark's own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from likelier import _core

N, P, K = 100_000, 50, 10
ROUNDS, WARM_UP = 30, 3


@pytest.fixture(scope="session")
def X() -> NDArray[np.float64]:
    return np.random.default_rng(0).standard_normal((N, P))


@pytest.fixture(scope="session")
def matrix(X: NDArray[np.float64]) -> _core.Matrix:
    return _core.Matrix.dense(X)


@pytest.fixture(scope="session")
def codes() -> NDArray[np.int32]:
    return np.random.default_rng(1).integers(K, size=N).astype(np.int32)


@pytest.fixture
def rate(benchmark: Any) -> Callable[..., Any]:
    """Times `kernel(*arguments())`; extra_info gets giga-units a second of all that a call is said to take.

    Arguments are made anew for each call, outside its time: kernels write to theirs.
    """

    def run(kernel: Callable[..., Any], arguments: Callable[[], tuple[Any, ...]], **work: float) -> Any:
        result = benchmark.pedantic(
            kernel, setup=lambda: (arguments(), {}), rounds=ROUNDS, warmup_rounds=WARM_UP
        )
        if benchmark.enabled:
            for unit, amount in work.items():
                benchmark.extra_info[f"G{unit}/s"] = round(amount / benchmark.stats.stats.min / 1e9, 2)
        return result

    return run


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """pytest-benchmark writes extra_info to JSON only: show it here too."""
    session = getattr(config, "_benchmarksession", None)
    timed = [b for b in session.benchmarks if b.extra_info] if session else []
    if not timed:
        return
    terminalreporter.section(f"best rates, one thread, {_core.ISA}")
    for bench in timed:
        rates = "  ".join(f"{value:8.2f} {unit}" for unit, value in bench.extra_info.items())
        terminalreporter.write_line(f"{bench.name:34} {bench.stats.min * 1e3:9.3f} ms  {rates}")
