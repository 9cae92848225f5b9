"""Pictures that are made when the site is: by blocks of code in the pages, and by the worked examples.

A block that begins with

    ```python picture: what is to be seen

is run, after all blocks before it on its page, and what it has drawn stands below it, in the colours of the
page, light or dark. Pictures are kept in build/pictures under a hash of the code that made them and of the
package, and made anew when that changes.
"""

import hashlib
import html
import io
import re
import runpy
import tempfile
from contextlib import chdir, redirect_stdout
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "pictures"
BLOCK = re.compile(r"^```python(?: picture: ([^\n]+))?\n(.*?)^```$\n?", flags=re.S | re.M)
STYLE = {
    "figure.figsize": (5.4, 3.7),
    "font.size": 9,
    "svg.hashsalt": "likelier",
    "axes.spines.top": False,
    "axes.spines.right": False,
}
INK = ("text.color", "axes.labelcolor", "axes.edgecolor", "axes.titlecolor", "xtick.color", "ytick.color")
GROUND = ("figure.facecolor", "axes.facecolor", "savefig.facecolor")
LOOKS = {
    "light": dict.fromkeys(GROUND, "#ffffff"),
    "dark": {**dict.fromkeys(GROUND, "#1e2129"), **dict.fromkeys(INK, "#c8ccd6")},
}


def stamp() -> str:
    """Of all that pictures depend on beside the code that draws them."""
    found = hashlib.sha256(version("matplotlib").encode())
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "src" / "core").rglob("*.?pp"), Path(__file__)]:
        found.update(path.read_bytes())
    return found.hexdigest()


def of_page(name: str, text: str, stamp: str) -> tuple[str, dict[str, Path]]:
    """The page with its pictures below their blocks, and the files of these by name."""
    found = list(BLOCK.finditer(text))
    wanted = [block for block in found if block[1]]
    if not wanted:
        return text, {}
    code = "".join(block[0] for block in found if block.start() <= wanted[-1].start())
    key = hashlib.sha256((stamp + code).encode()).hexdigest()[:16]
    numbers = range(1, len(wanted) + 1)
    names = [f"{name}-{i}-{look}" for i in numbers for look in LOOKS]
    made = {f"{each}.svg": KEPT / f"{each}-{key}.svg" for each in names}
    if not all(path.exists() for path in made.values()):
        _clear(name)
        _run(found, list(made.values()))
    number = iter(numbers)

    def shown(block: "re.Match[str]") -> str:
        i = next(number) if block[1] else 0
        files = [f"{name}-{i}-{look}.svg#only-{look}" for look in LOOKS if i]
        images = [image(file, block[1]) for file in files]
        return f"```python\n{block[2]}```\n\n{''.join(images)}"

    return BLOCK.sub(shown, text), made


def image(file: str, seen: str, kind: str = "picture") -> str:
    """As HTML: braces for attributes would be taken for such in formulas, too."""
    return f'<img class="{kind}" alt="{html.escape(seen)}" src="pictures/{file}">\n'


def _clear(name: str) -> None:
    """Away with what the page had before."""
    KEPT.mkdir(parents=True, exist_ok=True)
    for old in KEPT.glob(f"{name}-[0-9]*-*"):
        old.unlink()


def _run(blocks: "list[re.Match[str]]", paths: list[Path]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names: dict[str, Any] = {}
    left = iter(paths)
    last = max(i for i, block in enumerate(blocks) if block[1])
    with redirect_stdout(io.StringIO()), tempfile.TemporaryDirectory() as place, chdir(place):
        for block in blocks[: last + 1]:
            for look in LOOKS.values() if block[1] else [{}]:
                with matplotlib.rc_context(STYLE | look):
                    exec(compile(block[2], "page", "exec"), names)
                    if block[1]:
                        plt.gcf().savefig(next(left), metadata={"Date": None})
                    plt.close("all")


def of_example(script: Path, ending: str, stamp: str, table: str | None) -> tuple[Path, str]:
    """The picture (or film) that a worked example makes, of a table if it wants one; what it prints."""
    key = hashlib.sha256((stamp + script.read_text(encoding="utf-8")).encode()).hexdigest()[:16]
    picture = KEPT / f"{script.stem}-0-{key}.{ending}"
    said = picture.with_suffix(".txt")
    if not (picture.exists() and said.exists()):
        _clear(script.stem)
        out = io.StringIO()
        with redirect_stdout(out):
            runpy.run_path(str(script))["main"](*([table] if table else []), str(picture))
        lines = [line for line in out.getvalue().splitlines() if str(picture) not in line]
        said.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return picture, said.read_text(encoding="utf-8")
