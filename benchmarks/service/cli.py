"""`likelier serve` under load: requests per second, rows per second and latencies."""

import argparse
import itertools
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.race import clicks
from benchmarks.race.report import table
from benchmarks.service.load import Found, load, request
from benchmarks.service.servers import Server, likelier, peer

ROWS = 20_000  # that are drawn
MANY = 1000  # rows of a request
CLIENTS = 64
TAUGHT = 5000  # rows that a model has learned before it is asked


NUMBERS = itertools.count()  # ids: each is sent once


class Measure(NamedTuple):
    """Requests of a kind, and how many clients send them."""

    name: str
    path: str
    rows: int  # of a request
    clients: int
    labels: bool = False
    ids: bool = False


MEASURES = {
    "predict": Measure("/predict, one row, one client", "/predict", 1, 1),
    "predict-16": Measure("/predict, one row, 16 clients", "/predict", 1, 16),
    "predict-many": Measure(f"/predict, {MANY} rows, one client", "/predict", MANY, 1),
    "learn": Measure(f"/learn, one row, {CLIENTS} clients", "/learn", 1, CLIENTS, labels=True, ids=True),
    "learn-many": Measure(f"/learn, {MANY} rows, one client", "/learn", MANY, 1, labels=True, ids=True),
}


def rows() -> list[dict[str, Any]]:
    """Clicks of 39 columns, with their labels."""
    return [{"x": x, "y": y} for x, y in clicks.dicts(clicks.blocks(ROWS))]


def requests(measure: Measure, drawn: list[dict[str, Any]]) -> Callable[[], Iterator[bytes]]:
    """Requests without end, made beforehand but for their ids: those are new each time."""
    kept = drawn if measure.labels else [{"x": row["x"]} for row in drawn]
    texts = [json.dumps(row, separators=(",", ":")).encode() for row in kept]

    def row(text: bytes) -> bytes:
        return b'{"id":"%d",%b' % (next(NUMBERS), text[1:]) if measure.ids else text

    def many(part: list[bytes]) -> bytes:
        return b'{"rows":[%b]}' % b",".join(map(row, part))

    def made() -> Iterator[bytes]:
        if measure.rows == 1:
            if measure.ids:
                return (request(measure.path, row(text)) for text in itertools.cycle(texts))
            return itertools.cycle([request(measure.path, text) for text in texts])
        parts = [texts[i : i + measure.rows] for i in range(0, len(texts), measure.rows)]
        if measure.ids:
            return (request(measure.path, many(part)) for part in itertools.cycle(parts))
        return itertools.cycle([request(measure.path, many(part)) for part in parts])

    return made


def teach(server: Server, drawn: list[dict[str, Any]]) -> None:
    """Rows that the model has learned before it is measured."""
    body = json.dumps({"rows": drawn[:TAUGHT]}).encode()
    load(server.port, iter([request("/learn", body)]), connections=1, seconds=60)


def measured(
    measure: Measure, servers: dict[str, Server], drawn: list[dict[str, Any]], seconds: float, repeats: int
) -> dict[str, Found]:
    """Each server in turn, so often; of each the repeat of the median rate."""
    made = requests(measure, drawn)
    found: dict[str, list[Found]] = {name: [] for name in servers}
    for name, server in servers.items():  # connections, caches and the first labels
        load(server.port, made(), connections=measure.clients, seconds=0.3)
        del name
    for _ in range(repeats):
        for name, server in servers.items():
            before = server.cpu()
            one = load(server.port, made(), connections=measure.clients, seconds=seconds)
            one.server = server.cpu() - before
            found[name].append(one)
    return {name: sorted(some, key=lambda one: one.rate)[len(some) // 2] for name, some in found.items()}


def lines(measure: Measure, found: dict[str, Found]) -> Iterator[list[str]]:
    """The lines of the table, of one measure."""
    limit = found["echo"]
    for name, one in found.items():
        yield [
            measure.name,
            name,
            f"{one.rate:,.0f}",
            f"{one.rate * measure.rows:,.0f}",
            f"{one.quantile(0.5):.3f}",
            f"{one.quantile(0.99):.2f}",
            f"{one.rate / limit.rate:.2f}",
            f"{one.quantile(0.5) / limit.quantile(0.5):.2f}",
            f"{one.server_cpu:,.0f}",
            f"{one.client_share:.0%}",
        ]


HEADS = [
    "",
    "",
    "requests/s",
    "rows/s",
    "p50 ms",
    "p99 ms",
    "rate / echo",
    "p50 / echo",
    "CPU µs",
    "clients' CPU",
]


def disk(folder: str) -> str:
    """How long the disk takes to make 64 kB durable: no commit is faster."""
    taken = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(100):
            start = time.perf_counter()
            file.write(bytes(1 << 16))
            file.flush()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - start)
    taken.sort()
    return f"fdatasync of 64 kB: p50 {taken[50] * 1e3:.2f} ms, p99 {taken[98] * 1e3:.2f} ms"


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=MEASURES, default=list(MEASURES))
    parser.add_argument("--seconds", type=float, default=2.0, help="of each repeat (2)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--without-river", action="store_true")
    parser.add_argument("--store", type=Path, help="a folder for the log (a temporary one)")
    options = parser.parse_args()
    drawn, found = rows(), []
    with tempfile.TemporaryDirectory(dir=options.store) as folder:
        store = Path(folder) / "events.db"
        with peer("echo") as echo, likelier(store) as server, peer("river") as river:
            servers = {"echo": echo, "likelier": server, "River": river}
            if options.without_river:
                del servers["River"]
            for name, one in servers.items():
                if name != "echo":
                    teach(one, drawn)
            for name in options.only:
                measure = MEASURES[name]
                figures = measured(measure, servers, drawn, options.seconds, options.repeats)
                found += list(lines(measure, figures))
        print(disk(folder))
    print(table(HEADS, found))
    return 0
