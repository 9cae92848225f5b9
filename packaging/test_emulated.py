"""The wheels for 64-bit ARM, tried on another processor by an emulator: `make test-emulated`.

usage: test_emulated.py [--dist dist] [--python 3.13] [PYTEST ARGUMENT ...]

Wants qemu-user and dpkg-deb of Debian, and a likelier to compare with in the environment that runs this.
Debian's archive has Python for ARM: its packages are unpacked into build/emulated, and nothing is
installed. Each wheel is tried by `try_wheel.py`, held to the same digits as the installed likelier
(`digits.py`), and to the tests of the kernels.
"""

import argparse
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from zipfile import ZipFile

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "packaging"
WORK = ROOT / "build" / "emulated"
ARCHIVE = "http://deb.debian.org/debian"
RELEASES = {"3.11": "bookworm", "3.13": "trixie"}  # Debian's releases, by their Python
WHEELS = {"3.11": "*-cp311-cp311-*_aarch64.whl", "3.13": "*-cp312-abi3-*_aarch64.whl"}
PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_26", "manylinux_2_17", "manylinux2014")
NEEDS = (
    "pytest>=8",
    "pytest-benchmark>=5",
    "pytest-xdist>=3.6",
    "hypothesis>=6.108",
    "pandas>=2.2",
    "polars>=1.20",
)
# What packages ask for, and an interpreter that is not installed does without.
UNWANTED = {"adduser", "debconf", "dpkg", "mailcap", "media-types", "netbase", "perl-base", "tar", "tzdata"}
CLOSE = 1e-12  # relative, of a fit here and there


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dist", default=str(ROOT / "dist"), help="folder of the wheels")
    parser.add_argument(
        "--python", action="append", choices=RELEASES, help="a version to try, instead of all"
    )
    options, arguments = parser.parse_known_args()
    for version in options.python or RELEASES:
        wheel = max(Path(options.dist).glob(WHEELS[version]), default=None)
        if wheel is None:
            raise SystemExit(f"no wheel {WHEELS[version]} in {options.dist}: make wheel ARCHS=aarch64")
        tried(version, wheel, arguments or ["tests/kernels"])


def tried(version: str, wheel: Path, arguments: list[str]) -> None:
    """One wheel: whether it works, its digits, and the tests of the kernels."""
    python = interpreter(version, WORK / version)
    unpacked(wheel, WORK / version / "site")
    _run(python, HERE / "try_wheel.py", cwd=WORK / version)
    compared(python, version)
    # The tests stand elsewhere than the sources, so that it is the wheel that they meet.
    for name in ("tests", "pyproject.toml"):
        link = WORK / version / name
        if not link.exists():
            link.symlink_to(ROOT / name)
    _run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, cwd=WORK / version)


def compared(python: Path, version: str) -> None:
    """The digits of fits there and here."""
    there = json.loads(_said(python, HERE / "digits.py", cwd=WORK / version))
    here = json.loads(_said(Path(sys.executable), HERE / "digits.py"))
    apart = {}
    for name, values in here.items():
        a, b = np.array(values), np.array(there[name])
        apart[name] = float(np.max(np.abs(a - b)) / np.max(np.abs(a)))
        print(f"{name:24} differs by {apart[name]:.1e}")
    if max(apart.values()) > CLOSE:
        raise SystemExit(f"more than {CLOSE:g}: {max(apart, key=apart.__getitem__)}")


# ---- an interpreter and what likelier needs ------------------------------------------------------
def interpreter(version: str, work: Path) -> Path:
    """A program that runs the interpreter in the emulator, with likelier's dependencies."""
    system, site, program = work / "system", work / "site", work / "python"
    if program.exists():
        return program
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for address in needed(version):
        package = work / address.rpartition("/")[2]
        urllib.request.urlretrieve(f"{ARCHIVE}/{address}", package)
        _run("dpkg-deb", "-x", package, system)
        package.unlink()
    if not (system / "lib").exists():  # newer releases have it in usr alone
        (system / "lib").symlink_to("usr/lib")
    platforms = [f"--platform={platform}_aarch64" for platform in PLATFORMS]
    wanted = (*_dependencies(), *NEEDS)
    pip = (
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--only-binary=:all:",
        f"--python-version={version}",
    )
    _run(*pip, *platforms, "--dest", work / "wheels", *wanted)
    for wheel in (work / "wheels").iterdir():
        unpacked(wheel, site)
    if native := shutil.which(f"python{version}"):  # compiles the modules ten times as fast
        subprocess.run([native, "-m", "compileall", "-q", str(site)], stdout=subprocess.DEVNULL)
    # Tests start Python anew by `sys.executable`: in the emulator, too.
    (site / "sitecustomize.py").write_text(f"import sys\n\nsys.executable = {str(program)!r}\n")
    run = f'exec qemu-aarch64 -L "{system}" "{system}/usr/bin/python{version}" "$@"'
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{site}" {run}\n')
    program.chmod(0o755)
    return program


def needed(version: str) -> list[str]:
    """Where in Debian's archive the packages of an interpreter lie, and those that they depend on."""
    address = f"{ARCHIVE}/dists/{RELEASES[version]}/main/binary-arm64/Packages.xz"
    with urllib.request.urlopen(address) as answer:
        text = lzma.decompress(answer.read()).decode()
    records: dict[str, dict[str, str]] = {}
    provided: dict[str, str] = {}
    for paragraph in text.split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): (.*)$", paragraph, re.M))
        if "Package" not in fields:
            continue
        name = fields["Package"]
        records[name] = fields
        for virtual in re.findall(r"[\w.+-]+(?=[ ,]|$)", fields.get("Provides", "")):
            provided.setdefault(virtual, name)
    waiting, found = [f"python{version}", "libstdc++6", "libgcc-s1"], set()
    while waiting:
        name = waiting.pop()
        name = name if name in records else provided.get(name, "")
        if name in found or name in UNWANTED or name not in records:
            continue
        found.add(name)
        dependencies = records[name].get("Depends", "") + "," + records[name].get("Pre-Depends", "")
        waiting += [re.split(r"[ :|(]", each.strip())[0] for each in dependencies.split(",")]
    return sorted(records[name]["Filename"] for name in found)


def unpacked(wheel: Path, site: Path) -> None:
    """A wheel, as pip would lay it out."""
    with ZipFile(wheel) as archive:
        archive.extractall(site)


def _dependencies() -> list[str]:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return list(project["dependencies"])


def _said(*command: object, cwd: Path | None = None) -> str:
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, check=True, capture_output=True, text=True
    ).stdout


def _run(*command: object, cwd: Path | None = None) -> None:
    done = subprocess.run([str(part) for part in command], env=os.environ.copy(), cwd=cwd)
    if done.returncode:
        raise SystemExit(f"{' '.join(str(part) for part in command[:5])} failed")


if __name__ == "__main__":
    main()
