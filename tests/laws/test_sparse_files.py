"""The laws of svmlight and VW files: the rows are those of scikit-learn's reader, however they are cut."""

import gzip
import io
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import likelier as lk
from likelier import _core
from likelier.data.files import base, svmlight
from likelier.streams.model import Online, Settings
from likelier.streams.reader import ReadOptions, TextFeed

MODELS = [
    lk.MultinomialNB(),
    lk.BernoulliNB(),
    lk.ComplementNB(),
    lk.LogisticRegression(tol=1e-9),
    lk.LinearSVC(tol=1e-9),
    lk.SGDClassifier(max_iter=3, tol=None, shuffle=False),
    lk.Perceptron(max_iter=5, tol=None, shuffle=False),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def problem(n: int = 300, p: int = 40, seed: int = 0, K: int = 3) -> tuple[sparse.csr_matrix, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    X = sparse.random(n, p, 0.2, "csr", rng=rng, data_rvs=lambda k: rng.integers(1, 6, k) / 4)
    tell = sparse.csr_matrix((np.ones(n), (np.arange(n), y)), shape=(n, p))
    return sparse.csr_matrix(X + tell), y.astype(np.float64)


def write(path, X, y, *, zero_based=False) -> None:
    with path.open("wb") as file:
        dump_svmlight_file(X, y, file, zero_based=zero_based)


def rows_of(source) -> tuple[sparse.csr_matrix, np.ndarray]:
    """All that a source holds, part by part, as they travel."""
    chunks = [chunk for part in source.parts(0) for chunk in pickle.loads(pickle.dumps(part))()]
    blocks = [
        sparse.csr_matrix((c.X.values, c.X.columns, c.X.starts), shape=(len(c.y), source.p)) for c in chunks
    ]
    firsts = np.cumsum([0, *(len(c.y) for c in chunks)])[:-1]
    assert [c.first for c in chunks] == firsts.tolist()
    return sparse.vstack(blocks, format="csr"), np.concatenate([c.y for c in chunks])


def same(A: sparse.csr_matrix, B: sparse.csr_matrix) -> None:
    assert A.shape == B.shape
    assert (A.indptr == B.indptr).all()
    assert (A.indices == B.indices).all()
    assert A.data.tobytes() == B.data.tobytes()


@pytest.fixture
def small_pieces(monkeypatch):
    """Files are cut every few hundred bytes."""

    def cut(size: int) -> None:
        monkeypatch.setattr(base, "UNIT", size)
        monkeypatch.setattr(svmlight, "PART_BYTES", 3 * size)
        monkeypatch.setattr(svmlight, "BLOCK_BYTES", size)

    return cut


@given(seed=st.integers(0, 99), zero=st.booleans(), size=st.integers(20, 3000), files=st.integers(1, 3))
@settings(max_examples=25)
def test_any_cut_gives_the_rows_of_the_reference(tmp_path_factory, seed, zero, size, files):
    folder = tmp_path_factory.mktemp("cut")
    X, y = problem(60, 12, seed)
    ends = np.linspace(0, 60, files + 1).astype(int)
    for i, (start, stop) in enumerate(itertools.pairwise(ends)):
        write(folder / f"{i}.svm", X[start:stop], y[start:stop], zero_based=zero)
    text = io.BytesIO(b"".join((folder / f"{i}.svm").read_bytes() for i in range(files)))
    expected, labels = load_svmlight_file(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "UNIT", size)
        patch.setattr(svmlight, "PART_BYTES", 3 * size)
        patch.setattr(svmlight, "BLOCK_BYTES", size)
        source = lk.scan(folder / "*.svm")
        found, y_found = rows_of(source)
    same(found, expected)
    assert (y_found == labels).all()
    assert (source.rows, source.p, source.names) == (60, expected.shape[1], None)


@every_model
def test_a_fit_to_files_is_the_fit_to_the_rows_of_the_reference(tmp_path, model, small_pieces):
    X, y = problem()
    write(tmp_path / "a.svm", X[:200], y[:200])
    write(tmp_path / "b.svm", X[200:], y[200:])
    source = lk.scan(tmp_path)
    expected = clone(model).fit(X, y)
    whole = clone(model).fit(source)
    small_pieces(700)
    assert len(lk.scan(tmp_path).parts(0)) > 6
    cut = clone(model).fit(lk.scan(tmp_path))
    for found in (whole, cut):
        assert not hasattr(found, "feature_names_in_")
        assert found.n_features_in_ == X.shape[1]
        assert (found.classes_ == expected.classes_).all()
        np.testing.assert_array_equal(found.predict(X), found.predict(source))
        assert found.score(source) == found.score(X, y)
        for name in ("coef_", "feature_log_prob_"):
            if hasattr(expected, name):
                want = getattr(expected, name)
                np.testing.assert_allclose(getattr(found, name), want, rtol=1e-6, atol=1e-7)
    if hasattr(expected, "feature_log_prob_"):
        np.testing.assert_allclose(cut.feature_log_prob_, expected.feature_log_prob_, rtol=1e-12)


def test_bit_for_bit_where_parts_agree(tmp_path):
    X, y = problem()
    write(tmp_path / "a.svm", X, y)
    # By one solver: "auto" chooses another for rows in memory than for files.
    for model in (lk.MultinomialNB(), lk.LogisticRegression(solver="newton"), lk.BernoulliNB()):
        a = clone(model).fit(X, y)
        b = clone(model).fit(lk.scan(tmp_path / "a.svm"))
        name = "coef_" if hasattr(a, "coef_") else "feature_log_prob_"
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes()


def test_regressions_take_real_labels(tmp_path):
    X, _ = problem()
    y = X @ np.arange(40) + 0.5
    write(tmp_path / "a.svm", X, y)
    source = lk.scan(tmp_path / "a.svm")
    model = lk.LinearRegression().fit(source)
    expected = lk.LinearRegression().fit(X, load_svmlight_file(str(tmp_path / "a.svm"))[1])
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
    with pytest.raises(ValueError, match=r"row 0 \(line 1\) of .*a\.svm: the label is not an integer"):
        lk.LogisticRegression().fit(source)


def test_a_narrower_file_is_filled_up_and_a_wider_one_refused(tmp_path):
    X, y = problem()
    write(tmp_path / "a.svm", X[:, :20], y)
    write(tmp_path / "b.svm", X, y)
    model = lk.MultinomialNB().fit(lk.scan(tmp_path / "b.svm"))
    narrow = X.copy().toarray()
    narrow[:, 20:] = 0
    np.testing.assert_array_equal(model.predict(lk.scan(tmp_path / "a.svm")), model.predict(narrow))
    small = lk.MultinomialNB().fit(lk.scan(tmp_path / "a.svm"))
    with pytest.raises(ValueError, match="X has 40 features, but MultinomialNB is expecting 20"):
        small.predict(lk.scan(tmp_path / "b.svm"))


def test_partial_fit_goes_from_file_to_file(tmp_path):
    X, y = problem()
    write(tmp_path / "a.svm", X[:150], y[:150])
    write(tmp_path / "b.svm", X[150:], y[150:])
    model = lk.MultinomialNB()
    for name in ("a", "b"):
        model.partial_fit(lk.scan(tmp_path / f"{name}.svm"), classes=[0.0, 1.0, 2.0])
    np.testing.assert_allclose(
        model.feature_log_prob_, lk.MultinomialNB().fit(X, y).feature_log_prob_, rtol=1e-12
    )


def test_packed_files_are_one_part_each(tmp_path, small_pieces):
    X, y = problem()
    write(tmp_path / "a.svm", X, y)
    (tmp_path / "b.svm.gz").write_bytes(gzip.compress((tmp_path / "a.svm").read_bytes()))
    small_pieces(500)
    source = lk.scan(tmp_path / "b.svm.gz")
    assert len(source.parts(0)) == 1
    same(rows_of(source)[0], rows_of(lk.scan(tmp_path / "a.svm"))[0])


# ---- VW --------------------------------------------------------------------------------------------
def vw_lines(n: int = 200, seed: int = 0) -> str:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        words = rng.integers(0, 30, 5)
        label = 1 if words.min() < 4 else -1
        weight = rng.integers(1, 4)
        cells = " ".join(f"w{word}:{rng.integers(1, 9) / 8:g}" for word in words)
        found.append(f"{label} {weight} tag|text {cells} |other c{words[0] % 3}")
    return "\n".join(found) + "\n"


@pytest.mark.parametrize("bits", [6, 18])
def test_columns_of_vw_are_the_slots_of_a_learner(tmp_path, small_pieces, monkeypatch, bits):
    small_pieces(400)
    monkeypatch.setattr(svmlight, "VW_BITS", bits)
    path = tmp_path / "t.vw"
    path.write_text(vw_lines())
    source = lk.scan(path)
    assert (source.p, source.rows) == (1 << bits, 200)
    X, y = rows_of(source)
    rows = _core.HashedRows()
    parser = _core.TextParser("vw")
    parser.parse(path.read_bytes(), rows, True)
    keys, values, starts, codes, weights = _core.cells_of(rows)
    expected = sparse.csr_matrix(
        (values, (keys & np.uint64((1 << bits) - 1)).astype(np.int64), starts), shape=X.shape
    )
    expected.sum_duplicates()
    same(X, expected)
    assert (y == np.array([float(label) for label in parser.labels])[codes]).all()
    w = np.concatenate([chunk.w for part in source.parts(0) for chunk in part()])
    assert (w == weights).all()
    if bits > 6:
        return
    model = lk.LogisticRegression(tol=1e-10).fit(source)
    reference = lk.LogisticRegression(tol=1e-10).fit(expected, y, weights)
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-6)
    assert model.score(source) == reference.score(expected, y, weights)


@pytest.mark.parametrize("kind", ["svm", "vw"])
@pytest.mark.parametrize("interactions", [None, [("text", "other")]])
def test_an_online_model_sees_the_features_of_the_stream(tmp_path, kind, interactions):
    path = tmp_path / f"t.{kind}"
    if kind == "svm":
        write(path, *problem(K=2))
    else:
        path.write_text(vw_lines())
    source = lk.scan(path)
    model = lk.OnlineClassifier(interactions=interactions, shuffle=False).fit(source)
    rows = _core.HashedRows()
    stream = Online(Settings(interactions=interactions), ["0", "1"] if kind == "svm" else ["-1", "1"])
    feed = TextFeed([str(path)], ReadOptions(crosses=interactions or ()), labels=stream.labels)
    for fill in feed.fills():
        rows.clear()
        fill(rows)
        stream.learn(rows)
    P = model.predict_proba(source)
    rows.clear()
    for fill in TextFeed([str(path)], ReadOptions(crosses=interactions or ())).fills():
        fill(rows)
    assert P.tobytes() == stream.learner.predict(rows).tobytes()
    y = rows_of(source)[1]
    w = [chunk.w for part in source.parts(0) for chunk in part()]
    right = model.predict(source) == y
    assert model.score(source) == np.average(right, weights=None if kind == "svm" else np.concatenate(w))
