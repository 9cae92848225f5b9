"""`likelier merge`: models that were trained separately, made one."""

import os
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likelier.cli.arguments import examples, noting, place, say, size_of
from likelier.cli.train import KEPT
from likelier.display import counted

if TYPE_CHECKING:
    from likelier.saving.format import Description


def add(commands: Any) -> None:
    """The arguments."""
    parser = commands.add_parser(
        "merge",
        help="one model of several that were trained separately, exactly",
        description="One model of several that were trained separately, each on its rows: equal to the one "
        "that all rows together would have given. They must be of one kind, with the same "
        "hyper-parameters, columns and classes, and have kept their statistics, as they do by default.",
        epilog=examples(
            "likelier merge north.lk south.lk -o all.lk",
            "likelier merge days/*.lk --classes union -o all.lk",
        ),
    )
    parser.add_argument("models", nargs="+", metavar="A.lk", help="models that were saved")
    parser.add_argument(
        "-o", "--output", type=place, required=True, metavar="M.lk", help="where to save the one model"
    )
    parser.add_argument(
        "--classes", choices=["union"], help="union: join classes that some of the models have not met"
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Merge, save, and say in a line what came out."""
    from likelier.cli.progress import each
    from likelier.estimators.merge import merge
    from likelier.saving import format
    from likelier.saving.format import describe
    from likelier.saving.models import load, save

    format.place_for(Path(options.output))
    _check_once(options.models)
    about = _about({path: describe(path) for path in options.models})
    models = {path: load(path) for path in each(options.models, "models")}
    with noting():
        try:
            merged = merge(models, classes=options.classes)
        except ValueError as problem:  # said as it is said here
            raise ValueError(
                str(problem).replace("merge with classes='union'", "--classes union")
            ) from None
    save(merged, options.output, about=about)
    print(_came_out(options, describe(options.output)))


def _check_once(paths: list[str]) -> None:
    """Refuse a file that is named twice: its rows would count twice."""
    seen: dict[str, str] = {}
    for path in paths:
        real = os.path.realpath(path)
        if real in seen:
            raise ValueError(f"{path} is named twice: its rows would count twice")
        seen[real] = path


def _about(models: "dict[str, Description]") -> dict[str, Any]:
    """What is said of all of them: the target must be one, and the weights should be."""
    targets, weights = (
        {path: one.about[key] for path, one in models.items() if key in one.about}
        for key in ("target", "weight")
    )
    (first, target), *others = targets.items() if targets else [("", None)]
    for path, other in others:
        if other != target:
            raise ValueError(
                f"{path} predicts {other!r}, and {first} {target!r}: models with different "
                "targets cannot be merged"
            )
    if len(set(weights.values())) > 1:
        named = ", ".join(f"{path}: {weight or 'none'}" for path, weight in weights.items())
        say(f"note: rows were weighed by other columns ({named}); the weights count as they are")
        weights = {}
    weight = {"weight": next(iter(weights.values()))} if weights else {}
    read = {key: value for one in models.values() for key, value in one.about.items() if key in KEPT}
    return {**({"target": target} if targets else {}), **weight, **read}


def _came_out(options: Namespace, saved: "Description") -> str:
    assert saved.n_features is not None
    rows = "their rows" if saved.weight is None else counted(saved.weight, "row")
    if saved.about.get("weight"):
        rows = f"rows of weight {saved.weight:g}"
    found = [f"{rows} in all", counted(saved.n_features, "column")]
    found += [] if saved.classes is None else [counted(len(saved.classes), "class")]
    parts = counted(len(options.models), "model")
    return f"{saved.estimator} from {parts}: {', '.join(found)}: {options.output} ({size_of(saved.size)})"
