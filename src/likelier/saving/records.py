"""The closed table of what a file may hold, and what must be true of it: kernels take sizes on trust.

A new state or family joins `RECORDS` by one line: its name in files, its class, the sizes of its arrays.
"""

import types
import typing
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.estimators.least_squares import Lines
from likelier.estimators.linear_discriminant import LinearBayes
from likelier.families import Categories, Diagonal, Discriminants, Full, Histograms, Tied
from likelier.inference import Solution
from likelier.model import Bayes
from likelier.saving.disk import require
from likelier.saving.values import field_names
from likelier.scores import Affine, Scores
from likelier.states import (
    BinCounts,
    Bins,
    ColumnMoments,
    Counts,
    HigherMoments,
    Levels,
    Moments,
    PatternMoments,
    ShrinkageMoments,
    Survey,
    Triangle,
)

Sizes = dict[str, int]  # of the letters: K classes, p columns, q targets


class Kind(NamedTuple):
    """A class of records. Sizes as in the formulas: "K p", "1+p+q"; a whole number may be a size, too.

    K, p and q are the same throughout a file, other letters within one array.
    """

    cls: type
    sizes: dict[str, str | Callable[[Any], str]]
    holds: Callable[[Any], Any] = lambda record: True
    logs: tuple[str, ...] = ()  # logarithms, which may be -inf
    gaps: tuple[str, ...] = ()  # which may be NaN: all other numbers are finite


_SCATTER = {"full": "K p p", "tied": "p p"}
_ORDERS = dict.fromkeys("STQ", "K p p")
_LINE = {"centre": "p", "W": "K p", "b": "K", "origin": "p", "scalings": "p r", "explained": "s"}
_PLANE = {"B": "q p", "at": "q", "shift": "p", "intercept": "q"}


def _counted(state: Any) -> Any:
    return np.all(state.n >= 0)


def _grouped(state: PatternMoments) -> Any:
    """Classes and the places of scatters are numbers by which arrays are read."""
    K, places = len(state.blank), state.spread[state.spread >= 0]
    counted = np.all(state.w > 0) and np.all(state.blank >= 0) and state.most > 0
    classes = np.all((state.codes >= 0) & (state.codes < K)) and not np.isnan(state.X).all(axis=1).any()
    scatters = np.all(state.spread >= -1) and np.array_equal(np.sort(places), np.arange(len(state.S)))
    return counted and classes and scatters


def _tallied(state: Counts) -> Any:
    """Codes are places in the table."""
    least = 1 if state.beyond == "last" else 0
    sized = np.all(state.sizes >= least) and state.sizes.sum() == len(state.counts)
    return sized and _counted(state) and np.all(state.counts >= 0) and state.counts.flags.c_contiguous


def _sorted(bins: Bins) -> Any:
    if len(bins) == 0 or len(bins.edges) != len(bins) + 1:
        return False
    ordered = np.all(np.diff(bins.edges) >= 0) and np.all(np.diff(bins.cuts) > 0)
    return ordered and not (bins.atoms[0] or bins.atoms[-1])


def _binned(state: BinCounts) -> Any:
    return np.array_equal(state.counts.sizes, [len(one) for one in state.bins])


def _normal(params: Any) -> Any:
    """Each column's probabilities add up to 1."""
    sizes = params.sizes
    if len(sizes) == 0 or not np.all(sizes > 0) or sizes.sum() != len(params.log_p):
        return False
    totals = np.add.reduceat(np.exp(params.log_p), np.cumsum(sizes) - sizes, axis=0)
    return np.allclose(totals, 1, rtol=1e-6)


def _foldable(state: Triangle) -> Any:
    return state.n >= 0 and state.R.flags.c_contiguous


def _possible(model: Bayes) -> Any:
    return model.log_prior.max() <= 1e-6 and abs(model.prior.sum() - 1) < 1e-6


RECORDS = {
    "states.Moments": Kind(
        Moments, {"n": "K", "mean": "K p", "S": lambda state: _SCATTER[state.shape]}, _counted
    ),
    "states.ColumnMoments": Kind(
        ColumnMoments, {"n": "K", **dict.fromkeys(("seen", "mean", "S"), "K p")}, _counted
    ),
    "states.PatternMoments": Kind(
        PatternMoments,
        {"X": "r p", "codes": "r", "w": "r", "spread": "r", "S": "c p p", "blank": "K"},
        _grouped,
        gaps=("X",),
    ),
    "states.ShrinkageMoments": Kind(ShrinkageMoments, {}),
    "states.Counts": Kind(Counts, {"n": "K", "counts": "l K", "sizes": "p"}, _tallied),
    "states.Bins": Kind(Bins, {"edges": "1+b", "atoms": "b"}, _sorted),
    "states.BinCounts": Kind(BinCounts, {}, _binned),
    "states.HigherMoments": Kind(HigherMoments, {"n": "K", "mean": "K p", **_ORDERS}, _counted),
    "states.Triangle": Kind(Triangle, {"p": "p", "shift": "p+q", "R": "1+p+q 1+p+q"}, _foldable),
    "states.Survey": Kind(Survey, {"levels": "K"}),
    "states.Levels": Kind(Levels, {"levels": "l"}),
    "families.Diagonal": Kind(Diagonal, {"mean": "K p", "var": "K p"}, lambda d: (d.var > 0).all()),
    "families.Categories": Kind(Categories, {"log_p": "l K", "levels": "p"}, _normal),
    "families.Histograms": Kind(Histograms, {"log_p": "l K"}, _normal),
    "families.Tied": Kind(Tied, {"mean": "K p", "cov": "p p"}, lambda d: d.tol >= 0),
    "families.Full": Kind(Full, {"mean": "K p", "cov": "K p p"}),
    "families.Discriminants": Kind(Discriminants, dict(_LINE)),
    "scores.Scores": Kind(Scores, {}, lambda scores: scores.terms),
    "scores.Affine": Kind(Affine, {"b": "K", "W": "K p", "shift": "p"}),
    "model.Bayes": Kind(Bayes, {"log_prior": "K"}, _possible, logs=("log_prior",)),
    "model.LinearBayes": Kind(LinearBayes, {"log_prior": "K"}, _possible, logs=("log_prior",)),
    "model.Lines": Kind(Lines, dict(_PLANE)),
    "model.Solution": Kind(Solution, {"b": "p q", "free": "f p"}),
}
CLASSES: dict[str, type] = {name: kind.cls for name, kind in RECORDS.items()}
_KINDS = {kind.cls: kind for kind in RECORDS.values()}


