"""Command-line arguments that several commands share: parsing, help with examples, error messages."""

import argparse
import ast
import csv
import json
import math
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

from likelier.display import some_of
from likelier.estimators.catalogue import MODELS, command_names
from likelier.streams.formats import FORMATS, scanned

if TYPE_CHECKING:
    from likelier.data import Stored
    from likelier.data.files.scan import Scan
    from likelier.data.files.svmlight import SparseScan

# What the commands share: how arguments are read, and how problems are said.

KINDS = ("number", "category", "text", "date")
MOST_NOTES = 10


def say(message: str, *, error: bool = False) -> None:
    """One line on standard error; the program's name is red before an error."""
    name = styled("likelier:", BOLD, *[RED] * error, on=sys.stderr)
    print(f"{name} {styled_message(' '.join(message.split()), on=sys.stderr)}", file=sys.stderr)


class Terminated(KeyboardInterrupt):
    """Asked to end by another program (SIGTERM), which is no other thing than by a person."""


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM ends the work as Ctrl-C does: what is begun is cleaned up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ended(*_: Any) -> NoReturn:
        raise Terminated

    before = signal.signal(signal.SIGTERM, ended)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def noting() -> Iterator[None]:
    """Warnings as lines, each once, when the work is done."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    notes = list(dict.fromkeys(str(warning.message) for warning in caught))
    for message in notes[:MOST_NOTES]:
        say(f"note: {message}")
    if len(notes) > MOST_NOTES:  # parts that are answered one by one each have theirs
        say(f"note: and {len(notes) - MOST_NOTES} more notes")


def names(text: str) -> list[str]:
    """Columns as in a line of CSV: those with a comma in their name stand in quotation marks."""
    return next(csv.reader([text], skipinitialspace=True), [])


def kinds(text: str) -> dict[str, str]:
    """What columns are, as in zip=category,age=number."""
    pairs = [one.rpartition("=") for one in names(text)]
    for name, equals, kind in pairs:
        if not (name and equals and kind in KINDS):
            said = f"{name}={kind}" if equals else kind
            raise argparse.ArgumentTypeError(
                f"{said!r} is not NAME=KIND, as in zip=category,age=number; kinds: {', '.join(KINDS)}"
            )
    return {name: kind for name, _, kind in pairs}


def delimiter(text: str) -> str:
    """What stands between cells; a tab is hard to type."""
    return "\t" if text in ("tab", "\\t") else text


def place(text: str) -> str:
    """Where something is written, which is on this machine: a URL would be taken for folders."""
    if "://" in text:
        raise argparse.ArgumentTypeError(f"{text} is a URL; output can only be written to local files")
    return text


def setting(text: str) -> tuple[str, Any]:
    """A name and its value: JSON, a Python literal, or else the text itself."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ValueError
    for read in (json.loads, ast.literal_eval):
        try:
            return name, read(value)
        except (ValueError, SyntaxError):
            continue
    return name, math.inf if value in ("inf", "np.inf") else value


setting.__name__ = "NAME=VALUE"  # argparse names what it could not read by it


def add_settings(parser: Any, what: str) -> None:
    """The argument that sets hyper-parameters, one by one."""
    parser.add_argument(
        "--set",
        type=setting,
        action="append",
        default=[],
        dest="settings",
        metavar="NAME=VALUE",
        help=f"{what}; may be given again",
    )


def add_table(
    parser: argparse.ArgumentParser, *, data: str = "+", option: str | None = None, what: str = ""
) -> Any:
    """The arguments that say what is read; their group.

    option: the name of an option that the files follow, and `what` is done with them.
    """
    group = parser.add_argument_group("what is read")
    group.add_argument(
        option or "data",
        nargs=data,
        metavar="DATA",
        **({"dest": "data", "default": []} if option else {}),  # type: ignore[arg-type]
        help=f"{what}files, folders, globs or URLs: CSV, TSV, Parquet, JSON lines, svmlight, VW; also "
        "compressed",
    )
    group.add_argument("--format", choices=list(scanned()), help="where the names of files do not say it")
    group.add_argument(
        "--types",
        type=kinds,
        metavar="A=KIND,B=KIND",
        help=f"what columns are where they look like something else: {', '.join(KINDS)} (days since 1970)",
    )
    group.add_argument(
        "--missing",
        type=names,
        metavar="A,B",
        help="strings to treat as missing values, besides empty cells (?, NA, NaN, null and the like); '' "
        "for empty cells alone",
    )
    group.add_argument(
        "--encoding", metavar="E", help="of CSV, for example latin-1 (UTF-8; UTF-16 if marked)"
    )
    group.add_argument(
        "--delimiter",
        type=delimiter,
        metavar="D",
        help="what stands between the cells of CSV: one character, or tab (found by the first line)",
    )
    group.add_argument(
        "--no-header",
        action="store_false",
        dest="header",
        default=None,
        help="the first line of CSV is a row: columns are called 0, 1, 2, ...",
    )
    return group


