"""A model file is loaded as it was saved, or refused in words; a failed save leaves all as it was."""

import copy
import hashlib
import io
import json
import os
import pickle
import stat
import zipfile
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.covariance import OAS
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import likelier as lk
from errors.conftest import X, Y, inside
from likelier.saving import format
from likelier.saving.format import describe
from likelier.saving.models import content_of
from likelier.storage import encode

NB, LDA, QDA = lk.GaussianNB, lk.LinearDiscriminantAnalysis, lk.QuadraticDiscriminantAnalysis
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


@cache
def saved(kind="NB"):
    """A whole file, as bytes."""
    model = {
        "NB": lambda: NB().fit(FRAME, np.array(["u", "v", "w"])[Y]),
        "LDA": lambda: LDA().fit(X, Y),
        "QDA": lambda: QDA().fit(X, Y),
        "lines": lambda: lk.LinearRegression().fit(X, np.column_stack([X[:, 0], Y])),
        "few": lambda: lk.Ridge().fit(X[:2], X[:2, :2]),
        "weights": lambda: LDA().fit(FRAME, Y).to_linear(),
        "small": lambda: NB().fit(X[:, :1], Y == 1),
        "online": lambda: lk.OnlineClassifier(bits=4).fit(FRAME, Y),
        "objects": lambda: NB().fit(X, np.array(["u", "v", "w"], dtype=object)[Y]),
    }[kind]()
    return content_of(model, statistics=True)


@pytest.fixture
def refuse(tmp_path):
    """Check that a content is refused, by load and, where the header is at fault, in the same words."""

    def refuse(content, match):
        path = tmp_path / "bad.lk"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=match) as problem:
            lk.load(path)
        assert str(path) in str(problem.value)

    return refuse


# ---- foreign files -------------------------------------------------------------------------------
def npz():
    out = io.BytesIO()
    np.savez(out, mean=X)
    return out.getvalue()


class Bomb:
    """Writes to a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.write_text, (self.path, "boom")


FOREIGN = {
    "empty": b"",
    "text": b"a,b,c\n1,2,3\n",
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "a pickle": pickle.dumps({"a": 1}),
    "an array": b"\x93NUMPY\x01\x00" + bytes(100),
    "arrays": npz(),
    "a zip of nothing": b"PK\x05\x06" + bytes(18),
    "the end of a zip alone": b"PK\x05\x06" + bytes(8) + b"\xff" * 8 + bytes(2),
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=list(FOREIGN))
def test_foreign_files_are_refused(content, refuse):
    refuse(content, "not a model that can be loaded")


def test_nothing_is_ever_unpickled(tmp_path, refuse):
    trace = tmp_path / "trace"
    refuse(pickle.dumps(Bomb(trace)), "not a model")
    out = io.BytesIO()
    np.savez(out, **{"header": np.array([Bomb(trace)])})
    refuse(out.getvalue(), "no header.json")

    def edit(header, members):
        cells = io.BytesIO()
        np.save(cells, np.array([Bomb(trace)] * 3), allow_pickle=True)
        members["model/log_prior.npy"] = cells.getvalue()
        header["arrays"]["model/log_prior"] |= {"dtype": "|O", "shape": [3]}

    refuse(rewritten(saved(), edit), "dtype")
    assert not trace.exists()


def test_a_file_that_is_not_there_is_said_to_be(tmp_path):
    for ask in (lk.load, describe):
        with pytest.raises(FileNotFoundError, match=r"none\.lk"):
            ask(tmp_path / "none.lk")
        with pytest.raises(IsADirectoryError, match="is a folder"):
            ask(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not an ordinary file"):
        lk.load(tmp_path / "pipe")
    with pytest.raises(OSError, match="not an ordinary file"):
        lk.save(NB().fit(X, Y), tmp_path / "pipe")


# ---- damage --------------------------------------------------------------------------------------
def same_or_refused(content, original, path):
    """True if it loaded; then it is what was saved. No other exception, and no warning either."""
    path.write_bytes(content)
    try:
        model = lk.load(path)
    except ValueError:
        return False
    assert content_of(model, statistics=True) == original
    return True


def inside_members(content):
    """For each byte, whether it is one of a member's: all of these are under the same checksums."""
    within = np.zeros(len(content), dtype=bool)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.infolist():
            start = content.index(archive.read(member), member.header_offset)
            within[start : start + member.file_size] = True
    return within


