"""The commands, as people and other programs use them."""

import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_diabetes, load_iris

import likelier as lk
from likelier.cli import main, progress
from likelier.engines import Pass
from likelier.saving.format import describe

SPECIES = np.array(["setosa", "versicolor", "virginica"])
FEATURES = ["sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)"]
NAMED = ",".join(FEATURES)
CHANGED = "is not a model that can be loaded"
FAMILIES = ["gaussian", "gamma", "histogram", "kernel"]
SCRIPT = Path(sys.executable).with_name("likelier")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder: iris as CSV, packed CSV, TSV and Parquet, with identifiers and gaps."""
    monkeypatch.chdir(tmp_path)
    frame = load_iris(as_frame=True).frame
    frame["species"] = SPECIES[frame.pop("target")]
    frame.insert(0, "id", [f"{i:04d}" for i in range(len(frame))])
    frame.insert(1, "note", ["a, b" if i % 3 else 'say "x"' for i in range(len(frame))])
    frame.loc[::11, FEATURES[1]] = np.nan
    frame.to_csv("iris.csv", index=False)
    frame.to_csv("iris.csv.gz", index=False)
    frame.to_csv("iris.tsv", index=False, sep="\t")
    frame.to_parquet("iris.parquet", row_group_size=40)
    return tmp_path


@pytest.fixture
def model(folder, capsys):
    """A trained model, iris.lk."""
    run(
        "train",
        "iris.parquet",
        "--target",
        "species",
        "--features",
        NAMED,
        "--model",
        "lda",
        "-o",
        "iris.lk",
    )
    capsys.readouterr()
    return lk.load("iris.lk")


def run(*arguments):
    """A command that goes well."""
    assert main(arguments) == 0


def table():
    return pd.read_parquet("iris.parquet")


def bad(capsys, *arguments):
    """What a command says that goes wrong: one line."""
    try:
        code = main(arguments)
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert err.startswith("likelier: ")
    assert err.count("\n") == 1
    return err


# ---- train ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("file", ["iris.csv", "iris.csv.gz", "iris.tsv", "iris.parquet"])
@pytest.mark.parametrize("name", ["gaussian-nb", "lda", "qda", "GaussianNB"])
def test_train_fits_as_python_does(file, name, folder, capsys):
    run("train", file, "--target", "species", "--features", NAMED, "--model", name, "-o", "m.lk")
    said = capsys.readouterr().out
    trained = lk.load("m.lk")
    fitted = type(trained)().fit(table()[FEATURES], table()["species"])
    np.testing.assert_allclose(
        trained.predict_log_proba(table()[FEATURES]), fitted.predict_log_proba(table()[FEATURES]), rtol=1e-8
    )
    assert said.startswith(f"{type(trained).__name__} from 150 rows, 4 columns, 3 classes in ")
    assert said.count("\n") == 1
    assert "m.lk (" in said


def test_train_reads_settings_as_json_as_python_and_as_words(folder):
    common = ("train", "iris.csv", "--target", "species", "--features", NAMED, "-o", "m.lk")
    run(*common, "--model", "lda", "--set", "solver=lsqr", "--set", "shrinkage=0.1")
    assert lk.load("m.lk").get_params()["shrinkage"] == 0.1
    run(*common, "--model", "qda", "--set", "priors=(0.2, 0.3, 0.5)", "--set", "store_covariance=true")
    params = lk.load("m.lk").get_params()
    assert (params["priors"], params["store_covariance"]) == ((0.2, 0.3, 0.5), True)
    run(*common, "--model", "lda", "--set", "priors=None", "--set", 'solver="svd"')
    assert lk.load("m.lk").get_params()["priors"] is None


def test_train_fits_the_model_of_a_row_of_the_comparison(folder):
    common = ("train", "iris.csv", "--target", "species", "--features", NAMED, "-o", "m.lk")
    run(*common, "--model", "NaiveBayes, weighted")
    assert lk.load("m.lk").weighting == "discriminative"
    run(*common, "--model", "qda, shrunk")
    shrunk = lk.load("m.lk")
    assert shrunk.get_params() != lk.QuadraticDiscriminantAnalysis().get_params()


def test_train_takes_logistic_regression_of_either_kind(folder, capsys):
    frame = load_iris(as_frame=True).frame.query("target > 0")
    frame.to_csv("two.csv", index=False)
    common = ("train", "two.csv", "--target", "target", "-o", "m.lk")
    run(*common, "--model", "logistic-regression", "--set", "C=inf")
    assert lk.load("m.lk").C == np.inf
    run(*common, "--model", "logistic-regression-cv", "--set", "Cs=3")
    run("predict", "m.lk", "two.csv", "-o", "out.csv")
    assert "error" in capsys.readouterr().err
    np.testing.assert_allclose(pd.read_csv("out.csv")[["p_1", "p_2"]].sum(axis=1), 1)


def test_train_fits_lines_with_weights(folder, capsys):
    frame = table().fillna(3.0)
    frame["times"] = np.arange(150) % 3
    frame.to_csv("lines.csv", index=False)
    given = ("--target", FEATURES[0], "--features", f"{FEATURES[2]},{FEATURES[3]}", "--weight", "times")
    run("train", "lines.csv", *given, "--model", "linear-regression", "-o", "m.lk")
    assert "from rows of weight 150, 2 columns in" in capsys.readouterr().out
    fitted = lk.LinearRegression().fit(frame[FEATURES[2:]], frame[FEATURES[0]], frame["times"])
    np.testing.assert_allclose(lk.load("m.lk").coef_, fitted.coef_, rtol=1e-9)


def test_train_goes_on_with_categories_that_the_first_rows_lacked(folder):
    cities = pd.DataFrame({"city": ["Rome", "Oslo", "Bonn", "Lima"] * 25, "y": [0, 1, 1, 0] * 25})
    cities[:60].query("city != 'Lima'").to_csv("first.csv", index=False)
    cities[60:].query("city != 'Bonn'").to_csv("rest.csv", index=False)
    run("train", "first.csv", "--target", "y", "--model", "naive-bayes", "-o", "m.lk")
    run("train", "rest.csv", "--target", "y", "--resume", "m.lk", "-o", "more.lk")
    counted = lk.load("more.lk").class_count_.sum()
    assert counted == len(pd.read_csv("first.csv")) + len(pd.read_csv("rest.csv"))


def test_train_goes_on_from_a_saved_model(folder, capsys):
    frame = table()
    frame[::2].to_csv("even.csv", index=False)
    frame[1::2].to_csv("odd.csv", index=False)
    common = ("--target", "species", "-o", "m.lk")
    run("train", "even.csv", *common, "--features", NAMED, "--model", "qda", "--set", "reg_param=0.1")
    run("train", "odd.csv", *common, "--resume", "m.lk")
    assert "from 150 rows in all, 4 columns, 3 classes in " in capsys.readouterr().out
    fitted = lk.QuadraticDiscriminantAnalysis(reg_param=0.1).fit(frame[FEATURES], frame["species"])
    ours, theirs = (m.predict_log_proba(frame[FEATURES]) for m in (lk.load("m.lk"), fitted))
    np.testing.assert_allclose(ours, theirs, rtol=1e-8)
    assert "cannot be changed with --resume" in bad(
        capsys, "train", "odd.csv", *common, "--resume", "m.lk", "--set", "reg_param=0"
    )
    assert "leave --model out" in bad(
        capsys, "train", "odd.csv", *common, "--resume", "m.lk", "--model", "lda"
    )
    lean = ("train", "odd.csv", *common, "--features", NAMED, "--model", "qda", "--no-statistics")
    run(*lean)
    assert not describe("m.lk").statistics
    capsys.readouterr()
    assert "needs the statistics" in bad(capsys, "train", "odd.csv", *common, "--resume", "m.lk")


def test_train_says_what_is_wrong_and_leaves_nothing(folder, capsys):
    common = ("train", "iris.csv", "--target", "species", "-o", "m.lk")
    lda = (*common, "--features", NAMED, "--model", "lda")
    assert "got 'ldaa'. Did you mean lda?" in bad(capsys, *common, "--model", "ldaa")
    assert "Invalid parameter 'shrink'" in bad(capsys, *lda, "--set", "shrink=1")
    assert "NAME=VALUE value: 'shrinkage'" in bad(capsys, *lda, "--set", "shrinkage")
    assert "shrinkage" in bad(capsys, *lda, "--set", "solver=lsqr", "--set", "shrinkage=much")
    assert "predicts numbers; for classes take" in bad(
        capsys, *common, "--features", NAMED, "--model", "ridge"
    )
    real = ("train", "iris.csv", "--target", FEATURES[0], "--features", FEATURES[2], "-o", "m.lk")
    assert "use a regression" in bad(capsys, *real, "--model", "qda")
    assert "must be in a file" in bad(capsys, "train", "-", *lda[2:])
    assert "name a file" in bad(capsys, *lda, "-o", ".")
    assert "no folder" in bad(capsys, *lda, "-o", "no/m.lk")
    assert "is not a model that can be loaded" in bad(capsys, *common, "--resume", "iris.csv")
    assert "required: DATA" in bad(capsys, "train")
    assert not list(folder.glob("*.lk"))
    assert not list(folder.glob(".*"))


def test_train_notes_what_the_rows_leave_open(folder, capsys):
    Path("flat.csv").write_text("a,b,y\n" + "1,1,u\n2,1,v\n3,1,u\n2.5,1,v\n")
    run("train", "flat.csv", "--target", "y", "--model", "gaussian-nb", "-o", "m.lk")
    said = capsys.readouterr().err
    assert said.startswith("likelier: note: GaussianNB: ")
    assert said.count("\n") == 1


# ---- predict -------------------------------------------------------------------------------------
@pytest.mark.parametrize("file", ["iris.csv", "iris.csv.gz", "iris.tsv", "iris.parquet"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_predict_answers_as_python_does(file, ending, model, capsys):
    run("predict", "iris.lk", file, "-o", f"out.{ending}")
    found = pd.read_csv("out.csv") if ending == "csv" else pd.read_parquet("out.parquet")
    X = table()[FEATURES]
    assert list(found.columns) == ["label", *(f"p_{name}" for name in SPECIES)]
    assert found["label"].tolist() == model.predict(X).tolist()
    P = found.iloc[:, 1:].to_numpy()
    np.testing.assert_allclose(P, model.predict_proba(X), rtol=1e-12)
    out, err = capsys.readouterr()
    error = 100 * np.mean(model.predict(X) != table()["species"])
    codes = np.searchsorted(SPECIES, table()["species"])
    loss = -model.predict_log_proba(X)[np.arange(150), codes].mean()
    judged = lk.evaluate(model, X, table()["species"])
    auc, off = judged.auc, judged.calibration_error
    assert out == ""
    figures = f"error {error:.2f} %, log-loss {loss:.4f}, AUC {auc:.4f}, calibration error {off:.4f}"
    assert err == f"likelier: {figures} on 150 rows\n"
    assert not list(Path().glob(".*"))


def test_predict_prints_csv_and_keeps_columns_as_they_are_written(model, capsys):
    run("predict", "iris.lk", "iris.csv", "--keep", "id,note", "--only", "labels")
    lines = capsys.readouterr().out.split("\n")
    assert lines[:3] == ["id,note,label", '"0000","say ""x""","setosa"', '"0001","a, b","setosa"']
    run("predict", "iris.lk", "iris.csv", "--keep", "id", "--only", "labels")
    assert capsys.readouterr().out.split("\n")[:2] == ["id,label", "0000,setosa"]
    run("predict", "iris.lk", "iris.csv", "--keep", f"{FEATURES[0]},species", "--only", "probabilities")
    lines = capsys.readouterr().out.split("\n")
    assert lines[0] == f"{FEATURES[0]},species,p_setosa,p_versicolor,p_virginica"
    assert lines[1].startswith("5.1,setosa,")
    assert len(lines) == 152


