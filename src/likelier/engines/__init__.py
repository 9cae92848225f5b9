"""Who runs the parts of a source. The result is the same, bit for bit."""

from likelier.engines.run import Engine, run, serial, threads

__all__ = ["Engine", "run", "serial", "threads"]
