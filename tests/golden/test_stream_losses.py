"""One default setting of the online learner against the defaults of its peers, on streams of many kinds.

The bound of a stream is the least progressive log-loss of Vowpal Wabbit 9.11 (`--loss_function logistic`,
-b 18 and 22) and River 0.26 (`LogisticRegression()`, alone and behind `StandardScaler()`), each on the
natural reading of the file: columns of numbers as numbers, others as name=value indicators.
"""

import csv
import gzip
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest

from likelier import _core

Cells = list[tuple[str, float]]


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _lines(path: Path) -> list[str]:
    return (
        (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
        .decode()
        .splitlines()
    )


def _table(target: str, separator: str = ",", words_from: int = 10**9) -> Callable:
    """Rows of a delimited file; columns from `words_from` on are words, whatever they look like."""

    def read(path: Path) -> Iterator[tuple[str, Cells]]:
        rows = list(csv.reader(_lines(path), delimiter=separator))
        names = rows.pop(0) if not target.isdigit() else [str(j) for j in range(len(rows[0]))]
        columns = list(zip(*rows, strict=True))
        numbers = [
            j < words_from and all(map(_number, filter(None, set(x)))) for j, x in enumerate(columns)
        ]
        own = names.index(target)
        for row in rows:
            kept = [j for j, cell in enumerate(row) if cell and j != own]
            yield (
                row[own],
                [(names[j], float(row[j])) if numbers[j] else (f"{names[j]}={row[j]}", 1.0) for j in kept],
            )

    return read


def _vw(path: Path) -> Iterator[tuple[str, Cells]]:
    for line in _lines(path):
        label, _, rest = line.partition("|")
        yield label.split()[0], [(k, float(v)) for k, v in (cell.split(":") for cell in rest.split()[1:])]


def _hashed(rows: Iterator[tuple[str, Cells]]) -> tuple[_core.HashedRows, np.ndarray]:
    keys: dict[str, int] = {}
    codes: dict[str, int] = {}
    found, values, starts, y = [], [], [0], []
    for label, cells in rows:
        for name, value in cells:
            if name not in keys:
                keys[name] = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little")
            found.append(keys[name])
            values.append(value)
        starts.append(len(found))
        y.append(codes.setdefault(label, len(codes)))
    hashed = _core.HashedRows()
    hashed.extend(
        np.array(found, np.uint64),
        np.array(values),
        np.array(starts, np.int64),
        np.array(y, np.int32),
        np.ones(len(y)),
    )
    return hashed, np.array(y)


@pytest.mark.parametrize(
    ("name", "read", "bound"),
    [
        ("elec2.csv.gz", _table("class"), 0.4162),
        ("phishing_river.csv", _table("is_phishing"), 0.3301),
        ("sea.csv.gz", _table("class"), 0.4179),
        ("weather.csv.gz", _table("target"), 0.4733),
        ("criteo_8k.tsv.gz", _table("0", "\t", words_from=14), 0.4846),
        ("open_bandit_random_10k.csv.gz", _table("click"), 0.02691),
        ("rcv1_small.vw.gz", _vw, 0.4294),
        ("vw_0001.vw.gz", _vw, 0.5694),
    ],
)
def test_the_default_is_at_least_as_good_as_its_peers(data_file, name, read, bound):
    rows, y = _hashed(read(data_file(name)))
    P = _core.Learner(bits=18).learn(rows)
    assert -np.log(P[np.arange(len(y)), y]).mean() <= bound
