"""The rows of the races of online learning, in all their formats, and what is measured on them."""

import csv
import io
import math
import sys

import numpy as np
import pytest
from benchmarks.race import clicks, online_measures, online_problems, wabbit
from benchmarks.race.online_measures import Answers, OneByOne, Program, one_pass, row_by_row
from benchmarks.race.online_problems import ClickFiles, Count, Stream, Table, Wabbit, Written, dense
from benchmarks.race.registry import CONTENDERS, PROBLEMS
from benchmarks.race.runner import race
from benchmarks.race.trial import run
from scipy import sparse


# ---- clicks ------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def block():
    (rows,) = clicks.blocks(clicks.BLOCK)
    return rows


def test_clicks_begin_the_same_however_many_there_are(block):
    first, second = clicks.blocks(clicks.BLOCK + 7)
    for part, again, few in zip(block, first, *clicks.blocks(100), strict=True):
        np.testing.assert_array_equal(part, again)
        np.testing.assert_array_equal(part[:100], few)
    assert len(second.y) == 7
    assert not np.array_equal(second.counts, first.counts[:7])


def test_clicks_are_as_they_are_called(block):
    assert block.y.mean() == pytest.approx(0.22, abs=0.01)
    gaps = (block.words == 0).mean(axis=0)
    assert (gaps == 0).any()
    assert 0.02 < gaps.max() < 0.3
    levels = np.sort([len(np.unique(column)) for column in block.words.T])
    assert levels[0] <= 5
    assert levels[-1] > 5_000
    commonest = [np.unique(column, return_counts=True)[1].max() for column in block.words.T]
    assert min(commonest) > 0.05 * len(block.y)  # tails are long, and heads heavy
    there = np.where(block.counts < 0, np.nan, block.counts)
    assert (np.nanmean(there, axis=0) > 1.1 * np.nanmedian(there, axis=0)).sum() >= 10  # skewed


def test_clicks_are_the_same_rows_in_every_format(block):
    rows = clicks.Clicks(*(part[:500] for part in block))
    expected = list(clicks.dicts([rows]))
    table = csv.DictReader(io.StringIO((clicks.HEADER + clicks.tsv(rows)).decode()), delimiter="\t")
    lines = clicks.vw(rows).decode().splitlines()
    for (x, y), cells, line in zip(expected, table, lines, strict=True):
        assert int(cells.pop("click")) == y
        assert {k: v for k, v in cells.items() if v} == {k: str(v) for k, v in x.items()}
        label, counts, words = line.split("|")
        assert int(label) == (1 if y else -1)
        found = dict(cell.split(":") for cell in counts.split()[1:])
        found |= dict(cell.split("=") for cell in words.split()[1:])
        assert found == {k: str(v) for k, v in x.items()}


def test_files_of_clicks_come_back_from_their_folder(tmp_path):
    ClickFiles(20).save(tmp_path)
    files = ClickFiles.load(tmp_path)
    assert files.n == 20
    assert files.tsv.read_bytes().count(b"\n") == 21
    assert files.vw.read_bytes().count(b"\n") == 20
    assert sorted(tmp_path.iterdir()) == [files.tsv, files.vw]


# ---- Vowpal Wabbit's text ----------------------------------------------------------------------------
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_text_holds_the_values_exactly(form, monkeypatch):
    monkeypatch.setattr(wabbit, "_ROWS", 30)
    rng = np.random.default_rng(0)
    X = wabbit.rounded(rng.standard_normal((100, 12)) * np.geomspace(0.01, 1000, 12))
    X *= rng.random(X.shape) < 0.6
    X[:, 3] = np.maximum(X[:, 3], 0.5)
    y = rng.integers(2, size=100)
    text = b"".join(wabbit.lines(form(X), y)).decode()
    back = np.zeros_like(X)
    for i, line in enumerate(text.splitlines()):
        label, cells = line.split(" |x ")
        assert int(label) == (1 if y[i] else -1)
        for cell in cells.split():
            j, value = cell.split(":")
            back[i, int(j)] = float(value)
    np.testing.assert_allclose(back, X, rtol=0, atol=1e-12)


def test_text_of_an_empty_row_is_refused():
    with pytest.raises(ValueError, match="would be lost"):
        list(wabbit.lines(np.eye(3) * [[1], [0], [1]], np.zeros(3, int)))


def test_lines_of_dicts_keep_to_the_format():
    assert wabbit.line({"a": 1.5, "b c": -2, "t": "10:30 |x"}, 1) == "1 | a:1.5 b_c:-2 t=10_30__x"
    assert wabbit.line({"a": "u"}, 0) == "-1 | a=u"


