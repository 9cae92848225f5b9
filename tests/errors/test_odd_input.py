"""What can be used is used: every layout, dtype and kind of table gives the answers of the plain one."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import likelier as lk
from errors.conftest import X, Y


def unaligned(table):
    """The same numbers, one byte off."""
    room = np.zeros(table.nbytes + 1, dtype=np.uint8)
    moved = room[1:].view(table.dtype).reshape(table.shape)
    moved[...] = table
    assert not moved.flags.aligned
    return moved


def read_only(table):
    table = table.copy()
    table.flags.writeable = False
    return table


def among_others(table):
    """Every other row and column of a larger table."""
    wide = np.full((2 * len(table), 2 * table.shape[1]), -77, dtype=table.dtype)
    wide[::2, ::2] = table
    return wide[::2, ::2]


def within_records(table):
    """A field of an array of records: rows lie an odd number of bytes apart."""
    records = np.zeros(len(table), dtype=[("mark", "i1"), ("row", table.dtype, table.shape[1])])
    records["row"] = table
    return records["row"]


def with_duplicates(table):
    """CSR that holds every number in two halves, out of order, and zeros that it need not hold."""
    n, p = table.shape
    columns = np.tile(np.concatenate([np.arange(p), np.arange(p)[::-1]]), n)
    values = np.concatenate([table / 2, table[:, ::-1] / 2], axis=1).ravel()
    return sparse.csr_array((values, columns, np.arange(0, 2 * n * p + 1, 2 * p)), shape=table.shape)


def unsorted_csr(table):
    n, p = table.shape
    columns = np.tile(np.arange(p)[::-1], n)
    return sparse.csr_array(
        (table[:, ::-1].ravel(), columns, np.arange(0, n * p + 1, p)), shape=table.shape
    )


def wide_indices(table):
    csr = sparse.csr_array(table)
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return csr


def mixed_frame(table):
    return pd.DataFrame(
        {0: table[:, 0].astype("i2"), 1: table[:, 1].astype("f4"), 2: table[:, 2].astype("u8")}
    )


ODD = {
    **{f"dtype {t}": lambda table, t=t: table.astype(t) for t in "bBhHiIlLqQefdgO"},
    "big-endian doubles": lambda table: table.astype(">f8"),
    "big-endian floats": lambda table: table.astype(">f4"),
    "big-endian integers": lambda table: table.astype(">i4"),
    "read-only": read_only,
    "Fortran order": np.asfortranarray,
    "Fortran order, float32": lambda table: np.asfortranarray(table, dtype=np.float32),
    "every other row and column": among_others,
    "every other row and column of float32": lambda table: among_others(table.astype(np.float32)),
    "rows backwards": lambda table: table[::-1].copy()[::-1],
    "columns backwards": lambda table: table[:, ::-1].copy()[:, ::-1],
    "unaligned": unaligned,
    "unaligned float32": lambda table: unaligned(table.astype(np.float32)),
    "a field of records": within_records,
    "lists": lambda table: table.tolist(),
    "tuples": lambda table: tuple(map(tuple, table.tolist())),
    "a masked array that hides nothing": np.ma.masked_array,
    "a subclass of ndarray": lambda table: table.view(type("Other", (np.ndarray,), {})),
    "CSR": sparse.csr_array,
    "CSR matrix": sparse.csr_matrix,
    "CSC": sparse.csc_array,
    "COO": sparse.coo_array,
    "CSR of integers": lambda table: sparse.csr_array(table.astype(int)),
    "CSR of float32": lambda table: sparse.csr_array(table.astype(np.float32)),
    "CSR with 64-bit indices": wide_indices,
    "CSR with duplicates": with_duplicates,
    "CSR out of order": unsorted_csr,
    "COO with duplicates": lambda table: with_duplicates(table).tocoo(),
    "a frame": pd.DataFrame,
    "a frame of many dtypes": mixed_frame,
    "a frame of objects": lambda table: pd.DataFrame(table, dtype=object),
    "a frame of nullable integers": lambda table: pd.DataFrame(table).astype("Int64"),
    "a sparse frame": lambda table: pd.DataFrame(table).astype(pd.SparseDtype(float, 0.0)),
}


@pytest.mark.parametrize("kind", ODD)
def test_every_kind_of_table_gives_the_same_answers(model, kind):
    plain = clone(model).fit(X, Y)
    odd = ODD[kind](X)
    model.fit(odd, Y)
    np.testing.assert_allclose(
        model.predict_log_proba(X), plain.predict_log_proba(X), rtol=1e-10, atol=1e-12
    )
    for answer in ("predict", "predict_proba", "predict_joint_log_proba", "score_samples"):
        np.testing.assert_allclose(getattr(plain, answer)(odd), getattr(plain, answer)(X), rtol=1e-10)


@pytest.mark.parametrize("kind", ODD)
def test_every_kind_of_table_can_come_in_batches(model, kind):
    odd = ODD[kind](X)
    batched = clone(model).partial_fit(odd, Y, classes=[0, 1, 2]).partial_fit(odd, Y)
    whole = model.fit(np.concatenate([X, X]), np.concatenate([Y, Y]))
    np.testing.assert_allclose(batched.predict_proba(X), whole.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_booleans_are_zeros_and_ones(model):
    table = X % 2 == 1
    told = clone(model).fit(table, Y).predict_proba(table)
    np.testing.assert_allclose(told, model.fit(table.astype(float), Y).predict_proba(table), rtol=1e-12)


def test_input_is_never_written_to(model):
    for kind, make in ODD.items():
        odd = make(X)
        model.fit(odd, Y).predict(odd)
        if sparse.issparse(odd):
            again = make(X)
            for part in ("data", "indices", "indptr", "row", "col"):
                if hasattr(again, part):
                    np.testing.assert_array_equal(getattr(odd, part), getattr(again, part), err_msg=kind)
        else:
            np.testing.assert_array_equal(np.asarray(odd, dtype=float), X, err_msg=kind)


@pytest.mark.parametrize(
    "weights",
    [
        np.arange(60),
        np.arange(60).tolist(),
        np.arange(60, dtype=np.float32),
        np.arange(60, dtype=">f8"),
        np.arange(120)[::2] // 2,
        np.arange(60)[::-1].copy()[::-1],
        pd.Series(np.arange(60), index=np.arange(60)[::-1]),
        read_only(np.arange(60.0)),
    ],
    ids=["ints", "list", "float32", "big-endian", "strided", "backwards", "series", "read-only"],
)
def test_every_kind_of_weights_gives_the_same_answers(model, weights):
    rows = np.repeat(np.arange(60), np.arange(60))
    expected = clone(model).fit(X[rows], Y[rows]).predict_proba(X)
    np.testing.assert_allclose(model.fit(X, Y, weights).predict_proba(X), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weight", [1, 2.5, np.float32(3), True])
def test_one_weight_for_all_rows_changes_nothing(model, weight):
    if isinstance(model, lk.KernelDensityClassifier):
        model.set_params(bandwidth=1.0)  # by itself it is narrower the more rows there are
    expected = clone(model).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(model.fit(X, Y, weight).predict_proba(X), expected, rtol=1e-10, atol=1e-13)


# ---- labels ----------------------------------------------------------------------------------------
def three(*labels, dtype=None):
    return np.array(labels, dtype=dtype)[Y]


LABELS = {
    **{f"dtype {t}": three(3, 5, 100, dtype=t) for t in "bBhHiIlLqQefdgO"},
    **{f"negative, dtype {t}": three(-100, -1, 7, dtype=t) for t in "bhilqefdO"},
    "far apart": three(-(2**63), 0, 2**63 - 1),
    "the largest": three(2**64 - 3, 2**64 - 2, 2**64 - 1, dtype=np.uint64),
    "far apart and unsigned": three(0, 2**33, 2**64 - 1, dtype=np.uint64),
    "beyond 64 bits": three(-(2**70), 2**70, 2**70 + 1, dtype=object),
    "far apart, 32 bits": three(-(2**31), 5, 2**31 - 1, dtype=np.int32),
    "big-endian integers": three(1, 2, 300, dtype=">i4"),
    "big-endian floats": three(1, 2, 300, dtype=">f8"),
    "whole floats": three(-1e300, 0.0, 1e300),
    "strings": three("a", "b", "c"),
    "strings of many lengths": three("a", "a longer one", "é"),
    "a string and nothing": three("", "a", "aa"),
    "big-endian strings": three("a", "bc", "d", dtype=">U2"),
    "bytes": three(b"a", b"bc", b"d"),
    "object strings": three("a", "bc", "d", dtype=object),
    "object bytes": three(b"a", b"bc", b"d", dtype=object),
    "dates": three("2020-01-01", "2021-01-01", "2022-01-01", dtype="M8[D]"),
    "tuples": np.array([(0, 1), (0, 2), (1, 0), None], dtype=object)[Y],
    "every other": np.repeat(Y, 2)[::2],
    "backwards": Y[::-1].copy()[::-1],
    "read-only": read_only(Y),
}
OTHER_LABELS = {
    "a list": (Y.tolist(), Y),
    "a list of strings": ([str(k) for k in Y], Y.astype(str)),
    "a tuple": (tuple(Y.tolist()), Y),
    "a series": (pd.Series(Y, index=np.arange(60)[::-1]), Y),
    "a series of strings": (pd.Series(Y).astype(str), Y.astype(str).astype(object)),
    "a string series": (pd.Series(Y).astype(str).astype("string"), Y.astype(str).astype(object)),
    "a categorical": (pd.Categorical(three("x", "y", "z")), three("x", "y", "z", dtype=object)),
    "a categorical series": (pd.Series(three("x", "y", "z")).astype("category"), three("x", "y", "z")),
    "a categorical of numbers": (pd.Series(Y + 7).astype("category"), Y + 7),
    "an index": (pd.Index(Y), Y),
    "a masked array that hides nothing": (np.ma.masked_array(Y), Y),
}


def check_labels(model, labels, plain):
    expected = clone(model).fit(X, Y)
    model.fit(X, labels)
    classes = np.unique(plain)
    assert len(model.classes_) == len(classes)
    np.testing.assert_array_equal(model.classes_, classes)
    np.testing.assert_array_equal(model.predict(X), classes[expected.predict(X)])
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize("kind", LABELS)
def test_every_kind_of_label_is_kept(model, kind):
    labels = LABELS[kind]
    if kind == "tuples":
        model.fit(X, labels)
        assert model.classes_.tolist() == [(0, 1), (0, 2), (1, 0)]
        return
    check_labels(model, labels, labels)
    assert model.classes_.dtype == labels.dtype.newbyteorder("=")


@pytest.mark.parametrize("kind", OTHER_LABELS)
def test_labels_that_are_no_arrays_are_taken_as_such(model, kind):
    check_labels(model, *OTHER_LABELS[kind])


def test_boolean_labels(model):
    expected = clone(model).fit(X, (Y > 0).astype(int))
    np.testing.assert_array_equal(model.fit(X, Y > 0).classes_, [False, True])
    assert model.classes_.dtype == bool
    np.testing.assert_array_equal(model.predict(X), expected.predict(X).astype(bool))


def test_zero_and_minus_zero_are_one_label(model):
    signs = np.where(np.arange(60) % 2 == 0, 0.0, -0.0)
    np.testing.assert_array_equal(model.fit(X, np.where(Y == 0, signs, Y)).classes_, [0, 1, 2])
    np.testing.assert_array_equal(model.predict_proba(X), clone(model).fit(X, Y).predict_proba(X))


def test_many_labels_far_apart():
    """Beyond any table: each label is hashed."""
    model = lk.GaussianNB()
    rng = np.random.default_rng(0)
    labels = np.repeat(np.unique(rng.integers(-(2**62), 2**62, size=3000)), 2)
    rng.shuffle(labels)
    model.fit(rng.normal(size=(len(labels), 1)), labels)
    np.testing.assert_array_equal(model.classes_, np.unique(labels))
    np.testing.assert_array_equal(model.class_count_, 2)
