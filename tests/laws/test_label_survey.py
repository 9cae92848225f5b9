"""Labels are surveyed and counted by one reading, wherever the rows are."""

import numpy as np
import pandas as pd
import pytest

import likelier as lk
from laws.test_files import pieces_of
from likelier.data import Arrays, Dense
from likelier.data.dask import collected
from likelier.engines import watching
from likelier.estimators.discriminative.base import labelled, labelled_as

LABELS = {
    "text": np.array(["no", "yes", "perhaps", "a label of no weight that is long"]),
    "numbers": np.array([3, 1, 2, 7]),
}


def table(labels, n=400):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"])
    frame["y"] = labels[rng.integers(0, 4, n)]
    frame["w"] = rng.integers(0, 3, n) * (frame["y"] != labels[3])  # one label never counts
    return frame


def source_of(frame, kind, tmp_path):
    path = tmp_path / f"t.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        dd = pytest.importorskip("dask.dataframe")
        parts = dd.from_pandas(frame, npartitions=5)
        return collected(parts[["a", "b"]], parts["y"], parts["w"])
    return lk.scan(path, target="y", weight="w", features=["a", "b"])


@pytest.mark.parametrize("labels", LABELS.values(), ids=list(LABELS))
@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "dask"])
def test_a_source_has_the_classes_and_counts_of_its_rows(labels, kind, tmp_path):
    frame = table(labels)
    y, w = frame["y"].to_numpy(labels.dtype), frame["w"].to_numpy(np.float64)
    whole = labelled(Arrays(Dense(frame[["a", "b"]].to_numpy()), y, w))
    np.testing.assert_array_equal(whole.classes, np.unique(y[w > 0]))
    np.testing.assert_array_equal(whole.n, [w[y == label].sum() for label in whole.classes])
    np.testing.assert_array_equal(whole.rows, [(y == label).sum() for label in whole.classes])
    with pieces_of(500):
        found = labelled(source_of(frame, kind, tmp_path))
    for ours, theirs in zip(found[1:], whole[1:], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    if kind != "dask":  # whose text is objects
        assert found.classes.dtype.kind == whole.classes.dtype.kind


@pytest.mark.parametrize("kind", ["arrays", "csv", "parquet"])
def test_known_classes_are_counted_in_their_places_and_others_refused(kind, tmp_path):
    frame = table(LABELS["text"])
    known = np.array(["absent", "no", "perhaps", "yes"])
    y, w = frame["y"].to_numpy(known.dtype), frame["w"].to_numpy(np.float64)
    source = Arrays(Dense(frame[["a", "b"]].to_numpy()), frame["y"].to_numpy(str), w)
    source = source if kind == "arrays" else source_of(frame, kind, tmp_path)
    found = labelled_as(source, known)
    np.testing.assert_array_equal(found.n, [w[y == label].sum() for label in known])
    np.testing.assert_array_equal(found.rows, [(y == label).sum() for label in known])
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        labelled_as(source, known[:-1])


class Passes:
    """Hears which passes there are."""

    def __init__(self):
        self.seen = []

    def begin(self, what):
        self.seen.append(what.state.__name__)

    def done(self, *, parts, rows):
        pass

    def end(self):
        pass

    def reached(self, figure, value):
        pass


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    "model",
    [
        lk.LogisticRegression(),
        lk.LinearSVC(),
        lk.SGDClassifier(max_iter=1, tol=None, random_state=0),
        lk.Perceptron(max_iter=1, tol=None),
    ],
    ids=lambda model: type(model).__name__,
)
def test_labels_are_read_once_before_a_fit(model, kind, tmp_path):
    heard = Passes()
    with watching(heard):
        model.fit(source_of(table(LABELS["text"]), kind, tmp_path))
    assert heard.seen[0] == "LabelTotals"
    assert set(heard.seen[1:]).isdisjoint({"Survey", "LabelTotals", "RowTotals"})
