"""What a comparison makes of tables as they come: columns of every kind, odd targets, files of any size."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_iris, load_wine
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import likelier as lk
from likelier.comparison import prepare
from likelier.comparison.rows import opened
from likelier.estimators.catalogue import MODELS

LABELS = np.array(["no", "yes"] * 30)


def by_name(comparison):
    return {result.model: result for result in comparison.results}


def kinds(rows):
    return {column.name: column.kind for column in rows.columns}


def numbers(n=60, seed=0):
    return np.random.default_rng(seed).normal(size=n)


@pytest.fixture
def flowers(tmp_path):
    """A table in a file, with words for classes, a column that tells nothing, and gaps."""
    X, y = load_iris(return_X_y=True)
    X[::7, 1] = np.nan
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    table.insert(2, "name", [f"flower-{i}" for i in range(len(y))])
    table["species"] = np.array(["setosa", "versicolor", "virginica"])[y]
    table.to_csv(tmp_path / "flowers.csv", index=False)
    table.to_parquet(tmp_path / "flowers.parquet", row_group_size=40)
    return tmp_path, table


# ---- columns -------------------------------------------------------------------------------------
def test_columns_are_seen_for_what_they_are():
    table = pd.DataFrame(
        {
            "id": np.arange(100, 160),
            "mixed_id": np.random.default_rng(0).permutation(60),
            "key": [f"k{i}" for i in range(60)],
            "constant": 1.5,
            "one": "always",
            "empty": np.nan,
            "day": [f"2026-11-{1 + i % 28:02d}" for i in range(60)],
            "when": pd.date_range("2026-01-01", periods=60, freq="h"),
            "x": numbers(),
            "colour": ["red", "green", None] * 20,
            "note": [f"this is sentence number {i}" for i in range(60)],
            "flag": [True, False] * 30,
        }
    )
    rows = opened(table, LABELS)
    assert kinds(rows) == {
        "day": "number",
        "when": "number",
        "x": "number",
        "colour": "category",
        "note": "text",
        "flag": "number",
    }
    assert rows.notes == (
        "id, mixed_id: looks like an id (whole numbers, each once): left out",
        "key: looks like an id (hardly a value comes twice): left out",
        "constant: has one value (1.5): left out",
        "one: has one value (always): left out",
        "empty: is empty: left out",
        "day, when: is a date: used as a number of days",
    )
    day = next(column for column in rows.columns if column.name == "day")
    assert day.values[0] == (np.datetime64("2026-11-01") - np.datetime64("1970-01-01")).astype(int)
    assert rows.gaps == 20
    assert "constant: has one value (1.5): left out" in str(lk.compare(table, LABELS, ["lda"]))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_dates_in_files_are_days_as_those_in_frames(tmp_path, kind):
    day = pd.date_range("2026-01-01", periods=60)
    table = pd.DataFrame({"day": day, "x": numbers(), "z": 4, "y": LABELS})
    table["hour"] = pd.date_range("2026-01-01", periods=60, freq="7h", tz="Europe/Berlin")
    table.loc[3, "day"] = pd.NaT
    path = tmp_path / f"dates.{kind}"
    table.to_parquet(path) if kind == "parquet" else table.to_csv(path, index=False)
    rows = opened(lk.scan(path, target="y", types={"z": "text"}))
    said = ("day, hour: is a date: used as a number of days", "z: has one value (4): left out")
    assert rows.notes == said
    same = opened(table.drop(columns=["y", "z"]), LABELS)
    np.testing.assert_array_equal(rows.numbers, same.numbers)


def test_an_id_is_better_than_nothing():
    rows = opened(np.arange(60.0)[:, None], LABELS)
    assert kinds(rows) == {"x0": "number"}
    assert rows.notes == ("x0: looks like an id, and is all there is",)


@pytest.mark.parametrize("make", [lambda table: table, pl.from_pandas, pa.Table.from_pandas])
def test_frames_of_any_make_are_the_same(flowers, make):
    table = flowers[1]
    models = ["gaussian-nb", "logistic-regression", "naive-bayes", "online-classifier"]
    frame = lk.compare(make(table.drop(columns="species")), table["species"], models)
    array = lk.compare(table[["a", "b", "c", "d"]].to_numpy(), table["species"], models)
    named = lk.compare(make(table), "species", models)
    for ours, theirs, third in zip(frame.results, array.results, named.results, strict=True):
        assert ours.mean("log_loss") == pytest.approx(theirs.mean("log_loss"), rel=1e-12)
        assert ours.mean("log_loss") == third.mean("log_loss")
    assert frame.rows.notes == ("name: looks like an id (hardly a value comes twice): left out",)
    assert named.rows.target == "species"


def test_classes_that_are_whole_numbers_are_written_so(tmp_path):
    table = pd.DataFrame({"x": numbers(), "y": np.tile([0, 1, -1], 20).astype(float)})
    table.loc[0, "y"] = np.nan  # which makes floats of them in a frame as well
    table.to_csv(tmp_path / "whole.csv", index=False)
    dump_svmlight_file(table[["x"]], table["y"].fillna(0), str(tmp_path / "whole.svmlight"))
    of_lines = lk.compare(lk.scan(tmp_path / "whole.svmlight"), models=["lda"])
    of_cells = lk.compare(lk.scan(tmp_path / "whole.csv", target="y"), models=["lda"])
    for found in (lk.compare(table, "y", ["lda"]), of_cells, of_lines):
        assert [str(label) for label in found.classes] == ["-1", "0", "1"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_are_as_frames(flowers, kind):
    folder, table = flowers
    found = lk.compare(lk.scan(folder / f"flowers.{kind}", target="species"), models=["lda", "naive-bayes"])
    same = lk.compare(table, "species", models=["lda", "naive-bayes"])
    for ours, theirs in zip(found.results, same.results, strict=True):
        assert ours.mean("log_loss") == pytest.approx(theirs.mean("log_loss"), rel=1e-12)
    assert found.rows.notes == same.rows.notes
    assert found.rows.target == "species"
    assert found.classes.tolist() == ["setosa", "versicolor", "virginica"]


def test_models_say_what_they_leave_out():
    table = pd.DataFrame(
        {
            "x": numbers(),
            "colour": ["red", "green", "blue"] * 20,
            "note": [f"{'good' if i % 2 else 'bad'} thing {i} it is" for i in range(60)],
        }
    )
    found = by_name(lk.compare(table, LABELS, cv=3))
    assert found["GaussianNB"].notes[:2] == ("leaves out categories: colour", "leaves out text: note")
    assert found["NaiveBayes"].notes[0] == "leaves out text: note"
    assert found["MultinomialNB"].notes[:2] == ("leaves out categories: colour", "leaves out numbers: x")
    for name in ("LogisticRegression", "OnlineClassifier", "LinearSVC", "BernoulliNB"):
        assert not any("leaves out" in note for note in found[name].notes)
        assert found[name].mean("error") < 0.05  # good and bad are told by the words alone


def test_words_are_learned_from_training_rows_alone():
    """The same figures as scikit-learn's vectorizer within each fold."""
    rng = np.random.default_rng(0)
    words = [
        [f"w{w}" for w in rng.integers(0, 200, 12)] + ["sun" if y else "rain"]
        for y in range(2)
        for _ in range(40)
    ]
    y = np.repeat([0, 1], 40)
    flip = rng.random(80) < 0.3
    texts = [" ".join(w[:-1] if f else w) for w, f in zip(words, flip, strict=True)]
    found = by_name(lk.compare(pd.DataFrame({"text": texts}), y, ["logistic-regression"], random_state=2))
    pipe = make_pipeline(TfidfVectorizer(sublinear_tf=True), lk.LogisticRegression())
    folds = StratifiedKFold(5, shuffle=True, random_state=2)
    loss = -cross_val_score(pipe, texts, y, cv=folds, scoring="neg_log_loss")
    # Either fit ends at an objective within 5e-9 of its optimum, its weights within the root of that.
    np.testing.assert_allclose(found["LogisticRegression"].figures("log_loss"), loss, rtol=7e-5)


