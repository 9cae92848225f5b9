"""How steps are taken, as the settings say that all who take them have in common."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from likelier.estimators import door
from likelier.online.stochastic import Course

PENALTIES = ("l2", "l1", "elasticnet", None)


def course_of(estimator: Any, **own: Any) -> Course:
    """Its settings, checked, and what it has of its own."""
    alpha = door.number("alpha", estimator.alpha, 0)
    l2, l1 = shares(estimator.penalty, estimator.l1_ratio)
    return Course(
        eta0=door.number("eta0", estimator.eta0, np.finfo(np.float64).tiny),
        alpha=alpha,
        strength=alpha,
        l2=l2,
        l1=l1,
        intercept=door.truth("fit_intercept", estimator.fit_intercept),
        shuffle=door.truth("shuffle", estimator.shuffle),
        tol=None if estimator.tol is None else door.number("tol", estimator.tol, 0),
        patience=int(door.number("n_iter_no_change", estimator.n_iter_no_change, 1, whole=True)),
        **own,
    )


def one_of(name: str, value: Any, words: Sequence[str | None]) -> None:
    """A hyper-parameter that is one of some words."""
    if not any(value is word or (isinstance(value, str) and value == word) for word in words):
        raise ValueError(f"{name}={value!r}: it is one of {', '.join(map(str, words))}")


def shares(penalty: str | None, l1_ratio: float | None) -> tuple[float, float]:
    """Of l2 and l1 in the penalty α ((1 - r) ‖w‖²/2 + r ‖w‖₁)."""
    one_of("penalty", penalty, PENALTIES)
    if penalty is None:
        return 0.0, 0.0
    if penalty == "elasticnet" and l1_ratio is None:
        raise ValueError("l1_ratio must be set when penalty is 'elasticnet'")
    ratio = 0.0 if l1_ratio is None else door.number("l1_ratio", l1_ratio, 0, 1)
    ratio = {"l2": 0.0, "l1": 1.0}.get(penalty, ratio)
    return 1 - ratio, ratio