def test_a_changed_byte_is_noticed_or_does_not_matter(tmp_path):
    """Every byte of the zip's own, and every seventh of what is in it."""
    original, loaded = saved("small"), 0
    within = inside_members(original)
    for i in np.flatnonzero(~within | (np.arange(len(original)) % 7 == 0)):
        damaged = bytearray(original)
        damaged[i] ^= (1, 0x80, 0xFF, 0x20)[i % 4]
        came = same_or_refused(bytes(damaged), original, tmp_path / "m.lk")
        assert not (came and within[i])
        loaded += came
    assert loaded < 0.4 * (~within).sum()  # dates and such


def test_lost_and_added_bytes_are_noticed_or_do_not_matter(tmp_path):
    original, path = saved("small"), tmp_path / "m.lk"
    for i in range(0, len(original), 5):
        assert not same_or_refused(original[:i], original, path)
        same_or_refused(original[i:] if i else original, original, path)
        same_or_refused(original[:i] + original[i + 1 :], original, path)
        same_or_refused(original[:i] + bytes([i % 256]) + original[i:], original, path)


@given(
    kind=st.sampled_from(["NB", "LDA", "QDA", "lines", "weights", "objects"]),
    edits=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 40), st.binary(max_size=40)), min_size=1, max_size=6
    ),
)
def test_any_damage_is_noticed_or_does_not_matter(kind, edits, tmp_path_factory):
    original = damaged = saved(kind)
    for where, lost, put in edits:
        at = int(where * len(damaged))
        damaged = damaged[:at] + put + damaged[at + lost :]
    same_or_refused(damaged, original, tmp_path_factory.getbasetemp() / "damaged.lk")