def test_predict_keeps_types_in_parquet(model):
    run("predict", "iris.lk", "iris.parquet", "--keep", "id,note", "-o", "out.parquet")
    schema = pq.read_schema("out.parquet")
    assert [str(kind) for kind in schema.types] == ["string"] * 3 + ["double"] * 3
    assert pq.read_table("out.parquet")["note"].to_pylist() == table()["note"].tolist()


def test_predict_reads_many_batches_in_order(model, folder):
    big = pd.concat([table()] * 400, ignore_index=True)
    big["id"] = np.arange(len(big))
    big.to_csv("big.csv", index=False)  # some 2.5 MB: blocks are of 1
    big.to_parquet("big.parquet", row_group_size=7000)
    for file in ("big.csv", "big.parquet"):
        run("predict", "iris.lk", file, "--keep", "id", "-o", "out.parquet")
        found = pd.read_parquet("out.parquet")
        assert found["id"].astype(int).tolist() == list(range(len(big)))
        assert found["label"].tolist() == model.predict(big[FEATURES]).tolist()


def test_predict_values_and_their_error(folder, capsys):
    frame = load_diabetes(as_frame=True).frame
    frame.to_csv("diabetes.csv", index=False)
    run(
        "train",
        "diabetes.csv",
        "--target",
        "target",
        "--model",
        "ridge",
        "--set",
        "alpha=0.1",
        "-o",
        "m.lk",
    )
    frame.loc[:9, "target"] = np.nan
    frame.to_csv("diabetes.csv", index=False)
    capsys.readouterr()
    run("predict", "m.lk", "diabetes.csv", "-o", "out.csv")
    fitted = lk.load("m.lk").predict(frame.drop(columns="target"))
    np.testing.assert_allclose(pd.read_csv("out.csv")["value"], fitted, rtol=1e-12)
    rmse = np.sqrt(np.mean((fitted - frame["target"])[10:] ** 2))
    off = lk.evaluate(lk.load("m.lk"), frame.drop(columns="target")[10:], frame["target"][10:])
    figures = f"RMSE {rmse:.6g}, MAE {off.mae:.6g}, R² {off.r2:.6g}"
    assert capsys.readouterr().err == f"likelier: {figures} on 432 rows\n"
    assert "is a regression, which predicts values only" in bad(
        capsys, "predict", "m.lk", "diabetes.csv", "--only", "labels"
    )


