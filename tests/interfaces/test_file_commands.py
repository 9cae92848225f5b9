"""The commands on files of every format, and on files elsewhere."""

import json
import re
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from sklearn.datasets import dump_svmlight_file, load_iris

import likelier as lk
from likelier.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder: iris as JSON lines, svmlight and VW."""
    monkeypatch.chdir(tmp_path)
    frame = load_iris(as_frame=True).frame
    frame.columns = ["a", "b", "c", "d", "y"]
    with (tmp_path / "iris.jsonl").open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in frame.to_dict("records"))
    dump_svmlight_file(frame.iloc[:, :4], frame["y"], "iris.svm", zero_based=False)
    with (tmp_path / "iris.vw").open("w") as file:
        for row in frame.to_dict("records"):
            file.write(f"{row['y']:g} |n a:{row['a']} b:{row['b']} c:{row['c']} d:{row['d']}\n")
    return tmp_path


def run(*arguments):
    assert main(arguments) == 0


def bad(capsys, *arguments):
    """What a command says that goes wrong: one line."""
    with suppress(SystemExit):  # of arguments that cannot be read
        assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("likelier: ")
    assert said.count("\n") == 1
    return said


def test_a_model_of_sparse_rows_and_its_answers(folder, capsys):
    run("train", "iris.svm", "--model", "logistic-regression", "-o", "m.lk")
    assert "150 rows, 4 columns, 3 classes" in capsys.readouterr().out
    run("predict", "m.lk", "iris.svm", "-o", "out.csv")
    source = lk.scan("iris.svm")
    model = lk.LogisticRegression().fit(source)
    found = pd.read_csv("out.csv")
    np.testing.assert_allclose(found.iloc[:, 1:], model.predict_proba(source), atol=1e-12)
    assert (found["label"] == model.predict(source)).all()
    assert list(found.columns) == ["label", "p_0", "p_1", "p_2"]
    assert f"error {100 * (1 - model.score(source)):.2f} %" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["iris.svm", "iris.vw"])
def test_an_online_model_is_the_model_of_the_stream(folder, capsys, name):
    lines = (folder / name).read_text().splitlines(keepends=True)  # two classes, which take turns
    (folder / name).write_text("".join(a + b for a, b in zip(lines[:50], lines[50:100], strict=True)))
    run("train", name, "--model", "online-classifier", "--set", "shuffle=False", "-o", "batch.lk")
    run("stream", name, "-o", "stream.lk")
    capsys.readouterr()
    errors = []
    for model in ("batch", "stream"):
        run("predict", f"{model}.lk", name, "-o", f"{model}.parquet")
        errors.append(capsys.readouterr().err)
    a, b = pd.read_parquet("batch.parquet"), pd.read_parquet("stream.parquet")
    assert a.iloc[:, 1:].to_numpy().tobytes() == b.iloc[:, 1:].to_numpy().tobytes()
    assert errors[0] == errors[1]
    assert errors[0].startswith("likelier: error ")


def test_json_lines_are_tables(folder, capsys):
    run("train", "iris.jsonl", "--target", "y", "--model", "lda", "-o", "m.lk")
    run("predict", "m.lk", "iris.jsonl", "--keep", "a", "-o", "out.csv")
    assert list(pd.read_csv("out.csv"))[:2] == ["a", "label"]
    assert "error 2.00 %" in capsys.readouterr().err


def test_files_elsewhere_and_names_that_say_nothing(folder, capsys):
    place = MemoryFileSystem()
    place.pipe("/commands/iris.txt", (folder / "iris.svm").read_bytes())
    try:
        url = "memory://commands/*.txt"
        run("train", url, "--format", "svmlight", "--model", "multinomial-nb", "-o", "m.lk")
        assert "150 rows" in capsys.readouterr().out
    finally:
        place.rm("/commands", recursive=True)


def test_what_is_wrong_is_said(folder, capsys):
    train = ("train", "--model", "lda", "-o", "m.lk")
    assert "--target Y; columns: a, b, c, d, y" in bad(capsys, *train, "iris.jsonl")
    assert "target='y' names a column" in bad(capsys, *train, "iris.svm", "--target", "y")
    assert "likelier stream reads standard input" in bad(capsys, *train, "-", "--target", "y")
    assert "invalid choice: 'json'" in bad(capsys, *train, "iris.jsonl", "--format", "json")
    assert not (folder / "m.lk").exists()
    run(*train, "iris.svm")
    assert "--keep a: the columns of these files have no names" in bad(
        capsys, "predict", "m.lk", "iris.svm", "--keep", "a"
    )


def test_lists_are_kept_in_parquet_and_refused_by_name_in_csv(folder, capsys):
    lines = (folder / "iris.jsonl").read_text().splitlines()
    (folder / "tagged.jsonl").write_text("".join(line[:-1] + ', "tags": [1, 2]}\n' for line in lines))
    run("train", "iris.jsonl", "--target", "y", "--model", "lda", "-o", "m.lk")
    run("predict", "m.lk", "tagged.jsonl", "--keep", "tags", "-o", "out.parquet")
    assert list(pd.read_parquet("out.parquet")["tags"][0]) == [1, 2]
    capsys.readouterr()
    said = bad(capsys, "predict", "m.lk", "tagged.jsonl", "--keep", "tags", "-o", "out.csv")
    assert "--keep tags: a column of type list<item: int64> cannot be written as CSV" in said


def test_formats_have_the_same_names_in_all_commands(folder, capsys):
    (folder / "iris.jsonl").rename("iris.txt")
    run("train", "iris.txt", "--format", "jsonl", "--target", "y", "--model", "lda", "-o", "m.lk")
    run("stream", "iris.txt", "--format", "jsonl", "--target", "y", "--quiet")
    assert "150 rows, 3 classes" in capsys.readouterr().out


def test_files_are_written_here_alone(folder, capsys):
    """A URL would be taken for the folders s3: and bucket."""
    for command in (
        ["train", "iris.svm", "--model", "lda", "-o", "s3://bucket/m.lk"],
        ["train", "iris.svm", "--model", "lda", "-o", "m.lk", "--checkpoint", "s3://bucket/fit.ck"],
        ["predict", "m.lk", "iris.svm", "-o", "s3://bucket/out.csv"],
        ["stream", "iris.svm", "--predictions", "s3://bucket/out.csv"],
        ["merge", "a.lk", "b.lk", "-o", "s3://bucket/c.lk"],
    ):
        assert "is a URL; output can only be written to local files" in bad(capsys, *command)


def test_tables_without_a_header_and_with_other_delimiters(folder, capsys):
    lines = ["ham~see you\n", "spam~win now\n", "ham~ok\n", "spam~win now\n"] * 5
    (folder / "sms.csv").write_text("".join(lines))
    run("train", "sms.csv", "--no-header", "--delimiter", "~", "--target", "0", "-o", "m.lk")
    assert "20 rows, 1 column, 2 classes" in capsys.readouterr().out
    run("predict", "m.lk", "sms.csv", "-o", "out.csv")  # the model file says how its table was written
    assert len(pd.read_csv("out.csv")) == 20
    run("inspect", "m.lk")
    assert "delimiter '~'" in capsys.readouterr().out
    (folder / "sms.tsv").write_text("".join(lines).replace("~", "\t"))
    run("compare", "sms.tsv", "--no-header", "--target", "0", "--json", "--models", "naive-bayes")
    assert "takes" not in capsys.readouterr().err
    said = bad(capsys, "train", "sms.csv", "--delimiter", "~~", "--target", "0", "-o", "m.lk")
    assert "delimiter must be one ASCII character" in said


@pytest.fixture
def trained(folder):
    """A model of the table t.csv, of two numbers and a column of words."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 90)
    frame = pd.DataFrame(rng.normal(size=(90, 2)) + y[:, None], columns=["a", "b"])
    frame = frame.assign(c=np.array(["u", "v"])[rng.integers(0, 2, 90)], y=y)
    frame.to_csv("t.csv", index=False)
    run("train", "t.csv", "--target", "y", "-o", "t.lk")
    return frame


