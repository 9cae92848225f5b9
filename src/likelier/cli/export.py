"""`likelier export`: a saved model as SQL, Python, C, ONNX or a model of scikit-learn."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from likelier.cli.arguments import add_table, examples, files, noting, place, say, spare

TARGETS = ("onnx", "sql", "python", "c", "sklearn")
TEXTS = ("sql", "python", "c")
DIALECTS = ("duckdb", "sqlite", "postgres", "bigquery")


def add(commands: Any) -> None:
    """The arguments."""
    parser = commands.add_parser(
        "export",
        help="a saved model as SQL, Python, C, ONNX or scikit-learn",
        description="A saved model as something that runs without likelier and gives the same answers: "
        "one SELECT, a Python module, a file of C99, an ONNX graph, or a model of scikit-learn. With "
        "--check, a table is scored both ways and the largest difference is printed.",
        epilog=examples(
            "likelier export iris.lk --to sql --dialect postgres --table flowers",
            "likelier export iris.lk --to python -o iris.py --check iris.csv",
            "likelier export iris.lk --to c -o iris.c --overwrite",
        ),
    )
    parser.add_argument("model", metavar="M.lk", help="a model that was saved")
    parser.add_argument("--to", required=True, choices=TARGETS, help="what it becomes")
    out = parser.add_argument_group("what is written")
    out.add_argument(
        "-o",
        "--output",
        type=place,
        default="-",
        metavar="OUT",
        help="the file; by default printed",
    )
    out.add_argument("--overwrite", action="store_true", help="replace a file that exists")
    sql = parser.add_argument_group("SQL")
    sql.add_argument("--dialect", default="duckdb", choices=DIALECTS, help="the database (default: duckdb)")
    sql.add_argument("--table", default="rows", metavar="T", help="the table that is read (default: rows)")
    sql.add_argument(
        "--answer",
        choices=["proba", "score", "label"],
        help="class probabilities, scores or labels; by default the first that the model has",
    )
    add_table(parser, option="--check", what="score these rows both ways, print the largest difference: ")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Write the model in another form, and compare the answers of both."""
    from likelier.saving.format import describe
    from likelier.saving.models import load

    printed = options.output == "-"
    if printed and options.to not in TEXTS:
        raise ValueError(f"--to {options.to} writes a file: name it with -o OUT")
    if not printed:
        spare(options.output, [options.model, *(files(options) if options.data else ())])
        if Path(options.output).exists() and not options.overwrite:
            raise ValueError(f"{options.output} exists: --overwrite replaces it")
    about = describe(options.model).about
    model = load(options.model)
    with noting():
        written = _written(model, options)
        if options.data:
            from likelier.cli.export_check import compared

            say(compared(model, written, options, about))
    if printed:
        print(written, end="")


def _written(model: Any, options: Namespace) -> Any:
    """The text, or what stands in the file that was written."""
    from likelier.estimators import exports

    path, overwrite = (None if options.output == "-" else options.output), options.overwrite
    if options.to == "sql":
        exports.described(model)  # says what cannot be exported
        text = model.to_sql(options.table, options.dialect, options.answer)
        return exports.kept(text, path, overwrite=overwrite)
    if options.to == "python":
        return exports.to_python(model, path, overwrite=overwrite)
    if options.to == "c":
        return exports.to_c(model, path, overwrite=overwrite)
    if options.to == "onnx":
        from likelier.estimators.to_onnx import to_onnx

        return to_onnx(model, path, overwrite=overwrite)
    return _sklearn(model, path, overwrite=overwrite)


def _sklearn(model: Any, path: Any, *, overwrite: bool) -> Any:
    """As joblib writes models of scikit-learn: load such files only if you trust where they are from."""
    import io

    import joblib

    from likelier.storage import write

    if not hasattr(model, "to_sklearn"):
        raise ValueError(f"scikit-learn has no class for a {type(model).__name__}")
    theirs, content = model.to_sklearn(), io.BytesIO()
    joblib.dump(theirs, content)
    assert overwrite or not Path(path).exists()
    write(Path(path), content.getvalue())
    return theirs
