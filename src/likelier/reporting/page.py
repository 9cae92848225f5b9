"""The page."""

from pathlib import Path
from typing import Any


def written(comparison: Any, path: Path) -> Path:
    """Write the report of a comparison; a file appears under its name when it is whole."""
    raise NotImplementedError
