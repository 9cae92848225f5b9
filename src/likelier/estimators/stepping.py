"""Learning on: a stochastic step at each new row."""

import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from likelier.data import Source
from likelier.estimators import door
from likelier.estimators.discriminative import Discriminative, precoded, single, with_offset
from likelier.estimators.scoring import refuse_new
from likelier.estimators.weighing import class_totals, weighed, weights_by_class
from likelier.estimators.weights import Weights
from likelier.online import Descent
from likelier.solvers import Iterate, Solution

Floats = NDArray[np.float64]

WHY = "partial_fit takes a step at each row"


@dataclass
class Steps:
    """What further rows go on from: the weights, the weight of each class so far, the losses of batches."""

    descent: Descent
    totals: Floats  # (K,)
    losses: list[float]

    @property
    def solution(self) -> Solution:
        """Where the steps have led; the trace has a row for each batch: its mean loss before it."""
        trace = np.array([(loss, np.nan, 1.0) for loss in [np.nan, *self.losses]])
        last = Iterate(self.descent.mean.ravel(), self.losses[-1], np.nan)
        return Solution(last, trace, False, f"{self.descent.steps} steps so far", "sgd", WHY)


class Stepping(Discriminative):
    """`partial_fit` by stochastic gradient steps, and the mean of where they led."""

    _steps: Steps

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
            steps = self._stepped(rows, known)
        model = Weights.of(steps.solution, steps.descent.setting, single=single(source))
        names = getattr(self, "feature_names_in_", source.names)
        self._publish(model, None, known, names)
        self._steps = steps
        return self

    def _stepped(self, rows: Source, known: NDArray[Any]) -> Steps:
        """The steps so far, in a copy, and those of these rows."""
        K = len(known)
        before = vars(self).get("_steps")
        totals = class_totals(rows, K)
        door.weighty(totals)
        totals = totals + self._totals(K)
        with np.errstate(divide="ignore"):  # classes not seen so far
            factor = weights_by_class(self.class_weight, known, totals)
        rows, _ = weighed(rows, totals, factor)
        posed = self._posed(rows, totals if factor is None else np.where(totals > 0, totals * factor, 0), K)
        if before is None:
            setting, start = posed.setting, self._begin(posed)
            descent = Descent.start(setting, posed.penalty, start, intercept=posed.intercept)
            descent.steps = int(self._totals(K).sum())
        else:
            descent = copy.deepcopy(before.descent)
            descent.penalty = posed.penalty
        loss, n = 0.0, 0.0
        for chunk in (chunk for part in rows.parts(0) for chunk in part()):
            loss += descent.update(chunk)
            n += chunk.X.shape[0] if chunk.w is None else float(chunk.w.sum())
        return Steps(descent, totals, [*(before.losses if before else []), loss / n if n else np.nan])

    def _totals(self, K: int) -> Floats:
        """The weight of each class so far."""
        if "_steps" in vars(self):
            return self._steps.totals
        counted = vars(self).get("_statistics")
        return np.zeros(K) if counted is None else np.asarray(counted.n)

    def _begin(self, posed: Any) -> Floats:
        model: Weights | None = vars(self).get("_model")
        return np.zeros(posed.size) if model is None else model.theta(posed.setting)
