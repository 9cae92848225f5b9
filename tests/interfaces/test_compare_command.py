"""`likelier compare`."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_iris

import likelier as lk
from likelier.cli import main
from likelier.comparison import Comparison

QUICK = ("--models", "lda,gaussian-nb", "--no-report")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Tables of iris, in every format, in the working directory."""
    monkeypatch.chdir(tmp_path)
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    frame["species"] = np.array(["setosa", "versicolor", "virginica"])[y]
    frame.to_csv("iris.csv", index=False)
    frame.to_csv("iris.csv.gz", index=False)
    frame.to_csv("iris.tsv", index=False, sep="\t")
    frame.to_parquet("iris.parquet")
    frame.to_json("iris.jsonl", orient="records", lines=True)
    dump_svmlight_file(X, y, "iris.svm", zero_based=False)
    return tmp_path


def run(*arguments):
    """A command that goes well."""
    assert main(["compare", *arguments]) == 0


def bad(capsys, *arguments):
    """What a command says that goes wrong: one line, and nothing on standard output."""
    try:
        code = main(["compare", *arguments])
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert err.startswith("likelier: ")
    assert err.count("\n") == 1
    return err


def test_without_data_it_takes_wine(folder, capsys):
    run("--cv", "3", *QUICK)
    out, err = capsys.readouterr()
    assert out.startswith("wine: three cultivars")
    assert "178 rows, 13 columns, 3 classes; 3-fold" in out
    assert "(majority class)" in out
    assert err == ""
    assert not Path("report.html").exists()


@pytest.mark.parametrize(
    ("name", "classes"),
    [
        ("iris", ["setosa", "versicolor", "virginica"]),
        ("breast-cancer", ["benign", "malignant"]),
        ("digits", list(range(10))),
        ("wine", ["class_0", "class_1", "class_2"]),
    ],
)
def test_it_knows_data_sets_by_name(name, classes, folder, capsys):
    run(name, "--models", "gaussian-nb", "--json")
    found = json.loads(capsys.readouterr().out)
    assert (found["name"], found["target"], found["classes"]) == (name, "class", classes)


def test_heights_are_numbers(folder, capsys):
    run("heights", "--no-report")
    shown = capsys.readouterr().out
    assert "15 rows, 1 column, a target of numbers" in shown
    assert "LinearRegression" in shown
    assert "(mean)" in shown


@pytest.mark.parametrize("file", ["iris.csv", "iris.csv.gz", "iris.tsv", "iris.parquet", "iris.jsonl"])
def test_it_takes_files_of_every_kind(file, folder, capsys):
    run(file, "--target", "species", *QUICK)
    out, err = capsys.readouterr()
    assert "150 rows, 4 columns, 3 classes" in out
    assert err == ""


def test_it_takes_sparse_rows(folder, capsys):
    run("iris.svm", "--cv", "2", "--no-report")
    out = capsys.readouterr().out
    assert "150 rows, 4 columns, 3 classes" in out
    assert "LogisticRegression" in out


def test_it_is_compare(folder, capsys):
    run("iris.csv", "--target", "species", "--seed", "4", "--cv", "4", "--models", "lda,sgd", "--json")
    out, err = capsys.readouterr()
    found = lk.compare(
        lk.scan("iris.csv", target="species"), models=["lda", "SGDClassifier"], cv=4, random_state=4
    )
    theirs = json.loads(json.dumps(found.to_dict()))
    ours = json.loads(out)
    for one in (ours, theirs):
        for result in one["results"]:
            del result["fit"], result["predict"]
    assert ours["results"] == theirs["results"]
    assert err == ""
    assert not Path("report.html").exists()  # not asked for


def test_how_it_is_compared_can_be_said(folder, capsys):
    run("iris.csv", "--target", "species", "--metric", "error", "--rows", "100", "--seed", "2", *QUICK)
    shown = capsys.readouterr().out
    assert "by error" in shown
    assert "compared on a sample of 100 rows out of 150" in shown
    run("iris.csv", "--target", "a", "--features", "c,d", "--no-report")
    assert "RMSE" in capsys.readouterr().out
    load_diabetes(as_frame=True).frame.to_csv("diabetes.csv", index=False)
    run("diabetes.csv", "--target", "sex", "--no-report", "--models", "ridge")
    assert "RMSE" in capsys.readouterr().out
    pd.read_csv("iris.csv").assign(n=np.arange(150) % 5).to_csv("n.csv", index=False)
    run("n.csv", "--target", "n", "--task", "regress", "--no-report", "--models", "ridge")
    assert "(mean)" in capsys.readouterr().out


def test_others_join_in_with_plain_settings(folder, capsys):
    tree = "sklearn.tree.DecisionTreeClassifier"
    run(
        "iris",
        *QUICK,
        "--also",
        f"{tree}(max_depth=1)",
        "--also",
        f"{tree}(max_depth=2, criterion='entropy')",
    )
    shown = capsys.readouterr().out
    assert "DecisionTreeClassifier 2 " in shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sklearn.tree.DecisionTreeClasifier", "did you mean DecisionTreeClassifier?"),
        ("sklearn.tree.DecisionTreeClassifier(max_depth=f())", "max_depth=f() is not a literal value"),
        ("sklearn.tree.DecisionTreeClassifier(depth=3)", "unexpected keyword argument 'depth'"),
        ("sklearn.tree.DecisionTreeClassifier(3)", "must have the form MODULE.CLASS"),
        ("sklearn.tree.DecisionTreeClassifier(**{})", "settings must be given as NAME=VALUE"),
        ("no_such_module.Tree", "no_such_module cannot be imported"),
        ("Tree", "must have the form MODULE.CLASS"),
        ("a b", "must have the form MODULE.CLASS"),
        ("__import__('os').system('touch hacked')", "must have the form MODULE.CLASS"),
        ("sklearn.preprocessing.StandardScaler", "is not a classifier or regressor"),
    ],
)
def test_others_that_are_none_are_refused(text, said, folder, capsys):
    assert said in bad(capsys, "iris.csv", "--target", "species", "--also", text)
    assert not Path("hacked").exists()


