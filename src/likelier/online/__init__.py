"""Solvers that step at every row, and where others begin."""

from likelier.online.averaged import Averaged, averaged, epochs, polish
from likelier.online.dual import dual
from likelier.online.semismooth import Lines, Margins, semismooth
from likelier.online.sgd import Descent, Pace, sgd
from likelier.online.starting import MANY, begun, enough_rows

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
]
