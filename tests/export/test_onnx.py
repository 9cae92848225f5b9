"""ONNX: onnxruntime answers as the model does, on every row that it takes."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import likelier as lk
from export.models import CASES, counts, dated, gappy, new_rows, numbers, quietly, table
from likelier.data.table_columns import DATE_PARTS, TableColumn
from likelier.estimators.to_onnx import inputs_of

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
from likelier.export.onnx_dates import part_of  # noqa: E402
from likelier.export.onnx_graph import Graph  # noqa: E402
from likelier.export.program import Input  # noqa: E402

DATA = Path(os.environ.get("LIKELIER_DATA", Path(__file__).parents[2] / "../shared/data"))
TYPES = {"float32": "tensor(float)", "float64": "tensor(double)"}


def session_of(proto):
    content = proto if isinstance(proto, bytes | str) else proto.SerializeToString()
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def answered(proto, inputs):
    session = session_of(proto)
    return dict(zip([each.name for each in session.get_outputs()], session.run(None, inputs), strict=True))


def assert_same(model, X, digits, dtype="float64"):
    """Labels and probabilities of onnxruntime, beside the model's of the same rows."""
    found = answered(lk.to_onnx(model, dtype=dtype), inputs_of(model, X, dtype))
    if "prediction" in found:
        Y = quietly(lambda: model.predict(X))
        error = np.abs(found["prediction"].reshape(np.shape(Y)) - Y) / np.maximum(1.0, np.abs(Y))
        assert error.max() <= digits
        return
    labels = quietly(lambda: model.predict(X))
    if "probabilities" not in found:
        assert np.array_equal(found["label"], labels)
        return
    P = quietly(lambda: model.predict_proba(X))
    assert np.abs(found["probabilities"] - P).max() <= digits
    top = np.sort(P, axis=1)[:, -2:]
    clear = top[:, 1] - top[:, 0] > digits if P.shape[1] > 1 else np.ones(len(P), dtype=bool)
    assert np.array_equal(found["label"][clear], labels[clear])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_double_precision_agrees_to_twelve_digits(case):
    assert_same(case.fit(), case.rows(), 1e-12)