@pytest.mark.parametrize(
    "preprocessor",
    [
        prepare.numbers,
        prepare.table,
        prepare.table_or_words,
        prepare.design,
        prepare.contrasts,
        prepare.plain,
        prepare.numbers_and_indicators,
        prepare.bins,
        prepare.booleans,
        prepare.counts,
    ],
)
def test_nothing_is_learned_from_rows_that_are_held_out(preprocessor):
    """What training rows become does not depend on the other rows."""
    rng = np.random.default_rng(1)
    train = np.arange(40)
    table = pd.DataFrame(
        {
            "k": rng.integers(0, 6, 60),
            "colour": rng.choice(["red", "green", "blue"], 60),
            "note": [" ".join(rng.choice(list("abcdef"), 3)) * 2 + f" word{i} and" for i in range(60)],
        }
    )
    other = table.copy()
    other.loc[40:, "k"] = 1000
    other.loc[40:, "colour"] = "violet"
    other.loc[40:, "note"] = "entirely other words in this"
    served = [preprocessor(opened(each, LABELS), train)(train) for each in (table, other)]
    one, two = (
        each.to_pydict()
        if isinstance(each, pa.Table)
        else each.toarray()
        if sparse.issparse(each)
        else each
        for each in served
    )
    if isinstance(one, dict):
        assert one == two
    elif preprocessor is prepare.bins:  # codes of all categories, in their order: as good as names
        np.testing.assert_array_equal(one[:, 0], two[:, 0])
        np.testing.assert_array_equal(
            *(np.unique(each[:, 1], return_inverse=True)[1] for each in (one, two))
        )
    else:
        np.testing.assert_array_equal(one, two)


