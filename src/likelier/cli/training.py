"""`likelier train`: a model from a table, into a file."""

import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likelier.cli.words import (
    MODELS,
    add_columns,
    add_settings,
    add_table,
    check_columns,
    counted,
    files,
    model_named,
    noting,
    opened,
    same,
    say,
    size_of,
    spare,
)

if TYPE_CHECKING:
    from likelier.data import Stored


def add(commands: Any) -> None:
    """The arguments."""
    parser = commands.add_parser(
        "train",
        help="fit a model to a table of any size, and save it",
        description="Fit a model to the rows of files, which may be larger than memory, and save it.",
        epilog="example: likelier train iris.csv --target species --model lda --set shrinkage=auto "
        "--set solver=lsqr -o iris.lk",
    )
    add_table(parser)
    add_columns(parser)
    parser.add_argument("--model", metavar="M", help=", ".join(MODELS))
    add_settings(parser, "a hyper-parameter, for example reg_param=0.1")
    parser.add_argument(
        "--resume", metavar="OLD.lk", help="go on from a model that was saved: all rows count"
    )
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument(
        "--with-statistics", action="store_true", help="a file that can be resumed and merged (the default)"
    )
    kept.add_argument(
        "--no-statistics", action="store_true", help="a smaller file, which cannot be resumed or merged"
    )
    parser.add_argument(
        "--checkpoint", metavar="FILE", help="keeps what is done: the same command goes on from there"
    )
    parser.add_argument("-o", "--output", required=True, metavar="M.lk", help="where to save the model")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Fit or go on, save, and say in a line what was learned."""
    from likelier.cli.progress import showing
    from likelier.estimators.checkpoints import kept
    from likelier.saving import disk
    from likelier.saving.models import save

    disk.place_for(Path(options.output))  # before hours of work, not after
    model = _resumed(options) if options.resume else _new(options)
    source = opened(options)
    spare(options.output, files(options))
    _check(model, source)
    start = time.perf_counter()
    # Until the model is saved, for its disk may be full.
    with _staying(options.checkpoint), kept(model, options.checkpoint):
        with noting(), showing():
            (model.partial_fit if options.resume else model.fit)(source)
        seconds = time.perf_counter() - start
        about = {"target": ", ".join(source.targets), "weight": options.weight}
        save(model, options.output, statistics=not options.no_statistics, about=about)
    print(_learned(model, options, seconds))


@contextmanager
def _staying(checkpoint: str | None) -> Iterator[None]:
    """Whoever is interrupted is told that not all is lost."""
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is not None and Path(checkpoint).exists():
            say(f"{checkpoint} has what was done: the same command goes on from there")
        raise


def _new(options: Namespace) -> Any:
    from likelier.estimators.checkpoints import Resumable

    if options.model is None:
        raise ValueError(f"--model is needed: one of {', '.join(MODELS)}")
    model = model_named(options.model)().set_params(**dict(options.settings))
    if options.checkpoint is not None and not isinstance(model, Resumable):
        raise ValueError(
            f"--checkpoint is for models that are fitted by passes over rows, and {type(model).__name__} "
            "takes a step at each: train it on some files, and go on with others by --resume"
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
        raise ValueError("--checkpoint is for a fit, and --resume goes on from one: leave one of them out")
    for given, argument in ((options.settings, "--set"), (options.features, "--features")):
        if given:
            raise ValueError(
                f"{argument} cannot be changed with --resume: {options.resume} goes on as it is"
            )
    options.features = list(getattr(model, "feature_names_in_", [])) or None
    return model


def _check(model: Any, source: "Stored") -> None:
    """Columns of the wrong kind are refused before anything is read, with what to do about them here."""
    from likelier.data import columns_of

    who = type(model).__name__
    check_columns(source, columns_of(source), model)
    if who in ("LinearRegression", "Ridge"):
        for name, kind in source.others(source.targets).items():
            raise ValueError(
                f"target {name!r} holds {kind}: {who} predicts numbers; for classes take gaussian-nb, lda "
                "or qda"
            )


def _learned(model: Any, options: Namespace, seconds: float) -> str:
    from likelier.saving.describing import describe

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
