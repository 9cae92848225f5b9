"""Solvers that step at every row, and where others begin."""

from likelier.row_solvers.averaged import MANY, Averaged, averaged, begun, enough_rows, epochs, polish
from likelier.row_solvers.dual import dual
from likelier.row_solvers.semismooth import Lines, Margins, semismooth
from likelier.row_solvers.sgd import Descent, Pace, sgd
from likelier.row_solvers.truncated import takes_rows, truncated

__all__ = [
    "MANY",
    "Averaged",
    "Descent",
    "Lines",
    "Margins",
    "Pace",
    "averaged",
    "begun",
    "dual",
    "enough_rows",
    "epochs",
    "polish",
    "semismooth",
    "sgd",
    "takes_rows",
    "truncated",
]
