"""The results as Markdown tables and as JSON."""

import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from benchmarks.race.online_problems import STREAMS
from benchmarks.race.registry import CONTENDERS, PROBLEMS
from benchmarks.race.runner import Row
from benchmarks.race.targets import TOLERANCE, agreements, verdicts

LEGEND = """\
fit: as a user calls it. search: every fold for every value. predict: predict_proba of all rows of the fit.
fit MB, predict MB: peak of resident memory over what was resident just before; peak MB: with that. one row:
predict of one row.
a row: what learning from one takes. progressive log-loss: that of all rows, each answered before it is
learned from. wall: the start of the interpreter and the import; net: less the start. log-loss and acc: on
held-out rows.
gap: relative distance of the objective from its minimum; errors off: that of standard errors from exact.
others' cores: cores that other processes took meanwhile, shown above 0.1: such a row is not to trust."""
DISTURBED = 0.1
OTHERS = "others' cores"


def seconds(t: float) -> str:
    """Three digits or so, in the unit that suits."""
    if t >= 0.1:
        return f"{t:.2f} s"
    if t >= 1e-3:
        return f"{t * 1e3:.1f} ms"
    return f"{t * 1e6:.0f} us" if t >= 5e-5 else f"{t * 1e6:.2f} us"


@dataclass(frozen=True)
class Column:
    """A figure, how it is headed and how it is written."""

    figure: str
    heading: str
    write: Callable[[float], str]


COLUMNS = [
    Column("fit", "fit", seconds),
    Column("search", "search", seconds),
    Column("fit_median", "fit median", seconds),
    Column("predict", "predict", seconds),
    Column("one_row", "one row", seconds),
    Column("one_row_median", "one row median", seconds),
    Column("row", "a row", seconds),
    Column("fit_mb", "fit MB", "{:.0f}".format),
    Column("predict_mb", "predict MB", "{:.0f}".format),
    Column("rss_mb", "peak MB", "{:.0f}".format),
    Column("workers_mb", "peak MB of a worker", "{:.0f}".format),
    Column("wall", "wall", seconds),
    Column("net", "net", seconds),
    Column("gap", "gap", "{:.1e}".format),
    Column("errors_off", "errors off", "{:.1e}".format),
    Column("progressive", "progressive log-loss", "{:.4f}".format),
    *(Column(name, name, "{:.4f}".format) for name in STREAMS),
    Column("log_loss", "log-loss", "{:.4f}".format),
    Column("accuracy", "acc", "{:.4f}".format),
]
TIMES = [column.figure for column in COLUMNS if column.write is seconds]


def table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *lines))


def _others(cores: float) -> str:
    return f"{cores:.2f}" if cores > DISTURBED else ""


def _problem(name: str, rows: Sequence[Row]) -> str:
    run = [row for row in rows if row.trials]
    columns = [c for c in COLUMNS if any(row.best(c.figure) is not None for row in run)]
    lines = []
    for row in run:
        found = [(column, row.best(column.figure)) for column in columns]
        cells = ["" if value is None else column.write(value) for column, value in found]
        lines.append([f"{row.contender.library} {row.contender.name}", *cells, _others(row.others(TIMES))])
    heads = ["contender", *(c.heading for c in columns), OTHERS]
    parts = [f"## {name}: {PROBLEMS[name].title}", table(heads, lines) if lines else "Nothing was run."]
    for row in rows:
        if row.absent:
            what = "Failed" if row.failed else "Left out"
            parts.append(f"{what}: {row.contender.library} {row.contender.name} ({row.absent}).")
    return "\n\n".join(parts)


def _targets(found: Sequence[Mapping[str, Any]], scale: float) -> str:
    words = {True: "reached", False: "MISSED"}
    lines = []
    for target in found:
        if target["reached"] is not None:
            cells = [
                target["what"],
                target["asked"],
                _got(target),
                _ending(target),
                words[target["reached"]],
            ]
            lines.append([*cells, _others(target["others"])])
    title = "## Targets (x: times better than the peer's)" + (", set for full size" if scale != 1 else "")
    heads = ["target", "asked", "got", "gap", "verdict", OTHERS]
    return f"{title}\n\n{table(heads, lines)}" if lines else ""


def _got(target: Mapping[str, Any]) -> str:
    """A ratio, that of losses with the digits that matter; or the figure itself."""
    got = target["got"]
    if target["at_least"] is None:
        return f"{got:.3g}"
    digits = 3 if target["figure"] not in TIMES else 1 if target["at_least"] >= 1 else 2
    return f"{got:.{digits}f}x"


def _ending(target: Mapping[str, Any]) -> str:
    """How far from the minimum ours ended, and the peer that counts."""
    if not target["gaps"]:
        return ""
    (_, rival), (ours, theirs) = target["compared"], target["gaps"]
    return f"{ours:.1e}, asked {target['gap']:g}; {rival.partition('/')[2]}: {theirs:.1e}"


def _agreements(found: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for pair in found:
        verdict = "agree" if pair["agree"] else "DIFFER"
        gaps = [f"{pair[figure]:.1e}" if figure in pair else "" for figure in ("log_loss", "accuracy")]
        lines.append([f"{pair['problem']} {pair['name']}", *gaps, verdict])
    title = f"## Quality, likelier against scikit-learn: relative difference, at most {TOLERANCE:g}"
    return f"{title}\n\n{table(['model', 'log-loss', 'acc', 'verdict'], lines)}" if lines else ""


def markdown(results: Mapping[str, Any], rows: Sequence[Row]) -> str:
    """All tables under their heading."""
    machine, settings = results["machine"], results["settings"]
    size = "full size" if settings["scale"] == 1 else f"{settings['scale']:g} of the rows"
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    heading = [
        f"# Race ({size}, {results['when'][:10]})",
        f"{settings['threads']} threads, {machine['cores']} cores, {machine['processor']}; best of "
        f"{settings['repeats']}; fresh processes for each contender, taken in turns.",
        LEGEND,
        f"Versions: {versions}.",
    ]
    names = dict.fromkeys(row.contender.problem for row in rows)
    problems = [_problem(name, [row for row in rows if row.contender.problem == name]) for name in names]
    parts = [
        *heading,
        *problems,
        _targets(results["targets"], settings["scale"]),
        _agreements(results["quality"]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in dict.fromkeys(["numpy", "scipy", *(c.library for c in CONTENDERS.values())]):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


def collect(rows: Sequence[Row], settings: Mapping[str, Any], when: str) -> dict[str, Any]:
    """Everything that was measured, on what, and what follows from it."""
    by_key = {row.contender.key: row for row in rows}
    memory = psutil.virtual_memory().total
    machine = {"processor": _processor(), "cores": os.cpu_count(), "memory_gb": round(memory / 1e9, 1)}
    return {
        "when": when,
        "settings": dict(settings),
        "machine": machine | {"system": platform.platform()},
        "versions": _versions(),
        "rows": [_row(row) for row in rows],
        "targets": verdicts(by_key),
        "quality": agreements(by_key),
    }


def _row(row: Row) -> dict[str, Any]:
    entry = {name: getattr(row.contender, name) for name in ("problem", "library", "name")}
    best = {c.figure: value for c in COLUMNS if (value := row.best(c.figure)) is not None}
    return entry | {"best": best, "repeats": row.trials, "absent": row.absent, "failed": row.failed}
