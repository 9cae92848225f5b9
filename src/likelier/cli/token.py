"""`likelier token`: makes tokens for `likelier serve`."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from likelier.cli.arguments import examples, names, place


def add(commands: Any) -> None:
    """The arguments."""
    parser = commands.add_parser(
        "token",
        help="make a token for likelier serve",
        description="Make a token and add its hash to a file, which likelier serve --tokens reads. The "
        "token "
        "itself is printed once and kept nowhere: clients send it as Authorization: Bearer TOKEN.",
        epilog=examples(
            "likelier token --scopes predict,learn --name shop -o tokens.json",
            "likelier token --scopes admin --name me -o tokens.json",
        ),
    )
    parser.add_argument(
        "--scopes",
        type=names,
        required=True,
        metavar="A,B",
        help="what it is for: predict, learn, admin (which may do all)",
    )
    parser.add_argument("--name", required=True, help="whose it is")
    parser.add_argument(
        "-o", "--output", type=place, required=True, metavar="FILE", help="the file of hashes"
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    """Make it, and print it."""
    from likelier.service.tokens import make

    print(make(Path(options.output), options.scopes, options.name))
