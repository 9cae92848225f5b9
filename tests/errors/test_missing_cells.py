"""Cells that are missing (NaN, None, NA) at the door: taken as such, whatever holds them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import likelier as lk
from errors.conftest import X, Y, inside

NB, LDA, QDA = lk.GaussianNB, lk.LinearDiscriminantAnalysis, lk.QuadraticDiscriminantAnalysis
EVERY = [
    NB(),
    LDA(),
    LDA(solver="lsqr"),
    LDA(solver="eigen"),
    LDA(solver="lsqr", shrinkage=0.2),
    LDA(solver="lsqr", shrinkage="auto"),
    LDA(priors=[0.2, 0.3, 0.5]),
    LDA(solver="eigen", priors=[0.2, 0.3, 0.5]),
    QDA(),
    QDA(reg_param=0.1),
    QDA(solver="eigen", shrinkage=0.2),
    QDA(solver="eigen", shrinkage="auto"),
]
every_model = pytest.mark.parametrize("given", EVERY, ids=str)
quiet = pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
ANSWERS = [
    "predict_proba",
    "predict_log_proba",
    "predict_joint_log_proba",
    "decision_function",
    "score_samples",
    "impute",
]

GAPPY = X.copy()
GAPPY[4, 1] = GAPPY[7, 0] = GAPPY[[20, 33], 2] = np.nan
GAPPY[12] = np.nan


def check_sound(model, table=GAPPY, y=Y):
    """Finite answers, probabilities that sum to 1, labels that there are."""
    for answer in ANSWERS:
        assert np.isfinite(np.asarray(getattr(model, answer)(table))).all(), answer
    np.testing.assert_allclose(model.predict_proba(table).sum(axis=1), 1, rtol=1e-12)
    assert np.isin(model.predict(table), y).all()


def check_same(model, other, table=GAPPY, room=1e-8):
    for answer in ANSWERS:
        ours, theirs = getattr(model, answer)(table), getattr(other, answer)(table)
        np.testing.assert_allclose(ours, theirs, rtol=room, atol=room, err_msg=answer)


# ---- what holds them -------------------------------------------------------------------------------
def nullable(table):
    """pandas' own integers: pd.NA, not NaN."""
    return pd.DataFrame(table, columns=["a", "b", "c"]).astype("Int64")


def of_objects(missing):
    return lambda table: np.where(np.isnan(table), missing, table.astype(object))


HOLDERS = {
    "float32": lambda table: table.astype(np.float32),
    "float16": lambda table: table.astype(np.float16),
    "longdouble": lambda table: table.astype(np.longdouble),
    "big-endian": lambda table: table.astype(">f8"),
    "Fortran order": np.asfortranarray,
    "read-only": lambda table: np.broadcast_to(table, table.shape),
    "lists": lambda table: table.tolist(),
    "objects with None": of_objects(None),
    "objects with NaN": of_objects(np.nan),
    "CSR": sparse.csr_array,
    "CSC": sparse.csc_array,
    "COO": sparse.coo_array,
    "a frame": lambda table: pd.DataFrame(table, columns=["a", "b", "c"]),
    "a frame of objects with None": lambda table: pd.DataFrame(
        of_objects(None)(table), columns=["a", "b", "c"]
    ),
    "a frame of nullable integers": nullable,
    "a frame of nullable floats": lambda table: nullable(table).astype("Float64"),
}


@pytest.mark.parametrize("kind", HOLDERS)
def test_whatever_holds_a_gap_it_is_the_same_gap(model, kind):
    plain = clone(model).fit(GAPPY, Y)
    held = HOLDERS[kind](GAPPY)
    other = clone(model).fit(held, Y)
    if kind == "float32":  # answers to single precision would be rounded to it, as scikit-learn's are
        held = held.astype(float)
    for answer in ANSWERS:
        expected = getattr(plain, answer)(GAPPY)
        np.testing.assert_allclose(getattr(other, answer)(held), expected, 1e-10, 1e-10, err_msg=answer)
    np.testing.assert_array_equal(other.predict(held), plain.predict(GAPPY))
    batched = clone(model).partial_fit(held, Y, classes=[0, 1, 2])
    np.testing.assert_allclose(batched.predict_proba(held), plain.predict_proba(GAPPY), 1e-9, 1e-12)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, bool])
