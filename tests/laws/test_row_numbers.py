"""The law of row numbers: however a table is cut into files or partitions, its rows have the same numbers.

Samples and folds are drawn by them, so models, outliers and scores are those of the table in one piece.
"""

import gzip
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

import likelier as lk
from laws.elsewhere import counting
from likelier.comparison.rows import opened
from likelier.data import HashedFolds
from likelier.data.dask import collected
from likelier.data.files.csv import Delimited
from likelier.engines import chunks, run
from likelier.engines.run import numbered
from likelier.states import RowSample

N = 24_000  # more than any sample has
FORMATS = ["csv", "csv.gz", "latin-1", "jsonl", "jsonl.gz", "parquet", "svm", "svm.gz", "dask"]
every_format = pytest.mark.parametrize("ending", FORMATS)


def table(n: int = N, seed: int = 0) -> pd.DataFrame:
    """Columns of several kinds, cells of text with line ends and quotation marks in them; two classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame(rng.gamma(2 + y[:, None], size=(n, 2)), columns=["a", "b"])
    frame["c"] = rng.poisson(1 + y).astype(float)
    frame["d"] = np.array(["x\ny", 'say "é"', "z, z"])[(rng.random(n) * (2 + y)).astype(int)]
    return frame.assign(y=y)


def cut(folder: Path, frame: pd.DataFrame, ends: list[int], ending: str) -> Any:
    """The frame cut into files, some of them empty, or into partitions; a source of them."""
    pieces = [frame.iloc[i:j] for i, j in pairwise([0, *sorted(ends), len(frame)])]
    if ending == "dask":
        rows = dd.from_map(lambda piece: piece, pieces, meta=frame.iloc[:0])
        return collected(rows.drop(columns="y"), rows["y"])
    for i, piece in enumerate(pieces):
        path = folder / f"{i:03d}.{ending if ending != 'latin-1' else 'csv'}"
        plain = path.with_suffix("") if ending.endswith("gz") else path
        WRITERS[ending.removesuffix(".gz")](piece, plain)
        if plain != path:
            path.write_bytes(gzip.compress(plain.read_bytes()))
            plain.unlink()
    found = str(folder / "*")
    if ending.startswith("svm"):
        return lk.scan(found)
    return lk.scan(found, target="y", encoding="latin-1" if ending == "latin-1" else None)


def _csv(frame: pd.DataFrame, path: Path, encoding: str = "utf-8") -> None:
    frame.to_csv(path, index=False, float_format="%.17g", encoding=encoding)


def _lines(frame: pd.DataFrame, path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in frame.to_dict("records")))


def _svmlight(frame: pd.DataFrame, path: Path) -> None:
    with path.open("wb") as file:
        if len(frame):
            dump_svmlight_file(frame[["a", "b", "c"]].to_numpy(), frame["y"], file, zero_based=False)


WRITERS = {
    "csv": _csv,
    "latin-1": lambda frame, path: _csv(frame, path, "latin-1"),
    "jsonl": _lines,
    "parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "svm": _svmlight,
}


def ends_of(seed: int, n: int = N) -> list[int]:
    """Where a table is cut: anywhere, twice at one place, and before its last row."""
    ends = np.random.default_rng(seed).integers(0, n, 4).tolist()
    return [*ends, ends[0], n - 1]


def features(frame: pd.DataFrame, ending: str) -> Any:
    """X as an array or frame."""
    return frame[["a", "b", "c"]].to_numpy() if ending.startswith("svm") else frame.drop(columns="y")


@pytest.fixture(scope="module")
def whole() -> pd.DataFrame:
    return table()


@pytest.fixture(autouse=True)
def _here() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


@every_format
@pytest.mark.parametrize("family", ["auto", "histogram"])
def test_models_and_outliers_are_those_of_the_array(whole, tmp_path, ending, family):
    families = (
        family if family == "auto" else {"a": family, "b": family, "c": "poisson", "d": "categorical"}
    )
    if ending.startswith("svm"):
        families = family
    X, y = features(whole, ending), whole["y"].to_numpy()
    source = cut(tmp_path, whole, ends_of(1), ending)
    one, other = (lk.NaiveBayes(families).fit(*rows) for rows in ((X, y), (source,)))
    assert str(one.families_) == str(other.families_)
    np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(other.is_outlier(X, 0.05), one.is_outlier(X, 0.05))


@every_format
def test_folds_are_those_of_the_row_numbers(whole, tmp_path, ending):
    numbers = ["a", "b", "c"]
    X, y, folds = whole[numbers].to_numpy(), whole["y"].to_numpy(), HashedFolds(3).of(0, len(whole))
    rows = whole[[*numbers, "y"]]
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(3)]
    held = lk.GaussianNB().cross_validate(X, y, cv=splits).scores
    theirs = lk.GaussianNB().cross_validate(cut(tmp_path, rows, ends_of(2), ending), cv=3).scores
    for name, scores in held.items():
        np.testing.assert_allclose(theirs[name], scores, rtol=1e-12, atol=1e-12)


@every_format
def test_comparisons_are_made_on_the_same_rows(whole, tmp_path, ending):
    some = opened(cut(tmp_path, whole, ends_of(3), ending), seed=7, most=5000)
    held = opened(features(whole, ending), whole["y"].to_numpy(), seed=7, most=5000)
    np.testing.assert_array_equal(some.y, held.y)
    a, b = ((rows.numbers if rows.sparse is None else rows.sparse.toarray()) for rows in (some, held))
    np.testing.assert_allclose(a, b, rtol=1e-14)  # svmlight's lines were written with 16 digits


@every_format
@pytest.mark.parametrize("seed", range(6))
def test_every_row_has_its_number(tmp_path, ending, seed):
    n = int(np.random.default_rng(seed).integers(1, 60))
    frame = table(n, seed).assign(a=np.arange(n, dtype=float))
    source = numbered(cut(tmp_path, frame, ends_of(seed, n), ending))
    if ending != "svm" and ending != "svm.gz":
        source = source.worded()
    for chunk in chunks(source.coded(np.array([0, 1]))):
        held = chunk.X.to_array() if not hasattr(chunk.X, "arrays") else chunk.X.arrays[0][:, None]
        np.testing.assert_array_equal(held[:, 0], chunk.first + np.arange(chunk.X.shape[0]))


def test_a_sample_of_rows_that_are_not_numbered_is_refused(tmp_path):
    source = cut(tmp_path, table(50), [20], "csv.gz").coded(np.array([0, 1])).taking(["a"], y=True)
    with pytest.raises(AssertionError, match="numbered"):
        run(source, lambda: RowSample(10))
    run(numbered(source), lambda: RowSample(10))


def test_files_are_counted_only_where_rows_are_drawn_and_then_once(tmp_path, monkeypatch):
    counted: list[Any] = []
    true = Delimited.count
    monkeypatch.setattr(
        "likelier.data.files.csv.Delimited.count", lambda file: counted.append(file.path) or true(file)
    )
    frame = table(300).drop(columns="d")
    source = cut(tmp_path, frame, [100, 200], "csv.gz")
    lk.LinearRegression().fit(source)
    assert counted == []
    lk.GaussianNB().fit(source)
    lk.NaiveBayes().fit(source)
    lk.GaussianNB().cross_validate(source, cv=2)
    assert len(counted) == 2 == len({*counted})  # behind the last file there is none to number
    again = lk.scan(str(tmp_path / "*"), target="y")
    lk.LogisticRegression().fit(again)  # whose survey reads every row, and counts them on the way
    lk.GaussianNB().fit(again)
    assert len(counted) == 2


def test_partitions_are_counted_only_where_rows_are_drawn_and_then_once_in_a_fit(tmp_path):
    frame = table(300).drop(columns="d")
    pieces = [frame[:100], frame[100:300]]

    def read(i: int) -> pd.DataFrame:
        return counting(tmp_path, pieces[i])

    def computed(model: Any, target: str) -> float:
        rows = dd.from_map(read, [0, 1], meta=frame.iloc[:0])
        before = len(list(tmp_path.iterdir()))
        model.fit(rows[["a", "b", "c"]], rows[target])
        return (len(list(tmp_path.iterdir())) - before) / 2

    assert computed(lk.LinearRegression(), "y") == 1
    assert computed(lk.GaussianNB(), "y") == 2  # classes and rows; sums
    assert computed(lk.NaiveBayes(), "y") == 3  # and a sample, to choose families by


@pytest.mark.parametrize("ending", ["csv.gz", "dask"])
def test_a_fit_that_was_cut_off_goes_on(tmp_path, ending):
    """What was counted before it was, and is known now, makes it no other fit."""
    frame, at = table(300).drop(columns="d"), tmp_path / "checkpoint"
    (tmp_path / "files").mkdir()
    source = cut(tmp_path / "files", frame, [100, 200], ending)
    held = lk.NaiveBayes().fit(source)

    class Stop(Exception):
        pass

    def stop(*given: Any) -> None:
        raise Stop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("likelier.estimators.generative.mixed_nb.NaiveBayes._estimate", stop)
        with pytest.raises(Stop):
            lk.NaiveBayes().fit(source, checkpoint=at)
    there = lk.NaiveBayes().fit(source, checkpoint=at)
    X = frame.drop(columns="y")
    np.testing.assert_array_equal(there.predict_proba(X), held.predict_proba(X))
