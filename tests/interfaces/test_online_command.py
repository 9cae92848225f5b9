"""Online models on the command line: trained, streamed, asked and looked into."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import likelier as lk
from likelier.cli import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    words = rng.choice(["u", "v"], 200)
    rows = pl.DataFrame(
        {
            "n": rng.normal(size=200),
            "w": words,
            "code": rng.choice(["007", "7"], 200),
            "b": rng.random(200) < 0.5,
        }
    )
    rows.with_columns(
        pl.when(pl.col("w") == "u").then(pl.lit("no")).otherwise(pl.lit("yes")).alias("y")
    ).write_csv("rows.csv")
    return tmp_path


def test_a_trained_model_is_inspected_asked_and_goes_on(folder, capsys):
    main(
        [
            "train",
            "rows.csv",
            "--target",
            "y",
            "--model",
            "online-classifier",
            "--set",
            "bits=10",
            "-o",
            "m.lk",
        ]
    )
    assert "OnlineClassifier from 200 rows, 4 columns, 2 classes" in capsys.readouterr().out
    main(["inspect", "m.lk"])
    said = capsys.readouterr().out
    for part in (
        "bits=10",
        "rows      200",
        "steps     200, ",
        "of 1,024 taken; ",
        "columns   n, w, code, b",
    ):
        assert part in said
    main(["predict", "m.lk", "rows.csv", "-o", "out.csv"])
    answers = pl.read_csv("out.csv")
    assert (answers["label"] == pl.read_csv("rows.csv")["y"]).mean() > 0.9
    main(["train", "rows.csv", "--target", "y", "--resume", "m.lk", "-o", "more.lk"])
    assert lk.load("more.lk").steps_ == 400


def test_a_streamed_model_is_asked_as_its_rows_were_read(folder):
    main(["stream", "rows.csv", "--target", "y", "--words", "code", "-o", "s.lk"])
    main(["predict", "s.lk", "rows.csv", "--target", "y", "-o", "out.csv"])
    model, answers = lk.load("s.lk"), pl.read_csv("out.csv")
    rows = pl.read_csv("rows.csv", infer_schema_length=0).drop("y").to_dicts()
    P = [model.predict_proba_one(x | {"n": float(x["n"])}) for x in rows[:20]]
    assert [p["no"] for p in P] == answers["p_no"][:20].to_list()


def test_files_of_online_models_need_numpy_alone(folder):
    lk.save(lk.OnlineClassifier(bits=4).fit([{"a": 1}, {}], [0, 1]), "m.lk")
    code = (
        "import sys; from likelier.saving.online import load_online, save_online; "
        "save_online(load_online('m.lk'), 'again.lk'); "
        "print([name for name in ('sklearn', 'scipy', 'pyarrow', 'narwhals') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
    assert (folder / "m.lk").read_bytes() == (folder / "again.lk").read_bytes()
