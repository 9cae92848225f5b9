"""The quicker of scikit-learn's own test modules, on likelier's classes; `make compat` runs all of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
QUICK = ["tests.test_naive_bayes", "tests.test_discriminant_analysis", "linear_model.tests.test_perceptron"]


def run(*args):
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(TESTS / "compat" / "pytest.ini"), *args]
    env = {**os.environ, "PYTHONPATH": str(TESTS)}
    return subprocess.run(command, env=env, cwd=TESTS.parent, capture_output=True, text=True, check=False)


def test_the_quicker_modules():
    done = run(*(f"sklearn.{module}" for module in QUICK))
    assert done.returncode == 0, done.stdout[-5000:]
    (row,) = [line.split() for line in done.stdout.splitlines() if line.startswith("all ")]
    passed, failed, listed = map(int, row[1:4])
    assert failed == 0
    assert passed > 100
    assert listed <= 15  # a list that grows is to be looked at


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({"test_gnb": "it passes"}, "XPASS(strict)"),
        ({"test_that_is_not_there": "no reason"}, "there is no such test"),
    ],
)
def test_a_list_that_is_not_true_fails(tmp_path, entry, fault):
    (tmp_path / "compat").mkdir()
    for name in ("plugin.py", "pytest.ini", "__init__.py"):
        (tmp_path / "compat" / name).write_text((TESTS / "compat" / name).read_text())
    listed = f"EXCEPTIONS = {{'test_naive_bayes': {entry!r}}}"
    (tmp_path / "compat" / "exceptions.py").write_text(listed)
    some = ["-k", "test_gnb and not update"] if "test_gnb" in entry else []
    command = [sys.executable, "-m", "pytest", "-q", "-c", str(tmp_path / "compat" / "pytest.ini"), *some]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [*command, "sklearn.tests.test_naive_bayes"],
        env=env,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert fault in done.stdout + done.stderr
