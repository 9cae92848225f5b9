"""Write `public_api.txt`: the signatures that users rely on. Run it when one of them is changed on purpose.

A test (`tests/interfaces/test_public_api.py`) compares the file with the library, so that a name, a
parameter or a default changes only with a change of this file, which a reviewer sees.
"""

import inspect
from pathlib import Path

import likelier as lk

FILE = Path(__file__).with_name("public_api.txt")


def listed() -> str:
    """A line for each public function, class and method."""
    lines = []
    for name in sorted(lk.__all__):
        thing = getattr(lk, name)
        if inspect.ismodule(thing):
            lines += [f"{name}.{each}{signature(getattr(thing, each))}" for each in sorted(thing.__all__)]
        elif inspect.isclass(thing):
            lines += [f"{name}{signature(thing)}", *(f"{name}.{line}" for line in members(thing))]
        else:
            lines.append(f"{name}{signature(thing)}")
    return "\n".join(lines) + "\n"


def members(cls: type) -> list[str]:
    """The public methods and properties of a class that are likelier's own."""
    found = []
    for name in sorted(set(dir(cls))):
        if name.startswith("_"):
            continue
        owner = next(each for each in cls.__mro__ if name in vars(each))
        if not owner.__module__.startswith("likelier"):
            continue
        member = inspect.getattr_static(cls, name)
        if callable(getattr(cls, name, None)):
            found.append(f"{name}{signature(getattr(cls, name))}")
        elif isinstance(member, property):
            found.append(name)
    return found


def signature(thing: object) -> str:
    """Names and defaults, without annotations: these may become more exact."""
    try:
        found = inspect.signature(thing)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "(...)"
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in found.parameters.values()]
    shown = str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return shown.replace("<built-in function time>", "time.time")


if __name__ == "__main__":
    FILE.write_text(listed())
