"""What a pass adds up: each state absorbs chunks and merges with its like."""

from likelier.states.base import Fold, State
from likelier.states.folds import Folds, Together, all_but_one
from likelier.states.higher import HigherMoments
from likelier.states.moments import Moments, Shape
from likelier.states.qr import Equations, Triangle
from likelier.states.survey import Levels, Survey

__all__ = [
    "Equations",
    "Fold",
    "Folds",
    "HigherMoments",
    "Levels",
    "Moments",
    "Shape",
    "State",
    "Survey",
    "Together",
    "Triangle",
    "all_but_one",
]
