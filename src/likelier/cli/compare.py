"""`likelier compare`: every model on one table."""

import argparse
import ast
import json
import shlex
import shutil
import sys
from argparse import Namespace
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likelier.cli.arguments import (
    add_columns,
    add_table,
    examples,
    files,
    names,
    opened,
    place,
    say,
    spare,
    styled_comparison,
)
from likelier.estimators.catalogue import command_names

if TYPE_CHECKING:
    from likelier.comparison import Comparison

BUILT_IN = {
    "wine": "three cultivars, thirteen chemical measurements (scikit-learn's copy)",
    "iris": "three species, four measurements of their flowers (scikit-learn's copy)",
    "breast-cancer": "benign and malignant tumours, thirty measurements of cells (scikit-learn's copy)",
    "digits": "ten digits, 8 × 8 grey levels (scikit-learn's copy)",
    "heights": "fifteen people: their weight from their height (Chrupała 2012)",
}
METRICS = ("error", "log-loss", "brier", "calibration-error", "auc", "rmse", "mae", "r2")
REPORT = "report.html"


def add(commands: Any) -> None:
    """The arguments."""
    parser = commands.add_parser(
        "compare",
        help="every model on one table, cross-validated, with a report",
        description="Cross-validate every model that suits on one table, beside the answer that knows the "
        "target alone, and write a report with pictures. Each model gets what it can use of numbers, "
        f"categories, text and missing cells. DATA may also be one of {', '.join(BUILT_IN)}; without it, "
        "wine.",
        epilog=examples(
            "likelier compare",
            "likelier compare titanic.csv --target survived --cv 10",
            "likelier compare titanic.csv --target survived --save best.lk",
            "likelier compare iris --models lda,qda --also 'sklearn.svm.SVC(C=10)'",
            "likelier compare houses.csv --target price --metric mae --json > figures.json",
        ),
    )
    add_table(parser, data="*")
    add_columns(parser)
    _add_how(parser)
    parser.set_defaults(run=run)