def test_predict_counts_labels_that_it_does_not_know(model, capsys):
    frame = table()
    frame["species"] = frame["species"].astype(object)
    frame.loc[:2, "species"] = "tulip"
    frame.loc[3:4, "species"] = None
    frame.to_csv("new.csv", index=False)
    run("predict", "iris.lk", "new.csv", "-o", "out.csv")
    said = capsys.readouterr().err
    wrong = (model.predict(frame[FEATURES])[5:] != frame["species"][5:]).sum() + 3
    assert f"error {100 * wrong / 148:.2f} %" in said
    assert "on 148 rows (3 labels that the model does not know" in said
    frame["species"] = range(150)
    frame.to_parquet("numbers.parquet")
    run("predict", "iris.lk", "numbers.parquet", "-o", "out.csv")
    assert "'species' has labels that the model does not know" in capsys.readouterr().err
    frame.rename(columns={"species": "kind"}).to_csv("other.csv", index=False)
    run("predict", "iris.lk", "other.csv", "-o", "out.csv")
    assert capsys.readouterr().err == ""


def test_predict_from_a_model_without_names(folder, capsys):
    frame = table().dropna()
    lk.save(lk.GaussianNB().fit(frame[FEATURES].to_numpy(), frame["species"]), "plain.lk")
    frame[["id", *FEATURES]].to_csv("plain.csv", index=False)
    run("predict", "plain.lk", "plain.csv", "--keep", "id", "-o", "out.csv")
    assert len(pd.read_csv("out.csv")) == len(frame)
    assert "DATA has 5 columns, but GaussianNB is expecting 4" in bad(
        capsys, "predict", "plain.lk", "plain.csv"
    )


@pytest.mark.parametrize("labels", [[1, 5, 9], [True, False], ["2020-01-01", "2021-06-05"]])
def test_predict_has_labels_of_every_kind(labels, folder, capsys):
    y = np.array(labels)[np.arange(60) % len(labels)]
    X = np.random.default_rng(0).normal(size=60) + np.arange(60) % len(labels)
    pd.DataFrame({"x": X, "y": y}).to_csv("kinds.csv", index=False)
    run("train", "kinds.csv", "--target", "y", "--model", "gaussian-nb", "-o", "m.lk")
    run("predict", "m.lk", "kinds.csv", "-o", "out.csv")
    source = lk.scan("kinds.csv", target="y")
    assert f"error {100 - 100 * lk.load('m.lk').score(source):.2f} %" in capsys.readouterr().err
    assert set(pd.read_csv("out.csv")["label"].astype(str).str.lower()) <= {str(v).lower() for v in labels}


def test_predict_says_what_is_wrong_and_leaves_nothing(model, capsys):
    ask = ("predict", "iris.lk")
    table()[["id", "species"]].to_csv("less.csv", index=False)
    assert f"no column named '{FEATURES[0]}'" in bad(capsys, *ask, "less.csv", "-o", "out.csv")
    assert "no column named 'idd'" in bad(capsys, *ask, "iris.csv", "--keep", "idd", "-o", "out.csv")
    assert "must end in .csv or .parquet" in bad(capsys, *ask, "iris.csv", "-o", "out.txt")
    assert "no folder" in bad(capsys, *ask, "iris.csv", "-o", "no/out.csv")
    table().rename(columns={"id": "label"}).to_csv("label.csv", index=False)
    assert "a column of this name" in bad(capsys, *ask, "label.csv", "--keep", "label", "-o", "out.csv")
    frame = pd.concat([table()] * 400, ignore_index=True)
    frame.loc[50_000, FEATURES[0]] = np.inf
    frame.to_parquet("inf.parquet", row_group_size=7000)
    said = bad(capsys, *ask, "inf.parquet", "-o", "out.csv")
    assert "row 50000 of inf.parquet" in said
    assert FEATURES[0] in said
    words = table().astype({FEATURES[0]: str})
    words.loc[3, FEATURES[0]] = "long"
    words.to_csv("words.csv", index=False)
    assert f"line 5, column '{FEATURES[0]}': 'long' is not" in bad(
        capsys, *ask, "words.csv", "-o", "out.csv"
    )
    lines = Path("iris.csv").read_text().splitlines()
    Path("ragged.csv").write_text("\n".join([*lines, "1,2"]))
    assert "line 152" in bad(capsys, *ask, "ragged.csv", "-o", "out.csv")
    assert not list(Path().glob("out*"))
    assert not list(Path().glob(".*"))


