"""How well models predict rows that they were not fitted to."""

from likelier.evaluation.metrics import (
    ClassPredictions,
    EvaluationState,
    FoldMetrics,
    LabelFoldMetrics,
    LabelSums,
    Trial,
    ValueFoldMetrics,
    ValueSums,
    predictions,
)
from likelier.evaluation.mistake_bounds import BinaryProblem, MistakeBound, mistake_bound
from likelier.evaluation.report import CrossValidation, Evaluation, LabelEvaluation, Roc, ValueEvaluation

__all__ = [
    "BinaryProblem",
    "ClassPredictions",
    "CrossValidation",
    "Evaluation",
    "EvaluationState",
    "FoldMetrics",
    "LabelEvaluation",
    "LabelFoldMetrics",
    "LabelSums",
    "MistakeBound",
    "Roc",
    "Trial",
    "ValueEvaluation",
    "ValueFoldMetrics",
    "ValueSums",
    "mistake_bound",
    "predictions",
]
