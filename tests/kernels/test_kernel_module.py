"""The module itself: what it offers, what it refuses, which instruction level is chosen."""

import ast
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernels.conftest import levels, load, of_machine
from kernels.layouts import matrix

STUB = Path(__file__).parents[2] / "src" / "likelier" / "_core" / "__init__.pyi"


def stubbed() -> set[str]:
    """Names that the stub declares; assigned ones are types of its own."""
    body = ast.parse(STUB.read_text()).body
    named = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return named | {node.target.id for node in body if isinstance(node, ast.AnnAssign)}


def test_the_stub_lists_what_the_module_has(core):
    assert stubbed() - {"ISA"} == {name for name in vars(core) if not name.startswith("_")}


@pytest.mark.parametrize("name", ["Matrix", "GappyGaussians"])
def test_the_stub_lists_what_a_class_offers(core, name):
    classes = {
        node.name: node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ClassDef)
    }
    assert classes.keys() == {name for name, value in vars(core).items() if isinstance(value, type)}
    declared = {node.name for node in classes[name].body if isinstance(node, ast.FunctionDef)}
    assert declared - {"__init__"} == {n for n in vars(getattr(core, name)) if not n.startswith("_")}


def test_vectors_are_as_wide_as_the_level_says(core):
    assert core.lanes == {"v2": 2, "v3": 4, "v4": 8}.get(core.__name__.rpartition(".")[-1], core.lanes)


# ---- outputs -------------------------------------------------------------------------------------
def _moments(core: Any, mean: np.ndarray) -> None:
    X, codes = matrix(core, np.ones((4, 3))), np.zeros(4, np.int32)
    core.moments(X, codes, None, None, False, np.zeros(2), mean, np.zeros((2, 3)))


def _affine(core: Any, Z: np.ndarray) -> None:
    core.affine(matrix(core, np.ones((4, 2))), np.ones((3, 2)), np.ones(3), np.ones(2), Z, False)


def _column_moments(core: Any, seen: np.ndarray) -> None:
    X, codes = matrix(core, np.ones((4, 3))), np.zeros(4, np.int32)
    core.column_moments(X, codes, None, None, np.zeros(2), seen, np.zeros((2, 3)), np.zeros((2, 3)))


def _diagonal_gaps(core: Any, Z: np.ndarray) -> None:
    ones = np.ones((3, 2))
    core.diagonal_gaps(matrix(core, np.ones((4, 2))), ones, ones, ones, np.ones(3), Z, False)


def _gappy(core: Any) -> Any:
    return core.GappyGaussians(np.ones((3, 2)), np.ones(2), np.eye(2)[None], np.eye(2)[None])


def _expect(core: Any, first: np.ndarray) -> None:
    X, start, one = np.array([[1.0, np.nan]]), np.array([0, 1]), np.zeros(1, np.int32)
    scatters, mean = np.zeros((0, 2, 2)), np.zeros((2, 2))
    core.expect(
        X, np.ones(1), start, one, np.full(1, -1), scatters, mean, np.eye(2), first, np.zeros((2, 2))
    )


def _losses(core: Any) -> tuple[Any, ...]:
    """X, codes, weights, offset, loss, positive, W, b, shift."""
    X = matrix(core, np.ones((4, 2)))
    return X, np.zeros(4, np.int32), None, None, 1, 1, np.ones((2, 2)), np.ones(2), np.ones(2)


def _expand(core: Any, g: np.ndarray) -> None:
    core.expand(*_losses(core), np.zeros(1), g, None)


def _loss_values(core: Any, f: np.ndarray) -> None:
    *rows, W, b, shift = _losses(core)
    core.loss_values(*rows, np.stack([W] * 4), np.stack([b] * 4), shift, f)


def _curvature_product(core: Any, out: np.ndarray) -> None:
    core.curvature_product(*_losses(core), np.ones((2, 2)), np.ones(2), out)


def _figures(core: Any, classes: np.ndarray) -> None:
    P, codes = np.full((4, 2), 0.5), np.zeros(4, np.int32)
    core.figures(P, codes, None, np.zeros(6), classes, np.zeros((core.figure_bins, 3)))


