"""Tests of scikit-learn's that say nothing of likelier, or say something else: each with its reason.

A key is the name of a test, with its parameters if only some apply; a star stands for anything.
"""

PRIVATE = "it asks for a private attribute or function of scikit-learn's"
REPAIRED = "scikit-learn refuses what likelier does: "

EXCEPTIONS: dict[str, dict[str, str]] = {}
