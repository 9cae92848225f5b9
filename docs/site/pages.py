"""Pages that are made of other files of the repository, and links that lead from one to the other.

Links are written as they hold in the repository, and are turned into those of the site: to the page that a
file became, or, of files that are not on the site, into their names.
"""

import os
import re
from pathlib import Path, PurePosixPath

import pictures

ROOT = Path(__file__).parents[2]
ELSEWHERE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "README.md": "index.md",
    "benchmarks/README.md": "running-benchmarks.md",
}
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s#]+)(#[^)\s]*)?\)")
USAGE = re.compile(r"^ {4}python examples/\S+(?: ([\w.-]+))? \[\w+\.(\w+)[^\]]*\]$", flags=re.M)


def written() -> dict[str, str]:
    """The text of each page that a file outside docs/ becomes, by the page's name."""
    pages = {page: path for path, page in ELSEWHERE.items() if path != "README.md"}
    return {page: linked((ROOT / path).read_text(encoding="utf-8"), path) for page, path in pages.items()}


def linked(text: str, path: str) -> str:
    """The text of a file of the repository with links as the site has them."""

    def turned(link: "re.Match[str]") -> str:
        label, target, part = link[1], link[2], link[3] or ""
        if "://" in target:
            return link[0]
        found = os.path.normpath(PurePosixPath(path).parent / target)
        if found in ELSEWHERE:
            return f"[{label}]({ELSEWHERE[found]}{part})"
        if found.startswith("examples/"):
            return f"[{label}](examples.md#{_anchor(PurePosixPath(found).stem)})"
        if found.startswith("docs/"):
            return f"[{label}]({os.path.relpath(found, _place(path))}{part})"
        return label if label.startswith("`") else f"`{label}`"

    return LINK.sub(turned, text)


def _place(path: str) -> str:
    """The folder of the page in docs/."""
    return str(PurePosixPath(path).parent) if path.startswith("docs/") else "docs"


def _anchor(name: str) -> str:
    return name.replace("_", "-")


def examples(stamp: str | None) -> tuple[str, dict[str, Path]]:
    """The page of the worked examples and its pictures; without a stamp none is drawn."""
    parts, made = [HEAD], {}
    for script in sorted((ROOT / "examples").glob("*.py")):
        text = script.read_text(encoding="utf-8")
        title, about = text.split('"""')[1].split("\n", 1)
        about, code = USAGE.sub("", about).strip(), text.split('"""\n', 1)[1].strip()
        usage = USAGE.search(text)
        parts.append(f'## {title.rstrip(".")}\n\n<a id="{_anchor(script.stem)}"></a>{about}\n')
        table = _table(usage[1]) if usage else None
        if stamp and usage and (table or not usage[1]):
            picture, said = pictures.of_example(script, usage[2], stamp, table)
            made[f"{script.stem}.{usage[2]}"] = picture
            parts.append(pictures.image(f"{script.stem}.{usage[2]}", title, "picture paper"))
            parts.append(_folded("What it prints", "text", said))
        parts.append(_folded(f"examples/{script.name}", "python", code + "\n"))
    return "\n".join(parts), made


def _table(name: str | None) -> str | None:
    """The data set that an example is run with, where there is one."""
    path = Path(os.environ.get("LIKELIER_DATA", ROOT.parent / "shared" / "data")) / (name or "")
    return str(path) if name and path.exists() else None


def _folded(title: str, language: str, text: str) -> str:
    """A block that opens when it is clicked."""
    inside = re.sub(r"^(?=.)", "    ", f"```{language}\n{text}```", flags=re.M)
    return f'??? note "{title}"\n\n{inside}\n'


HEAD = """\
# Worked examples

Each is a script in `examples/` that prints what it finds and draws it: `python examples/heights.py`. They
need matplotlib (`pip install '.[plot]'`) and pandas, and use the library's public names alone.
"""
