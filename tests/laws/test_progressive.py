"""Progressive validation: figures that merge, labels that come when they come, rows that wait for them."""

import copy
import pickle
import threading
import time
from collections import deque
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

import likelier as lk
from likelier.streams.figures import MOST, Curve, Figures


class Frequencies:
    """The share of each label so far; remembers in which order it was asked and taught."""

    def __init__(self):
        self.n, self.history = {}, []

    def predict_proba_one(self, x):
        self.history.append(("asked", x["t"]))
        total = sum(self.n.values())
        return {label: n / total for label, n in self.n.items()}

    def learn_one(self, x, y, sample_weight=1.0):
        self.history.append(("taught", x["t"], y))
        self.n[y] = self.n.get(y, 0) + sample_weight


class Logistic:
    """σ(w·x) by gradient steps: what it answers depends on every row learned, and on their order."""

    def __init__(self):
        self.w = {}

    def predict_proba_one(self, x):
        z = sum(self.w.get(name, 0.0) * value for name, value in x.items())
        p = 1 / (1 + np.exp(-z))
        return {0: 1 - p, 1: p}

    def learn_one(self, x, y, w=1.0):
        slope = w * (self.predict_proba_one(x)[1] - y)
        for name, value in x.items():
            self.w[name] = self.w.get(name, 0.0) - 0.3 * slope * value


def stream(n, seed=0):
    rng = np.random.default_rng(seed)
    for t in range(n):
        x = {name: float(value) for name, value in zip("abc", rng.standard_normal(3), strict=True)}
        yield x | {"t": t}, int(rng.random() < 1 / (1 + np.exp(-2 * x["a"])))


def numbers(n, seed=0):
    return [({name: x[name] for name in "abc"}, y) for x, y in stream(n, seed)]


def judged(seed, n, K, q=None):
    rng = np.random.default_rng([seed, n, K])
    P = rng.dirichlet(np.full(q or K, 0.5), n)
    P[::5] = P[:1]
    return P, rng.integers(-1, K, n).astype(np.int32), rng.choice([0.0, 1.0, 2.0], n)


