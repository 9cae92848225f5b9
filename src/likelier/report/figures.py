"""Plots of likelier.plot in the report, as SVG in the colours of the page."""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from html import escape
from io import StringIO
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from likelier import optional, plot
from likelier.array_types import Floats
from likelier.comparison.cross_validate import grow_training_rows
from likelier.comparison.models import CandidateModel
from likelier.comparison.result import Comparison, Result
from likelier.comparison.rows import Rows
from likelier.data import Factor
from likelier.display import counted
from likelier.evaluation.progressive import progressive
from likelier.plot.axes import color
from likelier.report.charts import informative, some

# Pictures of lk.plot as part of the page: SVG whose colours follow the page's, in light and dark.

COLORS = 20  # that the page has names for
LIGHTER = 0.28  # towards white, on dark paper
LONG = 44  # letters of a label
LETTERS = 14  # to an inch, about
CLOSE = 2.0  # of 255: colours so far apart are one
STYLE = {
    "svg.fonttype": "none",  # text stays text, in the font of the page
    "font.size": 9.5,
    "axes.edgecolor": "#808080",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": "#606060",
    "ytick.color": "#606060",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
}


def picture(
    draw: Callable[[Any], Any], *, name: str, say: str, size: tuple[float, float] = (4.8, 3.0)
) -> str:
    """What is drawn on axes, as SVG. name: of which there is one in a page; say: what is seen on it."""
    matplotlib = _matplotlib()
    from matplotlib.figure import Figure

    style = {**matplotlib.rcParamsDefault, **STYLE, "svg.hashsalt": name}
    style.pop("backend")
    with matplotlib.rc_context(style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the page has other fonts
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        for axes in figure.axes:
            if axes.get_title(loc="left") in CAPTIONS:  # the page has captions of its own
                axes.set_title("", loc="left")
            axes.patch.set_visible(False)
            _legend_above(figure, axes)
        _no_formulas(figure)
        text = StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata=dict.fromkeys(NOT_SAID))
    return _inline(text.getvalue(), name, say)


def _legend_above(figure: Any, axes: Any) -> None:
    """Where it hides nothing."""
    legend = axes.get_legend()
    if legend is None:
        return
    handles, labels = axes.get_legend_handles_labels()
    labels = [short(label, LONG) for label in labels]
    legend.remove()
    columns = max(1, min(len(labels), int(figure.get_figwidth() * LETTERS / (8 + max(map(len, labels))))))
    figure.legend(handles, labels, loc="outside upper left", ncols=columns)


def _no_formulas(figure: Any) -> None:
    """Dollars in names are dollars; ticks that a scale makes may be powers of ten."""
    from matplotlib.text import Text
    from matplotlib.ticker import FixedLocator

    every = [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]
    own = [axis for axis in every if not isinstance(axis.get_major_locator(), FixedLocator)]
    made = {label for axis in own for label in axis.get_ticklabels(which="both")}
    for text in set(figure.findobj(Text)) - made:
        text.set_parse_math(False)


