"""Documents that are none, and text classifiers asked for what they cannot do."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import likelier as lk

TEXTS, LABELS = ["one two", "two three", "three four", "one four"], ["a", "b", "a", "b"]


@pytest.mark.parametrize(
    ("documents", "kind", "said"),
    [
        ("one two", ValueError, "Iterable over raw text documents expected, string object received."),
        (b"one two", ValueError, "string object received"),
        (["one", None, "two", "x"], ValueError, "document 1 is missing (None)"),
        (["one", "two", float("nan"), "x"], ValueError, "document 2 is missing (nan)"),
        (["one", 2, "x", "y"], ValueError, "document 1 is of type int (2)"),
        ([b"one", b"\xff\xfe", b"x", b"y"], ValueError, "document 1 is not UTF-8"),
        (pd.DataFrame({"x": TEXTS, "y": TEXTS}), ValueError, "X has 2 columns: documents are one"),
        (pa.array(["one", None, "two", "x"]), ValueError, "document 1 is missing"),
        (7, TypeError, "X must be a list of documents; got int."),
        (TEXTS[:3], ValueError, "X has 3 documents, y has 4 labels"),
        (["", " ", "!?", "\x00\x1f"], ValueError, "empty vocabulary"),
    ],
    ids=str,
)
def test_documents_that_are_none(documents, kind, said):
    with pytest.raises(kind, match=re.escape(said)):
        lk.TextClassifier().fit(documents, LABELS)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"model": "bayes"}, "model must be one of 'naive-bayes', "),
        ({"weighting": "counts"}, "weighting must be None or one of 'count', 'binary', 'tf-idf'"),
        ({"min_df": 5}, "max_df corresponds to < documents than min_df"),
        ({"min_df": 4, "max_df": 4}, "After pruning, no terms remain"),
        ({"alpha": -1.0}, "alpha"),
        ({"C": 0.0, "model": "logistic"}, "C"),
    ],
)
def test_settings_that_are_wrong(settings, said):
    with pytest.raises(ValueError, match=said):
        lk.TextClassifier(**settings).fit(TEXTS, LABELS)


def test_what_a_model_cannot_do_is_said():
    fitted = lk.TextClassifier("svm").fit(TEXTS, LABELS)
    with pytest.raises(AttributeError, match="predict_proba"):
        fitted.predict_proba(TEXTS)
    with pytest.raises(ValueError, match="not a sum over documents"):
        fitted.merge(fitted)
    with pytest.raises(ValueError, match="partial_fit needs hashed terms"):
        fitted.partial_fit(TEXTS, LABELS)
    with pytest.raises(TypeError, match="explain takes one document, a string; got list"):
        fitted.explain(TEXTS)
    hashed = lk.TextClassifier(n_features=64).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="hashing keeps none"):
        hashed.top_features()
    with pytest.raises(ValueError, match="parameters differ"):
        hashed.merge(lk.TextClassifier(n_features=32).fit(TEXTS, LABELS))
    pruned = lk.TextClassifier(min_df=2).fit(TEXTS, LABELS)
    with pytest.raises(ValueError, match="leave out terms that the others may have"):
        pruned.merge(pruned)
    with pytest.raises(ValueError, match="not fitted yet"):
        lk.TextClassifier().predict(TEXTS)


def test_sources_that_are_no_documents(tmp_path):
    table = pd.DataFrame({"body": [*TEXTS, None], "n": range(5), "label": [*LABELS, "a"]})
    path = tmp_path / "t.parquet"
    table.to_parquet(path)
    with pytest.raises(ValueError, match=r"text='n' is a column of type int64: documents are strings"):
        lk.scan(path, text="n", target="label")
    with pytest.raises(ValueError, match="no column named 'boddy'; near it: 'body'"):
        lk.scan(path, text="boddy", target="label")
    with pytest.raises(ValueError, match="pass one of them"):
        lk.scan(path, text="body", target="label", features=["n"])
    with pytest.raises(ValueError, match=r"row 4 of .*t.parquet: 'body' is missing"):
        lk.TextClassifier().fit(lk.scan(path, text="body", target="label"))
    with pytest.raises(ValueError, match=r"name its column of text, as in scan\(path, text='body'"):
        lk.TextClassifier().fit(lk.scan(path, target="label"))
    with pytest.raises(ValueError, match=r"these columns hold none: 'body' \(documents, for TextCl"):
        lk.MultinomialNB().fit(lk.scan(path, text="body", target="label"))


def test_folders_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        lk.scan_folder(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="has no files that match"):
        lk.scan_folder(tmp_path)
    (tmp_path / "spam").mkdir()
    (tmp_path / "ham").mkdir()
    (tmp_path / "spam" / "a.txt").write_bytes("caf\u00e9".encode("latin-1"))
    (tmp_path / "ham" / "b.txt").write_text("tea and more tea")
    with pytest.raises(ValueError, match=r"a\.txt: 'utf-8' codec can't decode.*Pass encoding='latin-1'"):
        lk.TextClassifier().fit(lk.scan_folder(tmp_path))
    fitted = lk.TextClassifier().fit(lk.scan_folder(tmp_path, encoding="latin-1"))
    assert fitted.predict(["caf\u00e9"]).tolist() == ["spam"]
    lk.TextClassifier().fit(lk.scan_folder(tmp_path, decode_error="replace"))
    with pytest.raises(ValueError, match="decode_error must be one of"):
        lk.scan_folder(tmp_path, decode_error="no")
    with pytest.raises(ValueError, match="is not a known encoding"):
        lk.scan_folder(tmp_path, encoding="utf-7000")
    (tmp_path / "stray.txt").write_text("no class")
    with pytest.raises(ValueError, match=r"stray\.txt lies beside the folders of the classes"):
        lk.scan_folder(tmp_path)


def test_a_long_document_and_control_characters():
    """Longer than what is held at once, of every kind of term."""
    long = "".join(chr(33 + i * i % 1500) for i in range(200_000)) + "\x00\x07 end"
    for how in ({}, {"ngram_range": (1, 3)}, {"analyzer": "char", "ngram_range": (1, 2)}):
        for analyzer in (how, {**how, "analyzer": "char_wb", "ngram_range": (2, 3)}):
            from sklearn.feature_extraction.text import CountVectorizer

            ours, theirs = lk.CountVectorizer(**analyzer), CountVectorizer(**analyzer)
            A, B = ours.fit_transform([long, "end"]), theirs.fit_transform([long, "end"])
            assert ours.vocabulary_ == theirs.vocabulary_
            assert (A != B).nnz == 0


def test_damaged_files_are_refused(tmp_path):
    """Any byte of the terms changed so that two are the same, or lengths that do not fit."""
    import zipfile

    fitted = lk.TextClassifier().fit(["aa bb", "bb cc"], ["x", "y"])
    lk.save(fitted, tmp_path / "m.lk")
    with zipfile.ZipFile(tmp_path / "m.lk") as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    changed = {name: data.replace(b"aabbcc", b"aaaacc") for name, data in held.items()}
    assert changed != held
    with zipfile.ZipFile(tmp_path / "bad.lk", "w") as archive:
        for name, data in changed.items():
            archive.writestr(name, data)
    with pytest.raises(ValueError, match="is not a model that can be loaded"):
        lk.load(tmp_path / "bad.lk")
    assert np.isfinite(lk.load(tmp_path / "m.lk").predict_proba(["aa"])).all()
