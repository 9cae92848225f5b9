"""From a comparison to the model: estimators that take the table itself, splitters, tuned models."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, TimeSeriesSplit
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

import likelier as lk
from likelier.cli import main

N = 300


def make(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, N)
    words = np.array(["rain", "wind", "sun", "snow", "fog"])
    df = pd.DataFrame(
        {
            "size": rng.normal(y, 1.0),
            "count": rng.poisson(2 + y),
            "colour": rng.choice(["red", "green", "blue"], N),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.permutation(N), "D"),
            "note": [" ".join(rng.choice(words, 5)) + f" n{i}" for i in range(N)],
            "id": np.arange(N),
            "y": np.where(y, "yes", "no"),
        }
    )
    df.loc[::7, "size"] = np.nan
    df.loc[::11, "colour"] = None
    return df


@pytest.fixture(scope="module")
def table():
    return make()


@pytest.fixture(scope="module")
def found(table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lk.compare(table.drop(columns="note"), "y", cv=3)


MODELS = [
    *("NaiveBayes", "GaussianNB", "BernoulliNB", "CategoricalNB", "LDA", "LDA, shrunk", "QDA", "MDA"),
    *(
        "KernelDensity",
        "LogisticRegression",
        "LinearSVC",
        "Perceptron",
        "SGDClassifier",
        "OnlineClassifier",
    ),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", MODELS)
def test_every_model_takes_the_table_and_is_saved(found, table, model, tmp_path):
    if model == "OnlineClassifier":  # which takes no dates
        table = table.drop(columns="when")
        found = lk.compare(table.drop(columns="note"), "y", [model], cv=3)
    fitted = found.estimator(model)
    assert found.estimator(model) is fitted
    answer = fitted.predict(table)  # with the id, the text and the target beside
    lk.save(fitted, tmp_path / "m.lk")
    again = lk.load(tmp_path / "m.lk")
    assert np.array_equal(again.predict(table), answer)
    other = pl.from_pandas(table.iloc[:, ::-1]).drop("note", "id")
    assert np.array_equal(again.predict(other), answer)
    result = found.result(model)
    assert (answer == table.y).mean() > 1 - result.mean("error") - 0.1
    lk.save(again, tmp_path / "again.lk")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", ["LogisticRegression", "LDA", "NaiveBayes"])
def test_the_model_is_that_of_the_row(found, model):
    candidate = found.result(model).candidate_model
    rows, at = found.folds.rows, np.arange(len(found.folds.rows))
    prepared = candidate.preprocessor(rows, at)
    there = type(candidate.model)(**candidate.model.get_params()).fit(prepared(at), rows.y)
    ours = found.estimator(model).predict_proba(make())
    np.testing.assert_allclose(ours, there.predict_proba(prepared(at)), rtol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_words_are_kept_with_the_model(table, tmp_path):
    found = lk.compare(table, "y", ["LogisticRegression", "MultinomialNB", "BernoulliNB"], cv=3)
    for result in found.results:
        if result.baseline:
            continue
        model = found.estimator(result.model)
        lk.save(model, tmp_path / "m.lk")
        assert np.array_equal(lk.load(tmp_path / "m.lk").predict(table), model.predict(table))
    assert "note: rain" in found.estimator("LogisticRegression").design_.get_feature_names_out()


@pytest.mark.filterwarnings("ignore")
def test_best_estimator_and_others(found, table):
    assert found.best_estimator_ is found.estimator(found.best.model)
    with pytest.raises(KeyError, match="NoModel"):
        found.estimator("NoModel")
    with pytest.raises(ValueError, match="PoissonNB was skipped: needs counts"):
        found.estimator("PoissonNB")
    tree = lk.compare(table.drop(columns="note"), "y", [DecisionTreeClassifier(max_depth=3)], cv=3)
    piped = tree.estimator("DecisionTreeClassifier")
    assert isinstance(piped, Pipeline)
    assert len(piped.predict(table)) == N


@pytest.mark.filterwarnings("ignore")
def test_arrays_have_places_for_names():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(N), rng.normal(size=(N, 2)), np.zeros(N)])
    y = (X[:, 1] + rng.normal(size=N) > 0).astype(int)
    found = lk.compare(X, y, ["LDA", "NaiveBayes", "LogisticRegression"], cv=3)
    for result in found.results:
        model = found.estimator(result.model)
        assert len(model.predict(X)) == N
        if not result.baseline:
            assert model.n_features_in_ == 4


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", ["LogisticRegression", "LDA", "NaiveBayes", "CategoricalNB"])
def test_a_sample_is_compared_and_all_rows_are_fitted(table, model, tmp_path):
    few = lk.compare(table, "y", [model], cv=3, max_rows=120)
    assert len(few.rows) == 120
    fitted = few.estimator(model)
    counted = fitted._statistics
    assert np.sum(counted.n) == N
    table.drop(columns="note").to_parquet(tmp_path / "t.parquet")
    source = lk.scan(tmp_path / "t.parquet", target="y")
    there = lk.compare(source, models=[model], cv=3, max_rows=120)
    assert np.sum(there.estimator(model)._statistics.n) == N
    lk.save(there.estimator(model), tmp_path / "m.lk")
    assert np.array_equal(lk.load(tmp_path / "m.lk").predict(table), there.estimator(model).predict(table))


# ---- splits ----------------------------------------------------------------------------------------
def test_splitters_are_taken_as_they_are(table):
    X = table[["size", "colour", "y"]]
    one = lk.compare(X, "y", ["LDA"], cv=StratifiedKFold(3, shuffle=True, random_state=0))
    two = lk.compare(X, "y", ["LDA"], cv=3)
    assert one.result("LDA").mean("log_loss") == pytest.approx(two.result("LDA").mean("log_loss"))
    assert "split by StratifiedKFold" in " ".join(str(one).split())
    pairs = list(KFold(4).split(X))
    assert lk.compare(X, "y", ["LDA"], cv=pairs).cv == 4


def test_groups_stay_together(table):
    groups = np.arange(N) // 10
    found = lk.compare(table[["size", "y"]], "y", ["GaussianNB"], cv=3, groups=groups)
    number = found.folds.number
    assert all(len(set(number[groups == g])) == 1 for g in set(groups))
    given = lk.compare(table[["size", "y"]], "y", ["GaussianNB"], cv=GroupKFold(3), groups=groups)
    assert all(len(set(given.folds.number[groups == g])) == 1 for g in set(groups))


def test_time_goes_forward(table):
    found = lk.compare(table.drop(columns="note"), "y", ["GaussianNB"], cv=4, time="when")
    moments = table["when"].to_numpy()
    for fold in range(4):
        train, test = found.folds.split(fold)
        assert moments[train].max() < moments[test].min()
    assert len(found.rows) == N - len(found.folds.split(0)[0])
    assert "in no test set" in " ".join(found.rows.notes)
    assert len(found.result("GaussianNB").P) == len(found.rows)
    plain = lk.compare(table[["size", "y"]], "y", ["GaussianNB"], cv=TimeSeriesSplit(3))
    assert plain.cv == 3
    assert lk.plot.learning_curve(found, sizes=[20, 40]) is not None


BAD_SPLITS = {
    "a word": ({"cv": "five"}, "cv must be an integer >= 2, a splitter"),
    "one fold": ({"cv": 1}, "cv must be an integer >= 2; got 1"),
    "no such column": ({"time": "never"}, "time='never': there is no such column"),
    "a number for time": ({"time": 3}, "time must be the name of a column"),
    "missing times": ({"time": "size"}, "missing values"),
    "few moments": ({"time": "colour", "cv": 9}, "different moments"),
    "both": ({"time": "when", "groups": np.arange(N)}, "groups and time"),
    "short groups": ({"groups": [1, 2]}, r"groups must have shape \(300,\)"),
    "one group": ({"groups": np.zeros(N)}, "1 groups for 5 folds"),
    "held out twice": ({"cv": [([1, 2], [10, 11]), ([1, 2], [11])]}, "row 11 is held out 2 times"),
    "an empty fold": ({"cv": [([], [1]), ([1], [2])]}, "no rows to learn from"),
    "no model": ({"param_grid": {"SVC": {"C": [1]}}}, "no model named 'SVC' is compared"),
    "no parameter": ({"param_grid": {"LDA": {"shrink": [1]}}}, "no parameter 'shrink'.*'shrinkage'"),
    "no list": ({"param_grid": {"LDA": {"shrinkage": 0.1}}}, "needs a list of values"),
    "no dict": ({"param_grid": {"LDA": 3}}, "must be a dict"),
}


@pytest.mark.parametrize("kind", BAD_SPLITS)
def test_splits_that_are_none(table, kind):
    how, says = BAD_SPLITS[kind]
    with pytest.raises(ValueError, match=says):
        lk.compare(table.drop(columns="note"), "y", ["LDA"], **how)


# ---- tuned models ----------------------------------------------------------------------------------
@pytest.mark.filterwarnings("ignore")
def test_tuned_models_are_judged_by_nested_folds(table):
    X = table[["size", "count", "colour", "y"]]
    models = {"tuned": lk.LinearDiscriminantAnalysis(solver="lsqr"), "plain": lk.LogisticRegression()}
    grid = {"tuned": {"shrinkage": [None, 0.9]}, "plain": {"C": [1e-6, 1.0]}}
    found = lk.compare(X, "y", models, cv=3, param_grid=grid)
    for name, parameter in (("tuned", "shrinkage"), ("plain", "C")):
        said = [note for note in found.result(name).notes if note.startswith("tuned in each fold")]
        assert f"{parameter}=" in said[0]
    assert found.estimator("plain").C == 1.0
    held = lk.compare(X, "y", {"plain": lk.LogisticRegression(C=1.0)}, cv=3)
    tuned = found.result("plain").mean("log_loss")
    assert tuned == pytest.approx(held.result("plain").mean("log_loss"))


# ---- the command line --------------------------------------------------------------------------------
@pytest.fixture
def csv(table, tmp_path):
    path = tmp_path / "t.csv"
    table.drop(columns="note").to_csv(path, index=False)
    return path


@pytest.mark.filterwarnings("ignore")
def test_train_names_a_row_of_the_table(csv, tmp_path, capsys, found, table):
    out = tmp_path / "m.lk"
    assert main(["train", str(csv), "--target", "y", "--model", "logistic-regression", "-o", str(out)]) == 0
    said = capsys.readouterr().err
    assert "held out, 30 rows of 300: LogisticRegression: error %" in said
    assert "(majority class): error %" in said
    model = lk.load(out)
    np.testing.assert_allclose(
        model.predict_proba(table), found.estimator("LogisticRegression").predict_proba(table), rtol=1e-6
    )
    answers = tmp_path / "a.csv"
    assert main(["predict", str(out), str(csv), "-o", str(answers)]) == 0
    assert pd.read_csv(answers).label.tolist() == model.predict(table).tolist()


@pytest.mark.filterwarnings("ignore")
def test_train_takes_the_best(csv, tmp_path, capsys):
    out = tmp_path / "m.lk"
    assert main(["train", str(csv), "--target", "y", "-o", str(out)]) == 0
    said = capsys.readouterr().err
    assert "the best of" in said
    assert "by log-loss in 5-fold cross-validation" in said
    assert (
        main(["train", str(csv), "--target", "y", "--model", "best", "--set", "C=3", "-o", str(out)]) != 0
    )
    assert "--set C requires --model M" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore")
def test_train_warns_of_a_model_that_is_not_better(tmp_path, capsys):
    rng = np.random.default_rng(5)
    noise = pd.DataFrame(
        {"a": rng.choice(list("uvw"), 400), "y": rng.choice(["p", "q"], 400, p=[0.9, 0.1])}
    )
    noise.to_csv(tmp_path / "t.csv", index=False)
    given = ["train", str(tmp_path / "t.csv"), "--target", "y", "--model", "perceptron"]
    assert main([*given, "-o", str(tmp_path / "m.lk")]) == 0
    assert "warning: Perceptron is not better than (majority class)" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore")
def test_compare_saves_the_best(csv, tmp_path, capsys):
    out = tmp_path / "best.lk"
    given = ["compare", str(csv), "--target", "y", "--cv", "3", "--models", "lda", "--no-report"]
    assert main([*given, "--save", str(out)]) == 0
    assert f"LDA, fitted to all rows: {out}" in capsys.readouterr().out
    assert type(lk.load(out)).__name__ == "LinearDiscriminantAnalysis"
    assert main(given) == 0
    said = capsys.readouterr().out
    assert f"next: likelier train {csv} --target y -o best.lk" in said
    assert "found.best_estimator_" in said


@pytest.mark.filterwarnings("ignore")
def test_predict_knows_the_types_of_columns(csv, tmp_path, capsys, table):
    out = tmp_path / "m.lk"
    assert main(["train", str(csv), "--target", "y", "--model", "lda", "-o", str(out)]) == 0
    bad = tmp_path / "bad.csv"
    bad.write_text("size,count,colour,when\n1.5,2,red,2024-01-01\nbig,2,red,2024-01-01\n")
    assert main(["predict", str(out), str(bad)]) != 0
    assert "line 3, column 'size': 'big'" in capsys.readouterr().err
    few = tmp_path / "few.csv"
    table[["size", "count", "when"]].to_csv(few, index=False)
    assert main(["predict", str(out), str(few), "-o", str(tmp_path / "a.csv")]) == 0
    assert "no column named 'colour'" in capsys.readouterr().err
    linear = tmp_path / "l.lk"
    main(["train", str(csv), "--target", "y", "--model", "logistic-regression", "-o", str(linear)])
    capsys.readouterr()
    assert main(["predict", str(linear), str(few)]) != 0
    assert "colour" in capsys.readouterr().err
