"""The language of docs, README and code: `python tests/prose.py` prints what the rules below refuse.

`make lint` runs it, and tests/interfaces/test_prose.py. Words in code (between backticks, in code blocks,
identifiers of Python) are not looked at in pages; in Python files only docstrings, comments and strings are.
"""

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARAGRAPH = 400  # characters
# What is written, and the ordinary word for it.
WORDS = {
    r"truths?(?! table)": "boolean",
    r"\w*foretell\w*|foretold": "predict",
    r"lest": "so that ... not",
    r"sits? out|sat out": "is skipped",
    r"told apart|tells? apart": "distinguished",
    r"bears? (?:it |that |them )?out|borne out": "supports",
    r"takes? for granted|taken for granted": "assumes",
    r"(?:is|are|was) none of": "is not one of",
    r"it is one of|it is a number": "must be",
    r"what it holds dear|diet|meal|entrant": "preprocessing, prepared data, candidate",
    r"fits? made apart|trained apart|fitted apart": "fitted separately",
    r"of one's own|oneself|one's own": "custom",
    r"packed": "compressed",
    r"goes on from|learns? on|learn(?:ing|ed) on": "continues",
    r"weighs? mistakes|what a row weighs": "weights",
    r"gappy|cells? that (?:is|are) not there": "missing value",
    r"by the row|row by row learners": "one row at a time",
    r"no such thing as": "does not exist",
    r"hears? of|whoever|for ever": "ordinary words",
    r"judged?s?|judging": "evaluate",
}
PATTERN = {re.compile(rf"\b(?:{word})\b", re.I): better for word, better in WORDS.items()}
PAGES = ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "benchmarks/README.md")
# Modules whose language has been revised join here; see the end of docs/architecture.md.
CODE: tuple[str, ...] = ("docs/site/*.py",)


def plain(text: str) -> str:
    """A page without what is code, with as many lines."""

    def blank(found: "re.Match[str]") -> str:
        return re.sub(r"[^\n]", " ", found[0])

    for pattern in (r"^```.*?^```$", r"<!--.*?-->", r"`[^`\n]*`", r"\]\([^)\s]*\)", r"^ {4}\S.*$"):
        text = re.sub(pattern, blank, text, flags=re.S | re.M if pattern.startswith(("^```", "<!")) else re.M)
    return text


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The prose of a file by line: all of a page, comments and strings of Python."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from enumerate(plain(source).splitlines(), start=1)
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            for i, line in enumerate(token.string.splitlines()):
                yield token.start[0] + i, re.sub(r"`[^`]*`", "", line)


def private_words(path: Path) -> list[str]:
    """A message for each word that the field does not use."""
    found = []
    for number, line in texts(path):
        for pattern, better in PATTERN.items():
            if word := pattern.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {word[0]!r}: better {better!r}")
    return found


def paragraphs(text: str) -> list[str]:
    """Those of a page: no headings, tables, formulas of one line, code, or lists."""
    blocks = re.split(r"\n\s*\n", re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M))
    return [" ".join(block.split()) for block in blocks if not re.match(r"\s*(#|\||<|!|>|    )", block)]


def shown(text: str) -> str:
    """A paragraph as it is read: links without their targets."""
    return re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)


def long_paragraphs(path: Path) -> list[str]:
    """A message for each paragraph, or item of a list, that is too long."""
    found = []
    for block in paragraphs(path.read_text(encoding="utf-8")):
        for item in re.split(r"(?:^| )(?:[-*]|\d+\.) (?=\S)", block) if re.match(r"[-*] |\d+\. ", block) else [block]:
            if len(shown(item)) > PARAGRAPH:
                found.append(f"{path.relative_to(ROOT)}: {len(shown(item))} characters: {item[:60]!r} ...")
    return found


def files(patterns: tuple[str, ...]) -> list[Path]:
    """The files of some patterns."""
    return sorted({path for pattern in patterns for path in ROOT.glob(pattern)})


def problems() -> list[str]:
    """All that the rules refuse."""
    found = [message for path in files(PAGES + CODE) for message in private_words(path)]
    return found + [message for path in files(("docs/*.md",)) for message in long_paragraphs(path)]


if __name__ == "__main__":
    found = problems()
    print("\n".join(found))
    sys.exit(bool(found))
