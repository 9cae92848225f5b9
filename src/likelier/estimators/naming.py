"""Families by their names."""

from collections.abc import Callable
from typing import Any

from likelier.families import DiagonalGaussian, Family, FullGaussian

# A new name joins here.
FAMILIES: dict[str, Callable[[], Family]] = {
    "gaussian": DiagonalGaussian,
    "gaussian-full": FullGaussian,
}


def family_of(given: Any) -> Family:
    """A family, by its name or as it is."""
    if isinstance(given, str) and given in FAMILIES:
        return FAMILIES[given]()
    if isinstance(given, str) or not (hasattr(given, "stats") and hasattr(given, "estimate")):
        raise ValueError(f"families={given!r}: it is a Family, or one of {', '.join(FAMILIES)}")
    family: Family = given
    return family
