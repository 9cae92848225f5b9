from collections.abc import Iterable, Sequence
from typing import Any, overload

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
def sparse_spread(X: Matrix, w: Floats, centred: bool, mean: Floats, squares: Floats) -> None: ...
def ridge_steps(
    X: Matrix,
    root: Floats,
    mean: Floats,
    squares: Floats,
    alpha: float,
    by_rows: bool,
    most: int,
    gains: Floats,
    b: Floats,
    r: Floats,
    d: Floats,
    now: Floats,
    threads: int = 1,
) -> int: ...
def sparse_gram(X: Matrix, w: Floats, G: Floats) -> None: ...
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
def climb_cells(
    n: float,
    ridge: float,
    well: float,
    row: NDArray[np.int32],
    column: NDArray[np.int32],
    Q: Floats,
    among: Floats,
    pull: Floats,
    R: Floats,
    start: NDArray[np.int64],
    missing: NDArray[np.int32],
    weight: Floats,
    most: int,
    tol: float,
    cov: Floats,
    cells: Floats,
) -> tuple[int, int]: ...
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
def design_rows(
    X: Matrix,
    to: NDArray[np.int32],
    missing: NDArray[np.int32],
    shift: Floats,
    scale: Floats,
    fill: Floats,
    at: NDArray[np.int64],
    table: NDArray[np.int32],
    P: int,
    out: Floats,
) -> Where: ...
def design_counts(
    X: Matrix,
    to: NDArray[np.int32],
    missing: NDArray[np.int32],
    shift: Floats,
    scale: Floats,
    fill: Floats,
    at: NDArray[np.int64],
    table: NDArray[np.int32],
    P: int,
    counts: NDArray[np.int64],
) -> Where: ...
def design_cells(
    X: Matrix,
    to: NDArray[np.int32],
    missing: NDArray[np.int32],
    shift: Floats,
    scale: Floats,
    fill: Floats,
    at: NDArray[np.int64],
    table: NDArray[np.int32],
    P: int,
    starts: NDArray[Any],
    values: Floats,
    columns: NDArray[Any],
) -> Where: ...
def recode(codes: NDArray[np.int32], table: NDArray[np.int32], /) -> None: ...
def square_norms(X: Matrix, shift: Floats, out: Floats) -> None: ...
def count_stored(X: Matrix, counts: NDArray[np.int64]) -> None: ...
def store_cells(X: Matrix, values: Floats, columns: NDArray[np.int32]) -> None: ...
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
    def round(
        self, order: NDArray[np.int64], epochs: int, seed: int, W: Floats, a: Floats, centre: Floats
    ) -> tuple[float, float]: ...
    def begin(self, order: NDArray[np.int64], start: Floats, W: Floats, a: Floats) -> None: ...

class DenseNewton:
    def __init__(
        self,
        X: Matrix,
        shift: Floats,
        codes: NDArray[np.int32],
        weights: Floats | None,
        offset: Floats | None,
        positive: int,
        loss: int,
        q: int,
        l2: Floats,
        n: float,
        intercept: bool,
        threads: int,
    ) -> None: ...
    @property
    def fits(self) -> bool: ...
    @property
    def paired(self) -> int: ...
    @property
    def reach(self) -> float: ...
    @property
    def products(self) -> int: ...
    @property
    def rounding(self) -> float: ...
    @property
    def size(self) -> float: ...
    def place(self, theta: Floats) -> None: ...
    def theta(self, out: Floats) -> None: ...
    def expand(self) -> float: ...
    def correct(self, g: Floats) -> float: ...
    def direction(self, share: float, radius: float, most: int) -> float: ...
    def search(self, full: bool) -> float: ...

class SparseNewton(DenseNewton): ...

class MarginRows:
    def __init__(
        self,
        X: Matrix,
        shift: Floats,
        scale: Floats | None,
        codes: NDArray[np.int32],
        weights: Floats | None,
        offset: Floats | None,
        intercept: bool,
    ) -> None: ...
    @property
    def width(self) -> int: ...
    def solve(
        self,
        first: int,
        factors: Floats | None,
        inverse: float,
        corner: bool,
        tol: float,
        most: int,
        theta: Floats,
    ) -> tuple[Floats, NDArray[np.int64], NDArray[np.uint8]]: ...

class MarginLine:
    def __init__(
        self, rows: MarginRows, positive: int, inverse: float, corner: bool, tol: float, theta: Floats
    ) -> None: ...
    def advance(self) -> None: ...
    def theta(self, out: Floats) -> None: ...
    @property
    def value(self) -> float: ...
    @property
    def norm(self) -> float: ...
    @property
    def step(self) -> float: ...
    @property
    def stuck(self) -> bool: ...

