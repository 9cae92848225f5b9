"""What people hand in for a table, and columns that a model cannot have: the message says what to write."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import likelier as lk

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(40, 2)), columns=["a", "b"])
Y = np.arange(40) % 2
CLASSIFIERS = [
    lk.GaussianNB(),
    lk.NaiveBayes(),
    lk.LogisticRegression(),
    lk.LinearSVC(),
    lk.SGDClassifier(),
]
MODELS = [*CLASSIFIERS, lk.Ridge()]
every_model = pytest.mark.parametrize("model", MODELS, ids=repr)


@every_model
def test_the_name_of_a_column_is_not_the_column(model):
    with pytest.raises(ValueError, match=r"got a string instead: y='t'.*X\.drop\(columns='t'\), X\['t'\]"):
        model.fit(FRAME.assign(t=Y), "t")


@every_model
@pytest.mark.parametrize("path", ["d.csv", Path("d.csv")])
def test_a_path_is_not_a_table(model, path):
    with pytest.raises(ValueError, match=r"Expected 2D array, got a string.*scan\('d.csv', target='y'\)"):
        model.fit(path, Y)


@every_model
def test_a_row_is_not_a_table(model):
    model.fit(FRAME, Y)
    with pytest.raises(ValueError, match=r"Expected 2D array, got a dict.*pandas\.DataFrame\(\[row\]\)"):
        model.predict({"a": 1.0, "b": 2.0})
    with pytest.raises(ValueError, match=r"2D array, got a list of dicts.*pandas\.DataFrame\(rows\)"):
        model.predict([{"a": 1.0, "b": 2.0}])


@pytest.mark.parametrize("of", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
def test_numbers_written_as_text(of):
    text = FRAME.astype(str)
    with pytest.raises(ValueError, match=r"astype\(float\) or pandas\.to_numeric") as wrong:
        lk.LogisticRegression().fit(of(text), Y)
    assert "DesignMatrix" not in str(wrong.value)
    text.loc[3, "a"] = "red"
    with pytest.raises(ValueError, match="DesignMatrix") as wrong:
        lk.LogisticRegression(encode=False).fit(of(text[["a"]]), Y)
    assert "to_numeric" not in str(wrong.value)


# ---- classes that are none ---------------------------------------------------------------------------
MANY = [
    np.arange(60),
    np.array([f"name {i}" for i in range(60)]),
    np.datetime64("2024-01-01") + np.arange(60),
    np.arange(60) * 2 // 3,
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
@pytest.mark.parametrize("y", MANY, ids=["numbers", "names", "days", "more than half"])
@pytest.mark.filterwarnings(
    "ignore::likelier.DegenerateWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)
def test_a_class_for_most_rows_is_warned_of_as_scikit_learn_does(model, y):
    X = RNG.normal(size=(60, 2))
    with pytest.warns(UserWarning, match="number of unique classes is greater than 50%") as caught:
        model.fit(X, y)
    found = [each for each in caught if "unique classes" in str(each.message)]
    assert [each.filename for each in found] == [__file__]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.jsonl"])
@pytest.mark.parametrize(
    "model", [lk.GaussianNB(), lk.NaiveBayes(), lk.Perceptron(), lk.OnlineClassifier()]
)
@pytest.mark.filterwarnings("ignore::likelier.DegenerateWarning")
def test_a_class_for_most_rows_of_a_file_is_warned_of(model, name, tmp_path):
    """Also where one pass would do, since a glimpse has shown all classes."""
    frame = pd.DataFrame(RNG.normal(size=(60, 2)), columns=["a", "b"]).assign(
        y=[f"name {i}" for i in range(60)]
    )
    writers = {"csv": "to_csv", "gz": "to_csv", "parquet": "to_parquet", "jsonl": "to_json"}
    how = {"orient": "records", "lines": True} if name.endswith("jsonl") else {"index": False}
    getattr(frame, writers[name.rsplit(".", 1)[1]])(tmp_path / name, **how)
    with pytest.warns(UserWarning, match="60 classes in 60 rows"):
        model.fit(lk.scan(tmp_path / name, target="y"))


def test_few_rows_or_fewer_classes_are_not_warned_of():
    X = RNG.normal(size=(60, 2))
    lk.GaussianNB().fit(X, np.arange(60) % 30)
    lk.LogisticRegression().fit(X[:12], np.arange(12) % 7)


# ---- files to predict ----------------------------------------------------------------------------------
@pytest.fixture
def mixed(tmp_path):
    """A model of numbers and words, and its table."""
    frame = FRAME.assign(c=np.array(["u", "v"])[RNG.integers(0, 2, 40)], y=Y)
    frame.to_csv(tmp_path / "t.csv", index=False)
    return lk.NaiveBayes().fit(lk.scan(tmp_path / "t.csv", target="y")), frame


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
@pytest.mark.parametrize("lost", [["a"], ["c"], ["a", "c"]])
def test_columns_that_a_file_lacks_are_integrated_out(mixed, tmp_path, ending, lost):
    model, frame = mixed
    there = frame.drop(columns=[*lost, "y"])
    path = tmp_path / f"new.{ending}"
    there.to_parquet(path) if ending == "parquet" else there.to_csv(path, index=False)
    with pytest.warns(lk.SkippedWarning, match=f"no column named {', '.join(map(repr, lost))}") as caught:
        found = model.predict_proba(lk.scan(path))
    assert [each.filename for each in caught] == [__file__]
    blank = frame.drop(columns="y").assign(**dict.fromkeys(lost, None))
    blank = blank.astype({name: float for name in lost if name != "c"})
    np.testing.assert_allclose(found, model.predict_proba(blank), atol=1e-12)
    expected = model.marginal([name for name in "abc" if name not in lost])
    np.testing.assert_allclose(found, expected.predict_proba(there), atol=1e-12)


def test_what_cannot_be_integrated_out_is_refused(mixed, tmp_path):
    model, frame = mixed
    frame[["y"]].assign(z=1.0).to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(ValueError, match="no column named 'a'"):  # none of its columns is there
        model.predict(lk.scan(tmp_path / "new.csv"))
    linear = lk.LogisticRegression().fit(frame[["a", "b"]], Y)
    frame[["a"]].to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(ValueError, match="no column named 'b'"):
        linear.predict(lk.scan(tmp_path / "new.csv"))
    with pytest.raises(ValueError, match="feature names"):  # a frame is what scikit-learn takes it for
        model.predict(frame[["a"]])


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl"])
def test_a_bad_number_is_named_by_its_line(mixed, tmp_path, ending):
    model, frame = mixed
    odd = frame.drop(columns="y").astype({"a": object})
    odd.loc[7, "a"] = "unknown"
    path = tmp_path / f"new.{ending}"
    if ending == "jsonl":
        odd.to_json(path, orient="records", lines=True)
        said = r"several kinds: a number, and .unknown. on line 8"
    else:
        odd.to_csv(path, index=False)
        said = (
            re.escape(f"{path}, line 9, column 'a': 'unknown' is not of type double")
            + ".*missing=\\['unknown'"
        )
    with pytest.raises(ValueError, match=said):
        model.predict(lk.scan(path))
    if ending != "jsonl":
        found = model.predict_proba(lk.scan(path, missing=["unknown"]))
        odd.loc[7, "a"] = np.nan
        np.testing.assert_allclose(found, model.predict_proba(odd.astype({"a": float})), atol=1e-12)
