"""What a pass adds up: each state absorbs chunks and merges with its like."""

from likelier.states.base import Fold, State
from likelier.states.bins import Bins, edges_of
from likelier.states.columns import ColumnMoments
from likelier.states.counts import BinCounts, Counts
from likelier.states.deviations import Deviations
from likelier.states.expansion import Expansion, Gram, Peaks, Product, Setting, Squares, Values
from likelier.states.extent import Extent
from likelier.states.folds import Folds, Together, all_but_one
from likelier.states.gathered import Gathered
from likelier.states.halves import Halves, Reach
from likelier.states.higher import HigherMoments
from likelier.states.kept import Kept
from likelier.states.moments import Moments, Shape
from likelier.states.parts import Parts
from likelier.states.patterns import PatternMoments, TooManyPatterns
from likelier.states.positive import PositiveMoments
from likelier.states.qr import Equations, Triangle
from likelier.states.sample import Sample
from likelier.states.shrinkage import ShrinkageMoments
from likelier.states.sums import RULES, Rule, Sums
from likelier.states.survey import Levels, RowCount, Survey
from likelier.states.typical import Typical

__all__ = [
    "RULES",
    "BinCounts",
    "Bins",
    "ColumnMoments",
    "Counts",
    "Deviations",
    "Equations",
    "Expansion",
    "Extent",
    "Fold",
    "Folds",
    "Gathered",
    "Gram",
    "Halves",
    "HigherMoments",
    "Kept",
    "Levels",
    "Moments",
    "Parts",
    "PatternMoments",
    "Peaks",
    "PositiveMoments",
    "Product",
    "Reach",
    "RowCount",
    "Rule",
    "Sample",
    "Setting",
    "Shape",
    "ShrinkageMoments",
    "Squares",
    "State",
    "Sums",
    "Survey",
    "Together",
    "TooManyPatterns",
    "Triangle",
    "Typical",
    "Values",
    "all_but_one",
    "edges_of",
]
