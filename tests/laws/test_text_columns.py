"""A column of text in a design matrix: its words, as TfidfVectorizer weighs them, wherever rows are."""

import warnings

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

import likelier as lk

TEXTS = st.lists(st.text(st.sampled_from("abAB éΣ_9\n."), max_size=12), min_size=2, max_size=20)


def table(texts):
    n = len(texts)
    return pd.DataFrame(
        {
            "age": np.arange(n) % 7 + 0.5,
            "body": texts,
            "sex": [("f", "m", "x")[i % 3] for i in range(n)],
            "n": np.arange(n) ** 2.0,
        }
    )


def dense(Z):
    return Z.toarray() if sparse.issparse(Z) else Z


@settings(max_examples=60)
@given(texts=TEXTS, how=st.booleans())
def test_words_stand_beside_the_other_columns(texts, how):
    frame = table(["one word", *texts])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        design = lk.DesignMatrix(text="body", sparse=how).fit(frame)
        names = design.get_feature_names_out().tolist()
        Z = dense(design.transform(frame))
        plain = lk.DesignMatrix(sparse=False).fit(frame.drop(columns="body"))
        words = TfidfVectorizer(sublinear_tf=True).fit(frame["body"])
        expected = words.transform(frame["body"]).toarray()
        rest = plain.transform(frame.drop(columns="body"))
    assert names == [
        "age",
        *(f"body: {word}" for word in words.get_feature_names_out()),
        *plain.get_feature_names_out()[1:],
    ]
    np.testing.assert_allclose(Z[:, 1 : 1 + expected.shape[1]], expected, rtol=1e-12)
    np.testing.assert_array_equal(np.delete(Z, np.s_[1 : 1 + expected.shape[1]], axis=1), rest)
    assert design.kinds_["body"] == "text"
    assert design.words_["body"] == words.get_feature_names_out().tolist()


def test_cuts_files_and_workers_change_nothing(tmp_path):
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{i}" for i in rng.geometric(0.05, 9)) for _ in range(400)]
    frame = table(texts)
    frame.loc[3, "body"] = None
    whole = lk.DesignMatrix(text=["body"], min_count=2).fit(frame)
    expected = dense(whole.transform(frame))
    names = whole.get_feature_names_out().tolist()
    cut = [frame.iloc[:150], frame.iloc[150:390], frame.iloc[390:]]
    by_parts = lk.DesignMatrix(text=["body"], min_count=2)
    for part in cut:
        by_parts.partial_fit(part)
    first, *others = [lk.DesignMatrix(text=["body"], min_count=2).fit(part) for part in cut]
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=64)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    found = [by_parts, first.merge(*others)]
    for name in ("rows.parquet", "rows.csv"):
        source = lk.scan(tmp_path / name)
        found.append(lk.DesignMatrix(text=["body"], min_count=2).fit(source))
        assert found[-1].transform(source).p == len(names)
    parts = dd.from_pandas(frame, npartitions=3)
    found.append(lk.DesignMatrix(text=["body"], min_count=2).fit(parts))
    with dask.config.set(scheduler="threads"):
        lazy = dense(found[-1].transform(parts).compute())
    np.testing.assert_allclose(lazy, expected, rtol=1e-12, atol=1e-15)
    for one in found:
        assert one.get_feature_names_out().tolist() == names
        np.testing.assert_allclose(dense(one.transform(frame)), expected, rtol=1e-12, atol=1e-15)
    weighted = lk.DesignMatrix(text="body").fit(frame, sample_weight=np.full(400, 2.0))
    twice = lk.DesignMatrix(text="body").fit(pd.concat([frame, frame]))
    np.testing.assert_allclose(dense(weighted.transform(frame)), dense(twice.transform(frame)), rtol=1e-12)


def test_a_model_learns_from_the_words():
    frame = table(["cheap pills now", "see you at noon", "cheap money", "lunch at noon"] * 20)
    y = np.array(["spam", "ham"] * 40)
    model = make_pipeline(lk.DesignMatrix(text="body", standardize=True), lk.LogisticRegression())
    model.fit(frame, y)
    asked = table(["cheap lunch pills", "noon or later", "", "unheard"])
    assert model.predict(asked[["n", "body", "sex", "age"]])[:2].tolist() == ["spam", "ham"]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"text": "boddy"}, "text: no column named 'boddy'"),
        ({"text": ["age"]}, "text: column 'age' holds numbers, not strings"),
        ({"text": [3]}, "text must be names of columns; got 3."),
        ({"text": 3}, "text must be names of columns; got 3."),
    ],
)
def test_columns_that_are_no_text(how, said):
    with pytest.raises(ValueError, match=said):
        lk.DesignMatrix(**how).fit(table(["a b", "c d"]))


def test_texts_do_not_come_back():
    frame = table(["one two", "two three"])
    design = lk.DesignMatrix(text="body").fit(frame)
    with pytest.raises(ValueError, match="column 'body' is text, of which the order of words is not kept"):
        design.inverse(design.transform(frame), "body")


def test_a_column_without_words_is_left_out():
    with pytest.warns(UserWarning, match="body"):
        design = lk.DesignMatrix(text="body").fit(table(["", "."]))
    assert design.get_feature_names_out().tolist() == ["age", "sex=f", "sex=m", "n"]