# ---- intent: every checksum is right -------------------------------------------------------------
def rewritten(content, edit, **how):
    """The file with header and members changed by `edit`, and all checksums made to fit again."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members.pop(format.HEADER))
    del members[format.DIGEST]
    edit(header, members)
    for name, entry in header["arrays"].items():
        if f"{name}.npy" in members:
            entry["sha256"] = hashlib.sha256(members[f"{name}.npy"]).hexdigest()
    return zipped(json.dumps(header).encode(), members, **how)


def zipped(text, members, extra=(), **how):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", **how) as archive:
        archive.writestr(format.HEADER, text)
        archive.writestr(format.DIGEST, hashlib.sha256(text).hexdigest())
        for name, member in [*members.items(), *extra]:
            archive.writestr(name, member)
    return out.getvalue()


def rebuilt(content, edit):
    """The file with its arrays changed by `edit(header, arrays)`, and described as they are now."""
    archive = format.Archive(io.BytesIO(content))
    header, arrays = copy.deepcopy(archive.header), {name: archive.array(name) for name in archive.names}
    edit(header, arrays)
    return format.packed(
        header, {name: arrays[name] for name in archive.header["arrays"] if name in arrays}
    )


def test_an_edit_that_changes_nothing_is_accepted(tmp_path):
    for kind in ("NB", "LDA", "QDA", "lines", "weights", "objects"):
        original = saved(kind)
        for content in (rewritten(original, lambda h, m: None), rebuilt(original, lambda h, a: None)):
            assert same_or_refused(content, original, tmp_path / "m.lk")


def place(header, path):
    """Where in a header a path ends, and its last step; fields of records are named directly."""
    *way, last = path.split(".")
    for name in way:
        header = header.get("fields", header)[name]
    return header if last in ("record", "fields") else header.get("fields", header), last


def put(path, value):
    def edit(header, members):
        where, last = place(header, path)
        where[last] = value

    return edit


def drop(path):
    def edit(header, members):
        where, last = place(header, path)
        del where[last]

    return edit


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


BAD_HEADERS = {
    "a newer format": (put("version", 2), "newer likelier.*Upgrade"),
    "no version": (drop("version"), "format version is None"),
    "version 0": (put("version", 0), "format version is 0"),
    "a version in words": (put("version", "1"), "format version is '1'"),
    "a true version": (put("version", True), "format version is True"),
    "another format": (put("format", "something"), "header is not a model's"),
    "no estimator": (drop("estimator"), "no estimator None"),
    "an unknown estimator": (put("estimator", "os.system"), "no estimator 'os.system'"),
    "another estimator": (
        put("estimator", "LinearDiscriminantAnalysis"),
        "no hyper-parameter var_smoothing",
    ),
    "a private name": (put("estimator", "__class__"), "no estimator '__class__'"),
    "a list for an estimator": (put("estimator", ["GaussianNB"]), "no estimator"),
    "no params": (drop("params"), "no params"),
    "params as a list": (put("params", []), "no params"),
    "an unknown hyper-parameter": (put("params.alpha", 1), "no hyper-parameter alpha"),
    "no fitted part": (drop("fitted"), "no fitted"),
    "nothing fitted": (put("fitted", {}), "refers to array"),
    "no target": (drop("fitted.target"), "refers to array target"),
    "one part more": (put("fitted._model", 1), "parts are not"),
    "no columns": (put("fitted.n_features", 0), "number of columns"),
    "too many columns": (put("fitted.n_features", 4), "feature names"),
    "columns in words": (put("fitted.n_features", "3"), "number of columns"),
    "a name too few": (put("fitted.feature_names", {"objects": ["a", "b"], "shape": [2]}), "3 strings"),
    "names that are numbers": (
        put("fitted.feature_names", {"objects": [1, 2, 3], "shape": [3]}),
        "3 strings",
    ),
    "names as a list": (put("fitted.feature_names", ["a", "b", "c"]), "3 strings"),
    "names of another shape": (put("fitted.feature_names", {"objects": ["a"], "shape": [3]}), "reshape"),
    "no model": (put("fitted.model", None), "refers to array|not a Bayes"),
    "an unknown record": (put("fitted.model.params.record", "os.system"), "no kind of record 'os.system'"),
    "a class by its path": (put("fitted.model.record", "likelier.model.Answers"), "no kind of record"),
    "a list for a record": (put("fitted.model.record", ["model.Bayes"]), "no kind of record"),
    "another record": (put("fitted.model.params.record", "families.Tied"), "no field var"),
    "a record of no fields": (put("fitted.model.params.fields", 3), "has no fields"),
    "an unknown field": (put("fitted.model.secret", 1), "no field secret"),
    "a field too few": (drop("fitted.model.log_prior"), "log_prior"),
    "scores for no reason": (put("fitted.model.discriminants", 3), "wrong type"),
    "statistics that are none": (put("fitted.statistics", 3), "refers to array|statistics"),
    "an array twice": (put("fitted.model.params.var", {"array": "model/params/mean"}), "used twice"),
    "an array from nowhere": (put("fitted.model.params.var", {"array": "../x"}), "not there"),
    "an unknown tag": (put("params.priors", {"eval": "1"}), "is not a value"),
    "two tags": (put("params.priors", {"tuple": [], "float": "nan"}), "is not a value"),
    "a number in words": (put("params.priors", {"float": "1_0"}), "is not a number"),
    "a scalar of objects": (put("params.priors", {"scalar": "|O", "bytes": "00" * 8}), "dtype"),
    "a scalar too short": (put("params.priors", {"scalar": "<f8", "bytes": "00"}), "size of its dtype"),
    "a scalar of no size": (put("params.priors", {"scalar": "<U0", "bytes": ""}), "size of its dtype"),
    "bytes in words": (put("params.priors", {"bytes": "xyz"}), "hexadecimal"),
    "bytes as a number": (put("params.priors", {"bytes": 3}), "not a model"),
    "a tuple of nothing": (put("params.priors", {"tuple": None}), "is not a list"),
    "a dict that is not pairs": (put("params.priors", {"dict": [[1]]}), "list of pairs"),
    "a key that is a list": (put("params.priors", {"dict": [[[1], 2]]}), "unhashable"),
    "objects that are lists": (put("params.priors", {"objects": [[1]], "shape": [1]}), "plain ones"),
    "deep nesting": (put("params.priors", nested(900)), "not a model"),
    "arrays as a list": (put("arrays", {}), "members are not"),
}


@pytest.mark.parametrize(("edit", "match"), BAD_HEADERS.values(), ids=list(BAD_HEADERS))
def test_a_header_that_is_wrong_is_refused(edit, match, refuse):
    refuse(rewritten(saved(), edit), match)


BAD_TEXTS = {
    "not JSON": b"{",
    "empty": b"",
    "not text": b"\xff\xfe",
    "a list": b"[]",
    "a number": b"1",
    "NaN": b'{"format": "likelier model", "version": NaN}',
    "very deep": b"[" * 200_000,
    "a very long number": b'{"version": ' + b"9" * 100_000 + b"}",
    "no arrays": b'{"format": "likelier model", "version": 1}',
    "arrays of nothing": b'{"format": "likelier model", "version": 1, "arrays": {"a": null}}',
}


@pytest.mark.parametrize("text", BAD_TEXTS.values(), ids=list(BAD_TEXTS))
def test_a_header_that_is_no_header_is_refused(text, refuse):
    refuse(zipped(text, {}), "not a model that can be loaded")


def entry(name, **changes):
    return lambda header, members: header["arrays"][name].update(changes)


MEAN = "model/params/mean"
BAD_ENTRIES = {
    "objects": (entry(MEAN, dtype="|O"), "dtype"),
    "records": (entry(MEAN, dtype="f8,f8"), "dtype"),
    "a dtype that is a list": (entry(MEAN, dtype=[["a", "<f8"]]), "dtype"),
    "a dtype that is none": (entry(MEAN, dtype="<f9"), "not a model"),
    "another dtype of the size": (entry(MEAN, dtype="<i8"), r"not the \.npy"),
    "another shape of the size": (entry(MEAN, shape=[9]), r"not the \.npy"),
    "a larger shape": (entry(MEAN, shape=[3, 4]), "size"),
    "a huge shape": (entry(MEAN, shape=[2**40, 2**40]), "size"),
    "a huge and empty shape": (entry(MEAN, shape=[0, 2**60]), "list of sizes"),
    "a negative shape": (entry(MEAN, shape=[-3, -3]), "list of sizes"),
    "a shape in words": (entry(MEAN, shape="33"), "list of sizes"),
    "true shapes": (entry(MEAN, shape=[True, 9]), "list of sizes"),
    "a hundred dimensions": (entry(MEAN, shape=[1] * 98 + [3, 3]), "list of sizes"),
    "axes that repeat": (entry(MEAN, axes=[0, 0]), "no order"),
    "axes too few": (entry(MEAN, axes=[0]), "no order"),
    "no shape": (lambda header, members: header["arrays"][MEAN].pop("shape"), "shape"),
    "no entry": (lambda header, members: header["arrays"].pop(MEAN), "members are not"),
    "no member": (lambda header, members: members.pop(f"{MEAN}.npy"), "members are not"),
    "one member more": (lambda header, members: members.update({"more.npy": b""}), "members are not"),
    "a path to elsewhere": (
        lambda header, members: members.update({"../../x.npy": b""}),
        "members are not",
    ),
    "another .npy": (
        lambda header, members: members.update(
            {f"{MEAN}.npy": members[f"{MEAN}.npy"].replace(b"(3, 3)", b"(9, 1)")}
        ),
        r"not the \.npy",
    ),
}


@pytest.mark.parametrize(("edit", "match"), BAD_ENTRIES.values(), ids=list(BAD_ENTRIES))
def test_arrays_that_are_not_as_described_are_refused(edit, match, refuse):
    refuse(rewritten(saved(), edit), match)


def test_what_is_compressed_is_refused(refuse):
    """So that no file can ask for more memory than it is long."""

    def large(header, members):
        members[f"{MEAN}.npy"] = bytes(100_000_000)

    content = rewritten(saved(), large, compression=zipfile.ZIP_DEFLATED)
    assert len(content) < 1_000_000
    refuse(content, "wrong size")


def test_members_with_one_name_are_refused(refuse):
    with zipfile.ZipFile(io.BytesIO(saved())) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    text = members.pop(format.HEADER)
    del members[format.DIGEST]
    with pytest.warns(UserWarning, match="Duplicate"):
        content = zipped(text, members, extra=[(f"{MEAN}.npy", members[f"{MEAN}.npy"])])
    refuse(content, "one name")


# ---- intent: numbers and sizes that do not belong together ---------------------------------------
def change(name, how):
    def edit(header, arrays):
        arrays[name] = how(arrays[name])

    return edit


def cell(value):
    def how(array):
        array = array.copy()
        array.flat[1] = value
        return array

    return how


FACTOR = "statistics/triangle/R"


def fewer_classes(array):
    return array[:2].copy()


def all_changed(*edits):
    def edit(header, arrays):
        for one in edits:
            one(header, arrays)

    return edit


def unfit(header, arrays):
    """A classifier's model in another estimator."""
    header["estimator"], header["params"] = "QuadraticDiscriminantAnalysis", {}


