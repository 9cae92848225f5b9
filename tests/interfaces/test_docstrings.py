"""Docstrings in numpydoc style: every parameter of a public signature, with the default that it has."""

import inspect
import re
import time
from dataclasses import fields, is_dataclass
from itertools import pairwise

import numpy as np
import pytest

import likelier as lk
from likelier.comparison.assumptions import Checks
from likelier.comparison.cross_validate import LearningCurve
from likelier.comparison.result import Comparison, Result
from likelier.data.files.scan import Scan
from likelier.data.files.svmlight import SparseScan
from likelier.evaluation.mistake_bounds import MistakeBound
from likelier.evaluation.progressive import Progressive
from likelier.evaluation.report import CrossValidation, LabelEvaluation, Roc, ValueEvaluation
from likelier.inference.least_squares import Summary
from likelier.inference.likelihood import LikelihoodSummary
from likelier.inference.marginal_effects import MarginalEffects
from likelier.inference.predictions import PredictionInterval
from likelier.inference.terms import TermTests
from likelier.streams.figures import Calibration, Figures, Snapshot, Windows

RECORDS = (
    *(Comparison, Result, LearningCurve, LabelEvaluation, ValueEvaluation, CrossValidation, Roc),
    *(Progressive, Figures, Calibration, Snapshot, Windows, Summary, LikelihoodSummary, MistakeBound),
    *(MarginalEffects, TermTests, PredictionInterval),
)
RESULTS = (*RECORDS, Checks)  # what public functions and methods return
PUBLIC = [getattr(lk, name) for name in lk.__all__ if name != "plot"]


# ---- what is public ------------------------------------------------------------------------------
def named(thing):
    return f"{thing.__module__.removeprefix('likelier.')}.{thing.__qualname__}"


def methods(cls):
    """Public methods that likelier defines, inherited ones as well."""
    found = (getattr(cls, name, None) for name in dir(cls) if not name.startswith("_"))
    routines = (each for each in found if hasattr(each, "__qualname__") and inspect.isroutine(each))
    return [each for each in routines if str(getattr(each, "__module__", "")).startswith("likelier")]


def public_objects():
    things = [*PUBLIC, *(getattr(lk.plot, name) for name in lk.plot.__all__), Scan.on, SparseScan.on]
    classes = [each for each in (*PUBLIC, *RESULTS) if inspect.isclass(each)]
    things += [method for cls in classes for method in methods(cls)]
    return {named(thing): thing for thing in things}


OBJECTS = public_objects()


# ---- what docstrings say -------------------------------------------------------------------------
def sections(thing):
    """The sections of a docstring, by title: {name: type} for those that are lists of names."""
    lines = [*(inspect.getdoc(thing) or "").split("\n"), "", ""]
    found, entries = {}, {}
    for line, below in pairwise(lines):
        if re.fullmatch(r"-{3,}", below):
            entries = found.setdefault(line, {})
        elif re.match(r"[*\w]", line):
            names, _, kind = line.partition(" : ")
            entries |= {name.strip(" *"): kind for name in names.split(",")}
    return found


def parameters(thing):
    """The signature by name, but for self, and for what exceptions take."""
    held = inspect.signature(thing.__init__ if inspect.isclass(thing) else thing).parameters
    return {name: held[name] for name in held if name not in ("self", "args", "kwargs")}


def is_default(text, value):
    stated = eval(text, {"np": np, "time": time})
    return type(stated) is type(value) and stated == value


def faults(thing):
    documented, taken = sections(thing).get("Parameters", {}), parameters(thing)
    found = [f"{name} is not documented" for name in taken if name not in documented]
    found += [f"{name} is not a parameter" for name in documented if name not in taken]
    for name, kind in documented.items():
        stated = re.search(r"default=(.+)", kind)
        if stated and name in taken and not is_default(stated[1], taken[name].default):
            found.append(f"default={stated[1]} of {name}, which is {taken[name].default!r}")
    return found


# ---- the rules -----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", list(OBJECTS))
def test_every_parameter_is_documented_with_its_default(name):
    assert inspect.getdoc(OBJECTS[name]), "no docstring"
    assert not faults(OBJECTS[name])


@pytest.mark.parametrize("cls", RECORDS, ids=lambda cls: cls.__name__)
def test_every_attribute_of_a_result_is_documented(cls):
    held = [each.name for each in fields(cls)] if is_dataclass(cls) else cls._fields
    assert not set(held) - sections(cls)["Attributes"].keys()


@pytest.mark.parametrize("cls", [lk.Pending, *RESULTS], ids=lambda cls: cls.__name__)
def test_every_property_has_a_docstring(cls):
    held = {name: inspect.getattr_static(cls, name) for name in dir(cls) if not name.startswith("_")}
    bare = [name for name, each in held.items() if isinstance(each, property) and not each.__doc__]
    assert not bare


def test_docstrings_are_compared_with_signatures():
    def f(a, b=1, c="x"):
        """Test.

        Parameters
        ----------
        a : int
            Text : with a colon.
        b, d : int, default=2
            More.
        """

    assert faults(f) == ["c is not documented", "d is not a parameter", "default=2 of b, which is 1"]
