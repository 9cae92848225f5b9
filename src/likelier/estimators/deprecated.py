"""Parameters that scikit-learn 1.9 still accepts with a warning: translated here, and nowhere else."""

import warnings
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from likelier.estimators import validation
from likelier.warning_location import outside

NOT_GIVEN = "deprecated"  # the default of a parameter that scikit-learn is about to remove
CHANGING = "warn"  # the default of a parameter whose default is about to change
PENALTIES = ("elasticnet", "l1", "l2")
ANNOUNCED = {"l1_ratios": (0.0,), "scoring": "neg_log_loss", "use_legacy_attributes": False}


def settled(model: Any) -> Any:
    """The same estimator, with announced defaults in the place of those that bring a warning."""
    held = model.get_params(deep=False)
    return model.set_params(**{name: to for name, to in ANNOUNCED.items() if _is(held.get(name), CHANGING)})


class Strength(NamedTuple):
    """The penalty in the terms that remain."""

    C: float
    l1_ratio: float


def strength_of(model: Any) -> Strength:
    """C and l1_ratio of a logistic regression, which may still say `penalty`."""
    penalty = _penalty_of(model)
    if penalty is None:
        return Strength(np.inf, 0.0)
    C = validation.allowance("C", model.C)
    if penalty in ("l1", "l2"):
        return Strength(C, float(penalty == "l1"))
    if penalty == "elasticnet" and model.l1_ratio is None:
        raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
    return Strength(
        C, 0.0 if model.l1_ratio is None else validation.number("l1_ratio", model.l1_ratio, 0.0, 1.0)
    )


def ratios_of(model: Any) -> Any:
    """The l1 ratios that a cross-validated logistic regression tries; None: one, and no axis for it."""
    given = None if _is(model.l1_ratios, CHANGING) else model.l1_ratios
    penalty = _penalty_of(model)
    if penalty is None:
        raise ValueError(
            f"The 'penalty' parameter of {type(model).__name__} must be a str among {_words(PENALTIES)}. "
            "Got None instead: for no penalty use Cs=(np.inf,)."
        )
    if penalty == "elasticnet" and (given is None or len(given) == 0):
        raise ValueError(
            f"l1_ratios must be an array-like of numbers between 0 and 1; got (l1_ratios={given!r})"
        )
    if penalty in ("l1", "l2") and given is not None:  # all ratios are then the one that it says
        return [float(penalty == "l1")] * len(given)
    return given


def only_ratio(model: Any) -> float:
    """The l1 ratio of trials that have no axis for it."""
    return float(_penalty_of(model) == "l1")


def scoring_of(model: Any) -> Any:
    """By what a cross-validated logistic regression chooses; None: the accuracy."""
    return None if _is(model.scoring, CHANGING) else model.scoring


def legacy_of(model: Any) -> bool:
    """Whether its attributes have the shapes of scikit-learn 1.9."""
    if _is(model.use_legacy_attributes, CHANGING):
        return True
    return validation.boolean("use_legacy_attributes", model.use_legacy_attributes)


def _penalty_of(model: Any) -> str | None:
    penalty: str | None = model.penalty
    if not (penalty is None or penalty == NOT_GIVEN or penalty in PENALTIES):
        raise ValueError(
            f"The 'penalty' parameter of {type(model).__name__} must be a str among "
            f"{_words(PENALTIES)} or None. Got {penalty!r} instead."
        )
    return penalty


def _words(words: Iterable[str]) -> str:
    return "{" + ", ".join(map(repr, words)) + "}"


def _is(value: Any, word: str) -> bool:
    return isinstance(value, str) and value == word


# ---- warnings, in scikit-learn's words -----------------------------------------------------------
class Remark(NamedTuple):
    """A warning to give."""

    kind: type[Warning]
    message: str


soon, now = partial(Remark, FutureWarning), partial(Remark, UserWarning)


def warn(remarks: Iterable[Remark]) -> None:
    """Give all these warnings, at the line that called the library."""
    for kind, message in remarks:
        warnings.warn(message, kind, stacklevel=outside())


