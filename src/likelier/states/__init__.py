"""What a pass adds up: each state absorbs chunks and merges with its like."""

from likelier.states.base import Fold, Folds, Parts, State, StateGroup, Statistics, all_but_one
from likelier.states.counts import BinCounts, Bins, Counts, edges_of
from likelier.states.least_squares import Equations, RowsOrTriangle, Triangle
from likelier.states.loss_sums import (
    ColumnPowers,
    Expansion,
    Gram,
    MaxRowSum,
    Product,
    ScalingSums,
    Setting,
    Squares,
    Values,
)
from likelier.states.missing import PatternMoments, ShrinkageMoments, TooManyPatterns
from likelier.states.moments import ColumnMoments, Deviations, HigherMoments, Moments, Shape
from likelier.states.rows import ReferenceScores, RowSample, StoredRows
from likelier.states.sums import RULES, PositiveMoments, Rule, Sums
from likelier.states.survey import Extent, LabelRows, LabelTotals, Levels, RowCount, Survey

__all__ = [
    "RULES",
    "BinCounts",
    "Bins",
    "ColumnMoments",
    "ColumnPowers",
    "Counts",
    "Deviations",
    "Equations",
    "Expansion",
    "Extent",
    "Fold",
    "Folds",
    "Gram",
    "HigherMoments",
    "LabelRows",
    "LabelTotals",
    "Levels",
    "MaxRowSum",
    "Moments",
    "Parts",
    "PatternMoments",
    "PositiveMoments",
    "Product",
    "ReferenceScores",
    "RowCount",
    "RowSample",
    "RowsOrTriangle",
    "Rule",
    "ScalingSums",
    "Setting",
    "Shape",
    "ShrinkageMoments",
    "Squares",
    "State",
    "StateGroup",
    "Statistics",
    "StoredRows",
    "Sums",
    "Survey",
    "TooManyPatterns",
    "Triangle",
    "Values",
    "all_but_one",
    "edges_of",
]
