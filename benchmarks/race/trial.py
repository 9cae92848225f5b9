"""One contender, once: the process that the race starts. Prints its figures as one line of JSON."""

import json
import sys
from pathlib import Path
from typing import Any

import benchmarks.race.entries  # noqa: F401
from benchmarks.race.meters import OtherProcesses
from benchmarks.race.registry import CONTENDERS, PROBLEMS


def run(key: str, folder: Path) -> dict[str, Any]:
    """Figures and the cores others took meanwhile, or why the contender cannot take part."""
    contender = CONTENDERS[key]
    problem = PROBLEMS[contender.problem]
    try:
        contender.make()
    except ModuleNotFoundError as missing:
        return {"skipped": str(missing)}
    data = problem.load(folder) if any(folder.iterdir()) else None
    others = OtherProcesses()
    figures = problem.measure(contender.make, data)
    return {"figures": figures, "others": others.cores()}


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], Path(sys.argv[2]))))
