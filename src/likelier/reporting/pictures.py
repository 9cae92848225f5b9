"""Pictures of lk.plot as part of the page: SVG whose colours follow the page's."""

from likelier.plot.axes import COLORS

LIGHTER = 0.28  # towards white, on dark paper


def palette() -> str:
    """The colours of lk.plot as those of the style sheet."""
    colors = _hex()
    light = "".join(f"--c{i}:{color};" for i, color in enumerate(colors))
    dark = "".join(f"--c{i}:{_lighter(color)};" for i, color in enumerate(colors))
    used = "".join(
        f".fill-{i}{{fill:var(--c{i});background:var(--c{i})}}.line-{i}{{stroke:var(--c{i})}}"
        for i in range(len(colors))
    )
    return (
        f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}@media print{{:root{{{light}}}}}"
        f"{used}.fill-rest{{background:var(--line)}}\n"
    )


def _hex() -> list[str]:
    try:
        from matplotlib.colors import to_hex
    except ImportError as error:
        raise ImportError("reports need matplotlib: pip install 'likelier[report]'") from error
    return [str(to_hex(color)) for color in COLORS]


def _lighter(color: str) -> str:
    parts = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(part + LIGHTER * (255 - part)):02x}" for part in parts)