CLASSES = "target"
BAD_NUMBERS = {
    "means of fewer classes": ("NB", change(MEAN, fewer_classes), "mean has shape"),
    "means of fewer columns": ("NB", change(MEAN, lambda a: a[:, :2].copy()), "mean has shape"),
    "a flat mean": ("NB", change(MEAN, np.ravel), "mean has shape"),
    "variances of fewer classes": ("NB", change("model/params/var", fewer_classes), "var has shape"),
    "a smaller scatter": ("NB", change("statistics/S", fewer_classes), "S has shape"),
    "counts of fewer classes": ("NB", change("statistics/n", fewer_classes), "n has shape"),
    "priors of fewer classes": ("NB", change("model/log_prior", fewer_classes), "log_prior has shape"),
    "fewer classes": ("NB", change(CLASSES, fewer_classes), "has shape"),
    "classes in a table": ("NB", change(CLASSES, lambda a: a[:, None]), "list of labels"),
    "a class twice": ("NB", change(CLASSES, lambda a: a[[0, 1, 1]]), "sorted, each once"),
    "classes not in order": ("NB", change(CLASSES, lambda a: a[::-1]), "sorted, each once"),
    "no letters": ("NB", change(CLASSES, lambda a: np.full(3, 2**31, "<u4").view("<U1")), "not a model"),
    "float32": ("NB", change(MEAN, lambda a: a.astype("f4")), "mean is of a wrong type"),
    "the other byte order": ("NB", change(MEAN, lambda a: a.astype(">f8")), "mean is of a wrong type"),
    "NaN": ("NB", change(MEAN, cell(np.nan)), "mean contains NaN"),
    "infinity": ("NB", change("model/params/var", cell(np.inf)), "var contains NaN or infinity"),
    "NaN in the statistics": ("NB", change("statistics/S", cell(np.nan)), "S contains NaN"),
    "a negative variance": ("NB", change("model/params/var", cell(-1.0)), "contradict"),
    "no variance": ("NB", change("model/params/var", cell(0.0)), "contradict"),
    "a negative count": ("NB", change("statistics/n", cell(-1.0)), "contradict"),
    "a prior of NaN": ("NB", change("model/log_prior", cell(np.nan)), "log_prior contains NaN"),
    "a prior of infinity": ("NB", change("model/log_prior", cell(np.inf)), "log_prior contains NaN or inf"),
    "no priors": ("NB", change("model/log_prior", lambda a: np.full(3, -np.inf)), "contradict"),
    "priors that are none": ("NB", change("model/log_prior", cell(1e308)), "contradict"),
    "another estimator": ("NB", unfit, "densities are not Full"),
    "a smaller covariance": (
        "LDA",
        change("model/params/cov", lambda a: a[:2, :2].copy()),
        "cov has shape",
    ),
    "weights of fewer classes": ("LDA", change("model/lines/W", fewer_classes), "W has shape"),
    "axes of fewer columns": ("LDA", change("model/lines/scalings", fewer_classes), "scalings has shape"),
    "a centre of fewer columns": ("LDA", change("model/lines/centre", fewer_classes), "centre has shape"),
    "a tied scatter per class": (
        "LDA",
        change("statistics/S", lambda a: np.stack([a, a, a])),
        "S has shape",
    ),
    "terms of fewer classes": (
        "LDA",
        all_changed(*(change(f"model/discriminants/terms/0/{a}", fewer_classes) for a in "bW")),
        "has shape",
    ),
    "one covariance": ("QDA", change("model/params/cov", lambda a: a[0].copy()), "cov has shape"),
    "a covariance that is none": ("QDA", change("model/params/cov", lambda a: -a), "not a model"),
    "slopes of fewer targets": ("lines", change("model/B", lambda a: a[:1].copy()), "B has shape"),
    "a point of fewer columns": ("lines", change("model/shift", fewer_classes), "shift has shape"),
    "a smaller triangle": ("lines", change(FACTOR, lambda a: a[:4, :4].copy()), "R has shape"),
    "a triangle turned over": ("lines", change(FACTOR, np.transpose), "contradict"),
    "an oblong triangle": ("lines", change(FACTOR, lambda a: a[:4].copy()), "R has shape"),
    "kept rows of fewer columns": (
        "few",
        change("statistics/X/0", lambda a: a[:, 1:].copy()),
        "X has shape",
    ),
    "fewer kept rows than targets": ("few", change("statistics/X/0", lambda a: a[:1].copy()), "contradict"),
    "kept rows of weight 0": ("few", change("statistics/w/0", np.zeros_like), "contradict"),
    "kept rows of NaN": ("few", change("statistics/X/0", cell(np.nan)), "NaN"),
    "directions of fewer columns": (
        "lines",
        change("model/solution/free", lambda a: np.ones((1, 2))),
        "free",
    ),
    "weights of fewer columns": (
        "weights",
        change("params/coef", lambda a: a[:, :2].copy()),
        "feature names",
    ),
    "weights of no columns": ("weights", change("params/coef", lambda a: a[:, :0].copy()), "coef is not"),
    "weights of two classes": ("weights", change("params/coef", fewer_classes), "coef is not"),
    "fewer intercepts": ("weights", change("params/intercept", fewer_classes), "intercept has shape"),
    "NaN among weights": ("weights", change("params/coef", cell(np.nan)), "contains NaN"),
    "weights of a class twice": ("weights", change("params/classes", lambda a: a[[0, 0, 1]]), "each once"),
}


