from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Where = tuple[int, int] | None

ISA: str
lanes: int

class Matrix:
    @staticmethod
    def dense(X: NDArray[Any], /) -> Matrix: ...
    @staticmethod
    def csr(values: NDArray[Any], columns: NDArray[Any], starts: NDArray[Any], p: int, /) -> Matrix: ...
    @staticmethod
    def columns(arrays: tuple[NDArray[Any], ...], /) -> Matrix: ...

def moments(
    X: Matrix,
    codes: NDArray[np.int32] | None,
    R: Floats | None,
    weights: Floats | None,
    tied: bool,
    n: Floats,
    mean: Floats,
    S: Floats,
) -> Where: ...
def centred_sums(
    X: Matrix,
    R: Floats,
    weights: Floats | None,
    centres: Floats,
    tied: bool,
    n: Floats,
    first: Floats,
    second: Floats,
) -> Where: ...
def responsibilities(Z: Floats, out: Floats) -> None: ...
def higher_moments(
    X: Matrix,
    codes: NDArray[np.int32] | None,
    R: Floats | None,
    weights: Floats | None,
    mean: Floats,
    T: Floats,
    Q: Floats,
) -> None: ...
def fold(X: Matrix, Y: Matrix, weights: Floats | None, shift: Floats, R: Floats) -> Where: ...
def descend(H: Floats, l1: Floats, most: int, tol: float, u: Floats, v: Floats) -> bool: ...
def fold_factor(Z: Matrix, R: Floats, /) -> None: ...
def affine(X: Matrix, W: Floats, b: Floats, shift: Floats, Z: Floats, add: bool, /) -> Where: ...
def sparse_affine(
    X: Matrix,
    turned: Floats,
    zero: Floats,
    b: Floats | None,
    constant: Floats | None,
    threshold: float,
    Z: Floats,
    add: bool,
    /,
) -> Where: ...
def additive(
    X: Matrix, W: Floats, constant: Floats, b: Floats, threshold: float, Z: Floats, add: bool, /
) -> Where: ...
def sums(
    X: Matrix,
    codes: NDArray[np.int32] | None,
    R: Floats | None,
    weights: Floats | None,
    ends: tuple[float, float],
    whole: bool,
    threshold: float,
    n: Floats,
    total: Floats,
    gone: Floats | None,
) -> Where: ...
def any_outside(X: Matrix, ends: tuple[float, float], whole: bool, /) -> bool: ...
def diagonal(X: Matrix, mean: Floats, scale: Floats, b: Floats, Z: Floats, add: bool, /) -> Where: ...
def quadratic(
    X: Matrix, shift: Floats, U: Floats, at: Floats, b: Floats, Z: Floats, add: bool, /
) -> Where: ...
def column_moments(
    X: Matrix,
    codes: NDArray[np.int32] | None,
    R: Floats | None,
    weights: Floats | None,
    n: Floats,
    seen: Floats,
    mean: Floats,
    S: Floats,
) -> Where: ...
def infinite(X: Matrix, /) -> Where: ...
def diagonal_gaps(
    X: Matrix, mean: Floats, scale: Floats, constant: Floats, b: Floats, Z: Floats, add: bool, /
) -> Where: ...

class GappyGaussians:
    def __init__(self, mean: Floats, shift: Floats, U: Floats, precision: Floats, /) -> None: ...
    def scores(self, X: Matrix, b: Floats, Z: Floats, add: bool) -> Where: ...
    def fill(self, X: Matrix, P: Floats, out: Floats) -> Where: ...

