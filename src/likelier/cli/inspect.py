"""`likelier inspect`: what a model file holds, and what the model has learned."""

import json
import math
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likelier.cli.arguments import examples, size_of
from likelier.display import counted

if TYPE_CHECKING:
    from likelier.saving.describe import Description

# What a fitted model has learned, as a small table: weights, or means by class.

MOST_ROWS, MOST_COLUMNS = 30, 8  # beyond which a table tells nobody anything


class Learned(NamedTuple):
    """A row for each column that the model takes, a column for each class, component or target."""

    title: str
    heads: list[str]
    names: list[str]
    values: NDArray[np.float64]  # (p, K)
    spread: NDArray[np.float64] | None = None  # (p, K) standard deviations

    def lines(self) -> list[str]:
        """The table, unless it is too wide."""
        if len(self.heads) > MOST_COLUMNS:
            return []
        cells = [[f"{value:.5g}" for value in row] for row in self.values]
        if self.spread is not None:
            cells = [
                [f"{cell} ± {sd:.3g}" for cell, sd in zip(row, sds, strict=True)]
                for row, sds in zip(cells, self.spread, strict=True)
            ]
        table = [[self.title, *self.heads]]
        table += [[name, *row] for name, row in zip(self.names, cells, strict=True)][:MOST_ROWS]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        shown = [
            "  ".join(
                [
                    f"{row[0]:<{widths[0]}}",
                    *(f"{cell:>{w}}" for cell, w in zip(row[1:], widths[1:], strict=True)),
                ]
            )
            for row in table
        ]
        more = len(self.names) - MOST_ROWS
        return [*shown, *([f"and {more} more"] if more > 0 else [])]


def learned(model: Any) -> Learned | None:
    """Weights of what is linear, means of what is Gaussian; None: neither, or none that can be shown."""
    named = [str(name) for name in getattr(model, "feature_names_in_", [])]
    names = named or [f"x{j}" for j in range(getattr(model, "n_features_in_", 0))]
    for of in (_weights, _means):
        found = of(model, names)
        if found is not None:
            return found
    return None


def _weights(model: Any, names: list[str]) -> Learned | None:
    coef = getattr(model, "coef_", None)
    if coef is None or hasattr(coef, "tocsr"):
        return None
    W = np.atleast_2d(np.asarray(coef, dtype=np.float64))  # (K, p)
    b = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64).ravel(), len(W))
    if W.ndim != 2 or W.shape[1] != len(names):
        return None
    classes = [str(label) for label in getattr(model, "classes_", ())]
    values = ["y"] if len(W) == 1 else [f"y{k}" for k in range(len(W))]
    heads = classes[-len(W) :] or values  # of two classes the weights of the second
    return Learned("weights", heads, [*names, "(intercept)"], np.vstack([W.T, b]))


def _means(model: Any, names: list[str]) -> Learned | None:
    mean = getattr(model, "theta_", getattr(model, "means_", None))
    if mean is None or np.ndim(mean) != 2 or np.shape(mean)[1] != len(names):
        return None
    variance = getattr(model, "var_", None)
    of = getattr(model, "component_classes_", None)  # of a mixture in each class
    labels = of if of is not None else getattr(model, "classes_", range(len(mean)))
    spread = None if variance is None else np.sqrt(variance).T
    return Learned("means", [str(label) for label in labels], names, np.asarray(mean).T, spread)


def fitted(model: Any) -> str | None:
    """How an iterative fit went."""
    if not hasattr(model, "n_iter_") or model.n_iter_ is None:
        return None
    steps = int(np.max(model.n_iter_))
    said = f"{steps:,} iteration{'' if steps == 1 else 's'}"
    converged, why = getattr(model, "converged_", None), getattr(model, "stop_reason_", None)
    if converged is not None:
        said += ", converged" if converged else ", not converged"
    said += f": {why}" if why else ""
    chosen = [
        f"{name}={value:g}"
        for name in ("C", "l1_ratio", "alpha")
        if _is_one(value := getattr(model, f"{name}_", None))
    ]
    mistakes = getattr(model, "mistakes_", None)
    said += f"; chosen {', '.join(chosen)}" if chosen else ""
    return said + (f"; {int(np.sum(mistakes)):,} mistakes on the way" if mistakes is not None else "")


def _is_one(value: Any) -> bool:
    return isinstance(value, float | int | np.number)


def changed(model: Any) -> dict[str, Any]:
    """The hyper-parameters that are not as by default."""
    given = model.get_params(deep=False)
    usual = type(model)().get_params(deep=False)
    return {name: value for name, value in given.items() if repr(value) != repr(usual[name])}


# `likelier inspect`: what is in a model file.

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
    from likelier.saving.describe import describe

    found = describe(options.model)
    inside = _inside(options.model, found)
    if options.json:
        print(json.dumps(_plain(_all(found, inside)), indent=1))
    else:
        print("\n".join(_lines(found, inside)))


class Inside(NamedTuple):
    """What only the model itself can say."""

    changed: dict[str, Any]
    learned: "Learned | None"
    fitted: str | None


def _inside(path: str, found: "Description") -> Inside:
    """Of a model that is quickly built."""
    if found.online is not None:
        from likelier.saving.online import FITTING
        from likelier.streams.model import Settings

        usual = vars(Settings()) | FITTING
        return Inside(
            {name: value for name, value in found.params.items() if value != usual.get(name, usual)},
            None,
            None,
        )
    if found.size > MOST_BYTES:
        return Inside(found.params, None, None)
    from likelier.saving.models import load

    model = load(path)
    alone = found.n_features is None  # its weights are its hyper-parameters
    return Inside({} if alone else changed(model), learned(model), fitted(model))


def _lines(found: "Description", inside: Inside) -> list[str]:
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


def _facts(found: "Description", inside: Inside) -> Iterator[tuple[str, str]]:
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
            yield "columns", _some(found.feature_names)
    elif found.n_features is None:  # weights alone
        yield "classes", _some([str(label) for label in found.params["classes"]])
    else:
        yield "columns", f"{found.n_features}: {_some(_named(found))}"
        if inside.fitted is not None:
            yield "fit", inside.fitted
        kept = "kept: it can learn on" if found.statistics else "none: it predicts, and learns no more"
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


def _some(words: list[str]) -> str:
    return ", ".join(words[:20]) + (f" and {len(words) - 20} more" if len(words) > 20 else "")


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


def _all(found: "Description", inside: Inside) -> dict[str, Any]:
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