def check(record: Any, sizes: Sizes) -> None:
    """Refuse a record whose fields are not of their types, or do not fit each other and `sizes`."""
    kind, name = _KINDS[type(record)], type(record).__name__
    held = {field: getattr(record, field) for field in field_names(kind.cls)}
    for field, value in held.items():
        good = _fits(value, _hints(kind.cls)[field])
        require(good, f"{name}.{field} is of a wrong type: {value!r:.80}")
    # Whole numbers first: what they say, the sizes of arrays can be held against.
    for field in sorted(held, key=lambda field: type(held[field]) is not int):
        for part in _parts(held[field]):
            if isinstance(part, np.ndarray):
                _finite(part, f"{name}.{field}", kind, field)
                _size(part.shape, kind, record, field, sizes)
            elif type(part) is int and field in kind.sizes:
                _size((part,), kind, record, field, sizes)
            elif isinstance(part, float):
                _finite(np.asarray(part), f"{name}.{field}", kind, field)
            elif type(part) in _KINDS:
                check(part, sizes)
    require(kind.holds(record), f"the numbers of {name} contradict each other")


def _parts(value: Any) -> Iterator[Any]:
    """What a field holds, out of its tuples, lists and dicts."""
    if type(value) in (tuple, list, dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _parts(part)
    else:
        yield value


def _finite(array: NDArray[Any], where: str, kind: Kind, field: str) -> None:
    if array.dtype.kind == "f":
        good = np.isfinite(array)
        good |= (field in kind.logs) & (array == -np.inf)
        good |= (field in kind.gaps) & np.isnan(array)
        require(good.all(), f"{where} contains NaN or infinity")


# ---- sizes ---------------------------------------------------------------------------------------
def _size(shape: tuple[int, ...], kind: Kind, record: Any, field: str, sizes: Sizes) -> None:
    said, own = kind.sizes[field], dict[str, int]()
    wanted = (said if isinstance(said, str) else said(record)).split()
    good = len(wanted) == len(shape) and all(
        _matches(letters, n, sizes, own) for letters, n in zip(wanted, shape, strict=True)
    )
    known = ", ".join(f"{letter}={n}" for letter, n in sizes.items())
    where = f"{type(record).__name__}.{field}"
    require(good, f"{where} has shape {shape}, which is not ({', '.join(wanted)}) with {known}")


def _matches(letters: str, n: int, sizes: Sizes, own: Sizes) -> bool:
    """Whether n is this sum; a letter not met before gets what is left."""
    open_, rest = [], n
    for term in letters.split("+"):
        here = sizes if term in "Kpq" else own
        if term.isdigit() or term in here:
            rest -= int(term) if term.isdigit() else here[term]
        else:
            open_.append((here, term))
    if open_:
        here, term = open_.pop()
        here[term], rest = rest, min(rest, 0)
    return rest == 0 and not open_


# ---- types ---------------------------------------------------------------------------------------
@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is what an annotation of ours says."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, one) for one in args)
    if origin is typing.Literal:
        return any(type(value) is type(one) and value == one for one in args)
    if origin is np.ndarray:
        (cell,) = typing.get_args(args[1])
        return type(value) is np.ndarray and (cell is Any or value.dtype == np.dtype(cell))
    if origin is tuple:
        return type(value) is tuple and all(_fits(part, args[0]) for part in value)
    if origin is list:
        return type(value) is list and all(_fits(part, args[0]) for part in value)
    if origin is dict:
        return type(value) is dict and all(
            _fits(k, args[0]) and _fits(v, args[1]) for k, v in value.items()
        )
    if getattr(hint, "_is_protocol", False):
        asked = [name for name in vars(hint) if not name.startswith("_")]
        return type(value) in _KINDS and all(hasattr(type(value), name) for name in asked)
    return isinstance(value, hint) and not (hint is int and isinstance(value, bool))
