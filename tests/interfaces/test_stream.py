"""`likelier stream`, as people and other programs use it."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import likelier as lk
from likelier.cli import main
from likelier.saving.online import load_online

HEAVY = ("sklearn", "pyarrow", "scipy", "pandas", "narwhals", "matplotlib")


def rows(n: int, seed: int = 0) -> pd.DataFrame:
    """Numbers and words, some missing, and a label that both speak for."""
    rng = np.random.default_rng(seed)
    x, colour = rng.normal(size=n).round(3), rng.choice(["red", "green", "blue"], n)
    z = 2 * x + np.where(colour == "red", 2.0, -1.0)
    label = np.where(rng.random(n) < 1 / (1 + np.exp(-z)), "yes", "no")
    count = rng.poisson(3, n)
    frame = pd.DataFrame({"x": x, "colour": colour, "count": count, "label": label})
    frame.loc[::7, "colour"] = None
    frame.loc[::11, "x"] = None
    return frame


def dicts(frame: pd.DataFrame) -> Iterator[tuple[dict[str, Any], str]]:
    """Rows without what is missing, and their labels."""
    for row in frame.to_dict("records"):
        label = row.pop("label")
        yield {k: v for k, v in row.items() if v is not None and v == v}, label


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with 600 rows in several formats."""
    monkeypatch.chdir(tmp_path)
    frame = rows(600)
    frame.to_csv("rows.csv", index=False)
    frame.to_csv("rows.tsv", index=False, sep="\t")
    frame.to_csv("rows.csv.gz", index=False)
    frame.to_parquet("rows.parquet", row_group_size=100)
    frame[:250].to_csv("first.csv", index=False)
    frame[250:].to_csv("second.csv", index=False)
    with Path("rows.jsonl").open("w") as file:
        for row in frame.to_dict("records"):
            file.write(json.dumps({k: None if v is None or v != v else v for k, v in row.items()}) + "\n")
    return tmp_path


def stream(*arguments: str) -> int:
    return main(["stream", *arguments, "--target", "label"])


def same(a: str, b: str) -> None:
    """Models that have learned the same, bit for bit."""
    one, other = load_online(a).model, load_online(b).model
    assert one.labels == other.labels
    for (name, x), (_, y) in zip(one.state().items(), other.state().items(), strict=True):
        np.testing.assert_array_equal(x, y, err_msg=name)


def test_a_line_at_every_doubling_and_the_model_that_learn_one_gives(folder, capsys):
    assert stream("rows.csv", "-o", "m.lk") == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].split()[:2] == ["rows", "log-loss"]
    assert [int(line.split()[0]) for line in lines[1:12]] == [*(2**k for k in range(10)), 600]
    assert "600 rows, 2 classes" in out
    assert err == ""
    model, by_hand = lk.load("m.lk"), lk.OnlineClassifier()
    for x, label in dicts(rows(600)):
        by_hand.learn_one(x, label)
    frame = rows(50, seed=1).drop(columns="label")
    assert model.classes_.tolist() == by_hand.classes_.tolist()
    np.testing.assert_array_equal(model.predict_proba(frame), by_hand.predict_proba(frame))
    assert model.mistakes_ == by_hand.mistakes_ == int(lines[11].split()[-1])


@pytest.mark.parametrize("other", ["rows.tsv", "rows.csv.gz", "rows.jsonl", "rows.parquet"])
def test_the_same_rows_give_the_same_model_in_every_format(folder, other):
    stream("rows.csv", "-o", "a.lk")
    stream(other, "-o", "b.lk")
    same("a.lk", "b.lk")


@pytest.mark.parametrize(("delimiter", "said"), [("|", False), ("|", True), ("~", True), ("\t", True)])
def test_cells_are_split_where_it_is_said_or_seen(folder, delimiter, said):
    stream("rows.csv", "-o", "a.lk")
    rows(600).to_csv("other.csv", index=False, sep=delimiter)
    stream("other.csv", "-o", "b.lk", *(["--delimiter", delimiter] if said else []))
    same("a.lk", "b.lk")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rows.csv", "--delimiter", "||"], "delimiter must be one ASCII character"),
        (["rows.csv", "--delimiter", '"'], "delimiter must not be a quotation mark"),
        (["rows.jsonl", "--format", "jsonl", "--delimiter", ";"], "--delimiter is for CSV"),
    ],
)
def test_what_cannot_stand_between_cells_is_refused(folder, capsys, arguments, said):
    assert stream(*arguments) == 2
    assert said in capsys.readouterr().err