def test_what_was_there_stays_if_predict_is_interrupted(model, monkeypatch, capsys):
    Path("out.csv").write_text("as it was")

    def interrupt(self, table):
        raise KeyboardInterrupt

    monkeypatch.setattr("likelier.cli.predict_output.CSV.write", interrupt)
    assert main(["predict", "iris.lk", "iris.csv", "-o", "out.csv"]) == 130
    assert capsys.readouterr().err == "likelier: interrupted\n"
    assert Path("out.csv").read_text() == "as it was"
    assert not list(Path().glob(".*"))


def test_predict_writes_a_folder_of_parts(model, monkeypatch, capsys):
    monkeypatch.setattr("likelier.data.files.scan.PART_BYTES", 1 << 19)
    big = pd.concat([table()] * 400, ignore_index=True)
    big["id"] = np.arange(len(big))
    big.to_parquet("big.parquet", row_group_size=20_000)
    run("predict", "iris.lk", "big.parquet", "--keep", "id", "-o", "out.parquet")
    one = capsys.readouterr().err
    run("predict", "iris.lk", "big.parquet", "--keep", "id", "-o", "answers/")
    assert capsys.readouterr().err == one  # added up by parts, in their order
    parts = sorted(path.name for path in Path("answers").iterdir())
    assert parts == [f"part-0000{i}.parquet" for i in range(3)]
    assert pd.read_parquet("answers").equals(pd.read_parquet("out.parquet"))
    said = bad(capsys, "predict", "iris.lk", "iris.csv", "-o", "answers")
    assert "answers is not empty (it has part-00000.parquet)" in said
    assert "--overwrite" in said
    run("predict", "iris.lk", "iris.csv", "-o", "answers", "--overwrite")
    assert len(pd.read_parquet("answers")) == 150
    capsys.readouterr()
    Path("answers/mine.txt").write_text("precious")
    said = bad(capsys, "predict", "iris.lk", "iris.csv", "-o", "answers/", "--overwrite")
    assert "mine.txt, which is not part of earlier predictions" in said
    assert len(list(Path("answers").iterdir())) == 2
    Path("empty").mkdir()
    run("predict", "iris.lk", "iris.csv", "-o", "empty")
    assert len(pd.read_parquet("empty")) == 150
    capsys.readouterr()
    assert "is a file, and not a folder" in bad(capsys, "predict", "iris.lk", "iris.csv", "-o", "iris.csv/")
    assert "there is no folder" in bad(capsys, "predict", "iris.lk", "iris.csv", "-o", "no/where/")
    assert not list(Path().glob(".*"))


def test_notes_of_many_parts_are_cut_short(folder, monkeypatch, capsys):
    monkeypatch.setattr("likelier.data.files.scan.PART_BYTES", 1 << 9)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"n": rng.poisson(3, 400).astype(float), "y": np.arange(400) % 2})
    rows.to_parquet("rows.parquet")
    run("train", "rows.parquet", "--target", "y", "--model", "poisson-nb", "-o", "m.lk")
    rows.loc[rng.random(400) < np.arange(400) / 400, "n"] = -1.0  # of each part, another number
    rows.to_parquet("odd.parquet", row_group_size=20)
    capsys.readouterr()
    run("predict", "m.lk", "odd.parquet", "-o", "out.csv")
    notes = [line for line in capsys.readouterr().err.splitlines() if "note:" in line]
    assert all("count as missing" in line for line in notes[:10])
    assert len(notes) == 11
    assert notes[10].endswith("more notes")


def test_predict_says_figures_as_json(model, capsys):
    run("predict", "iris.lk", "iris.csv", "-o", "out.csv", "--json")
    out, err = capsys.readouterr()
    found = json.loads(out)
    same = lk.evaluate(model, lk.scan("iris.csv", "species", FEATURES))
    assert err == ""
    assert found["rows"] == 150
    assert found["classes"] == SPECIES.tolist()
    assert found["confusion"] == same.confusion.tolist()
    for name, value in same.figures.items():
        assert found[name] == pytest.approx(value, rel=1e-12)
    assert "write the predictions to a file" in bad(capsys, "predict", "iris.lk", "iris.csv", "--json")
    table().drop(columns="species").to_csv("bare.csv", index=False)
    run("predict", "iris.lk", "bare.csv", "-o", "out.csv", "--json")
    assert json.loads(capsys.readouterr().out) is None


def test_a_row_that_cannot_be_answered_leaves_no_folder(model, folder, capsys):
    frame = pd.concat([table()] * 400, ignore_index=True)
    frame.loc[50_000, FEATURES[0]] = np.inf
    frame.to_parquet("inf.parquet", row_group_size=7000)
    assert "row 50000 of inf.parquet" in bad(capsys, "predict", "iris.lk", "inf.parquet", "-o", "out/")
    assert not list(Path().glob("out*"))
    assert not list(Path().glob(".*"))


