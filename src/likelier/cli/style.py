"""Bold and colour on a terminal; plain text in pipes, in files and where NO_COLOR is set."""

import os
import re
from typing import Any

BOLD, DIM, RED, GREEN, YELLOW = "1", "2", "31", "32", "33"


def coloured(stream: Any) -> bool:
    """Whether a stream is a terminal that shows colours, and the user has not asked for none."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream is not None and stream.isatty()


def styled(text: str, *codes: str, on: Any) -> str:
    """The text in these styles, if the stream shows them."""
    return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if text and coloured(on) else text


def message(text: str, *, on: Any) -> str:
    """A message, with the word `note` coloured."""
    if text.startswith("note:"):
        return styled("note:", YELLOW, on=on) + text.removeprefix("note:")
    return text


def comparison(text: str, *, on: Any) -> str:
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
