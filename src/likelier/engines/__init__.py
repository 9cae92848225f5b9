"""Who runs the parts of a source. The result is the same, bit for bit."""

from likelier.engines.reading import chunks, first_chunk, loaded
from likelier.engines.run import Engine, run, serial, threads

__all__ = ["Engine", "chunks", "first_chunk", "loaded", "run", "serial", "threads"]
