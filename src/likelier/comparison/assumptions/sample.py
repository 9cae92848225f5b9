"""The rows and columns that the checks of assumptions use, and p-values that they share."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, fdtrc, log_ndtr, ndtr, stdtr

from likelier.array_types import Floats, Indices
from likelier.comparison.rows import Rows

# p-values that several checks share.


LEVEL = 0.01  # of every test, corrected for how many there are


def holm(p: Floats) -> Floats:
    """p-values, each corrected for all of them (Holm 1979); NaN where there was no test."""
    found = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p.flat[tested], kind="stable")]
    left = np.arange(len(order), 0, -1)
    found.flat[order] = np.minimum(np.maximum.accumulate(left * p.flat[order]), 1.0)
    return found


def chi2(x: float, df: float) -> float:
    """P(χ² ≥ x)."""
    return float(chdtrc(df, max(x, 0.0))) if df > 0 else np.nan


def f_ratio(F: float, df: float, rest: float) -> float:
    """P(F ≥ x)."""
    return float(fdtrc(df, rest, max(F, 0.0))) if df > 0 and rest > 0 else np.nan


def normal(z: float) -> float:
    """P(|Z| ≥ |z|)."""
    return float(2 * ndtr(-abs(z)))


def of_correlation(r: Floats, n: Floats) -> Floats:
    """Two-sided p-values of no correlation, by t = r √((n - 2)/(1 - r²))."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(r) * np.sqrt((n - 2) / np.maximum(1 - r**2, 0.0))
        return np.where(n > 2, 2 * stdtr(np.maximum(n - 2, 1), -t), np.nan)


def anderson_darling(z: Floats) -> float:
    """A² = -n - Σ (2i - 1)/n (ln Φ(z_i) + ln(1 - Φ(z_(n+1-i)))) of sorted z (Anderson and Darling 1954)."""
    n = len(z)
    odd = 2 * np.arange(n) + 1
    return float(-n - (odd * (log_ndtr(z) + log_ndtr(-z[::-1]))).sum() / n)


def of_anderson_darling(A: float, n: int) -> float:
    """Its p-value, mean and deviation being those of the rows (D'Agostino and Stephens 1986, table 4.9)."""
    A = min(A * (1 + 0.75 / n + 2.25 / n**2), 150.0)  # the last parabola turns beyond that
    if A < 0.2:
        return float(1 - np.exp(-13.436 + 101.14 * A - 223.73 * A**2))
    if A < 0.34:
        return float(1 - np.exp(-8.318 + 42.796 * A - 59.938 * A**2))
    if A < 0.6:
        return float(np.exp(0.9177 - 4.279 * A - 1.38 * A**2))
    return float(np.exp(1.2937 - 5.709 * A + 0.0186 * A**2))


# The rows and columns that checks look at: few enough to be quick, chosen so that units do not matter.

MOST_ROWS = 20_000
MOST_NUMBERS = 200  # columns of them: those that tell most of y
MOST_CATEGORIES = 40
MOST_CLASSES = 10
FEWEST = 8  # rows of a class, fewer of which say nothing of its shape


@dataclass(frozen=True)
class Sample:
    """Numbers, categories, and the rows of each class; of a target of numbers there is one group."""

    names: tuple[str, ...]  # of the columns of numbers
    X: Floats = field(repr=False)  # (n, p), NaN where missing
    categories: tuple[str, ...]
    codes: NDArray[np.int64] = field(repr=False)  # (n, c), -1 where missing
    y: NDArray[Any] = field(repr=False)
    groups: tuple[str, ...]  # classes, in words
    members: tuple[Indices, ...] = field(repr=False)  # rows of each
    sizes: NDArray[np.int64]  # (K,) rows of each in the whole table
    notes: tuple[str, ...] = ()

    @cached_property
    def Z(self) -> Floats:
        """(n, p) less the mean, over the deviation: what is found depends on neither."""
        return _scaled(self.X)


def drawn(rows: Rows, classes: NDArray[Any] | None, seed: int) -> Sample:
    """What is looked at; notes say what was left out."""
    at, notes = np.arange(len(rows)), list[str]()
    if rows.w is not None:
        at = at[rows.w > 0]
        notes.append("weights of rows are left out of the checks")
    whole = rows.y[at]
    if len(at) > MOST_ROWS:
        notes.append(f"checked on a sample of {MOST_ROWS:,} rows")
        at = np.sort(np.random.default_rng(seed).choice(at, MOST_ROWS, replace=False))
    y = rows.y[at]
    groups, members, sizes = _groups(y, whole, classes, notes)
    names, X = _numbers(rows, at, y, members, notes)
    factors = rows.of("category")
    codes = np.column_stack([c.values.codes[at] for c in factors]) if factors else np.empty((len(at), 0))
    held = _most_varied(codes.astype(np.int64), notes)
    return Sample(
        names,
        X,
        tuple(factors[j].name for j in held),
        codes[:, held].astype(np.int64),
        y,
        groups,
        members,
        sizes,
        tuple(notes),
    )


