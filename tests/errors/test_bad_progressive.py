"""Streams, models and settings that progressive validation and Pending cannot take."""

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

import likelier as lk


class Frequencies:
    def __init__(self):
        self.n = {}

    def predict_proba_one(self, x):
        total = sum(self.n.values())
        return {label: n / total for label, n in self.n.items()}

    def learn_one(self, x, y):
        self.n[y] = self.n.get(y, 0) + 1


class Answering(Frequencies):
    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def predict_proba_one(self, x):
        return self.answer


ROWS = [({"a": 1.0}, 0), ({"a": 2.0}, 1)]
FRAME = pd.DataFrame({"a": [1.0, 2.0], "y": [0, 1]})


def notes(found):
    return getattr(found.value, "__notes__", [])


@pytest.mark.parametrize("model", [object(), "model"])
def test_models_that_cannot_learn_on(model):
    with pytest.raises(
        TypeError, match="has neither learn_one nor partial_fit and cannot continue training"
    ):
        lk.progressive(model, ROWS)
    with pytest.raises(TypeError, match="has no learn_one and predict_proba_one or predict_one"):
        lk.Pending(model)


def test_a_regression_is_no_classifier():
    with pytest.raises(TypeError, match="LinearRegression is not a classifier: it has no classes_"):
        lk.progressive(lk.LinearRegression(), [(np.eye(3), np.arange(3.0))])


@pytest.mark.parametrize("answer", [{0: 0.5, 1: 0.6}, {0: 1.5, 1: -0.5}, {0: np.nan, 1: 0.5}])
def test_answers_that_are_no_probabilities(answer):
    with pytest.raises(ValueError, match="must be >= 0 and sum to 1") as found:
        lk.progressive(Answering(answer), ROWS)
    assert notes(found) == ["at row 0 of the stream"]
    pending = lk.Pending(Answering(answer))
    with pytest.raises(ValueError, match="probabilities of a model must be"):
        pending.predict(0, {})
    assert len(pending) == 0


def test_an_answer_of_zeros_says_nothing():
    assert lk.progressive(Answering({0: 0.0, 1: 0.0}), ROWS).log_loss == pytest.approx(np.log(2))


@pytest.mark.parametrize(
    ("stream", "settings", "message"),
    [
        (FRAME, {}, "a target that is not named"),
        (FRAME, {"target": "z"}, r"no column 'z': target= and weight= name columns of \['a', 'y'\]"),
        (FRAME, {"target": "y", "weight": "w"}, "no column 'w'"),
        ([{"a": 1}], {}, "row 0 is a dict: target= names"),
        ([{"a": 1, "y": 0}, {"a": 1}], {"target": "y"}, "row 1 has no 'y'"),
        ([{"a": 1, "y": 0}], {"target": "y", "weight": "w"}, "row 0 has no 'w'"),
        ([({"a": 1}, 0), {"a"}], {}, r"row 1 is \{'a'\}"),
        ([({"a": 1},)], {}, "row 0 is"),
        ((np.eye(3), [0, 1]), {}, "X has 3 rows, y has 2"),
        ((np.eye(3), [0, 1, 0], [1.0]), {}, "each of the 3 rows of X; got 1"),
        ([(np.eye(3), [0, 1])], {}, "X has 3 rows, y has 2"),
        (FRAME, {"target": "y", "batch": 0}, r"batch must be an integer >= 1 .*; got 0"),
        (ROWS, {"window": 0}, r"window must be an integer >= 1 .*; got 0"),
        (ROWS, {"max_pending": 0}, r"max_pending must be an integer >= 1 .*; got 0"),
        (ROWS, {"label_horizon": -1}, r"horizon must be >= 0, .*; got -1"),
        (ROWS, {"label_horizon": np.nan}, r"horizon must be >= 0, .*; got nan"),
        (ROWS, {"delay": -1}, "delay must be >= 0, .*; got -1"),
        (ROWS, {"delay": "late"}, "no feature 'late'"),
        (ROWS, {"moment": "when"}, "no feature 'when'"),
        (ROWS, {"moment": lambda x: np.nan}, "a moment must be .*; got nan"),
        (ROWS, {"moment": lambda x: None}, "a moment must be .*; got None"),
    ],
)
def test_streams_and_settings_that_are_refused(stream, settings, message):
    with pytest.raises(ValueError, match=message):
        lk.progressive(Frequencies(), stream, **settings)


def test_what_is_no_stream():
    with pytest.raises(TypeError, match="got int"):
        lk.progressive(Frequencies(), 5)


def test_a_label_that_is_none_is_named():
    with pytest.raises(TypeError, match=r"Labels must be strings, numbers or booleans; got \[1\]") as found:
        lk.progressive(Frequencies(), [({}, 0), ({}, [1])])
    assert notes(found) == ["at row 1 of the stream"]


def test_weights_that_a_model_cannot_take():
    with pytest.raises(TypeError, match=r"Frequencies\.learn_one takes no weight"):
        lk.progressive(Frequencies(), [({}, 0, 2.0)])
    for weight in (-1.0, np.nan):
        with pytest.raises(ValueError, match=f"Weights must be finite numbers >= 0; got {weight}"):
            lk.progressive(Frequencies(), [({}, 0, weight)])


@pytest.mark.parametrize(
    "settings", [{"label_horizon": 1}, {"moment": "a"}, {"delay": "a"}, {"delay": lambda x, y, t: 1}]
)
def test_batches_have_no_moments(settings):
    with pytest.raises(ValueError, match="GaussianNB learns batches"):
        lk.progressive(lk.GaussianNB(), FRAME, target="y", **settings)


def test_rows_for_a_model_of_batches():
    with pytest.raises(TypeError, match="GaussianNB learns arrays and frames, and a row came"):
        lk.progressive(lk.GaussianNB(), ROWS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_pending": 0}, r"max_pending must be an integer >= 1 .*; got 0"),
        ({"horizon": -1}, r"horizon must be >= 0, .*; got -1"),
        ({"unknown": "ignore"}, "unknown must be 'raise' or 'count'; got 'ignore'"),
    ],
)
def test_settings_of_pending_that_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        lk.Pending(Frequencies(), **settings)


def test_moments_that_are_none():
    pending = lk.Pending(Frequencies())
    with pytest.raises(ValueError, match=r"a moment must be .*; got nan"):
        pending.predict(0, {}, at=np.nan)
    assert len(pending) == 0


@pytest.mark.parametrize("default", [float("nan"), [1]])
def test_a_default_that_is_no_label_is_refused_before_rows_wait_for_it(default):
    with pytest.raises(TypeError, match="Labels must be strings, numbers or booleans; got"):
        lk.Pending(lk.OnlineClassifier(), horizon=1, default=default)


@pytest.mark.parametrize("horizon", ["1h", timedelta(hours=1)])
def test_a_horizon_in_other_units_than_moments_is_refused_before_a_row_waits(horizon):
    pending = lk.Pending(lk.OnlineClassifier(), horizon=horizon, default=0)
    with pytest.raises(TypeError, match="give it in the units of the moments"):
        pending.predict(1, {"a": 1.0})
    assert pending.waiting == 0
