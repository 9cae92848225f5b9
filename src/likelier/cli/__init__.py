"""The command line. Nothing heavy is imported before it is known what was asked."""

import os
import sys
from collections.abc import Sequence

from likelier.cli import comparing, inspecting, merging, predicting, streaming, training
from likelier.cli.words import Parser, Terminated, say, terminable

# What is wrong with data, files and arguments is said in one line; anything else is a defect, and shows
# where it happened.
WRONG = (ValueError, TypeError, OSError, NotImplementedError, MemoryError)
BROKEN_PIPE, INTERRUPTED, TERMINATED = 141, 130, 143  # as shells have it: 128 and the number of the signal


def parser() -> Parser:
    """The words that the command line understands."""
    top = Parser(
        prog="likelier",
        description="Classical classifiers and least squares, on tables in files of any size.",
        epilog="example: likelier compare iris.csv --target species",
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in (comparing, training, predicting, streaming, inspecting, merging):
        command.add(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; its exit code: 0, or 2 for what is wrong with arguments or data."""
    options = parser().parse_args(arguments)
    try:
        with terminable():
            options.run(options)
            sys.stdout.flush()
    except BrokenPipeError:
        _let_go()
        return BROKEN_PIPE
    except KeyboardInterrupt as why:
        terminated = isinstance(why, Terminated)
        say("terminated" if terminated else "interrupted")
        return TERMINATED if terminated else INTERRUPTED
    except WRONG as problem:
        say(_said(problem))
        return 2
    return 0


def _said(problem: Exception) -> str:
    """In words, without the number that systems give it."""
    if isinstance(problem, OSError) and problem.strerror and problem.filename:
        return f"{problem.filename}: {problem.strerror}"
    return str(problem) or "there is not enough memory"


def _let_go() -> None:
    """Nobody reads on: what is left in the buffer goes nowhere, for Python tries once more at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
