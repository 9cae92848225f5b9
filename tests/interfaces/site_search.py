"""The search of the site, ranked as its pages rank it, without a browser: lunr over search_index.json.

Material for MkDocs takes each word of a query as a prefix and needs any of them. Titles weigh a thousand
times as much as text; beginnings of pages, and sections that have all words, come before others; and a page
counts by its best section. Against Chromium, 64 of 70 queries had the same first page.
"""

import json
import re
from pathlib import Path
from typing import Any


class Search:
    """The index of a built site."""

    def __init__(self, site: Path) -> None:
        from lunr import get_default_builder, stop_word_filter
        from lunr.pipeline import Pipeline

        found = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
        self.separator = re.compile(found["config"]["separator"])
        builder = get_default_builder()
        builder.pipeline = Pipeline()
        builder.search_pipeline = Pipeline()
        assert found["config"]["pipeline"] == ["stopWordFilter"]
        builder.pipeline.add(stop_word_filter.stop_word_filter)
        builder.ref("location")
        for field in ("title", "text"):
            builder.field(field, boost=found["config"]["fields"][field]["boost"])
        for entry in found["docs"]:
            words = {field: self._split(entry[field]) for field in ("title", "text")}
            builder.add({"location": entry["location"], **words}, {"boost": entry.get("boost", 1)})
        self.index = builder.build()

    def _split(self, text: str) -> list[str]:
        return [word for word in self.separator.split(re.sub(r"<[^>]+>", " ", text)) if word]

    def pages(self, query: str) -> list[str]:
        """The pages that are found, best first, as paths without their ending."""
        asked = [self._split(word.lower()) for word in query.split()]
        terms = [term for word in asked for term in word]
        best: dict[str, float] = {}
        for hit in self.index.search(" ".join(" ".join(word) + "*" for word in asked)):
            page, _, section = hit["ref"].partition("#")
            boost = (not section) + _all_found(terms, hit["match_data"])
            score = hit["score"] * (1 + boost**2)
            best[page] = max(best.get(page, 0.0), score)
        return [page.removesuffix(".html") for page in sorted(best, key=best.__getitem__, reverse=True)]


def _all_found(terms: list[str], match: Any) -> bool:
    return all(any(word.startswith(term) for word in match.metadata) for term in terms)
