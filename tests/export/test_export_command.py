"""`likelier export` writes a saved model in every form, and `--check` compares the answers of both."""

import pytest

import likelier as lk
from export.models import LDA, passengers, quietly, table
from likelier.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two models and their tables."""
    folder = tmp_path_factory.mktemp("exports")
    X, y = table(quotes=True)
    X.assign(target=y).to_csv(folder / "people.csv", index=False)
    numbers = X[["age", "visits"]].fillna(0)
    numbers.assign(target=y).to_csv(folder / "numbers.csv", index=False)
    lk.save(quietly(lambda: lk.NaiveBayes().fit(X, y)), folder / "people.lk")
    lk.save(LDA().fit(numbers, y), folder / "numbers.lk")
    return folder


@pytest.mark.parametrize("to", ["sql", "python", "c", "onnx", "sklearn"])
def test_a_model_is_written_and_its_answers_are_compared(to, folder, capsys):
    if to == "onnx":
        pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    name = "numbers" if to == "sklearn" else "people"
    how = ["--dialect", "sqlite"] if to == "sql" else []
    given = ["export", f"{folder}/{name}.lk", "--to", to, "-o", f"{folder}/out.{to}", *how]
    assert main([*given, "--check", f"{folder}/{name}.csv"]) == 0
    said = capsys.readouterr()
    assert "check: 300 rows: the largest difference is " in said.err
    assert said.out == ""
    assert (folder / f"out.{to}").stat().st_size > 0
    assert main(given) == 2
    assert "exists: --overwrite replaces it" in capsys.readouterr().err
    assert main([*given, "--overwrite"]) == 0


@pytest.mark.parametrize("to", ["sql", "python", "c", "sklearn"])
def test_models_of_formulas_and_of_tables_are_checked(to, tmp_path, capsys):
    rows = passengers().drop(columns="value")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    by_formula = lk.LogisticRegression.from_formula("y ~ log(fare) + age * sex + C(pclass)", rows)
    of_table = quietly(lambda: lk.LogisticRegression().fit(rows.drop(columns="y"), rows["y"]))
    for name, model in (("formula", by_formula), ("table", of_table)):
        lk.save(model, tmp_path / f"{name}.lk")
        out = ["--to", to, "-o", f"{tmp_path}/{name}.{to}"]
        assert main(["export", f"{tmp_path}/{name}.lk", *out, "--check", f"{tmp_path}/rows.csv"]) == 0
        assert "check: 240 rows: the largest difference is " in capsys.readouterr().err


def test_text_is_printed_by_default(folder, capsys):
    assert (
        main(["export", f"{folder}/people.lk", "--to", "sql", "--table", 'my "table"', "--answer", "label"])
        == 0
    )
    printed = capsys.readouterr().out
    assert 'FROM "my ""table""" AS t' in printed
    assert printed.rstrip().endswith("FROM best")
    assert main(["export", f"{folder}/people.lk", "--to", "onnx"]) == 2
    assert "--to onnx writes a file: name it with -o OUT" in capsys.readouterr().err


def test_bad_arguments_are_said_in_a_line(folder, capsys):
    model = f"{folder}/people.lk"
    assert main(["export", model, "--to", "sql", "--dialect", "mysql"]) == 2
    assert "'duckdb', 'sqlite', 'postgres', 'bigquery'" in capsys.readouterr().err.replace(
        "choose from ", ""
    )
    table = ["--check", f"{folder}/people.csv"]
    assert main(["export", model, "--to", "sql", "--dialect", "postgres", *table]) == 2
    assert "postgres needs a server of yours" in capsys.readouterr().err
    assert main(["export", model, "--to", "python", "-o", model, "--overwrite"]) == 2
    assert main(["export", f"{folder}/none.lk", "--to", "python"]) == 2


def test_an_export_that_differs_is_an_error(folder, monkeypatch, capsys):
    monkeypatch.setattr(
        "likelier.estimators.exports.to_python",
        lambda *_, **__: "def predict_proba(row):\n return [1.0, 0.0]\n",
    )
    given = ["export", f"{folder}/people.lk", "--to", "python", "--check", f"{folder}/people.csv"]
    assert main(given) == 2
    assert "the export differs from the model by " in capsys.readouterr().err
