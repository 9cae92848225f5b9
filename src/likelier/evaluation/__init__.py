"""How well models predict rows that they were not fitted to."""

from likelier.evaluation.bounds import MistakeBound, Problem, mistake_bound
from likelier.evaluation.judged import Judged, LabelSums, Said, ValueSums
from likelier.evaluation.record import CrossValidation
from likelier.evaluation.report import Evaluation, LabelEvaluation, Roc, ValueEvaluation
from likelier.evaluation.scorecard import Card, LabelCard, Trial, ValueCard, predictions

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
