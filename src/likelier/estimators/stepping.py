"""Learning on: a stochastic step at each new row."""

import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import Source
from likelier.engines import chunks
from likelier.estimators import door
from likelier.estimators.discriminative import Discriminative, begun, precoded, single, with_offset
from likelier.estimators.scoring import refuse_new
from likelier.estimators.weighing import class_totals, weighed, weights_by_class
from likelier.estimators.weights import Weights
from likelier.objective import Objective
from likelier.online import Descent
from likelier.solvers import Iterate, Solution
from likelier.states import Setting, Values

Floats = NDArray[np.float64]

WHY = "partial_fit takes a step at each row"
HELD = ("theta", "mean", "squares", "cells", "steps")  # of a descent, from batch to batch
SETTLED = 10_000_000  # steps that a fit counts for at most: its weight may be any number


@dataclass(frozen=True)
class Steps:
    """What further rows go on from: weights, the sizes of columns, the losses of batches."""

    theta: Floats  # (q, p + 1)
    mean: Floats  # (q, p + 1)
    squares: Floats  # (p,)
    cells: Floats  # (p,)
    steps: int
    intercept: bool
    n: Floats  # (K,), the weight of each class so far
    losses: Floats  # (batches,)

    @property
    def solution(self) -> Solution:
        """Where the steps have led; the trace has a row for each batch: its mean loss before it."""
        trace = np.array([(loss, np.nan, 1.0) for loss in [np.nan, *self.losses]])
        last = Iterate(self.mean.ravel(), float(self.losses[-1]), np.nan)
        return Solution(last, trace, False, f"{self.steps} steps so far", "sgd", WHY)


class Stepping(Discriminative):
    """`partial_fit` by stochastic gradient steps, and the mean of where they led."""

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None, offset: Any = None
    ) -> Self:
        """Learn from more rows, a step at each, in their order; after `fit`, from its weights on.

        `classes`, all labels that can ever come, are needed at the first call. One pass of steps comes near
        what `fit` finds for all rows so far, and is not equal to it. class_weight="balanced" goes by the
        classes seen so far. `trace_` has each batch's mean loss from before it was learned.
        """
        known = self._known_classes(classes)
        if len(known) < 2:
            raise ValueError(f"{type(self).__name__} needs at least 2 classes; got {known.tolist()}")
        source = door.training(self, X, y, sample_weight, known="_model" in vars(self))
        refuse_new(source, known)
        rows = precoded(source if offset is None else with_offset(source, offset, known), known)
        with door.naming(source):
            steps, setting = self._stepped(rows, known)
        model = Weights.of(steps.solution, setting, single=single(source))
        names = getattr(self, "feature_names_in_", source.names)
        return self._publish(model, steps, known, names)

    def _stepped(self, rows: Source, known: NDArray[Any]) -> tuple[Steps, Setting]:
        """The steps so far and those of these rows, and about which shift they are."""
        K = len(known)
        totals = class_totals(rows, K)
        door.weighty(totals)
        totals = totals + self._totals(K)
        factor = weights_by_class(self.class_weight, known, totals)
        posed = self._posed(*weighed(rows, totals, factor), K, all_rows=False)
        rows = posed.source
        descent, losses = self._descent(posed, K)
        loss, n = 0.0, 0.0
        for chunk in chunks(rows):
            # Of the weights that are shown: those that move are restless, and their losses higher.
            seen = Values.start(descent.setting, descent.mean[None])
            seen.update(chunk)
            loss += float(seen.f[0])
            descent.update(chunk)
            n += chunk.X.shape[0] if chunk.w is None else float(chunk.w.sum())
        if not (np.isfinite(descent.theta).all() and np.isfinite(descent.mean).all()):
            raise ValueError("steps at these rows lead to no numbers: X has cells too large. Rescale it.")
        held = {name: getattr(descent, name) for name in HELD}
        losses = np.append(losses, loss / n if n else np.nan)
        return Steps(**held, intercept=posed.intercept, n=totals, losses=losses), descent.setting

    def _descent(self, posed: Objective, K: int) -> tuple[Descent, Floats]:
        """To go on with, and the losses so far."""
        before = vars(self).get("_statistics")
        if isinstance(before, Steps) and before.intercept == posed.intercept:
            setting = replace(posed.setting, shift=self._model.shift)
            descent = Descent(
                setting, posed.penalty, **{name: copy.copy(getattr(before, name)) for name in HELD}
            )
            descent.intercept = posed.intercept
            return descent, before.losses
        model: Weights | None = vars(self).get("_model")
        start = np.zeros(posed.size) if model is None else begun(model, posed)
        descent = Descent.start(posed.setting, posed.penalty, start, intercept=posed.intercept)
        descent.steps = int(min(self._totals(K).sum(), SETTLED))
        return descent, np.empty(0)

    def _totals(self, K: int) -> Floats:
        """The weight of each class so far."""
        counted = vars(self).get("_statistics")
        return np.zeros(K) if counted is None else np.asarray(counted.n)
