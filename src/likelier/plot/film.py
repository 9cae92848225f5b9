"""Pictures one after another in one file."""

import base64
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from likelier.plot.axes import pyplot
from likelier.storing.disk import place_for, write

DPI = 80
COLORS = 64  # of a GIF: fewer make smaller files, and flat colours need few
LAST = 2000  # milliseconds for the end of a GIF, before it begins again

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>EM, step by step</title>
<style>
:root { color-scheme: light dark }
body { font: 16px system-ui, sans-serif; margin: 1rem auto; max-width: 60rem; padding: 0 .5rem }
img { width: 100%%; display: block; background: white }
p { display: flex; gap: .7rem; align-items: center }
input { flex: 1 } button { min-width: 5rem; font: inherit }
</style></head>
<body>
<img id="picture" alt="EM, step by step">
<p><button id="play">Pause</button>
<input id="step" type="range" min="0" max="%d" value="0" aria-label="step">
<output id="number">0</output></p>
<script>
const frames = %s.map(frame => "data:image/png;base64," + frame), last = frames.length - 1;
const [picture, play, step, number] =
  ["picture", "play", "step", "number"].map(id => document.getElementById(id));
let timer;
function show() { picture.src = frames[step.value]; number.value = step.value; }
function stop() { clearInterval(timer); timer = null; play.textContent = "Play"; }
function next() { if (+step.value >= last) return stop(); step.value++; show(); }
function go() {
  if (+step.value >= last) step.value = 0;
  show(); play.textContent = "Pause"; timer = setInterval(next, %d);
}
play.onclick = () => timer ? stop() : go();
step.oninput = () => { stop(); show(); };
go();
</script></body></html>
"""


def place_of(path: str | Path) -> Path:
    """Where a film comes to lie; refused if none can."""
    found = Path(path)
    if found.suffix.lower() not in (".gif", ".html"):
        raise ValueError(f"path={str(path)!r}: a film is written as .gif or .html")
    return place_for(found)


def written(path: Path, figure: Any, show: Callable[[Any], Any], frames: int, fps: float) -> None:
    """All frames in one file, which is whole or not there; the figure is closed."""
    show(frames - 1)
    figure.canvas.draw()
    figure.set_layout_engine("none")  # laid out once: or else every frame anew, and axes would tremble
    pictures = [_picture(figure, show, number) for number in range(frames)]
    content = _gif(pictures, fps) if path.suffix.lower() == ".gif" else _page(pictures, fps)
    write(path, content)
    pyplot().close(figure)


def _picture(figure: Any, show: Callable[[Any], Any], number: int) -> bytes:
    show(number)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=DPI)
    return out.getvalue()


def _gif(pictures: Sequence[bytes], fps: float) -> bytes:
    from PIL import Image

    first, *others = (Image.open(io.BytesIO(each)).convert("RGB").quantize(COLORS) for each in pictures)
    durations = [*[1000 / fps] * len(others), LAST]
    out = io.BytesIO()
    first.save(out, "GIF", save_all=True, append_images=others, duration=durations, loop=0)
    return out.getvalue()


def _page(pictures: Sequence[bytes], fps: float) -> bytes:
    """With a slider, and nothing from elsewhere (matplotlib's own page fetches its buttons)."""
    frames = [base64.b64encode(each).decode() for each in pictures]
    return (PAGE % (len(frames) - 1, frames, 1000 / fps)).encode()