def test_a_stream_that_is_resumed_goes_on_as_if_it_had_not_stopped(folder):
    stream("rows.csv", "-o", "whole.lk", "--set", "optimizer=ftrl", "--cross", "colour,count")
    stream("first.csv", "-o", "part.lk", "--set", "optimizer=ftrl", "--cross", "colour,count")
    assert main(["stream", "second.csv", "--from", "part.lk", "-o", "rest.lk"]) == 0  # the target is known
    same("whole.lk", "rest.lk")
    stream("first.csv", "second.csv", "-o", "both.lk", "--set", "optimizer=ftrl", "--cross", "colour,count")
    same("whole.lk", "both.lk")


def test_columns_left_out_stay_out_when_a_stream_is_resumed(folder):
    chosen = ["--target", "label", "--ignore", "count"]
    assert stream("rows.csv", *chosen, "-o", "whole.lk") == 0
    assert stream("first.csv", *chosen, "-o", "half.lk") == 0
    assert stream("second.csv", "--from", "half.lk", "-o", "both.lk") == 0
    same("whole.lk", "both.lk")


@pytest.mark.parametrize("data", ["rows.csv", "rows.parquet"])
def test_predict_takes_the_columns_that_the_stream_took_and_judges(folder, capsys, data):
    assert stream(data, "--target", "label", "--ignore", "count", "-o", "m.lk") == 0
    wide = pd.read_csv("rows.csv").assign(x2=1.0, when=pd.Timestamp("2020-01-01"))
    wide.to_parquet("wide.parquet")
    capsys.readouterr()
    assert main(["predict", "m.lk", "wide.parquet", "--keep", "x,when"]) == 0
    said = capsys.readouterr()
    assert "error" in said.err
    model = lk.load("m.lk")
    P = [p for x, _ in dicts(rows(600)) for p in [model.predict_proba_one(x | {"count": 0})]]
    answers = [line.split(",")[2] for line in said.out.splitlines()[1:]]
    assert answers == [max(p, key=p.get) for p in P]


def test_predict_refuses_a_table_without_the_columns_of_the_stream(folder, capsys):
    assert stream("rows.csv", "--target", "label", "-o", "m.lk") == 0
    pd.read_csv("rows.csv").drop(columns="x").to_csv("other.csv", index=False)
    assert main(["predict", "m.lk", "other.csv"]) == 2
    assert "no column named 'x'" in capsys.readouterr().err


def test_train_and_stream_go_on_from_each_other_with_the_same_columns(folder, capsys):
    chosen = ["--target", "label", "--features", "x,colour"]
    assert stream("first.csv", *chosen, "-o", "half.lk") == 0
    assert main(["train", "second.csv", "--target", "label", "--resume", "half.lk", "-o", "both.lk"]) == 0
    assert main(["stream", "rows.csv", "--from", "both.lk", "-o", "more.lk"]) == 0
    assert lk.load("more.lk").feature_names_in_.tolist() == ["x", "colour"]
    assert lk.load("more.lk").steps_ == 1200


def test_the_last_line_and_notes_are_of_this_stream(folder, capsys):
    Path("few.csv").write_text("x,label\n1,yes\nnan,no\n")
    assert stream("few.csv", "--quiet", "-o", "m.lk") == 0
    said = capsys.readouterr()
    assert "nan" not in said.out
    assert "1 cell skipped" in said.err
    assert main(["stream", "first.csv", "--from", "m.lk", "--quiet"]) == 0
    assert "skipped" not in capsys.readouterr().err


