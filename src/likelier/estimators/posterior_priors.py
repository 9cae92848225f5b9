"""The class priors of rows without labels, by classifiers that know posteriors alone."""

from collections.abc import Callable
from typing import Any

import numpy as np

from likelier.array_types import Floats
from likelier.estimators import validation
from likelier.estimators.common import weights_by_class
from likelier.estimators.priors import adapted_to, warn_of_priors


def priors_for(
    estimator: Any,
    log_posteriors: Callable[[], Floats],
    shares: Callable[[], Floats],
    sample_weight: Any,
    tol: float,
    max_iter: int,
) -> Floats:
    """`adapt_priors` of a classifier that knows posteriors alone, (n, K), and the shares of its classes."""
    validation.number("tol", tol, 0.0)
    most = int(validation.number("max_iter", max_iter, 1, whole=True))
    logs = log_posteriors()
    w = validation.weights_of(sample_weight, len(logs))
    if w is not None:
        validation.weighty(w)
    found = adapted_to(logs, shares(), w, tol, most)
    warn_of_priors(estimator, found, tol, most)
    return found.prior


def learned_shares(estimator: Any, n: Floats | None) -> Floats:
    """(K,) of the classes, by weight, class_weight included, among the rows that were learned from.

    n: the weight of each class's rows; None: it is not known.
    """
    if n is None:
        raise ValueError(
            f"Other priors are relative to the class frequencies of the training rows, which this "
            f"{type(estimator).__name__} does not keep: fit it anew, or save it with its statistics."
        )
    factor = weights_by_class(getattr(estimator, "class_weight", None), estimator.classes_, n)
    shares = n if factor is None else n * factor
    return np.asarray(shares / shares.sum())
