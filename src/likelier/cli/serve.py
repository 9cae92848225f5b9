"""`likelier serve`: predictions over HTTP, and labels that come later."""

import os
from argparse import Namespace
from dataclasses import fields
from typing import Any

from likelier.cli.arguments import add_settings, examples, say


def add(commands: Any) -> None:
    """The arguments."""
    parser = commands.add_parser(
        "serve",
        help="serve predictions over HTTP, and learn from labels that come later",
        description="Serve a model over HTTP: POST /predict answers rows, POST /learn takes their "
        "labels, now "
        "or later, and the model learns at once. All rows and labels are on disk before they are "
        "acknowledged; a server that is killed continues where it was. The page at / shows it live, /docs "
        "describes the API.",
        epilog=examples(
            "likelier serve",
            "likelier serve clicks.lk --store events.db --label-horizon 3600 --default-class no",
            "likelier serve --set bits=22 --port 8080",
            """curl 127.0.0.1:8000/predict -d '{"x": {"user": "anna", "hour": 9}, "id": "row-1"}'""",
            """curl 127.0.0.1:8000/learn -d '{"id": "row-1", "y": "click"}'""",
        ),
    )
    parser.add_argument("model", nargs="?", metavar="M.lk", help="the model to begin with (a new one)")
    parser.add_argument(
        "--shadow",
        metavar="S.lk",
        help="a model that predicts and learns beside the served one without answering; the page and GET "
        "/model compare them",
    )
    add_settings(parser, "a setting of a new OnlineClassifier, for example bits=22")
    where = parser.add_argument_group("where")
    where.add_argument("--host", default="127.0.0.1", help="the address to listen at (127.0.0.1)")
    where.add_argument("--port", type=int, default=8000, help="the port; 0 takes any that is free (8000)")
    where.add_argument(
        "--store",
        default="events.db",
        metavar="FILE",
        help="the log: an SQLite file, or postgresql://...",
    )
    where.add_argument("--tokens", metavar="FILE", help="who may ask: a file of likelier token")
    _add_labels(parser.add_argument_group("labels"))
    _add_limits(parser.add_argument_group("limits"))
    parser.set_defaults(run=run)


def _add_labels(group: Any) -> None:
    group.add_argument(
        "--label-horizon", type=float, metavar="S", help="seconds after which a label counts as not coming"
    )
    group.add_argument(
        "--default-class",
        type=label,
        metavar="Y",
        help="the class of rows whose label has not come by then",
    )
    group.add_argument(
        "--class-priors",
        type=priors,
        metavar="Y=P,Y=P",
        help="how frequent the classes are, for the first horizon, in which early labels are all that come",
    )
    group.add_argument("--in-order", action="store_true", help="learn labels in the order of their rows")
    group.add_argument(
        "--keep-unknown-labels", action="store_true", help="keep labels whose row has not come yet"
    )


def _add_limits(group: Any) -> None:
    for name, usual, what in (
        ("max-waiting", 100_000, "rows that wait for their label; beyond it the oldest expire early"),
        ("max-classes", 100, "classes"),
        ("max-queue", 10_000, "rows that wait to be written; beyond it the answer is 429"),
        ("max-rows", 10_000, "rows of a request"),
        ("max-body", 16 << 20, "bytes of a request"),
        ("max-model", 256 << 20, "bytes of an uploaded model"),
    ):
        group.add_argument(f"--{name}", type=int, default=usual, metavar="N", help=f"{what} ({usual:,})")
    group.add_argument(
        "--snapshot-every", type=float, default=60.0, metavar="S", help="seconds between snapshots (60)"
    )


def label(text: str) -> Any:
    """A label: a whole number if it looks like one."""
    try:
        return int(text) if str(int(text)) == text else text
    except ValueError:
        return text


def priors(text: str) -> dict[str, float]:
    """Classes and their frequencies, as in no=0.98,click=0.02."""
    pairs = [one.rpartition("=") for one in text.split(",")]
    return {name: float(p) for name, _, p in pairs}


priors.__name__ = "Y=P,Y=P"  # argparse names what it could not read by it


def run(options: Namespace) -> None:
    """Serve until it is ended."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from likelier.service.server import run as serve
    except ImportError as problem:
        raise ImportError(
            f"likelier serve needs packages that are not installed ({problem.name}): pip install "
            "'likelier[serve]'"
        ) from None
    given = _options(options)

    def ready(host: str, port: int) -> None:
        print(
            f"likelier serve at http://{host}:{port} (page /, API /docs), log {_shown(given.store)}",
            flush=True,
        )
        if host not in ("127.0.0.1", "::1"):
            say(
                "note: this is HTTP without TLS: put a proxy with TLS before it, or tokens can be read "
                "on the way"
            )

    serve(given, lambda text: say(f"note: {text}"), ready)


def _shown(store: str) -> str:
    """A store without its password."""
    head, at, tail = store.rpartition("@")
    return f"{head.partition('://')[0]}://…@{tail}" if at and "://" in head else store


def _options(options: Namespace) -> Any:
    from likelier.service.events import Config
    from likelier.service.http import Limits
    from likelier.service.models import load_file, new_content
    from likelier.service.server import Options
    from likelier.streams.model import Settings

    settings = dict(options.settings)
    known = [one.name for one in fields(Settings)]
    for name in settings:
        if name not in known:
            raise ValueError(f"--set must name one of {', '.join(known)}; got {name!r}.")
    if options.model is not None and settings:
        raise ValueError(f"--set cannot be given with a model: {options.model} keeps its own settings")
    if not 0 <= options.port < 65536:
        raise ValueError(f"--port must be from 0 to 65535; got {options.port}.")
    for name in ("max_queue", "max_rows", "max_body", "max_model"):
        if getattr(options, name) < 1:
            raise ValueError(f"--{name.replace('_', '-')} must be >= 1; got {getattr(options, name)}.")
    if not options.snapshot_every > 0:
        raise ValueError(f"--snapshot-every must be > 0; got {options.snapshot_every}.")
    config = Config(
        horizon=options.label_horizon,
        default=options.default_class,
        priors=options.class_priors,
        in_order=options.in_order,
        keep_unknown=options.keep_unknown_labels,
        max_waiting=options.max_waiting,
        max_classes=options.max_classes,
    )
    return Options(
        host=options.host,
        port=options.port,
        store=options.store,
        model=None if options.model is None else load_file(options.model),
        shadow=None if options.shadow is None else load_file(options.shadow),
        fresh=lambda: new_content(settings),
        config=config,
        tokens=options.tokens,
        limits=Limits(options.max_body, options.max_model, options.max_rows),
        max_queue=options.max_queue,
        snapshot_seconds=options.snapshot_every,
    )
