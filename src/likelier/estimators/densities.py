"""Densities that are not made of likelier's statistics, one for each class, asked together."""

import copy
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, has_fit_parameter

from likelier.data import Arrays
from likelier.data.units import Units, source_in_units
from likelier.engines import run
from likelier.estimators import door
from likelier.estimators.generative import warn_of_skipped
from likelier.estimators.units import scaling_of, units_for
from likelier.families import Family, Params
from likelier.links import identity
from likelier.model import Bayes, ask

Floats = NDArray[np.float64]


class Densities(Protocol):
    """ln p(x | C_k) for K classes, of rows of whatever kind."""

    @property
    def shown(self) -> Any: ...

    @property
    def columns(self) -> dict[str, Any]:
        """What is known of the columns of X, as scikit-learn names it."""

    def logs(self, X: Any, asker: Any) -> Floats:
        """(n, K); `asker` is the fitted estimator, whose columns X must have if they are known."""

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Any:
        """A row of each of these classes, which are sorted."""


def is_family(density: Any) -> bool:
    """Whether it is a family of likelier's: statistics, and an estimate from them."""
    methods = (getattr(density, name, None) for name in ("stats", "estimate"))
    return not inspect.isclass(density) and all(map(callable, methods))


# ---- likelier's own ------------------------------------------------------------------------------
@dataclass
class FamilyDensities:
    """A family's: rows are counted by class, as by the estimators that are made of it."""

    params: Params
    names: NDArray[Any] | None
    units: Units | None = None  # of the columns of params

    @classmethod
    def fitted(
        cls, family: Family, X: Any, codes: NDArray[np.int32], w: Floats | None, classes: NDArray[Any]
    ) -> Self:
        X = door.opened(X)
        rows, K = door.rows_of(family, X), len(classes)
        source = Arrays(rows, codes, w, names=door.feature_names(X))
        with door.naming(source):
            units = units_for(source, scaling_of(family))
            inside = source if units is None else source_in_units(source, units)
            found = run(inside, lambda: family.stats(K, rows.shape[1]))
        if not found.finite():  # type: ignore[attr-defined]
            raise ValueError("Input X contains values so large that their sums of squares overflow.")
        return cls(family.estimate(found), source.names, units)

    @property
    def _model(self) -> Bayes:
        return Bayes(self.params, np.zeros(self.params.shape[0]), units=self.units)

    @property
    def shown(self) -> Params:
        return self.params

    @property
    def columns(self) -> dict[str, Any]:
        names = {} if self.names is None else {"feature_names_in_": self.names}
        return {"n_features_in_": self.params.shape[1], **names}

    def logs(self, X: Any, asker: Any) -> Floats:
        source, support = door.known_rows(asker, X), self.params.support
        with door.naming(source):
            Z, skipped = ask(self._model.joint, source, identity, support)
        if skipped and support is not None:
            warn_of_skipped(asker, skipped, support)
        return Z

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        return self._model.sample(codes, rng)


# ---- others --------------------------------------------------------------------------------------
@dataclass
class OwnDensities:
    """Objects with `fit` and `score_samples`, one for each class."""

    each: list[Any]

    @classmethod
    def fitted(
        cls, density: Any, X: Any, codes: NDArray[np.int32], w: Floats | None, classes: NDArray[Any]
    ) -> Self:
        each = _for_classes(density, classes)
        for one, label in zip(each, classes, strict=True):
            _check(one, f"class {label}" if isinstance(density, Mapping) else None)
        if w is not None:
            for one in each:
                _weight_name(one)
        X = _by_rows(X)
        for k, one in enumerate(each):
            rows = np.flatnonzero(codes == k)
            how = {} if w is None else {_weight_name(one): w[rows]}
            try:
                one.fit(_safe_indexing(X, rows), **how)
            except Exception as problem:
                name = type(one).__name__
                problem.add_note(f"while fitting {name} to the {len(rows)} rows of class {classes[k]}")
                raise
        return cls(each)

    @property
    def shown(self) -> list[Any]:
        return self.each

    @property
    def columns(self) -> dict[str, Any]:
        return {}

    def logs(self, X: Any, asker: Any) -> Floats:
        n = _num_samples(X)
        Z = np.empty((n, len(self.each)))
        for k, one in enumerate(self.each):
            Z[:, k] = _checked(one.score_samples(X), n, type(one).__name__)
        return Z

    def sample(self, codes: NDArray[np.intp], rng: np.random.Generator) -> Any:
        counts = zip(*np.unique(codes, return_counts=True), strict=True)
        pieces = [_drawn(self.each[k], int(n), int(rng.integers(2**31))) for k, n in counts]
        if all(isinstance(piece, np.ndarray) for piece in pieces):
            return np.concatenate(pieces)
        return [row for piece in pieces for row in piece]


