"""Who runs the parts of a source. The result is the same, bit for bit."""

from likelier.engines.reading import chunks, first_chunk, loaded, scattered
from likelier.engines.run import Engine, run, serial, threads
from likelier.engines.watching import Observer, Pass, reached, watching

__all__ = [
    "Engine",
    "Observer",
    "Pass",
    "chunks",
    "first_chunk",
    "loaded",
    "reached",
    "run",
    "scattered",
    "serial",
    "threads",
    "watching",
]
