"""Where rows come from: chunks, the sources that cut them, labels as codes."""

from likelier.data.arrays import PART_BYTES, Arrays
from likelier.data.chunk import Chunk, Part, Source
from likelier.data.labels import code, levels_of
from likelier.data.matrix import CSR, Block, Columns, Dense, block
from likelier.data.problems import DegenerateWarning, NonFinite, refuse_cells

__all__ = [
    "CSR",
    "PART_BYTES",
    "Arrays",
    "Block",
    "Chunk",
    "Columns",
    "DegenerateWarning",
    "Dense",
    "NonFinite",
    "Part",
    "Source",
    "block",
    "code",
    "levels_of",
    "refuse_cells",
]
