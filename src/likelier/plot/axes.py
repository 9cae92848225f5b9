"""What all plots share: axes, a colour-blind-safe palette, columns of a table, the support of a density."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from likelier import optional
from likelier.array_types import Floats
from likelier.data import Dense
from likelier.estimators.validation import numbers_of

# What all plots share: axes, colours that everyone can distinguish, columns of a table.

Columns = NDArray[np.intp]

# Okabe and Ito (2008): distinguishable with any kind of colour vision.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#4D4D4D", "#F0E442")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*", "<")  # one more, so that no pair comes twice before 72
LIGHTER = 0.8  # of a colour, the rest is white, where the ground is dark
MUTED = 0.55  # of the ink: what stands behind


def axes(ax: Any = None) -> Any:
    """Those given, or the axes of a new figure."""
    return ax if ax is not None else pyplot().subplots(layout="constrained")[1]


def titled(ax: Any, title: str) -> Any:
    """The axes with a title, unless they have one already."""
    if not any(ax.get_title(loc=loc) for loc in ("left", "center", "right")):
        ax.set_title(title, fontsize="medium", loc="left")
    return ax


def pyplot() -> Any:
    """matplotlib, which is an extra, and slow to load."""
    return optional.load("matplotlib.pyplot", "plots need", "likelier[plot]")


# ---- colours -------------------------------------------------------------------------------------
def color(k: int) -> tuple[float, ...]:
    """Of class k; on a dark ground somewhat lighter, and from the ninth on further from the ground."""
    turn, place = divmod(k, len(COLORS))
    if _dark():
        return mixed(COLORS[place], "white", LIGHTER * 0.6**turn)
    return mixed(COLORS[place], "black", 0.6**turn)


def _dark() -> bool:
    from matplotlib import rcParams
    from matplotlib.colors import to_rgb

    return sum(to_rgb(rcParams["axes.facecolor"])) < 1.2


def marker(k: int) -> str:
    """Of class k: classes differ without colours, too."""
    return MARKERS[k % len(MARKERS)]


def ink(ax: Any, share: float = 1.0) -> Any:
    """The colour of text on these axes, whatever the style; a share of it, on their ground."""
    return mixed(ax.xaxis.label.get_color(), ax.get_facecolor(), share)


def tint(ax: Any, k: int, share: float) -> Any:
    """A share of the colour of class k, on the ground of these axes."""
    return mixed(color(k), ax.get_facecolor(), share)


def mixed(one: Any, other: Any, share: float) -> tuple[float, ...]:
    """A share of one colour, the rest of the other."""
    from matplotlib.colors import to_rgb

    return tuple(share * a + (1 - share) * b for a, b in zip(to_rgb(one), to_rgb(other), strict=True))


# ---- tables --------------------------------------------------------------------------------------
class Table(NamedTuple):
    """Rows as they were passed, column by column, and how to make more rows of the same kind."""

    frame: Any  # a narwhals frame; None: an array
    array: Any
    names: list[str] | None

    @classmethod
    def of(cls, X: Any) -> Self:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            found = cls(frame, None, frame.columns)
        else:
            found = cls(None, X.toarray() if sparse.issparse(X) else np.asarray(X), None)
        if len(found.shape) != 2 or not all(found.shape):
            empty = (
                "there is nothing to draw" if 0 in found.shape else "X must be a table of rows and columns"
            )
            raise ValueError(f"X has shape {found.shape}: {empty}.")
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple((self.array if self.frame is None else self.frame).shape)

    def name(self, j: int) -> str:
        return f"column {j}" if self.names is None else self.names[j]

    def places(self, columns: Any) -> Columns:
        """Numbers of columns, from numbers or names."""
        return numbers_of(self.shape[1], None if self.names is None else np.array(self.names), columns)

    def drawn(self, columns: Any) -> Columns:
        """The one or two columns of a picture; all, if nothing is asked for."""
        p = self.shape[1]
        if columns is None and p > 2:
            raise ValueError(f"X has {p} columns, and one or two are drawn: choose them by columns=(a, b)")
        found = self.places(range(p) if columns is None else columns)
        if len(found) not in (1, 2):
            raise ValueError(f"columns must name one or two columns; got {columns!r}.")
        return found

    def keys(self, columns: Columns, model: Any) -> list[Any]:
        """Columns as a model knows them: by name, if it has names, in whatever order they are here."""
        by_name = self.names is not None and hasattr(model, "feature_names_in_")
        return [self.name(int(j)) if by_name else int(j) for j in columns]

    def column(self, j: int) -> NDArray[Any]:
        """(n,) numbers, NaN where one is missing; or else objects, None where one is missing."""
        if self.frame is None:
            values = self.array[:, j]
            if values.dtype.kind in "fiub":
                return np.asarray(values, dtype=np.float64)
            missing = [value is None or value != value for value in values]
        else:
            series = self.frame.get_column(self.frame.columns[j])
            if series.dtype.is_numeric() or series.dtype == nw.Boolean:
                return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
            values, missing = series.to_list(), series.is_null().to_list()
        kept = [None if gone else value for value, gone in zip(values, missing, strict=True)]
        try:
            return np.array(kept, dtype=np.float64)  # None becomes NaN
        except (TypeError, ValueError):
            return np.array(kept, dtype=object)

    def numbers(self, j: int) -> Floats:
        """(n,), refused if there are none."""
        found = self.column(j)
        if found.dtype.kind != "f":
            bad = next(value for value in found if not _is_number(value))
            raise ValueError(f"X must be numeric, but {self.name(j)} contains {bad!r}")
        if np.isinf(found).any():
            row = int(np.isinf(found).argmax())
            raise ValueError(f"X contains infinity ({self.name(j)}, row {row}): it cannot be drawn")
        if np.isnan(found).all():
            raise ValueError(f"{self.name(j)} of X has no numbers, only missing cells: nothing to draw")
        return found

    @property
    def values(self) -> Floats:
        """(n, p) of all columns."""
        return np.column_stack([self.numbers(j) for j in range(self.shape[1])])

    def alone(self, columns: Columns, values: Sequence[NDArray[Any]]) -> Any:
        """Rows of these columns alone, as what X was: a frame of the same names, or an array."""
        if self.frame is not None:
            return self._like(columns, values).to_native()
        mixed_kinds = self.array.dtype.kind == "O"
        return np.column_stack([each.astype(object) if mixed_kinds else each for each in values])

    def filled(self, columns: Columns, values: Sequence[NDArray[Any]], held: Mapping[int, Any]) -> Any:
        """Rows of all columns: some with values of their own, the others held at one value."""
        n, p = len(values[0]), self.shape[1]
        given = dict(zip(columns.tolist(), values, strict=True))
        every = [given[j] if j in given else np.full(n, held[j]) for j in range(p)]
        return self.alone(np.arange(p), every)

    def _like(self, columns: Columns, values: Sequence[NDArray[Any]]) -> Any:
        backend = nw.get_native_namespace(self.frame)
        new = {self.frame.columns[j]: each.tolist() for j, each in zip(columns, values, strict=True)}
        found = nw.from_dict(new, backend=backend)
        texts = {n: t for n, t in self.frame.schema.items() if n in new and not t.is_numeric()}
        return found.with_columns(*(nw.col(name).cast(kind) for name, kind in texts.items()))

    def typical(self, j: int) -> Any:
        """The mean of numbers; of others, the commonest."""
        found = self.column(j)
        if found.dtype.kind == "f":
            mean = float(self.numbers(j)[~np.isnan(found)].mean())
            return round(mean) if self._of_booleans(j) else mean
        there = [value for value in found.tolist() if value is not None]
        if not there:
            raise ValueError(f"{self.name(j)} of X has only missing cells: give its value in at=")
        return max(dict.fromkeys(there), key=there.count)

    def _of_booleans(self, j: int) -> bool:
        if self.frame is None:
            return bool(self.array.dtype == np.bool_)
        return bool(self.frame.schema[self.frame.columns[j]] == nw.Boolean)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return value is None
    return True


def label_rows(y: Any, n: int, classes: NDArray[Any]) -> NDArray[Any]:
    """(n,) labels, all of them classes."""
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"y must have one label for each of the {n} rows; got shape {labels.shape}.")
    unknown = set(labels.tolist()) - set(classes.tolist())
    if unknown:
        some, known = (sorted(map(repr, each)) for each in (unknown, classes.tolist()))
        raise ValueError(
            f"y has labels that the model does not know: {', '.join(some[:10])}; "
            f"it knows {', '.join(known[:10])}"
        )
    return labels


# Values that a density is for.


def support_of(model: Any) -> Any:
    """Of a fitted model; None: all numbers, or it has no densities."""
    return getattr(getattr(getattr(model, "_model", None), "params", None), "support", None)


def outside(support: Any, values: Floats, place: int = 0, p: int = 1) -> NDArray[np.intp]:
    """Which of these values of one column, of p, a density is not for."""
    if support is None:
        return np.empty(0, dtype=np.intp)
    rows = np.full((len(values), p), np.nan)
    rows[:, place] = values
    found: NDArray[np.intp] = support.outside(Dense(rows))[0]
    return found


def is_whole(support: Any) -> bool:
    """Whether there is nothing between whole numbers, of a single column."""
    return bool(len(outside(support, np.array([0.5]))))


def nearest(support: Any, values: Floats, seen: Floats, place: int, p: int) -> Floats:
    """In place of values that a density is not for: whole ones, or those within what was seen."""
    found = values.copy()
    at = outside(support, found, place, p)
    found[at] = np.round(found[at])
    at = outside(support, found, place, p)
    found[at] = np.clip(found[at], np.nanmin(seen), np.nanmax(seen))
    return found
