"""Who runs the parts of a source. The result is the same, bit for bit."""

from likelier.engines.observers import Observer, Pass, reached, watching
from likelier.engines.run import (
    Engine,
    Runner,
    SideState,
    absorb,
    chunks,
    first_chunk,
    loaded,
    register,
    run,
    scattered,
    serial,
    threads,
)

__all__ = [
    "Engine",
    "Observer",
    "Pass",
    "Runner",
    "SideState",
    "absorb",
    "chunks",
    "first_chunk",
    "loaded",
    "reached",
    "register",
    "run",
    "scattered",
    "serial",
    "threads",
    "watching",
]
