"""`likelier inspect`: what is in a model file."""

import json
import math
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from likelier.cli.arguments import examples, size_of
from likelier.display import counted, some_of

if TYPE_CHECKING:
    from likelier.cli.model_summary import LearnedTable
    from likelier.saving.format import Description

MOST_LINES = 30
MOST_BYTES = 10 << 20  # of a file that is read whole, for what its header does not say


def add(commands: Any) -> None:
    """The arguments."""
    parser = commands.add_parser(
        "inspect",
        help="what is in a model file",
        description="What a model file holds: the model, hyper-parameters that are not as by default, "
        "classes and columns, what it has learned from, how the fit went, and, of small models, weights or "
        "means. Nothing in the file is run.",
        epilog=examples("likelier inspect iris.lk", "likelier inspect iris.lk --json"),
    )
    parser.add_argument("model", metavar="M.lk", help="a model that was saved")
    parser.add_argument("--json", action="store_true", help="all of it, as JSON")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Print what the file says."""
    from likelier.saving.format import describe

    found = describe(options.model)
    inside = _inside(options.model, found)
    if options.json:
        print(json.dumps(_plain(_all(found, inside)), indent=1))
    else:
        print("\n".join(_lines(found, inside)))


class ModelContents(NamedTuple):
    """What only the model itself can say."""

    changed: dict[str, Any]
    learned: "LearnedTable | None"
    fitted: str | None


def _inside(path: str, found: "Description") -> ModelContents:
    """Of a model that is quickly built."""
    if found.online is not None:
        from likelier.saving.online import FITTING
        from likelier.streams.model import Settings

        usual = vars(Settings()) | FITTING
        return ModelContents(
            {name: value for name, value in found.params.items() if value != usual.get(name, usual)},
            None,
            None,
        )
    if found.size > MOST_BYTES:
        return ModelContents(found.params, None, None)
    from likelier.cli.model_summary import changed, fitted, learned
    from likelier.saving.models import load

    model = load(path)
    alone = found.n_features is None  # its weights are its hyper-parameters
    return ModelContents({} if alone else changed(model), learned(model), fitted(model))


def _lines(found: "Description", inside: ModelContents) -> list[str]:
    alone = found.n_features is None and found.online is None  # its weights are its hyper-parameters
    params = ", ".join(f"{name}={value!r}" for name, value in inside.changed.items())
    lines = [found.estimator if alone else f"{found.estimator}({params})"]
    lines += [f"{name:<9} {said}" for name, said in _facts(found, inside)]
    if found.classes is not None:
        lines += ["", *_classes(found)]
    table = [] if inside.learned is None else inside.learned.lines()
    date = found.modified.strftime("%Y-%m-%d %H:%M")
    lines += ["", *table] if table else []
    return [*lines, "", f"{size_of(found.size)}, written by likelier {found.likelier}, {date} UTC"]


def _facts(found: "Description", inside: ModelContents) -> Iterator[tuple[str, str]]:
    """What is said in a line each."""
    about = found.about
    if about.get("target"):
        yield "target", about["target"]
    if about.get("types"):
        yield "types", ", ".join(f"{name}={kind}" for name, kind in about["types"].items())
    if about.get("missing") is not None:
        yield "missing", ", ".join(map(repr, ["", *about["missing"]]))
    if about.get("delimiter") is not None:
        yield "delimiter", repr(about["delimiter"])
    if about.get("header") is False:
        yield "header", "none: columns are called by their number"
    if found.weight is not None:
        gone = f", {counted(found.missing, 'missing cell')}" if found.missing else ""
        by = f" (weights: {about['weight']})" if about.get("weight") else ""
        yield "rows", f"{found.weight:,.15g}{by}{gone}"
    if found.online is not None:
        yield from _online(found.online, found.params["bits"])
        if found.feature_names:
            yield "columns", some_of(found.feature_names, 20)
    elif found.n_features is None:  # weights alone
        yield "classes", some_of([str(label) for label in found.params["classes"]], 20)
    else:
        yield "columns", f"{found.n_features}: {some_of(_named(found), 20)}"
        if inside.fitted is not None:
            yield "fit", inside.fitted
        kept = (
            "kept: it can continue training"
            if found.statistics
            else "none: it predicts, and cannot continue training"
        )
        yield "statistics", kept


def _named(found: "Description") -> list[str]:
    """The columns, with their families where each has one."""
    if found.families is None:
        return found.feature_names or ["without names"]
    names = found.feature_names or [f"x{j}" for j in range(len(found.families))]
    return [f"{name} ({family})" for name, family in zip(names, found.families, strict=True)]


def _online(met: dict[str, float], bits: int) -> Iterator[tuple[str, str]]:
    """What a model that learns row by row has met."""
    steps, collided = max(met["steps"], 1), met["collisions"] / max(met["cells"], 1)
    odd = [f"{counted(met['skipped'], 'cell')} not finite, and skipped"] if met["skipped"] else []
    odd += [f"{counted(met['clipped'], 'step')} cut short"] if met["clipped"] else []
    on_the_way = f"{counted(met['mistakes'], 'mistake')} on the way ({met['mistakes'] / steps:.2%})"
    yield "steps", f"{met['steps']:,}, {on_the_way}"
    yield "weights", f"{met['used']:,} of {2**bits:,} taken; {collided:.2%} of cells share another's"
    if odd:
        yield "", "; ".join(odd)


def _classes(found: "Description") -> list[str]:
    """A line for each class: label, rows, prior."""
    assert found.classes is not None
    labels = [str(label) for label in found.classes.tolist()]
    rows = [""] * len(labels) if found.counts is None else [f"{n:,.10g}" for n in found.counts]
    priors = [""] * len(labels) if found.priors is None else [f"{share:.4f}" for share in found.priors]
    table = [
        ("class", "rows" if found.counts is not None else "", "" if found.priors is None else "prior"),
        *zip(labels, rows, priors, strict=True),
    ]
    a, b, c = (max(len(row[i]) for row in table) for i in range(3))
    lines = [f"{label:<{a}}  {n:>{b}}  {prior:>{c}}".rstrip() for label, n, prior in table]
    more = len(lines) - 1 - MOST_LINES
    return [*lines[: MOST_LINES + 1], *([f"and {more} more"] if more > 0 else [])]


def _all(found: "Description", inside: ModelContents) -> dict[str, Any]:
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
        "fit": inside.fitted,
        "learned": None if inside.learned is None else inside.learned._asdict(),
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
