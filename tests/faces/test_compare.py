"""Models side by side."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.covariance import EmpiricalCovariance
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression as SkLinear
from sklearn.linear_model import Ridge as SkRidge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import likelier as lk
from likelier.comparing import rows as tables
from likelier.comparing.baselines import ClassCounts, ValueMoments, Variety
from likelier.data import Chunk, Dense, Hashed


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


def test_figures_are_those_of_scikit_learns_cross_validation(wine):
    X, y = wine
    (result,) = (
        r for r in lk.compare(X, y, models={"nb": lk.GaussianNB()}, cv=4, seed=3).results if r.model == "nb"
    )
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    accuracy = cross_val_score(lk.GaussianNB(), X, y, cv=folds)
    loss = -cross_val_score(lk.GaussianNB(), X, y, cv=folds, scoring="neg_log_loss")
    assert result.error == pytest.approx(1 - accuracy.mean())
    assert result.log_loss == pytest.approx(loss.mean())
    assert 0 < result.fit < 1


def test_prints_as_a_table_with_the_best_first(wine):
    comparison = lk.compare(*wine)
    lines = str(comparison).splitlines()
    assert lines[0] == "178 rows, 13 columns, 3 classes; 5-fold cross-validation"
    assert lines[2].split() == ["model", "error", "log-loss", "fit", "assumes"]
    losses = [result.log_loss for result in comparison.results]
    assert losses == sorted(losses)
    assert len({line.index("generative") for line in lines[4:] if "generative" in line}) == 1


def test_becomes_a_frame(wine):
    frame = lk.compare(*wine, models=[lk.GaussianNB()]).to_frame()
    assert frame.loc["GaussianNB", "error"] < 0.1


def test_takes_any_scikit_learn_estimator(wine):
    models = {"tree": DecisionTreeClassifier(max_depth=2, random_state=0), "nb": lk.GaussianNB()}
    assert {r.model for r in lk.compare(*wine, models=models).results} == {"tree", "nb", "(majority class)"}


def test_a_model_that_cannot_take_the_data_sits_out_and_says_why():
    X = np.array([[1.0], [2.0], [3.0], [4.0]] * 3)
    y = np.array([0, 1, 0, 1] * 3)
    bad = lk.LinearDiscriminantAnalysis(n_components=3)
    shown = lk.compare(X, y, models={"bad": bad, "nb": lk.GaussianNB()}, cv=3)
    assert shown.results[-1].model == "bad"
    assert str(shown).splitlines()[-1].startswith("bad: sits out: n_components")


@pytest.mark.parametrize(
    ("y", "message"), [([0] * 10, "one value only"), ([0] * 8 + [1] * 2, "fewer than the 5 folds")]
)
def test_targets_that_cannot_be_compared_on(y, message):
    with pytest.raises(ValueError, match=message):
        lk.compare(np.arange(10.0)[:, None], y)


def by_name(comparison):
    return {result.model: result for result in comparison.results}


@pytest.fixture
def flowers(tmp_path):
    """A table in a file, with words for classes, a column of words, and gaps."""
    X, y = load_iris(return_X_y=True)
    X[::7, 1] = np.nan
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    table.insert(2, "name", [f"flower {i}" for i in range(len(y))])
    table["species"] = np.array(["setosa", "versicolor", "virginica"])[y]
    table.to_csv(tmp_path / "flowers.csv", index=False)
    table.to_parquet(tmp_path / "flowers.parquet", row_group_size=40)
    return tmp_path, table


@given(
    counts=st.lists(st.integers(4, 30), min_size=2, max_size=6),
    F=st.integers(2, 4),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_baseline_is_scikit_learns_dummy_on_the_same_folds(counts, F, seed):
    y = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    X = np.zeros((len(y), 1))
    found = by_name(lk.compare(X, y, models={}, cv=F, seed=seed))["(majority class)"]
    folds = StratifiedKFold(F, shuffle=True, random_state=seed)
    loss = -cross_val_score(DummyClassifier(), X, y, cv=folds, scoring="neg_log_loss")
    assert found.log_loss == pytest.approx(loss.mean(), rel=1e-12)
    error = []
    for train, test in folds.split(X, y):
        shares = np.bincount(y[train], minlength=len(counts))
        error.append(np.mean(y[test] != shares.argmax()))
    assert found.error == pytest.approx(np.mean(error), rel=1e-12)


def test_numbers_are_compared_by_rmse_with_the_mean():
    X, y = load_diabetes(return_X_y=True)
    comparison = lk.compare(X, y, seed=1, models=[lk.LinearRegression(), SkRidge(), DummyRegressor()])
    found = by_name(comparison)
    folds = KFold(5, shuffle=True, random_state=1)
    for name, model in {
        "LinearRegression": SkLinear(),
        "Ridge": SkRidge(),
        "(mean)": DummyRegressor(),
        "DummyRegressor": DummyRegressor(),
    }.items():
        rmse = -cross_val_score(model, X, y, cv=folds, scoring="neg_root_mean_squared_error").mean()
        assert found[name].rmse == pytest.approx(rmse, rel=1e-10)
        assert found[name].r2 == pytest.approx(cross_val_score(model, X, y, cv=folds).mean(), abs=1e-10)
    assert str(comparison).splitlines()[2].split() == ["model", "RMSE", "R²", "fit", "assumes"]
    assert comparison.results[0].model == "LinearRegression"


def test_a_bad_cell_is_counted_among_all_rows(wine):
    X, y = wine[0].copy(), wine[1]
    X[[60, 100], 2] = np.nan
    found = by_name(lk.compare(X, y, models={"line": lk.LogisticRegression()}))["line"]
    assert "row 60, column 2 is nan" in found.notes[0] or "row 100, column 2 is nan" in found.notes[0]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_have_hashed_folds_the_same_for_all_models(flowers, kind):
    folder, table = flowers
    source = lk.scan(folder / f"flowers.{kind}", target="species")
    comparison = lk.compare(
        source, models={"nb": lk.GaussianNB(), "tree": DecisionTreeClassifier(random_state=0)}, seed=2
    )
    found = by_name(comparison)
    fold = Hashed(5, 2).of(0, len(table))
    X, y = table[["a", "b", "c", "d"]].to_numpy(), table["species"].to_numpy()
    errors, losses, base = [], [], []
    for f in range(5):
        model = lk.GaussianNB().fit(X[fold != f], y[fold != f])
        test = fold == f
        errors.append(np.mean(model.predict(X[test]) != y[test]))
        losses.append(
            -np.mean(model.predict_log_proba(X[test])[np.arange(test.sum()), code(model, y[test])])
        )
        shares = model.class_prior_
        base.append(-np.mean(np.log(shares[code(model, y[test])])))
    assert found["nb"].error == pytest.approx(np.mean(errors), rel=1e-12)
    assert found["nb"].log_loss == pytest.approx(np.mean(losses), rel=1e-9)
    assert found["(majority class)"].log_loss == pytest.approx(np.mean(base), rel=1e-12)
    # A model without `cross_validate` is fitted to the same folds, read into memory.
    tree = by_name(comparison)["tree"]
    assert tree.error == pytest.approx(np.mean(list(tree_errors(X, y, fold))), rel=1e-12)
    assert tree.fit > 0
    assert "left out by models that take numbers only: name" in str(comparison)
    assert (comparison.rows, comparison.columns) == (150, 5)


def tree_errors(X, y, fold):
    for f in range(5):
        model = DecisionTreeClassifier(random_state=0).fit(X[fold != f], y[fold != f])
        yield np.mean(model.predict(X[fold == f]) != y[fold == f])


def test_files_too_large_for_memory_and_weights_are_said(tmp_path, monkeypatch):
    frame = load_iris(as_frame=True).frame.assign(w=2.0)
    frame.to_csv(tmp_path / "iris.csv", index=False)
    models = {"line": lk.LogisticRegression()}
    weighed = lk.scan(tmp_path / "iris.csv", target="target", weight="w")
    assert "go without weights" in by_name(lk.compare(weighed, models=models))["line"].notes[0]
    plain = lk.scan(tmp_path / "iris.csv", target="target")
    assert by_name(lk.compare(plain, models=models))["line"].error < 0.1
    monkeypatch.setattr(tables, "MOST", 100)
    assert "more than 100 cells" in by_name(lk.compare(plain, models=models))["line"].notes[0]


def code(model, y):
    return np.searchsorted(model.classes_, y)


@pytest.mark.parametrize("make", [lambda table: table, pl.from_pandas, pa.Table.from_pandas])
def test_frames_are_as_arrays_without_the_columns_that_are_no_numbers(flowers, make):
    table = flowers[1]
    frame = lk.compare(make(table.drop(columns="species")), table["species"], models=[lk.GaussianNB()])
    array = lk.compare(table[["a", "b", "c", "d"]].to_numpy(), table["species"], models=[lk.GaussianNB()])
    for ours, theirs in zip(frame.results, array.results, strict=True):
        assert (ours.error, ours.log_loss) == (theirs.error, theirs.log_loss)
    assert frame.notes == ("left out by models that take numbers only: name",)


def test_a_pipeline_sees_a_frame_as_an_array_and_refits(flowers):
    table = flowers[1].fillna(0.0)
    models = {"scaled": make_pipeline(StandardScaler(), lk.GaussianNB()), "nb": lk.GaussianNB()}
    found = by_name(lk.compare(table.drop(columns="species"), table["species"], models=models))
    assert found["scaled"].error == pytest.approx(found["nb"].error, abs=0.02)
    assert found["scaled"].fit > 0


def test_a_covariance_estimator_is_refitted(wine):
    own = lk.LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=EmpiricalCovariance())
    found = by_name(lk.compare(*wine, models={"own": own, "lda": lk.LinearDiscriminantAnalysis()}))
    assert found["own"].log_loss == pytest.approx(found["lda"].log_loss, rel=1e-6)


@pytest.mark.parametrize(
    ("y", "what"),
    [
        (["a", "b"] * 20, "2 classes"),
        ([True, False] * 20, "2 classes"),
        ([0.0, 1.0] * 20, "2 classes"),
        (list(range(20)) * 5, "20 classes"),
        (list(range(21)) * 5, "a target of numbers"),
        ([0.5, 1.0] * 20, "a target of numbers"),
    ],
)
def test_what_is_asked_is_seen_from_y(y, what):
    assert lk.compare(np.zeros((len(y), 1)), y, models={}, cv=2).target == what


def test_the_task_can_be_said(wine):
    assert lk.compare(*wine, models={}, task="regress").target == "a target of numbers"
    y = list(range(30)) * 2
    assert lk.compare(np.zeros((60, 1)), y, models={}, cv=2, task="classify").target == "30 classes"


@given(
    y=st.lists(st.integers(-3, 40).map(float) | st.floats(-2, 2, width=16), min_size=1, max_size=60),
    cut=st.integers(0, 60),
)
def test_variety_merges(y, cut):
    y = np.array(y)
    whole, left, right = (Variety(np.empty(0)) for _ in range(3))
    whole.update(Chunk(Dense(np.empty((len(y), 0))), y))
    for state, rows in ((left, y[:cut]), (right, y[cut:])):
        state.update(Chunk(Dense(np.empty((len(rows), 0))), rows))
    left.merge(right)
    expected = sorted(set(y.tolist()))
    few = all(v == int(v) for v in expected) and len(expected) <= 20
    for state in (whole, left):
        assert (state.levels is not None) == few
        assert not few or state.levels.tolist() == expected


@given(data=st.data(), F=st.integers(2, 4), n=st.integers(1, 40))
def test_what_is_known_of_y_merges_and_weights_are_repetition(data, F, n):
    folds = Hashed(F, data.draw(st.integers(0, 9)))
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), dtype=np.int32)
    w = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=float)
    cut = data.draw(st.integers(0, n))
    for start in (lambda: ClassCounts.start(folds, 3), lambda: ValueMoments.start(folds)):
        whole, left, right = start(), start(), start()
        X = Dense(np.empty((n, 0)))
        whole.update(Chunk(X, y, w))
        left.update(Chunk(X, y, w).take(slice(0, cut)))
        right.update(Chunk(X, y, w).take(slice(cut, n)))
        left.merge(right)
        np.testing.assert_array_equal(left.rows, whole.rows)
        assert whole.rows.sum() == (w > 0).sum()
        of = (lambda s: s.weight.sum(axis=1)) if hasattr(whole, "weight") else (lambda s: s.moments.n)
        np.testing.assert_allclose(of(left), of(whole))
        np.testing.assert_allclose(of(whole), np.bincount(folds.of(0, n), w, minlength=F))


def test_warnings_are_notes_each_once(recwarn):
    X, y = load_wine(return_X_y=True)
    X = np.column_stack([X, np.ones(len(y)), np.zeros(len(y))])
    shown = str(lk.compare(X, y))
    assert not recwarn.list
    notes = " ".join(shown.split())
    assert notes.count("not full rank") == 1
    assert "GaussianNB: in class 0, 2 of 15 columns do not vary" in notes


def test_a_column_with_nothing_in_it_decides_nothing(wine):
    X, y = wine
    gone = np.column_stack([X, np.full(len(y), np.nan)])
    with_it, without = (by_name(lk.compare(Z, y, models={"nb": lk.GaussianNB()})) for Z in (gone, X))
    assert with_it["nb"].log_loss == pytest.approx(without["nb"].log_loss, rel=1e-9)
    assert "missing" in with_it["nb"].notes[0]
    line = by_name(lk.compare(gone, y, models={"line": lk.LinearRegression()}, task="regress"))["line"]
    assert line.notes[0].startswith("sits out: Input X contains NaN")


@pytest.mark.parametrize("task", ["classify", "regress"])
def test_models_of_the_other_kind_sit_out(wine, task):
    models = {"nb": lk.GaussianNB(), "line": lk.LinearRegression(), "tree": DecisionTreeClassifier()}
    found = by_name(lk.compare(*wine, models=models, task=task))
    out = {name for name, result in found.items() if np.isnan(getattr(result, result.figures[0].field))}
    assert out == ({"line"} if task == "classify" else {"nb", "tree"})


def test_a_loss_that_is_infinite_is_shown_so(tmp_path):
    """A class in one fold only, where folds are drawn by a hash."""
    fold = Hashed(3, 0).of(0, 60)
    y = np.where(np.isin(np.arange(60), np.flatnonzero(fold == 1)[:4]), "rare", "usual")
    pd.DataFrame({"x": np.arange(60.0), "y": y}).to_csv(tmp_path / "rare.csv", index=False)
    shown = lk.compare(lk.scan(tmp_path / "rare.csv", target="y"), cv=3, models=[lk.GaussianNB()])
    assert all(np.isinf(result.log_loss) for result in shown.results)
    assert "the loss on fold 1 is infinite" in str(shown)


@pytest.mark.parametrize(
    ("X", "y", "how", "message"),
    [
        (np.zeros((4, 1)), None, {}, "y is None"),
        (np.zeros((4, 1)), [1, 2, 3], {}, "y has shape"),
        (np.zeros(4), [1, 2, 1, 2], {}, "X has shape"),
        (np.zeros((4, 1)), [0.5, np.nan, 1, 2], {}, "row 1 is nan"),
        (np.zeros((4, 1)), ["a", None, "b", "a"], {}, "contains NaN"),
        (np.zeros((4, 1)), [0, 1, 0, 1], {"cv": 1}, "at least 2 folds"),
        (np.zeros((4, 1)), [0, 1, 0, 1], {"task": "guess"}, "classify, regress"),
        (np.zeros((4, 1)), ["a", "b"] * 2, {"task": "regress", "cv": 2}, "not of numbers"),
        (np.zeros((4, 1)), [0.5, 1.5, 2.5, 3.5], {}, "n_splits=5"),
        (pd.DataFrame({"a": pd.to_datetime(["2020-01-01"] * 2)}), [0, 1], {}, "no column holds numbers or"),
    ],
)
def test_what_cannot_be_compared_is_refused(X, y, how, message):
    with pytest.raises(ValueError, match=message):
        lk.compare(X, y, **how)


def test_sources_bring_one_target(flowers):
    path = flowers[0] / "flowers.csv"
    with pytest.raises(ValueError, match="one target"):
        lk.compare(lk.scan(path))
    with pytest.raises(ValueError, match="brings y along"):
        lk.compare(lk.scan(path, target="species"), [1, 2])
    words = lk.compare(lk.scan(path, target="species", features=["name"]))
    assert "no column holds any" in " ".join(str(words).split())


def test_few_rows_leave_a_hashed_fold_empty(tmp_path):
    (tmp_path / "few.csv").write_text("x,y\n" + "1,0.5\n2,1.5\n3,2.5\n")
    with pytest.raises(ValueError, match="3 rows are too few for 9 folds"):
        lk.compare(lk.scan(tmp_path / "few.csv", target="y"), cv=9)


def test_models_of_one_class_are_numbered(wine):
    models = [lk.Ridge(alpha=1.0), lk.Ridge(alpha=2.0), lk.Ridge(alpha=3.0)]
    assert {"Ridge", "Ridge 2", "Ridge 3"} <= by_name(
        lk.compare(*wine, models=models, task="regress")
    ).keys()
