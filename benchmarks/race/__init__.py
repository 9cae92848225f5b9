"""The race: problems x libraries, each contender in a process of its own. See benchmarks/README.md."""
