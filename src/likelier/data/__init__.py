"""Where rows come from: chunks, the sources that cut them, labels as codes."""

from likelier.data.arrays import PART_BYTES, Arrays
from likelier.data.chunk import Chunk, Part, Source, Stored, Widening, by_gaps, columns_of
from likelier.data.factors import Factor
from likelier.data.folds import Assignment, Hashed, Listed, consecutive, runs, stratified
from likelier.data.labels import code, first_seen, levels_of
from likelier.data.matrix import CSR, Block, Columns, Dense, block, row_sums
from likelier.data.problems import (
    BadCell,
    DegenerateWarning,
    NonFinite,
    OutOfSupport,
    SeparationWarning,
    SkippedWarning,
    refuse_cells,
)

__all__ = [
    "CSR",
    "PART_BYTES",
    "Arrays",
    "Assignment",
    "BadCell",
    "Block",
    "Chunk",
    "Columns",
    "DegenerateWarning",
    "Dense",
    "Factor",
    "Hashed",
    "Listed",
    "NonFinite",
    "OutOfSupport",
    "Part",
    "SeparationWarning",
    "SkippedWarning",
    "Source",
    "Stored",
    "Widening",
    "block",
    "by_gaps",
    "code",
    "columns_of",
    "consecutive",
    "first_seen",
    "levels_of",
    "refuse_cells",
    "row_sums",
    "runs",
    "stratified",
]