class SparseMarginRows:
    def __init__(
        self,
        X: Matrix,
        shift: Floats,
        scale: Floats | None,
        codes: NDArray[np.int32],
        weights: Floats | None,
        offset: Floats | None,
        intercept: bool,
    ) -> None: ...
    @property
    def width(self) -> int: ...
    def solve(
        self,
        first: int,
        factors: Floats | None,
        inverse: float,
        corner: bool,
        tol: float,
        most: int,
        theta: Floats,
    ) -> tuple[Floats, NDArray[np.int64], NDArray[np.uint8]]: ...

class SparseMarginLine:
    def __init__(
        self, rows: SparseMarginRows, positive: int, inverse: float, corner: bool, tol: float, theta: Floats
    ) -> None: ...
    def advance(self) -> None: ...
    def theta(self, out: Floats) -> None: ...
    @property
    def value(self) -> float: ...
    @property
    def norm(self) -> float: ...
    @property
    def step(self) -> float: ...
    @property
    def stuck(self) -> bool: ...

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

class Stepped: ...

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
        from_: Stepped | None = None,
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
    def stepped(self) -> Stepped: ...
    @property
    def ended(self) -> bool: ...
    @property
    def bad(self) -> int: ...
    @property
    def clipped(self) -> int: ...
    @property
    def t(self) -> float: ...
    @property
    def objective(self) -> float: ...
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
    @property
    def codes(self) -> NDArray[np.int32]: ...
    @property
    def weights(self) -> Floats: ...
    def extend(
        self,
        keys: NDArray[np.uint64],
        values: Floats,
        starts: NDArray[np.int64],
        codes: NDArray[np.int32],
        weights: Floats,
    ) -> None: ...
    def clear(self) -> None: ...

def cells_of(
    rows: HashedRows, /
) -> tuple[NDArray[np.uint64], Floats, NDArray[np.int64], NDArray[np.int32], Floats]: ...

SparseText = tuple[
    Floats,  # labels, NaN where a row has none
    Floats,  # weights
    NDArray[np.int32],  # starts
    NDArray[np.int32],  # columns
    Floats,  # values
    tuple[int, str, str] | None,  # the first line that is wrong: its number from 1, why, and its beginning
]

def svmlight_rows(block: bytes, shift: int, cells: bool, /) -> SparseText: ...
def vw_rows(block: bytes, bits: int, /) -> SparseText: ...
def survey_lines(block: bytes, indices: bool, /) -> tuple[int, int, int]: ...
def row_ends(
    text: NDArray[np.uint8], delimiter: str, before: int, quotes: int, /
) -> tuple[int, int, int]: ...

class TextParser:
    def __init__(
        self,
        format: str,
        *,
        target: str | None = None,
        weight: str | None = None,
        features: Iterable[str] | None = None,
        ignored: Iterable[str] = (),
        crosses: Iterable[Iterable[str]] = (),
        labels: Iterable[str] = (),
        finite: bool = False,
        delimiter: str = ",",
        quotes: bool = True,
        header: bool | None = None,
        numbers: Iterable[str] = (),
        words: Iterable[str] = (),
        missing: Iterable[str] = (),
        weightless: bool = True,
    ) -> None: ...
    def parse(self, block: bytes, rows: HashedRows, last: bool = False) -> None: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def lines(self) -> int: ...
    @property
    def bad(self) -> int: ...
    @property
    def first_bad(self) -> list[tuple[int, str, str]]: ...
    @property
    def changed(self) -> int: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def header(self) -> bool: ...
    @property
    def numbers(self) -> list[str]: ...
    @property
    def words(self) -> list[str]: ...
    @property
    def doubtful(self) -> list[tuple[str, int, str, int, int]]: ...

class Learner:
    def __init__(
        self,
        *,
        bits: int = 18,
        optimizer: str = "adagrad",
        loss: str = "log_loss",
        rate: float | None = None,
        power: float = 0.5,
        beta: float = 1.0,
        l1: float = 0.0,
        l2: float = 0.0,
        half_life: float = 0.0,
        normalised: bool = True,
        invariant: bool = True,
    ) -> None: ...
    @property
    def K(self) -> int: ...
    @property
    def counters(self) -> dict[str, int]: ...
    def grow(self, K: int) -> None: ...
    def learn(self, rows: HashedRows) -> Floats: ...
    def predict(self, rows: HashedRows) -> Floats: ...
    def state(self) -> dict[str, Any]: ...
    def restore(self, state: dict[str, Any]) -> None: ...

def dealt(batches: list[HashedRows], order: NDArray[np.int64]) -> HashedRows: ...

figure_bins: int

def figures(
    P: Floats,
    codes: NDArray[np.int32],
    weights: Floats | None,
    totals: Floats,
    classes: Floats,
    bins: Floats,
) -> int: ...

class Column:
    @staticmethod
    def numbers(name: str, x: NDArray[Any], /) -> Column: ...
    @staticmethod
    def coded(name: str, codes: NDArray[np.int32], levels: list[str], /) -> Column: ...
    @staticmethod
    def text(
        name: str, starts: NDArray[Any], bytes: NDArray[np.uint8], there: NDArray[np.bool_] | None, /
    ) -> Column: ...
    @staticmethod
    def objects(name: str, values: list[Any], strict: bool, /) -> Column: ...

