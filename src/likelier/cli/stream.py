"""`likelier stream`: predict each row, then learn from it."""

import os
import sys
import time
from argparse import Namespace
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likelier.cli.arguments import add_settings, delimiter, examples, kinds, names, place, same, spare
from likelier.streams.formats import FORMATS, delimited_by

if TYPE_CHECKING:
    from likelier.saving.online import Kept
    from likelier.streams.model import Online
    from likelier.streams.reader import Format, Session

# By the names that --format takes: the parser, and what stands between the cells of a line.
TEXT = {name: (kind.parser, kind.delimiter or ",") for name, kind in FORMATS.items() if kind.parser}
PARQUET = set(FORMATS["parquet"].endings)
ASKED = (
    "target",
    "weight",
    "features",
    "ignore",
    "missing",
)  # which hold for --from, if nothing else is asked for


def add(commands: Any) -> None:
    """The arguments."""
    parser = commands.add_parser(
        "stream",
        help="learn and predict row by row, with progressive figures",
        description="Answer each row, then learn from it: numbers as they are, words as indicators, hashed "
        "into weights. The figures are progressive: each row is evaluated by its prediction made before "
        "it was learned from. A line is printed at 1, 2, 4, 8, ... rows.",
        epilog=examples(
            "likelier stream clicks.tsv.gz --target click --set bits=22 -o clicks.lk",
            "likelier stream day2.csv --from clicks.lk -o clicks.lk --quiet",
            "likelier stream - --format csv --target y --types zip=category --predictions answers.csv",
            "likelier stream - --from clicks.lk --no-learn --predictions -",
            "likelier stream events.db -o model.lk",
        ),
    )
    _add_rows(parser.add_argument_group("what is read"))
    _add_columns(parser.add_argument_group("columns"))
    model = parser.add_argument_group("model")
    add_settings(model, "a setting of OnlineClassifier, for example optimizer=ftrl")
    model.add_argument("--from", dest="start", metavar="OLD.lk", help="continue training a saved model")
    model.add_argument("--no-learn", action="store_true", help="answer only")
    out = parser.add_argument_group("what is written")
    out.add_argument("-o", "--output", type=place, metavar="M.lk", help="where to save the model")
    out.add_argument(
        "--predictions", type=place, metavar="FILE", help="the answers, a line for each row (CSV); - prints"
    )
    out.add_argument("--quiet", action="store_true", help="print the last line of figures only")
    parser.set_defaults(run=run)


def _add_rows(group: Any) -> None:
    group.add_argument(
        "data",
        nargs="+",
        metavar="DATA",
        help="CSV, TSV, JSON lines, svmlight, VW or Parquet files, gzip as well; - is standard input; "
        "or the "
        "log of likelier serve",
    )
    group.add_argument("--format", choices=[*TEXT, "parquet"], help="where names do not say it")
    group.add_argument(
        "--delimiter",
        type=delimiter,
        metavar="D",
        help="what stands between the cells of CSV: one character, or tab (found by the first line)",
    )
    group.add_argument("--no-header", action="store_true", help="the columns are called 0, 1, 2, ...")
    group.add_argument(
        "--missing",
        type=names,
        metavar="A,B",
        help="strings to treat as missing values, besides empty cells (NA, N/A, null in numeric columns)",
    )
    group.add_argument("--encoding", metavar="E", help="of text, for example latin-1 (UTF-8)")
    group.add_argument("--strict", action="store_true", help="stop at the first line that cannot be read")


def _add_columns(group: Any) -> None:
    group.add_argument("--target", metavar="Y", help="the column to be predicted (not for svmlight, VW)")
    group.add_argument(
        "--features", type=names, metavar="A,B,C", help="the columns to predict from (all others)"
    )
    group.add_argument("--ignore", type=names, metavar="A,B,C", help="columns to leave out")
    group.add_argument(
        "--types",
        type=kinds,
        default={},
        metavar="A=KIND,B=KIND",
        help="what columns are where they look like something else: number, category or text",
    )
    group.add_argument(
        "--words", type=names, default=[], metavar="A,B,C", help="columns of categories, in short"
    )
    group.add_argument("--weight", metavar="W", help="a column of weights: each scales the step of its row")
    group.add_argument(
        "--cross",
        type=names,
        action="append",
        default=[],
        metavar="A,B",
        help="columns (VW: namespaces) to be taken together as well; may be given again",
    )


def run(options: Namespace) -> None:
    """Learn, print, save. A stream that ends before its time leaves the model of the rows that came."""
    # Nothing here multiplies matrices, and the threads of a BLAS take a while to start.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if any(_is_log(path) for path in options.data):
        from likelier.cli.stream_output import replay

        replay(options)
        return
    from likelier.cli.stream_output import StreamOutput
    from likelier.saving.format import place_for
    from likelier.saving.online import save_online
    from likelier.streams.reader import BadLine, Session

    if "-" in options.data and sys.stdin is None:
        raise ValueError("DATA -: standard input is closed: name a file, or send rows into it")
    if options.output:
        place_for(Path(options.output))  # before hours of work, not after
    _check_places(options)
    kept = _kept(options)
    feed = _feed(options, kept.model)
    session = Session(kept.model, learning=not options.no_learn, strict=options.strict)
    start, problem = time.perf_counter(), None
    with StreamOutput(session, feed.size, options.predictions, quiet=options.quiet) as watching:
        try:
            session.follow(feed)
        except BadLine:
            raise
        except (KeyboardInterrupt, ValueError, OSError, MemoryError) as found:
            problem = found
    seconds = time.perf_counter() - start
    if problem is None:
        _check_learned(session, options)
    if options.output and (session.rows or problem is None):
        _note_columns(kept, feed.columns, options)
        save_online(kept, options.output)
    if session.rows or problem is None:
        watching.summarise(seconds, options.output)
    if problem is not None:
        raise problem


