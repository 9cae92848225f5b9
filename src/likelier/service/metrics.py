"""Counters in the text format of Prometheus."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    """Requests by path and status, and how long they took."""

    def __init__(self) -> None:
        self.requests: dict[tuple[str, int], int] = {}
        self.latency: dict[str, list[int]] = {}
        self.seconds: dict[str, float] = {}
        self.rows: dict[str, int] = {}
        self.refused: dict[str, int] = {}

    def request(self, path: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        key = (path, status)
        self.requests[key] = self.requests.get(key, 0) + 1
        counts = self.latency.get(path)
        if counts is None:
            counts = self.latency[path] = [0] * (len(BUCKETS) + 1)
        counts[bisect_left(BUCKETS, seconds)] += 1
        self.seconds[path] = self.seconds.get(path, 0.0) + seconds

    def count(self, path: str, rows: int) -> None:
        """Count the rows of a request."""
        self.rows[path] = self.rows.get(path, 0) + rows

    def quantile(self, path: str, q: float, before: list[int] | None = None) -> float | None:
        """A quantile of the latency, in seconds, since the counts that were there before."""
        counts = list(self.latency.get(path, []))
        if before:
            counts = [a - b for a, b in zip(counts, before, strict=True)]
        total = sum(counts)
        if not total:
            return None
        edges, below = (0.0, *BUCKETS, BUCKETS[-1]), 0
        for i, n in enumerate(counts):
            if n and below + n >= q * total:
                return edges[i] + (edges[i + 1] - edges[i]) * (q * total - below) / n
            below += n
        return BUCKETS[-1]

    def text(self, gauges: Mapping[str, tuple[str, str, float]]) -> str:
        """All metrics as text. gauges: (type, help, value) by name."""
        return "\n".join([*self._lines(), *_plain(gauges), ""])

    def _lines(self) -> Iterator[str]:
        yield "# HELP likelier_requests_total Requests answered, by path and status."
        yield "# TYPE likelier_requests_total counter"
        for (path, status), n in sorted(self.requests.items()):
            yield f'likelier_requests_total{{path="{path}",status="{status}"}} {n}'
        yield "# HELP likelier_rows_total Rows in these requests."
        yield "# TYPE likelier_rows_total counter"
        for path, n in sorted(self.rows.items()):
            yield f'likelier_rows_total{{path="{path}"}} {n}'
        yield "# HELP likelier_request_seconds How long requests took."
        yield "# TYPE likelier_request_seconds histogram"
        for path, counts in sorted(self.latency.items()):
            total = 0
            for edge, n in zip((*BUCKETS, float("inf")), counts, strict=True):
                total += n
                le = "+Inf" if edge == float("inf") else f"{edge:g}"
                yield f'likelier_request_seconds_bucket{{path="{path}",le="{le}"}} {total}'
            yield f'likelier_request_seconds_sum{{path="{path}"}} {self.seconds[path]:.6f}'
            yield f'likelier_request_seconds_count{{path="{path}"}} {total}'


def _plain(gauges: Mapping[str, tuple[str, str, float]]) -> Iterator[str]:
    for name, (kind, what, value) in gauges.items():
        yield f"# HELP likelier_{name} {what}"
        yield f"# TYPE likelier_{name} {kind}"
        yield f"likelier_{name} {value:.17g}"
