"""What a problem and a contender are, and the two decorators that register them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


class Data(NamedTuple):
    """Rows to train on and rows held out, X dense or CSR; labels are 0 to K - 1.

    `least`: the least that an objective can be, where contenders minimise one (for each penalty).
    """

    X: Any
    y: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]
    least: NDArray[np.float64] | None = None

    def save(self, folder: Path) -> None:
        for name, array in self._asdict().items():
            if sparse.issparse(array):
                sparse.save_npz(folder / f"{name}.npz", array, compressed=False)
            elif array is not None:
                np.save(folder / f"{name}.npy", array)

    @classmethod
    def load(cls, folder: Path) -> "Data":
        """Into memory, not mapped: the fit must not pay for reading the file."""
        return cls(*(_loaded(folder / name) for name in cls._fields))


def _loaded(path: Path) -> Any:
    rows, array = path.with_suffix(".npz"), path.with_suffix(".npy")
    if rows.exists():
        return sparse.load_npz(rows)
    return np.load(array) if array.exists() else None


class Stored(Protocol):
    """What a problem hands to the processes of its contenders, through a folder: `Data`, or files."""

    def save(self, folder: Path) -> None: ...


# An unfitted classifier; for `folds`, `net`, `errors`, the problems of online learning and those of scale
# what their measures say; for `import`, a statement.
Make = Callable[[], Any]
Figures = dict[str, float]
Measure = Callable[[Make, Any], Figures]


@dataclass(frozen=True)
class Problem:
    """Seeded data, and how contenders are measured on it."""

    name: str
    title: str
    measure: Measure
    make: Callable[[float], Stored | None]  # from the share of the rows that is wanted
    load: Callable[[Path], Any] = Data.load  # what the measure gets
    apart: bool = False  # so long that it is run only if it is named


@dataclass(frozen=True)
class Contender:
    """A model of a library in a problem; those of one name are the same model."""

    problem: str
    library: str  # as its distribution is called
    name: str
    make: Make

    @property
    def key(self) -> str:
        return f"{self.problem}/{self.library}/{self.name}"


PROBLEMS: dict[str, Problem] = {}
CONTENDERS: dict[str, Contender] = {}


def problem(
    name: str,
    *,
    title: str,
    measure: Measure,
    load: Callable[[Path], Any] = Data.load,
    apart: bool = False,
) -> Callable[[Callable[[float], Stored | None]], None]:
    """Register a generator: share of the rows -> Data, or whatever `load` reads from its folder."""

    def register(make: Callable[[float], Stored | None]) -> None:
        PROBLEMS[name] = Problem(name, title, measure, make, load, apart)

    return register


def contender(*, problem: str | Sequence[str], library: str, name: str) -> Callable[[Make], None]:
    """Register a maker of classifiers for one problem or several; it imports the library itself."""

    def register(make: Make) -> None:
        for where in [problem] if isinstance(problem, str) else problem:
            entry = Contender(where, library, name, make)
            CONTENDERS[entry.key] = entry

    return register
