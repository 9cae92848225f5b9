"""What is timed: a method of each library's class on the same documents."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from benchmarks.text import documents as made

Texts = list[str]


@cache
def plain(n: int) -> Texts:
    return made.documents(n)[0]


@cache
def accented(n: int) -> Texts:
    return made.documents(n, letters=made.ACCENTED)[0]


@cache
def chinese(n: int) -> Texts:
    """Words of characters side by side: a document is a few long runs."""
    return made.documents(n, letters=made.HAN, length=30, between="")[0]


@cache
def arabic(n: int) -> Texts:
    return made.documents(n, letters=made.ARABIC)[0]


@cache
def emoji(n: int) -> Texts:
    return made.emoji(5 * n)


@cache
def long_lines(n: int) -> Texts:
    """Few documents of half a million words each."""
    return [" ".join(plain(n)[i :: max(1, n // 5000)]) for i in range(max(1, n // 5000))]


@dataclass(frozen=True)
class Case:
    """A class, its settings, the documents, the method, and by how much it is to be faster."""

    name: str
    kind: str
    texts: Callable[[int], Texts]
    method: str
    target: float
    n: int = 100_000
    settings: dict[str, Any] = field(default_factory=dict)


WORDS_2 = {"ngram_range": (1, 2)}
CHARS = {"analyzer": "char_wb", "ngram_range": (3, 5)}
CASES = [
    Case("words", "CountVectorizer", plain, "fit_transform", 12),
    Case("words", "CountVectorizer", plain, "transform", 15),
    Case("words 1-2", "CountVectorizer", plain, "fit_transform", 10, 30_000, WORDS_2),
    Case("words 1-2", "CountVectorizer", plain, "transform", 10, 30_000, WORDS_2),
    Case("char_wb 3-5", "CountVectorizer", plain, "fit_transform", 10, 10_000, CHARS),
    Case("char_wb 3-5", "CountVectorizer", plain, "transform", 10, 10_000, CHARS),
    Case("accents", "CountVectorizer", accented, "fit_transform", 10, 50_000, {"strip_accents": "unicode"}),
    Case("accents", "CountVectorizer", accented, "transform", 10, 50_000, {"strip_accents": "unicode"}),
    Case("hashing", "HashingVectorizer", plain, "transform", 15),
    Case("hashing 1-2", "HashingVectorizer", plain, "transform", 10, 30_000, WORDS_2),
    Case("tf-idf", "TfidfVectorizer", plain, "fit_transform", 10),
    Case("Chinese", "CountVectorizer", chinese, "fit_transform", 5, 50_000),
    Case("Chinese char 1-2", "CountVectorizer", chinese, "fit_transform", 5, 10_000,
         {"analyzer": "char", "ngram_range": (1, 2)}),
    Case("Arabic", "CountVectorizer", arabic, "fit_transform", 5, 50_000),
    Case("emoji", "CountVectorizer", emoji, "fit_transform", 5, 50_000),
    Case("emoji char 1-3", "CountVectorizer", emoji, "fit_transform", 5, 4_000,
         {"analyzer": "char", "ngram_range": (1, 3)}),
    Case("long lines", "CountVectorizer", long_lines, "fit_transform", 5, 50_000),
]  # fmt: skip
