"""Who runs the parts of a source. The result is the same, bit for bit."""

from likelier.engines.run import (
    Engine,
    Observer,
    Pass,
    Runner,
    SideState,
    absorb,
    chunks,
    first_chunk,
    loaded,
    reached,
    register,
    run,
    scattered,
    serial,
    threads,
    watching,
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
