"""The live page: one file, which loads nothing from elsewhere."""

from functools import cache
from importlib.resources import files


@cache
def page() -> bytes:
    """The page."""
    return (files("likelier.service") / "page.html").read_bytes()