@contextmanager
def files_of_at_most(size):
    """No file may become longer: as on a disk that is full."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("out", ["out.csv", "out.parquet", "out/"])
def test_a_full_disk_is_said_in_a_line_and_leaves_nothing(out, model, folder, capsys):
    pd.concat([table()] * 40, ignore_index=True).to_parquet("big.parquet", row_group_size=3000)
    Path("out.csv").write_text("as it was")
    with files_of_at_most(2000):
        said = bad(capsys, "predict", "iris.lk", "big.parquet", "-o", out)
    assert said.startswith("likelier: ")
    assert said.endswith(f"{out}: cannot be written: File too large\n")
    assert ".part" not in said
    assert Path("out.csv").read_text() == "as it was"
    assert sorted(path.name for path in Path().glob("out*")) == ["out.csv"]
    assert not list(Path().glob(".*"))


@pytest.mark.parametrize(
    ("sent", "code", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
    ids=["Ctrl-C", "SIGTERM"],
)
def test_an_interrupted_prediction_leaves_nothing(sent, code, word, model, folder):
    header, *lines = Path("iris.csv").read_text().splitlines()
    Path("big.csv").write_text("\n".join([header, *lines * 2000]))
    with subprocess.Popen(
        [SCRIPT, "predict", "iris.lk", "big.csv", "-o", "out/"], stderr=subprocess.PIPE, text=True
    ) as asked:
        while not list(Path().glob(".*.part")) and asked.poll() is None:
            time.sleep(0.005)
        asked.send_signal(sent)
        said = asked.stderr.read()
    assert (asked.returncode, said) == (code, f"likelier: {word}\n")
    assert not list(Path().glob("out*"))
    assert not list(Path().glob(".*"))


def test_nothing_is_written_over_what_is_read(model, folder, capsys):
    """Under whatever name: answers and models would be all that is left of the table."""
    Path("also.csv").symlink_to("iris.csv")
    Path("parts").mkdir()
    table().to_parquet("parts/part-00000.parquet")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    refused = [
        ["predict", "iris.lk", "iris.csv", "-o", "also.csv"],
        ["predict", "iris.lk", "iris.*v", "--format", "csv", "-o", "iris.csv"],
        ["predict", "iris.lk", "parts", "-o", "parts/", "--overwrite"],
        ["train", "iris.csv", "--target", "species", "--model", "naive-bayes", "-o", "also.csv"],
        ["stream", "iris.csv", "--target", "species", "-o", "iris.csv"],
        ["stream", "iris.csv", "--target", "species", "--predictions", "also.csv"],
        ["stream", "iris.csv", "--from", "iris.lk", "--predictions", "iris.lk"],
    ]
    for arguments in refused:
        assert "would overwrite the input" in bad(capsys, *arguments), arguments
    two = ["stream", "iris.csv", "--target", "species", "--predictions", "new", "-o", "./new"]
    assert "--predictions and -o name the same file" in bad(capsys, *two)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_tables_that_others_wrote_are_no_earlier_answers(model, capsys):
    """Spark names its files so."""
    Path("out").mkdir()
    Path("out/part-00000-5c9f.snappy.parquet").write_bytes(b"of somebody's")
    said = bad(capsys, "predict", "iris.lk", "iris.csv", "-o", "out/", "--overwrite")
    assert "which is not part of earlier predictions" in said


def _newer(content: bytes) -> bytes:
    """A file of a later format, its checksums right."""
    import hashlib
    import io
    import zipfile

    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w") as new:
        header = old.read("header.json").replace(b'"version": 1', b'"version": 9')
        for name in old.namelist():
            text = {"header.json": header, "header.sha256": hashlib.sha256(header).hexdigest().encode()}
            new.writestr(name, text.get(name) or old.read(name))
    return out.getvalue()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda content: content[: len(content) // 2], "is not a model"),
        (lambda content: b"a,b\n1,2\n", "is not a model"),
        (lambda content: b"", "is not a model"),
        (
            lambda content: content.replace("setosa".encode("utf-32-le"), "sesota".encode("utf-32-le")),
            CHANGED,
        ),
        (lambda content: content.replace(b'"species"', b'"spezies"'), CHANGED),
        (_newer, "Upgrade likelier"),
    ],
    ids=["cut short", "foreign", "empty", "array changed", "header changed", "newer"],
)
def test_model_files_that_are_refused(change, said, model, capsys):
    Path("bad.lk").write_bytes(change(Path("iris.lk").read_bytes()))
    assert said in bad(capsys, "predict", "bad.lk", "iris.csv")
    assert said in bad(capsys, "inspect", "bad.lk")
    assert "no.lk: No such file" in bad(capsys, "inspect", "no.lk")
    assert "is a folder" in bad(capsys, "inspect", ".")


# ---- inspect -------------------------------------------------------------------------------------
def test_inspect_says_what_is_in_a_file(model, capsys):
    run("inspect", "iris.lk")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "LinearDiscriminantAnalysis()"
    assert lines[1:5] == [
        "target    species",
        "rows      150, 14 missing cells",
        f"columns   4: {', '.join(FEATURES)}",
        "statistics kept: it can continue training",
    ]
    assert lines[6:10] == [
        "class       rows   prior",
        "setosa        50  0.3333",
        "versicolor    50  0.3333",
        "virginica     50  0.3333",
    ]
    shown = dict(zip(["setosa", "versicolor", "virginica"], model.coef_[:, 0], strict=True))
    assert lines[11].split() == ["weights", *shown]
    assert lines[12].split()[3:] == [f"{w:.5g}" for w in shown.values()]
    assert lines[16].startswith("(intercept)")
    assert "written by likelier" in lines[-1]


def test_inspect_as_json(model, capsys):
    run("inspect", "iris.lk", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["estimator"] == "LinearDiscriminantAnalysis"
    assert found["params"]["tol"] == 1e-4
    assert (found["classes"], found["counts"]) == (SPECIES.tolist(), [50, 50, 50])
    assert (found["weight"], found["missing"], found["statistics"]) == (150, 14, True)
    assert found["about"] == {"target": "species", "weight": None}
    assert found["size"] == Path("iris.lk").stat().st_size
    assert found["arrays"]["model/params/mean"] == {"dtype": "<f8", "shape": [3, 4]}
    assert found["learned"]["title"] == "weights"
    np.testing.assert_allclose(found["learned"]["values"][:4], model.coef_.T)


@pytest.mark.parametrize(
    "make",
    [
        lk.GaussianNB,
        lk.QuadraticDiscriminantAnalysis,
        lambda: lk.QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
        lk.BernoulliNB,
        lambda: lk.NaiveBayes(families=dict(zip(range(4), FAMILIES, strict=True))),
        lambda: lk.NaiveBayes(families="histogram"),
        lambda: lk.NaiveBayes(families="kernel"),
    ],
)
def test_missing_cells_are_counted_whatever_the_statistics(make, folder):
    X = np.array(table()[FEATURES])
    X[3] = np.nan
    lk.save(make().fit(X, table()["species"]), "m.lk")
    assert describe("m.lk").missing == np.isnan(X).sum()


def test_inspect_every_kind(folder, capsys):
    X, y = load_iris(return_X_y=True)
    lk.save(lk.LinearDiscriminantAnalysis().fit(X, y).to_linear(), "weights.lk")
    run("inspect", "weights.lk")
    assert "classes   0, 1, 2" in capsys.readouterr().out
    lk.save(lk.Ridge(alpha=[0.5, 2.0]).fit(X[:, :2], X[:, 2:]), "lines.lk", statistics=False)
    run("inspect", "lines.lk")
    said = capsys.readouterr().out
    assert "statistics none: it predicts, and cannot continue training" in said
    assert "columns   2: without names" in said
    run("inspect", "lines.lk", "--json")
    assert json.loads(capsys.readouterr().out)["params"]["alpha"] == [0.5, 2.0]
    pd.DataFrame(X, columns=list("abcd")).to_csv("x.csv", index=False)
    run("predict", "weights.lk", "x.csv", "-o", "out.csv")
    assert list(pd.read_csv("out.csv").columns) == ["label", "p_0", "p_1", "p_2"]
    pd.DataFrame(X[:, :2], columns=list("ab")).to_csv("x.csv", index=False)
    run("predict", "lines.lk", "x.csv", "-o", "out.csv")
    np.testing.assert_allclose(pd.read_csv("out.csv"), lk.load("lines.lk").predict(X[:, :2]), rtol=1e-12)


# ---- as a program --------------------------------------------------------------------------------
def program(*arguments, **how):
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, check=False, **how)


def test_help_is_there_for_every_command_and_at_once():
    program("--help")
    start = time.perf_counter()
    shown = program("--help")
    assert time.perf_counter() - start < 1.0  # some 0.05 s on an idle machine
    assert shown.returncode == 0
    for command in ("compare", "train", "predict", "inspect", "merge"):
        assert command in shown.stdout
        told = program(command, "--help")
        assert told.returncode == 0
        assert f"likelier {command} " in told.stdout.partition("\nexample")[2]


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom likelier.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = ('numpy', 'scipy', 'sklearn', 'pyarrow', 'tqdm', 'pandas')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert said.splitlines()[-1] == "[]"


def test_the_program_ends_with_the_code_of_what_happened(folder):
    done = program(
        "train", "iris.csv", "--target", "species", "--features", NAMED, "--model", "lda", "-o", "m.lk"
    )
    assert (done.returncode, done.stderr) == (0, "")
    wrong = program("predict", "iris.csv", "iris.csv")
    assert wrong.returncode == 2
    assert wrong.stdout == ""
    assert "Traceback" not in wrong.stderr


def test_a_reader_that_leaves_ends_predict_quietly(model):
    pd.concat([table()] * 400, ignore_index=True).to_csv("big.csv", index=False)
    with subprocess.Popen(
        [SCRIPT, "predict", "iris.lk", "big.csv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as asked:
        assert asked.stdout.readline().startswith("label,")
        asked.stdout.close()
        assert asked.stderr.read() == ""
    assert asked.returncode == 141


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that no file can be made in")
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_what_is_printed_may_find_no_room(model):
    with Path("/dev/full").open("wb") as full:
        asked = subprocess.run(
            [SCRIPT, "inspect", "iris.lk"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert asked.returncode == 2
    assert asked.stderr == "likelier: No space left on device\n"


def test_a_place_that_cannot_be_written_to_is_named(model, capsys):
    for out in ("/proc/out.csv", "/proc/out/"):
        said = bad(capsys, "predict", "iris.lk", "iris.csv", "-o", out)
        assert out in said
        assert ".part" not in said


# ---- merge ---------------------------------------------------------------------------------------
def train(name, rows, *more, target="species"):
    """A model of some rows."""
    rows.to_csv(f"{name}.csv", index=False)
    features = () if "--features" in more else ("--features", NAMED)
    run("train", f"{name}.csv", "--target", target, *features, *more, "-o", f"{name}.lk")


@pytest.mark.parametrize("kind", ["lda", "gaussian-nb", "qda"])
def test_models_trained_apart_merge_to_that_of_all_rows(kind, folder, capsys):
    rows = table()
    for name, at in (("a", slice(0, None, 3)), ("b", slice(1, None, 3)), ("c", slice(2, None, 3))):
        train(name, rows[at], "--model", kind, "--with-statistics")
    train("all", rows, "--model", kind)
    capsys.readouterr()
    run("merge", "c.lk", "a.lk", "b.lk", "-o", "merged.lk")
    out, err = capsys.readouterr()
    assert "from 3 models: 150 rows in all, 4 columns, 3 classes: merged.lk" in out
    assert err == ""
    X = rows[FEATURES]
    np.testing.assert_allclose(
        lk.load("merged.lk").predict_proba(X), lk.load("all.lk").predict_proba(X), rtol=1e-9, atol=1e-12
    )
    assert describe("merged.lk").about == {"target": "species", "weight": None}
    run("train", "a.csv", "--target", "species", "--resume", "merged.lk", "-o", "more.lk")
    assert describe("more.lk").weight == 200
    run("predict", "merged.lk", "iris.csv", "-o", "out.csv")
    assert "on 150 rows" in capsys.readouterr().err
    run("merge", "a.lk", "-o", "one.lk")
    assert "from 1 model: 50 rows in all" in capsys.readouterr().out


def test_merge_says_which_file_is_unlike_and_writes_nothing(folder, capsys):
    rows = table()
    train("a", rows[:75], "--model", "lda")
    train("b", rows[75:], "--model", "lda")
    train("nb", rows, "--model", "gaussian-nb")
    train("shrunk", rows, "--model", "lda", "--set", "solver=lsqr")
    train("less", rows, "--model", "lda", "--features", ",".join(FEATURES[:3]))
    train("turned", rows, "--model", "lda", "--features", ",".join(FEATURES[::-1]))
    train("lean", rows, "--model", "lda", "--no-statistics")
    train("logistic", rows.dropna(), "--model", "logistic-regression")
    train("other", rows.rename(columns={"species": "kind"}), "--model", "lda", target="kind")
    capsys.readouterr()

    def refused(*paths):
        return bad(capsys, "merge", *paths, "-o", "out.lk")

    assert "a.lk is a LinearDiscriminantAnalysis, nb.lk a GaussianNB" in refused("a.lk", "nb.lk")
    assert "solver is 'svd' in a.lk and 'lsqr' in shrunk.lk" in refused("a.lk", "b.lk", "shrunk.lk")
    assert f"columns differ: less.lk lacks '{FEATURES[3]}'" in refused("a.lk", "less.lk")
    assert "turned.lk has those of a.lk in another order (column 0 is" in refused("a.lk", "turned.lk")
    assert "lean.lk: merge needs the statistics" in refused("a.lk", "lean.lk")
    assert "logistic.lk: a LogisticRegression cannot be merged" in refused("a.lk", "logistic.lk")
    assert "other.lk predicts 'kind', and a.lk 'species'" in refused("a.lk", "other.lk")
    assert "a.lk is named twice" in refused("a.lk", "b.lk", "./a.lk")
    said = refused("a.lk", "b.lk")
    assert "classes differ: a.lk has" in said
    assert "--classes union to join them" in said
    assert "no folder" in bad(capsys, "merge", "a.lk", "-o", "no/out.lk")
    assert "gone.lk" in refused("a.lk", "gone.lk")
    assert not list(Path().glob("out*"))
    run("merge", "a.lk", "b.lk", "--classes", "union", "-o", "out.lk")
    assert describe("out.lk").counts == [50, 50, 50]


def test_merge_tells_of_weights_by_other_columns(folder, capsys):
    rows = table().assign(w=2.0, v=1.0)
    for name, more in (("a", ("--weight", "w")), ("b", ("--weight", "v"))):
        train(name, rows, "--model", "lda", *more)
    capsys.readouterr()
    run("merge", "a.lk", "b.lk", "-o", "out.lk")
    out, err = capsys.readouterr()
    assert "450 rows in all" in out
    assert "weighed by other columns (a.lk: w, b.lk: v)" in err
    assert describe("out.lk").about == {"target": "species"}
    lk.save(lk.load("a.lk"), "bare.lk")  # of which nothing is said
    run("merge", "bare.lk", "a.lk", "-o", "out.lk")
    assert "rows of weight 600 in all" in capsys.readouterr().out
    assert describe("out.lk").about == {"target": "species", "weight": "w"}


# ---- progress ------------------------------------------------------------------------------------
class Terminal(io.StringIO):
    """Standard error, as a person would see it."""

    def isatty(self):
        return True


@contextmanager
def at_a_terminal(patience=0.0):
    """What is on the screen; bars are shown at once, and every time."""
    screen = Terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_COLOR", "1")  # tests of colour: test_command_style.py
        patch.setattr(sys, "stderr", screen)
        patch.setattr(progress, "PATIENCE", patience)
        patch.setattr(progress, "tqdm", partial(progress.tqdm, mininterval=0, miniters=1, ncols=150))
        yield screen


def lines(terminal):
    """All that was ever on the line of the bar."""
    return [" ".join(line.split()) for line in terminal.getvalue().split("\r") if line.strip()]


WHOLE = ",".join(FEATURES[2:])  # columns without gaps
TRAIN = ["train", "--target", "species", "--features", WHOLE, "-o", "m.lk", "--model"]


def test_a_bar_shows_passes_rows_and_the_time_left(folder):
    with at_a_terminal() as terminal:
        run(*TRAIN, "logistic-regression", "iris.parquet")
    shown = lines(terminal)
    assert any(
        re.match(r"finding the classes: 100%.* \d+\.?\d*/\d+\.?\d* .*parts/s", line) for line in shown
    )
    ends = [line for line in shown if re.search(r"150/150 \[\d\d:\d\d<\d\d:\d\d, .*rows/s", line)]
    assert {line.partition(":")[0] for line in ends} >= {
        "learning, pass 1",
        "learning, pass 2",
        "learning, pass 3",
    }
    assert any(re.search(r"objective [\d.]+\]$", line) for line in shown)
    under_way = [line for line in shown if line.startswith("learning, pass 1:") and "150/150" not in line]
    assert under_way
    assert not any("objective" in line for line in under_way)  # known when the first pass ends
    assert terminal.getvalue().split("\r")[-1].strip() == ""  # the line is clean at the end


def test_the_rows_of_text_are_known_from_the_second_pass_on(folder):
    with at_a_terminal() as terminal:
        run(*TRAIN, "logistic-regression", "iris.csv")
    shown = lines(terminal)
    assert any(re.match(r"learning, pass 1: 0\.00 rows ", line) for line in shown)
    assert any(re.match(r"learning, pass 2: .* 0\.00/150 ", line) for line in shown)


@pytest.mark.parametrize(("model", "number"), [("sgd", 2), ("online-classifier", 1)])
def test_steps_in_order_have_a_bar_as_well(model, number, folder):
    """After the survey and, for SGD, a count of the classes, an epoch is a pass."""
    with at_a_terminal() as terminal:
        run(*TRAIN, model, "iris.parquet")
    assert any(re.match(rf"learning, pass {number}: 100%.* 150/150 ", line) for line in lines(terminal))


def test_the_bar_of_a_mixture_shows_the_log_likelihood(folder):
    with at_a_terminal() as terminal:
        run(*TRAIN, "mda", "--set", "random_state=0", "iris.parquet")
    assert re.search(r"log-likelihood -?[\d.]+\]", terminal.getvalue())


def test_what_takes_no_second_shows_no_bar(folder):
    with at_a_terminal(patience=60.0) as terminal:
        run(*TRAIN, "lda", "iris.parquet")
    assert terminal.getvalue() == ""


def test_a_bar_is_gone_when_something_fails(folder, monkeypatch):
    monkeypatch.setattr("likelier.saving.models.save", _full)
    with at_a_terminal() as terminal:
        assert main([*TRAIN, "lda", "iris.parquet"]) == 2
    screen = terminal.getvalue()
    assert screen.split("\r")[-1] == "likelier: m.lk: no space left\n"


def _full(*args, **how):
    raise OSError(28, "no space left", "m.lk")


def test_totals_are_guessed_from_parts_where_nothing_else_is_known():
    with at_a_terminal():
        bar = progress.PassBar()
        bar.begin(Pass(Order, None, 4))
        bar.done(parts=0, rows=10)
        assert bar._bar.total is None
        bar.done(parts=1, rows=0)
        assert bar._bar.total == 40
        bar.done(parts=2, rows=80)
        assert bar._bar.total == 120
        bar.done(parts=0, rows=50)
        assert (bar._bar.total, bar._bar.n) == (186, 140)
        bar.done(parts=1, rows=0)
        bar.end()
        bar.begin(Pass(Order, None, 4))
        assert (bar._bar.total, bar._bar.n) == (140, 0)
        bar.close()


class Order:
    """Some state."""


# ---- checkpoints and signals ---------------------------------------------------------------------
SLOW = """
import os, sys, time
import likelier.engines.checkpoint as journal
from likelier.data.files.columns import Roles
journal.EVERY = journal.PAUSE = 0.0
os.environ["LIKELIER_THREADS"] = "1"
chunks, read = Roles.chunks, 0

