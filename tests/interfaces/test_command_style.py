"""Bold and colour of the command line: on a terminal, and nowhere else."""

import os
import pty
import re
import subprocess
import sys

import pytest

COMPARE = ["compare", "iris", "--models", "lda,gaussian-nb", "--no-report", "--cv", "2"]
PROGRAM = [sys.executable, "-c", "import sys; from likelier.cli import main; sys.exit(main())"]
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def on_a_terminal(arguments, **variables):
    """What the program prints, standard output and error, where both are a terminal."""
    ours, theirs = pty.openpty()
    unset = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM")}
    environment = unset | {"TERM": "xterm-256color", "COLUMNS": "120"} | variables
    process = subprocess.Popen(
        [*PROGRAM, *arguments], stdout=theirs, stderr=theirs, stdin=theirs, env=environment
    )
    os.close(theirs)
    found = b""
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:  # how Linux says that the other end is closed
            break
        if not piece:
            break
        found += piece
    process.wait(60)
    os.close(ours)
    return found.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def coloured():
    """A comparison on a terminal that shows colours."""
    return on_a_terminal(COMPARE)


def test_the_best_model_and_headings_stand_out_on_a_terminal(coloured):
    shown = coloured
    best = next(line for line in shown.split("\n") if "* " in line and "best" not in line)
    assert best.startswith("\x1b[1;32m*")
    assert best.endswith("\x1b[0m")
    assert re.search(r"\x1b\[1m +model +error %", shown)
    assert re.search(r"\x1b\[2m +\(majority class\)", shown)


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_users_can_turn_colour_off(variables, coloured):
    shown = on_a_terminal(COMPARE, **variables)
    assert not ESCAPE.search(shown)
    times = re.compile(r"[\d.]+ m?s")  # differ from run to run, as do the widths of their columns
    plain = [re.sub(r"[ -]+", " ", times.sub("", text)) for text in (shown, ESCAPE.sub("", coloured))]
    assert plain[0] == plain[1]


def test_errors_are_red_on_a_terminal_and_plain_in_a_pipe():
    bad = ["compare", "absent.csv", "--target", "y"]
    assert on_a_terminal(bad).startswith("\x1b[1;31mlikelier:\x1b[0m ")
    done = subprocess.run([*PROGRAM, *bad], capture_output=True, text=True)
    assert done.stderr.startswith("likelier: ")
    assert not ESCAPE.search(done.stdout + done.stderr)


def test_a_pipe_has_no_colour():
    done = subprocess.run([*PROGRAM, *COMPARE], capture_output=True, text=True)
    assert "LDA" in done.stdout
    assert not ESCAPE.search(done.stdout + done.stderr)
