"""Documents as rows of counts, beside a few lines of Python; random bytes are documents too."""

import re
import string
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

CODE_POINTS = 0x110000
WORD, SPACE = 1, 2
SPECIAL = {"ß": "ss", "é": "e", "\u0301": "", **{c: c.lower() for c in string.ascii_uppercase}}


@pytest.fixture(scope="module")
def characters(core):
    """Words and spaces as Python has them, and a few characters that become others."""
    text = "".join(map(chr, range(CODE_POINTS)))
    flags = np.zeros(CODE_POINTS, np.uint8)
    for what, pattern in ((WORD, r"\w+"), (SPACE, r"\s+")):
        for run in re.finditer(pattern, text):
            flags[run.start() : run.end()] |= what
    return core.Characters(
        flags,
        np.array([ord(c) for c in SPECIAL], np.uint32),
        np.cumsum([len(to) for to in SPECIAL.values()]),
        np.array([ord(c) for to in SPECIAL.values() for c in to], np.uint32),
        False,
    )


def terms_of(text, unit, least, most, shortest, ignored):
    """The same in Python."""
    text = "".join(SPECIAL.get(c, c) for c in text)
    if unit == 0:
        words = [word for word in re.findall(r"\w+", text) if len(word) >= shortest and word not in ignored]
        runs = [
            " ".join(words[i : i + n]) for n in range(least, most + 1) for i in range(len(words) - n + 1)
        ]
        return Counter(runs)
    text = re.sub(r"\s\s+", " ", text)
    if unit == 1:
        return Counter(text[i : i + n] for n in range(least, most + 1) for i in range(len(text) - n + 1))
    found = Counter()
    for word in text.split():
        padded = f" {word} "
        for n in range(least, most + 1):
            found.update(padded[i : i + n] for i in range(max(len(padded) - n + 1, 1)))
            if n >= len(padded):
                break
    return found


TEXTS = st.lists(
    st.one_of(
        st.text(st.sampled_from("abAB éß\u0301 \n\t\u3000中👍\ud800"), max_size=30),
        st.text(st.characters(exclude_categories=()), max_size=30),
        st.binary(max_size=60).map(lambda some: some.decode("utf-8", "replace")),
    ),
    max_size=150,
)


@settings(max_examples=60)
@given(
    texts=TEXTS,
    unit=st.integers(0, 2),
    least=st.integers(1, 3),
    more=st.integers(0, 3),
    shortest=st.integers(1, 3),
    threads=st.integers(1, 3),
)
def test_counts_are_those_of_python(core, characters, texts, unit, least, more, shortest, threads):
    ignored = ["ab", "a"]
    analysis = core.Analysis(unit, least, least + more, shortest, characters, ignored)
    expected = [terms_of(text, unit, least, least + more, shortest, ignored) for text in texts]
    counts = core.DocumentCounts(analysis, None)
    counts.add(texts[: len(texts) // 2], threads)
    counts.add(texts[len(texts) // 2 :], threads)
    counts.finish()
    total, documents = Counter(), Counter()
    for row in expected:
        total.update(row)
        documents.update(row.keys())
    names = sorted(total)
    assert counts.texts(np.ones(len(names), np.uint8)) == names
    in_documents, times = counts.totals()
    assert in_documents.tolist() == [documents[name] for name in names]
    assert times.tolist() == [total[name] for name in names]
    known = core.Terms(names)
    fixed = core.DocumentCounts(analysis, known)
    fixed.add(texts, threads)
    fixed.finish()
    for found in (counts, fixed):
        values, indices, starts = found.matrix(np.arange(len(names)), "int64", False, threads)
        assert len(starts) == len(texts) + 1
        for i, row in enumerate(expected):
            cells = slice(starts[i], starts[i + 1])
            assert [names[j] for j in indices[cells]] == sorted(row)
            assert values[cells].tolist() == [row[name] for name in sorted(row)]


def test_long_terms_are_told_from_each_other(core, characters):
    """Those that are as long as, or longer than, what is compared at once."""
    words = [stem * n + end for n in range(1, 40) for stem in ("x", "xyz") for end in ("a", "b", "")]
    counts = core.DocumentCounts(core.Analysis(0, 1, 1, 1, characters, []), None)
    counts.add([" ".join(words)] * 3, 1)
    counts.finish()
    assert counts.texts(np.ones(len(set(words)), np.uint8)) == sorted(set(words))


def test_columns_of_hashes_are_those_of_murmur(core, characters):
    """Values of scikit-learn's murmurhash3_bytes_s32 with seed 0."""
    analysis = core.Analysis(0, 1, 1, 1, characters, [])
    hashed = core.HashedDocuments(analysis, 2**31 - 1, True)
    hashed.add(["foo", "hello world", ""], True, 1)
    values, indices, starts = hashed.matrix("int64", False, "", 1)
    found = list(zip(indices.tolist(), values.tolist(), strict=True))
    assert found == [(156908512, -1), (74040069, -1), (613153351, 1)]
    assert starts.tolist() == [0, 1, 3, 3]


def test_wrong_arguments_are_refused(core, characters):
    with pytest.raises(ValueError, match="unit"):
        core.Analysis(3, 1, 1, 1, characters, [])
    with pytest.raises(ValueError, match="at least one"):
        core.Analysis(0, 0, 1, 1, characters, [])
    counts = core.DocumentCounts(core.Analysis(0, 1, 1, 1, characters, []), None)
    with pytest.raises(TypeError, match="documents must be strings"):
        counts.add([b"bytes"], 1)
    counts.add(["some words"], 1)
    counts.finish()
    with pytest.raises(ValueError, match="columns: one for each term"):
        counts.matrix(np.zeros(1, np.int64), "int64", False, 1)
    with pytest.raises(ValueError, match="keep: one for each term"):
        counts.texts(np.zeros(1, np.uint8))
    with pytest.raises(ValueError, match="a flag for each code point"):
        core.Characters(
            np.zeros(3, np.uint8),
            np.zeros(0, np.uint32),
            np.zeros(0, np.int64),
            np.zeros(0, np.uint32),
            False,
        )
