"""Public names, parameters and defaults change on purpose only."""

import difflib

from golden.write_public_api import FILE, listed


def test_signatures_are_as_announced():
    change = list(
        difflib.unified_diff(FILE.read_text().splitlines(), listed().splitlines(), lineterm="", n=0)
    )
    assert not change, (
        "The public interface differs from tests/golden/public_api.txt. If that is meant, note it in "
        "CHANGELOG.md and run `python tests/golden/write_public_api.py`.\n" + "\n".join(change)
    )


def test_signatures_are_free_of_addresses():
    """Defaults that print as <object at 0x...> would differ in each process."""
    assert " at 0x" not in listed()
