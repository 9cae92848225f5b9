"""The command line of the race."""

import argparse
import json
import os
from collections.abc import Sequence
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path

import benchmarks.race.entries  # noqa: F401
from benchmarks.race.registry import CONTENDERS, PROBLEMS, Contender
from benchmarks.race.report import collect, markdown
from benchmarks.race.runner import ROOT, race

DESCRIPTION = "Fit time, prediction time, peak memory and quality of likelier's models beside their peers'."
EPILOG = """\
examples:
  python -m benchmarks.race                               everything, at full size
  python -m benchmarks.race --scale 0.05 --repeats 2      a quick look
  python -m benchmarks.race --only 'gaussian*QDA'         QDA of all libraries, on one problem
  python -m benchmarks.race --only iris --only import     two problems
  python -m benchmarks.race --only memory --repeats 1     a long one, which is run only if it is named

The tables go to stdout and to results/, progress to stderr. The exit code is 1 if a contender failed or if
likelier's quality differs from scikit-learn's; a missed target does not count as a failure."""


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("it is at least 1")
    return number


def _share(text: str) -> float:
    share = float(text)
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError("it is above 0 and at most 1")
    return share


def parser() -> argparse.ArgumentParser:
    """All options."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    new = argparse.ArgumentParser(
        prog="python -m benchmarks.race",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = new.add_argument
    add(
        "--only",
        action="append",
        default=[],
        metavar="PATTERN",
        help="contenders whose problem/library/name contains this; * and ? stand for anything; repeatable",
    )
    add(
        "--repeats",
        type=_positive,
        default=3,
        help="processes for each contender, best counts (default: 3)",
    )
    add("--scale", type=_share, default=1.0, help="share of the rows of the large problems (default: 1)")
    add("--threads", type=_positive, default=cores, help=f"threads of every library (default: {cores})")
    add("--list", action="store_true", help="list problems and contenders, and run nothing")
    add("--json", type=Path, metavar="PATH", help="where the JSON goes (default: beside the tables)")
    return new


def chosen(patterns: Sequence[str]) -> list[Contender]:
    """Contenders that match any of the patterns, by problem; those of problems apart by name alone."""
    matching = [c for c in CONTENDERS.values() if _matches(c, patterns)]
    return sorted(matching, key=lambda c: list(PROBLEMS).index(c.problem))


def _matches(c: Contender, patterns: Sequence[str]) -> bool:
    key = c.key.lower()
    if PROBLEMS[c.problem].apart:
        return any(fnmatch(key, f"{p}*") for p in map(str.lower, patterns) if p.startswith(c.problem))
    return any(fnmatch(key, f"*{p}*") for p in map(str.lower, patterns or [""]))


def _list(contenders: Sequence[Contender]) -> None:
    for name in dict.fromkeys(c.problem for c in contenders):
        print(f"{name}: {PROBLEMS[name].title}")
        for c in contenders:
            if c.problem == name:
                print(f"  {c.key}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the race and write its tables."""
    options = parser().parse_args(arguments)
    contenders = chosen(options.only)
    if not contenders:
        parser().error(f"no contender matches {' or '.join(options.only)}; --list shows all")
    if options.list:
        _list(contenders)
        return 0
    settings = {name: getattr(options, name) for name in ("repeats", "scale", "threads", "only")}
    when = datetime.now().astimezone()
    rows = race(contenders, repeats=options.repeats, scale=options.scale, threads=options.threads)
    results = collect(rows, settings, when.isoformat(timespec="seconds"))
    text = markdown(results, rows)
    print(text)

    stem = ROOT / "results" / f"race-{when:%Y%m%d-%H%M%S}"
    stem.parent.mkdir(exist_ok=True)
    stem.with_suffix(".md").write_text(text)
    (options.json or stem.with_suffix(".json")).write_text(json.dumps(results, indent=1) + "\n")
    disagree = any(not pair["agree"] for pair in results["quality"])
    return int(disagree or any(row.failed for row in rows))
