"""Types and defaults of parameters in the reference, as docstrings have them.

The parser of numpydoc takes the first of `{"a", "b"}` for the default, and reads other types as Python
code: then quotation marks and alternatives are lost.
"""

import re
from typing import Any

import griffe

ENTRY = re.compile(r"^ *(\w+(?:, \w+)*) : (.+)$", re.MULTILINE)
DEFAULT = re.compile(r",? default=(.+)$")


class DeclaredParameters(griffe.Extension):
    """The text of a docstring in place of what is read out of it."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Correct all docstrings of the package."""
        _correct(pkg)


def _correct(thing: Any) -> None:
    if thing.docstring is not None:
        correct(thing.docstring)
    for member in thing.members.values():
        if not member.is_alias:
            _correct(member)


def correct(docstring: griffe.Docstring) -> None:
    """Types and defaults of parameters and attributes, as they are written in the docstring."""
    written: dict[str, str] = {}
    for names, said in ENTRY.findall(docstring.value):
        written.update((name, said) for name in names.split(", ") if name not in written)
    docstring.parsed = docstring.parse(
        warnings=False
    )  # tests/interfaces/test_docstrings.py has the warnings
    for section in docstring.parsed:
        if section.kind not in (
            griffe.DocstringSectionKind.parameters,
            griffe.DocstringSectionKind.attributes,
        ):
            continue
        for each in section.value:
            said = written.get(each.name)
            if said is None:
                continue
            default = DEFAULT.search(said)
            each.annotation = said if default is None else said[: default.start()]
            if default is not None:
                each.value = default[1]
