"""`likelier inspect`: what is in a model file."""

import json
import math
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from likelier.cli.words import counted, size_of

if TYPE_CHECKING:
    from likelier.saving.describing import Description

MOST_LINES = 30


def add(commands: Any) -> None:
    """The arguments."""
    parser = commands.add_parser(
        "inspect",
        help="what is in a model file",
        description="What a model file holds: the model, its hyper-parameters, classes and columns, and "
        "what it has learned from. Nothing in the file is run.",
        epilog="example: likelier inspect iris.lk",
    )
    parser.add_argument("model", metavar="M.lk", help="a model that was saved")
    parser.add_argument("--json", action="store_true", help="all of it, as JSON")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Print what the file says."""
    from likelier.saving.describing import describe

    found = describe(options.model)
    print(json.dumps(_plain(_all(found)), indent=1) if options.json else "\n".join(_lines(found)))


def _lines(found: "Description") -> list[str]:
    params = ", ".join(f"{name}={value!r}" for name, value in found.params.items())
    alone = found.n_features is None and found.online is None  # its weights are its hyper-parameters
    lines = [found.estimator if alone else f"{found.estimator}({params})"]
    if "target" in found.about:
        lines.append(f"target    {found.about['target']}")
    if found.weight is not None:
        gone = f", {counted(found.missing, 'missing cell')}" if found.missing else ""
        by = f" (weights: {found.about['weight']})" if found.about.get("weight") else ""
        lines.append(f"rows      {found.weight:,.15g}{by}{gone}")
    if found.online is not None:
        lines += _online(found.online, found.params["bits"])
    if found.online is not None:
        lines += [f"columns   {_some(found.feature_names)}"] if found.feature_names else []
    elif found.n_features is None:  # weights alone
        lines.append(f"classes   {_some([str(label) for label in found.params['classes']])}")
    else:
        named = found.feature_names or ["without names"]
        if found.families is not None:
            names = found.feature_names or [f"x{j}" for j in range(len(found.families))]
            named = [f"{name} ({family})" for name, family in zip(names, found.families, strict=True)]
        lines.append(f"columns   {found.n_features}: {_some(named)}")
        kept = "kept: it can learn on" if found.statistics else "none: it predicts, and learns no more"
        lines.append(f"statistics {kept}")
    if found.classes is not None:
        lines += ["", *_classes(found)]
    date = found.modified.strftime("%Y-%m-%d %H:%M")
    return [*lines, "", f"{size_of(found.size)}, written by likelier {found.likelier}, {date} UTC"]


def _online(met: dict[str, float], bits: int) -> list[str]:
    """What a model that learns row by row has met."""
    steps, collided = max(met["steps"], 1), met["collisions"] / max(met["cells"], 1)
    odd = [f"{counted(met['skipped'], 'cell')} not finite, and skipped"] if met["skipped"] else []
    odd += [f"{counted(met['clipped'], 'step')} cut short"] if met["clipped"] else []
    return [
        f"steps     {met['steps']:,}, {counted(met['mistakes'], 'mistake')} on the way "
        f"({met['mistakes'] / steps:.2%})",
        f"weights   {met['used']:,} of {2**bits:,} taken; {collided:.2%} of cells share another's",
        *([f"          {'; '.join(odd)}"] if odd else []),
    ]


def _some(words: list[str]) -> str:
    return ", ".join(words[:20]) + (f" and {len(words) - 20} more" if len(words) > 20 else "")


def _classes(found: "Description") -> list[str]:
    """A line for each class: label, rows, prior."""
    assert found.classes is not None
    labels = [str(label) for label in found.classes.tolist()]
    rows = [""] * len(labels) if found.counts is None else [f"{n:,.15g}" for n in found.counts]
    priors = [""] * len(labels) if found.priors is None else [f"{share:.4f}" for share in found.priors]
    table = [
        ("class", "rows" if found.counts is not None else "", "" if found.priors is None else "prior"),
        *zip(labels, rows, priors, strict=True),
    ]
    a, b, c = (max(len(row[i]) for row in table) for i in range(3))
    lines = [f"{label:<{a}}  {n:>{b}}  {prior:>{c}}".rstrip() for label, n, prior in table]
    more = len(lines) - 1 - MOST_LINES
    return [*lines[: MOST_LINES + 1], *([f"and {more} more"] if more > 0 else [])]


def _all(found: "Description") -> dict[str, Any]:
    held = {key: value for key, value in vars(found).items() if key != "header"}
    arrays = {
        name: {key: entry[key] for key in ("dtype", "shape")}
        for name, entry in found.header["arrays"].items()
    }
    return {
        **held,
        "modified": found.modified.isoformat(),
        "format": found.header["version"],
        "arrays": arrays,
    }


def _plain(value: Any) -> Any:
    """As JSON has it: numbers that it has not become words."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
