"""The native core: the module compiled for the highest instruction level that this machine has.

`LIKELIER_ISA` (v2, v3 or v4) forces one; a level that the machine lacks is refused.
"""

import os
from importlib import import_module

try:
    from likelier._core.isa import level
except ModuleNotFoundError as error:
    import platform
    from pathlib import Path

    if not Path(__file__).exists():
        raise ImportError(
            f"likelier has a native core, which Python cannot load from an archive ({__file__}): unpack "
            "it, or install it with pip."
        ) from error
    raise ImportError(
        f"likelier's native core was not built for Python {platform.python_version()} on "
        f"{platform.machine()}: pip install likelier, or in a checkout of its source, pip install ."
    ) from error

_BEST = f"v{level()}" if level() else "native"


def _choose() -> str:
    if _BEST == "v1":
        raise ImportError(
            "likelier needs an x86-64-v2 processor (SSE4.2 and POPCNT, made since 2009); this one is "
            "older, or the virtual machine hides what it can do."
        )
    asked = os.environ.get("LIKELIER_ISA", _BEST)
    if asked != _BEST and not (asked in ("v2", "v3", "v4") and asked < _BEST):
        raise ImportError(
            f"LIKELIER_ISA must be a level that this machine has, up to {_BEST!r}; got {asked!r}."
        )
    return asked


ISA = _choose()
_module = import_module(f"likelier._core.{ISA}")
globals().update({name: value for name, value in vars(_module).items() if not name.startswith("_")})
