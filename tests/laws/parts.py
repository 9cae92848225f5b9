"""Small parts, so that a small table makes many."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def parts_of(size: int) -> Iterator[None]:
    """Arrays are cut into parts of `size` bytes, or four times the state, whichever is more."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("likelier.data.chunk.PART_BYTES", size)
        yield
