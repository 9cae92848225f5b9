"""`likelier train`: a model from a table, into a file."""

import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likelier.cli.arguments import (
    add_columns,
    add_settings,
    add_table,
    check_columns,
    examples,
    files,
    model_named,
    noting,
    opened,
    place,
    same,
    say,
    size_of,
    spare,
)
from likelier.display import counted
from likelier.estimators.catalogue import MODELS, command_names

if TYPE_CHECKING:
    from likelier.data import Stored

KEPT = ("types", "missing", "delimiter", "header")  # which rows to be answered are read by, too


def add(commands: Any) -> None:
    """The arguments."""
    parser = commands.add_parser(
        "train",
        help="fit a model to a table of any size, and save it",
        description="Fit a model to the rows of files, which may be larger than memory, and save it. "
        "Without --model it is naive-bayes, which takes numbers, categories and missing cells alike; for "
        "sparse rows logistic-regression, and for a target of fractional numbers ridge. What is drawn at "
        "random is drawn alike each time; --set random_state=1 draws otherwise.",
        epilog=examples(
            "likelier train iris.csv --target species -o iris.lk",
            "likelier train iris.csv --target species --model lda --set store_covariance=true -o lda.lk",
            "likelier train 'sales/*.parquet' --target price --model ridge --weight pieces -o m.lk",
            "likelier train people.csv --target income --types zip=category,born=date --missing -9 -o m.lk",
            "likelier train new.csv --target species --resume iris.lk -o iris.lk",
            "likelier train huge.csv.gz --target y --model logistic-regression --checkpoint fit.ck -o m.lk",
        ),
    )
    add_table(parser)
    add_columns(parser)
    model = parser.add_argument_group("model")
    model.add_argument("--model", metavar="M", help=", ".join(command_names()))
    add_settings(model, "a hyper-parameter, for example reg_param=0.1")
    model.add_argument("--resume", metavar="OLD.lk", help="continue training a saved model: all rows count")
    out = parser.add_argument_group("what is written")
    out.add_argument(
        "-o", "--output", type=place, required=True, metavar="M.lk", help="where to save the model"
    )
    kept = out.add_mutually_exclusive_group()
    kept.add_argument(
        "--with-statistics", action="store_true", help="a file that can be resumed and merged (the default)"
    )
    kept.add_argument(
        "--no-statistics", action="store_true", help="a smaller file, which cannot be resumed or merged"
    )
    out.add_argument(
        "--checkpoint",
        type=place,
        metavar="FILE",
        help="keeps what is done: the same command continues from there",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Fit or go on, save, and say in a line what was learned."""
    from likelier.cli.progress import showing
    from likelier.estimators.base import kept
    from likelier.saving import format
    from likelier.saving.models import save

    format.place_for(Path(options.output))  # before hours of work, not after
    before = _about(options)
    model = _resumed(options) if options.resume else None
    if model is None and options.model is not None:
        model = _new(options)  # what is wrong with it is said before anything is read
    source = opened(options, before)
    spare(options.output, files(options))
    if model is None:
        options.model = _suited(source)
        model = _new(options)
    _check(model, source, options)
    start = time.perf_counter()
    # Until the model is saved, for its disk may be full.
    with _staying(options.checkpoint), kept(model, options.checkpoint):
        with noting(), showing():
            (model.partial_fit if options.resume else model.fit)(source)
        seconds = time.perf_counter() - start
        about = before | {"target": ", ".join(source.targets), "weight": options.weight}
        about |= {key: getattr(options, key) for key in KEPT if getattr(options, key) is not None}
        save(model, options.output, statistics=not options.no_statistics, about=about)
    print(_learned(model, options, seconds))


def _about(options: Namespace) -> dict[str, Any]:
    """What the model to go on from says of the table that it learned from."""
    from likelier.saving.format import describe

    return dict(describe(options.resume).about) if options.resume else {}


def _suited(source: "Stored") -> str:
    """The model where none is named, by what the target looks like."""
    from likelier.data.files.scan import Scan
    from likelier.data.frames import is_fractional

    if not isinstance(source, Scan):
        name, why = "logistic-regression", "classes, and sparse rows"
    elif is_fractional(source.files[0].types[source.targets[0]]):
        name, why = "ridge", "a target of fractional numbers"
    else:
        name, why = "naive-bayes", "classes"
    say(f"note: --model {name}, for {why}; likelier compare shows which one suits")
    return name


@contextmanager
def _staying(checkpoint: str | None) -> Iterator[None]:
    """Whoever is interrupted is told that not all is lost."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is not None and Path(checkpoint).exists():
            say(f"{checkpoint} has what was done: the same command continues from there")
        raise


def _new(options: Namespace) -> Any:
    from likelier.estimators.base import takes_checkpoints
    from likelier.estimators.deprecated import settled

    model = settled(model_named(options.model)().set_params(**dict(options.settings)))
    # The same command gives the same model, also where rows are taken in a random order.
    if "random_state" in model.get_params() and model.random_state is None:
        model.set_params(random_state=0)
    if options.checkpoint is not None and not takes_checkpoints(model):
        raise ValueError(
            f"--checkpoint is for models that are fitted by passes over rows, and {type(model).__name__} "
            "takes a step at each: train it on some files, and continue with others by --resume"
        )
    if options.checkpoint is not None and same(options.checkpoint, options.output):
        raise ValueError("--checkpoint is removed when the model is saved: name another file than -o")
    return model


def _resumed(options: Namespace) -> Any:
    """The saved model, which knows its kind, hyper-parameters and columns."""
    from likelier.saving.models import load

    model = load(options.resume)
    kind = type(model).__name__
    if not hasattr(model, "partial_fit"):
        raise ValueError(f"{options.resume} is a {kind}: it does not learn")
    if options.model is not None and model_named(options.model) is not type(model):
        raise ValueError(f"{options.resume} is a {kind}, and --model {options.model} another model")
    if options.checkpoint is not None:
        raise ValueError(
            "--checkpoint is for a fit, and --resume continues from one: leave one of them out"
        )
    for given, argument in ((options.settings, "--set"), (options.features, "--features")):
        if given:
            raise ValueError(
                f"{argument} cannot be changed with --resume: {options.resume} keeps its own settings"
            )
    options.features = list(getattr(model, "feature_names_in_", [])) or None
    return model


def _check(model: Any, source: "Stored", options: Namespace) -> None:
    """Columns of the wrong kind are refused before anything is read, with what to do about them here."""
    from likelier.data import columns_of

    who = type(model).__name__
    check_columns(source, columns_of(source), model)
    if MODELS[who].kind == "regression":
        for name, kind in source.others(source.targets).items():
            raise ValueError(
                f"target {name!r} holds {kind}: {who} predicts numbers; for classes take gaussian-nb, lda "
                "or qda"
            )
    elif not options.resume:
        _check_classes(source)


def _check_classes(source: "Stored") -> None:
    """Refuse a target of which every row has a value of its own; say so if most have."""
    from likelier.data.files.scan import Scan

    if not isinstance(source, Scan) or source.rows is not None:  # then the fit warns
        return
    found, rows = source.some_labels()
    if found is None or rows <= 20 or len(found) <= rows / 2:
        return
    target = f"target {source.targets[0]!r}"
    if len(found) < rows:
        say(f"note: {target} has {len(found):,} classes in {rows:,} rows: is it an id, or a number?")
        return
    raise ValueError(
        f"{target} has a class of its own for each of {rows:,} rows. Is it an id, or a number (--model "
        "ridge)? Name a column of classes: --target Y"
    )


def _learned(model: Any, options: Namespace, seconds: float) -> str:
    from likelier.saving.format import describe

    saved = describe(options.output)
    n = saved.weight
    rows = "its rows" if n is None else counted(n, "row")
    if options.weight is not None and n is not None:
        rows = f"rows of weight {n:g}"
    rows += " in all" if options.resume else ""
    classes = getattr(model, "classes_", None)
    columns = getattr(model, "n_features_in_", None)  # none of one that takes any features
    found = [rows] if columns is None else [rows, counted(columns, "column")]
    found += [] if classes is None else [counted(len(classes), "class")]
    learned = f"{type(model).__name__} from {', '.join(found)}"
    return f"{learned} in {seconds:.2f} s: {options.output} ({size_of(saved.size)})"
