"""What is drawn as an evaluation: fitted classifiers with rows, and results, by name."""

from collections.abc import Mapping
from typing import Any

from sklearn.base import BaseEstimator, is_classifier

from likelier.comparison import Result
from likelier.estimators.evaluate import evaluate
from likelier.evaluation import LabelEvaluation

RETURNED = "what lk.evaluate, lk.progressive or lk.compare returned"


def by_name(found: Any) -> Mapping[str, Any]:
    """Several results as they were passed; one alone under the name of its model."""
    several = found if isinstance(found, Mapping) else {_name(found): found}
    if not several:
        raise ValueError("there is nothing to draw: pass at least one result")
    return {str(name): each for name, each in several.items()}


def _name(found: Any) -> str:
    if isinstance(found, Result | LabelEvaluation):
        return found.model
    return type(found).__name__ if isinstance(found, BaseEstimator) else "the model"


def evaluated(name: str, each: Any, X: Any, y: Any) -> Any:
    """The evaluation of a classifier on rows, or of a result; other objects as they are."""
    if isinstance(each, BaseEstimator) and is_classifier(each):
        if X is None:
            raise ValueError(f"{name} is a classifier, which is evaluated on rows; give X and y.")
        return evaluate(each, X, y)
    if X is not None or y is not None:
        raise ValueError(f"{name} has been evaluated: X and y are for fitted classifiers")
    if isinstance(each, Result):
        if each.skipped is not None:
            raise ValueError(f"{name} was skipped: {each.skipped}")
        return each.overall
    return each
