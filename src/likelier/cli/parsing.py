"""Arguments: read, explained with examples, and corrected where somebody mistyped."""

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from likelier.cli.words import say

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