def in_single(X):
    """The same rows, their numbers rounded to single precision, and those that it has not left out."""
    found = X.copy()
    for name in X.columns[[kind.kind == "f" for kind in X.dtypes]]:
        with np.errstate(over="ignore"):
            found[name] = X[name].astype(np.float32).astype(np.float64)
    return found[~np.isinf(found.select_dtypes("number")).any(axis=1)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_single_precision_agrees_to_six_digits(case):
    X = in_single(case.rows())
    if X.columns[[kind.kind == "M" for kind in X.dtypes]].any() or case.name in ("GaussianNB in units",):
        pytest.skip("dates and numbers of 1e200 need doubles")
    assert_same(case.fit(), X, 1e-6, "float32")


@pytest.mark.parametrize("dtype", TYPES)
def test_inputs_and_outputs_have_the_type_that_is_asked_for(dtype):
    session = session_of(lk.to_onnx(lk.GaussianNB().fit(*numbers()), dtype=dtype))
    assert [each.type for each in session.get_inputs()] == [TYPES[dtype]]
    assert [(each.name, each.type) for each in session.get_outputs()] == [
        ("label", "tensor(string)"),
        ("probabilities", TYPES[dtype]),
    ]


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize(
    "model",
    [
        lk.GaussianNB(),
        lk.QuadraticDiscriminantAnalysis(),
        lk.KernelDensityClassifier(),
        lk.LogisticRegression(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_few_rows_and_none_have_answers(model, rows):
    X, y = numbers()
    model.fit(X, y)
    for some in (X.iloc[:rows], *([gappy(X).iloc[:rows]] if not hasattr(model, "C") else [])):
        found = answered(lk.to_onnx(model), inputs_of(model, some))
        assert found["probabilities"].shape == (rows, 3)
        if rows:
            np.testing.assert_allclose(found["probabilities"], model.predict_proba(some), atol=1e-12)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["a", "b", "c"], "tensor(string)"),
        ([1, 5, 9], "tensor(int64)"),
        ([0.0, 1.0, 2.0], "tensor(double)"),
        ([False, True, True], "tensor(bool)"),
    ],
)
def test_labels_keep_their_type(labels, kind):
    X, y = numbers()
    y = np.array(labels)[np.unique(y, return_inverse=True)[1]]
    model = lk.GaussianNB().fit(X, y)
    session = session_of(lk.to_onnx(model))
    assert session.get_outputs()[0].type == kind
    assert np.array_equal(session.run(["label"], inputs_of(model, X))[0], model.predict(X))


def test_ties_go_to_the_first_class():
    X = np.array([[0.0], [1.0], [0.0], [1.0]])
    model = lk.MultinomialNB().fit(X, ["b", "b", "a", "a"])
    found = answered(lk.to_onnx(model), {"X": X})
    assert found["label"].tolist() == model.predict(X).tolist() == ["a"] * 4
    assert (found["probabilities"] == 0.5).all()


def test_categories_of_all_types_are_taken():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    frame = pd.DataFrame(
        {
            "text": np.array(["", "a", 'say "hi"', "line\nbreak", "🎈"], dtype=object)[
                rng.integers(0, 5, 200)
            ],
            "number": pd.Categorical(rng.integers(3, 6, 200) + y),
            "size": pd.Categorical(rng.choice(["s", "m", "l"], 200), ["s", "m", "l"], ordered=True),
            "x": rng.normal(y),
        }
    )
    for model in (lk.LogisticRegression(), lk.NaiveBayes()):
        assert_same(model.fit(frame, y), frame, 1e-12)


def test_a_category_that_is_missing_is_an_empty_string():
    X, y = table()
    model = lk.NaiveBayes().fit(X, y)
    inputs = inputs_of(model, X)
    assert (inputs["colour"][X["colour"].isna()] == "").all()
    inputs["colour"][:] = "never seen"
    found = answered(lk.to_onnx(model), inputs)
    expected = quietly(lambda: model.predict_proba(X.assign(colour="never seen")))
    np.testing.assert_allclose(found["probabilities"], expected, atol=1e-12)


def test_parts_of_dates_are_those_of_the_calendar():
    days = np.concatenate(
        [np.arange(-800_000, 800_000, 137) + 0.3, np.arange(10_000, 10_800) + 0.999, [np.nan]]
    )
    graph, outputs = Graph(), []
    for part in DATE_PARTS:
        found = part_of(graph, Input("when", "date"), "x", part)
        graph.nodes.append(onnx.helper.make_node("Identity", [found], [part]))
        outputs.append(onnx.helper.make_tensor_value_info(part, onnx.TensorProto.DOUBLE, None))
    taken = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.DOUBLE, ["n"])
    made = onnx.helper.make_graph(graph.nodes, "dates", [taken], outputs, graph.constants)
    opset = onnx.helper.make_opsetid("", 17)
    found = answered(onnx.helper.make_model(made, opset_imports=[opset], ir_version=8), {"x": days})
    moments = TableColumn("when", "date", None)._moments(days)
    for part, function in DATE_PARTS.items():
        expected = function(moments).cast("double").to_numpy(zero_copy_only=False)
        np.testing.assert_array_equal(found[part], expected, err_msg=part)


@pytest.mark.parametrize("model", [lk.LogisticRegression(), lk.LinearSVC()], ids=["logistic", "svc"])
def test_linear_models_have_no_answer_to_missing_numbers(model):
    X, y = numbers()
    found = answered(lk.to_onnx(model.fit(X, y)), inputs_of(model, X.mask(X < 3)))
    answer = found.get("probabilities", found.get("scores"))
    assert np.array_equal(np.isnan(answer).any(axis=1), (X < 3).any(axis=1))


