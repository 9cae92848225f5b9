"""`likelier stream`: learn and predict row by row; what is printed was said before the row was learned."""

from argparse import Namespace
from typing import Any

from likelier.cli.words import names, setting

FORMATS = ("csv", "tsv", "json", "svmlight", "vw", "parquet")


def add(commands: Any) -> None:
    """The arguments."""
    parser = commands.add_parser(
        "stream",
        help="learn and predict row by row, with progressive figures",
        description="Answer each row, then learn from it: numbers as they are, words as indicators, hashed "
        "into weights. The figures are progressive: each row is judged by the answer that it got before "
        "it was learned from. A line is printed at 1, 2, 4, 8, ... rows.",
        epilog="example: likelier stream clicks.tsv.gz --target click --set bits=22 -o clicks.lk",
    )
    parser.add_argument(
        "data",
        nargs="+",
        metavar="DATA",
        help="CSV, TSV, JSON lines, svmlight, VW or Parquet files, gzip as well; - is standard input",
    )
    parser.add_argument("--format", choices=FORMATS, help="where the names of files do not say it")
    parser.add_argument(
        "--target", metavar="Y", help="the column to be predicted (svmlight, VW: the label)"
    )
    parser.add_argument(
        "--features", type=names, metavar="A,B,C", help="the columns to predict from (all others)"
    )
    parser.add_argument("--ignore", type=names, default=[], metavar="A,B,C", help="columns to leave out")
    parser.add_argument(
        "--words", type=names, default=[], metavar="A,B,C", help="columns that are no numbers"
    )
    parser.add_argument(
        "--weight", metavar="W", help="a column of weights: each scales the step of its row"
    )
    parser.add_argument("--no-header", action="store_true", help="the columns are called 0, 1, 2, ...")
    parser.add_argument(
        "--cross",
        type=names,
        action="append",
        default=[],
        metavar="A,B",
        help="columns (VW: namespaces) to be taken together as well; may be given again",
    )
    parser.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        dest="settings",
        metavar="NAME=VALUE",
        help="a setting of OnlineClassifier, for example optimizer=ftrl; may be given again",
    )
    parser.add_argument("--from", dest="start", metavar="OLD.lk", help="go on from a model that was saved")
    parser.add_argument("-o", "--output", metavar="M.lk", help="where to save the model")
    parser.add_argument("--no-learn", action="store_true", help="answer only")
    parser.add_argument(
        "--predictions", metavar="FILE", help="the answers, a line for each row (CSV); - prints"
    )
    parser.add_argument("--strict", action="store_true", help="stop at the first line that cannot be read")
    parser.add_argument("--quiet", action="store_true", help="print the last line of figures only")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Learn, print, save."""