def test_predict_names_a_bad_number_and_says_what_to_do(trained, capsys):
    odd = trained.astype({"a": object})
    odd.loc[7, "a"] = "unknown"
    odd.to_csv("new.csv", index=False)
    capsys.readouterr()
    said = bad(capsys, "predict", "t.lk", "new.csv")
    assert "new.csv, line 9, column 'a': 'unknown' is not" in said
    assert "--missing 'unknown'" in said
    run("predict", "t.lk", "new.csv", "--missing", "unknown", "-o", "out.csv")
    capsys.readouterr()
    trained.assign(c="é").to_csv("new.csv", index=False, encoding="latin-1")
    said = bad(capsys, "predict", "t.lk", "new.csv")
    assert "--encoding latin-1" in said
    assert "--features" not in said
    run("predict", "t.lk", "new.csv", "--encoding", "latin-1", "-o", "out.csv")


def test_predict_integrates_out_a_column_that_is_not_there(trained, capsys):
    trained.drop(columns="a").to_csv("new.csv", index=False)
    capsys.readouterr()
    run("predict", "t.lk", "new.csv", "-o", "out.csv")
    assert "likelier: note: new.csv: no column named 'a'" in capsys.readouterr().err
    found = pd.read_csv("out.csv").iloc[:, 1:]
    blank = trained.drop(columns="y").assign(a=np.nan)
    np.testing.assert_allclose(found, lk.load("t.lk").predict_proba(blank), atol=1e-12)


def test_arguments_that_were_swapped(trained, capsys):
    said = bad(capsys, "predict", "t.csv", "t.lk")
    assert "t.csv is not a likelier model file" in said
    assert "in commands the model comes first" in said


def test_a_target_that_is_an_id_is_refused(trained, capsys):
    trained.assign(id=[f"n{i}" for i in range(90)], half=np.arange(90) // 1.5).to_csv("t.csv", index=False)
    said = bad(capsys, "train", "t.csv", "--target", "id", "--model", "naive-bayes", "-o", "x.lk")
    assert "target 'id' has a class of its own for each of 90 rows" in said
    trained.assign(half=[f"n{i // 1.5:g}" for i in range(90)]).to_csv("t.csv", index=False)
    run("train", "t.csv", "--target", "half", "-o", "x.lk")
    assert "target 'half' has" in capsys.readouterr().err


def test_the_error_of_an_auc_is_its_standard_error(trained, capsys):
    from likelier.cli.predict_output import auc_deviation

    run("predict", "t.lk", "t.csv", "-o", "out.csv")
    said = capsys.readouterr().err
    p, y = pd.read_csv("out.csv")["p_1"].to_numpy(), trained["y"].to_numpy()
    one, other = p[y == 1], p[y == 0]
    wins = (one[:, None] > other) + (one[:, None] == other) / 2  # of every pair
    spread = wins.mean(axis=1).var(ddof=1) / len(one) + wins.mean(axis=0).var(ddof=1) / len(other)
    value, off = map(float, re.search(r"AUC ([\d.]+) ± ([\d.]+)", said).groups())
    assert value == pytest.approx(wins.mean(), abs=2e-3)  # by bins of p
    assert off == pytest.approx(np.sqrt(spread), rel=0.02)
    assert np.isnan(auc_deviation(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.9]])))