def expect(
    X: Floats,
    weights: Floats,
    start: NDArray[np.int64],
    code: NDArray[np.int32],
    spread: NDArray[np.int64],
    scatters: Floats,
    mean: Floats,
    precision: Floats,
    first: Floats,
    second: Floats,
) -> tuple[float, float]: ...
def count_cells(
    X: Matrix,
    codes: NDArray[np.int32] | None,
    R: Floats | None,
    weights: Floats | None,
    first: Floats,
    size: Floats,
    other: Floats,
    low: Floats,
    n: Floats,
    counts: Floats,
) -> Where: ...
def largest(
    X: Matrix,
    codes: NDArray[np.int32] | None,
    R: Floats | None,
    weights: Floats | None,
    K: int,
    top: Floats,
) -> None: ...
def no_code(X: Matrix, low: Floats, /) -> Where: ...
def look_up(
    X: Matrix,
    first: Floats,
    size: Floats,
    other: Floats,
    low: Floats,
    table: Floats,
    b: Floats,
    Z: Floats,
    add: bool,
    /,
) -> Where: ...
def find_bins(X: Matrix, cuts: Floats, start: NDArray[np.int64], out: NDArray[np.int32], /) -> Where: ...
def kernels(
    X: Matrix,
    cells: Floats,
    log_w: Floats,
    log_v: Floats,
    start: NDArray[np.int64],
    scale: Floats,
    constant: Floats,
    own: NDArray[np.int64] | None,
    less: Floats | None,
    b: Floats,
    Z: Floats,
    add: bool,
    threads: int,
) -> Where: ...
def expand(
    X: Matrix,
    codes: NDArray[np.int32],
    weights: Floats | None,
    offset: Floats | None,
    loss: int,
    positive: int,
    W: Floats,
    b: Floats,
    shift: Floats,
    f: Floats,
    g: Floats,
    H: Floats | None,
) -> Where: ...
def loss_values(
    X: Matrix,
    codes: NDArray[np.int32],
    weights: Floats | None,
    offset: Floats | None,
    loss: int,
    positive: int,
    W: Floats,
    b: Floats,
    shift: Floats,
    f: Floats,
) -> Where: ...
def curvature_product(
    X: Matrix,
    codes: NDArray[np.int32],
    weights: Floats | None,
    offset: Floats | None,
    loss: int,
    positive: int,
    W: Floats,
    b: Floats,
    shift: Floats,
    V: Floats,
    v: Floats,
    out: Floats,
) -> Where: ...
def softmax(Z: Floats, /) -> None: ...
def log_softmax(Z: Floats, /) -> None: ...
def log_sum_exp(Z: Floats, out: Floats, /) -> None: ...
def argmax(Z: Floats, out: NDArray[np.int64], /) -> None: ...
def code(y: NDArray[Any], /) -> tuple[NDArray[np.int32], NDArray[np.int64]]: ...
def drawn(first: int, seed: int, top: int, places: NDArray[np.int64]) -> int: ...
def code_bytes(y: NDArray[np.uint8], /) -> tuple[NDArray[np.int32], NDArray[np.int64]]: ...
def recode(codes: NDArray[np.int32], table: NDArray[np.int32], /) -> None: ...
def square_norms(X: Matrix, shift: Floats, out: Floats) -> None: ...
def deal(order: NDArray[np.int64], seed: int) -> None: ...
def votes(
    X: Matrix,
    kept: Matrix,
    start: Floats,
    intercept: float,
    rows: NDArray[np.int64],
    steps: Floats,
    lasting: Floats,
    decay: float,
    out: Floats,
) -> Where: ...

class DualRows:
    def __init__(
        self,
        X: Matrix,
        shift: Floats,
        codes: NDArray[np.int32],
        weights: Floats | None,
        offset: Floats | None,
        squares: Floats,
        loss: int,
        K: int,
        inverse: float,
        tau: float,
    ) -> None: ...
    def epoch(self, order: NDArray[np.int64], W: Floats, a: Floats, move: bool) -> tuple[float, float]: ...
    def begin(self, order: NDArray[np.int64], start: Floats, W: Floats, a: Floats) -> None: ...

def sgd_epoch(
    X: Matrix,
    shift: Floats,
    codes: NDArray[np.int32],
    weights: Floats | None,
    offset: Floats | None,
    order: NDArray[np.int64],
    squares: Floats,
    loss: int,
    K: int,
    rate: float,
    power: float,
    horizon: float,
    bound: float,
    intercept: bool,
    l2: Floats,
    l1: Floats,
    every: int,
    taken: int,
    W: Floats,
    mean: Floats,
) -> tuple[float, int]: ...

class Stochastic:
    def __init__(
        self,
        X: Matrix,
        codes: NDArray[np.int32],
        weights: Floats | None,
        held: NDArray[np.uint8] | None,
        by_class: Floats,
        theta: Floats,
        mean: Floats | None,
        squares: Floats | None,
        *,
        t: float,
        positive: int,
        K: int,
        loss: int,
        epsilon: float,
        rate: int,
        eta0: float,
        power: float,
        alpha: float,
        t0: float,
        strength: float,
        l2: float,
        l1: float,
        average: int,
        intercept: bool,
        decay: float,
        shuffle: bool,
        seed: int,
        tol: float,
        patience: int,
        still: bool,
        diary: bool,
        in_order: bool,
        refusal: float,
    ) -> None: ...
    def run(self, most: int) -> None: ...
    def forget(self) -> None: ...
    def theta(self, out: Floats) -> None: ...
    def mean(self, out: Floats) -> None: ...
    def squares(self, out: Floats) -> None: ...
    @property
    def ended(self) -> bool: ...
    @property
    def bad(self) -> int: ...
    @property
    def clipped(self) -> int: ...
    @property
    def t(self) -> float: ...
    @property
    def losses(self) -> Floats: ...
    @property
    def judged(self) -> Floats: ...
    @property
    def mistakes(self) -> NDArray[np.int64]: ...
    @property
    def steps(self) -> NDArray[np.int64]: ...
    @property
    def diary_turns(self) -> NDArray[np.int64]: ...
    @property
    def diary_rows(self) -> NDArray[np.int64]: ...

class HashedRows:
    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    @property
    def cells(self) -> int: ...
    @property
    def skipped(self) -> int: ...
    def clear(self) -> None: ...
