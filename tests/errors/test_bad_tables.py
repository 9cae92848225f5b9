"""Tables in model files that contradict themselves: kernels would read or write beside them."""

from dataclasses import replace

import numpy as np
import pytest

from likelier.data import Chunk, Dense
from likelier.families import Categorical, Histogram
from likelier.saving.schema import check
from likelier.states import BinCounts, Bins, Counts, edges_of

X = np.random.default_rng(0).integers(0, 4, (60, 2)).astype(np.float64)
Y = (np.arange(60) % 3).astype(np.int32)
BINS = tuple(edges_of(x, None, 4) for x in X.T)


def fitted(family):
    state = family.stats(3, 2)
    state.update(Chunk(Dense(X), Y))
    return state, family.estimate(state)


COUNTS, CATEGORIES = fitted(Categorical(None, unknown=False))
OPEN, _ = fitted(Categorical([4, 4]))
BINNED, HISTOGRAMS = fitted(Histogram(BINS))
ONE = BINS[0]
BAD = {
    "larger sizes": replace(COUNTS, sizes=COUNTS.sizes + 1),
    "sizes below 0": replace(COUNTS, sizes=np.array([-1, 9])),
    "no last code": replace(OPEN, sizes=np.array([0, 10])),
    "counts below 0": replace(COUNTS, counts=-COUNTS.counts),
    "counts turned over": replace(COUNTS, counts=np.asfortranarray(COUNTS.counts)),
    "counts of other classes": replace(COUNTS, counts=COUNTS.counts[:, :2].copy()),
    "sizes of other columns": replace(COUNTS, sizes=np.array([4, 2, 2])),
    "sizes that are no whole numbers": replace(COUNTS, sizes=COUNTS.sizes.astype(float)),
    "codes beyond go nowhere known": replace(COUNTS, beyond="first"),
    "larger levels": replace(CATEGORIES, levels=CATEGORIES.levels + 1),
    "no levels": replace(CATEGORIES, levels=np.array([0, 8])),
    "probabilities of 2 in all": replace(CATEGORIES, log_p=CATEGORIES.log_p + np.log(2)),
    "probabilities that are none": replace(CATEGORIES, log_p=np.full_like(CATEGORIES.log_p, np.nan)),
    "edges in disorder": replace(ONE, edges=ONE.edges[::-1].copy()),
    "a cut twice": Bins(np.array([0.0, 1.0, 1.0, 2.0]), np.zeros(3, dtype=bool)),
    "too few edges": replace(ONE, edges=ONE.edges[1:].copy()),
    "no bins": Bins(np.zeros(1), np.zeros(0, dtype=bool)),
    "an outermost atom": replace(ONE, atoms=np.ones(len(ONE), dtype=bool)),
    "infinite edges": replace(ONE, edges=np.append(ONE.edges[:-1], np.inf)),
    "bins of other sizes": BinCounts(BINS, COUNTS),
    "histograms of other bins": replace(HISTOGRAMS, bins=BINS[:1]),
    "bins that are none": replace(HISTOGRAMS, bins=(1, 2)),
}
PASS = [COUNTS, OPEN, Counts.growing(3, 2), BINNED, CATEGORIES, HISTOGRAMS, ONE]


@pytest.mark.parametrize("record", PASS, ids=lambda record: type(record).__name__)
def test_tables_as_they_are_fitted_pass(record):
    check(record, {"K": 3, "p": 2})


@pytest.mark.parametrize("record", BAD.values(), ids=list(BAD))
def test_tables_that_contradict_themselves_are_refused(record):
    with pytest.raises(ValueError, match=r"wrong type|contradict|NaN or infinity|shape"):
        check(record, {"K": 3, "p": 2})


def test_histograms_of_other_columns_do_not_read_on():
    scores = HISTOGRAMS.discriminants()
    with pytest.raises(ValueError, match="bins of 2 columns, and rows of 3"):
        scores.write(Chunk(Dense(np.zeros((1, 3)))), np.empty((1, 3)))