def slowly(self, *given):
    global read
    for chunk in chunks(self, *given):
        read += 1
        if read == int(sys.argv[1]):
            print("there", flush=True)
            time.sleep(60)
        yield chunk

Roles.chunks = slowly
import likelier.data.files.scan as files
files.PART_BYTES = 1 << 8
from likelier.cli import main
sys.exit(main(sys.argv[2:]))
"""


@contextmanager
def training(stop_at, *arguments):
    """A process that trains, held up at a chunk."""
    command = [sys.executable, "-c", SLOW, str(stop_at), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("model", ["qda", "logistic-regression"])
def test_a_process_that_is_killed_is_gone_on_from_to_the_same_bytes(model, folder):
    """The one test of it all: another process, killed without notice in the midst of a pass."""
    frame = table()
    frame.drop(columns=["note", "id"]).fillna(1.0).to_parquet("many.parquet", row_group_size=5)
    train = ["train", "many.parquet", "--target", "species", "--model", model, "--checkpoint", "fit.ck"]
    with training(45, *train, "-o", "killed.lk") as process:
        assert process.stdout.readline() == "there\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert Path("fit.ck").exists()
    assert not Path("killed.lk").exists()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("likelier.data.files.scan.PART_BYTES", 1 << 8)
        run(*train, "-o", "killed.lk")
        run(*train[:-2], "-o", "whole.lk")
    assert Path("killed.lk").read_bytes() == Path("whole.lk").read_bytes()
    assert not Path("fit.ck").exists()
    assert not list(folder.glob(".*"))


@pytest.mark.parametrize(
    ("sent", "code", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
    ids=["Ctrl-C", "SIGTERM"],
)
def test_training_that_is_interrupted_leaves_no_model_and_says_where_it_goes_on(sent, code, word, folder):
    train = ["train", "iris.parquet", "--target", "species", "--features", NAMED, "--model", "lda"]
    with training(6, *train, "-o", "m.lk", "--checkpoint", "fit.ck") as process:
        assert process.stdout.readline() == "there\n"
        process.send_signal(sent)
        _, err = process.communicate()
    assert process.returncode == code
    assert err.splitlines() == [
        "likelier: fit.ck has what was done: the same command continues from there",
        f"likelier: {word}",
    ]
    assert sorted(path.name for path in folder.glob("*") if "iris" not in path.name) == ["fit.ck"]
    assert not list(folder.glob(".*"))


def test_checkpoints_that_make_no_sense_are_refused(model, capsys):
    one = ["iris.csv", "--target", "species", "--features", NAMED, "-o", "m.lk", "--checkpoint", "fit.ck"]
    said = bad(capsys, "train", *one, "--model", "sgd")
    assert "--checkpoint is for models that are fitted by passes over rows, and SGDClassifier" in said
    assert "leave one of them out" in bad(capsys, "train", *one, "--resume", "iris.lk")
    assert "name another file than -o" in bad(capsys, "train", *one[:-1], "./m.lk", "--model", "lda")
    Path("fit.ck").write_text("something of mine")
    assert "fit.ck is not a checkpoint that can be read" in bad(capsys, "train", *one, "--model", "lda")
    assert Path("fit.ck").read_text() == "something of mine"


# ---- data as it comes ----------------------------------------------------------------------------
def test_on_titanic_as_a_person_would(folder, data_file, capsys):
    path = str(data_file("titanic.csv"))
    run("train", path, "--target", "survived", "--model", "lda", "-o", "t.lk")
    assert "held out, 90 rows of 891: LDA: error % " in capsys.readouterr().err
    run("predict", "t.lk", path, "--keep", "name", "-o", "out.csv")
    assert pd.read_csv("out.csv")["name"].tolist() == pd.read_csv(path)["name"].tolist()
    assert "log-loss 0.4" in capsys.readouterr().err
    run("train", path, "--target", "survived", "--model", "naive-bayes", "-o", "all.lk")
    assert "NaiveBayes from 891 rows, 10 columns, 2 classes" in capsys.readouterr().out
    run("predict", "all.lk", path, "-o", "out.csv")
    assert "log-loss 0.2" in capsys.readouterr().err
    run("inspect", "all.lk")
    assert "sex (categorical(2 levels)), age (" in capsys.readouterr().out


def test_several_packed_files_are_one_table(folder, capsys):
    text = Path("iris.csv").read_text().splitlines()
    for i in range(3):
        with gzip.open(f"part-{i}.csv.gz", "wt") as file:
            file.write("\n".join([text[0], *text[1 + 50 * i : 51 + 50 * i]]))
    common = ("--target", "species", "--features", NAMED, "--model", "gaussian-nb", "-o", "m.lk")
    run("train", "part-0.csv.gz", "part-1.csv.gz", "part-2.csv.gz", *common)
    assert "150 rows" in capsys.readouterr().out
    run("train", "part-*.csv.gz", *common)
    assert "150 rows" in capsys.readouterr().out
    os.rename("part-0.csv.gz", "nameless")  # noqa: PTH104
    assert "the format cannot be inferred" in bad(capsys, "train", "nameless", *common)


def test_arrow_types_survive(folder):
    rows = pa.table(
        {"x": [1.0, 2.0, 3.0, 4.0], "when": pa.array([1, 2, 3, 4], pa.date32()), "y": list("abab")}
    )
    pq.write_table(rows, "dates.parquet")
    run(
        "train", "dates.parquet", "--target", "y", "--features", "x", "--model", "gaussian-nb", "-o", "m.lk"
    )
    run("predict", "m.lk", "dates.parquet", "--keep", "when", "-o", "out.parquet")
    assert pq.read_table("out.parquet")["when"].type == pa.date32()
