"""Solvers that step at every row, over rows in memory."""

from likelier.online.dual import dual
from likelier.online.sgd import Descent, Pace, sgd

__all__ = ["Descent", "Pace", "dual", "sgd"]