@pytest.mark.parametrize(("kind", "edit", "match"), BAD_NUMBERS.values(), ids=list(BAD_NUMBERS))
def test_numbers_that_contradict_each_other_are_refused(kind, edit, match, refuse):
    """Whoever wrote the file made every checksum fit."""
    refuse(rebuilt(saved(kind), edit), match)


WHOLE = "fitted.statistics.whole"
BAD_PATTERNS = {
    "a field of a wrong type": (put(f"{WHOLE}.shape", "round"), "Moments.shape is of a wrong type"),
    "a field that is a list": (put(f"{WHOLE}.shape", ["full"]), "wrong type"),
    "another shape": (put(f"{WHOLE}.shape", "tied"), "S has shape"),
    "room for nothing": (put("fitted.statistics.most", 0), "contradict"),
    "room in words": (put("fitted.statistics.most", "enough"), "wrong type"),
}


@pytest.mark.parametrize(("edit", "match"), BAD_PATTERNS.values(), ids=list(BAD_PATTERNS))
def test_statistics_of_patterns_that_are_wrong_are_refused(edit, match, refuse):
    refuse(rewritten(saved("QDA"), edit), match)


BAD_LINES = {
    "another number of columns": (put("fitted.statistics.p", 2), "p has shape|not"),
    "a triangle of NaN rows": (put("fitted.statistics.triangle.n", {"float": "nan"}), "n contains NaN"),
    "three targets": (put("fitted.target", {"tuple": [3]}), "has shape"),
    "targets in a table": (put("fitted.target", {"tuple": [1, 2]}), "shape of a row"),
    "no targets": (put("fitted.target", {"tuple": [0]}), "shape of a row"),
    "classes for targets": (put("fitted.target", {"objects": ["a", "b"], "shape": [2]}), "shape of a row"),
    "a rank in words": (put("fitted.model.solution.rank", "full"), "rank is of a wrong type"),
    "no solution": (put("fitted.model.solution", None), "refers to array|wrong type"),
}