def test_whole_numbers_lack_nothing(model, dtype):
    table = (X % 2 if dtype is bool else X).astype(dtype)
    model.fit(table, Y)
    expected = clone(model).fit(table.astype(float), Y)
    np.testing.assert_array_equal(model.predict_proba(table), expected.predict_proba(table.astype(float)))
    np.testing.assert_array_equal(model.impute(table), table)


def test_a_table_with_gaps_is_never_written_to(model):
    for kind, make in HOLDERS.items():
        held = make(GAPPY)
        model.fit(held, Y).predict(held)
        model.impute(held)
        kept = held.toarray() if sparse.issparse(held) else held
        kept = (
            kept.astype("Float64").to_numpy(float, na_value=np.nan)
            if isinstance(kept, pd.DataFrame)
            else kept
        )
        np.testing.assert_array_equal(np.asarray(kept, dtype=float), GAPPY, err_msg=kind)


def test_the_tags_say_that_gaps_are_welcome(model):
    assert model.__sklearn_tags__().input_tags.allow_nan
    for other in (lk.LinearRegression(), lk.Ridge()):
        assert not other.__sklearn_tags__().input_tags.allow_nan


# ---- columns and rows of nothing -------------------------------------------------------------------
EMPTY = np.column_stack([GAPPY, np.full(60, np.nan)])  # the last column was never seen


def messages(caught):
    return [str(w.message) for w in caught if issubclass(w.category, lk.DegenerateWarning)]


@every_model
def test_a_column_of_nothing_is_named_and_changes_nothing(given, capfd):
    frame = pd.DataFrame(EMPTY, columns=["a", "b", "c", "void"])
    with pytest.warns(lk.DegenerateWarning) as caught:
        model = clone(given).fit(frame, Y)
    named = [m for m in messages(caught) if "'void'" in m and "missing" in m]
    assert named, messages(caught)
    assert all(w.filename == __file__ for w in caught)
    check_sound(model, frame)
    assert capfd.readouterr() == ("", "")  # nor does LAPACK print its opinion


@quiet
@pytest.mark.parametrize("given", [NB(), LDA(), LDA(solver="lsqr"), LDA(solver="eigen"), QDA()], ids=str)
def test_a_column_of_nothing_says_nothing_of_the_class(given):
    model, without = clone(given).fit(EMPTY, Y), clone(given).fit(GAPPY, Y)
    np.testing.assert_allclose(
        model.predict_log_proba(EMPTY), without.predict_log_proba(GAPPY), rtol=1e-7, atol=1e-7
    )
    np.testing.assert_allclose(
        model.predict_joint_log_proba(EMPTY), without.predict_joint_log_proba(GAPPY), rtol=1e-7, atol=1e-7
    )


@every_model
def test_a_column_that_one_class_lacks_is_named(given, capfd):
    table = GAPPY.copy()
    table[Y == 1, 2] = np.nan
    with pytest.warns(lk.DegenerateWarning, match="in class 1 every cell of column 2 is missing"):
        model = clone(given).fit(table, Y)
    check_sound(model, table)
    check_sound(model, X)
    assert capfd.readouterr() == ("", "")


@quiet
@every_model
@pytest.mark.parametrize("how", ["fit", "partial_fit"])
def test_a_class_whose_rows_are_all_empty_is_still_a_class(given, how, capfd):
    table = GAPPY.copy()
    table[Y == 2] = np.nan
    model = clone(given)
    if how == "fit":
        model.fit(table, Y)
    else:
        model.partial_fit(table, Y, classes=[0, 1, 2])
    check_sound(model, table)
    check_sound(model, X)
    if model.get_params()["priors"] is None:
        prior = model.class_prior_ if isinstance(model, NB) else model.priors_
        np.testing.assert_allclose(prior, 1 / 3)
    assert capfd.readouterr() == ("", "")


