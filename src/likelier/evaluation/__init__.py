"""How well models predict rows that they were not fitted to."""

from likelier.evaluation.metrics import (
    Card,
    Judged,
    LabelCard,
    LabelSums,
    Said,
    Trial,
    ValueCard,
    ValueSums,
    predictions,
)
from likelier.evaluation.mistake_bounds import MistakeBound, Problem, mistake_bound
from likelier.evaluation.report import CrossValidation, Evaluation, LabelEvaluation, Roc, ValueEvaluation

__all__ = [
    "Card",
    "CrossValidation",
    "Evaluation",
    "Judged",
    "LabelCard",
    "LabelEvaluation",
    "LabelSums",
    "MistakeBound",
    "Problem",
    "Roc",
    "Said",
    "Trial",
    "ValueCard",
    "ValueEvaluation",
    "ValueSums",
    "mistake_bound",
    "predictions",
]
