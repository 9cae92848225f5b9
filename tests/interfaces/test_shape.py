"""What docs/architecture.md promises about the shape of the code."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import likelier
from likelier.estimators.catalogue import MODELS

PACKAGE = Path(likelier.__file__).parent
MOST_LINES, MOST_OF_FUNCTION = 600, 60  # of code, without docstrings


@pytest.mark.parametrize("info", MODELS.values(), ids=lambda info: info.name)
def test_an_estimator_has_at_most_four_classes_of_likelier(info):
    ours = [cls.__name__ for cls in info.load().__mro__ if cls.__module__.startswith("likelier.")]
    assert len(ours) <= 4, ours


@pytest.fixture(scope="module")
def modules():
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def test_abstract_methods_are_in_abstract_classes(modules):
    """`abstractmethod` in a class without ABCMeta is not enforced."""
    checked = 0
    for path, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and any(map(_abstract, node.body)):
                module = ".".join(path.with_suffix("").relative_to(PACKAGE.parent).parts)
                assert inspect.isabstract(getattr(import_module(module), node.name)), node.name
                checked += 1
    assert checked > 10


def _abstract(node):
    marks = getattr(node, "decorator_list", [])
    return any(isinstance(mark, ast.Name) and mark.id == "abstractmethod" for mark in marks)


def test_modules_and_functions_are_short(modules):
    long = []
    for path, tree in modules.items():
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        documented = sum(map(_docstring, [tree, *classes, *functions]))
        lines = path.read_text(encoding="utf-8").count("\n") - documented
        if lines > MOST_LINES:
            long.append(f"{path.name}: {lines} lines")
        for node in functions:
            lines = (node.end_lineno or 0) - node.lineno + 1 - _docstring(node)
            if lines > MOST_OF_FUNCTION:
                long.append(f"{path.name}, {node.name}: {lines} lines")
    assert not long


def _docstring(node):
    """The lines of the docstring of a module, class or function."""
    first = node.body[0] if node.body else None
    if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)):
        return 0
    return first.end_lineno - first.lineno + 1 if isinstance(first.value.value, str) else 0