@pytest.mark.parametrize(("edit", "match"), BAD_LINES.values(), ids=list(BAD_LINES))
def test_lines_that_contradict_themselves_are_refused(edit, match, refuse):
    refuse(rewritten(saved("lines"), edit), match)


BAD_LABELS = {
    "nothing": [None, "v", "w"],
    "numbers and words": [1, "v", "w"],
    "NaN": [{"float": "nan"}, 1.0, 2.0],
    "lists": [["u"], ["v"], ["w"]],
}


@pytest.mark.parametrize("labels", BAD_LABELS.values(), ids=list(BAD_LABELS))
def test_labels_that_are_none_are_refused(labels, refuse):
    edit = put("fitted.target", {"objects": labels, "shape": [3]})
    refuse(rewritten(saved("objects"), edit), "not a model")


# ---- saving --------------------------------------------------------------------------------------
@pytest.fixture
def folder(tmp_path):
    """A folder with one model in it, which must be all that is ever there."""
    path = tmp_path / "model.lk"
    path.write_bytes(saved())
    yield tmp_path
    assert [p.name for p in tmp_path.iterdir()] == ["model.lk"]
    assert path.read_bytes() == saved()


NOT_OURS = {
    "a pipeline": make_pipeline(StandardScaler(), NB()),
    "scikit-learn's": LinearRegression(),
    "a class": NB,
    "a subclass": type("GaussianNB", (NB,), {})(),
    "an array": X,
    "nothing": None,
}


