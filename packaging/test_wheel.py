"""The wheels of dist/ in empty environments, where no compiler is to be found: `make test-wheel`.

usage: test_wheel.py [--python PYTHON ...] [--dist dist]

For each interpreter the newest fitting wheel is installed, tried by `try_wheel.py`, and held to the tests
that need nothing but the package: model files of all versions, laws of the estimators, bad input.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ("tests/golden", "tests/errors/test_every_estimator.py", "tests/laws/test_estimators.py")
NEEDS = (
    "pytest>=8",
    "pytest-benchmark>=5",
    "pytest-xdist>=3.6",
    "hypothesis>=6.100",
    "pandas>=2.2",
    "polars>=1.20",
)
LIMIT = 10.0  # seconds to install the wheel, with its dependencies in pip's cache


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="interpreters to try")
    parser.add_argument("--dist", default=str(ROOT / "dist"), help="folder of the wheels")
    parser.add_argument("--quick", action="store_true", help="without the tests")
    options = parser.parse_args()
    for interpreter in options.python:
        with tempfile.TemporaryDirectory() as folder:
            tried(interpreter, Path(options.dist).resolve(), Path(folder), quick=options.quick)


def tried(interpreter: str, dist: Path, work: Path, *, quick: bool) -> None:
    """Install and test the wheel for one interpreter."""
    environment = work / "environment"
    _run(interpreter, "-m", "venv", str(environment))
    python = environment / "bin" / "python"
    # Nothing but the environment itself: no compiler, no make, no git.
    bare = {"PATH": str(environment / "bin"), "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}
    bare |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "LIKELIER_"))}
    find = ("--find-links", str(dist), "--only-binary=:all:")
    _run(python, "-m", "pip", "install", "--quiet", "--upgrade", "pip", env=bare)
    _run(
        python,
        "-m",
        "pip",
        "download",
        "--quiet",
        *find,
        "--dest",
        str(work / "cache"),
        "likelier",
        env=bare,
    )
    begun = time.perf_counter()
    cached = ("--no-index", "--find-links", str(work / "cache"))
    _run(python, "-m", "pip", "install", "--quiet", *cached, "likelier", env=bare)
    seconds = time.perf_counter() - begun
    print(f"{interpreter}: installed in {seconds:.1f} s")
    if seconds > LIMIT:
        print(f"note: more than {LIMIT:.0f} s")
    _run(python, str(ROOT / "packaging" / "try_wheel.py"), env=bare, cwd=work)
    if quick:
        return
    _run(python, "-m", "pip", "install", "--quiet", *NEEDS, env=bare)
    # The tests stand elsewhere than the sources, so that it is the wheel that they meet.
    for name in ("tests", "pyproject.toml"):
        (work / name).symlink_to(ROOT / name)
    _run(python, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *TESTS, env=bare, cwd=work)


def _run(*command: object, env: dict[str, str] | None = None, cwd: Path | None = None) -> None:
    done = subprocess.run([str(part) for part in command], env=env, cwd=cwd)
    if done.returncode:
        raise SystemExit(f"{' '.join(str(part) for part in command[:5])} failed")


if __name__ == "__main__":
    main()
