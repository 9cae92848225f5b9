"""Mixed tables with missing cells: NaiveBayes as it is, beside the best that a pipeline can do."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, OrdinalEncoder

import likelier as lk

# How often the rows are shuffled: of few rows, the loss depends on it.
TABLES = {"adult_train.csv.gz": ("income", 1), "titanic.csv": ("survived", 3)}
TABLES |= {"hepatitis.csv": ("class", 3), "vote.csv": ("class", 3)}
TINY = np.finfo(np.float64).eps  # a probability is taken to be no smaller, as scikit-learn has it


def opened(path: Any, target: str) -> tuple[pd.DataFrame, np.ndarray]:
    frame = pd.read_csv(path, na_values="?")
    X, y = frame.drop(columns=target), pd.factorize(frame[target], sort=True)[0]
    for name in X:
        if X[name].dtype == bool:
            X[name] = X[name].astype(float)
        elif X[name].dtype.kind not in "fiu":
            X[name] = X[name].astype(object)  # SimpleImputer knows no other strings
    return X, y


NUMBERS, WORDS = make_column_selector(dtype_include="number"), make_column_selector(dtype_include=object)


def codes(bins: int) -> Any:
    """Imputer, bins, encoder. Category 0 is for what the training rows lack."""
    cut = KBinsDiscretizer(
        bins, encode="ordinal", strategy="quantile", quantile_method="averaged_inverted_cdf"
    )
    coded = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), cut), NUMBERS),
        (
            make_pipeline(
                SimpleImputer(strategy="most_frequent"), coded, FunctionTransformer(lambda x: x + 1)
            ),
            WORDS,
        ),
    )


def plain() -> Any:
    one = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), one)
    return make_column_transformer((SimpleImputer(strategy="median"), NUMBERS), (words, WORDS))


def answers(X: pd.DataFrame, y: np.ndarray, X_test: pd.DataFrame) -> dict[str, np.ndarray]:
    """P of rows held out, by what pipelines there are; those with the same bins share their making."""
    rows = plain()
    found = {"GaussianNB": GaussianNB().fit(rows.fit_transform(X), y).predict_proba(rows.transform(X_test))}
    for bins in (5, 8, 16) if NUMBERS(X) else (5,):
        coded = codes(bins)
        C, C_test = coded.fit_transform(X), coded.transform(X_test)
        found[f"CategoricalNB, {bins} bins"] = CategoricalNB().fit(C, y).predict_proba(C_test)
        one = OneHotEncoder(handle_unknown="ignore")
        T, T_test = one.fit_transform(C), one.transform(C_test)
        for model in (MultinomialNB(), BernoulliNB()):
            P = model.fit(T, y).predict_proba(T_test)
            found[f"{type(model).__name__}, {bins} bins"] = P
    return found | {"likelier": lk.NaiveBayes().fit(X, y).predict_proba(X_test)}


def losses(X: pd.DataFrame, y: np.ndarray, times: int) -> dict[str, float]:
    """Mean loss of each over 5 folds, `times` shuffled anew."""
    found: dict[str, list[float]] = {}
    for seed in range(times):
        for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y):
            for name, P in answers(X.iloc[train], y[train], X.iloc[test]).items():
                of_label = P[np.arange(len(test)), y[test]]
                found.setdefault(name, []).append(-np.log(np.maximum(of_label, TINY)).sum())
    return {name: sum(each) / len(y) / times for name, each in found.items()}


@pytest.mark.filterwarnings("ignore::UserWarning")  # bins that are too small, categories that are unknown
@pytest.mark.parametrize("name", list(TABLES))
def test_log_loss_is_at_least_as_good_as_that_of_the_best_pipeline(name, data_file):
    target, times = TABLES[name]
    theirs = losses(*opened(data_file(name), target), times)
    ours = theirs.pop("likelier")
    best = min(theirs, key=theirs.__getitem__)
    print(f"{name}: {ours:.4f}; {best} {theirs[best]:.4f}")
    assert ours <= theirs[best], (best, theirs[best])