@pytest.mark.parametrize("what", NOT_OURS.values(), ids=list(NOT_OURS))
def test_only_likeliers_own_estimators_are_saved(what, folder):
    with pytest.raises(TypeError, match="save takes a fitted estimator of likelier"):
        lk.save(what, folder / "model.lk")


@pytest.mark.parametrize("model", [NB(), LDA(), QDA(), lk.LinearRegression(), lk.Ridge()], ids=str)
def test_only_what_is_fitted_is_saved(model, folder):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        lk.save(model, folder / "model.lk")


@pytest.mark.parametrize("cls", [LDA, QDA])
def test_a_hyper_parameter_that_is_an_object_is_refused_by_name(cls, folder, tmp_path_factory):
    model = cls(solver="eigen", covariance_estimator=OAS()).fit(X, Y)
    before = inside(model)
    with pytest.raises(ValueError, match=r"params.covariance_estimator is OAS\(\).*set_params"):
        lk.save(model, folder / "model.lk")
    assert inside(model) == before
    # What the message proposes: the fitted model alone, which keeps no statistics.
    path = tmp_path_factory.mktemp("custom") / "model.lk"
    lk.save(model.set_params(covariance_estimator=None), path)
    loaded = lk.load(path)
    np.testing.assert_array_equal(loaded.predict_log_proba(X), model.predict_log_proba(X))
    with pytest.raises(ValueError, match="keeps none"):
        loaded.partial_fit(X, Y)


@pytest.mark.parametrize(
    "value",
    [np.random.RandomState(0), np.array([1 + 1j]), np.ma.array([1.0]), {1, 2}, print, np.array([None])],
    ids=lambda value: type(value).__name__,
)
def test_other_objects_are_refused_by_name(value, folder):
    model = lk.Ridge().fit(X, Y).set_params(random_state=value)
    with pytest.raises(ValueError, match=r"params\.random_state"):
        lk.save(model, folder / "model.lk")


def test_labels_that_are_objects_are_refused(folder):
    days = (
        pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"]).to_numpy().astype("M8[D]").astype(object)
    )
    with pytest.raises(ValueError, match=r"target is datetime\.date"):
        lk.save(NB().fit(X, days[Y]), folder / "model.lk")


CHANGED = {
    "store_covariance": (LDA(), {"store_covariance": True}, "covariance_"),
    "not any more": (LDA(store_covariance=True), {"store_covariance": False}, "covariance_"),
    "solver": (LDA(), {"solver": "lsqr"}, "covariance_"),
    "fit_intercept": (lk.LinearRegression(), {"fit_intercept": False}, "intercept_|singular_"),
    "var_smoothing": (NB(), {"var_smoothing": 0.5}, "epsilon_"),
}


@pytest.mark.parametrize(("model", "params", "match"), CHANGED.values(), ids=list(CHANGED))
def test_hyper_parameters_that_no_longer_fit_the_model_are_refused(model, params, match, folder):
    model.fit(X, Y).set_params(**params)
    with pytest.raises(ValueError, match=f"({match}) of this .* changed since fit"):
        lk.save(model, folder / "model.lk")


def test_what_only_the_statistics_know_is_not_lost_silently(folder):
    some = NB().partial_fit(X[Y < 2], Y[Y < 2], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="no row of class 2 has been seen"):
        lk.save(some, folder / "model.lk", statistics=False)
    weighted = LDA(priors=[0.1, 0.2, 0.7], store_covariance=True).fit(X, Y)
    with pytest.raises(ValueError, match=r"covariance_ .* needs the statistics"):
        lk.save(weighted, folder / "model.lk", statistics=False)


