"""The command line. Nothing heavy is imported before it is known what was asked."""

import os
import sys
from collections.abc import Sequence

from likelier.cli import compare, completion, export, inspect, merge, predict, serve, stream, token, train
from likelier.cli.arguments import Parser, Terminated, corrected, in_options, say, terminable

# What is wrong with data, files and arguments; anything else is a defect. Either is said in one line.
WRONG = (ValueError, TypeError, OSError, NotImplementedError, MemoryError, ImportError)
BAD, DEFECT = 2, 70  # the latter as sysexits.h has it
BROKEN_PIPE, INTERRUPTED, TERMINATED = 141, 130, 143  # as shells have it: 128 and the number of the signal

COMMANDS = (compare, train, predict, export, stream, serve, token, inspect, merge, completion)
# Of which --version shows the versions that are installed.
LIBRARIES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "pyarrow",
    "narwhals",
    "pandas",
    "polars",
    "dask",
    "matplotlib",
)

ABOUT = """\
likelier COMMAND --help (or likelier help COMMAND) says more, with examples.

begin with:
  likelier compare iris.csv --target species
  likelier train iris.csv --target species -o iris.lk
  likelier predict iris.lk new.csv -o answers.csv

exit codes:
  0    done
  2    something is wrong with arguments, data or a model file: one line says what
  70   internal error (a bug in likelier); --debug shows where
  130  interrupted (Ctrl-C); 143: asked to end (SIGTERM); nothing is left half-written
  141  output pipe closed (| head)

environment:
  LIKELIER_THREADS  how many cores to use (all that the process may)
  LIKELIER_ISA      the instructions to use: v2, v3 or v4 (the highest of the machine)
  COLUMNS           the width of help, tables and bars
  NO_COLOR          any value: no colour and no bold

Results go to standard output, notes and progress bars to standard error. Bars, colour and bold are
for terminals only."""


def parser() -> Parser:
    """The words that the command line understands."""
    top = Parser(
        prog="likelier",
        description="Classical classifiers and least squares, on tables in files of any size.",
        epilog=ABOUT,
    )
    top.add_argument(
        "--version",
        action="store_true",
        help="the versions of likelier, Python and libraries, for bug reports",
    )
    top.add_argument(
        "--debug", action="store_true", help="show where a problem was found: all of the traceback"
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=Parser)
    for command in COMMANDS:
        command.add(commands)
    for name, one in commands.choices.items():
        one.add_argument(
            "--debug", action="store_true", default=top.SUPPRESS, help="show where a problem was found"
        )
        one.set_defaults(command=name)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stderr is None:  # closed by whoever started us: notes go nowhere
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    try:
        with terminable():
            code = _run(given)
            sys.stdout.flush()
    except BrokenPipeError:
        _let_go()
        return BROKEN_PIPE
    except KeyboardInterrupt as why:
        terminated = isinstance(why, Terminated)
        say("terminated" if terminated else "interrupted")
        return TERMINATED if terminated else INTERRUPTED
    except Exception as problem:
        if "--debug" in given:
            import traceback

            traceback.print_exc()
        wrong = isinstance(problem, WRONG)
        say(_said(problem) if wrong else _defect(problem), error=True)
        _let_go()
        return BAD if wrong else DEFECT
    return code


def _run(given: list[str]) -> int:
    """What is asked for; what cannot be understood has been said."""
    if sys.stdout is None:
        raise OSError("standard output is closed: nothing can be printed")
    top = parser()
    try:
        options = top.understood(corrected(top, given))
    except SystemExit as stop:
        return int(stop.code or 0)
    if options.version:
        print(_version())
        return 0
    if options.command is None:
        print(top.format_short(), file=sys.stderr)
        return BAD
    options.run(options)
    return 0


def _version() -> str:
    """The version, and what a bug report needs: processor, threads and libraries."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    import likelier
    from likelier._core import ISA
    from likelier.threads import cores

    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    libraries = ", ".join(f"{name} {number}" for name, number in found.items())
    return (
        f"likelier {likelier.__version__}\n"
        f"instructions {ISA}, threads {cores()}\n"
        f"Python {platform.python_version()} ({platform.python_implementation()}), "
        f"{platform.system()} {platform.machine()}\n{libraries}"
    )


def _said(problem: Exception) -> str:
    """In words, without the number that systems give it, and with options where Python has arguments."""
    if isinstance(problem, OSError) and problem.strerror:
        return f"{problem.filename}: {problem.strerror}" if problem.filename else problem.strerror
    return in_options(str(problem)) or "there is not enough memory"


def _defect(problem: Exception) -> str:
    return f"internal error: {type(problem).__name__}: {problem}; please report it, with what --debug shows"


def _let_go() -> None:
    """Nobody reads on, or nothing can be written: what is left in the buffer goes nowhere, for Python tries
    once more at its end."""
    try:
        sys.stdout.flush()
    except (OSError, AttributeError, ValueError):
        pass
    else:
        return
    try:
        here = sys.stdout.fileno()
    except (OSError, AttributeError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, here)
    os.close(nowhere)
