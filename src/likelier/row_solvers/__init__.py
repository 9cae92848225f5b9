"""Solvers that step at every row, and where others begin."""

from likelier.row_solvers.averaged import MANY, AveragedSGD, averaged, begun, enough_rows, epochs, polish
from likelier.row_solvers.dual import dual
from likelier.row_solvers.newton import (
    LinesResult,
    Margins,
    by_stored_cells,
    semismooth,
    takes_rows,
    truncated,
)
from likelier.row_solvers.sgd import Descent, LearningRate, sgd

__all__ = [
    "MANY",
    "AveragedSGD",
    "Descent",
    "LearningRate",
    "LinesResult",
    "Margins",
    "averaged",
    "begun",
    "by_stored_cells",
    "dual",
    "enough_rows",
    "epochs",
    "polish",
    "semismooth",
    "sgd",
    "takes_rows",
    "truncated",
]
