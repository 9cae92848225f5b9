"""`likelier predict`: predictions of a saved model for the rows of a table, several parts at a time."""

import json
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from likelier.cli.arguments import (
    add_table,
    examples,
    files,
    names,
    noting,
    paths,
    place,
    reading,
    say,
    spare,
)

if TYPE_CHECKING:
    from likelier.cli.predict_rows import PredictionTables
    from likelier.evaluation import Evaluation


def add(commands: Any) -> None:
    """The arguments."""
    parser = commands.add_parser(
        "predict",
        help="labels and probabilities for the rows of a table",
        description="The answers of a saved model to each row, in the order of the rows: its label and the "
        "probability of each class, or, of a regression, its value. If the table has the target, too, how "
        "good the answers are is said at the end.",
        epilog=examples(
            "likelier predict iris.lk new.csv",
            "likelier predict iris.lk new.csv --keep id,note --only labels -o answers.csv",
            "likelier predict iris.lk 'days/*.parquet' -o answers/ --overwrite",
            "likelier predict iris.lk test.csv --target true_species --json -o answers.parquet",
        ),
    )
    parser.add_argument("model", metavar="M.lk", help="a model that was saved")
    add_table(parser).add_argument(
        "--target", metavar="Y", help="where it has another name than in training"
    )
    out = parser.add_argument_group("what is written")
    out.add_argument(
        "-o",
        "--output",
        type=place,
        default="-",
        metavar="OUT",
        help="OUT.csv, OUT.parquet, or a folder OUT/ of Parquet files; by default CSV, printed",
    )
    out.add_argument("--overwrite", action="store_true", help="replace the answers in a folder OUT/")
    out.add_argument("--only", choices=["labels", "probabilities"], help="one of them alone")
    out.add_argument(
        "--keep", type=names, default=[], metavar="A,B", help="columns to be copied beside the answers"
    )
    out.add_argument("--json", action="store_true", help="the figures as JSON, on standard output")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Answer part by part, and say how good the answers are."""
    from likelier.cli.predict_output import as_json, check_place, in_words
    from likelier.cli.predict_rows import PredictionTables, features_of, plan
    from likelier.saving.format import describe
    from likelier.saving.models import load

    printed = options.output == "-"
    if printed and options.json:
        raise ValueError(
            "--json prints metrics to standard output: write the predictions to a file, -o OUT"
        )
    if not printed:
        check_place(options.output, overwrite=options.overwrite)
        spare(options.output, [options.model])
        spare(options.output, files(options))
    about = describe(options.model).about
    model = load(options.model)
    how = reading(options, about, features_of(model))
    known = about.get("target")
    with noting():
        task = plan(model, paths(options), options.format, options.keep, options.target, known, how)
        answers = PredictionTables(model, task, options.only)
        found = _written(answers, options)
    if options.json:
        print(json.dumps(None if found is None else as_json(found)))
    elif found is not None:
        say(in_words(found))


def _written(answers: "PredictionTables", options: Namespace) -> "Evaluation | None":
    from likelier.cli.predict_output import CSV, opened
    from likelier.cli.progress import rows_bar

    known = answers.plan.source.rows
    with rows_bar(known) as bar:

        def watch(rows: int, share: float) -> None:
            if known is None and share:
                bar.total = int(bar.n / share)
            bar.update(rows)

        if options.output == "-":
            return answers.written(CSV(sys.stdout.buffer), watch)
        with opened(options.output, overwrite=options.overwrite) as out:
            return answers.written(out, watch)