@quiet
@every_model
def test_a_table_of_nothing_leaves_the_priors(given, capfd):
    nothing = np.full((60, 3), np.nan)
    model = clone(given).fit(nothing, Y)
    prior = model.class_prior_ if isinstance(model, NB) else model.priors_
    np.testing.assert_allclose(model.predict_proba(nothing), np.tile(prior, (60, 1)), rtol=1e-12)
    check_sound(model, X)
    assert capfd.readouterr() == ("", "")


@every_model
def test_a_row_of_nothing_counts_for_its_class_alone(given):
    table = np.vstack([X, np.full((30, 3), np.nan)])
    y = np.append(Y, np.zeros(30, int))
    model, without = clone(given).fit(table, y), clone(given).fit(X, Y)
    if given.get_params()["priors"] is not None:
        return
    prior = model.class_prior_ if isinstance(model, NB) else model.priors_
    np.testing.assert_allclose(prior, np.array([50, 20, 20]) / 90)
    if isinstance(given, NB | QDA) and given.get_params().get("shrinkage") != "auto":
        same = model.predict_proba(X, priors=[1 / 3] * 3)
        np.testing.assert_allclose(same, without.predict_proba(X), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(np.full((1, 3), np.nan))[0], prior, rtol=1e-12)
    assert abs(model.score_samples(np.full((1, 3), np.nan))[0]) < 1e-12