def test_a_folder_that_is_not_there_is_named(folder):
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere"):
        lk.save(NB().fit(X, Y), folder / "nowhere" / "model.lk")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        lk.save(NB().fit(X, Y), folder)
    with pytest.raises(TypeError):
        lk.save(NB().fit(X, Y), io.BytesIO())


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt()], ids=repr)
def test_a_write_that_fails_leaves_all_as_it_was(step, failure, folder, monkeypatch):
    def fail(*_):
        raise failure

    monkeypatch.setattr(step, fail)
    with pytest.raises(type(failure)):
        lk.save(QDA().fit(X, Y), folder / "model.lk")
    with pytest.raises(type(failure)):
        lk.save(QDA().fit(X, Y), folder / "new.lk")


def test_saving_replaces_the_file_and_leaves_the_model(tmp_path):
    path, model = tmp_path / "model.lk", QDA().fit(X, Y)
    path.write_bytes(saved())
    before = inside(model)
    lk.save(model, path)
    assert inside(model) == before
    assert isinstance(lk.load(path), QDA)
    assert [p.name for p in tmp_path.iterdir()] == ["model.lk"]


@pytest.mark.skipif(os.name != "posix", reason="permissions and links are POSIX")
def test_permissions_follow_the_umask_and_links_stay(tmp_path):
    save = partial(lk.save, NB().fit(X, Y))
    for mask in (0o022, 0o077):
        old = os.umask(mask)
        try:
            save(tmp_path / f"{mask}.lk")
        finally:
            os.umask(old)
        assert stat.S_IMODE((tmp_path / f"{mask}.lk").stat().st_mode) == 0o666 & ~mask
    link = tmp_path / "link.lk"
    link.symlink_to(tmp_path / f"{0o022}.lk")
    save(link)
    assert link.is_symlink()


def test_what_is_not_finite_is_not_saved(folder):
    model = NB().fit(X, Y)
    model._model.params.mean[0, 0] = np.nan  # nothing of ours does this
    with pytest.raises(ValueError, match=r"cannot be saved: .*mean contains NaN"):
        lk.save(model, folder / "model.lk")


# ---- describing ----------------------------------------------------------------------------------
@pytest.mark.parametrize("content", FOREIGN.values(), ids=list(FOREIGN))
def test_a_foreign_file_is_not_described(content, tmp_path):
    (tmp_path / "bad.lk").write_bytes(content)
    with pytest.raises(ValueError, match="not a model"):
        describe(tmp_path / "bad.lk")


UNDESCRIBED = ["a newer format", "another format", "no params", "no fitted part", "a number in words"]


@pytest.mark.parametrize("name", UNDESCRIBED)
def test_what_a_header_does_not_say_is_not_described(name, tmp_path):
    edit, match = BAD_HEADERS[name]
    (tmp_path / "bad.lk").write_bytes(rewritten(saved(), edit))
    with pytest.raises(ValueError, match=match):
        describe(tmp_path / "bad.lk")


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("total", {"float": "inf"}, "total is inf, which is not a count"),  # halved for ever
        ("inflation", 0.0, "inflation is 0"),
        ("steps", -1, "steps is -1, which is not a count"),
        ("K", 4, "weights of 4 classes, and 3 labels"),
    ],
)
def test_sums_of_an_online_model_that_are_wrong_are_refused(name, value, match, refuse):
    def edit(header, members):
        pairs = dict(map(tuple, header["fitted"]["online"]["dict"])) | {name: value}
        header["fitted"]["online"]["dict"] = [list(pair) for pair in pairs.items()]

    refuse(rewritten(saved("online"), edit), match)


@pytest.mark.parametrize(
    "reading", [{"columns": 5}, {"columns": {"a": "date"}}, {"target": 1}, {"ignore": "a"}]
)
def test_columns_of_a_stream_that_are_wrong_are_refused(reading, refuse):
    def edit(header, members):
        header["fitted"]["reading"] = encode(reading, "reading", {}, {})

    refuse(rewritten(saved("online"), edit), "how its rows are read")
