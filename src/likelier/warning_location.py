"""The line that a warning points at: the first outside of this library."""

import contextlib
import functools
import sys
from pathlib import Path
from types import FrameType

_OURS = str(Path(__file__).parent)
_PASSED = (contextlib.__file__, functools.__file__)


def outside() -> int:
    """The `stacklevel` for `warnings.warn`, in the function that calls it, of whoever called the library.

    Between our functions there may be others': those of contextlib and of scikit-learn are passed over.
    """
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and _within(frame):
        frame, level = frame.f_back, level + 1
    return level


def _within(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    module = frame.f_globals.get("__name__", "")
    return (
        name.startswith(_OURS) or name in _PASSED or str(module).partition(".")[0] in ("sklearn", "joblib")
    )