def short(text: str, most: int) -> str:
    """Cut, if it is long."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


CAPTIONS = ("Mistakes over time", "Learning curve", "Density by class", "Coefficients", "Decision regions")
NOT_SAID = ("Creator", "Date", "Format", "Type")


def _inline(text: str, name: str, say: str) -> str:
    """Without its head, with a size that follows the page, names of its own, and colours of the page."""
    text = text[text.index("<svg") :]
    view = re.search(r'viewBox="[^"]*"', text)
    assert view is not None
    inner = text[text.index(">") + 1 :]
    inner = re.sub(r"<metadata>.*?</metadata>", "", inner, flags=re.DOTALL)
    inner = re.sub(r"<[^>]*>", partial(_tag, name=name, palette=_palette()), inner)
    inner = re.sub(r"\n\s*", "\n", inner)
    return f'<svg {view[0]} role="img" aria-label="{escape(say)}">{inner}'


def _tag(found: re.Match[str], name: str, palette: Floats) -> str:
    """One tag: what stands between tags is words, whatever they look like."""
    tag = re.sub(r'\bid="', f'id="{name}-', found[0])
    tag = re.sub(r'((?:xlink:)?href="#|url\(#)', rf"\1{name}-", tag).replace("xlink:href", "href")
    tag = re.sub(r"font: ([^;\"]*?)px [^;\"]*", r"font-size: \1px", tag)
    return re.sub(r"#[0-9a-f]{6}\b", partial(_page_colour, palette=palette), tag)


def _page_colour(found: re.Match[str], palette: Floats) -> str:
    """A colour of the page: greys are its ink, thinned; tints are of its paper; others lean to its ink."""
    rgb = _rgb(found[0])
    if np.ptp(rgb) <= CLOSE:
        return f"color-mix(in srgb, currentColor {round(100 * (1 - rgb.mean() / 255))}%, transparent)"
    for k, full in enumerate(palette):
        way = full - 255.0
        share = float(way @ (rgb - 255.0) / (way @ way))
        if 0 < share < 1.01 and np.abs(255.0 + share * way - rgb).max() <= CLOSE:
            if share > 0.985:
                return f"var(--c{k})"
            return f"color-mix(in srgb, var(--c{k}) {round(100 * share)}%, var(--paper))"
    return f"color-mix(in srgb, {found[0]} 75%, currentColor)"


# ---- colours -------------------------------------------------------------------------------------
def palette() -> str:
    """The colours of lk.plot as those of the style sheet."""
    colors = [_hex(rgb) for rgb in _palette()]
    light = "".join(f"--c{k}:{each};" for k, each in enumerate(colors))
    dark = "".join(f"--c{k}:{_hex(rgb + LIGHTER * (255 - rgb))};" for k, rgb in enumerate(_palette()))
    used = "".join(
        f".fill-{k}{{fill:var(--c{k});background:var(--c{k})}}.line-{k}{{stroke:var(--c{k})}}"
        for k in range(COLORS)
    )
    schemes = f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return f"{schemes}@media print{{:root{{{light}}}}}{used}.fill-rest{{background:var(--line)}}\n"


def _palette() -> Floats:
    """`(COLORS, 3)`, from 0 to 255."""
    _matplotlib()
    from matplotlib.colors import to_rgb

    return np.asarray(np.rint(255 * np.array([to_rgb(color(k)) for k in range(COLORS)])))


def _rgb(text: str) -> Floats:
    return np.array([int(text[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.float64)


def _hex(rgb: Floats) -> str:
    return "#" + "".join(f"{round(part):02x}" for part in rgb.tolist())


def _matplotlib() -> Any:
    return optional.load("matplotlib", "reports need", "likelier[report]")


# The pictures of the models that are looked at closely, by lk.plot; and what is said about them.

DENSITIES = 4  # columns
TOP = 12  # coefficients
MOST_ROWS = 5000  # that models are fitted to, for a picture
MOST_CLASSES = 8  # drawn in one picture
MOST_IN_ORDER = 4000  # rows of a stream
STEPS = 60  # batches of it
NAME, LINE = 26, 40  # letters of a column's name, and of a line below the axes
SIZES = 6  # of training sets
SECONDS = 4.0  # about as long as they may take
WIDE = 30.0  # ratio of figures, beyond which they are seen by their logarithms
MOST_WEIGHTS = 600  # that have intervals
MOST_TRIED = 4  # models, for one that has coefficients


class Fit(NamedTuple):
    """A model on all rows, and what it was given."""

    model: Any
    X: Any
    y: NDArray[Any]
    names: list[str]  # of the columns of X; none, if it is a sparse matrix


def fitted(candidate_model: CandidateModel, rows: Rows) -> Fit:
    """Fitted again to all of these rows."""
    at = np.arange(len(rows))
    prepared_rows = candidate_model.preprocessor(rows, at)
    X = prepared_rows(at)
    weights = {} if rows.w is None else {"sample_weight": rows.w}
    model = clone(candidate_model.model).fit(X, rows.y, **weights)
    if prepared_rows.names and not hasattr(model, "feature_names_in_"):
        model.feature_names_in_ = np.array(
            prepared_rows.names, dtype=object
        )  # arrays have none, pictures need them
    return Fit(model, X, rows.y, list(prepared_rows.names))


# ---- densities -----------------------------------------------------------------------------------
def densities(comparison: Comparison, models: Sequence[Result]) -> str:
    """The most informative columns by class, with the densities of the best model that has them."""
    assert comparison.classes is not None
    columns = informative(comparison, DENSITIES, ("number", "category"))
    if not columns:
        return "<p>There are no columns of numbers or categories to draw.</p>"
    if len(comparison.classes) > MOST_CLASSES:
        return f"<p>{len(comparison.classes)} classes are too many for one plot.</p>"
    rows = some(comparison.rows, MOST_ROWS, comparison.seed)
    fits = _density_models(comparison, models, rows)
    drawn = [_density(fits, rows, column.name, i) for i, column in enumerate(columns)]
    words = "The most informative columns, each by itself. Bars: relative frequencies in each class."
    return f'<p>{words}</p><div class="stills">{"".join(drawn)}</div>'


def _density_models(comparison: Comparison, models: Sequence[Result], rows: Rows) -> dict[str, Fit]:
    """The best generative model, and NaiveBayes, which has a density for every kind of column."""
    best = [result for result in models if result.traits.kind == "generative"]
    general = [result for result in comparison.results if result.model == "NaiveBayes" and result.folds]
    found = {}
    for result in [*best, *general]:
        if result.candidate_model is not None and result.model not in found:
            fit = quietly(partial(fitted, result.candidate_model, rows))
            if fit is not None:
                found[result.model] = fit
    return found


def _density(fits: Mapping[str, Fit], rows: Rows, name: str, i: int) -> str:
    """The column as the first of these models that has it; without any, the rows alone."""
    say = f"{name} in each class"
    for model, fit in fits.items():
        if name not in fit.names:
            continue

        def draw(ax: Any, fit: Fit = fit) -> None:
            plot.class_densities(fit.model, fit.X, rows.y, fit.names.index(name), ax=ax)
            ax.set_xlabel(fill(short(ax.get_xlabel(), 2 * LINE), LINE))

        found = quietly(partial(picture, draw, name=f"density-{i}", say=say, size=(4.8, 2.8)))
        if found is not None:
            words = f"Lines and points: {escape(model)}"
            return f'<figure class="still">{found}<p class="under">{words}</p></figure>'

    def bars(ax: Any) -> None:
        plot.class_densities(None, alone, rows.y, 0, ax=ax)
        ax.set_xlabel(fill(short(ax.get_xlabel().replace("column 0", name), 2 * LINE), LINE))

    values = next(column.values for column in rows.columns if column.name == name)
    if isinstance(values, Factor):
        values = np.array([*values.levels, None, None], dtype=object)[values.codes]
    alone = values[:, None]
    found = quietly(partial(picture, bars, name=f"density-{i}", say=say, size=(4.8, 2.8)))
    return "" if found is None else f'<figure class="still">{found}</figure>'


# ---- coefficients --------------------------------------------------------------------------------
def coefficients(comparison: Comparison, models: Sequence[Result]) -> str:
    """What each column adds, with intervals where there are some: of the best models that are sums."""
    K = 1 if comparison.classes is None else len(comparison.classes)
    if K > MOST_CLASSES:
        return f"<p>Weights for each of {K} classes are too many for one plot.</p>"
    if not models:
        return "<p>No model took part that has coefficients.</p>"
    rows = some(comparison.rows, MOST_ROWS, comparison.seed)
    figures = [_of_kind(comparison, result, rows, K, i) for i, result in enumerate(models)]
    return f'<div class="stills">{"".join(figures)}</div>'


def _of_kind(comparison: Comparison, best: Result, rows: Rows, K: int, i: int) -> str:
    """The best model; or the next best of its kind whose scores are sums over columns."""
    alike = [r for r in comparison.results if r.folds and r.traits.kind == best.traits.kind]
    for result in alike[:MOST_TRIED]:
        found = quietly(partial(_coefficients, result, rows, K, i))
        if found is None:
            continue
        caption = f"<figcaption>{escape(result.model)}</figcaption>"
        if result is not best:
            why = f"{escape(best.model)} has no weights of columns; this is the next best model that has."
            caption += f'<p class="under">{why}</p>'
        return f'<figure class="still">{caption}{found}</figure>'
    why = "Its scores are not sums over columns: there are no coefficients to draw."
    return f'<figure><figcaption>{escape(best.model)}</figcaption><p class="under">{why}</p></figure>'


def _coefficients(result: Result, rows: Rows, K: int, i: int) -> str:
    assert result.candidate_model is not None
    fit = fitted(result.candidate_model, rows)
    shown = min(TOP, fit.X.shape[1])
    size = (4.8, 1.2 + 0.24 * shown * max(1.0, K / 4))

    # Weights are of columns of any unit, what naive Bayes' columns contribute has one; tables have none.
    scaled = hasattr(fit.model, "coef_") and not hasattr(fit.X, "column_names")
    few = not hasattr(fit.model, "coef_") or fit.model.coef_.size <= MOST_WEIGHTS

    def draw(ax: Any) -> None:
        plot.coefficients(fit.model, fit.X, fit.y, top=TOP, per_deviation=scaled, intervals=few, ax=ax)
        ax.set_yticks(ax.get_yticks(), [short(label.get_text(), NAME) for label in ax.get_yticklabels()])
        ax.set_xlabel(fill(ax.get_xlabel(), LINE))

    say = f"The largest coefficients of {result.model}"
    return picture(draw, name=f"coefficients-{i}", say=say, size=size)


# ---- more rows -----------------------------------------------------------------------------------
def learning(comparison: Comparison, models: Sequence[Result]) -> str:
    """How much better models become with more rows."""
    names = [result.model for result in models]
    curve = quietly(lambda: grow_training_rows(comparison, names, sizes=_sizes(comparison, models)))
    if curve is None:
        return ""

    def draw(ax: Any) -> None:
        plot.learning_curve(curve, ax=ax)
        seen = np.append(curve.mean.ravel(), curve.baseline)
        seen = seen[np.isfinite(seen)]
        if seen.min() > 0 and seen.max() > WIDE * seen.min():
            ax.set_yscale("log")
            ax.set_ylim(seen.min() / 1.5, seen.max() * 1.5)

    say = f"{comparison.metric} on rows held out against rows learned from: {', '.join(names)}"
    found = quietly(lambda: picture(draw, name="learning", say=say))
    words = "On the same folds, trained on fewer rows. Bands: one standard error."
    return "" if found is None else _figure("Learning curve", words, found)


def _sizes(comparison: Comparison, models: Sequence[Result]) -> list[int]:
    """In even ratios up to all rows that folds leave; fewer of them where fits take long."""
    n, K = len(comparison.rows), 1 if comparison.classes is None else len(comparison.classes)
    most = n - -(-n // comparison.cv)
    fit = sum(float(result.fit.sum()) for result in models)  # seconds, at the largest size
    count = int(np.clip(SECONDS / max(fit, 1e-9), 3, SIZES))
    least = min(max(10, 5 * K), max(most // 3, 2))
    return [int(size) for size in np.unique(np.geomspace(least, most, count).round())]


# ---- one row after another -----------------------------------------------------------------------
def over_time(comparison: Comparison) -> str:
    """Mistakes of the models that learn row by row, each row answered before it is learned."""
    online = [result for result in comparison.results if result.online and result.folds]
    if not online:
        return ""
    rows = some(comparison.rows, MOST_IN_ORDER, comparison.seed)
    order, why = _order(rows.y, comparison.seed)
    curves = {}
    for result in online:
        assert result.candidate_model is not None
        curve = quietly(partial(_followed, result.candidate_model, rows, order))
        if curve is not None:
            curves[result.model] = curve
    if not curves:
        return ""

    def draw(ax: Any) -> None:
        plot.mistakes(curves, ax=ax)

    say = "; ".join(f"{name}: {each.mistakes:.0f} mistakes" for name, each in curves.items())
    found = quietly(lambda: picture(draw, name="mistakes", say=say))
    n = counted(len(rows), "row")
    words = f"One pass over {n} {why}: each row is predicted before it is learned."
    return "" if found is None else _figure("Mistakes over time", words, found)


def _figure(title: str, words: str, drawn: str) -> str:
    caption = f'<figcaption>{title}</figcaption><p class="under">{words}</p>'
    return f'<figure class="still">{caption}{drawn}</figure>'


def _order(y: NDArray[Any], seed: int) -> tuple[NDArray[np.intp], str]:
    """Rows as they come; shuffled, if they come sorted by class: then what was last seen tells what is
    next. Sorted: the class changes less than half as often as by chance.
    """
    _, codes = np.unique(y, return_inverse=True)
    share = np.bincount(codes) / len(y)
    changes, expected = np.count_nonzero(np.diff(codes)), (len(y) - 1) * (1 - share @ share)
    if changes < expected / 2:
        order = np.random.default_rng(seed).permutation(len(y))
        return order, "in random order (they come sorted by class)"
    return np.arange(len(y)), "in their order"


def _followed(candidate_model: CandidateModel, rows: Rows, order: NDArray[np.intp]) -> Any:
    X = candidate_model.preprocessor(rows, order)(order)
    batch = max(1, len(order) // STEPS)
    y = rows.y[order]
    stream = (X, y) if rows.w is None else (X, y, rows.w[order])
    return progressive(clone(candidate_model.model), stream, batch=batch, window=batch)


def quietly(work: Callable[[], Any]) -> Any:
    """What it returns; None if a model cannot do it. What models say of fits was said with the results."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return work()
        except (ValueError, TypeError, MemoryError):
            return None
