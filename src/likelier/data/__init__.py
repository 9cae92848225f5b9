"""Where rows come from: chunks, the sources that cut them, labels as codes."""

from likelier.data.chunk import (
    PART_BYTES,
    Arrays,
    Chunk,
    Part,
    Source,
    Stored,
    Widening,
    by_gaps,
    columns_of,
)
from likelier.data.errors import (
    BadCell,
    DegenerateWarning,
    NonFinite,
    OutOfSupport,
    SeparationWarning,
    SkippedWarning,
    refuse_cells,
)
from likelier.data.labels import Factor, code, first_seen, levels_of
from likelier.data.matrix import CSR, Block, Columns, Dense, block, row_sums
from likelier.data.row_numbers import Assignment, HashedFolds, ListedFolds, consecutive, runs, stratified

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
    "HashedFolds",
    "ListedFolds",
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
