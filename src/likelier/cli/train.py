"""`likelier train`: a model from a table, into a file."""

import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
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
from likelier.estimators.catalogue import MODELS, command_names, row_named

if TYPE_CHECKING:
    from likelier.comparison import Comparison, Result
    from likelier.comparison.models import CandidateModel
    from likelier.data import Stored

BEST, HELD_OUT = "best", 10
KEPT = (
    "types",
    "missing",
    "delimiter",
    "header",
)  # which rows to be answered are read by, too


def add(commands: Any) -> None:
    """The arguments."""
    parser = commands.add_parser(
        "train",
        help="fit a model to a table of any size, and save it",
        description="Fit a model to the rows of files, which may be larger than memory, and save it. "
        "Without --model all models are compared on a sample of the rows, and the best one is fitted to "
        "all of them. --model M fits that one: to a table of numbers as it is, to one with categories, "
        "dates or text as likelier compare prepares it. What is drawn at random is drawn alike each time; "
        "--set random_state=1 draws otherwise.",
        epilog=examples(
            "likelier train iris.csv --target species -o iris.lk",
            "likelier train titanic.csv --target survived --model logistic-regression -o titanic.lk",
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
    model.add_argument(
        "--model",
        metavar="M",
        help=f"best (the default), {', '.join(command_names())}, or a row of likelier compare, such as "
        "'NaiveBayes, weighted'",
    )
    add_settings(model, "a hyper-parameter, for example reg_param=0.1")
    model.add_argument("--resume", metavar="OLD.lk", help="continue training a saved model: all rows count")
    out = parser.add_argument_group("what is written")
    out.add_argument(
        "-o", "--output", type=place, required=True, metavar="M.lk", help="where to save the model"
    )
    kept = out.add_mutually_exclusive_group()
    kept.add_argument(
        "--with-statistics",
        action="store_true",
        help="a file that can be resumed and merged (the default)",
    )
    kept.add_argument(
        "--no-statistics",
        action="store_true",
        help="a smaller file, which cannot be resumed or merged",
    )
    out.add_argument(
        "--checkpoint",
        type=place,
        metavar="FILE",
        help="keeps what is done: the same command continues from there",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Fit or continue training, save, and say in a line what was learned."""
    from likelier.cli.progress import showing
    from likelier.estimators.base import kept
    from likelier.saving import format
    from likelier.saving.models import save

    format.place_for(Path(options.output))  # before hours of work, not after
    before = _about(options)
    model = _resumed(options) if options.resume else None
    best = model is None and options.model in (None, BEST)
    if model is None and not best:
        model = _new(options)  # what is wrong with it is said before anything is read
    source = opened(options, before)
    spare(options.output, files(options))
    start = time.perf_counter()
    # Until the model is saved, for its disk may be full.
    with _staying(options.checkpoint):
        if model is None or not (options.resume or _takes(model, source)):
            model = _prepared(model, source, options)
        else:
            _check(model, source, options)
            with kept(model, options.checkpoint), noting(), showing():
                (model.partial_fit if options.resume else model.fit)(source)
        seconds = time.perf_counter() - start
        about = before | about_table(options, source.targets)
        save(model, options.output, statistics=not options.no_statistics, about=about)
    print(_learned(model, options, seconds))


def about_table(options: Namespace, targets: Sequence[str]) -> dict[str, Any]:
    """What a model file says of the table."""
    about = {"target": ", ".join(map(str, targets)), "weight": options.weight}
    return about | {key: getattr(options, key) for key in KEPT if getattr(options, key) is not None}


# ---- tables that are prepared ----------------------------------------------------------------------
def _takes(model: Any, source: "Stored") -> bool:
    """Whether a model takes the columns of a source as they are: numbers, or what it can use of others."""
    from likelier.data import columns_of
    from likelier.estimators.sources import takes_categories

    if takes_categories(model) or not hasattr(source, "files"):
        return True
    return not source.others(columns_of(source)) or not MODELS[type(model).__name__].candidates


def _prepared(model: Any, source: "Stored", options: Namespace) -> Any:
    """A model fitted to all rows as `likelier compare` prepares them; None: the best of a comparison."""
    from likelier.cli.progress import showing
    from likelier.comparison import compare, rows_and_classes
    from likelier.comparison.models import entered
    from likelier.comparison.refit import fitted_to_table
    from likelier.comparison.rows import opened as rows_of

    if options.checkpoint is not None:
        raise ValueError(
            "--checkpoint is for a model that takes the columns as they are: name one by --model, and "
            "columns of numbers by --features"
        )
    if model is None and options.settings:
        name = options.settings[0][0]
        raise ValueError(
            f"--set {name} requires --model M: which model is the best is not known before the comparison"
        )
    with showing("reading"):
        rows = rows_of(source, seed=0)
    if model is None:
        try:
            found = compare(rows, progress=True)
            result = chosen(found)
        except ValueError as problem:  # too few rows, or too many classes
            return _uncompared(problem, source, options)
        say(_why(found, result))
        candidate, rows, classes = (
            result.candidate_model,
            found.folds.rows,
            found.classes,
        )
    else:
        _check_target(model, source, options)
        regress = MODELS[type(model).__name__].kind == "regression"
        named = row_named(options.model)
        row = MODELS[type(model).__name__].candidates[0].name if named is None else named[1].name
        (candidate,) = entered({row: model}, (), numbers=regress)
        rows, classes = rows_and_classes(rows, "regress" if regress else "classify", 2)
    assert candidate is not None
    with noting(), showing():
        fitted = fitted_to_table(candidate, rows, source)
    _report_held_out(candidate, rows, classes)
    return fitted


def _uncompared(problem: ValueError, source: "Stored", options: Namespace) -> Any:
    """The model of a table that models cannot be compared on, by what the target looks like."""
    from likelier.cli.progress import showing
    from likelier.data.files.scan import Scan
    from likelier.data.frames import is_fractional

    name = "logistic-regression"
    if isinstance(source, Scan):
        name = "ridge" if is_fractional(source.files[0].types[source.targets[0]]) else "naive-bayes"
    say(f"note: --model {name}, without a comparison: {problem}")
    options.model = name
    model = _new(options)
    _check(model, source, options)
    with noting(), showing():
        return model.fit(source)


def chosen(found: "Comparison") -> "Result":
    """The best model of a comparison that can be fitted to tables and saved."""
    from likelier.comparison.refit import savable

    rows = found.rows
    for result in found.results:
        candidate = result.candidate_model
        if result.baseline or result.skipped is not None or candidate is None:
            continue
        if savable(candidate, rows):
            return result
    why = "; ".join(f"{result.model}: {result.skipped}" for result in found.results if result.skipped)
    raise ValueError(f"no model can be fitted to this table. {why}")


def _why(found: "Comparison", result: "Result") -> str:
    """Which model is the best, of how many, by what."""
    metric = next(each for each in found.metrics if each.name == found.metric)
    running = [each for each in found.results if each.folds and not each.baseline]
    ties = sum(found.is_tied(each) for each in running if each is not result)
    tied = f"; {counted(ties, 'model')} not significantly different from it" if ties else ""
    return (
        f"note: {result.model}, the best of {counted(len(running), 'model')} by {metric.heading} in "
        f"{found.cv}-fold cross-validation{tied}; likelier compare shows them all"
    )


def _report_held_out(candidate: "CandidateModel", rows: Any, classes: Any) -> None:
    """How good the model is on a tenth that it did not learn from, beside an answer without columns."""
    from likelier.comparison.cross_validate import Folds, evaluated
    from likelier.comparison.models import baseline
    from likelier.comparison.result import LABELS, VALUES

    tenth = Folds.of(rows, classes, max(2, min(HELD_OUT, len(rows) // 4)), 0).split(0)
    folds = Folds.of_pairs(rows, [tenth])
    base = evaluated(baseline(numbers=classes is None), folds, classes)
    ours = evaluated(candidate, folds, classes)
    if ours.skipped is not None:
        return
    metrics, shown = (VALUES if classes is None else LABELS)[:2], []
    for each in (ours, base):
        figures = [(metric, each.mean(metric.name)) for metric in metrics]
        said = ", ".join(f"{m.heading} {m.shown(value)}" for m, value in figures if value == value)
        shown.append(f"{each.model}: {said}")
    say(f"held out, {counted(len(tenth[1]), 'row')} of {len(rows):,}: {'; '.join(shown)}")
    better = [each.name for each in metrics if ours.mean(each.name) < base.mean(each.name)]
    if not better:
        say(f"warning: {ours.model} is not better than {base.model} on the rows held out")


def _about(options: Namespace) -> dict[str, Any]:
    """What the model to continue says of the table that it learned from."""
    from likelier.saving.format import describe

    return dict(describe(options.resume).about) if options.resume else {}


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

    cls, row = _class_and_settings(options.model)
    model = settled(cls().set_params(**row | dict(options.settings)))
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


def _class_and_settings(name: str) -> tuple[Any, dict[str, Any]]:
    """An estimator by its name, or by that of a row of the comparison's table, which has settings."""
    row = row_named(name)
    if row is None or row[0].name == row[1].name:
        return model_named(name), {}
    return row[0].load(), dict(row[1].settings)


def _resumed(options: Namespace) -> Any:
    """The saved model, which knows its kind, hyper-parameters and columns."""
    from likelier.saving.models import load

    model = load(options.resume)
    kind = type(model).__name__
    if not hasattr(model, "partial_fit"):
        raise ValueError(
            f"--resume {options.resume}: a {kind} cannot continue training; train a new one on all rows"
        )
    if options.model is not None and _class_and_settings(options.model)[0] is not type(model):
        raise ValueError(
            f"--resume {options.resume} is a {kind}, and --model {options.model} is not: leave --model out"
        )
    if options.checkpoint is not None:
        raise ValueError(
            "--checkpoint is for a fit, and --resume continues from one: leave one of them out"
        )
    for given, argument in (
        (options.settings, "--set"),
        (options.features, "--features"),
    ):
        if given:
            raise ValueError(
                f"{argument} cannot be changed with --resume: {options.resume} keeps its own settings"
            )
    options.features = list(getattr(model, "feature_names_in_", [])) or None
    return model


def _check(model: Any, source: "Stored", options: Namespace) -> None:
    """Columns of the wrong kind are refused before anything is read, with what to do about them here."""
    from likelier.data import columns_of

    check_columns(source, columns_of(source), model)
    _check_target(model, source, options)


def _check_target(model: Any, source: "Stored", options: Namespace) -> None:
    who = type(model).__name__
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
