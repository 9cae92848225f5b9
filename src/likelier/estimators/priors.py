"""Class priors of rows without labels, and weights of classes."""

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from likelier.array_types import Floats, row_weights
from likelier.data import Arrays, Chunk, DegenerateWarning, Source
from likelier.data.transforms import ByClass, times
from likelier.engines import run
from likelier.families.em_acceleration import AndersonMixing
from likelier.links import identity, log_sum_exp, softmax
from likelier.model import Bayes, Query, log_of
from likelier.warning_location import outside


@dataclass
class PosteriorSums:
    """Of rows, under some priors: weight, Σ p(C_k | x) (K,), and Σ ln p(x), as far as priors decide it."""

    weight: float = 0.0
    belonging: Floats | float = 0.0
    log_likelihood: float = 0.0
    skipped: Counter[int] = field(default_factory=Counter)

    def absorb(self, Z: Floats, weights: Floats | None) -> None:
        """Rows by their scores (n, K), which are used up."""
        w = row_weights(weights, len(Z))
        log_p = log_sum_exp.start(len(Z), 0)
        log_sum_exp.apply(Z, log_p)
        softmax.apply(Z, Z)
        counts = (w > 0) & (log_p > -np.inf)  # what no class can have says nothing
        self.weight += float(w[counts].sum())
        self.belonging = self.belonging + w[counts] @ Z[counts]
        self.log_likelihood += float(w[counts] @ log_p[counts])


@dataclass
class PosteriorState(PosteriorSums):
    """The same, of the rows of a source: a state."""

    question: Query = field(kw_only=True)

    @property
    def nbytes(self) -> int:
        return 8 * self.question.scores.K

    def update(self, chunk: Chunk) -> None:
        Z = self.question.start(chunk.X.shape[0])
        self.skipped.update(self.question.answer(chunk, Z))
        self.absorb(Z, chunk.w)

    def merge(self, other: Self) -> None:
        self.weight += other.weight
        self.belonging = self.belonging + other.belonging
        self.log_likelihood += other.log_likelihood
        self.skipped.update(other.skipped)


class AdaptedPriors(NamedTuple):
    """Priors (K,), on the way to which each pass found that likelihood per row."""

    prior: Floats
    trace: list[float]
    skipped: Counter[int]
    converged: bool


def warn_of_priors(estimator: Any, found: AdaptedPriors, tol: float, most: int) -> None:
    """Say that priors are not the likeliest yet."""
    if not found.converged:
        warnings.warn(
            f"{type(estimator).__name__}: the priors are not within tol={tol:g} of the likeliest after "
            f"{most} steps: the rows hardly distinguish the classes; or raise max_iter.",
            DegenerateWarning,
            stacklevel=outside(),
        )


def adapted(model: Bayes, rows: Source, tol: float, most: int) -> AdaptedPriors:
    """The priors under which the rows of a source are likeliest."""

    def look(prior: Floats) -> PosteriorSums:
        scores = model.with_priors(log_of(prior))
        question = Query(scores, identity, model.params.support, impossible=True)
        return run(rows, partial(PosteriorState, question=question))

    return likeliest(look, np.asarray(model.prior / model.prior.sum()), tol, most)


def adapted_to(
    logs: Floats, before: Floats, weights: Floats | None, tol: float, most: int
) -> AdaptedPriors:
    """The priors under which rows are likeliest, from ln p(C_k | x) (n, K) under the priors `before`."""
    L = logs - log_of(before)

    def look(prior: Floats) -> PosteriorSums:
        seen = PosteriorSums()
        seen.absorb(L + log_of(prior), weights)
        return seen

    return likeliest(look, before, tol, most)


def likeliest(
    look: Callable[[Floats], PosteriorSums], prior: Floats, tol: float, most: int
) -> AdaptedPriors:
    """The priors under which the rows are likeliest: π_k <- mean p(C_k | x; π).

    (Saerens, Latinne & Decaestecker 2002.) The likelihood is concave in π, and with g_k the mean of
    p(x | C_k) / p(x) no priors are likelier by more than max_k g_k - 1 a row: the way ends when that is
    below tol. Steps are mixed (Anderson 1965); where a mixture is less likely or none, by itself.
    """
    at = sure = prior
    mixing, best, trace = AndersonMixing(), -np.inf, list[float]()
    found = None
    for _ in range(most):
        found = look(at)
        if found.weight == 0:
            raise ValueError(
                "adapt_priors: every row has density 0 in every class, so that the priors cannot "
                "be adapted."
            )
        likelihood = found.log_likelihood / found.weight
        if likelihood < best - 1e-12 * (1 + abs(best)):
            mixing, at, best = AndersonMixing(), sure, -np.inf
            continue
        new = np.asarray(found.belonging / found.weight)
        new /= new.sum()
        best, sure = likelihood, new
        trace.append(likelihood)
        gain = np.divide(new, at, out=np.zeros_like(at), where=at > 0)
        if gain.max() - 1 <= tol:
            return AdaptedPriors(new, trace, found.skipped, True)
        at = mixing.next(at, new)
        if not (at[new > 0] > 0).all():
            at = new
    return AdaptedPriors(sure, trace, found.skipped if found is not None else Counter(), False)


# Weights by class.


def weights_by_class(class_weight: Any, classes: NDArray[Any], n: Floats) -> Floats | None:
    """scikit-learn's `class_weight`: None, a number for each label (1 if not named), or "balanced"."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(
                f"class_weight must be None, 'balanced' or a dict {{label: weight}}; got {class_weight!r}."
            )
        seen = n > 0  # `partial_fit` may know of classes that have not come yet
        return np.where(seen, n.sum() / (len(n) * np.where(seen, n, 1.0)), 0.0)
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight must be None, 'balanced' or a dict {{label: weight}}; got {class_weight!r}."
        )
    known = classes.tolist()
    unknown = [label for label in class_weight if label not in known]
    missed = [label for label in known if label not in class_weight]
    if unknown and missed:  # a label misspelt, most likely
        raise ValueError(
            f"The classes, {missed}, are not in class_weight, which has {unknown} that y does not have"
        )
    found = np.array([class_weight.get(label, 1.0) for label in known], dtype=np.float64)
    if not (np.isfinite(found) & (found >= 0)).all():
        raise ValueError(f"class_weight must have finite weights >= 0; got {class_weight!r}.")
    return found


def weighted(source: Source, totals: Floats, factor: Floats | None) -> tuple[Source, Floats]:
    """Rows and class weights, times a number by class; of rows in memory once and for all passes."""
    if factor is None:
        return source, totals
    if isinstance(source, Arrays):
        return replace(source, w=times(factor, source.y, source.w)), totals * factor
    return ByClass(source, factor), totals * factor