def test_it_says_what_is_wrong(folder, capsys):
    assert "--cv must be an integer >= 2; got 1." in bad(capsys, "--cv", "1")
    assert "--seed must be an integer >= 0; got -1." in bad(capsys, "--seed", "-1")
    assert "--rows must be an integer >= 1; got 0." in bad(capsys, "--rows", "0")
    assert "--jobs must be an integer >= 1; got 0." in bad(capsys, "--jobs", "0")
    iris = ("iris.csv", "--target", "species")
    assert "; got 'ldaa'." in bad(capsys, *iris, "--models", "ldaa")
    assert "for classes; got 'rmse'." in bad(capsys, *iris, "--metric", "rmse")
    assert "near it: 'species'" in bad(capsys, "iris.csv", "--target", "specie")
    said = bad(capsys, "iris.csv")
    assert "which column is to be predicted" in said
    assert "species" in said
    assert "is for tables in files" in bad(capsys, "wine", "--target", "x")
    assert "no file matches 'irsi.csv'; near it: iris" in bad(capsys, "irsi.csv", "--target", "y")
    assert "no file matches 'winee'; built in is 'wine'" in bad(capsys, "winee")
    for name, text, said in [
        ("empty", "", "the file is empty"),
        ("header", "a,y\n", "a header and no rows"),
        ("one", "a,y\n" + "1,u\n2,u\n" * 5, "only one value ('u')"),
        ("ragged", "a,b,y\n1,2,u\n1,v\n", "line 3: the line has 2 cells"),
        ("twice", "a,a,y\n" + "1,2,u\n2,3,v\n" * 5, "2 columns named 'a'"),
        ("ids", "a,y\n" + "".join(f"{i % 7},k{i}\n" for i in range(60)), "60 classes in 60 rows"),
    ]:
        Path(f"{name}.csv").write_text(text)
        assert said in bad(capsys, f"{name}.csv", "--target", "y")
    assert list(Path().glob("*.html")) == []


def test_it_uses_what_is_there_and_says_what_is_not(folder, capsys):
    Path("gone.csv").write_text("a,b,c,y\n" + "1,,x,u\n2,,z,v\n3,,x,u\n2.5,,,v\n4,,x,\n" * 6)
    run("gone.csv", "--target", "y", "--cv", "2", "--no-report")
    shown = " ".join(capsys.readouterr().out.split())
    assert "24 rows, 2 columns, 2 classes" in shown
    assert "b: is empty: left out" in shown
    assert "6 rows without a label: left out" in shown
    assert "leaves out categories: c" in shown


# ---- the report ----------------------------------------------------------------------------------
@pytest.fixture
def written(monkeypatch):
    """A report in place of the real one, which has tests of its own."""

    def to_html(self, path):
        Path(path).write_text(f"{len(self.results)} results")
        return Path(path)

    monkeypatch.setattr(Comparison, "to_html", to_html)


def test_a_report_is_written(folder, capsys, written):
    iris = ("iris.csv", "--target", "species", "--models", "lda")
    run(*iris)
    said = capsys.readouterr().out
    assert "report: report.html\n" in said
    assert "next: likelier train iris.csv --target species -o best.lk" in said.split("report:")[1]
    assert Path("report.html").read_text() == "2 results"
    run(*iris, "--report", "mine.html", "--json")
    json.loads(capsys.readouterr().out)
    assert Path("mine.html").exists()


def test_a_report_is_written_over_nothing_that_is_read(folder, capsys, written):
    iris = ("iris.csv", "--target", "species")
    before = Path("iris.csv").read_text()
    assert "would overwrite the input" in bad(capsys, *iris, "--report", "./iris.csv")
    assert "no folder" in bad(capsys, *iris, "--report", "there/report.html")
    assert "is a folder: name a file" in bad(capsys, *iris, "--report", ".")
    assert "is a URL" in bad(capsys, *iris, "--report", "s3://here/report.html")
    assert "exclude each other" in bad(capsys, *iris, "--report", "r.html", "--no-report")
    assert Path("iris.csv").read_text() == before


def test_without_matplotlib_there_is_a_table_and_a_word(folder, capsys, monkeypatch):
    def to_html(self, path):
        raise ImportError("reports need matplotlib: pip install 'likelier[report]'")

    monkeypatch.setattr(Comparison, "to_html", to_html)
    run("iris.csv", "--target", "species", "--models", "lda")
    out, err = capsys.readouterr()
    assert "LDA" in out
    assert err == (
        "likelier: the report was not written: reports need matplotlib: pip install 'likelier[report]'\n"
    )


# ---- terminals -----------------------------------------------------------------------------------
def test_a_narrow_terminal_gets_a_narrow_table(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((60, 24)))
    run("iris.csv", "--target", "species", *QUICK)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60


# ---- data as it comes ----------------------------------------------------------------------------
def test_on_titanic_as_a_person_would(folder, data_file, capsys):
    run(str(data_file("titanic.csv")), "--target", "survived", "--no-report", "--cv", "2")
    shown = " ".join(capsys.readouterr().out.split())
    assert "891 rows, 10 columns, 2 classes" in shown
    assert "leaves out text: name" in shown
    assert "LDA, shrunk: leaves out categories: ticket, cabin" in shown