def same(a, b):
    np.testing.assert_allclose(a.totals, b.totals, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(a.classes, b.classes, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(a.bins, b.bins, rtol=1e-12, atol=1e-12)


# ---- figures ---------------------------------------------------------------------------------------
cuts = st.lists(st.integers(0, 60), max_size=3).map(sorted)


@given(seed=st.integers(0, 99), K=st.sampled_from([2, 3, 7]), at=cuts)
def test_figures_do_not_depend_on_how_rows_are_cut_and_merged(seed, K, at):
    P, codes, w = judged(seed, 60, K)
    whole = Figures.start()
    whole.update(P, codes, w)
    parts = []
    for rows in np.split(np.arange(60), at):
        parts.append(Figures.start())
        parts[-1].update(P[rows], codes[rows], w[rows])
    merged = Figures.start()
    for part in reversed(parts):
        before = copy.deepcopy(part)
        merged.merge(part)
        same(part, before)
    same(merged, whole)


@given(seed=st.integers(0, 99), early=st.integers(0, 40), backwards=st.booleans())
def test_classes_may_come_later(seed, early, backwards):
    """P of two classes, then of four: as if there had been four from the beginning."""
    P, codes, w = judged(seed, 40, 4)
    P[:early, 2:], codes[:early] = 0, np.minimum(codes[:early], 1)
    P[:early] = np.where(P[:early].sum(axis=1, keepdims=True) > 0, P[:early], [1, 0, 0, 0])
    P /= P.sum(axis=1, keepdims=True)
    whole = Figures.start(4)
    whole.update(P, codes, w)
    grown, later = Figures.start(), Figures.start()
    grown.update(P[:early, :2], codes[:early], w[:early])
    later.update(P[early:], codes[early:], w[early:])
    first, second = (later, grown) if backwards else (grown, later)
    first.merge(second)
    same(first, whole)
    grown = Figures.start()
    grown.update(P[:early, :2], codes[:early], w[:early])
    grown.update(P[early:], codes[early:], w[early:])
    same(grown, whole)


@pytest.mark.parametrize("K", [2, 3])
def test_weights_mean_repetition(K):
    P, codes, w = judged(0, 200, K)
    weighted, repeated = Figures.start(), Figures.start()
    weighted.update(P, codes, w)
    rows = np.repeat(np.arange(200), w.astype(int))
    repeated.update(P[rows], codes[rows])
    assert weighted.rows == ((w > 0) & (codes >= 0)).sum()
    weighted.totals[0] = repeated.totals[0]
    same(weighted, repeated)


@pytest.mark.parametrize("spread", [0.3, 2.0, 20.0])
def test_two_classes_as_scikit_learn_has_them(spread):
    rng = np.random.default_rng(0)
    p = 1 / (1 + np.exp(-spread * rng.standard_normal(5000)))
    y = (rng.random(5000) < p).astype(np.int32)
    w = rng.uniform(0.1, 2, 5000)
    figures = Figures.start()
    figures.update(np.column_stack([1 - p, p]), y, w)
    assert figures.log_loss == pytest.approx(
        log_loss(y, np.clip(p, 1e-15, 1 - 1e-15), sample_weight=w), rel=1e-9
    )
    assert figures.brier == pytest.approx(brier_score_loss(y, p, sample_weight=w), rel=1e-12)
    assert figures.error == pytest.approx(np.average((p > 0.5) != y, weights=w), rel=1e-12)
    auc = roc_auc_score(y, p, sample_weight=w)
    assert abs(figures.auc - auc) <= figures.auc_error <= 0.01
    assert figures.auc == pytest.approx(auc, abs=1e-4)
    np.testing.assert_allclose(figures.rates, [np.average(1 - y, weights=w), np.average(y, weights=w)])
    np.testing.assert_allclose(figures.expected[1], np.average(p, weights=w))


@given(seed=st.integers(0, 200), n=st.integers(2, 30), places=st.integers(1, 4))
def test_auc_is_as_near_as_it_says(seed, n, places):
    """Also where few rows, equal probabilities and bins that are shared make it coarse."""
    rng = np.random.default_rng(seed)
    p, y = np.round(rng.random(n), places), rng.integers(0, 2, n).astype(np.int32)
    y[:2] = 0, 1
    figures = Figures.start()
    figures.update(np.column_stack([1 - p, p]), y)
    assert abs(figures.auc - roc_auc_score(y, p)) <= figures.auc_error + 1e-12


def test_more_classes_as_scikit_learn_has_them():
    P, codes, _ = judged(0, 3000, 4)
    codes = np.abs(codes)
    figures = Figures.start()
    figures.update(P, codes)
    assert figures.log_loss == pytest.approx(log_loss(codes, P, labels=range(4)), rel=1e-9)
    assert figures.brier == pytest.approx(brier_score_loss(codes, P, labels=range(4)), rel=1e-12)
    assert np.isnan(figures.auc)
    wrong = [np.mean(P[codes == k].argmax(axis=1) != k) for k in range(4)]
    np.testing.assert_allclose(figures.errors, wrong)


def test_a_calibrated_model_is_found_so_and_another_is_not():
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 8, 40_000)
    y = (rng.random(40_000) < p).astype(np.int32)
    right, wrong = Figures.start(), Figures.start()
    right.update(np.column_stack([1 - p, p]), y)
    wrong.update(np.column_stack([1 - p / 2, p / 2]), y)
    assert right.calibration_error < 0.005
    assert wrong.calibration_error == pytest.approx(y.mean() - p.mean() / 2, rel=0.01)
    found = right.calibration(10)
    assert len(found.p) == 10
    assert (np.diff(found.p) > 0).all()
    np.testing.assert_allclose(found.weight, 4000, rtol=0.1)
    np.testing.assert_allclose(
        found.p, [np.mean(each) for each in np.array_split(np.sort(p), 10)], rtol=0.05
    )
    np.testing.assert_allclose(found.rate, found.p, atol=0.025)
    first = right.calibration(10, positive=0)
    np.testing.assert_allclose(first.p, 1 - found.p[::-1])
    np.testing.assert_allclose(first.rate, 1 - found.rate[::-1])


def test_confidence_is_calibrated_for_more_classes():
    rng = np.random.default_rng(0)
    P = rng.dirichlet([1, 1, 1], 20_000)
    codes = (rng.random((20_000, 1)) > P.cumsum(axis=1)).sum(axis=1).astype(np.int32)
    figures = Figures.start()
    figures.update(P, codes)
    assert figures.calibration_error < 0.01
    found = figures.calibration()
    assert found.p[0] > 1 / 3
    assert found.weight @ found.rate == pytest.approx(np.sum(P.argmax(axis=1) == codes))


def test_a_probability_of_0_is_clipped_and_counted():
    figures = Figures.start()
    figures.update([[1.0, 0.0], [1.0, 0.0]], [1, 5], [1.0, 2.0])
    assert figures.log_loss == pytest.approx(-np.log(1e-15))
    assert figures.clipped == 3
    assert figures.K == 6
    assert figures.errors[5] == 1


def test_one_class_is_one_of_two():
    one, two = Figures.start(), Figures.start()
    one.update(np.ones((3, 1)), [0, 0, 1])
    two.update([[1.0, 0.0]] * 3, [0, 0, 1])
    same(one, two)
    assert one.nbytes == 8 * (6 + 2 * 3 + 4096 * 3)


def test_no_rows_have_no_figures():
    figures = Figures.start()
    figures.update(np.zeros((0, 2)), np.zeros(0))
    figures.update([[0.5, 0.5]], [-1])
    assert figures.rows == 0
    for name in ("log_loss", "error", "brier", "auc", "calibration_error"):
        assert np.isnan(getattr(figures, name))
    assert np.isnan(figures.rates).all()


def test_rows_that_cannot_be_judged_leave_the_figures_as_they_were():
    figures = Figures.start()
    figures.update([[0.4, 0.6]], [1])
    before = pickle.dumps(figures)
    with pytest.raises(ValueError, match=r"row 1 cannot be evaluated: its probabilities \[0.4, 0.4, 0.4\]"):
        figures.update([[0.5, 0.5, 0.0], [0.4, 0.4, 0.4]], [2, 0])
    with pytest.raises(ValueError, match=r"weight -1\.0"):
        figures.update([[0.5, 0.5]], [1], [-1.0])
    with pytest.raises(ValueError, match=r"shapes \(1, 2\), \(2,\)"):
        figures.update([[0.5, 0.5]], [1, 0])
    assert pickle.dumps(figures) == before


# ---- over time -------------------------------------------------------------------------------------
@given(at=st.lists(st.integers(0, 100), max_size=5).map(sorted), window=st.integers(1, 30))
def test_a_curve_does_not_depend_on_how_rows_come(at, window):
    P, codes, w = judged(1, 100, 2)
    curve, whole = Curve(window), Curve(window)
    whole.update(P, codes, w)
    for rows in np.split(np.arange(100), at):
        curve.update(P[rows], codes[rows], w[rows])
    np.testing.assert_allclose(np.array(curve.table()), np.array(whole.table()), rtol=1e-12)
    np.testing.assert_allclose(np.array(curve.windows), np.array(whole.windows), rtol=1e-12)
    there = (codes >= 0) & (w > 0)
    n = there.sum()
    assert [each.rows for each in whole.table()] == [*(1 << np.arange(int(n).bit_length())), n]
    P, codes, w = P[there], codes[there], w[there]
    loss, wrong = -np.log(P[np.arange(n), codes]), P.argmax(axis=1) != codes
    for each, before in zip(whole.table()[1:], whole.table(), strict=False):
        np.testing.assert_allclose(each.log_loss, np.average(loss[: each.rows], weights=w[: each.rows]))
        since = slice(before.rows, each.rows)
        np.testing.assert_allclose(each.error_since, np.average(wrong[since], weights=w[since]))
    ends = np.append(np.arange(window, n, window), n)
    np.testing.assert_array_equal(whole.windows.rows, ends)
    np.testing.assert_allclose(whole.windows.mistakes, np.cumsum(w * wrong)[ends - 1])
    for end, found in zip(ends, whole.windows.log_loss, strict=True):
        since = slice((end - 1) // window * window, end)
        np.testing.assert_allclose(found, np.average(loss[since], weights=w[since]))


def test_many_windows_become_wider_ones():
    n = 5 * MOST + 3
    P, codes, _ = judged(0, n, 2)
    curve = Curve(1)
    curve.update(P, np.abs(codes))
    assert curve.window == 8
    assert len(curve.windows.rows) == -(-n // 8) < MOST
    np.testing.assert_array_equal(np.diff(curve.windows.rows)[:-1], 8)
    assert curve.windows.mistakes[-1] == curve.figures.mistakes


def test_snapshots_are_told_when_they_are_made():
    told = []
    curve = Curve(watch=told.append)
    P, codes, _ = judged(0, 9, 2)
    curve.update(P, np.abs(codes))
    assert [each.rows for each in told] == [1, 2, 4, 8]
    assert curve.table()[:-1] == told


# ---- late labels -----------------------------------------------------------------------------------
@pytest.mark.parametrize("delay", [None, 0])
def test_labels_at_once_are_plain_progressive_validation(delay):
    rows = numbers(300)
    plain, P = Logistic(), []
    for x, y in rows:
        P.append(list(plain.predict_proba_one(x).values()))
        plain.learn_one(x, y)
    expected = Figures.start()
    expected.update(P, [y for _, y in rows])
    model = Logistic()
    found = lk.progressive(model, rows, delay=delay)
    assert found.model is model
    assert model.w == plain.w
    assert found.log_loss == pytest.approx(expected.log_loss, rel=1e-13)
    assert (found.rows, found.learned, found.mistakes) == (300, 300, expected.mistakes)
    assert found.auc == expected.auc
    assert found.classes == (0, 1)


@given(delay=st.integers(0, 60), n=st.integers(0, 50))
def test_a_row_is_answered_by_what_was_learned_before_its_delay(delay, n):
    """The model that answers row t has learned rows 0, ..., t - delay - 1, in this order, and no others."""
    model = Frequencies()
    found = lk.progressive(model, stream(n), delay=delay)
    labels = [y for _, y in stream(n)]
    history, learned = [], 0
    for t in range(n):
        while learned < t - delay:
            history.append(("taught", learned, labels[learned]))
            learned += 1
        history.append(("asked", t))
    history += [("taught", t, labels[t]) for t in range(learned, n)]
    assert model.history == history
    assert found.learned == found.figures.rows == n


def reference(rows, delays, moments, horizon, default):
    """All events sorted: what is asked and taught, by the definition. At a moment all its rows are asked,
    then the labels that come at it are taught; a row expires after all that happens at its horizon.
    """
    events = []
    for t, (_, y) in enumerate(rows):
        events.append(((moments[t], 0, t, 0), "asked", t, None))
        comes = y is not None and delays[t] is not None
        if comes and (horizon is None or delays[t] <= horizon):
            events.append(((moments[t] + delays[t], 1, t, 0), "taught", t, y))
        elif horizon is not None and default is not None:
            events.append(((moments[t] + horizon, 2, t, 0), "taught", t, default))
    return [
        (kind, t) if kind == "asked" else (kind, t, y)
        for _, kind, t, y in sorted(events, key=lambda e: e[0])
    ]


@given(data=st.data())
def test_every_label_comes_at_its_moment(data):
    """Delays, moments and missing labels of any kind, against a plain sort of all events."""
    n = data.draw(st.integers(0, 12))
    gaps = data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    moments = np.cumsum(gaps).tolist()
    delays = data.draw(st.lists(st.none() | st.integers(0, 9), min_size=n, max_size=n))
    labels = data.draw(st.lists(st.sampled_from(["yes", "no", None]), min_size=n, max_size=n))
    horizon = data.draw(st.none() | st.integers(0, 8))
    default = data.draw(st.sampled_from([None, "no"]))
    rows = [({"t": t}, y) for t, y in enumerate(labels)]
    model = Frequencies()
    found = lk.progressive(
        model,
        rows,
        delay=lambda x, y, at: delays[x["t"]],
        moment=lambda x: moments[x["t"]],
        label_horizon=horizon,
        default=default,
    )
    assert model.history == reference(rows, delays, moments, horizon, default)
    came = [y is not None and delay is not None for y, delay in zip(labels, delays, strict=True)]
    in_time = [c and (horizon is None or d <= horizon) for c, d in zip(came, delays, strict=True)]
    assert found.learned == sum(in_time)
    assert found.late == sum(came) - sum(in_time)
    assert found.expired == (0 if horizon is None else n - sum(in_time))
    # Judged by the label that came, be it late; else by the default class.
    truth = [
        y if c else default if horizon is not None else None for y, c in zip(labels, came, strict=True)
    ]
    counted = {y: truth.count(y) for y in found.classes}
    np.testing.assert_array_equal(found.figures.classes[: len(counted), 0], list(counted.values()))
    assert found.figures.rows == n - truth.count(None)


def test_rows_of_one_moment_are_answered_before_labels_that_come_then():
    rows = [({"t": t, "at": at}, t % 2) for t, at in enumerate([0, 0, 5, 5, 5])]
    model = Frequencies()
    lk.progressive(model, rows, moment="at", delay=5)
    assert [(what, t) for what, t, *_ in model.history] == [
        ("asked", 0),
        ("asked", 1),
        ("asked", 2),
        ("asked", 3),
        ("asked", 4),
        ("taught", 0),
        ("taught", 1),
        ("taught", 2),
        ("taught", 3),
        ("taught", 4),
    ]


def test_moments_may_be_dates_and_delays_durations():
    day = timedelta(days=1)
    rows = [
        ({"t": t, "at": datetime(2026, 1, 1) + t * day, "wait": day * (t % 3)}, t % 2) for t in range(20)
    ]
    model, by_number = Frequencies(), Frequencies()
    lk.progressive(model, rows, moment="at", delay="wait", label_horizon=day, default=0)
    lk.progressive(
        by_number,
        [({"t": t, "wait": t % 3}, t % 2) for t in range(20)],
        delay="wait",
        label_horizon=1,
        default=0,
    )
    assert model.history == by_number.history
    assert "wait" in rows[0][0]  # what was handed in stays as it was


def test_time_does_not_run_backwards():
    moments = [5, 3, 6]
    model = Frequencies()
    found = lk.progressive(
        model, [({"t": t}, 1) for t in range(3)], moment=lambda x: moments[x["t"]], delay=0.5
    )
    assert found.backwards == 1
    assert [event[:2] for event in model.history[:3]] == [("asked", 0), ("asked", 1), ("taught", 0)]


def test_labels_that_could_not_be_known_are_expected_a_little():
    """1/(K+1) beside K labels that the answer names; 0 for one that was learned and is not named."""
    found = lk.progressive(Frequencies(), [({"t": t}, y) for t, y in enumerate("aabbc")])
    P = [1 / 2, 1, 1 / 2, 1 / 3, 1 / 3]
    assert found.figures.totals[2] == pytest.approx(-np.log(P).sum())
    assert found.figures.clipped == 0

    late = [({"t": t, "wait": 99 if y == "b" else 0}, y) for t, y in enumerate("bab")]
    found = lk.progressive(Frequencies(), late, delay="wait")
    np.testing.assert_array_equal(found.figures.classes[:, 2], [1, 1])  # of equals, b came first; then not

    class Sure(Frequencies):
        def predict_proba_one(self, x):
            return {"a": 1.0}

    model = Sure()
    found = lk.progressive(model, [({"t": t}, y) for t, y in enumerate("bb")])
    assert found.figures.clipped == 1
    assert "1 labels of probability 0, counted as 1e-15" in str(found)
    assert found.figures.totals[2] == pytest.approx(np.log(2) - np.log(1e-15))


def test_a_model_with_labels_only_is_taken_to_be_sure():
    class Last:
        label = None

        def predict_one(self, x):
            return self.label

        def learn_one(self, x, y):
            self.label = y

    class River(Last):
        def predict_proba_one(self, x):
            raise NotImplementedError

    for model in (Last(), River()):
        found = lk.progressive(model, [({}, y) for y in [0, 1, 1, 0, 0]])
        assert found.mistakes == 2
        assert found.rows == 5


@pytest.mark.parametrize("name", ["sample_weight", "w"])
def test_weights_are_passed_on_and_counted(name):
    rows = [(x, y, w) for (x, y), w in zip(stream(40), np.resize([0.0, 1.0, 2.5], 40), strict=True)]
    model = Frequencies()
    if name == "w":
        model.learn_one = lambda x, y, w=1.0: Frequencies.learn_one(model, x, y, w)
    found = lk.progressive(model, rows)
    assert found.figures.weight == sum(w for _, _, w in rows) == sum(model.n.values())


def test_an_online_classifier_answers_what_it_would_by_hand(data_file):
    """Prices that drift, labels 100 rows late: the same answers, and the same weights."""
    frame = pd.read_csv(data_file("elec2.csv.gz"), nrows=2000)
    by_hand, coming, P, y = lk.OnlineClassifier(bits=10), deque(), [], []
    for x in frame.to_dict("records"):
        y.append(x.pop("class"))
        while coming and coming[0][0] + 100 < len(P):
            by_hand.learn_one(*coming.popleft()[1:])
        P.append(by_hand.predict_proba_one(x))
        coming.append((len(y) - 1, x, y[-1]))
    for _, *row in coming:
        by_hand.learn_one(*row)
    late = lk.progressive(lk.OnlineClassifier(bits=10), frame, target="class", delay=100)
    x = frame.drop(columns="class")
    np.testing.assert_array_equal(late.model.predict_proba(x), by_hand.predict_proba(x))
    loss = -sum(np.log(answer.get(label, 1 / 2)) for answer, label in zip(P, y, strict=True))
    assert late.figures.totals[2] == pytest.approx(loss, rel=1e-12)
    assert late.log_loss > lk.progressive(lk.OnlineClassifier(bits=10), frame, target="class").log_loss


# ---- streams of all kinds --------------------------------------------------------------------------
def table(n=120):
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((n, 3)), 3)
    return X, (X[:, 0] + rng.standard_normal(n) > 0).astype(int), rng.choice([0.5, 1.0], n)


def test_streams_of_all_kinds_are_the_same_rows():
    X, y, w = table()
    frame = pd.DataFrame(X, columns=list("012")).assign(y=y, w=w)
    dicts = frame.to_dict("records")
    pairs = [
        (dict(zip("012", row, strict=True)), label)
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    named = {"target": "y", "weight": "w"}
    weighted = {
        "frame": lambda m: lk.progressive(m, frame, **named),
        "shuffled index": lambda m: lk.progressive(m, frame.set_index(frame.index[::-1]), **named),
        "polars": lambda m: lk.progressive(m, pl.DataFrame(frame), batch=7, **named),
        "arrow": lambda m: lk.progressive(m, pl.DataFrame(frame).to_arrow(), **named),
        "dicts": lambda m: lk.progressive(m, dicts, **named),
        "three arrays": lambda m: lk.progressive(m, (X, y, w)),
        "triples": lambda m: lk.progressive(
            m, [(*pair, each) for pair, each in zip(pairs, w, strict=True)]
        ),
    }
    plain = {
        "pairs": lambda m: lk.progressive(m, pairs),
        "arrays": lambda m: lk.progressive(m, (X, y), batch=50),
        "CSR": lambda m: lk.progressive(m, (sp.csr_array(X), y)),
        "rows of an array": lambda m: lk.progressive(m, zip(X, y.tolist(), strict=True)),
        "batches": lambda m: lk.progressive(m, ((X[i : i + 9], y[i : i + 9]) for i in range(0, 120, 9))),
        "frames and labels": lambda m: lk.progressive(m, (frame[list("012")], y)),
    }
    for kinds in (weighted, plain):
        found = {}
        for kind, run in kinds.items():
            model = Logistic()
            found[kind] = (run(model).figures.totals.tolist(), model.w)
        assert len({repr(each) for each in found.values()}) == 1, found


def test_a_missing_cell_of_a_frame_is_none():
    seen = []

    class Seeing(Frequencies):
        def predict_proba_one(self, x):
            seen.append(x)
            return {}

        def learn_one(self, x, y):
            pass

    frame = pd.DataFrame({"a": [1.0, np.nan], "b": ["u", None], "y": [0, 1]})
    for each in (frame, pl.DataFrame(frame)):
        lk.progressive(Seeing(), each, target="y")
    assert [each["b"] for each in seen] == ["u", None] * 2
    assert seen[1]["a"] is None


@pytest.mark.parametrize("delay", [None, 0, 1, 29, 30, 31, 1000])
def test_batches_are_answered_before_they_are_learned(delay):
    X, y, w = table()
    found = lk.progressive(lk.GaussianNB(), (X, y, w), batch=30, delay=delay)
    model, expected, learned, unanswered = lk.GaussianNB(), Figures.start(), 0, 0
    for first in range(0, 120, 30):
        while learned + 30 - 1 + (delay or 0) < first:
            some = slice(learned, learned + 30)
            model.partial_fit(X[some], y[some], classes=[0, 1], sample_weight=w[some])
            learned += 30
        some = slice(first, first + 30)
        if learned:
            expected.update(model.predict_proba(X[some]), y[some], w[some])
        else:
            unanswered += 30
    same(found.figures, expected)
    assert (found.unanswered, found.learned) == (unanswered, 120)
    np.testing.assert_array_equal(found.model.class_count_, lk.GaussianNB().fit(X, y, w).class_count_)


def test_batches_of_labels_only_and_of_frames():
    X, y, _ = table()
    names = np.array(["no", "yes"])[y]
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=names)
    found = lk.progressive(lk.GaussianNB(), frame, target="y", batch=40)
    assert found.classes == ("no", "yes")
    assert found.figures.rows == 80

    class Labels:
        def partial_fit(self, X, y, classes=None):
            if not hasattr(self, "classes_"):
                self.classes_ = np.array(list(classes))

        def predict(self, X):
            return np.repeat(self.classes_[:1], len(X))

    batches = [(X[i : i + 40], y[i : i + 40]) for i in (0, 40)]
    with pytest.raises(TypeError):  # nobody has said which classes there are
        lk.progressive(Labels(), batches)
    found = lk.progressive(Labels(), batches, classes=[0, 1])
    assert found.error == y[40:80].mean()


def test_the_result_prints_as_a_table(capsys):
    rows = numbers(300)
    found = lk.progressive(Logistic(), rows, delay=10, verbose=True)
    printed = capsys.readouterr().out.splitlines()
    shown = str(found).splitlines()
    assert printed == shown[2:-1]  # the last line is of rows since the last power of 2
    assert shown[0] == "300 rows, 2 classes: 300 learned"
    assert shown[-1].split()[:2] == ["300", f"{found.log_loss:.4f}"]
    frame = found.to_frame()
    assert frame["rows"].tolist() == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]
    assert frame["mistakes"].iloc[-1] == found.mistakes == found.curve.mistakes[-1]
    assert found.error == found.mistakes / 300
    assert found.brier == found.figures.brier
    assert found.calibration_error == found.figures.calibration_error


# ---- live ------------------------------------------------------------------------------------------
@given(data=st.data())
def test_pending_and_progressive_are_one(data):
    """The same rows and labels at the same moments, by hand."""
    n = data.draw(st.integers(1, 15))
    delays = data.draw(st.lists(st.integers(1, 9), min_size=n, max_size=n))
    horizon = data.draw(st.none() | st.integers(0, 8))
    most = data.draw(st.integers(1, 6))
    rows = numbers(n, seed=data.draw(st.integers(0, 9)))
    simulated, live = Logistic(), Logistic()
    found = lk.progressive(
        simulated,
        [(x | {"wait": delay}, y) for (x, y), delay in zip(rows, delays, strict=True)],
        delay="wait",
        label_horizon=horizon,
        default=0,
        max_pending=most,
    )
    pending = lk.Pending(live, horizon=horizon, default=0, max_pending=most, unknown="count")
    events = [(t, 0, t) for t in range(n)] + [(t + delays[t], 1, t) for t in range(n)]
    for at, label, t in sorted(events):
        if label:
            pending.learn(t, rows[t][1], at=at)
        else:
            pending.predict(t, rows[t][0], at=at)
    assert live.w == simulated.w
    assert (pending.joined, pending.expired) == (found.learned, found.expired)
    assert pending.late + pending.unknown == found.late  # few ids are remembered
    assert len(pending) == 0


def test_what_is_learned_is_the_row_as_it_was():
    taught = []

    class Keeping(Frequencies):
        def predict_proba_one(self, x):
            return {"a": 1.0}

        def learn_one(self, x, y):
            taught.append(x)

    pending, x = lk.Pending(Keeping()), {"n": 1, "list": ["u"], "nested": {"k": [1]}}
    pending.predict(1, x)["a"] = 0.0
    x["n"] = 2
    x["list"].append("v")
    x["nested"]["k"][0] = 5
    assert pending.learn(1, "a")
    assert taught == [{"n": 1, "list": ["u"], "nested": {"k": [1]}}]
    assert pending.figures.log_loss == 0  # by the answer that was given
    row = np.zeros(2)
    pending.predict(2, row)
    row[:] = 1
    pending.learn(2, "a")
    np.testing.assert_array_equal(taught[-1], [0, 0])


def test_expired_rows_count_as_the_default_class_in_the_order_of_time():
    now = [0.0]
    pending = lk.Pending(Frequencies(), horizon=10, default="no", clock=lambda: now[0])
    for t in range(5):
        now[0] = t
        pending.predict(f"row {t}", {"t": t})
    assert pending.learn("row 3", "yes")
    now[0] = 12.0
    assert (pending.waiting, pending.expired) == (4, 0)
    assert pending.expire() == 2  # rows 0 and 1; row 2 may still have its label
    assert pending.learn("row 2", "yes")
    assert pending.expire(at=100) == 1
    assert pending.model.history[5:] == [
        ("taught", 3, "yes"),
        ("taught", 0, "no"),
        ("taught", 1, "no"),
        ("taught", 2, "yes"),
        ("taught", 4, "no"),
    ]
    assert (pending.joined, pending.expired, len(pending)) == (2, 3, 0)
    assert pending.classes == ("yes", "no")
    np.testing.assert_array_equal(pending.figures.classes[:, 0], [2, 3])
    assert [each.rows for each in pending.table] == [1, 2, 4, 5]
    assert pending.curve.mistakes.tolist() == [pending.figures.mistakes]
    shown = str(pending).splitlines()
    assert shown[0] == "0 waiting, 2 joined, 3 expired, 0 late, 0 unknown"
    assert len(shown) == 7


def test_rows_without_a_default_are_forgotten():
    pending = lk.Pending(Frequencies(), horizon=1)
    pending.predict(0, {"t": 0}, at=0)
    assert pending.expire(at=5) == 1
    assert pending.model.n == {}
    assert pending.figures.rows == 0


def test_memory_is_bounded():
    pending = lk.Pending(Frequencies(), default="no", max_pending=3, unknown="count")
    for t in range(10):
        pending.predict(t, {"t": t}, at=t)
        assert len(pending) == min(t + 1, 3)
    assert (pending.crowded, pending.expired) == (7, 7)
    assert [event[1] for event in pending.model.history if event[0] == "taught"] == list(range(7))
    assert not pending.learn(6, "yes")
    assert not pending.learn(0, "yes")  # left so long ago that it is not remembered
    assert (pending.late, pending.unknown) == (1, 1)
    assert 7 in pending
    assert 6 not in pending


def test_labels_of_rows_that_do_not_wait_are_named():
    pending = lk.Pending(Frequencies(), horizon=10, default=0, unknown="raise")
    for id in ("a", "b"):
        pending.predict(id, {"t": 0}, at=0)
    pending.learn("a", 1, at=1)
    with pytest.raises(KeyError, match="id 'a' waits for no label: it was labelled"):
        pending.learn("a", 1, at=2)
    with pytest.raises(KeyError, match="id 'b' waits for no label: it expired"):
        pending.learn("b", 1, at=11)
    with pytest.raises(KeyError, match="id 'c' waits for no label: no prediction was made"):
        pending.learn("c", 1, at=12)
    assert (pending.late, pending.unknown) == (1, 2)
    pending.predict("a", {"t": 1}, at=12)  # an id may be used again
    with pytest.raises(ValueError, match="id 'a' waits for its label already"):
        pending.predict("a", {"t": 1}, at=12)
    assert pending.learn("a", 1, at=3)  # taken for 12


def test_what_a_model_refuses_still_waits():
    class Choosy(Frequencies):
        def learn_one(self, x, y):
            if y == "bad":
                raise ValueError("no such label")
            super().learn_one(x, y)

    pending = lk.Pending(Choosy())
    pending.predict(0, {"t": 0})
    for bad in ("bad", None, []):
        with pytest.raises((ValueError, TypeError)):
            pending.learn(0, bad)
    assert pending.learn(0, "good")
    assert pending.figures.rows == 1


@pytest.mark.parametrize("way", ["pickle", "deepcopy", "state"])
def test_what_waits_can_be_kept(way):
    def go(pending, rows):
        for t, (x, y) in rows:
            pending.predict(t, x, at=t)
            if t >= 5 and t % 4:
                pending.learn(t - 5, y, at=t)

    rows = list(enumerate(numbers(80)))
    settings = {"horizon": 12, "default": 0, "unknown": "count"}
    whole = lk.Pending(Logistic(), **settings)
    go(whole, rows)
    pending = lk.Pending(Logistic(), **settings)
    go(pending, rows[:40])
    if way == "state":
        state, model = pending.state(), copy.deepcopy(pending.model)
        go(pending, rows[40:])  # what goes on does not change what was kept
        kept = lk.Pending(model, **settings)
        kept.restore(state)
    else:
        kept = pickle.loads(pickle.dumps(pending)) if way == "pickle" else copy.deepcopy(pending)
    go(kept, rows[40:])
    assert kept.model.w == whole.model.w
    assert (kept.waiting, kept.joined, kept.expired) == (whole.waiting, whole.joined, whole.expired)
    np.testing.assert_array_equal(kept.figures.totals, whole.figures.totals)


def test_threads_take_turns():
    class Counting:
        inside = most = learned = 0

        def predict_proba_one(self, x):
            self.inside += 1
            self.most = max(self.most, self.inside)
            time.sleep(1e-5)  # others may come in here, if they are let
            self.inside -= 1
            return {0: 0.5, 1: 0.5}

        def learn_one(self, x, y):
            self.predict_proba_one(x)
            self.learned += 1

    pending = lk.Pending(Counting(), horizon=1000, default=0)

    def serve(worker):
        for t in range(60):
            pending.predict((worker, t), {"t": t})
            pending.learn((worker, t), t % 2)

    workers = [threading.Thread(target=serve, args=(k,)) for k in range(4)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert pending.model.learned == pending.joined == pending.figures.rows == 240
    assert pending.model.most == 1


# ---- labels in the order of their rows -------------------------------------------------------------
@given(data=st.data())
def test_labels_are_learned_in_the_order_of_their_rows(data):
    """Each as soon as no earlier row waits: its label has come, or its time has run out."""
    n = data.draw(st.integers(1, 12))
    moments = np.cumsum(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))).tolist()
    delays = data.draw(st.lists(st.none() | st.integers(0, 9), min_size=n, max_size=n))
    horizon, default = data.draw(st.integers(0, 6)), data.draw(st.sampled_from([None, "no"]))
    rows = [({"t": t}, "yes") for t in range(n)]
    settings = {"delay": lambda x, y, at: delays[x["t"]], "moment": lambda x: moments[x["t"]]}
    settings |= {"label_horizon": horizon, "default": default}
    model, plain = Frequencies(), Frequencies()
    found = lk.progressive(model, rows, in_order=True, **settings)
    other = lk.progressive(plain, rows, **settings)
    taught = [event[1:] for event in model.history if event[0] == "taught"]
    assert taught == sorted(event[1:] for event in plain.history if event[0] == "taught")
    assert (found.learned, found.expired, found.late) == (other.learned, other.expired, other.late)
    # The moment at which the fate of each row is known; after the labels of that moment, what expires.
    settled = [
        (moments[t] + d, 1) if d is not None and d <= horizon else (moments[t] + horizon, 2)
        for t, d in enumerate(delays)
    ]
    ready = [max(settled[: t + 1]) for t in range(n)]
    known = {t: ready[t] for t, *_ in taught}
    for at, event in enumerate(model.history):
        if event[0] == "asked":
            before = {t for what, t, *_ in model.history[:at] if what == "taught"}
            assert before == {t for t, when in known.items() if when < (moments[event[1]], 0)}


