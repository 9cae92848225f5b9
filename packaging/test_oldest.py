"""The tests with the oldest versions of all dependencies that pyproject.toml allows: `make test-oldest`.

usage: test_oldest.py [PYTEST ARGUMENT ...]

uv resolves the requirements to their lowest versions; the package is built with, and against, these. Of the
libraries that only tests use there are the few that run them: others would ask for newer dependencies.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = ROOT / "build" / "oldest"
NEEDS = (
    "pytest>=8",
    "pytest-benchmark>=5",
    "pytest-xdist>=3.6",
    "hypothesis>=6.108",
    "pandas>=2.2",
    "polars>=1.20",
)
TESTS = ("tests/golden", "tests/laws", "tests/errors", "tests/parity", "tests/export", "tests/service")
# Digits beside scikit-learn's, which an older LAPACK gives it more of on one table of NIST.
UNTRIED = ("tests/golden/test_nist_regression.py::test_more_digits_than_scikit_learn",)


def main() -> None:
    """Run as a program."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
    _run(python, "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1", "uv>=0.8")
    uv = (
        python,
        "-m",
        "uv",
        "pip",
        "install",
        "--quiet",
        "--python",
        python,
        "--resolution",
        "lowest-direct",
    )
    _run(*uv, "--group", f"{ROOT / 'pyproject.toml'}:build")
    _run(*uv, "--no-build-isolation", "--reinstall-package", "likelier", f"{ROOT}[all]", *NEEDS)
    pytest = (python, "-m", "pytest", "-q", "-n", "auto", "-p", "no:cacheprovider")
    _run(*pytest, *(f"--deselect={test}" for test in UNTRIED), *(sys.argv[1:] or TESTS))


def _run(*command: object) -> None:
    done = subprocess.run([str(part) for part in command], cwd=ROOT, env=os.environ.copy())
    if done.returncode:
        raise SystemExit(f"{' '.join(str(part) for part in command[:6])} failed")


if __name__ == "__main__":
    main()