def test_labels_that_are_written_alike_are_no_labels_of_a_text(folder, capsys):
    lk.save(lk.OnlineClassifier().learn_one({"x": 1.0}, 1).learn_one({"x": 2.0}, "1"), "m.lk")
    assert stream("rows.csv", "--from", "m.lk") == 2
    assert "m.lk: its labels look the same when written as text: [1, '1']" in capsys.readouterr().err


def test_inspect_says_what_a_stream_predicted(folder, capsys):
    assert stream("rows.csv", "--target", "label", "-o", "m.lk") == 0
    assert main(["inspect", "m.lk"]) == 0
    assert "target    label" in capsys.readouterr().out


def test_labels_that_are_no_unicode_pass_through(folder, capfdbinary):
    Path("latin.csv").write_bytes(b"x,label\n" + b"1,\xe9t\xe9\n2,no\n" * 3 + b"1,\xe9t\xe9\n" * 9)
    assert stream("latin.csv", "--predictions", "answers.csv", "-o", "m.lk") == 0
    assert b"\n\xe9t\xe9,0." in Path("answers.csv").read_bytes()


def test_settings_cannot_be_changed_on_the_way(folder, capsys):
    stream("first.csv", "-o", "part.lk")
    assert stream("second.csv", "--from", "part.lk", "--set", "bits=20") == 2
    assert "--set cannot be changed with --from" in capsys.readouterr().err
    assert stream("second.csv", "--set", "bitz=20") == 2
    assert "--set must name one of loss, optimizer" in capsys.readouterr().err


def test_answers_come_before_they_are_learned_from(folder, capsys):
    stream("rows.csv", "--predictions", "-", "--quiet")
    answers = [line.split(",") for line in capsys.readouterr().out.splitlines()]
    assert answers[0] == ["prediction", "probability"]
    by_hand, expected = lk.OnlineClassifier(), []
    for x, label in dicts(rows(600)):
        expected.append(by_hand.predict_proba_one(x))
        by_hand.learn_one(x, label)
    assert len(answers) == 601
    for (said, p), proba in list(zip(answers[1:], expected, strict=True))[50:]:
        assert said == max(proba, key=proba.get)
        assert float(p) == pytest.approx(proba[said], abs=1e-5)


def test_no_learning_leaves_the_model(folder, capsys):
    stream("first.csv", "-o", "part.lk")
    assert stream("second.csv", "--from", "part.lk", "--no-learn", "-o", "same.lk") == 0
    same("part.lk", "same.lk")
    model, frame = lk.load("part.lk"), pd.read_csv("second.csv")
    P = model.predict_proba(frame.drop(columns="label"))
    codes = (frame["label"] == model.classes_[1]).to_numpy().astype(int)
    loss = -np.log(P[np.arange(len(P)), codes]).mean()
    assert f"{loss:.4f}" in capsys.readouterr().out


def test_lines_that_cannot_be_read_are_counted_and_shown(folder, capsys):
    lines = Path("rows.csv").read_text().splitlines()
    lines.insert(100, "1,2")
    lines.insert(200, '3,"never closed,1,yes')
    Path("bad.csv").write_text("\n".join([*lines[:200], "1,2,3,4,5,6", *lines[201:]]) + "\n")
    assert stream("bad.csv", "-o", "m.lk") == 0
    out, err = capsys.readouterr()
    assert "600 rows" in out
    assert "bad.csv, line 101" in err
    assert "2 lines could not be read" in err
    Path("m.lk").unlink()
    assert stream("bad.csv", "-o", "m.lk", "--strict") == 2
    assert "line 101" in capsys.readouterr().err
    assert not Path("m.lk").exists()


def test_cells_that_are_no_numbers_any_more_are_words(folder, capsys):
    frame = rows(3000).astype({"count": object})
    frame.loc[2500, "count"] = "many"
    frame.loc[2600, "x"] = np.inf
    frame.to_csv("changed.csv", index=False)
    assert stream("changed.csv", "-o", "m.lk") == 0
    err = capsys.readouterr().err
    assert "1 cell of number columns taken as words" in err
    assert "1 cell skipped: NaN or infinite" in err