# ---- streams -----------------------------------------------------------------------------------------
def test_tables_are_read_column_by_column(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,c,y\n1,u,7,1\n,1,8,0\n0.5,,9,1\n")
    table = Table("t.csv", "y", words=("c",))
    assert table.rows(tmp_path) == [
        ({"a": 1.0, "b": "u", "c": "7"}, 1),
        ({"b": "1", "c": "8"}, 0),
        ({"a": 0.5, "c": "9"}, 1),
    ]
    table.write(tmp_path, tmp_path / "t.vw")
    assert (tmp_path / "t.vw").read_text().splitlines()[1] == "-1 | b=1 c=8"


def test_wabbit_files_are_read_and_their_labels_made_its_own(tmp_path):
    (tmp_path / "s.vw").write_text("0 |f 3:0.5 17:1e-2\n1 |f 3:2\n")
    stream = Wabbit("s.vw")
    assert stream.rows(tmp_path) == [({"3": 0.5, "17": 0.01}, 0), ({"3": 2.0}, 1)]
    stream.write(tmp_path, tmp_path / "t.vw")
    assert (tmp_path / "t.vw").read_text() == "-1 |f 3:0.5 17:1e-2\n1 |f 3:2\n"


def test_streams_have_the_rows_that_they_are_known_for(data_folder):
    rows = {"elec2": 45_312, "phishing": 1250, "criteo": 8000, "rcv1": 1000, "vw_0001": 200}
    for name, n in rows.items():
        found = online_problems.STREAMS[name].rows(data_folder)
        assert len(found) == n
        assert {y for _, y in found} == {0, 1}
    x, _ = found[0]
    assert x["13"] == 3.9656971e-02


def test_streams_that_are_not_there_are_left_out_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("LIKELIER_DATA", str(tmp_path))
    (row,) = race([CONTENDERS["streams/river/LogisticRegression"]], repeats=1, scale=1.0, threads=1)
    assert "elec2.csv.gz" in row.absent
    assert not row.failed
    assert not row.wanted()


# ---- measures ----------------------------------------------------------------------------------------
def parrot():
    """Knows the rows that it has learned, and nothing else."""
    seen = {}
    return OneByOne(lambda x, y: seen.update({x["i"]: y}), lambda x: float(seen.get(x["i"], 0.5)))


def test_rows_are_answered_before_they_are_learned_from():
    rows = [({"i": i % 10}, i % 10 % 2) for i in range(20)]
    assert online_measures.progressive(parrot(), rows[:10]) == pytest.approx(math.log(2))
    assert online_measures.progressive(parrot(), rows) == pytest.approx(math.log(2) / 2)
    wrong = [({"i": 0}, 0), ({"i": 0}, 1)]
    assert online_measures.progressive(parrot(), wrong) == pytest.approx(
        (math.log(2) - math.log(online_measures.LEAST)) / 2
    )


def test_a_row_is_timed_by_learning_alone(monkeypatch):
    learned = []
    monkeypatch.setattr(online_measures, "timed", lambda call, *rest: call(*rest) or 3.0)
    rows = [({"i": i}, i % 2) for i in range(6)]
    figures = row_by_row(lambda: OneByOne(lambda x, y: learned.append(x["i"]), lambda x: 0.5), rows)
    assert figures == {"row": pytest.approx(0.5), "progressive": pytest.approx(math.log(2))}
    assert len(learned) == 6 * (online_measures.ON_MANY + 1)


def test_some_of_the_rows_count_for_all(monkeypatch):
    monkeypatch.setattr(online_measures, "timed", lambda call, *rest: call(*rest) or 2.0)
    passes = Answers(lambda rows, n: [0.5] * n, 20)
    assert one_pass(lambda: passes, Count(1000)) == {
        "fit": pytest.approx(100.0),
        "progressive": pytest.approx(math.log(2)),
    }


def test_programs_say_their_loss_or_why_not():
    code = "print('average loss = 0.5'); print('average loss = 0.25')"
    program = Program(lambda rows: [sys.executable, "-c", code], wabbit.LOSS)
    assert one_pass(lambda: program, None)["progressive"] == 0.25
    program = Program(lambda rows: [sys.executable, "-c", "raise SystemExit('no such file')"], wabbit.LOSS)
    with pytest.raises(RuntimeError, match="no such file"):
        program.run(None)


# ---- peers, on few rows ------------------------------------------------------------------------------
def test_arrays_are_passed_over_once(tmp_path):
    Written(dense(3000, 500)).save(tmp_path)
    figures = run("dense-online/scikit-learn/SGD", tmp_path)["figures"]
    assert 0.5 < figures["accuracy"] < 1
    assert figures.keys() == {"fit", "accuracy", "log_loss"}
    figures = run("dense-online/scikit-learn/Perceptron", tmp_path)["figures"]
    assert figures.keys() == {"fit", "accuracy"}


def test_vowpal_wabbit_reads_its_files(tmp_path):
    pytest.importorskip("vowpalwabbit")
    Written(dense(3000, 500)).save(tmp_path)
    figures = run("dense-online/vowpalwabbit/from its file", tmp_path)["figures"]
    assert 0.38 < figures["progressive"] < 0.6


def test_river_learns_row_by_row(tmp_path):
    pytest.importorskip("river")
    Count(2000).save(tmp_path)
    figures = run("one-row/river/SGD", tmp_path)["figures"]
    assert 0.38 < figures["progressive"] < 0.65
    by_hand, native = (
        run(f"one-row-clicks/river/SGD, {how}", tmp_path)["figures"]["progressive"]
        for how in ("hash()", "FeatureHasher")
    )
    assert by_hand == pytest.approx(native, rel=0.01)


def test_river_scales_numbers_and_leaves_strings():
    pytest.importorskip("river")
    rng = np.random.default_rng(0)
    z = rng.standard_normal(1500)
    rows = [({"a": 1e3 * v, "b": "up" if v > 0 else "down"}, int(v > 0)) for v in z]
    scaled = CONTENDERS["streams/river/StandardScaler, LogisticRegression"].make()(Stream(rows, None))
    numbers = [({"a": x["a"]}, y) for x, y in rows]
    assert scaled < CONTENDERS["streams/river/StandardScaler, LogisticRegression"].make()(
        Stream(numbers, None)
    )


def test_scikit_learn_answers_block_by_block(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.race.online_contenders.BLOCK", 1000)
    ClickFiles(3000).save(tmp_path)
    name = next(key for key in CONTENDERS if key.startswith("clicks/scikit-learn/FeatureHasher"))
    candidate_model, files = CONTENDERS[name].make(), PROBLEMS["clicks"].load(tmp_path)
    candidate_model.warm(files)
    candidate_model.run(files)
    assert len(candidate_model._P) == 2000
    assert candidate_model.share == 1
