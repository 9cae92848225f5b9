"""Classifiers that minimise a loss over rows, plus a penalty on their weights."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from tqdm import tqdm

from likelier.abilities import chosen
from likelier.callers import outside
from likelier.data import Arrays, Source, code
from likelier.data.units import source_in_units
from likelier.engines import reached
from likelier.estimators import door
from likelier.estimators.callbacks import Attributes, Observable, steps
from likelier.estimators.checkpoints import Resumable
from likelier.estimators.precision import single as single
from likelier.estimators.publishing import Names
from likelier.estimators.weighing import class_totals, weighed, weights_by_class
from likelier.estimators.weighted import Weighted
from likelier.estimators.weights import Weights
from likelier.losses import Loss
from likelier.objective import Objective, shift_of, units_of
from likelier.penalties import Penalty, shares
from likelier.solvers import Iterate, Solution, Watch
from likelier.solving import Terms, solve
from likelier.states import Setting

Floats = NDArray[np.float64]
Fitted = Callable[[Iterate], Attributes | None]


class Discriminative(Resumable, Observable, Weighted):
    """Model = loss + penalty + solver. A subclass says which loss, and what C and its like mean."""

    C: float
    tol: float
    fit_intercept: bool
    class_weight: Any
    random_state: Any
    max_iter: int
    verbose: int
    solver: str

    @abstractmethod
    def _loss(self, K: int) -> Loss:
        """The loss that tells K classes apart."""

    def _allowance(self) -> float:
        """C, checked: what losses weigh against the penalty; infinite, there is none."""
        return door.allowance("C", self.C)

    def _ratio(self) -> float:
        """How much of the penalty is l1."""
        return 0.0

    def _column_penalties(self, source: Source) -> Floats | None:
        """How much of the penalty each column bears; None: all alike."""
        return None

    # ---- fitting -----------------------------------------------------------------------------------
    def _rows(self, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> tuple[Source, NDArray[Any]]:
        """The rows with coded labels and all weights, and the classes."""
        source = door.training(self, X, y, sample_weight)
        found = self._target_of(source)
        if len(found) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data, but the data "
                f"contains only one class: {found[0]}"
            )
        if offset is not None:
            source = with_offset(source, offset, found)
        return precoded(source, found), found

    def _objective(self, source: Source, target: NDArray[Any]) -> Objective:
        """Mean loss and penalty, as the hyper-parameters say, which are checked here."""
        totals = class_totals(source, len(target))
        factor = weights_by_class(self.class_weight, target, totals)
        return self._posed(*weighed(source, totals, factor), len(target))

    def _posed(
        self, source: Source, totals: Floats, K: int, positive: int = 1, *, all_rows: bool = True
    ) -> Objective:
        """Of rows in their final weights, `totals` by class; of two classes one has the code `positive`.

        all_rows: none will follow, so that columns may have units by their sizes.
        """
        C, ratio = self._allowance(), self._ratio()
        n, p = float(totals.sum()), source.p
        door.weighty(n)
        loss = self._loss(K)
        q = loss.scores(K)
        intercept = door.truth("fit_intercept", self.fit_intercept)
        penalty = Penalty.of(q, p, *shares(C, n, ratio), self._column_penalties(source))
        units = units_of(source, penalty.l2[:p]) if all_rows else None
        source = source if units is None else source_in_units(source, units)
        unit = None if units is None else np.exp2(units)
        shift = shift_of(source) if intercept else np.zeros(p)
        setting = Setting(loss, q, shift, positive, unit)
        return Objective(source, setting, penalty.scaled(unit), n, intercept, totals)

    def _terms(self) -> Terms:
        """When to stop, checked."""
        tol = door.number("tol", self.tol, 0.0)
        most = int(door.number("max_iter", self.max_iter, 0, whole=True))
        return Terms(tol, most, seed_of(self.random_state))

    def _solve(
        self, objective: Objective, start: Weights | None, fitted: Fitted = lambda iterate: None
    ) -> Solution:
        """fitted: the attributes of the estimator at an iterate, for callbacks."""
        terms, choice = self._terms()._replace(fresh=start is None), chosen(self.solver, objective)
        theta = np.zeros(objective.size) if start is None else begun(start, objective)
        with steps(self, f"{choice.name}-iter") as step, watching(self.verbose, terms.max_iter) as watch:

            def told(number: int, iterate: Iterate) -> None:
                watch(number, iterate)
                if step is not None:
                    step(fitted(iterate))

            return solve(objective, theta, choice, terms, watch if step is None else told)

    def _at(self, objective: Objective, target: NDArray[Any], names: Names, *, single: bool) -> Fitted:
        """The attributes of the estimator at an iterate."""

        def fitted(iterate: Iterate) -> Attributes:
            here = Solution(iterate, np.empty((1, 3)), False, "the fit is under way")
            weights = Weights.of(here, objective.setting, single=single)
            return lambda: self._attributes(weights, None, target, names)

        return fitted

    def _start_from(self, target: NDArray[Any], p: int) -> Weights | None:
        """Where to begin: what `warm_start` finds, if it fits."""
        before: Weights | None = vars(self).get("_model") if getattr(self, "warm_start", False) else None
        if before is None or before.W.shape[1] != p or not np.array_equal(self._target, target):
            return None
        return before

    def _warn_of_end(self, solution: Solution) -> None:
        if not solution.converged:
            last = solution.last
            # Where no step leads on, more of them do not help.
            advice = "Penalise more (a smaller C), drop columns, or try another solver."
            if not last.stuck:
                advice = (
                    "Increase the number of iterations (max_iter), loosen tol, penalise more (a smaller "
                    "C), or try another solver."
                )
            warnings.warn(
                f"{type(self).__name__}: {solution.solver} failed to converge after {solution.iterations} "
                f"iteration(s): {solution.reason} (tol={self.tol:g}; objective {last.value:.6g}). {advice}",
                ConvergenceWarning,
                stacklevel=outside(),
            )


def seed_of(random_state: Any) -> int:
    """Of the order of rows, where a solver takes them one by one; None: always the same one."""
    return 0 if random_state is None else int(check_random_state(random_state).randint(2**31 - 1))


def begun(start: Weights, objective: Objective) -> Floats:
    """θ at weights found before, less an intercept that is no longer wanted: no step would move it."""
    theta = start.theta(objective.setting)
    if not objective.intercept:
        theta[objective.setting.p :: objective.width] = 0.0
    return theta


# ---- rows ----------------------------------------------------------------------------------------
def precoded(source: Source, found: NDArray[Any]) -> Source:
    """Labels as codes; of rows in memory once and for all passes."""
    if isinstance(source, Arrays):
        assert source.y is not None
        return replace(source, y=code(source.y, found), levels=None)
    return source.coded(found)


def with_offset(source: Source, offset: Any, found: NDArray[Any]) -> Source:
    """Rows with something known added to their scores."""
    if not isinstance(source, Arrays):
        raise ValueError("offset goes with rows in memory, and X is a source: load its rows first.")
    known = np.ascontiguousarray(offset, dtype=np.float64)
    n, K = len(source), len(found)
    if known.shape != (n,) and known.shape != (n, K):
        raise ValueError(
            f"offset has shape {known.shape}: it is ({n},), or ({n}, {K}) with a number for each class"
        )
    if not np.isfinite(known).all():
        raise ValueError("offset contains NaN or infinity.")
    if K == 2 and known.ndim == 2:
        known = np.ascontiguousarray(known[:, 1] - known[:, 0])
    if K > 2 and known.ndim == 1:
        raise ValueError(f"offset (n,) says nothing of {K} classes: give it as ({n}, {K})")
    return replace(source, offset=known)


@contextmanager
def watching(verbose: int, most: int) -> Iterator[Watch]:
    """Steps said to whoever observes the passes, and on a progress bar, if one is wanted."""
    if not verbose:
        yield lambda number, iterate: reached("objective", iterate.value)
        return
    with tqdm(total=most, unit="step") as bar:

        def watch(number: int, iterate: Iterate) -> None:
            reached("objective", iterate.value)
            bar.update(number - bar.n)
            bar.set_postfix(objective=f"{iterate.value:.6g}", gradient=f"{iterate.norm:.2g}")

        yield watch