def _add_how(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("how it is compared").add_argument
    add("--models", type=names, metavar="A,B", help=f"these alone: some of {', '.join(command_names())}")
    add(
        "--also",
        type=estimator,
        action="append",
        default=[],
        metavar="MODULE.CLASS",
        help="one more that can be imported, with settings: 'sklearn.svm.SVC(C=10)'; may be given again",
    )
    add("--metric", choices=METRICS, metavar="M", help=f"what the best is best by: {', '.join(METRICS)}")
    add("--task", choices=["classify", "regress"], help="by default as the target looks")
    add("--cv", type=int, default=5, metavar="FOLDS", help="number of folds (5)")
    add("--seed", type=int, default=0, help="of the folds and of samples (0)")
    add("--jobs", type=int, default=1, metavar="N", help="processes that work side by side (1)")
    add("--rows", type=int, metavar="N", help="of a larger table, so many rows are compared on (50000)")
    add = parser.add_argument_group("what is written").add_argument
    add("--json", action="store_true", help="figures as JSON in place of the table; no report unless named")
    add("--report", type=place, metavar="PATH", help=f"where the report goes ({REPORT})")
    add("--no-report", action="store_true", help="the table alone")
    add("--save", type=place, metavar="M.lk", help="fit the best model to all rows, and save it")


def run(options: Namespace) -> None:
    """Print the table, and write the report."""
    for name, least in (("cv", 2), ("seed", 0), ("jobs", 1), ("rows", 1)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise ValueError(f"--{name} must be an integer >= {least}; got {value}.")
    report = _report(options)
    if options.save is not None:
        from likelier.storage import place_for

        place_for(Path(options.save))
    X, y, about = _rows(options, report)
    from likelier.cli.progress import showing
    from likelier.comparison import compare
    from likelier.comparison import rows as table_rows

    with showing("reading"):
        most = {} if options.rows is None else {"most": options.rows}
        rows = table_rows.opened(X, y, seed=options.seed, **most)
    how = {name: getattr(options, name) for name in ("cv", "task", "metric", "also")}
    how |= {"random_state": options.seed, "n_jobs": options.jobs}
    known = command_names()
    models = None if options.models is None else [known.get(name.lower(), name) for name in options.models]
    found = compare(rows, models=models, progress=True, **about, **how)
    if options.json:
        print(json.dumps(found.to_dict(), indent=2))
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        print(str(found) if width is None else styled_comparison(found.text(width), on=sys.stdout))
    if report is not None:
        _write(found, report, quiet=options.json)
    if options.save is not None:
        _save(found, rows if X is None or not hasattr(X, "targets") else X, options)
    elif not options.json:
        print(f"\n{_next_steps(found, options)}")


def _save(found: "Comparison", table: Any, options: Namespace) -> None:
    """The best model that can be saved, fitted to all rows."""
    from likelier.cli.progress import showing
    from likelier.cli.train import about_table, chosen
    from likelier.comparison.refit import fitted_to_table
    from likelier.saving.models import save

    result = chosen(found)
    assert result.candidate_model is not None
    with showing("fitting"):
        model = fitted_to_table(result.candidate_model, found.folds.rows, table)
    targets = getattr(table, "targets", None) or (str(found.rows.target),)
    save(model, options.save, about=about_table(options, targets))
    said = f"\n{result.model}, fitted to all rows: {options.save}"
    print(said if not options.json else "", end="" if options.json else "\n")


def _next_steps(found: "Comparison", options: Namespace) -> str:
    """The command and the code that give the best model."""
    from likelier.comparison.result import next_code

    lines = []
    if found.name is not None and options.data and Path(options.data[0]).exists():
        files = " ".join(shlex.quote(path) for path in options.data)
        target = found.rows.target or options.target
        lines.append(
            f"next: likelier train {files} --target {shlex.quote(str(target))} -o best.lk\nPython:"
        )
        source = repr(options.data[0] if len(options.data) == 1 else options.data)
        lines.append(next_code(f"lk.scan({source}, target={str(target)!r})"))
    else:
        lines += ["next, in Python:", next_code("X, y")]
    return "\n".join(lines)


def _report(options: Namespace) -> Path | None:
    """Where it is to go, which is seen before hours of work, not after; None: there is to be none."""
    if options.no_report:
        if options.report is not None:
            raise ValueError("--report and --no-report exclude each other.")
        return None
    if options.report is None and options.json:
        return None
    from likelier.storage import place_for

    path = Path(options.report or REPORT)
    if path.is_dir():
        raise ValueError(f"--report {path} is a folder: name a file, such as {path / REPORT}")
    place_for(path)
    return path


def _write(found: "Comparison", report: Path, *, quiet: bool) -> None:
    """The figures are out: without matplotlib there is no report, and that is no failure."""
    try:
        found.to_html(report)
    except ImportError as problem:
        say(f"the report was not written: {problem}")
        return
    if not quiet:
        print(f"\nreport: {report}")


# ---- what is compared on -------------------------------------------------------------------------
def _rows(options: Namespace, report: Path | None) -> tuple[Any, Any, dict[str, Any]]:
    """X, y and what is known of them: of a table that is always at hand, or of files."""
    name = options.data[0] if options.data else "wine"
    if len(options.data) < 2 and name in BUILT_IN and not Path(name).exists():
        given = [
            key
            for key in ("target", "features", "weight", "format", "types", "missing", "encoding")
            if getattr(options, key)
        ]
        if given:
            raise ValueError(f"--{given[0]} is for tables in files; {name} is a built-in data set.")
        from likelier.comparison.rows import built_in

        if not options.json:
            print(f"{name}: {BUILT_IN[name]}")
        return *built_in(name), {"name": name}
    if report is not None:
        spare(str(report), files(options))
    return _opened(options), None, {"name": ", ".join(Path(path).name for path in options.data)}


def _opened(options: Namespace) -> Any:
    """Files; or, where there are none of that name, the table that may have been meant."""
    try:
        return opened(options)
    except FileNotFoundError as problem:
        near = get_close_matches(options.data[0], BUILT_IN, n=1)
        if not near:
            raise
        raise FileNotFoundError(f"{problem}; built in is {near[0]!r}") from None


# ---- estimators by name --------------------------------------------------------------------------
def estimator(text: str) -> Any:
    """An estimator from its module and class, and settings that are plain values: nothing is evaluated."""
    try:
        return _made(text)
    except (ValueError, TypeError, SyntaxError) as problem:
        raise argparse.ArgumentTypeError(f"{text}: {problem}") from None


def _made(text: str) -> Any:
    try:
        said = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise ValueError("must have the form MODULE.CLASS or MODULE.CLASS(NAME=VALUE, ...)") from None
    call = said if isinstance(said, ast.Call) else ast.Call(said, [], [])
    module, _, name = ast.unparse(call.func).rpartition(".")
    if not module or not all(part.isidentifier() for part in [*module.split("."), name]) or call.args:
        raise ValueError("must have the form MODULE.CLASS or MODULE.CLASS(NAME=VALUE, ...)")
    settings = {str(each.arg): _plain(each) for each in call.keywords}
    made = _found(module, name)
    return made(**settings)


def _plain(given: ast.keyword) -> Any:
    if given.arg is None:
        raise ValueError("settings must be given as NAME=VALUE")
    try:
        return ast.literal_eval(given.value)
    except ValueError:
        raise ValueError(f"{given.arg}={ast.unparse(given.value)} is not a literal value") from None


def _found(module: str, name: str) -> Any:
    try:
        home = import_module(module)
    except ImportError as problem:
        raise ValueError(f"{module} cannot be imported ({problem})") from None
    made = getattr(home, name, None)
    if not isinstance(made, type):
        near = get_close_matches(name, dir(home), n=1)
        raise ValueError(f"{module} has no class {name}" + (f"; did you mean {near[0]}?" if near else ""))
    return made
