"""The core under test: every instruction level that this machine has, one after another.

`LIKELIER_TEST_CORE` names a folder of modules to test instead of the installed ones: a build with
sanitizers. Nothing here imports the package then, so that the two never meet in one process.
"""

import os
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

FOLDER = os.environ.get("LIKELIER_TEST_CORE")


@cache
def load(name: str) -> Any:
    """A module of the core: isa, v2, v3, v4 or native. Once: a second time its types are taken."""
    if FOLDER is None:
        return import_module(f"likelier._core.{name}")
    (path,) = Path(FOLDER).glob(f"{name}.*.so")
    spec = spec_from_file_location(f"likelier_test_core.{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def of_machine() -> list[str]:
    """The levels that this machine can run."""
    highest = load("isa").level()
    return [f"v{level}" for level in range(2, highest + 1)] if highest else ["native"]


def levels() -> list[str]:
    """Those of them that are built."""
    return [name for name in of_machine() if _built(name)]


def _built(name: str) -> bool:
    if FOLDER is None:
        return find_spec(f"likelier._core.{name}") is not None
    return bool(list(Path(FOLDER).glob(f"{name}.*.so")))


@pytest.fixture(scope="session", params=levels())
def core(request: pytest.FixtureRequest) -> Any:
    return load(request.param)