def _by_rows(X: Any) -> Any:
    """X, or, if its rows cannot be taken by number, the same rows so that they can."""
    if issparse(X):
        return X.tocsr()
    return X if hasattr(X, "__getitem__") or hasattr(X, "take") else np.asarray(X)


def _for_classes(density: Any, classes: NDArray[Any]) -> list[Any]:
    """An unfitted density for each class."""
    if not isinstance(density, Mapping):
        return [_unfitted(density) for _ in classes]
    labels = classes.tolist()
    without = [label for label in labels if label not in density]
    unknown = [label for label in density if label not in labels]
    if without or unknown:
        which = f"none for class {without[0]!r}" if without else f"one for {unknown[0]!r}, which y has not"
        raise ValueError(f"density: a dict has a density for each class of y; it has {which}.")
    return [_unfitted(density[label]) for label in labels]


def _unfitted(density: Any) -> Any:
    try:
        return clone(density)
    except TypeError:  # it has no get_params
        return copy.deepcopy(density)


def _check(density: Any, where: str | None) -> None:
    """Refuse what is no density."""
    if inspect.isclass(density):
        name = density.__name__
        raise TypeError(f"density is the class {name}: give an object, {name}(...).")
    lacks = [name for name in ("fit", "score_samples") if not hasattr(density, name)]
    if lacks:
        raise TypeError(
            f"density{'' if where is None else f' of {where}'} is {density!r:.200}, which has no "
            f"{' and no '.join(lacks)}: it must be an object with fit(X) and score_samples(X), ln p(x) of "
            "each row (scikit-learn's KernelDensity or GaussianMixture, for example), a dict of such "
            "objects by class, or a Family of likelier's."
        )


def _weight_name(density: Any) -> str:
    """By which name its `fit` takes weights; refused if it takes none."""
    last, prefix = density, ""
    while isinstance(last, Pipeline):
        name, last = last.steps[-1]
        prefix += f"{name}__"
    if not has_fit_parameter(last, "sample_weight"):
        raise ValueError(
            f"{type(last).__name__}.fit takes no sample_weight: leave the weights out, or take a density "
            "that knows of them (scikit-learn's KernelDensity, a Family of likelier's)."
        )
    return prefix + "sample_weight"


def _checked(z: Any, n: int, name: str) -> Floats:
    """What score_samples must be."""
    found = np.asarray(z, dtype=np.float64)
    if found.shape != (n,):
        raise ValueError(
            f"{name}.score_samples must give ln p(x) of each row: shape ({n},), not {found.shape}."
        )
    bad = np.flatnonzero(np.isnan(found) | (found == np.inf))
    if len(bad):
        row = bad[0]
        raise ValueError(f"{name}.score_samples gives {found[row]} for row {row}: that is no ln p(x).")
    return found


def _drawn(density: Any, n: int, seed: int) -> Any:
    """n rows of a density that can draw some."""
    if not hasattr(density, "sample"):
        raise ValueError(f"{type(density).__name__} has no sample: there is nothing to draw from.")
    if "random_state" in inspect.signature(density.sample).parameters:
        drawn = density.sample(n, random_state=seed)
    elif "random_state" in getattr(density, "get_params", dict)():
        drawn = copy.copy(density).set_params(random_state=seed).sample(n)
    else:
        drawn = density.sample(n)
    return drawn[0] if isinstance(drawn, tuple) else drawn
