"""What the page shows and Prometheus reads: figures, latencies, drift, weights."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from likelier.service.drift import Drift
from likelier.service.events import label_text
from likelier.service.http import Headers, Problem, Receive, Send
from likelier.service.metrics import Metrics
from likelier.service.models import OnlineModel
from likelier.service.schemas import encode
from likelier.service.writer import Writer

PERIOD = 1.0  # seconds between two events
STRONGEST = 12  # weights
REMEMBERED = 2000  # features that were seen lately


class Monitor:
    """The state of a service in numbers."""

    def __init__(self, writer: Writer, metrics: Metrics) -> None:
        self.writer, self.metrics = writer, metrics
        self.most, self.listeners = 32, 0
        self.stopping: Callable[[], bool] = lambda: False
        self.drift = Drift()
        self.seen: OrderedDict[tuple[str, str | None], None] = OrderedDict()
        self._made, self._state = 0.0, b""
        self._before: dict[str, Any] = {"at": time.monotonic(), "rows": {}, "latency": {}}
        writer.observers.append(self.see)

    # ---- rows as they come ---------------------------------------------------------------------------
    def see(self, rows: list[dict[str, Any]]) -> None:
        """Take a sample of the logged rows, for drift and for the names of features."""
        for x in rows:
            self.drift.row(x)
            for name, value in x.items():
                key = (
                    name,
                    None if isinstance(value, int | float) and not isinstance(value, bool) else str(value),
                )
                if value is not None and not isinstance(value, list | dict):
                    self.seen[key] = None
                    self.seen.move_to_end(key)
        while len(self.seen) > REMEMBERED:
            self.seen.popitem(last=False)
        live = self.writer.live
        counts = live.curve.figures.classes[:, 0].tolist()
        self.drift.classes(dict(zip(list(live.judge.labels), counts, strict=False)))

    # ---- figures -------------------------------------------------------------------------------------
    def figures(self) -> dict[str, float | None]:
        """Progressive figures: each row as it was answered before it was learned."""
        figures = self.writer.live.curve.figures
        found = {
            "rows": float(figures.rows),
            "log_loss": figures.log_loss,
            "error": figures.error,
            "brier": figures.brier,
            "auc": figures.auc,
            "calibration_error": figures.calibration_error,
        }
        return {name: value if math.isfinite(value) else None for name, value in found.items()}

    def shadow(self) -> dict[str, Any] | None:
        """The model that learns alongside, if there is one."""
        shadow = self.writer.live.shadow
        return None if shadow is None else shadow.summary()

    def gauges(self) -> dict[str, tuple[str, str, float]]:
        """Single numbers for Prometheus."""
        live, writer = self.writer.live, self.writer
        counted, figures = writer.counted, self.figures()
        found = {
            "version": ("counter", "The number of the last event that was applied.", live.version),
            "rows_learned_total": ("counter", "Rows learned, expired ones included.", live.rows_learned),
            "rows_expired_total": ("counter", "Rows whose label did not come in time.", live.expired),
            "labels_late_total": ("counter", "Labels that came too late.", live.late),
            "rows_failed_total": ("counter", "Rows that the model could not take.", live.failed),
            "rows_waiting": ("gauge", "Rows that wait for their label.", len(live.waiting.rows)),
            "queue_rows": ("gauge", "Rows that wait to be written.", writer.backlog),
            "commits_total": ("counter", "Transactions of the log.", counted.commits),
            "commit_seconds_total": ("counter", "The time that they took.", counted.commit_seconds),
            "commits_failed_total": ("counter", "Transactions that failed.", counted.failed_commits),
            "events_total": ("counter", "Events written since the start.", counted.events),
            "snapshots_total": ("counter", "Snapshots written since the start.", counted.snapshots),
        }
        for name in ("log_loss", "error", "calibration_error"):
            value = figures[name]
            if value is not None:
                found[name] = ("gauge", f"Progressive {name.replace('_', ' ')}.", value)
        return {name: (kind, what, float(value)) for name, (kind, what, value) in found.items()}

    # ---- the page ------------------------------------------------------------------------------------
    def state(self) -> bytes:
        """The data of the page in JSON, computed at most once a second."""
        now = time.monotonic()
        if now - self._made >= PERIOD * 0.9 or not self._state:
            self._state, self._made = encode(self._now(now)), now
        return self._state

    def _now(self, now: float) -> dict[str, Any]:
        live, curve = self.writer.live, self.writer.live.curve
        windows, calibration = curve.windows, curve.figures.calibration()
        return {
            "version": live.version,
            "estimator": live.served.name,
            "rows_learned": live.rows_learned,
            "waiting": len(live.waiting.rows),
            "expired": live.expired,
            "late": live.late,
            "figures": self.figures(),
            "windows": {
                "rows": windows.rows.tolist(),
                "log_loss": windows.log_loss.tolist(),
                "error": windows.error.tolist(),
                "mistakes": windows.mistakes.tolist(),
            },
            "calibration": {
                "p": calibration.p.tolist(),
                "rate": calibration.rate.tolist(),
                "weight": calibration.weight.tolist(),
            },
            "traffic": self._traffic(now),
            "weights": self._weights(),
            "newest": self.writer.counted.recent[::-1],
            "drift": self.drift.summary(),
            "classes": {label_text(label): n for label, n in self._classes().items()},
            "shadow": self.shadow(),
        }

    def _classes(self) -> dict[Any, float]:
        live = self.writer.live
        rates = live.curve.figures.rates.tolist()
        return {
            label: rate for label, rate in zip(list(live.judge.labels), rates, strict=False) if rate == rate
        }

    def _traffic(self, now: float) -> dict[str, Any]:
        """Rows per second and latencies since the last call."""
        before, metrics = self._before, self.metrics
        seconds = max(now - before["at"], 1e-3)
        found = {}
        for path in ("/predict", "/learn"):
            old = before["latency"].get(path)
            median, slow = (metrics.quantile(path, q, old) for q in (0.5, 0.99))
            rows = metrics.rows.get(path, 0) - before["rows"].get(path, 0)
            found[path] = {"rows_per_second": rows / seconds, "p50": median, "p99": slow}
        latency = {path: list(counts) for path, counts in metrics.latency.items()}
        self._before = {"at": now, "rows": dict(metrics.rows), "latency": latency}
        return found

    def _weights(self) -> list[dict[str, Any]]:
        """The strongest weights of features that were seen lately."""
        served = self.writer.live.served
        if not isinstance(served, OnlineModel) or served.model.K < 2:
            return []
        found: list[dict[str, Any]] = []
        for name, word in list(self.seen):
            weights = served.weights(name, word)
            label, weight = max(weights.items(), key=lambda pair: abs(pair[1]))
            text = name if word is None else f"{name} = {word}"
            found.append({"feature": text[:60], "label": label_text(label), "weight": weight})
        return sorted(found, key=lambda one: -abs(float(one["weight"])))[:STRONGEST]

    async def stream(self, receive: Receive, send: Send, headers: Headers) -> None:
        """Server-sent events, until the listener is gone."""
        if self.listeners >= self.most:
            raise Problem(429, f"{self.most} listeners are the most", [(b"retry-after", b"10")])
        self.listeners += 1
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            own = [(b"content-type", b"text/event-stream"), *headers]
            await send({"type": "http.response.start", "status": 200, "headers": own})
            while not (gone.done() or self.stopping()):
                text = b"data: " + self.state() + b"\n\n"
                await send({"type": "http.response.body", "body": text, "more_body": True})
                await asyncio.wait([gone], timeout=PERIOD)
            await send({"type": "http.response.body", "body": b""})
        finally:
            self.listeners -= 1
            gone.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
