"""The wheels of dist/ in empty environments, where no compiler is to be found: `make test-wheel`.

usage: test_wheel.py [--python PYTHON ...] [--dist dist]

For each interpreter the newest fitting wheel is installed, tried by `try_wheel.py`, and held to the tests
that need nothing but the package: model files of all versions, laws of the estimators, bad input.
"""

import argparse
import os
import shutil
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
    "hypothesis>=6.108",
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
    _run(interpreter, "-m", "venv", environment)
    python = environment / "bin" / "python"
    # Nothing but the environment itself: no compiler, no make, no git.
    bare = {"PATH": str(environment / "bin"), "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}
    bare |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "LIKELIER_"))}
    pip = (python, "-m", "pip")
    _run(*pip, "install", "--quiet", "--upgrade", "pip", env=bare)
    # The wheel is one of `dist`, whatever the package index has; its dependencies come from there.
    cache = ("--dest", work / "cache", "--only-binary=:all:")
    _run(
        *pip,
        "download",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--find-links",
        dist,
        *cache,
        "likelier",
        env=bare,
    )
    (wheel,) = (work / "cache").glob("likelier-*.whl")
    _run(*pip, "download", "--quiet", *cache, wheel, env=bare)
    begun, used = time.perf_counter(), os.times()
    _run(*pip, "install", "--quiet", "--no-index", "--find-links", work / "cache", "likelier", env=bare)
    seconds, now = time.perf_counter() - begun, os.times()
    cpu = now.children_user + now.children_system - used.children_user - used.children_system
    late = f", which is more than {LIMIT:.0f} s" if seconds > LIMIT else ""
    took = f"installed in {seconds:.1f} s ({cpu:.1f} s of a processor){late}"
    print(f"{interpreter}: {wheel.name} and its dependencies {took}", flush=True)
    _run(python, ROOT / "packaging" / "try_wheel.py", env=bare, cwd=work)
    _from_archive(python, wheel, bare, work)
    _read_only(python, environment, bare)
    if quick:
        return
    _run(*pip, "install", "--quiet", *NEEDS, env=bare)
    # The tests stand elsewhere than the sources, so that it is the wheel that they meet.
    for name in ("tests", "pyproject.toml"):
        (work / name).symlink_to(ROOT / name)
    _run(python, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *TESTS, env=bare, cwd=work)


def _from_archive(python: Path, wheel: Path, bare: dict[str, str], work: Path) -> None:
    """A wheel on the path as it is: Python loads no compiled module from it, and likelier says so."""
    code = f"import sys; sys.path.insert(0, {str(wheel)!r}); import likelier; likelier.GaussianNB"
    done = subprocess.run([str(python), "-c", code], env=bare, cwd=work, capture_output=True, text=True)
    if "cannot load from an archive" not in done.stderr:
        raise SystemExit(f"on the path as an archive: {done.stderr or 'no error'}")


def _read_only(python: Path, environment: Path, bare: dict[str, str]) -> None:
    """Where nothing can be written: no folder of the installation, no home."""
    folders = [environment, *(path for path in environment.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    code = (
        "import os, likelier as lk; from sklearn.datasets import load_wine; "
        "assert not os.access(os.path.dirname(lk.__file__), os.W_OK); "
        "X, y = load_wine(return_X_y=True); assert lk.LogisticRegression().fit(X, y).score(X, y) > 0.9; "
        "print('read-only: works')"
    )
    # The administrator may write anywhere, unless that right is given up.
    giving_up = (shutil.which("setpriv"), "--bounding-set=-dac_override,-dac_read_search")
    command = [*(giving_up if os.geteuid() == 0 else ()), python, "-W", "error", "-c", code]
    done = subprocess.run([str(part) for part in command], env=bare | {"HOME": "/nonexistent"}, cwd="/")
    for folder in folders:
        folder.chmod(0o755)
    if done.returncode:
        raise SystemExit("it does not work where nothing can be written")


def _run(*command: object, env: dict[str, str] | None = None, cwd: Path | None = None) -> None:
    done = subprocess.run([str(part) for part in command], env=env, cwd=cwd)
    if done.returncode:
        raise SystemExit(f"{' '.join(str(part) for part in command[:5])} failed")


if __name__ == "__main__":
    main()
