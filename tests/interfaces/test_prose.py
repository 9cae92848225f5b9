"""The language of pages: words of the field, short paragraphs, a short README, current images."""

import re
import runpy
from pathlib import Path

import pytest
import tests.prose as prose

ROOT = Path(__file__).parents[2]


def test_pages_keep_to_the_language():
    assert not prose.problems()


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("Columns of truths are Bernoulli.", ["truths"]),
        ("What was foretold, and what tells them apart.", ["foretold"]),
        ("LDA sits out, lest it fail.", ["lest", "sits out"]),
        ("Regularization and colors", ["Regularization", "colors"]),
        ("The `truths` in code, and [a link](truths.md), are left alone.", []),
        ("A truthful model with the learned weights.", []),
    ],
)
def test_private_words_are_found(tmp_path, line, found):
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n```\ntruths\n```\n\n{line}\n")
    messages = prose.words(page)
    assert sorted(re.findall(r"page\.md:7: '([^']*)'", "\n".join(messages))) == sorted(found)


def test_words_of_python_are_read_in_docstrings_and_comments(tmp_path):
    module = tmp_path / "module.py"
    module.write_text('"""Of truths."""\n\ntruths = 1  # judged\n')
    assert [message.split(";")[0] for message in prose.words(module)] == [
        "module.py:1: 'truths'",
        "module.py:3: 'judged'",
    ]


def test_long_paragraphs_and_sentences_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n{'x' * 401}\n\n- {'y' * 399}\n- {'z' * 402}\n\n| {'t' * 500} |\n")
    assert len(prose.shape(page)) == 2
    assert not prose.readme("word " * 29 + "end.")
    assert len(prose.readme("word " * 30 + "end.")) == 1
    assert len(prose.readme("a line\n" * 121)) > 0


def test_every_page_says_what_it_is_for_before_anything_else():
    """A title, then a paragraph of two sentences or more; no page begins with code or a heading."""
    for page in sorted((ROOT / "docs").glob("*.md")):
        first = page.read_text(encoding="utf-8").split("\n\n")[1]
        assert re.match(r"[\w`\[*]", first), page
        assert len(prose.sentences(first)) >= 2 or page.name in {"glossary.md"}, page


def test_the_picture_of_the_benchmarks_shows_what_the_page_says():
    images = runpy.run_path(str(ROOT / "docs" / "site" / "images.py"))
    bars = images["measured"]((ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8"))
    drawn = (ROOT / "docs" / "images" / "benchmarks.svg").read_text(encoding="utf-8")
    for label, theirs, ours in bars:
        assert label in drawn
        assert f"{theirs / ours:.0f}× ({images['_time'](theirs)} → {images['_time'](ours)})" in drawn


def test_the_images_of_the_readme_are_small():
    assert all(path.stat().st_size < 200_000 for path in (ROOT / "docs" / "images").iterdir())