def of_logistic(model: Any) -> Iterator[Remark]:
    """What a LogisticRegression was given that will not be taken much longer, or is not used."""
    if model.penalty == NOT_GIVEN:
        if model.l1_ratio is None:
            yield soon(
                "'l1_ratio=None' was deprecated in version 1.8 and will trigger an error in 1.10. Use "
                "0<=l1_ratio<=1 instead."
            )
    else:
        yield soon(
            "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this warning, "
            "leave 'penalty' set to its default value and use 'l1_ratio' or 'C' instead. Use l1_ratio=0 "
            "instead of penalty='l2', l1_ratio=1 instead of penalty='l1', l1_ratio set to a float between "
            "0 and 1 instead of penalty='elasticnet', and C=np.inf instead of penalty=None."
        )
        yield from _of_pair(model)
    if model.n_jobs is not None:
        yield soon(
            "'n_jobs' has no effect since 1.8 and will be removed in 1.10. You provided "
            f"'n_jobs={model.n_jobs}', please leave it unspecified."
        )


def _of_pair(model: Any) -> Iterator[Remark]:
    """Of a penalty and numbers that say something else."""
    penalty, ratio = model.penalty, model.l1_ratio
    if penalty != "elasticnet" and ratio is not None and 0 < ratio < 1:
        yield now(f"l1_ratio parameter is only used when penalty is 'elasticnet'. Got (penalty={penalty})")
    if (penalty == "l2" and ratio != 0) or (penalty == "l1" and ratio != 1):
        yield now(
            f"Inconsistent values: penalty={penalty} with l1_ratio={ratio}. penalty is deprecated. Please "
            "use l1_ratio only."
        )
    if penalty is None and model.C != 1.0:
        yield now("Setting penalty=None will ignore the C and l1_ratio parameters")


def of_sgd(model: Any) -> Iterator[Remark]:
    """The same of an SGDClassifier."""
    if isinstance(model.power_t, float | int) and model.power_t < 0:
        yield soon(
            "Negative values for `power_t` are deprecated in version 1.8 and will raise an error in 1.10. "
            "Use values in the range [0.0, inf) instead."
        )


def of_logistic_cv(model: Any) -> Iterator[Remark]:
    """The same of a LogisticRegressionCV, some of whose defaults are about to change."""
    ratios = model.l1_ratios
    if _is(ratios, CHANGING):
        yield soon(
            "The default value for l1_ratios will change from None to (0.0,) in version 1.10. From version "
            "1.10 onwards, only array-like with values in [0, 1] will be allowed, None will be forbidden. "
            "To avoid this warning, explicitly set a value, e.g. l1_ratios=(0,)."
        )
    if model.penalty != NOT_GIVEN:
        yield soon(
            "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this warning, "
            "leave 'penalty' set to its default value and use 'l1_ratios' and 'Cs' instead. Use "
            "l1_ratios=(0,) instead of penalty='l2', l1_ratios=(1,) instead of penalty='l1', l1_ratios set "
            "to floats between 0 and 1 instead of penalty='elasticnet', and Cs=(np.inf,) instead of "
            "penalty=None."
        )
        if model.penalty != "elasticnet" and not (ratios is None or _is(ratios, CHANGING)):
            yield now(
                "l1_ratios parameter is only used when penalty is 'elasticnet'. Got "
                f"(penalty={model.penalty})"
            )
    elif ratios is None:
        yield soon(
            "'l1_ratios=None' was deprecated in version 1.8 and will trigger an error in 1.10. Use an "
            "array-like with values in [0, 1] instead."
        )
    if _is(model.scoring, CHANGING):
        yield soon(
            "The default value of the parameter 'scoring' will change from None, i.e. accuracy, to "
            "'neg_log_loss' in version 1.11. To silence this warning, explicitly set the scoring "
            "parameter: scoring='neg_log_loss' for the new, scoring='accuracy' or scoring=None for the old "
            "default."
        )
    if _is(model.use_legacy_attributes, CHANGING):
        name = type(model).__name__
        yield soon(
            f"The fitted attributes of {name} will be simplified in scikit-learn 1.10 to remove "
            "redundancy. Set `use_legacy_attributes=False` to enable the new behavior now, or set it to "
            "`True` to silence this warning during the transition period while keeping the deprecated "
            "behavior for the time being. The default value of use_legacy_attributes will change from True "
            f"to False in scikit-learn 1.10. See the docstring of {name} for more details."
        )
