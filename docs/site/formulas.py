"""Formulas as they stand in the pages, in Unicode, with what is below and above the line put there.

They can be read in an editor and in a terminal, are found by the search, and need nothing when they are
shown. Outside code, x_k is x with index k, and e^(−z) is e to the power −z.
"""

import re
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.treeprocessors import Treeprocessor

# The base is one letter (perhaps with a tilde): names such as half_life are not formulas.
BELOW = r"(?:(?<=(?<![A-Za-z0-9_])[^\W\d_])|(?<=\u0303))_([A-Za-z0-9]{1,2})(?![A-Za-z0-9_])"
ABOVE = r"(?<=[\w)\]])\^(?:\(((?:[^()]|\([^()]*\))*)\)|([−-]?[^\W_]+(?:\.\d+)?(?:_[^\W_]+)?))"
# A paragraph of one line that holds an equation or an update, and no sentence.
DISPLAYED = re.compile(r"[^.]*[=←∝≈≤][^.]*[^.:;]")


class Script(InlineProcessor):
    """An index or a power."""

    def __init__(self, pattern: str, tag: str, md: Markdown) -> None:
        super().__init__(pattern, md)
        self.tag = tag

    def handleMatch(self, m: "re.Match[str]", data: str) -> tuple[Element, int, int]:
        """An element in place of the mark and what it is for."""
        found = Element(self.tag)
        found.text = next(part for part in m.groups() if part is not None)
        return found, m.start(0), m.end(0)


class Displayed(Treeprocessor):
    """Marks the paragraphs that are formulas."""

    def run(self, root: Element) -> None:
        """Class `formula` for each."""
        for paragraph in root.findall("p"):
            said = "".join(paragraph.itertext())
            code = paragraph.find("code") is not None or paragraph.find("a") is not None
            if DISPLAYED.fullmatch(said) and not code and len(said) < 160:
                paragraph.set("class", "formula")


class Formulas(Extension):
    """To be named in `markdown_extensions`."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Indices and powers after code and links (190, 160) have been taken out, before emphasis (60)."""
        md.inlinePatterns.register(Script(ABOVE, "sup", md), "above", 72)
        md.inlinePatterns.register(Script(BELOW, "sub", md), "below", 71)
        md.treeprocessors.register(Displayed(md), "displayed", 5)