def _is_log(path: str) -> bool:
    """Whether it is the log of a service: an SQLite file, or the URL of a PostgreSQL database."""
    if path.startswith(("postgresql://", "postgres://")):
        return True
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def _check_learned(session: "Session", options: Namespace) -> None:
    """Refuse to end as if something had been learned, where there was nothing to learn from."""
    if not session.learning or session.model.learner.counters["steps"]:
        return
    progress, names = session.progress, ", ".join(options.data)
    if session.rows:
        raise ValueError(f"{names}: no row has a label in column {options.target!r}: no model was trained")
    bad = (
        f": {progress.bad} lines could not be read, first {progress.first_bad[0]}"
        if progress and progress.bad
        else ""
    )
    raise ValueError(f"{names}: there are no rows{bad}: no model was trained")


def _check_places(options: Namespace) -> None:
    """Nothing is written over what is read, nor over what else is written."""
    answers, read = options.predictions, [path for path in options.data if path != "-"]
    if options.output:
        spare(options.output, read)
    if answers and answers != "-":
        spare(answers, [*read, *filter(None, [options.start])])
        if options.output and same(answers, options.output):
            raise ValueError("--predictions and -o name the same file; choose two")


def _kept(options: Namespace) -> "Kept":
    """The model to continue, or a new one."""
    from likelier.saving.online import Kept, load_online
    from likelier.streams.model import Online, Settings

    if options.start is None:
        given = dict(options.settings) | ({"interactions": options.cross} if options.cross else {})
        known = [one.name for one in fields(Settings)]
        for name in given:
            if name not in known:
                raise ValueError(f"--set must name one of {', '.join(known)}; got {name!r}.")
        return Kept(Online(Settings(**given)))
    for asked, argument in ((options.settings, "--set"), (options.cross, "--cross")):
        if asked:
            raise ValueError(
                f"{argument} cannot be changed with --from: {options.start} keeps its own settings"
            )
    kept = load_online(options.start)
    before = {"features": kept.feature_names, **kept.about, **kept.model.reading}
    for name in ASKED:
        if getattr(options, name) is None:
            setattr(options, name, before.get(name))
    return kept


def _note_columns(kept: "Kept", columns: dict[str, str], options: Namespace) -> None:
    """What the next to read needs to know, and who asks what the model is of."""
    kept.model.reading = {"columns": columns, **{name: getattr(options, name) for name in ASKED}}
    kept.about |= {"target": options.target, "weight": options.weight}
    if columns:  # JSON, svmlight and VW have no list of them
        kept.feature_names = list(dict.fromkeys([*(kept.feature_names or []), *columns]))
        kept.n_features = len(kept.feature_names)


def _said(options: Namespace) -> dict[str, str]:
    """What the columns are that somebody says it of."""
    from likelier.streams.reader import NUMBER, WORD

    dates = [name for name, kind in options.types.items() if kind == "date"]
    if dates:
        raise ValueError(f"--types {dates[0]}=date: a stream takes numbers and categories, not dates")
    said = {name: NUMBER if kind == "number" else WORD for name, kind in options.types.items()}
    return said | dict.fromkeys(options.words, WORD)


def _format(options: Namespace) -> "Format | None":
    """How rows are written, if arguments say so."""
    from likelier.streams.reader import Format

    if options.delimiter is None:
        return Format(*TEXT[options.format]) if options.format in TEXT else None
    if options.format not in (None, "csv", "tsv"):
        raise ValueError(f"--delimiter is for CSV, not for --format {options.format}")
    return Format("csv", delimited_by(options.delimiter))


def _feed(options: Namespace, model: "Online") -> Any:
    """Parquet by name or by --format; all else is text."""
    from likelier.streams.reader import ReadOptions, TextFeed

    read_options = ReadOptions(
        _format(options),
        options.target,
        options.weight,
        options.features,
        options.ignore or [],
        model.settings.interactions,
        model.settings.non_finite == "raise",
        False if options.no_header else None,
        not options.no_learn,
        options.missing or (),
        options.encoding,
    )
    labels = [str(label) for label in model.labels]
    if len(set(labels)) < len(labels):
        raise ValueError(
            f"{options.start}: its labels look the same when written as text: {model.labels!r:.200}"
        )
    columns = dict(model.reading.get("columns", {})) | _said(options)
    endings = {Path(path).suffix.lower() for path in options.data}
    text = options.format in TEXT or options.delimiter is not None
    if options.format != "parquet" and (text or not endings & PARQUET):
        return TextFeed(options.data, read_options, labels, columns)
    if options.format is None and not endings <= PARQUET:
        raise ValueError(
            "DATA: Parquet and text files cannot be read as one stream: train on one, then "
            "continue with --from"
        )
    from likelier.cli.parquet_feed import ParquetFeed

    return ParquetFeed(options.data, read_options, labels, columns)
