"""scikit-learn's scorers, for models that know more classes than the rows they are tried on."""

from collections.abc import Callable
from inspect import signature
from typing import Any

from numpy.typing import NDArray

Scorer = Callable[..., float]


def scorer_of(scoring: Any, classes: NDArray[Any] | None = None) -> Scorer:
    """The scorer of a name, or one that is at hand; None: accuracy. It is told all classes."""
    from sklearn.metrics import get_scorer, make_scorer  # slow to load

    if scoring is not None and not isinstance(scoring, str) and not callable(scoring):
        raise ValueError(f"scoring={scoring!r}: it is None, the name of a scorer, or scorer(model, X, y)")
    scorer: Any = get_scorer("accuracy" if scoring is None else scoring)
    score = getattr(scorer, "_score_func", None)
    asks = {} if score is None else signature(score).parameters
    if classes is None or "labels" not in asks:
        return scorer  # type: ignore[no-any-return]
    told: dict[str, Any] = {"labels": classes}
    if len(classes) == 2 and "pos_label" in asks:
        told["pos_label"] = classes[-1]
    return make_scorer(  # type: ignore[no-any-return]
        score,
        response_method=scorer._response_method,
        greater_is_better=scorer._sign == 1,
        **{**told, **scorer._kwargs},
    )
