"""Documents as a column of text: what comes from files before it is cut into terms."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from likelier.data.matrix import Rows


class Texts(NamedTuple):
    """Texts in UTF-8, one after the other: the i-th from ends[i] to ends[i + 1]."""

    bytes: NDArray[np.uint8]
    ends: NDArray[np.int64]


def strings_of(documents: Any) -> Texts | None:
    """A text column of Arrow, of polars or of pandas (if Arrow holds it) as bytes; None: it is none."""
    column = _arrow(documents)
    if column is None:
        return None
    if column.null_count:
        i = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise ValueError(
            "np.nan is an invalid document, expected byte or unicode string: document "
            f"{i} is missing. Leave it out, or fill in '', an empty text."
        )
    return texts_in(column)


def _arrow(documents: Any) -> Any:
    """The column as one array of Arrow's strings, or None."""
    if type(documents).__module__.startswith("polars") and hasattr(documents, "to_arrow"):
        documents = documents.to_arrow()
    elif type(documents).__module__.startswith("pandas"):
        held = getattr(documents, "array", None)
        documents = getattr(held, "_pa_array", None)
    if isinstance(documents, pa.ChunkedArray):
        documents = documents.combine_chunks()
    if not isinstance(documents, pa.Array):
        return None
    if pa.types.is_dictionary(documents.type):
        documents = documents.dictionary_decode()
    if pa.types.is_string_view(documents.type):
        documents = documents.cast(pa.large_string())
    known = pa.types.is_string(documents.type) or pa.types.is_large_string(documents.type)
    return documents if known else None


def texts_in(column: Any) -> Texts:
    """The bytes of a column of Arrow's strings; missing ones are empty."""
    kind = np.int32 if pa.types.is_string(column.type) else np.int64
    _, ends, held = column.buffers()
    n, start = len(column), column.offset
    if n == 0:
        return Texts(np.empty(0, np.uint8), np.zeros(1, np.int64))
    found = np.frombuffer(ends, kind)[start : start + n + 1].astype(np.int64)
    data = np.empty(0, np.uint8) if held is None else np.frombuffer(held, np.uint8)
    return Texts(data[found[0] : found[-1]], found - found[0])


@dataclass(frozen=True, slots=True)
class Documents:
    """Rows of one column, of text: a block that vectorisers turn into one of numbers."""

    column: Any  # an array of Arrow's strings

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.column), 1

    @property
    def single(self) -> bool:
        """Text has no precision."""
        return False

    @property
    def row_bytes(self) -> int:
        return max(1, int(self.column.nbytes) // max(1, len(self.column)))

    def rows(self, start: int, stop: int) -> Self:
        return type(self)(self.column.slice(start, stop - start))

    def take(self, rows: Rows) -> Self:
        if isinstance(rows, slice):
            return self.rows(*rows.indices(len(self.column))[:2])
        return type(self)(self.column.take(pa.array(rows)))

    def texts(self) -> Texts:
        """All of them as bytes."""
        return texts_in(self.column)
