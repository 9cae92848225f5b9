"""Pictures of lk.plot as part of the page: SVG whose colours follow the page's, in light and dark."""

import re
import warnings
from collections.abc import Callable
from functools import partial
from html import escape
from io import StringIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likelier.plot.axes import color

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


def _tag(found: re.Match[str], name: str, palette: NDArray[np.float64]) -> str:
    """One tag: what stands between tags is words, whatever they look like."""
    tag = re.sub(r'\bid="', f'id="{name}-', found[0])
    tag = re.sub(r'((?:xlink:)?href="#|url\(#)', rf"\1{name}-", tag).replace("xlink:href", "href")
    tag = re.sub(r"font: ([^;\"]*?)px [^;\"]*", r"font-size: \1px", tag)
    return re.sub(r"#[0-9a-f]{6}\b", partial(_followed, palette=palette), tag)


def _followed(found: re.Match[str], palette: NDArray[np.float64]) -> str:
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


def _palette() -> NDArray[np.float64]:
    """(COLORS, 3), from 0 to 255."""
    _matplotlib()
    from matplotlib.colors import to_rgb

    return np.asarray(np.rint(255 * np.array([to_rgb(color(k)) for k in range(COLORS)])))


def _rgb(text: str) -> NDArray[np.float64]:
    return np.array([int(text[i : i + 2], 16) for i in (1, 3, 5)], dtype=np.float64)


def _hex(rgb: NDArray[np.float64]) -> str:
    return "#" + "".join(f"{round(part):02x}" for part in rgb.tolist())


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("reports need matplotlib: pip install 'likelier[report]'") from error
    return matplotlib