def add_columns(parser: argparse.ArgumentParser) -> None:
    """The arguments that say which columns are what."""
    group = parser.add_argument_group("columns")
    group.add_argument(
        "--target", metavar="Y", help="the column to be predicted; svmlight and VW have it first on a line"
    )
    group.add_argument(
        "--features", type=names, metavar="A,B,C", help="the columns to predict from (all others)"
    )
    group.add_argument("--weight", metavar="W", help="a column of weights: 2 is the row twice")


def opened(
    options: argparse.Namespace, about: Mapping[str, Any] = MappingProxyType({})
) -> "Scan | SparseScan":
    """The files that are named, with the columns that are, of which one is the target.

    about: what a model file says of the table that it was trained on.
    """
    from likelier.data import columns_of
    from likelier.data.files.scan import scan

    how = reading(options, about, options.features or ())
    found = scan(paths(options), options.target, options.features, options.weight, options.format, **how)
    if not found.targets:
        some = some_of(columns_of(found), 20)
        raise ValueError(f"which column is to be predicted? Name it: --target Y; columns: {some}")
    return found


def reading(
    options: argparse.Namespace, about: Mapping[str, Any], features: Collection[str]
) -> dict[str, Any]:
    """How text is to be taken: as is said now, or else as the model file says that it was in training."""
    from likelier.data.files.scan import find

    then = {name: kind for name, kind in (about.get("types") or {}).items() if name in features}
    how = {key: getattr(options, key) for key in ("missing", "delimiter", "header")}
    if any(value is None and about.get(key) is not None for key, value in how.items()):
        delimited = FORMATS[find(paths(options), options.format)[1]].delimiter is not None
        how = {key: about.get(key) if delimited and how[key] is None else how[key] for key in how}
    how["header"] = how["header"] is not False
    return {**how, "types": {**then, **(options.types or {})} or None, "encoding": options.encoding}


def paths(options: argparse.Namespace) -> list[str]:
    """The files that are named."""
    if "-" in options.data:
        raise ValueError(
            "DATA -: the rows are read more than once, so they must be in a file; likelier stream reads "
            "standard input."
        )
    return list(options.data)


def files(options: argparse.Namespace) -> Iterator[str]:
    """The files that are meant, once somebody asks."""
    from likelier.data.files.scan import find

    yield from find(paths(options), options.format)[0]


def spare(output: str, read: Iterable[str]) -> None:
    """Refuse to write over what is read: it would be gone."""
    if not Path(output).exists():
        return
    for path in read:
        if same(output, path) or Path(os.path.realpath(output)) in Path(os.path.realpath(path)).parents:
            raise ValueError(f"{output} would overwrite the input {path}: choose another name")


def same(one: str, other: str) -> bool:
    """Whether two names are of one file, there or not."""
    return os.path.realpath(one) == os.path.realpath(other)