def test_missing_cells_are_filled_by_training_means_for_those_that_need_it():
    X = np.array([[1.0], [np.nan], [3.0], [100.0], [np.nan]] * 12)
    rows = opened(X, LABELS)
    train = np.flatnonzero(X[:, 0] != 100)
    found = prepare.plain(rows, train)(np.array([0, 1, 3]))
    np.testing.assert_array_equal(found, [[1, 0], [2, 1], [100, 0]])
    scaled = prepare.design(rows, train)(np.array([0, 1, 2]))
    np.testing.assert_allclose(scaled, [[-1, 0], [0, 1], [1, 0]])


def test_numbers_are_cut_so_that_some_lie_above():
    rows = opened(np.column_stack([np.arange(60) % 10, np.r_[np.zeros(5), np.ones(55)]]), LABELS)
    every = np.arange(60)
    assert prepare.booleans(rows, every)(every).mean(axis=0).tolist() == [0.5, 55 / 60]
    assert len(np.unique(prepare.bins(rows, every)(every)[:, 0])) == 10


def test_sparse_matrices_and_lines(tmp_path):
    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X, y, str(tmp_path / "iris.svm"), zero_based=False)
    models = ["gaussian-nb", "logistic-regression", "multinomial-nb", "naive-bayes"]
    held = lk.compare(sparse.csr_matrix(X), y.astype(int), models)
    read = lk.compare(lk.scan(tmp_path / "iris.svm"), models=models)
    for ours, theirs in zip(held.results, read.results, strict=True):
        assert ours.mean("log_loss") == pytest.approx(theirs.mean("log_loss"), rel=1e-9)
    assert held.rows.p == 4
    with pytest.raises(ValueError, match="X has nan in row 1, column 0"):
        lk.compare(sparse.csr_matrix([[1.0], [np.nan]] * 30), LABELS)


def test_wide_tables_leave_out_models_that_take_too_long():
    X = sparse.random(60, 3000, density=0.01, random_state=0, format="csr")
    found = by_name(lk.compare(X, LABELS, ["lda", "multinomial-nb"]))
    assert found["LDA"].skipped == "it would take too long on 3,000 columns (at most 1,000)"
    assert found["MultinomialNB"].skipped is None


def test_kernels_learn_from_a_sample_of_each_class(monkeypatch):
    info = MODELS["KernelDensityClassifier"]
    few = tuple(candidate._replace(most_cells=40) for candidate in info.candidates)
    monkeypatch.setitem(MODELS, info.name, info._replace(candidates=few))
    X, y = load_wine(return_X_y=True)
    y = np.where(np.arange(178) < 5, 3, y)
    found = by_name(lk.compare(X[:, :2], y, ["kernel-density"]))["KernelDensity"]
    assert re.fullmatch("learns from a sample of 2[0-4] of 142 rows", found.notes[0])
    assert np.isfinite(found.mean("log_loss"))


def test_dask_collections_are_as_frames(flowers):
    dd = pytest.importorskip("dask.dataframe")
    table = flowers[1].drop(columns="name").assign(size=np.where(np.arange(150) % 4, "small", "large"))
    X, y = table.drop(columns="species"), table["species"]
    models = ["lda", "naive-bayes"]
    held = lk.compare(X, y, models)
    parts = dd.from_pandas(table, npartitions=3)
    found = lk.compare(parts.drop(columns="species"), parts["species"], models)
    for ours, theirs in zip(found.results, held.results, strict=True):
        assert ours.mean("log_loss") == pytest.approx(theirs.mean("log_loss"), rel=1e-9)
    few = lk.compare(
        parts[["a", "c"]].to_dask_array(lengths=True), parts["d"].to_dask_array(lengths=True), max_rows=90
    )
    assert few.classes is None
    assert few.rows.notes == ("compared on a sample of 90 rows out of 150",)


