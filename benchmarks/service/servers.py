"""Servers as processes of their own."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

LIKELIER = [sys.executable, "-c", "import sys; from likelier.cli import main; sys.exit(main())", "serve"]
START = 600.0  # seconds in which a server must be up


class Server:
    """A process that listens at a port."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int) -> None:
        self.process, self.port = process, port

    def memory(self) -> float:
        """What it holds now, in MB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024

    def cpu(self) -> float:
        """Seconds of CPU that it has taken."""
        cells = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(cells[11]) + int(cells[12])) / os.sysconf("SC_CLK_TCK")

    def get(self, path: str) -> dict[str, object]:
        """What it answers to a GET."""
        return dict(httpx.get(f"http://127.0.0.1:{self.port}{path}", timeout=60).json())


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def started(command: list[str], port: int) -> Iterator[Server]:
    """A server, once it answers; ended when the block is left."""
    single = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=os.environ | single, stdout=subprocess.DEVNULL)
    try:
        _wait(process, port)
        yield Server(process, port)
    finally:
        process.terminate()
        process.wait(120)


def _wait(process: "subprocess.Popen[bytes]", port: int) -> None:
    end = time.monotonic() + START
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args} ended")
        try:
            httpx.get(f"http://127.0.0.1:{port}/health", timeout=5)
        except httpx.TransportError:
            time.sleep(0.005)
        else:
            return
    raise TimeoutError(f"{process.args} did not start")


@contextmanager
def likelier(store: Path, *arguments: str) -> Iterator[Server]:
    """`likelier serve` on a store."""
    port = free_port()
    with started([*LIKELIER, "--port", str(port), "--store", str(store), *arguments], port) as server:
        yield server


@contextmanager
def peer(name: str) -> Iterator[Server]:
    """One of those of `peers`."""
    port = free_port()
    with started([sys.executable, "-m", "benchmarks.service.peers", name, str(port)], port) as server:
        yield server
