"""Whether the log odds of classes are linear in the columns."""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from likelier.comparing.assumptions.chances import LEVEL
from likelier.comparing.assumptions.kinks import kinks
from likelier.comparing.assumptions.pairs import merged
from likelier.comparing.assumptions.sample import Sample, telling
from likelier.estimators.logistic import LogisticRegression

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

MOST_BENT, MOST_SLOPES = 30, 150  # columns that may bend, those that tell most; and slopes, one for a class
MOST_FITTED = 4000  # rows
FEWEST_FITTED = 20
PENALTIES = (1.0, 10.0, 100.0)  # C: a penalty too strong would gain by more columns, one too weak by fewer
SOME, MUCH = 0.03, 0.15  # of the held-out log-loss, which bends save


@dataclass(frozen=True)
class Bends:
    """Logistic regression on half of the rows, judged on the other half, without and with a slope of each
    column that changes at its median (a broken line, as in Friedman 1991).

    gain: how much less the held-out log-loss is with bends, as a share of it; p: of no gain.
    """

    log_loss: float  # without
    gain: float
    p: float
    error: float  # the share of mistakes without bends
    column: str  # that bends most
    columns: int  # of numbers, that were looked at

    @property
    def bent(self) -> bool:
        return self.p < LEVEL and self.gain >= SOME

    @property
    def far(self) -> bool:
        return self.bent and self.gain >= MUCH


class _Judged(NamedTuple):
    losses: Floats
    mistakes: NDArray[np.bool_]
    W: Floats  # the size of weights, of both fits


def bends_of(sample: Sample, seed: int) -> Bends | str:
    """What bends gain; or why that was not found out."""
    if not sample.names:
        return "no column holds numbers, and each category or word has a weight of its own"
    rows, y, half = _halves(sample, seed)
    if len(sample.groups) < 2 or len(rows) < FEWEST_FITTED:
        return "there are too few rows"
    held = telling(sample, min(MOST_BENT, MOST_SLOPES // len(sample.groups)))
    linear = _design(sample, held, rows)
    kink, names = kinks(sample, held)
    straight = _best(linear, y, half)
    broken = _best(np.hstack([linear, kink[rows]]), y, half) if names else straight
    saved = straight.losses - broken.losses
    deviation = float(saved.std(ddof=1))
    z = saved.mean() * np.sqrt(len(saved)) / deviation if deviation > 0 else 0.0
    sizes = broken.W[:, -len(names) :].sum(axis=0)
    loss = float(straight.losses.mean())
    return Bends(
        loss,
        float(saved.mean()) / loss if loss > 0 else 0.0,
        float(ndtr(-z)),
        float(straight.mistakes.mean()),
        names[int(np.argmax(sizes))] if names else "",
        len(held),
    )


def _halves(sample: Sample, seed: int) -> tuple[Indices, NDArray[np.int64], NDArray[np.int64]]:
    """Some rows of each class, their class, and which half they are in: every class is in both."""
    draw = np.random.default_rng(seed)
    share = min(MOST_FITTED / max(sum(map(len, sample.members)), 1), 1.0)
    found = [draw.permutation(rows)[: max(round(share * len(rows)), 4)] for rows in sample.members]
    y = np.repeat(np.arange(len(found)), [len(rows) for rows in found])
    half = np.concatenate([np.arange(len(rows)) % 2 for rows in found]) if found else y
    return np.concatenate([*found, np.empty(0, dtype=np.intp)]), y, half


def _design(sample: Sample, held: Indices, rows: Indices) -> Floats:
    """Numbers, and indicators of categories."""
    blocks = [np.nan_to_num(sample.Z[np.ix_(rows, held)])]
    for codes in sample.codes[rows].T:
        common = merged(codes + 1)  # missing is a category too
        blocks.append(common[:, None] == np.arange(common.max() + 1))
    return np.hstack(blocks).astype(np.float64)


def _best(X: Floats, y: NDArray[np.int64], half: NDArray[np.int64]) -> _Judged:
    """With the penalty that suits the columns."""
    return min((_judged(X, y, half, C) for C in PENALTIES), key=lambda found: found.losses.mean())


def _judged(X: Floats, y: NDArray[np.int64], half: NDArray[np.int64], C: float) -> _Judged:
    """Each half by the fit to the other."""
    losses, mistakes, W = np.empty(len(y)), np.empty(len(y), dtype=np.bool_), np.zeros(())
    for test in (half == 0, half == 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whether it converged to the last digit does not matter here
            model = LogisticRegression(C=C).fit(X[~test], y[~test])
        log_p, truth = model.predict_log_proba(X[test]), y[test]
        losses[test] = -log_p[np.arange(len(truth)), truth]
        mistakes[test] = log_p.argmax(axis=1) != truth
        W = W + np.abs(model.coef_)
    return _Judged(losses, mistakes, W)
