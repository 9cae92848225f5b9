"""Clients that send one request after another, on many connections of one process; how long each took.

They read of an answer its status and its length, and nothing else: what a client costs comes out of the
same two cores.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import uvloop

HEAD = "POST {} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n"
END, LENGTH = b"\r\n\r\n", b"content-length: "


def request(path: str, body: bytes) -> bytes:
    """A POST as it goes over the wire."""
    return HEAD.format(path, len(body)).encode() + body


@dataclass
class Found:
    """What some seconds of load gave."""

    seconds: float = 0.0
    taken: list[float] = field(default_factory=list)  # seconds, of each request
    statuses: Counter[int] = field(default_factory=Counter)
    client: float = 0.0  # seconds of CPU that the clients took
    server: float = 0.0  # and the server

    @property
    def rate(self) -> float:
        """Requests per second."""
        return len(self.taken) / self.seconds

    def quantile(self, q: float) -> float:
        """Of the latency, in milliseconds."""
        return float(np.quantile(self.taken, q)) * 1e3

    @property
    def server_cpu(self) -> float:
        """Of the server, in microseconds per request."""
        return self.server / len(self.taken) * 1e6

    @property
    def client_share(self) -> float:
        """The part of the clients in the CPU that both took."""
        return self.client / (self.client + self.server)

    def check(self) -> "Found":
        """All were answered 200."""
        if set(self.statuses) != {200}:
            raise RuntimeError(f"not all requests were answered 200: {dict(self.statuses)}")
        return self


class _Connection(asyncio.Protocol):
    """One client: it sends the next request when the last one is answered."""

    def __init__(self, requests: Iterator[bytes], found: Found, end: float) -> None:
        self._requests, self._found, self._end = requests, found, end
        self.done = asyncio.get_running_loop().create_future()
        self._buffer = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._send()

    def _send(self) -> None:
        following = next(self._requests, None)
        self._start = time.perf_counter()
        if following is None or self._start > self._end:
            self._transport.close()
            if not self.done.done():
                self.done.set_result(None)
            return
        self._transport.write(following)

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer = self._buffer + data if self._buffer else data
        head = buffer.find(END)
        if head < 0:
            return
        at = buffer.find(LENGTH, 0, head) + len(LENGTH)
        if len(buffer) - head - len(END) < int(buffer[at : buffer.find(b"\r", at)]):
            return
        self._found.taken.append(time.perf_counter() - self._start)
        self._found.statuses[int(buffer[9:12])] += 1
        self._buffer = b""
        self._send()

    def connection_lost(self, problem: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(problem or ConnectionError("the server closed the connection"))


async def _load(port: int, requests: Iterator[bytes], connections: int, seconds: float) -> Found:
    found, loop = Found(), asyncio.get_running_loop()
    start = time.perf_counter()
    made = [
        await loop.create_connection(
            lambda: _Connection(requests, found, start + seconds), "127.0.0.1", port
        )
        for _ in range(connections)
    ]
    await asyncio.gather(*(protocol.done for _, protocol in made))
    found.seconds = time.perf_counter() - start
    return found


def load(port: int, requests: Iterator[bytes], *, connections: int, seconds: float) -> Found:
    """Requests for some seconds, or until there are no more."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        before = time.process_time()
        found = runner.run(_load(port, requests, connections, seconds)).check()
        found.client = time.process_time() - before
        return found
