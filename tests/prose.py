"""The language of docs, README and code: `python tests/prose.py` prints what the rules below refuse.

`make lint` runs it. In pages, code (blocks, and what stands between backticks) is left out; of Python files
only docstrings, comments and strings are read. tests/interfaces/test_prose.py holds the rules to examples.
"""

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PARAGRAPH = 400  # characters, of a page
README_LINES, README_SENTENCE = 120, 30  # lines; words

# What is not written, and the ordinary word for it.
WORDS = {
    "truths": "booleans",
    r"foretell\w*|foretold": "predict",
    "lest": "so that … not",
    r"sits? out|sat out": "is skipped",
    r"tells? apart|told apart": "distinguishes; significantly different",
    r"bears? (?:it |that |them )?out|borne out": "supports",
    r"takes? for granted|taken for granted": "assumes",
    r"(?:it|this|that) is one of": "must be one of",
    "it is a number": "must be a number",
    r"(?:fits?|models?) made apart|trained apart|fitted apart|learned apart": "fitted separately",
    r"of one's own|oneself": "custom; your own",
    r"packed (?:as well|or not|text|file)s?": "compressed",
    r"go(?:es)? on learning|learns? on|goes on from": "continues training",
    r"weighs? (?:its |their )?mistakes": "by cost",
    r"cells? that (?:is|are) not there|gappy": "missing values",
    r"judged|judging": "evaluated",
}
# One spelling: British, but for the names of scikit-learn's parameters.
AMERICAN = {
    r"(?:un)?regulariz\w+": "regularis…",
    r"normaliz\w+": "normalis…",
    r"standardiz\w+": "standardis…",
    r"(?:optimi|minimi|maximi|summari|categori|vectori|initiali|generali|organi|seriali)z\w+": "…is…",
    r"colors?(?![:-])": "colour",
    r"(?:neighbor|behavior|favor)\w*": "…our",
    r"centered|centering": "centred",
    r"labeled|modeled|modeling|labeling": "…ll…",
    r"analyz\w+": "analys…",
}
PATTERNS = {
    re.compile(rf"(?<![\w.`/_-])(?:{word})(?![\w(]|[_/]\w)", re.IGNORECASE): better
    for word, better in {**WORDS, **AMERICAN}.items()
}
# In the glossary both spellings can be found; some messages begin with scikit-learn's words.
ALLOWED = {
    ("docs/glossary.md", "regularization"),
    ("src/likelier/estimators/deprecated.py", "behavior"),
    ("src/likelier/estimators/generative/mixture_base.py", "initialization"),
    ("src/likelier/estimators/generative/mixture_init.py", "normalized"),
    ("src/likelier/estimators/text/vectorizers.py", "vectorizer"),
}
PAGES = ("README.md", "CONTRIBUTING.md", "benchmarks/README.md", "docs/**/*.md")
CODE = ("docs/site/*.py", "src/likelier/**/*.py")


def files(*patterns: str) -> list[Path]:
    """The files of some patterns."""
    return sorted({path for pattern in patterns for path in ROOT.glob(pattern)})


def _blank(found: "re.Match[str]") -> str:
    return re.sub(r"[^\n]", " ", found[0])


def plain(page: str) -> str:
    """A page without its code, links' targets and comments; lines stay where they are."""
    page = re.sub(r"^```.*?^```$|<!--.*?-->|^ {4}\S[^\n]*$", _blank, page, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`|\]\([^)\s]*\)|\]\[[^\]]*\]", _blank, page)


# What is no prose in strings of Python: code between backticks, what f-strings fill in, parameters by their
# names, and the titles that a docstring refers to.
CODE_IN_STRINGS = re.compile(
    r"`[^`\n]*`|\{[^{}\n]*\}|\b(?:analyzer|optimizer|normalize|standardize|vectorizer_)\b"
    r"|^ *References\n *-{3,}\n.*",
    re.DOTALL | re.MULTILINE,
)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """The prose of a file by line: all of a page; docstrings, comments and strings of Python."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from enumerate(plain(source).splitlines(), start=1)
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            if token.type == tokenize.STRING and not re.search(r"\s", token.string):
                continue  # a name or a key
            for i, line in enumerate(CODE_IN_STRINGS.sub(_blank, token.string).splitlines()):
                yield token.start[0] + i, line


def words(path: Path) -> list[str]:
    """A message for each word that is not to be written."""
    name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name
    found = []
    for number, line in texts(path):
        for pattern, better in PATTERNS.items():
            hits = [hit[0] for hit in pattern.finditer(line) if (name, hit[0]) not in ALLOWED]
            found += [f"{name}:{number}: {hit!r}; write {better!r}" for hit in hits]
    return found


def items(page: str) -> list[str]:
    """The paragraphs and items of lists of a page as they are read; no headings, tables, code or quotes."""
    page = re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)
    blocks = [block for block in re.split(r"\n\s*\n", page) if not re.match(r"\s*[#|<!>]| {4}", block)]
    found = [each for block in blocks for each in re.split(r"^(?:[-*]|\d+\.) ", block, flags=re.MULTILINE)]
    return [
        re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", " ".join(each.split())) for each in found if each.strip()
    ]


def sentences(page: str) -> list[str]:
    """The sentences of a page."""
    return [each for item in items(page) for each in re.split(r"(?<=[.!?:;]) ", item)]


def shape(path: Path) -> list[str]:
    """A message for each paragraph that is too long."""
    long = [item for item in items(path.read_text(encoding="utf-8")) if len(item) > PARAGRAPH]
    return [f"{path.name}: a paragraph of {len(item)} characters: {item[:70]} …" for item in long]


def readme(text: str) -> list[str]:
    """What is too long in the README."""
    found = [f"README.md: {n} lines" for n in [len(text.splitlines())] if n > README_LINES]
    long = [each for each in sentences(text) if len(each.split()) > README_SENTENCE]
    return found + [f"README.md: a sentence of {len(each.split())} words: {each[:70]} …" for each in long]


def problems() -> list[str]:
    """All that the rules refuse."""
    found = [message for path in files(*PAGES, *CODE) for message in words(path)]
    found += [message for path in files("docs/*.md") for message in shape(path)]
    return found + readme((ROOT / "README.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    refused = problems()
    print("\n".join(refused))
    sys.exit(bool(refused))
