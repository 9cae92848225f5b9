"""Generators of random numbers, as scikit-learn makes them."""

from numbers import Integral
from threading import local
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

_here = local()


def at_once(random_state: Any) -> np.random.RandomState:
    """The generator that `random_state` means, to be drawn from before anyone else asks for one.

    A number seeds one that each thread keeps: to make one takes fifty times as long.
    """
    if not isinstance(random_state, Integral):
        made: np.random.RandomState = check_random_state(random_state)
        return made
    if not hasattr(_here, "rng"):
        _here.rng = np.random.RandomState()
    rng: np.random.RandomState = _here.rng
    rng.seed(int(random_state))
    return rng
