"""Runs the trials: every contender once in each repeat, so that a slow minute of the machine hits all."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.race.registry import PROBLEMS, Contender

ROOT = Path(__file__).resolve().parents[2]
AT_WORST = {"gap", "errors_off"}  # what a model leaves undone: the worst repeat counts, not the best
ENOUGH = 30  # seconds of a fit, after which a contender is not started again
SCRATCH = "LIKELIER_SCRATCH"  # the folder for the rows of problems, which are removed at their end
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LIKELIER_THREADS")


@dataclass
class Row:
    """A contender and its trials; `absent` says why there are none."""

    contender: Contender
    trials: list[dict[str, Any]] = field(default_factory=list)
    absent: str | None = None
    failed: bool = False

    def _best_trial(self, figure: str) -> dict[str, Any] | None:
        having = [t for t in self.trials if figure in t["figures"]]
        choose = max if figure in AT_WORST else min
        return choose(having, key=lambda t: t["figures"][figure], default=None)

    def best(self, figure: str) -> float | None:
        """The least of all repeats; of what is left undone, the most."""
        trial = self._best_trial(figure)
        return None if trial is None else trial["figures"][figure]

    def others(self, figures: Sequence[str]) -> float:
        """Cores that others took in the repeats from which these figures come: the most."""
        chosen = [trial for f in figures if (trial := self._best_trial(f)) is not None]
        return max((trial["others"] for trial in chosen), default=0.0)

    def wanted(self) -> bool:
        """Whether another trial is to be made."""
        return self.absent is None and (self.best("fit") or 0.0) <= ENOUGH


def _environment(threads: int) -> dict[str, str]:
    return os.environ | dict.fromkeys(THREAD_SETTINGS, str(threads))


def _try(row: Row, folder: Path, threads: int) -> None:
    """One trial in a fresh process; what it says is kept in the row."""
    command = [sys.executable, "-m", "benchmarks.race.trial", row.contender.key, str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, env=_environment(threads), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        row.failed = True
        row.absent = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return
    said = json.loads(done.stdout.strip().splitlines()[-1])
    row.absent = said.get("skipped")
    if row.absent is None:
        row.trials.append(said)


def _say(row: Row, repeat: int, repeats: int) -> None:
    said = row.absent or ", ".join(f"{k} {v:.4g}" for k, v in row.trials[-1]["figures"].items())
    print(f"{repeat + 1}/{repeats} {row.contender.key}: {said}", file=sys.stderr, flush=True)


def race(contenders: Sequence[Contender], *, repeats: int, scale: float, threads: int) -> list[Row]:
    """All trials of all contenders, problem by problem; every other repeat in reverse order."""
    rows = [Row(c) for c in contenders]
    for problem in dict.fromkeys(c.problem for c in contenders):
        entered = [row for row in rows if row.contender.problem == problem]
        with tempfile.TemporaryDirectory(prefix="race-", dir=os.environ.get(SCRATCH)) as name:
            folder = Path(name)
            try:
                data = PROBLEMS[problem].make(scale)
            except FileNotFoundError as missing:  # rows of files that not everybody has
                for row in entered:
                    row.absent = str(missing)
                continue
            if data is not None:
                data.save(folder)
                del data
            for repeat in range(repeats):
                for row in entered[:: -1 if repeat % 2 else 1]:
                    if row.wanted():
                        _try(row, folder, threads)
                        _say(row, repeat, repeats)
    return rows