@pytest.mark.skipif(not (DATA / "adult_train.csv.gz").exists(), reason="the adult data are not there")
def test_naive_bayes_of_adult_is_small_quick_and_equal():
    train, test = (
        pd.read_csv(DATA / f"adult_{part}.csv.gz", na_values="?", keep_default_na=False)
        for part in ("train", "test")
    )
    y = train.pop("income")
    model = quietly(lambda: lk.NaiveBayes().fit(train, y))
    start = time.perf_counter()
    proto = lk.to_onnx(model)
    assert time.perf_counter() - start < 1
    assert proto.ByteSize() < 1_000_000
    assert_same(model, test.drop(columns="income"), 1e-12)


# ---- files -----------------------------------------------------------------------------------------
def test_files_are_written_once_unless_told_otherwise(tmp_path):
    X, y = numbers()
    model, path = lk.GaussianNB().fit(X, y), tmp_path / "model.onnx"
    proto = lk.to_onnx(model, path)
    assert path.read_bytes() == proto.SerializeToString()
    with pytest.raises(FileExistsError, match=r"model.onnx exists: give another path, or overwrite=True"):
        lk.to_onnx(model, path)
    lk.to_onnx(lk.GaussianNB().fit(X[["x0"]], y), str(path), overwrite=True)
    assert session_of(str(path)).get_inputs()[0].shape == ["n", 1]


# ---- what cannot be written ------------------------------------------------------------------------
class Custom(lk.BayesClassifier):
    """Of a density that nobody knows."""


@pytest.mark.parametrize(
    ("model", "kind", "words"),
    [
        (lk.GaussianNB(), NotFittedError, "GaussianNB instance is not fitted yet"),
        (lk.OnlineClassifier(), ValueError, "OnlineClassifier cannot be exported: its features are hashed"),
        (lk.TextClassifier(), ValueError, "TextClassifier cannot be exported"),
        (object(), TypeError, "model must be a fitted classifier or regression of likelier"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_cannot_be_expressed_says_so(model, kind, words):
    with pytest.raises(kind, match=words):
        lk.to_onnx(model)


def test_types_are_listed():
    with pytest.raises(ValueError, match="dtype must be one of 'float32', 'float64'; got 'float16'"):
        lk.to_onnx(lk.GaussianNB().fit(*numbers()), dtype="float16")


def test_covariances_without_full_rank_say_so():
    X, y = numbers()
    X["copy"] = X["x0"]
    model = quietly(lambda: lk.LinearDiscriminantAnalysis().fit(X, y))
    with pytest.raises(ValueError, match="a covariance has not full rank"):
        lk.to_onnx(model)


def test_parts_of_dates_in_zones_say_so():
    X = dated()[0]
    X["when"] = X["when"].dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
    design = lk.DesignMatrix(parts={"when": ["hour"]}).fit(X)
    assert design.transform(X).shape[0] == len(X)
    with pytest.raises(ValueError, match="by the clock of Europe/Berlin, and ONNX knows no time zones"):
        part_of(Graph(), Input("when", "date", zone="Europe/Berlin"), "x", "hour")


def test_a_missing_package_says_what_to_install():
    code = (
        "import sys; sys.modules['onnx'] = None\nimport likelier as lk\n"
        "model = lk.GaussianNB().fit([[0.0], [1.0]], [0, 1])\n"
        "try:\n    lk.to_onnx(model)\n"
        "except ImportError as error:\n    assert 'likelier[onnx]' in str(error)\n"
        "else:\n    raise AssertionError"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_rows_that_no_family_takes_are_missing_cells():
    X, y = counts()
    model = lk.PoissonNB().fit(X, y)
    odd = new_rows_of_counts(X)
    assert_same(model, odd, 1e-12)


def new_rows_of_counts(X):
    odd = X.copy()
    odd.iloc[0, 0], odd.iloc[1, 1], odd.iloc[2, 2] = -1.0, 0.5, np.nan
    return odd


def test_unseen_levels_and_odd_values_of_a_table():
    X, y = table(quotes=True)
    model = lk.NaiveBayes().fit(X, y)
    assert_same(model, new_rows(X), 1e-12)