# Kernels, with the shape of what they write to.
OUTPUTS = {
    "softmax": ((4, 3), lambda core, Z: core.softmax(Z)),
    "log_softmax": ((4, 3), lambda core, Z: core.log_softmax(Z)),
    "log_sum_exp": ((4,), lambda core, out: core.log_sum_exp(np.zeros((4, 3)), out)),
    "argmax": ((4,), lambda core, out: core.argmax(np.zeros((4, 3)), out)),
    "affine": ((4, 3), _affine),
    "moments": ((2, 3), _moments),
    "column_moments": ((2, 3), _column_moments),
    "diagonal_gaps": ((4, 3), _diagonal_gaps),
    "gappy scores": (
        (4, 3),
        lambda core, Z: _gappy(core).scores(matrix(core, np.ones((4, 2))), np.ones(3), Z, False),
    ),
    "gappy fill": (
        (4, 2),
        lambda core, out: _gappy(core).fill(matrix(core, np.ones((4, 2))), np.ones((4, 3)), out),
    ),
    "expect": ((2, 2), _expect),
    "expand": ((2, 3), _expand),
    "loss_values": ((4,), _loss_values),
    "curvature_product": ((2, 3), _curvature_product),
    "figures": ((2, 3), _figures),
    "recode": ((4,), lambda core, codes: core.recode(codes, np.zeros(1, np.int32))),
}


def wrong(shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Outputs that no kernel can write to as they are."""
    every_second = np.zeros([2 * size for size in shape])[tuple(slice(None, None, 2) for _ in shape)]
    kinds = {
        "strided": every_second,
        "float32": np.zeros(shape, np.float32),
        "int16": np.zeros(shape, np.int16),
    }
    kinds["read-only"] = np.broadcast_to(0.0, shape)
    return kinds | ({"Fortran order": np.zeros(shape, order="F")} if len(shape) > 1 else {})


@pytest.mark.parametrize("kernel", list(OUTPUTS))
def test_an_output_that_cannot_be_written_in_place_is_refused(core, kernel):
    """A copy would be made for it, written to, and thrown away: the answer would be lost in silence."""
    shape, call = OUTPUTS[kernel]
    accepted = []
    for kind, output in wrong(shape).items():
        with suppress(TypeError):
            call(core, output)
            accepted.append(kind)
    assert not accepted


# ---- levels --------------------------------------------------------------------------------------
SAY = "import likelier._core as core; print(core.ISA, core.softmax.__module__, core.lanes)"


def choose(level: str | None) -> subprocess.CompletedProcess[str]:
    """What a new process says that it runs on."""
    env = {name: value for name, value in os.environ.items() if name != "LIKELIER_ISA"}
    env |= {} if level is None else {"LIKELIER_ISA": level}
    return subprocess.run([sys.executable, "-c", SAY], env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("level", levels())
def test_the_environment_chooses_a_level(level):
    said = choose(level).stdout.split()
    assert said[:2] == [level, f"likelier._core.{level}"]


def test_the_highest_level_is_chosen_otherwise():
    assert choose(None).stdout.split()[0] == levels()[-1]


LACKING = [level for level in ("v2", "v3", "v4", "native") if level not in of_machine()]


@pytest.mark.parametrize("level", [*LACKING, "v1", "v5", "V3", "avx2", ""])
def test_a_level_that_the_machine_lacks_is_refused(level):
    process = choose(level)
    assert process.returncode != 0
    assert "ImportError" in process.stderr
    assert "LIKELIER_ISA" in process.stderr


def test_all_levels_agree(core):
    """To rounding: with and without fused multiplication."""
    lowest = load(levels()[0])
    X, codes = np.random.default_rng(0).standard_normal((500, 9)), (np.arange(500) % 3).astype(np.int32)
    found = []
    for module in (core, lowest):
        n, mean, S = np.zeros(3), np.zeros((3, 9)), np.zeros((3, 9, 9))
        module.moments(matrix(module, X), codes, None, None, False, n, mean, S)
        found.append(S)
    np.testing.assert_allclose(*found, rtol=1e-12, atol=1e-12)