def model_named(name: str) -> Any:
    """The class of an estimator, by its short or its full name."""
    short = command_names()
    known = {**short, **{full.lower(): full for full in short.values()}}
    if name.lower() not in known:
        near = get_close_matches(name.lower(), known, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise ValueError(f"--model must be one of {', '.join(short)}; got {name!r}.{hint}")
    return MODELS[known[name.lower()]].load()


def check_columns(source: "Stored", columns: Sequence[str], model: Any, *, chosen: bool = False) -> None:
    """Refuse columns that a model cannot use, and say how to leave them out, unless they are `chosen`."""
    from likelier.estimators.sources import takes_categories

    others = source.others(columns)
    who, takes = type(model).__name__, "numbers, and these columns hold none"
    if takes_categories(model):
        takes = "numbers and words, and these columns hold neither"
        texts = source.texts(columns)
        others = {name: kind for name, kind in others.items() if name not in texts}
    if others:
        which = some_of([f"{name!r} ({kind})" for name, kind in others.items()])
        left = [quoted(name) for name in columns if name not in others]
        listed = ",".join(left) if len(left) <= 30 else "A,B,C names the others"
        how = f"Leave them out: --features {listed}" if left else "No column is left"
        how = "It was fitted to columns of these names" if chosen else how
        raise ValueError(f"{who} takes {takes}: {which}. {how}")


def quoted(name: str) -> str:
    """A column's name as `names` reads it, and a shell."""
    plain = all(letter.isalnum() or letter in "_-." for letter in name)
    doubled = name.replace('"', '""')
    return name if plain else f"'\"{doubled}\"'"


def size_of(n: int) -> str:
    """Bytes, in words."""
    return f"{n} bytes" if n < 1000 else f"{n / 1e3:.1f} kB" if n < 1e6 else f"{n / 1e6:.1f} MB"


# Arguments: read, explained with examples, and corrected where somebody mistyped.

HELP = "help"


class Layout(argparse.HelpFormatter):
    """Wraps paragraphs; what has lines of its own keeps them."""

    def __init__(self, prog: str, **how: Any) -> None:
        super().__init__(prog, max_help_position=28, **how)
        self._action_max_length = 14  # argparse forgets that commands are set in

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


class Parser(argparse.ArgumentParser):
    """Arguments that are wrong are one line, as everything else that is."""

    SUPPRESS = argparse.SUPPRESS

    def __init__(self, **how: Any) -> None:
        super().__init__(**{"formatter_class": Layout, "allow_abbrev": False, **how})

    def error(self, message: str) -> NoReturn:
        say(f"{message} (see {self.prog} --help)")
        self.exit(2)

    def print_help(self, file: Any = None) -> None:
        """As everything is printed: argparse keeps a full disk to itself."""
        print(self.format_help(), end="", file=file or sys.stdout)

    def format_short(self) -> str:
        """Usage and commands alone."""
        return self.format_help().partition("\nexit codes:")[0].rstrip()

    @property
    def commands(self) -> "dict[str, Parser]":
        """The parsers of the commands, by their names."""
        found = (action.choices for action in self._actions if isinstance(action.choices, dict))
        return next(found, {})

    @property
    def options(self) -> list[argparse.Action]:
        """All that can be given."""
        return [action for action in self._actions if action.help is not argparse.SUPPRESS]

    def understood(self, arguments: Sequence[str]) -> argparse.Namespace:
        """What is asked for; of an unknown option the nearest one is named."""
        options, left = self.parse_known_args(arguments)
        if left:
            one = self.commands.get(options.command, self)
            known = [flag for action in one.options for flag in action.option_strings]
            one.error(f"{left[0]} is not understood{nearest(left[0].partition('=')[0], known)}")
        return options


def corrected(top: Parser, given: Sequence[str]) -> list[str]:
    """The same arguments, `help X` as `X --help`; a command that is not known is refused."""
    words = [word for word in given if not word.startswith("-")]
    if not words:
        return list(given)
    asks = words[0] == HELP
    about = words[1:2] if asks else words[:1]
    for word in about:
        if word not in top.commands:
            hint = nearest(word, top.commands) or f"; commands: {', '.join(top.commands)}"
            top.error(f"there is no command {word}{hint}")
    return [*about, "--help"] if asks else list(given)


def nearest(word: str, known: Iterable[str]) -> str:
    """What may have been meant."""
    near = get_close_matches(word, list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def examples(*lines: str) -> str:
    """Commands that are shown below a help."""
    return "\n".join([f"example{'s' if len(lines) > 1 else ''}:", *(f"  {line}" for line in lines)])


# ---- Python's words as options -------------------------------------------------------------------
_NAMED = r"(types|missing|encoding|format|delimiter)"
_AS_OPTIONS = [
    (re.compile(r"types=\{'([^']*)': '(\w+)'\}"), r"--types \1=\2"),
    (re.compile(r"missing=\['([^']*)'\]"), r"--missing '\1'"),
    (re.compile(rf"\b{_NAMED}='([\w.-]*)'"), r"--\1 \2"),
    (re.compile(rf"\b{_NAMED}=(?!=)"), r"--\1"),
]


def in_options(message: str) -> str:
    """A message of the library as it is said here."""
    for pattern, option in _AS_OPTIONS:
        message = pattern.sub(option, message)
    return message


# Bold and colour on a terminal; plain text in pipes, in files and where NO_COLOR is set.

BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"


def coloured(stream: Any) -> bool:
    """Whether a stream is a terminal that shows colours, and the user has not asked for none."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream is not None and stream.isatty()


def styled(text: str, *codes: str, on: Any) -> str:
    """The text in these styles, if the stream shows them."""
    return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if text and coloured(on) else text


def styled_message(text: str, *, on: Any) -> str:
    """A message, with the word `note` coloured."""
    if text.startswith("note:"):
        return styled("note:", YELLOW, on=on) + text.removeprefix("note:")
    return text


def styled_comparison(text: str, *, on: Any) -> str:
    """The tables of a comparison: headings in bold, the best model in green, the baseline faint."""
    if not coloured(on):
        return text
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and re.fullmatch(r"-[- ]+", lines[i + 1]):
            lines[i] = styled(line, BOLD, on=on)
        elif re.fullmatch(r"-[- ]+", line) or re.match(r" *\((majority class|mean)\)", line):
            lines[i] = styled(line, DIM, on=on)
        elif re.match(r"\* +\S.* {2,}", line):
            lines[i] = styled(line, BOLD, GREEN, on=on)
    return "\n".join(lines)
