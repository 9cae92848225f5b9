"""The command line. Nothing heavy is imported before it is known what was asked."""

import argparse
import sys
from collections.abc import Sequence


def parser() -> argparse.ArgumentParser:
    """The words that the command line understands."""
    top = argparse.ArgumentParser(
        prog="likelier",
        description="Classical classifiers: compare them on a table.",
        epilog="example: likelier compare --cv 10",
    )
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    compare = commands.add_parser(
        "compare",
        help="every model on one table, cross-validated",
        description="Cross-validate every model on the wine data that scikit-learn ships.",
        epilog="examples: likelier compare; likelier compare --cv 10 --seed 1",
    )
    compare.add_argument("--cv", type=int, default=5, metavar="FOLDS", help="number of folds (5)")
    compare.add_argument("--seed", type=int, default=0, help="of the folds (0)")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; its exit code."""
    options = parser().parse_args(arguments)
    try:
        return run_compare(options.cv, options.seed)
    except ValueError as problem:
        print(f"likelier: {problem}", file=sys.stderr)
        return 2


def run_compare(cv: int, seed: int) -> int:
    """`likelier compare`: the wine data, all models."""
    from sklearn.datasets import load_wine

    from likelier.compare import compare

    if cv < 2:
        raise ValueError(f"--cv {cv}: at least 2 folds are needed")
    wine = load_wine()
    print("wine: three cultivars, thirteen chemical measurements (scikit-learn's copy)")
    print(compare(wine.data, wine.target, cv=cv, seed=seed, progress=True))
    return 0
