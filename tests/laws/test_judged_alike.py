"""One stream is judged alike by `likelier stream` and by `lk.progressive`, from its first row on."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import likelier as lk
from likelier.cli.parquet_feed import ParquetFeed
from likelier.streams.model import Online, Settings
from likelier.streams.reader import ReadOptions, Session, TextFeed

LOSSES = ["log_loss", "hinge", "modified_huber"]


def written(rows, path):
    """Rows (x, y, w) as a file of the kind that its name says."""
    if path.suffix == ".jsonl":
        lines = (json.dumps({"x": x, "y": y, "w": w}) for x, y, w in rows)
        path.write_text("".join(f"{line}\n" for line in lines))
    else:
        frame = pd.DataFrame({"x": [x for x, _, _ in rows], "y": [y for _, y, _ in rows]})
        frame["w"] = np.array([w for _, _, w in rows], dtype=float)
        frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path)
    return path


def followed(path, **made):
    """What the command finds."""
    model = Online(Settings(**made))
    feed = ParquetFeed if path.suffix == ".parquet" else TextFeed
    session = Session(model)
    session.follow(feed([str(path)], ReadOptions(target="y", weight="w")))
    return session


def same(found, figures):
    assert found.rows == figures.rows
    assert found.K == figures.K
    for name in ("log_loss", "error", "mistakes", "brier", "auc", "calibration_error", "weight", "clipped"):
        np.testing.assert_allclose(getattr(found, name), getattr(figures, name), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.classes, figures.classes, rtol=1e-10, atol=1e-12)


@st.composite
def streams(draw):
    """Labels that are few and sorted at first, then more; some missing, some that weigh nothing."""
    labels = draw(st.lists(st.sampled_from("abcde"), min_size=1, max_size=5, unique=True))
    runs = draw(st.lists(st.tuples(st.integers(1, 8), st.integers(0, 4)), min_size=1, max_size=8))
    rows = []
    for length, among in runs:
        for _ in range(length):
            label = draw(st.sampled_from([*labels[: among + 1], None]))
            weight = draw(st.sampled_from([1, 1, 1, 0, 2.5]))
            rows.append((draw(st.integers(-3, 3)), label, weight))
    return rows


@given(streams(), st.sampled_from([".csv", ".jsonl", ".parquet"]), st.sampled_from(LOSSES))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_command_and_the_function_judge_alike(tmp_path, rows, suffix, loss):
    session = followed(written(rows, tmp_path / f"rows{suffix}"), loss=loss, bits=8)
    model = lk.OnlineClassifier(loss, bits=8)
    found = lk.progressive(model, (({"x": float(x)}, y, float(w)) for x, y, w in rows))
    same(session.curve.figures, found.figures)
    assert session.model.intake.mistakes == (model.mistakes_ if hasattr(model, "classes_") else 0)
    if any(y is not None and w for _, y, w in rows):
        assert session.model.labels == model.classes_.tolist()


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_one_label_for_long_and_then_another(tmp_path, suffix):
    rows = [(i % 3, "no", 1) for i in range(300)] + [(1, "yes", 1)]
    figures = followed(written(rows, tmp_path / f"one{suffix}")).curve.figures
    found = lk.progressive(lk.OnlineClassifier(), (({"x": float(x)}, y) for x, y, _ in rows))
    same(figures, found.figures)
    assert figures.log_loss == pytest.approx(2 * np.log(2) / 301, rel=1e-9)
    assert figures.mistakes == 1


def test_a_label_that_the_model_does_not_know_may_come_where_nothing_is_learned(tmp_path):
    path = written([(1, "a", 1), (2, "b", 1)] * 20, tmp_path / "first.csv")
    model = followed(path).model
    later = written([(1, "a", 1), (1, "c", 1)], tmp_path / "later.csv")
    session = Session(model, learning=False)
    session.follow(
        TextFeed([str(later)], ReadOptions(target="y", weight="w", learning=False), model.labels)
    )
    p = model.learner.predict(_rows(model, [{"x": 1.0}]))[0, 0]
    assert session.curve.figures.log_loss == pytest.approx((-np.log(p) + np.log(3)) / 2, rel=1e-9)


def _rows(model, X):
    return model.intake.dicts(X, None, None, 0)


# ---- batches ---------------------------------------------------------------------------------------
class Shares:
    """The frequencies of labels so far, learned in batches."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if not hasattr(self, "classes_"):
            self.classes_ = np.unique(y if classes is None else classes)
            self.n = np.zeros(len(self.classes_))
        np.add.at(self.n, np.searchsorted(self.classes_, y), 1 if sample_weight is None else sample_weight)

    def predict_proba(self, X):
        return np.tile(self.n / self.n.sum(), (len(X), 1))


def test_batches_of_a_class_that_was_never_learned():
    """1/(K+1) beside the K that were, as of rows."""
    X, y = np.zeros((9, 1)), np.array([0, 0, 1, 0, 2, 2, 2, 1, 3])
    found = lk.progressive(Shares(), (X, y), batch=3, classes=[0, 1, 2, 3])
    p = [2 / 3, 1 / 3, 1 / 3, 2 / 6, 1 / 6, 1 / 4]
    assert found.figures.rows == 6
    assert found.log_loss == pytest.approx(-np.log(p).mean(), rel=1e-9)
    assert found.figures.clipped == 0
    known = Shares()
    known.partial_fit(X[:1], [0], classes=[0, 1])
    again = lk.progressive(known, (X[:2], np.array([1, 1])), batch=1)  # what it knew is its own affair
    assert again.figures.clipped == 1


@pytest.mark.parametrize("model", [lk.GaussianNB(), lk.LinearDiscriminantAnalysis(), lk.NaiveBayes()])
@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
def test_classes_that_come_later_cost_no_certainty(model):
    rng = np.random.default_rng(0)
    y = np.r_[rng.integers(0, 2, 60), rng.integers(0, 3, 60)]
    X = rng.normal(size=(120, 2)) + 3 * y[:, None]
    assert lk.progressive(model, (X, y), batch=20).log_loss < 2


def test_a_model_that_names_a_class_it_has_not_learned_is_judged():
    """Told of all classes beforehand, a model without probabilities may name any of them."""

    class Sure(Shares):
        def predict_proba(self, X):
            return np.tile([0.0, 0.0, 1.0], (len(X), 1))

    X, y = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    found = lk.progressive(Sure(), (X, y), batch=2, classes=[0, 1, 2])
    assert found.log_loss == pytest.approx(np.log(2), rel=1e-9)  # 1/(K+1), one class being learned