# ---- where little is left --------------------------------------------------------------------------
SPARE = {
    "a class of one complete row": lambda: (GAPPY, np.where(np.arange(60) == 0, 9, Y)),
    "a class of one row with a gap": lambda: (GAPPY, np.where(np.arange(60) == 4, 9, Y)),
    "a class of one empty row": lambda: (GAPPY, np.where(np.arange(60) == 12, 9, Y)),
    "a constant column": lambda: (
        np.where(np.arange(3) == 1, np.where(np.isnan(GAPPY), np.nan, 0.1), GAPPY),
        Y,
    ),
    "all columns constant": lambda: (np.where(np.isnan(GAPPY), np.nan, 0.1), Y),
    "columns twice": lambda: (np.hstack([GAPPY, GAPPY]), Y),
    "columns twice, gaps apart": lambda: (
        np.hstack([GAPPY, np.where(np.isnan(GAPPY[::-1]), np.nan, X)]),
        Y,
    ),
    "more columns than rows": lambda: (_holes((9, 12), 0.2), np.arange(9) % 3),
    "few rows a class": lambda: (_holes((20, 3), 0.3, seed=3), np.arange(20) % 2),
    "hardly a cell": lambda: (_holes((60, 3), 0.9), Y),
    "one cell a row": lambda: (np.where(np.arange(60)[:, None] // 3 % 3 == np.arange(3), X, np.nan), Y),
}


def _holes(shape, share, seed=1):
    rng = np.random.default_rng(seed)
    cells = rng.normal(size=shape)
    return np.where(rng.random(shape) < share, np.nan, cells)


@every_model
@pytest.mark.parametrize("kind", SPARE)
def test_what_is_left_open_gets_a_defined_answer(given, kind, capfd):
    """Finite, with no warning but our own, and not a word from LAPACK."""
    table, y = SPARE[kind]()
    if given.get_params()["priors"] is not None:
        given = clone(given).set_params(priors=np.full(len(np.unique(y)), 1 / len(np.unique(y))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", lk.DegenerateWarning)
        model = clone(given).fit(table, y)
        check_sound(model, table, y)
    assert capfd.readouterr() == ("", "")


@every_model
def test_a_class_not_seen_yet_does_not_mind_gaps(given, capfd):
    if given.get_params()["priors"] is not None:
        given = clone(given).set_params(priors=[0.2, 0.3, 0.5])
    rows = Y != 1
    model = clone(given).partial_fit(GAPPY[rows], Y[rows], classes=[0, 1, 2])
    P = model.predict_proba(GAPPY)
    np.testing.assert_array_equal(P[:, 1], 0)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-12)
    assert not np.isnan(model.impute(GAPPY)).any()
    assert capfd.readouterr() == ("", "")
    model.partial_fit(GAPPY[~rows], Y[~rows])
    check_same(model, clone(given).fit(GAPPY, Y))


# ---- batches and merges ----------------------------------------------------------------------------
@every_model
def test_gaps_may_come_in_a_later_batch(given):
    whole = clone(given).fit(np.vstack([X, GAPPY]), np.tile(Y, 2))
    later = clone(given).partial_fit(X, Y, classes=[0, 1, 2]).partial_fit(GAPPY, Y)
    first = clone(given).partial_fit(GAPPY, Y, classes=[0, 1, 2]).partial_fit(X, Y)
    check_same(later, whole)
    check_same(first, whole)


@every_model
def test_a_fit_with_gaps_and_one_without_merge(given):
    whole = clone(given).fit(np.vstack([X, GAPPY]), np.tile(Y, 2))
    clean, gappy = clone(given).fit(X, Y), clone(given).fit(GAPPY, Y)
    held = inside(clean), inside(gappy)
    check_same(clean.merge(gappy), whole)
    check_same(gappy.merge(clean), whole)
    check_same(lk.merge([gappy, clean]), whole)
    assert (inside(clean), inside(gappy)) == held


@quiet
@every_model
def test_models_of_other_classes_merge_with_gaps(given):
    if given.get_params()["priors"] is not None:
        return
    some, others = Y != 2, Y != 0
    weights = np.where(Y == 1, 0.5, 1.0)
    parts = [clone(given).fit(GAPPY[at], Y[at], weights[at]) for at in (some, others)]
    check_same(parts[0].merge(parts[1], classes="union"), clone(given).fit(GAPPY, Y))


@every_model
def test_rows_of_weight_0_may_hold_gaps(given):
    w = np.ones(60)
    w[[4, 7, 12, 20, 33]] = 0  # all rows with gaps
    model = clone(given).fit(GAPPY, Y, w)
    check_same(model, clone(given).fit(X[w > 0], Y[w > 0]), room=1e-10)
    kept = np.where(np.arange(60) == 7, 1.0, w)
    check_same(clone(given).fit(GAPPY, Y, kept), clone(given).fit(GAPPY[kept > 0], Y[kept > 0]))


@every_model
def test_a_refused_infinity_leaves_a_model_with_gaps_as_it_was(given):
    bad = GAPPY.copy()
    bad[40, 2] = -np.inf
    model = clone(given).fit(GAPPY, Y)
    held = inside(model)
    for attempt in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=r"infinity.*row 40, column 2"):
            attempt(bad, Y)
        assert inside(model) == held
    for answer in [*ANSWERS, "predict"]:
        with pytest.raises(ValueError, match=r"infinity.*row 40, column 2"):
            getattr(model, answer)(bad)


@pytest.mark.parametrize("make", [np.array, np.asfortranarray, np.float32, sparse.csr_array])
def test_gaps_late_in_a_large_table_are_found(model, make):
    """In a part of its own: the parts before it count as ever."""
    rng = np.random.default_rng(0)
    table, y = rng.normal(size=(300_000, 4)), rng.integers(0, 3, size=300_000)
    table[250_001, 3] = np.nan
    table = np.asarray(table, dtype=np.float32).astype(float)
    model.fit(make(table), y)
    whole = np.delete(np.arange(300_000), 250_001)
    near = clone(model).fit(table[whole], y[whole])
    np.testing.assert_allclose(model.predict_proba(table[:9]), near.predict_proba(table[:9]), rtol=1e-3)
    # Answers to single precision would be rounded to it, as scikit-learn's are.
    P = model.predict_proba((np.array if make is np.float32 else make)(table[249_990:250_010]))
    np.testing.assert_allclose(
        P[[11]], model.marginal([0, 1, 2]).predict_proba(table[[250_001], :3]), rtol=1e-9
    )
