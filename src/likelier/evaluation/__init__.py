"""How well models predict rows that they were not fitted to."""

from likelier.evaluation.bounds import MistakeBound, Problem, mistake_bound
from likelier.evaluation.record import CrossValidation
from likelier.evaluation.scorecard import Card, LabelCard, Trial, ValueCard, predictions

__all__ = [
    "Card",
    "CrossValidation",
    "LabelCard",
    "MistakeBound",
    "Problem",
    "Trial",
    "ValueCard",
    "mistake_bound",
    "predictions",
]
