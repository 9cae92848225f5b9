"""OnlineClassifier in River's pipelines, metrics and evaluation; River's models in `progressive`."""

import math
import subprocess
import sys

import numpy as np
import pytest

import likelier as lk

river = pytest.importorskip("river")
from river import base, checks, compose, evaluate, linear_model, metrics, preprocessing  # noqa: E402
from river.datasets import Phishing  # noqa: E402

ROWS = list(Phishing())[:400]


def by_hand(model, rows):
    """Predict, then learn: the probability that each row's label was given."""
    found = []
    for x, y in rows:
        P = model.predict_proba_one(x)
        if P:
            found.append(min(max(P.get(y, 0.0), 1e-15), 1 - 1e-15))
        model.learn_one(x, y)
    return found


def scaled():
    return preprocessing.StandardScaler() | lk.OnlineClassifier()


@pytest.mark.parametrize("make", [lk.OnlineClassifier, scaled])
def test_river_evaluates_it_by_its_own_metrics(make):
    found = by_hand(make(), ROWS)
    both = evaluate.progressive_val_score(ROWS, make(), metrics.LogLoss() + metrics.Accuracy())
    assert both[0].get() == pytest.approx(-np.log(found).mean(), rel=1e-5)
    assert both[1].get() > 0.8


def test_a_pipeline_of_two_steps_learns_as_its_steps_by_hand():
    pipeline, scaler, model = scaled(), preprocessing.StandardScaler(), lk.OnlineClassifier()
    for x, y in ROWS[:50]:
        pipeline.learn_one(x, y)
        scaler.learn_one(x)
        model.learn_one(scaler.transform_one(x), y)
    for x, _ in ROWS[50:60]:
        assert pipeline.predict_proba_one(x) == model.predict_proba_one(scaler.transform_one(x))
    assert isinstance(pipeline, compose.Pipeline)
    assert isinstance(pipeline, base.Classifier)


@pytest.mark.parametrize(
    "make", [scaled, lambda: preprocessing.StandardScaler() | linear_model.LogisticRegression()]
)
def test_progressive_evaluates_pipelines_of_river(make):
    found = by_hand(make(), ROWS)
    result = lk.progressive(make(), ROWS)
    river_log_loss = evaluate.progressive_val_score(ROWS, make(), metrics.LogLoss()).get()
    assert river_log_loss == pytest.approx(-np.log(found).mean(), rel=1e-5)  # it has 1 - (1 - 1e-15)
    # Of a label that the model could not know yet, ours takes the probability to be 1 of 2.
    known = [p for p in found if p > 1e-14]
    expected = -np.log(known).sum() + (result.figures.rows - len(known)) * np.log(2)
    assert result.log_loss * result.figures.rows == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "check", list(checks.yield_checks(lk.OnlineClassifier())), ids=lambda check: check.__name__
)
def test_river_finds_nothing_wrong_with_it(check):
    check(lk.OnlineClassifier())


def test_predictions_change_nothing():
    model = lk.OnlineClassifier()
    for x, y in ROWS[:100]:
        model.learn_one(x, y)
    before = [model.predict_proba_one(x) for x, _ in ROWS[100:150]]
    evaluate.progressive_val_score(ROWS[:10], model.clone(), metrics.LogLoss())
    for x, _ in ROWS[100:150]:
        model.predict_one(x)
    assert [model.predict_proba_one(x) for x, _ in ROWS[100:150]] == before


def test_clones_take_settings_and_nothing_learned():
    model = lk.OnlineClassifier(bits=12, random_state=1)
    model.learn_one(*ROWS[0])
    other = model.clone({"bits": 13})
    assert (other.bits, other.random_state, other.predict_proba_one(ROWS[0][0])) == (13, 1, {})


def test_it_is_a_classifier_and_nothing_else():
    model = lk.OnlineClassifier()
    assert isinstance(model, base.Classifier)
    assert not any(isinstance(model, kind) for kind in (base.Regressor, base.Transformer, base.Clusterer))
    with pytest.raises(ValueError, match="not compatible"):
        evaluate.progressive_val_score(ROWS, model, metrics.MAE())


def test_delayed_labels_of_river_are_learned_late():
    metric = evaluate.progressive_val_score(ROWS, lk.OnlineClassifier(), metrics.LogLoss(), delay=20)
    ours = lk.progressive(lk.OnlineClassifier(), ROWS, delay=20)
    assert math.isfinite(metric.get())
    assert ours.error < 0.3


@pytest.mark.parametrize("first", ["river.base", "likelier"])
def test_either_may_be_imported_first(first):
    other = {"river.base": "likelier", "likelier": "river.base"}[first]
    code = (
        f"import {first}, {other}, likelier, river.base\n"
        "assert isinstance(likelier.OnlineClassifier(), river.base.Classifier)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_likelier_does_without_river():
    code = (
        "import sys, likelier\nmodel = likelier.OnlineClassifier().learn_one({'a': 1}, 'x')\n"
        "assert not hasattr(model, '_last_step') and not hasattr(model, 'clone')\n"
        "assert 'river' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
