"""What a pass adds up: each state absorbs chunks and merges with its like."""

from likelier.states.base import Fold, State
from likelier.states.columns import ColumnMoments
from likelier.states.folds import Folds, Together, all_but_one
from likelier.states.higher import HigherMoments
from likelier.states.kept import Kept
from likelier.states.moments import Moments, Shape
from likelier.states.parts import Parts
from likelier.states.patterns import PatternMoments, TooManyPatterns
from likelier.states.qr import Equations, Triangle
from likelier.states.sample import Sample
from likelier.states.shrinkage import ShrinkageMoments
from likelier.states.survey import Levels, Survey

__all__ = [
    "ColumnMoments",
    "Equations",
    "Fold",
    "Folds",
    "HigherMoments",
    "Kept",
    "Levels",
    "Moments",
    "Parts",
    "PatternMoments",
    "Sample",
    "Shape",
    "ShrinkageMoments",
    "State",
    "Survey",
    "Together",
    "TooManyPatterns",
    "Triangle",
    "all_but_one",
]
