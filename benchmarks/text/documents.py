"""Made-up documents: words by Zipf's law, of which each class has favourites, in several scripts."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

WORDS, CLASSES = 50_000, 10
LATIN = [chr(code) for code in range(ord("a"), ord("z") + 1)]
ACCENTED = [*LATIN, *"éèêëàâäçîïôöùûüñãõåøœæß"]
ARABIC = [chr(code) for code in range(0x0627, 0x064B)]
HAN = [chr(code) for code in range(0x4E00, 0x4E00 + 3000)]
EMOJI = [*(chr(code) for code in range(0x1F600, 0x1F650)), "👍🏽", "👩‍👩‍👧", "🇩🇪", "❤️"]


def words(rng: np.random.Generator, letters: list[str], count: int = WORDS) -> list[str]:
    """So many words of 2 to 12 letters, the short ones first, as in a language."""
    sizes = np.sort(rng.binomial(12, 0.5, count).clip(2))
    found = ["".join(rng.choice(letters, size)) for size in sizes]
    # Half of them next to where their length would have them: the most frequent are not all of 2 letters.
    order = np.argsort(np.arange(count) + rng.exponential(count / 4, count), kind="stable")
    return [found[i] for i in order]


def documents(
    n: int, *, letters: list[str] = LATIN, length: int = 100, between: str = " ", seed: int = 0
) -> tuple[list[str], np.ndarray]:
    """Documents of about `length` words, and their classes."""
    rng = np.random.default_rng(seed)
    known = np.array(words(rng, letters), dtype=object)
    y = rng.integers(0, CLASSES, n)
    sizes = rng.poisson(length, n).clip(1)
    ranks = np.minimum((WORDS ** rng.random(sizes.sum())).astype(np.int64), WORDS) - 1
    own = rng.random(len(ranks)) < 0.1  # of ten words one is a favourite of the class
    ranks[own] = (ranks[own] // CLASSES) * CLASSES + np.repeat(y, sizes)[own]
    chosen = known[np.minimum(ranks, WORDS - 1)].tolist()
    ends = np.cumsum(sizes).tolist()
    texts = []
    start = 0
    for end in ends:
        some = chosen[start:end]
        some[0] = some[0].capitalize()
        texts.append(between.join(some) + ".")
        start = end
    return texts, y


def emoji(n: int, seed: int = 0) -> list[str]:
    """Short messages: words, and a run of emoji."""
    rng = np.random.default_rng(seed)
    texts, _ = documents(n, length=20, seed=seed)
    return [f"{text} {''.join(rng.choice(EMOJI, 8))}!" for text in texts]


def write_json_lines(path: Path, size: int, seed: int = 0) -> int:
    """A file of about `size` bytes of {"id", "label", "text"}; returns how many rows it has."""
    rows = 0
    with path.open("w", encoding="utf-8") as file:
        for block in _blocks(seed):
            for text, k in block:
                file.write(json.dumps({"id": rows, "label": f"class {k}", "text": text}) + "\n")
                rows += 1
            if file.tell() >= size:
                return rows
    return rows


def _blocks(seed: int) -> Iterator[list[tuple[str, int]]]:
    texts, y = documents(20_000, length=120, seed=seed)
    rng = np.random.default_rng(seed)
    while True:
        yield [(texts[i], int(y[i])) for i in rng.permutation(len(texts))]