# ---- targets -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("y", "K"),
    [
        (["a", "b"] * 20, 2),
        ([True, False] * 20, 2),
        ([0.0, 1.0] * 20, 2),
        (list(range(20)) * 5, 20),
        (list(range(21)) * 5, None),
        ([0.5, 1.0] * 20, None),
        (list(np.random.default_rng(0).normal(size=40)), None),
    ],
)
def test_what_is_asked_is_seen_from_y(y, K):
    found = lk.compare(numbers(len(y))[:, None], y, models={}, cv=2)
    assert (None if found.classes is None else len(found.classes)) == K


def test_the_task_can_be_said():
    X, y = load_wine(return_X_y=True)
    assert lk.compare(X, y, models={}, task="regress").classes is None
    assert len(lk.compare(numbers()[:, None], list(range(30)) * 2, {}, cv=2, task="classify").classes) == 30


def test_rows_without_a_label_are_left_out(tmp_path):
    table = pd.DataFrame({"x": numbers(), "y": LABELS})
    table.loc[[3, 5], "y"] = None
    held = lk.compare(table, "y", ["lda"])
    assert len(held.rows) == 58
    assert held.rows.notes == ("2 rows without a label: left out",)
    table.to_csv(tmp_path / "t.csv", index=False)
    read = lk.compare(lk.scan(tmp_path / "t.csv", target="y"), models=["lda"])
    assert read.rows.notes == held.rows.notes
    assert read.best.mean("log_loss") == pytest.approx(held.best.mean("log_loss"))
    numbers_too = table.assign(y=np.where(table["y"].isna(), np.nan, numbers(seed=1)))
    numbers_too.to_csv(tmp_path / "n.csv", index=False)
    found = lk.compare(lk.scan(tmp_path / "n.csv", target="y"))
    assert (len(found.rows), found.classes) == (58, None)


def test_classes_with_fewer_rows_than_folds_are_left_out():
    y = np.array([*LABELS[:57], "rare", "rare", "once"])
    found = lk.compare(numbers()[:, None], y, ["lda"])
    assert found.classes.tolist() == ["no", "yes"]
    assert found.rows.notes == ("classes with fewer rows than folds: left out, 3 rows in all (once, rare)",)
    assert len(found.rows) == 57


def test_weights_of_files(tmp_path):
    frame = load_iris(as_frame=True).frame.assign(w=np.arange(150) % 3)
    frame.to_csv(tmp_path / "iris.csv", index=False)
    read = lk.compare(lk.scan(tmp_path / "iris.csv", target="target", weight="w"), models=["lda"])
    X, y = frame.drop(columns=["target", "w"]), frame["target"]
    held = lk.compare(X, y, ["lda"], sample_weight=frame["w"])
    assert len(read.rows) == 100  # weight 0 is absent
    assert read.best.mean("log_loss") == pytest.approx(held.best.mean("log_loss"), rel=1e-9)


# ---- samples -------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_larger_file_is_sampled_and_that_is_said(flowers, kind):
    source = lk.scan(flowers[0] / f"flowers.{kind}", target="species")
    found = lk.compare(source, models=["lda"], max_rows=90, random_state=1)
    assert len(found.rows) == 90
    assert found.rows.notes[0] == "compared on a sample of 90 rows out of 150"
    again, other = (
        lk.compare(source, models={}, max_rows=90, random_state=1),
        lk.compare(source, models={}, max_rows=90, random_state=2),
    )
    np.testing.assert_array_equal(found.rows.numbers, again.rows.numbers)
    assert not np.array_equal(found.rows.numbers, other.rows.numbers, equal_nan=True)


def test_larger_arrays_are_sampled():
    X, y = load_wine(return_X_y=True)
    found = lk.compare(X, y, ["lda"], max_rows=100)
    assert found.rows.notes == ("compared on a sample of 100 rows out of 178",)
    assert set(map(tuple, found.rows.numbers)) <= set(map(tuple, X))
    sampled = lk.compare(sparse.csr_matrix(X), y, {}, max_rows=100)
    assert sampled.rows.sparse.shape == (100, 13)


