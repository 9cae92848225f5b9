"""What this Python knows of characters, as tables for the native core.

The tables are made from the running interpreter (its `re`, `str.lower` and `unicodedata`), so that words
are cut as scikit-learn cuts them, whichever version of Unicode that is.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from likelier import _core

CODE_POINTS = 0x110000
WORD, SPACE, CASED, CASE_IGNORABLE = 1, 2, 4, 8
# In lower case the first is two characters, and the second depends on its neighbours.
DOTTED_I, CAPITAL_SIGMA = "\u0130", "\u03a3"


@cache
def characters(*, lower: bool, accents: str | None) -> _core.Characters:
    """Tables that lower the case and strip accents ("unicode", "ascii" or None), as scikit-learn does."""
    before = _every_character()
    after = _lowered() if lower else before
    if accents is not None:
        after = _stripped(after, accents)
    changed = [code for code, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
    return _core.Characters(
        _flags(),
        np.array(changed, np.uint32),
        np.cumsum([len(after[code]) for code in changed], dtype=np.int64),
        _codes("".join([after[code] for code in changed])),
        lower,
    )


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _text(codes: NDArray[np.uint32]) -> str:
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


@cache
def _every_character() -> str:
    """All of them; surrogates too, which are no part of words and no spaces."""
    return _text(np.arange(CODE_POINTS, dtype=np.uint32))


@cache
def _flags() -> NDArray[np.uint8]:
    """For each code point: is it part of words, a space, cased, or ignored where case is looked at?"""
    flags = np.zeros(CODE_POINTS, np.uint8)
    for what, pattern in ((WORD, r"\w+"), (SPACE, r"\s+")):
        for run in re.finditer(pattern, _every_character()):
            flags[run.start() : run.end()] |= what
    cased = _before_sigma("\n")
    flags[cased] |= CASED
    flags[_before_sigma("A") & ~cased] |= CASE_IGNORABLE
    return flags


def _before_sigma(first: str) -> NDArray[np.bool_]:
    """For each code point, whether a capital sigma after `first` and it becomes a final one.

    Python does not say which characters are cased or ignorable, but that sigma depends on it.
    """
    lines = np.empty((CODE_POINTS, 4), np.uint32)
    lines[:] = [ord(first), 0, ord(CAPITAL_SIGMA), ord("\n")]
    lines[:, 1] = np.arange(CODE_POINTS)
    lines[ord(DOTTED_I), 1] = ord("I")  # as cased, and of one character
    final: NDArray[np.bool_] = _codes(_text(lines.ravel()).lower())[2::4] == ord("\u03c2")
    return final


def _lowered() -> list[str]:
    """Each character in lower case."""
    lowered = list(_every_character().replace(DOTTED_I, "I").replace(CAPITAL_SIGMA, "\u03c3").lower())
    lowered[ord(DOTTED_I)] = DOTTED_I.lower()
    return lowered


def _stripped(texts: Sequence[str], accents: str) -> list[str]:
    """What scikit-learn's `strip_accents_unicode` or `strip_accents_ascii` make of each."""
    normal = unicodedata.normalize("NFKD", "\0".join(texts)).split("\0")
    normal[0:2] = ["\0"]  # which is itself among the characters
    if accents == "ascii":
        return [text if text.isascii() else text.encode("ascii", "ignore").decode() for text in normal]
    marks = {c for c in _every_character() if unicodedata.combining(c)}
    return [
        text if text not in marks and len(text) == 1 else "".join([c for c in text if c not in marks])
        for text in normal
    ]
