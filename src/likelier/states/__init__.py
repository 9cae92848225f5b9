"""What a pass adds up: each state absorbs chunks and merges with its like."""

from likelier.states.base import Fold, Folds, Parts, State, Statistics, Together, all_but_one
from likelier.states.counts import BinCounts, Bins, Counts, edges_of
from likelier.states.loss_sums import (
    Expansion,
    Gram,
    Halves,
    Peaks,
    Product,
    Reach,
    Setting,
    Squares,
    Values,
)
from likelier.states.missing import PatternMoments, ShrinkageMoments, TooManyPatterns
from likelier.states.moments import ColumnMoments, Deviations, HigherMoments, Moments, Shape
from likelier.states.qr import Equations, Triangle
from likelier.states.regression_rows import Gathered
from likelier.states.rows import Kept, Sample, Typical
from likelier.states.sums import RULES, PositiveMoments, Rule, Sums
from likelier.states.survey import Extent, LabelRows, LabelTotals, Levels, RowCount, Survey

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
    "LabelRows",
    "LabelTotals",
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
    "Statistics",
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