# ---- refused -------------------------------------------------------------------------------------
X4 = np.array([[0.0], [1.0], [0.5], [2.0]])


@pytest.mark.parametrize(
    ("X", "y", "how", "message"),
    [
        (X4, None, {}, "y is None"),
        ("table.csv", "y", {}, "X is a path: .* as in scan\\('table.csv', target='y'\\)"),
        (X4, [1, 2, 3], {}, r"y must have one label or number for each of the 4 rows; got shape \(3,\)"),
        (np.zeros(4), [1, 2, 1, 2], {}, "Expected 2D array, got 1D array instead: X must be a table"),
        (X4, [0.5, np.inf, 1, 2], {}, "the target is inf in row 1"),
        (X4, [None] * 4, {}, "no row has both a label"),
        (X4, [0, 1, 0, 1], {"cv": 1}, "cv must be an integer >= 2; got 1"),
        (X4, [0, 1, 0, 1], {"random_state": -1}, "random_state must be an integer >= 0; got -1"),
        (X4, [0, 1, 0, 1], {"n_jobs": 0}, "n_jobs must be an integer >= 1 .a number of processes.; got 0"),
        (X4, [0, 1, 0, 1], {"max_rows": 0}, r"max_rows must be .*; got 0"),
        (X4, [0, 1, 0, 1], {"task": "guess"}, "task must be 'classify', 'regress' or None; got"),
        (X4, ["a", "b"] * 2, {"task": "regress", "cv": 2}, "not numeric"),
        (X4, [0.5, 1.5, 2.5, 3.5], {}, "4 rows for 5 folds"),
        (X4, [0.5, 1.5] * 2, {"task": "classify"}, "not whole, such as 0.5"),
        (X4[:1], [0.5], {}, "a comparison needs at least 2 rows; got 1"),
        (X4, ["u"] * 4, {}, r"only one value \('u'\)"),
        (
            X4,
            ["u"] * 3 + ["v"],
            {"cv": 3},
            "2 classes in 4 rows, 1 of them with fewer rows than the 3 folds",
        ),
        (numbers()[:, None], LABELS, {"cv": 100}, "fewer rows than the 100 folds"),
        (numbers()[:, None], [f"u{i}" for i in range(60)], {}, "60 classes in 60 rows.* Is it an id"),
        (np.ones((60, 2)), LABELS, {}, "no feature column is left: x0, x1: has one value"),
        (
            np.where(np.arange(60) == 7, np.inf, numbers())[:, None],
            LABELS,
            {},
            "'x0' has an infinite value in row 7",
        ),
        (X4, "y", {}, "X is not a data frame"),
        (pd.DataFrame({"height": [1, 2], "weight": [1, 2]}), "wieght", {}, "did you mean weight"),
        (pd.DataFrame([[1.0, 2.0]] * 60, columns=["a", "a"]), LABELS, {}, "several columns of one name"),
    ],
)
def test_what_cannot_be_compared_is_refused(X, y, how, message):
    with pytest.raises(ValueError, match=message):
        lk.compare(X, y, **how)


def test_too_many_classes_are_refused_with_advice():
    y = np.repeat(np.arange(10_000), 6).astype(str)
    with pytest.raises(
        ValueError, match=r"has 10,000 classes in 50,000 rows.* keep the rows of the commonest"
    ):
        lk.compare(numbers(60_000)[:, None], y)


def test_sources_bring_one_target(flowers):
    path = flowers[0] / "flowers.csv"
    with pytest.raises(ValueError, match="one target"):
        lk.compare(lk.scan(path))
    with pytest.raises(ValueError, match="includes y and weights"):
        lk.compare(lk.scan(path, target="species"), [1, 2])
    with pytest.raises(ValueError, match=r"no column named 'specie'.*'species'"):
        lk.scan(path, target="specie")


def test_a_tree_on_mixed_columns_gets_numbers_as_they_are(flowers):
    table = flowers[1].drop(columns=["name", "b"])
    found = by_name(lk.compare(table, "species", [DecisionTreeClassifier(random_state=0)]))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    X, y = table.drop(columns="species").to_numpy(), table["species"]
    errors = 1 - cross_val_score(DecisionTreeClassifier(random_state=0), X, y, cv=folds)
    np.testing.assert_allclose(found["DecisionTreeClassifier"].figures("error"), errors)
