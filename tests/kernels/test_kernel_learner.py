"""The online learner against its twin, and the laws that it keeps."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.conftest import levels
from kernels.learner_twin import Twin

LOSSES = ["log_loss", "hinge", "squared_hinge", "perceptron", "modified_huber"]
OPTIMIZERS = ["sgd", "adagrad", "ftrl"]
RATES = {"sgd": 0.5, "adagrad": 0.4, "ftrl": 0.3}


def hashed(core: Any, rows: list, codes: Any, weights: Any = None) -> Any:
    """Rows of (key, value) pairs as the core has them."""
    cells = [cell for row in rows for cell in row]
    found = core.HashedRows()
    found.extend(
        np.array([key for key, _ in cells], dtype=np.uint64),
        np.array([value for _, value in cells], dtype=np.float64),
        np.cumsum([0] + [len(row) for row in rows], dtype=np.int64),
        np.asarray(codes, dtype=np.int32),
        np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64),
    )
    return found


def drawn(n: int, K: int, seed: int = 0, p: int = 7) -> tuple[list, np.ndarray]:
    """Sparse rows in odd units, far from 0, with indicators; labels that depend on them."""
    rng = np.random.default_rng(seed)
    keys = [int(key) for key in rng.integers(0, 2**63, 2 * p)]
    units, centres = 10.0 ** rng.integers(-3, 4, p), rng.normal(size=p) * 3
    rows, codes = [], []
    for _ in range(n):
        x = rng.normal(size=p)
        there = rng.random(p) < 0.8
        word = int(rng.integers(p))
        rows.append(
            [(keys[j], float((x[j] + centres[j]) * units[j])) for j in range(p) if there[j]]
            + [(keys[p + word], 1.0)]
        )
        z = 2 * x[0] - x[1] + (word % 3) - 1 + rng.logistic() * 0.3
        codes.append(int(np.digitize(z, np.linspace(-1.5, 1.5, K + 1)[1:-1])))
    order: dict[int, int] = {}
    return rows, np.array([order.setdefault(code, len(order)) for code in codes], dtype=np.int32)


def same(a: dict, b: dict) -> None:
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


# ---- the twin ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("K", [2, 4])
def test_steps_are_those_of_the_twin(core, optimizer, loss, K):
    rows, codes = drawn(60, K)
    weights = np.random.default_rng(1).uniform(0.2, 3, 60)
    for others in (
        {},
        {"normalised": False, "invariant": False, "l2": 0.1, "rate": 0.02},
        {"half_life": 5.0, "power": 0.7, "beta": 2.0},
    ):
        settings = {"bits": 12, "optimizer": optimizer, "loss": loss, "rate": RATES[optimizer], **others}
        # Plain steps are for columns of like units.
        some = rows if others.get("normalised", True) else [[(k, np.sign(x)) for k, x in r] for r in rows]
        learner, twin = core.Learner(**settings), Twin(**settings)
        close = 1e-3 if loss == "log_loss" and K > 2 else 2e-4  # softmax goes the way in steps of its own
        P = learner.learn(hashed(core, some, codes, weights))
        for i, (row, code, w) in enumerate(zip(some, codes, weights, strict=True)):
            expected = twin.learn(row, int(code), float(w))
            np.testing.assert_allclose(
                P[i, : len(expected)], expected, rtol=close, atol=close / 10, err_msg=f"row {i}, {others}"
            )
            assert not P[i, len(expected) :].any()


def test_forgetting_is_the_same_after_a_thousand_half_lives(core):
    """Sums are scaled down some sixteen times meanwhile, those of slots when they are met again."""
    rows, codes = drawn(1200, 2, p=3)
    rare = [(12345, 2.0)]
    rows[::400] = [row + rare for row in rows[::400]]
    for optimizer in OPTIMIZERS:
        settings = {"bits": 10, "optimizer": optimizer, "loss": "log_loss", "rate": 0.2, "half_life": 1.2}
        P = core.Learner(**settings).learn(hashed(core, rows, codes))
        twin = Twin(**settings)
        expected = np.array(
            [twin.learn(row, int(code), 1.0) for row, code in zip(rows, codes, strict=True)]
        )
        np.testing.assert_allclose(P, expected, rtol=1e-3, atol=1e-5)


# ---- laws --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("K", [2, 3])
def test_one_row_at_a_time_is_all_at_once_bit_for_bit(core, optimizer, K):
    rows, codes = drawn(200, K)
    whole, single = (core.Learner(bits=10, optimizer=optimizer, half_life=3.0) for _ in range(2))
    P = whole.learn(hashed(core, rows, codes))
    for i, row in enumerate(rows):
        before, K = single.predict(hashed(core, [row], [-1]))[0], single.K
        found = single.learn(hashed(core, [row], codes[i : i + 1]))[0]
        np.testing.assert_array_equal(P[i, : len(found)], found)
        if single.K == K:
            np.testing.assert_array_equal(before, found)
    same(whole.state(), single.state())


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_answers_unlabelled_rows_and_weights_of_0_change_nothing(core, optimizer):
    rows, codes = drawn(100, 3)
    learner = core.Learner(bits=8, optimizer=optimizer)
    learner.learn(hashed(core, rows, codes))
    before = learner.state()
    P = learner.predict(hashed(core, rows, codes))
    np.testing.assert_array_equal(learner.learn(hashed(core, rows, np.full(100, -1))), P)
    np.testing.assert_array_equal(learner.learn(hashed(core, rows, codes, np.zeros(100))), P)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    same(learner.state(), before)


@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_hinge", "modified_huber"])
@pytest.mark.parametrize("K", [2, 3])
@given(weight=st.floats(0.1, 20), seed=st.integers(0, 99))
def test_weight_w_is_the_row_in_parts_that_add_up_to_w(core, loss, K, weight, seed):
    """Exactly so where rates stay as they are (SGD, power 0); softmax goes the way in steps of its own."""
    rows, codes = drawn(30, K, seed)
    settings = {"bits": 8, "optimizer": "sgd", "loss": loss, "power": 0.0, "normalised": False}
    number: dict[int, int] = {}  # no two features of a row share a slot
    rows = [[(number.setdefault(key, len(number)), float(np.sign(x))) for key, x in row] for row in rows]
    once, often = (core.Learner(rate=0.05, **settings) for _ in range(2))
    for learner in (once, often):
        learner.learn(hashed(core, rows, codes))
    row, code = rows[0], [codes[-1]]
    once.learn(hashed(core, [row], code, [weight]))
    often.learn(hashed(core, [row] * 3, code * 3, [weight / 2, weight / 3, weight / 6]))
    close = 1e-3 if loss == "log_loss" and K == 3 else 1e-5
    np.testing.assert_allclose(
        *(learner.predict(hashed(core, [*rows, []], [-1] * 31)) for learner in (once, often)), atol=close
    )


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad"])
def test_columns_in_other_units_learn_the_same(core, optimizer):
    rows, codes = drawn(200, 3)
    scaled = [[(key, x * 2.0 ** (key % 30 - 15)) for key, x in row] for row in rows]
    first, second = (
        core.Learner(bits=12, optimizer=optimizer).learn(hashed(core, each, codes))
        for each in (rows, scaled)
    )
    np.testing.assert_allclose(first, second, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize(("K", "half_life"), [(2, 0.0), (2, 1.5), (5, 1.5)])
def test_a_state_goes_on_bit_for_bit(core, optimizer, K, half_life):
    rows, codes = drawn(500, K)
    settings = {
        "bits": 9,
        "optimizer": optimizer,
        "half_life": half_life,
        "l1": 0.01 * (optimizer == "ftrl"),
    }
    whole, first = core.Learner(**settings), core.Learner(**settings)
    second = core.Learner(**settings)
    P = whole.learn(hashed(core, rows, codes))
    first.learn(hashed(core, rows[:300], codes[:300]))
    second.learn(hashed(core, rows[:7], codes[:7]))  # what was there before is gone
    second.restore(first.state())
    same(second.state(), first.state())
    assert second.counters == first.counters
    np.testing.assert_array_equal(P[300:], second.learn(hashed(core, rows[300:], codes[300:])))
    same(second.state(), whole.state())


def test_l1_makes_weights_that_are_exactly_0(core):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (2000, 40))
    y = (X[:, 0] + 0.5 * X[:, 1] + rng.logistic(size=2000) > 0).astype(np.int32)
    keys = rng.integers(0, 2**63, 40)
    rows = [list(zip(keys.tolist(), x.tolist(), strict=True)) for x in X]
    zeros = {}
    for l1 in (0.0, 40.0):
        learner = core.Learner(bits=12, optimizer="ftrl", l1=l1)
        learner.learn(hashed(core, rows, y))
        single = learner.predict(hashed(core, [[(int(key), 1.0)] for key in keys] + [[]], [-1] * 41))[:, 1]
        zeros[l1] = np.flatnonzero(single[:-1] == single[-1])
    assert len(zeros[0.0]) == 0
    assert len(zeros[40.0]) >= 30
    assert not {0, 1} & set(zeros[40.0])


# ---- classes -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_more_classes_leave_the_odds_of_the_others(core, optimizer, loss):
    rows, codes = drawn(300, 2)
    l1 = 0.3 if optimizer == "ftrl" else 0.0
    learner = core.Learner(bits=10, optimizer=optimizer, loss=loss, l1=l1, half_life=40.0)
    learner.learn(hashed(core, rows, codes))
    asked = hashed(core, rows[:50], [-1] * 50)
    before = learner.predict(asked)
    for K in (3, 4, 9):
        learner.grow(K)
        after = learner.predict(asked)
        assert after.shape == (50, K)
        assert K == learner.K
        np.testing.assert_allclose(
            after[:, 0] * before[:, 1], after[:, 1] * before[:, 0], rtol=1e-4, atol=1e-9
        )


def test_a_class_that_is_new_gets_what_one_more_would_have(core):
    learner = core.Learner(bits=6)
    row = [(3, 1.0)]
    P = learner.learn(hashed(core, [row] * 40, [0] * 20 + [1] * 20))
    assert P.shape == (40, 2)
    before = learner.predict(hashed(core, [row], [-1]))[0]
    P = learner.learn(hashed(core, [row, row], [2, 2]))
    np.testing.assert_allclose(P[0], [*(before * 2 / 3), 1 / 3])
    assert P[1, 2] > 1 / 3
    np.testing.assert_allclose(learner.learn(hashed(core, [row], [5]))[0, [3, 4, 5]], [0, 0, 1 / 4])
    assert learner.K == 6


# ---- what comes ill ----------------------------------------------------------------------------------
sizes = st.floats(-300, 300).map(lambda e: 10.0**e)


@pytest.mark.parametrize("core", levels()[-1:], indirect=True)
@given(data=st.data())
def test_nothing_becomes_nan_whatever_comes(core, data):
    settings = {
        "optimizer": data.draw(st.sampled_from(OPTIMIZERS)),
        "loss": data.draw(st.sampled_from(LOSSES)),
        "rate": data.draw(st.sampled_from([1e-6, 0.5, 1e6])),
        "beta": data.draw(st.sampled_from([0.0, 1.0])),
        "l2": data.draw(st.sampled_from([0.0, 1e6])),
        "half_life": data.draw(st.sampled_from([0.0, 1.0, 1e6])),
        "normalised": data.draw(st.booleans()),
        "invariant": data.draw(st.booleans()),
    }
    cell = st.tuples(st.integers(0, 9), sizes | sizes.map(lambda x: -x) | st.just(1.0))
    rows = data.draw(st.lists(st.lists(cell, max_size=12), min_size=1, max_size=15))
    codes = data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    weights = data.draw(st.lists(st.floats(0, 1e10), min_size=len(rows), max_size=len(rows)))
    learner = core.Learner(bits=3, **settings)
    for _ in range(3):
        P = learner.learn(hashed(core, rows, codes, weights))
        assert ((P >= 0) & (P <= 1)).all()
    P = learner.predict(hashed(core, rows, codes))
    np.testing.assert_allclose(P.sum(axis=1), 1)
    state = learner.state()
    assert np.isfinite(state["table"]).all()
    assert all(np.isfinite(state[name]) for name in ("total", "norms", "inflation"))


def test_what_diverges_is_cut_and_counted(core):
    rows, codes = drawn(300, 2)
    rows = [[(key, 1e4 * x) for key, x in row] for row in rows]
    learner = core.Learner(bits=10, optimizer="sgd", rate=1e6, normalised=False, invariant=False)
    learner.learn(hashed(core, rows, codes))
    assert learner.counters["clipped"] > 100
    learner = core.Learner(bits=10)
    learner.learn(hashed(core, rows, codes))
    assert learner.counters["clipped"] == 0


def test_a_stream_that_turns_is_followed_by_what_forgets(core):
    rows, codes = drawn(6000, 2)
    codes[5000:] = 1 - codes[5000:]
    loss = {}
    for half_life in (0.0, 200.0):
        P = core.Learner(bits=10, half_life=half_life).learn(hashed(core, rows, codes))
        loss[half_life] = -np.log(P[np.arange(6000), codes])[5000:].mean()
    assert loss[200.0] < 0.8 * loss[0.0]


def test_collisions_are_those_of_a_dict(core):
    rows, codes = drawn(300, 2, p=60)
    learner = core.Learner(bits=6)
    P = learner.learn(hashed(core, rows, codes))
    owners: dict[int, int] = {}
    met = [owners.setdefault(key % 64, key) != key for row in rows for key, _ in row]
    counters = learner.counters
    assert counters["collisions"] == sum(met) > 0
    assert (counters["used"], counters["cells"], counters["steps"]) == (len(owners), len(met), 300)
    assert np.isfinite(P).all()


def test_a_feature_that_comes_twice_is_learned_from(core):
    learner = core.Learner(bits=6)
    learner.learn(hashed(core, [[(1, 1.0), (1, 1.0)], []] * 50, [1, 0] * 50))
    assert learner.predict(hashed(core, [[(1, 1.0), (1, 1.0)]], [-1]))[0, 1] > 0.9


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"bits": 0}, "bits must be from 1 to 30"),
        ({"bits": 31}, "bits must be from 1 to 30"),
        ({"optimizer": "adam"}, "no optimizer 'adam'"),
        ({"loss": "squared"}, "no loss 'squared'"),
        ({"rate": 0.0}, "rate must be above 0"),
        ({"rate": np.nan}, "rate must be above 0"),
        ({"power": 1.5}, "power must be from 0 to 1"),
        ({"beta": -1.0}, "beta must be from 0"),
        ({"l2": -1.0}, "l1 and l2 must be from 0"),
        ({"l1": 1.0}, "l1 is for optimizer='ftrl' alone"),
        ({"half_life": 0.5}, "half_life is a number of rows"),
    ],
)
def test_settings_that_make_no_sense_are_refused(core, settings, words):
    with pytest.raises(ValueError, match=words):
        core.Learner(**settings)


def test_tables_and_states_that_do_not_fit_are_refused(core):
    learner = core.Learner(bits=24)
    with pytest.raises(
        ValueError, match="slots with room for 16384 scores takes more than 32 GB: use fewer"
    ):
        learner.learn(hashed(core, [[]], [9999]))
    assert learner.K == 0
    small = core.Learner(bits=5)
    with pytest.raises(ValueError, match="not that of a learner with these settings"):
        small.restore(core.Learner(bits=6).state())
    with pytest.raises(ValueError, match="not that of a learner with these settings"):
        small.restore({**small.state(), "K": 3})
    with pytest.raises(ValueError, match="do not fit together"):
        core.HashedRows().extend(*(np.zeros(2, t) for t in (np.uint64, float, np.int64, np.int32, float)))


def test_doubling_batches_give_the_bits_of_one(core):
    rows, codes = drawn(255, 2)
    cuts = [2**k - 1 for k in range(9)]
    learner = core.Learner(bits=8)
    P = [learner.learn(hashed(core, rows[a:b], codes[a:b])) for a, b in pairwise(cuts)]
    np.testing.assert_array_equal(np.concatenate(P), core.Learner(bits=8).learn(hashed(core, rows, codes)))
