"""`likelier predict`: the answers of a saved model to the rows of a table, batch by batch."""

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likelier.cli.words import add_table, names, paths, say

if TYPE_CHECKING:
    from likelier.cli.answers import Answers
    from likelier.cli.output import Output


def add(commands: Any) -> None:
    """The arguments."""
    parser = commands.add_parser(
        "predict",
        help="labels and probabilities for the rows of a table",
        description="The answers of a saved model to each row, in the order of the rows: its label and the "
        "probability of each class, or, of a regression, its value. If the table has the target, too, the "
        "error is said at the end.",
        epilog="example: likelier predict iris.lk new.csv --keep id -o answers.csv",
    )
    parser.add_argument("model", metavar="M.lk", help="a model that was saved")
    add_table(parser)
    parser.add_argument(
        "-o", "--output", default="-", metavar="OUT", help="OUT.csv or OUT.parquet; by default CSV, printed"
    )
    parser.add_argument("--only", choices=["labels", "probabilities"], help="one of them alone")
    parser.add_argument(
        "--keep", type=names, default=[], metavar="A,B", help="columns to be copied beside the answers"
    )
    parser.add_argument("--target", metavar="Y", help="where it has another name than in training")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Answer batch by batch."""
    from likelier.cli.answers import Answers, plan
    from likelier.saving.describing import describe
    from likelier.saving.models import load

    known = describe(options.model).about.get("target")
    model = load(options.model)
    task = plan(model, paths(options), options.format, options.keep, options.target, known)
    answers = Answers(model, task, options.only)
    with _output(options.output) as out:
        _write(answers, out)
    if answers.judge is not None:
        say(answers.judge.said())


def _write(answers: "Answers", out: "Output") -> None:
    from likelier.cli.progress import rows_bar

    with rows_bar(answers.plan.source.rows) as bar:
        for table in answers:
            out.write(table)
            bar.update(table.num_rows)


@contextmanager
def _output(path: str) -> Iterator["Output"]:
    from likelier.cli.output import CSV, Parquet
    from likelier.saving.disk import replacing

    if path == "-":
        yield CSV(sys.stdout.buffer)
        return
    kinds: dict[str, type[CSV | Parquet]] = {".csv": CSV, ".parquet": Parquet, ".pq": Parquet}
    ending = Path(path).suffix.lower()
    if ending not in kinds:
        raise ValueError(f"-o {path}: answers are written as .csv or .parquet, and the name says neither")
    with replacing(Path(path)) as file:
        out = kinds[ending](file)
        yield out
        out.close()
