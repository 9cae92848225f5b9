"""What `make docs` adds to MkDocs: pages from other files, pictures, formulas."""

import os
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))

import formulas
import pages
import pictures

_STAMP = pictures.stamp()
# For those who work on the library: their words would come before those of the user guide.
UNSEARCHED = {"changelog.md", "contributing.md", "running-benchmarks.md"}
LATER = ("reference/", "architecture.md", "scaling.md", "numerics.md")


def on_config(config: Any) -> Any:
    """Formulas are a part of Markdown here; where mike builds the pages, they have a menu of versions."""
    config.markdown_extensions.append(formulas.Formulas())
    if "MIKE_DOCS_VERSION" in os.environ:
        config.extra["version"] = {"provider": "mike"}
    return config


def on_files(files: Files, config: Any) -> Files:
    """The pages of the repository's other files, and all pictures.

    $LIKELIER_EXAMPLES=0 leaves out those of the examples, which take longest and have tests of their own.
    """
    for name, text in pages.written().items():
        files.append(File.generated(config, name, content=text))
    stamp = None if os.environ.get("LIKELIER_EXAMPLES") == "0" else _STAMP
    text, made = pages.examples(stamp)
    files.append(File.generated(config, "examples.md", content=text))
    for file in list(files.documentation_pages()):
        if file.generated_by is None and "/" not in file.src_uri:
            made |= pictures.of_page(Path(file.src_uri).stem, file.content_string, _STAMP)[1]
    for name, path in made.items():
        files.append(File.generated(config, f"pictures/{name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Plots below the blocks that draw them, links as the site has them, the weight in the search."""
    if page.file.src_uri in UNSEARCHED:
        page.meta["search"] = {"exclude": True}
    elif page.file.src_uri.startswith(LATER):
        page.meta["search"] = {"boost": 0.5}
    if page.file.generated_by is not None:
        return markdown
    shown, _ = pictures.of_page(Path(page.file.src_uri).stem, markdown, _STAMP)
    return pages.linked(shown, f"docs/{page.file.src_uri}")
