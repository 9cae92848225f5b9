"""The law of descriptions: what is described is what the model answers, on every row that it takes."""

import numpy as np
import pytest

from export.models import CASES, quietly
from likelier.estimators.exports import described
from likelier.export import evaluate


def columns_of(X):
    """The cells of each column, as Python has them."""
    found = {}
    for name in X.columns:
        if X[name].dtype.kind == "M":
            days = X[name].to_numpy().astype("datetime64[us]").astype(np.int64) / 86_400e6
            found[name] = np.where(X[name].isna(), np.nan, days)
        else:
            found[name] = X[name].tolist()
    return found


def assert_close(ours, theirs, digits):
    size = np.maximum(1.0, np.abs(np.where(np.isfinite(theirs), theirs, 0.0)))
    assert np.nanmax(np.abs(ours - theirs) / size, initial=0.0) <= digits
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(theirs))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_description_evaluated_is_the_model(case):
    model, X = case.fit(), case.rows()
    program = described(model)
    table = columns_of(X)
    if program.answer == "targets":
        Y = quietly(lambda: model.predict(X))
        assert_close(evaluate.scores(program, table).reshape(np.shape(Y)), Y, case.digits)
        return
    asked = quietly(lambda: model.predict(X))
    if program.probable:
        assert_close(evaluate.proba(program, table), quietly(lambda: model.predict_proba(X)), case.digits)
    assert evaluate.labels(program, table) == asked.tolist()
