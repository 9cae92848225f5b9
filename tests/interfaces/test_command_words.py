"""What the command line says: help, completion, what was meant, and what is wrong with tables."""

import gzip
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import likelier as lk
from likelier._core import ISA
from likelier.cli import inspect, main, parser
from likelier.data.files import csv
from likelier.saving.format import describe
from likelier.threads import cores

SCRIPT = Path(sys.executable).with_name("likelier")
COMMANDS = ["compare", "train", "predict", "stream", "inspect", "merge", "completion"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder: a table with categories, codes, dates and gaps."""
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(0), 60
    y = np.where(rng.random(n) < 0.5, "no", "yes")
    pd.DataFrame(
        {
            "zip": [f"0{i % 3}" for i in range(n)],
            "born": pd.date_range("1970-01-01", periods=n, freq="D").astype(str),
            "age": np.where(
                np.arange(n) % 7 == 0, "-9", (30 + (y == "yes") * 9 + rng.integers(9, size=n)).astype(str)
            ),
            "job": np.where(np.arange(n) % 5 == 0, "?", rng.choice(["clerk", "cook"], n)),
            "y": y,
        }
    ).to_csv("people.csv", index=False)
    return tmp_path


def said(capsys, *arguments):
    """The code, and what was printed."""
    code = main(arguments)
    return code, *capsys.readouterr()


def bad(capsys, *arguments):
    """What a command says that goes wrong: one line."""
    code, out, err = said(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("likelier: ")
    return err


# ---- help ----------------------------------------------------------------------------------------
def shown(text):
    """The commands that a help shows, each as a list of words."""
    lines = [line.partition("example:")[2] or line for line in (text or "").splitlines()]
    commands = [shlex.split(line) for line in lines if line.strip().startswith("likelier ")]
    return [words[: words.index(">")] if ">" in words else words for words in commands]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_example_can_be_given(command):
    top = parser()
    found = [words for words in shown(top.commands[command].epilog) if words[1] == command]
    assert found
    for words in found:
        options = top.understood(words[1:])
        assert options.command == command
        assert callable(options.run)


def test_the_first_help_names_all_commands_codes_and_variables(capsys):
    code, out, err = said(capsys, "--help")
    assert (code, err) == (0, "")
    for word in (*COMMANDS, "LIKELIER_THREADS", "LIKELIER_ISA", "70", "130", "141", "143", "--version"):
        assert word in out
    for words in shown(parser().epilog):
        if words[1] in COMMANDS and words[2:] not in (["--help"], ["--help", "(or"]):
            assert parser().understood(words[1:]).command == words[1]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_can_be_asked_for_in_two_ways(command, capsys):
    first, second = said(capsys, "help", command), said(capsys, command, "--help")
    assert first == second
    assert first[0] == 0
    assert f"usage: likelier {command}" in first[1]


def test_nothing_asked_is_a_short_help(capsys):
    code, out, err = said(capsys)
    assert (code, out) == (2, "")
    assert "train" in err
    assert "LIKELIER_THREADS" not in err


def test_what_was_meant_is_guessed(capsys):
    assert "there is no command trian; did you mean train?" in bad(capsys, "trian", "x.csv")
    assert "no command comprae; did you mean compare?" in bad(capsys, "help", "comprae")
    assert "--tagret is not understood; did you mean --target?" in bad(
        capsys, "train", "x.csv", "--tagret", "y", "-o", "m.lk"
    )
    assert "there is no command 7; commands: compare, train" in bad(capsys, "7")
    assert "likelier train --help" in bad(capsys, "train", "x.csv", "--nothing-like-it=1", "-o", "m.lk")


def test_the_version(capsys):
    code, out, err = said(capsys, "--version")
    assert (code, err) == (0, "")
    first, second, third, libraries = out.splitlines()
    assert first == f"likelier {lk.__version__}"
    assert second == f"instructions {ISA}, threads {cores()}"
    assert third.startswith(f"Python {platform.python_version()}")
    assert f"numpy {np.__version__}" in libraries


@pytest.mark.parametrize("asked", ["--help", "--version", "completion bash"])
def test_small_questions_are_answered_at_once(asked):
    code = (
        f"import sys\nfrom likelier.cli import main\nmain({asked.split()!r})\n"
        "heavy = ('numpy', 'scipy', 'sklearn', 'pyarrow', 'tqdm', 'pandas', 'matplotlib')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert time.perf_counter() - start < 1.0  # some 0.07 s on an idle machine
    assert done.splitlines()[-1] == "[]"


# ---- defects -------------------------------------------------------------------------------------
@pytest.fixture
def broken(monkeypatch):
    def run(options):
        raise KeyError("lost")

    monkeypatch.setattr(inspect, "run", run)


def test_a_defect_is_one_line_and_another_code(broken, capsys):
    code, out, err = said(capsys, "inspect", "m.lk")
    assert (code, out) == (70, "")
    assert err == "likelier: internal error: KeyError: 'lost'; please report it, with what --debug shows\n"


@pytest.mark.parametrize("arguments", [("--debug", "inspect", "m.lk"), ("inspect", "m.lk", "--debug")])
def test_debug_shows_where(arguments, broken, capsys):
    code, _, err = said(capsys, *arguments)
    assert code == 70
    assert "Traceback" in err
    assert err.splitlines()[-1].startswith("likelier: internal error")


def test_debug_shows_where_a_problem_was_found(folder, capsys):
    code, _, err = said(capsys, "inspect", "nothing.lk", "--debug")
    assert code == 2
    assert "Traceback" in err
    assert "Traceback" not in said(capsys, "inspect", "nothing.lk")[2]


def test_a_package_that_is_not_there_is_no_defect(monkeypatch, capsys):
    def run(options):
        raise ImportError("fsspec is not installed: pip install fsspec")

    monkeypatch.setattr(inspect, "run", run)
    assert "pip install fsspec" in bad(capsys, "inspect", "m.lk")


# ---- where it is printed -------------------------------------------------------------------------
def program(line, **how):
    env = {**os.environ, "PATH": f"{SCRIPT.parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, env=env, **how)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_help_finds_no_room():
    done = program("likelier --help > /dev/full")
    assert (done.returncode, done.stderr) == (2, "likelier: No space left on device\n")


def test_streams_that_are_closed():
    done = program("likelier --version >&-")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "standard output is closed" in done.stderr
    done = program("likelier inspect nothing.lk 2>&-")
    assert (done.returncode, done.stdout) == (2, "")
    done = program("likelier stream - --target y <&-")
    assert done.returncode == 2
    assert "standard input is closed" in done.stderr


def test_a_reader_that_leaves_a_help():
    done = program("set -o pipefail; likelier completion bash | head -1")
    assert done.returncode in (0, 141)  # as fast as head is
    assert done.stderr == ""


# ---- completion ----------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    found = tmp_path_factory.mktemp("completion")
    for shell in ("bash", "zsh", "fish"):
        script = subprocess.run([SCRIPT, "completion", shell], capture_output=True, text=True, check=True)
        (found / shell).write_text(script.stdout)
    return found


def completed(scripts, *words):
    """What bash offers for the last of these words."""
    line = (
        'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _likelier; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    asked = ["bash", "-c", line, scripts / "bash", "likelier", *words]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["tr"], ["train"]),
        (["help", "in"], ["inspect"]),
        (["--debug", "train", "--targ"], ["--target"]),
        (["train", "x.csv", "--model", "log"], ["logistic-regression", "logistic-regression-cv"]),
        (["train", "--format", "p"], ["parquet"]),
        (["predict", "--only", ""], ["labels", "probabilities"]),
        (["compare", "wi"], ["wine"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["train", "--target", ""], []),
    ],
)
@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes(words, offered, scripts):
    assert completed(scripts, *words) == offered


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_completes_files_and_all_commands(scripts, folder):
    assert completed(scripts, "train", "peo") == ["people.csv"]
    assert completed(scripts, "predict", "-o", "peo") == ["people.csv"]
    assert set(COMMANDS) <= set(completed(scripts, ""))
    for command in COMMANDS:
        assert {"--help", "--debug"} <= set(completed(scripts, command, "-"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_read_by_its_shell(shell, scripts):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    subprocess.run([shell, "-n", scripts / shell], check=True)


# ---- tables as people have them ------------------------------------------------------------------
def test_types_and_marks_are_said_and_remembered(folder, capsys):
    how = ("--types", "zip=category,born=date", "--missing", "?,-9")
    naive = ("--model", "naive-bayes")
    code, out, err = said(capsys, "train", "people.csv", "--target", "y", *naive, *how, "-o", "m.lk")
    assert (code, err) == (0, "")
    assert out.startswith("NaiveBayes from 60 rows, 4 columns, 2 classes")
    about = describe("m.lk").about
    assert about["types"] == {"zip": "category", "born": "date"}
    assert about["missing"] == ["?", "-9"]
    assert main(["predict", "m.lk", "people.csv", "-o", "out.csv"]) == 0
    source = lk.scan(
        "people.csv", features=["zip", "born", "age", "job"], types=about["types"], missing=about["missing"]
    )
    np.testing.assert_allclose(
        pd.read_csv("out.csv")["p_yes"], lk.load("m.lk").predict_proba(source)[:, 1], rtol=1e-9
    )
    capsys.readouterr()
    shown = said(capsys, "inspect", "m.lk")[1]
    assert "types     zip=category, born=date" in shown
    assert "missing   '', '?', '-9'" in shown
    assert main(["train", "people.csv", "--target", "y", "--resume", "m.lk", "-o", "more.lk"]) == 0
    assert describe("more.lk").about["types"] == about["types"]
    assert describe("more.lk").missing == 2 * describe("m.lk").missing
    assert main(["merge", "m.lk", "more.lk", "-o", "all.lk"]) == 0
    assert describe("all.lk").about["missing"] == ["?", "-9"]


def test_a_table_in_another_format_is_read_as_in_training(folder, capsys):
    how = ("--features", "zip,born", "--types", "zip=category,born=date", "--missing", "?")
    main(["train", "people.csv", "--target", "y", *how, "-o", "m.lk"])
    frame = pd.read_csv("people.csv", dtype={"zip": str}, parse_dates=["born"])
    frame.to_parquet("people.parquet")
    for name in ("people.csv", "people.parquet"):
        assert main(["predict", "m.lk", name, "-o", f"{name}.out.csv"]) == 0
    first, second = (pd.read_csv(f"people.{ending}.out.csv") for ending in ("csv", "parquet"))
    np.testing.assert_allclose(first["p_yes"], second["p_yes"])


def test_a_model_is_chosen_and_said(folder, capsys):
    assert (
        main(
            [
                "train",
                "people.csv",
                "--target",
                "born",
                "--features",
                "zip",
                "--types",
                "born=date",
                "-o",
                "m.lk",
            ]
        )
        == 0
    )
    assert "note: Ridge, the best of 2 models by RMSE in 5-fold" in capsys.readouterr().err
    Path("rows.svm").write_text("1 1:2 3:1\n0 2:1\n1 1:1\n0 2:2 3:1\n")
    assert main(["train", "rows.svm", "-o", "m.lk"]) == 0
    assert "--model logistic-regression, without a comparison: " in capsys.readouterr().err


def test_a_stream_is_told_what_columns_are(folder, capsys):
    given = ("stream", "people.csv", "--target", "y", "--ignore", "born,job", "--quiet", "-o", "s.lk")
    assert main([*given, "--types", "zip=category,age=number"]) == 0
    told = lk.load("s.lk")
    assert main([*given, "--words", "zip"]) == 0
    frame = pd.read_csv("people.csv", dtype={"zip": str})[["zip", "age"]]
    np.testing.assert_array_equal(told.predict_proba(frame), lk.load("s.lk").predict_proba(frame))
    capsys.readouterr()
    assert "a stream takes numbers and categories" in bad(capsys, *given, "--types", "born=date")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b,y\n1,café,u\n2,x,v\n".encode("latin-1"), ["line 2", "--encoding latin-1"]),
        (
            "café,y\n1,u\n2,v\n".encode("latin-1"),
            ["names of its columns are not UTF-8", "--encoding latin-1"],
        ),
        (bytes(range(256)), ["line 1: a zero byte", "--format"]),
        (b"a,y\n1,u\n\0,v\n", ["line 3: a zero byte"]),
        (b"", ["the file is empty"]),
        (b"a,y\n", ["a header and no rows"]),
        (b"a,b,y\n1,2,u\n1,v\n", ["line 3: the line has 2 cells, and the header 3"]),
        (b"a,a,y\n1,2,u\n3,4,v\n", ["2 columns named 'a'"]),
        (b"a,yy\n1,u\n2,v\n", ["no column named 'y'; near it: 'yy'"]),
        (b"a,y\n1,u\n2,\n", ["line 3", "'y' is missing"]),
        (b"a,y\n2024-01-01,u\n2024-02-01,v\n", ["'a' (date32[day]; days since 1970 by --types a=date)"]),
    ],
)
def test_tables_that_are_wrong_are_named_with_what_to_do(content, words, folder, capsys):
    Path("t.csv").write_bytes(content)
    found = bad(capsys, "train", "t.csv", "--target", "y", "--model", "naive-bayes", "-o", "m.lk")
    for word in words:
        assert word in found
    assert not Path("m.lk").exists()


def test_what_the_first_rows_do_not_say(folder, capsys, monkeypatch):
    monkeypatch.setattr(csv, "FIRST_BYTES", 1)
    Path("t.csv").write_bytes(b"a,y\n" + b"1,u\n2,v\n" * 1000 + b"n.a.,u\n")
    common = ("train", "t.csv", "--target", "y", "--model", "naive-bayes", "-o", "m.lk")
    found = bad(capsys, *common)
    for word in ("line 2002, column 'a': 'n.a.'", "--missing 'n.a.'", "--types a=category"):
        assert word in found
    assert main([*common, "--missing", "n.a."]) == 0
    assert describe("m.lk").missing == 1
    assert main([*common, "--types", "a=category"]) == 0


def test_packed_and_other_files_that_are_wrong(folder, capsys):
    common = ("--target", "y", "--model", "naive-bayes", "-o", "m.lk")
    Path("zero.csv.gz").write_bytes(b"")
    assert "the file is empty" in bad(capsys, "train", "zero.csv.gz", *common)
    whole = gzip.compress(Path("people.csv").read_bytes())
    Path("cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    assert "cut.csv.gz: cannot be read" in bad(capsys, "train", "cut.csv.gz", *common)
    Path("packed.csv").write_bytes(whole)
    assert "its name does not end with .gz" in bad(capsys, "train", "packed.csv", *common)
    Path("nothing").mkdir()
    assert "the folder has no files whose names end with" in bad(capsys, "train", "nothing", *common)
    Path("people.dat").write_bytes(Path("people.csv").read_bytes())
    assert "Pass --format, one of" in bad(capsys, "train", "people.dat", *common)
    assert "no file matches 'poeple.csv'; near it: people.csv" in bad(
        capsys, "train", "poeple.csv", *common
    )
    if os.geteuid():
        Path("people.csv").chmod(0)
        assert "people.csv: cannot be read: Permission denied" in bad(
            capsys, "train", "people.csv", *common
        )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_tables_that_only_look_wrong_are_read(encoding, end, folder, capsys):
    frame = load_iris(as_frame=True).frame.rename(columns={"target": "größe"})
    Path("t.csv").write_bytes(frame.to_csv(index=False, lineterminator=end).encode(encoding))
    how = ("--encoding", "latin-1") if encoding == "latin-1" else ()
    assert main(["train", "t.csv", "--target", "größe", "--model", "lda", *how, "-o", "m.lk"]) == 0
    assert main(["predict", "m.lk", "t.csv", *how, "--json", "-o", "out.csv"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["error"] == pytest.approx(0.02)


def test_kinds_that_make_no_sense(folder, capsys):
    common = ("train", "people.csv", "--target", "y", "-o", "m.lk")
    assert "'zip' is not NAME=KIND" in bad(capsys, *common, "--types", "zip")
    assert "kinds: number, category, text, date" in bad(capsys, *common, "--types", "zip=word")
    said = bad(capsys, *common, "--model", "lda", "--types", "zpi=number")
    assert "no column named 'zpi'; near it: 'zip'" in said
    said = bad(capsys, *common, "--model", "lda", "--features", "job", "--types", "job=number")
    assert "column 'job': " in said
    assert "is not of type double" in said


def test_what_is_said_of_text_is_not_for_data_sets_that_are_built_in(folder, capsys):
    for how in (("--types", "a=number"), ("--missing", "?"), ("--encoding", "latin-1")):
        assert f"{how[0]} is for tables in files" in bad(capsys, "compare", "wine", *how)


# ---- inside --------------------------------------------------------------------------------------
def test_inspect_shows_what_models_have_learned(folder, capsys):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.columns, two = list("abcd"), y < 2

    def inspected(model):
        lk.save(model, "m.lk")
        code, out, _ = said(capsys, "inspect", "m.lk")
        assert code == 0
        return out.splitlines()

    model = lk.GaussianNB(priors=[0.2, 0.3, 0.5]).fit(X, y)
    lines = inspected(model)
    assert lines[0] == "GaussianNB(priors=[0.2, 0.3, 0.5])"
    assert "means" in "".join(lines)
    (row,) = (line for line in lines if line.startswith("d "))
    assert row.split()[1:4] == [f"{model.theta_[0, 3]:.5g}", "±", f"{model.var_[0, 3] ** 0.5:.3g}"]
    model = lk.LogisticRegression(C=0.5).fit(X[two], y[two])
    lines = inspected(model)
    assert lines[0] == "LogisticRegression(C=0.5)"
    assert any(line.startswith(f"fit       {model.n_iter_[0]} iterations, converged: ") for line in lines)
    assert lines[-8].split() == ["weights", "1"]
    assert lines[-7].split() == ["a", f"{model.coef_[0, 0]:.5g}"]
    lines = inspected(lk.LinearRegression().fit(X[["a", "b"]], X[["c", "d"]]))
    assert lines[-6].split() == ["weights", "y0", "y1"]
    lines = inspected(lk.LinearDiscriminantAnalysis().fit(X, y).to_linear())
    assert lines[:2] == ["LinearClassifier", "classes   0, 1, 2"]
    assert lines[3].split() == ["weights", "0", "1", "2"]


def test_inspect_shows_no_more_than_anybody_reads(folder, capsys):
    rng = np.random.default_rng(0)
    lk.save(lk.LinearRegression().fit(rng.normal(size=(90, 60)), rng.normal(size=90)), "m.lk")
    out = said(capsys, "inspect", "m.lk")[1]
    assert "and 31 more" in out
    assert len(json.loads(said(capsys, "inspect", "m.lk", "--json")[1])["learned"]["names"]) == 61
    lk.save(lk.GaussianNB().fit(rng.normal(size=(90, 2)), np.arange(90) % 30), "m.lk")
    assert "means" not in said(capsys, "inspect", "m.lk")[1]
