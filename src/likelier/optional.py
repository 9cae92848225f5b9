"""Libraries that likelier can do without: each is imported where it is needed, or its absence explained."""

from importlib import import_module
from typing import Any


def load(module: str, user: str, install: str | None = None) -> Any:
    """The module; where it cannot be imported, an error that names the `pip install` that brings it.

    `user` is what needs it ("to_frame needs"); `install` is what pip calls it: its name, or an extra.
    """
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        wanted = f"'{install}'" if install and "[" in install else install or library
        raise ImportError(f"{user} {library}: pip install {wanted}", name=library) from error


def pandas(user: str = "to_frame needs") -> Any:
    """The library pandas."""
    return load("pandas", user)