def test_a_new_model_does_not_learn_one_class_alone():
    """Clicks come soon, and what is none counts as such an hour later."""

    def loop(in_order):
        rng = np.random.default_rng(0)
        rows = [({"a": float(rng.integers(3)), "b": "u"}, bool(rng.random() < 0.1)) for _ in range(1500)]
        wait = {"delay": lambda x, y, at: 3 if y else None, "label_horizon": 400, "default": False}
        return lk.progressive(lk.OnlineClassifier(), rows, window=300, in_order=in_order, **wait)

    at_once, in_order = loop(False), loop(True)
    assert at_once.curve.mistakes[0] > 200
    assert in_order.mistakes < in_order.learned + 20 < at_once.mistakes / 2  # clicks are a tenth


@pytest.mark.parametrize("way", ["pickle", "state"])
def test_labels_that_are_held_are_kept(way):
    settings = {"horizon": 10, "default": "no", "in_order": True}
    pending = lk.Pending(Frequencies(), **settings)
    for t in range(4):
        pending.predict(t, {"t": t}, at=t)
    assert pending.learn(2, "yes", at=4)
    assert (len(pending), 2 in pending, pending.model.n) == (3, False, {})
    assert not pending.learn(2, "yes", at=4)  # it has come
    if way == "pickle":
        pending = pickle.loads(pickle.dumps(pending))
    else:
        state, pending = pending.state(), lk.Pending(Frequencies(), **settings)
        pending.restore(state)
    assert pending.learn(0, "yes", at=5)
    assert pending.expire(at=12) == 1  # row 1, and then the label of row 2 has its turn
    assert [event[1:] for event in pending.model.history if event[0] == "taught"] == [
        (0, "yes"),
        (1, "no"),
        (2, "yes"),
    ]
    assert (pending.joined, pending.expired, pending.unknown, len(pending)) == (2, 1, 1, 1)
    with pytest.raises(ValueError, match="in_order=True needs a horizon"):
        lk.Pending(Frequencies(), in_order=True)


def test_late_labels_are_counted_and_no_error():
    pending = lk.Pending(Frequencies(), horizon=10, default="no")
    pending.predict("a", {"t": 0}, at=0)
    assert not pending.learn("a", "yes", at=11)
    assert not pending.learn("b", "yes", at=11)
    assert (pending.late, pending.unknown, pending.model.n) == (1, 1, {"no": 1.0})