Codes = NDArray[np.int32] | None

class Intake:
    factors: list[float]
    counts: list[float]
    mistakes: int
    skipped: int
    def __init__(self, interactions: Sequence[Sequence[str]], strict: bool, balanced: bool) -> None: ...
    def rows(self) -> HashedRows: ...
    def dicts(self, X: list[Any], codes: Codes, weights: Floats | None, first: int = 0) -> HashedRows: ...
    def columns(
        self, X: list[Column], start: int, stop: int, codes: Codes, weights: Floats | None
    ) -> HashedRows: ...
    def sparse(
        self,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        data: NDArray[Any],
        keys: NDArray[np.uint64],
        names: list[str],
        p: int,
        codes: Codes,
        weights: Floats | None,
        /,
    ) -> HashedRows: ...
    def weigh(self, rows: HashedRows, /) -> None: ...
    def judge(self, rows: HashedRows, P: Floats, /) -> None: ...
    def learn_one(self, learner: Learner, x: Any, code: int, weight: float, /) -> bool: ...
    def predict_one(self, learner: Learner, x: Any, /) -> int: ...
    def predict_proba_one(self, learner: Learner, x: Any, /) -> list[float]: ...

class RequestReader:
    def __init__(
        self,
        interactions: Sequence[Sequence[str]],
        columns: Sequence[str] | None,
        numbers: Sequence[str],
        words: Sequence[str],
    ) -> None: ...
    def labelled(
        self, body: bytes, /
    ) -> tuple[bool, list[str | None], list[bytes | None], list[bytes]] | None: ...
    def rows(self, rows: list[bytes], codes: NDArray[np.int32], /) -> HashedRows | None: ...
    def predict(
        self,
        learner: Learner,
        body: bytes,
        labels: Sequence[str],
        names: Sequence[str],
        version: int,
        most: int,
        /,
    ) -> tuple[bytes, int] | None: ...

def key_of(name: str, word: str | None) -> int: ...
def column_keys(names: list[str], p: int, /) -> NDArray[np.uint64]: ...
def online_scores(learner: Learner, rows: HashedRows, Z: Floats, /) -> None: ...
def online_weights(learner: Learner, key: int, /) -> list[float]: ...
def online_nonzero(learner: Learner, /) -> int: ...

class Characters:
    def __init__(
        self,
        flags: NDArray[np.uint8],
        changed: NDArray[np.uint32],
        ends: NDArray[np.int64],
        texts: NDArray[np.uint32],
        lower: bool,
        /,
    ) -> None: ...

class Analysis:
    def __init__(
        self,
        unit: int,
        least: int,
        most: int,
        shortest: int,
        characters: Characters,
        ignored: list[str],
        /,
    ) -> None: ...

class Terms:
    @overload
    def __init__(self, texts: list[str], /) -> None: ...
    @overload
    def __init__(self, bytes: NDArray[np.uint8], ends: NDArray[np.int64], /) -> None: ...
    def __len__(self) -> int: ...

def joined_terms(
    bytes: NDArray[np.uint8],
    ends: NDArray[np.int64],
    other_bytes: NDArray[np.uint8],
    other_ends: NDArray[np.int64],
    /,
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]: ...
def columns_by_term(bytes: NDArray[np.uint8], ends: NDArray[np.int64], /) -> dict[str, int]: ...
def weigh_terms(
    values: NDArray[Any],
    indices: NDArray[Any],
    starts: NDArray[Any],
    factors: NDArray[Any],
    norm: str,
    threads: int,
    /,
) -> None: ...

class DocumentCounts:
    rows: int
    def __init__(self, analysis: Analysis, vocabulary: Terms | None, rows_kept: bool = True) -> None: ...
    def add(self, documents: list[str], threads: int, /) -> None: ...
    def add_utf8(self, bytes: NDArray[np.uint8], ends: NDArray[np.int64], threads: int, /) -> None: ...
    def finish(self) -> None: ...
    def totals(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
    def texts(self, keep: NDArray[np.uint8], /) -> list[str]: ...
    def terms(self, keep: NDArray[np.uint8], /) -> tuple[NDArray[np.uint8], NDArray[np.int64]]: ...
    def matrix(
        self, columns: NDArray[np.int64], type: str, binary: bool, threads: int, /
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...

class HashedDocuments:
    def __init__(self, analysis: Analysis, columns: int, alternate: bool) -> None: ...
    def add(self, documents: list[str], strict: bool, threads: int, /) -> None: ...
    def add_utf8(self, bytes: NDArray[np.uint8], ends: NDArray[np.int64], threads: int, /) -> None: ...
    def matrix(
        self, type: str, binary: bool, norm: str, threads: int, /
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]: ...
