"""Vowpal Wabbit: rows as its text, and its command line, which its wheel has as a module."""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

DECIMALS = 5  # of a value in the text
LOSS = re.compile(r"average loss = ([\d.]+)")
_KEPT = re.compile(r"[\s:|]")
_ROWS = 10_000  # made at a time
_FRACTIONS = np.array([b"%0*d" % (DECIMALS, i) for i in range(10**DECIMALS)], dtype=f"S{DECIMALS}")


def rounded(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values that the text holds exactly, so that every contender gets the same ones."""
    return np.round(X, DECIMALS)


def lines(X: Any, y: NDArray[np.int64]) -> Iterator[bytes]:
    """`-1 |x 17:-0.12345 204:1.50000`, some rows at a time; X dense or CSR, labels 0 and 1."""
    for start in range(0, len(y), _ROWS):
        rows = sparse.csr_array(X[start : start + _ROWS])
        yield _text(rows, y[start : start + _ROWS])


def _text(X: Any, y: NDArray[np.int64]) -> bytes:
    """A matrix of bytes, a row for each value; bytes that are 0 are no text."""
    if not np.diff(X.indptr).all():
        raise ValueError("a row without values would be lost")
    before = np.zeros(X.nnz, dtype="S6")
    before[X.indptr[:-1]] = np.array([b"\n-1 |x", b"\n1 |x"], dtype="S6")[y]
    whole, fraction = np.divmod(np.rint(np.abs(X.data) * 10**DECIMALS).astype(np.int64), 10**DECIMALS)
    names = np.array([b" %d:" % j for j in range(X.shape[1])])
    wholes = np.array([b"%d." % i for i in range(whole.max() + 1)])
    cells = [before, names[X.indices], np.where(X.data < 0, b"-", b""), wholes[whole], _FRACTIONS[fraction]]
    text = np.column_stack([cell.view(np.uint8).reshape(X.nnz, -1) for cell in cells])
    return text[text != 0].tobytes()[1:] + b"\n"


def write(path: Path, X: Any, y: NDArray[np.int64]) -> None:
    """All rows into a file."""
    with path.open("wb") as file:
        file.writelines(lines(X, y))


def line(x: Mapping[str, Any], y: int) -> str:
    """A row of numbers and strings; what the format keeps for itself (blanks, : and |) becomes _."""
    return f"{1 if y else -1} | " + " ".join(_cell(name, value) for name, value in x.items())


def _cell(name: str, value: Any) -> str:
    if isinstance(value, str):
        return _KEPT.sub("_", f"{name}={value}")
    return f"{_KEPT.sub('_', name)}:{value!r}"


def command(path: Path, *options: str) -> list[str]:
    """One pass over a file with the logistic loss; all other settings are the defaults."""
    import vowpalwabbit  # noqa: F401  (without it there is no such command)

    how = ["--loss_function", "logistic", *options, "-d", str(path)]
    return [sys.executable, "-m", "vowpalwabbit", *how]