def _groups(
    y: NDArray[Any], whole: NDArray[Any], classes: NDArray[Any] | None, notes: list[str]
) -> tuple[tuple[str, ...], tuple[Indices, ...], NDArray[np.int64]]:
    """The commonest classes that have rows enough, in the order of the classes."""
    if classes is None:
        return ("all rows",), (np.arange(len(y)),), np.array([len(whole)])
    codes = np.searchsorted(classes, y)
    counts = np.bincount(codes, minlength=len(classes))
    common = np.argsort(-counts, kind="stable")[:MOST_CLASSES]
    held = np.sort(common[counts[common] >= FEWEST])
    if len(held) < len(classes):
        notes.append(
            f"of {len(classes)} classes, {len(held)} are checked: at most the {MOST_CLASSES} commonest, "
            f"with {FEWEST} rows or more"
        )
    sizes = np.bincount(np.searchsorted(classes, whole), minlength=len(classes))[held]
    return tuple(str(classes[k]) for k in held), tuple(np.flatnonzero(codes == k) for k in held), sizes


def _numbers(
    rows: Rows, at: Indices, y: NDArray[Any], members: tuple[Indices, ...], notes: list[str]
) -> tuple[tuple[str, ...], Floats]:
    if rows.sparse is None:
        names = [column.name for column in rows.of("number")]
        X = rows.numbers[at]
    else:
        filled = rows.sparse[at].getnnz(axis=0)
        columns = np.sort(np.argsort(-filled, kind="stable")[:MOST_NUMBERS])
        names = [f"x{j}" for j in columns]
        X = np.asarray(rows.sparse[at][:, columns].toarray(), dtype=np.float64)
        if rows.p > MOST_NUMBERS:
            notes.append(f"of {rows.p:,} columns the {MOST_NUMBERS} that are least often 0 are checked")
    some = np.flatnonzero(~np.isnan(X).all(axis=0))
    names, X = [names[j] for j in some], X[:, some]
    if X.shape[1] > MOST_NUMBERS:
        held = _best(_scaled(X), y, members, MOST_NUMBERS)
        notes.append(
            f"of {X.shape[1]:,} columns of numbers the {MOST_NUMBERS} that tell most of y are checked"
        )
        names, X = [names[j] for j in held], X[:, held]
    return tuple(names), X


def _most_varied(codes: NDArray[np.int64], notes: list[str]) -> Indices:
    """Columns of categories, of many those of the largest entropy."""
    c = codes.shape[1]
    if c <= MOST_CATEGORIES:
        return np.arange(c)
    notes.append(f"of {c:,} columns of categories the {MOST_CATEGORIES} that vary most are checked")
    shares = (np.bincount(column[column >= 0]) / max((column >= 0).sum(), 1) for column in codes.T)
    entropy = np.array([-(q[q > 0] * np.log(q[q > 0])).sum() for q in shares])
    return np.sort(np.argsort(-entropy, kind="stable")[:MOST_CATEGORIES])


def informative(sample: Sample, most: int) -> Indices:
    """The columns of numbers that tell most of y, in their own order."""
    return _best(sample.Z, sample.y, sample.members, most)


def _best(Z: Floats, y: NDArray[Any], members: tuple[Indices, ...], most: int) -> Indices:
    found = _parted(Z, members) if len(members) > 1 else _explained(Z, y)
    return np.sort(np.argsort(-found, kind="stable")[:most])


def _parted(Z: Floats, members: tuple[Indices, ...]) -> Floats:
    """(p,) the share of each column's variance that lies between classes."""
    within, whole = np.zeros(Z.shape[1]), np.zeros(Z.shape[1])
    for rows in members:
        within += _squares(Z[rows])
        whole += np.nansum(Z[rows] ** 2, axis=0)
    return np.asarray(1 - within / np.where(whole > 0, whole, 1.0))


def _explained(Z: Floats, y: NDArray[Any]) -> Floats:
    """(p,) |r| with a target of numbers, about."""
    rest = (y - y.mean()).astype(np.float64)
    return np.asarray(np.abs(np.nansum(Z * rest[:, None], axis=0)) / len(y))


def _squares(X: Floats) -> Floats:
    return np.asarray(np.nansum((X - _mean(X)) ** 2, axis=0))


def _scaled(X: Floats) -> Floats:
    """(n, p) less the mean, over the deviation; first over the largest, whose square could be too large."""
    largest = np.abs(np.nan_to_num(X)).max(axis=0, initial=0.0)
    X = X / np.where(largest > 0, largest, 1.0)
    centred = X - _mean(X)
    spread = np.sqrt(_mean(centred**2))
    return np.asarray(centred / np.where(spread > 0, spread, 1.0))


def _mean(X: Floats) -> Floats:
    """(p,) of the cells that are there; 0 if none is."""
    there = ~np.isnan(X)
    return np.asarray(np.where(there, X, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1))