def test_a_packed_file_that_is_cut_short_leaves_what_was_learned(folder, capsys):
    content = gzip.compress(Path("rows.csv").read_bytes() * 3)
    Path("cut.csv.gz").write_bytes(content[: len(content) // 2])
    assert stream("cut.csv.gz", "-o", "m.lk") == 2
    assert "cut short" in capsys.readouterr().err
    assert lk.load("m.lk").steps_ > 100


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rows.csv", "--target", "lable"], "no column 'lable'"),
        (["none.csv", "--target", "label"], "none.csv: No such file or directory"),
        (["rows.csv"], "Name it with --target"),
        (["rows.parquet", "rows.csv", "--target", "label"], "cannot be read as one stream"),
        (["rows.csv", "--target", "label", "-o", "no/where.lk"], "there is no folder"),
        (["rows.csv", "--target", "label", "--from", "rows.csv"], "is not a model that can be loaded"),
        (["rows.parquet", "--target", "lable"], "did you mean 'label'?"),
        (["rows.csv", "--target", "label", "--set", "optimizer=adam"], "; got 'adam'."),
        (["rows.parquet", "--format", "csv", "--target", "label"], "Parquet"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(folder, capsys, arguments, said):
    assert main(["stream", *arguments]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert not list(Path().glob("*.lk"))


def test_labels_are_numbers_if_all_of_them_are(folder):
    labels = ["2", "0", "2", "0"] * 5
    for name, more in (("numbers", []), ("words", ["none", "7"])):
        lines = [f"{i},{label}" for i, label in enumerate(labels + more)]
        Path(f"{name}.csv").write_text("\n".join(["x,label", *lines]) + "\n")
        stream(f"{name}.csv", "-o", f"{name}.lk")
    assert load_online("numbers.lk").model.labels == [2, 0]
    assert load_online("words.lk").model.labels == ["2", "0", "none", "7"]


def test_answers_to_a_table_are_judged_by_classes_in_any_order(folder, capsys):
    stream("rows.csv", "-o", "m.lk")
    model, frame = lk.load("m.lk"), pd.read_csv("rows.csv")
    capsys.readouterr()
    main(["predict", "m.lk", "rows.csv", "-o", "answers.csv"])
    error = 1 - model.score(frame.drop(columns="label"), frame["label"])
    assert f"error {100 * error:.2f} %" in capsys.readouterr().err
    reversed_ = rows(600)
    reversed_["label"] = reversed_["label"].map({"yes": "a", "no": "b"})
    reversed_.to_csv("reversed.csv", index=False)
    stream("reversed.csv", "-o", "other.lk")
    capsys.readouterr()
    main(["predict", "other.lk", "reversed.csv", "-o", "answers.csv"])
    assert f"error {100 * error:.2f} %" in capsys.readouterr().err


# ---- as a process ----------------------------------------------------------------------------------
PROGRAM = "import sys; from likelier.cli import main; sys.exit(main(sys.argv[1:]))"


def test_classes_that_no_memory_is_enough_for_are_a_line(folder, capsys, monkeypatch):
    def learn(self: Any, rows: Any) -> Any:
        raise MemoryError("there is no memory for the weights")

    monkeypatch.setattr("likelier.streams.model.Online.learn", learn)
    assert stream("rows.csv", "--target", "x", "-o", "m.lk") == 2
    assert "no memory for the weights" in capsys.readouterr().err


def test_text_needs_none_of_the_heavy_libraries(folder):
    program = (
        "import sys; from likelier.cli import main; code = main(sys.argv[1:]); "
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    arguments = ["stream", "rows.csv", "--target", "label", "-o", "m.lk"]
    run = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, check=True)
    assert run.stderr.decode().strip() == "[]"
    again = subprocess.run(
        [sys.executable, "-c", program, *arguments, "--from", "m.lk"], capture_output=True, check=True
    )
    assert again.stderr.decode().strip() == "[]"


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_signal_leaves_a_model_of_the_rows_that_came(folder, number, code, word):
    arguments = ["stream", "-", "--target", "label", "--predictions", "-", "-o", "m.lk"]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(Path("first.csv").read_bytes())
    process.stdin.flush()
    # All rows are answered while the pipe stays open: the heading, and 250 lines.
    assert len([process.stdout.readline() for _ in range(251)]) == 251
    time.sleep(0.05)
    os.kill(process.pid, number)
    _, err = process.communicate(timeout=20)
    assert process.returncode == code
    assert word in err.decode()
    stream("first.csv", "-o", "whole.lk")
    same("whole.lk", "m.lk")


# ---- cells, bytes and tables that are not as they seem ---------------------------------------------
def lines_of(path: Path, cells: list[str]) -> None:
    path.write_text("price,label\n" + "".join(f"{x},{'yn'[i % 2]}\n" for i, x in enumerate(cells)))


@pytest.mark.parametrize("bad", ["abc", "-", "n.a. "])
def test_a_cell_that_makes_numbers_categories_is_named(folder, capsys, bad):
    cells = [f"{i % 37}.5" for i in range(300)]
    cells[123] = bad
    lines_of(folder / "p.csv", cells)
    assert main(["stream", "p.csv", "--target", "label", "--quiet", "-o", "words.lk"]) == 0
    said = capsys.readouterr().err
    assert f"p.csv, line 125: {bad!r} is not a number, so column 'price' is read as categories" in said
    assert "299 of its first 300 cells are numbers" in said
    assert "--missing" in said
    assert "--types price=number" in said
    assert main(["stream", "p.csv", "--target", "label", "--quiet", "--missing", bad, "-o", "m.lk"]) == 0
    assert capsys.readouterr().err == ""
    assert load_online("m.lk").model.learner.counters["used"] == 1
    assert load_online("words.lk").model.learner.counters["used"] == 38
    assert main(["stream", "p.csv", "--from", "m.lk", "--quiet"]) == 0  # it is remembered
    assert capsys.readouterr().err == ""


def test_columns_of_categories_are_not_doubted(folder, capsys):
    lines_of(folder / "p.csv", [f"c{i % 5}" if i % 3 else str(i) for i in range(300)])
    assert main(["stream", "p.csv", "--target", "label", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_line_with_a_zero_byte_is_passed_over_by_its_number(folder, capsys, ending):
    path = folder / f"rows.{ending}"
    lines = path.read_bytes().split(b"\n")
    lines[41] = lines[41][:3] + b"\0" + lines[41][3:]
    path.write_bytes(b"\n".join(lines))
    assert main(["stream", path.name, "--target", "label", "--quiet", "-o", "m.lk"]) == 0
    said = capsys.readouterr().err
    assert f"rows.{ending}, line 42: a zero byte" in said
    assert "\0" not in said
    assert load_online("m.lk").model.learner.counters["steps"] == 599


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252"])
def test_text_of_another_encoding(folder, encoding):
    frame = rows(200).assign(größe=np.arange(200) % 5)
    frame.to_csv("plain.csv", index=False)
    frame.to_csv("other.csv", index=False, encoding=encoding)
    asked = ["--target", "label", "--quiet"]
    assert main(["stream", "plain.csv", *asked, "-o", "plain.lk"]) == 0
    assert main(["stream", "other.csv", *asked, "--encoding", encoding, "-o", "other.lk"]) == 0
    one, other = (load_online(f"{name}.lk").model.state() for name in ("plain", "other"))
    np.testing.assert_array_equal(one["table"], other["table"])


@pytest.mark.parametrize("text", ["", "x,label\n", "x,label\n1,\n2,\n", "x,label\n1,2,3\n"])
def test_nothing_to_learn_from_is_an_error(folder, capsys, text):
    (folder / "none.csv").write_text(text)
    assert main(["stream", "none.csv", "--target", "label", "-o", "m.lk"]) == 2
    assert "no model was trained" in capsys.readouterr().err
    assert not Path("m.lk").exists()


def test_an_interrupted_stream_says_so_and_nothing_else(folder):
    os.mkfifo("fifo")
    command = [sys.executable, "-c", PROGRAM, "stream", "fifo", "--target", "label", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with Path("fifo").open("w") as pipe:
        pipe.write("x,label\n1,a\n2,b\n")
        pipe.flush()
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert said == "likelier: interrupted\n"
