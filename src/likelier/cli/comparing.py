"""`likelier compare`: every model on one table."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from likelier.cli.words import add_columns, add_table, opened

BUILT_IN = {
    "wine": "three cultivars, thirteen chemical measurements",
    "iris": "three species, four measurements of their flowers",
    "breast-cancer": "benign and malignant tumours, thirty measurements of their cells",
    "digits": "ten digits, 8 × 8 grey levels",
}


def add(commands: Any) -> None:
    """The arguments."""
    parser = commands.add_parser(
        "compare",
        help="every model on one table, cross-validated",
        description="Cross-validate every model that suits on one table, beside the answer that knows the "
        f"target alone. DATA may also be one of {', '.join(BUILT_IN)} (scikit-learn's copies); without it, "
        "wine. Columns that are no numbers are left out; missing cells are used as they are.",
        epilog="example: likelier compare titanic.csv --target survived --cv 10",
    )
    add_table(parser, data="*")
    add_columns(parser)
    parser.add_argument("--task", choices=["classify", "regress"], help="by default as the target looks")
    parser.add_argument("--cv", type=int, default=5, metavar="FOLDS", help="number of folds (5)")
    parser.add_argument("--seed", type=int, default=0, help="of the folds (0)")
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Print the table."""
    if options.cv < 2:
        raise ValueError(f"--cv {options.cv}: at least 2 folds are needed")
    if options.seed < 0:
        raise ValueError(f"--seed {options.seed}: it is a whole number from 0 on")
    X, y = _rows(options)
    from likelier.comparing import compare

    how = {"cv": options.cv, "seed": options.seed, "task": options.task}
    print(compare(X, y, progress=True, **how))


def _rows(options: Namespace) -> tuple[Any, Any]:
    """A data set of scikit-learn's, or files."""
    name = options.data[0] if options.data else "wine"
    if len(options.data) < 2 and name in BUILT_IN and not Path(name).exists():
        given = [key for key in ("target", "features", "weight", "format") if getattr(options, key)]
        if given:
            raise ValueError(
                f"--{given[0]} is for tables in files, and {name} is a data set of scikit-learn's."
            )
        return _built_in(name)
    return opened(options), None


def _built_in(name: str) -> tuple[Any, Any]:
    from sklearn import datasets

    print(f"{name}: {BUILT_IN[name]} (scikit-learn's copy)")
    found = getattr(datasets, f"load_{name.replace('-', '_')}")()
    return found.data, found.target
