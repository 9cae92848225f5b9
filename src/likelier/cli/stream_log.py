"""`likelier stream events.db`: what a service has learned, once more from its log alone."""

import time
from argparse import Namespace
from itertools import islice
from pathlib import Path

from likelier.cli.arguments import size_of
from likelier.display import counted
from likelier.streams.figures import HEADING, line

PART = 1 << 14  # events between two lines of figures, at most


def replay(options: Namespace) -> None:
    """All events in their order: the model is that of the service, bit for bit."""
    _check(options)
    try:
        from likelier.service.live import Live
        from likelier.service.recovery import models_of
        from likelier.service.server import opened
    except ImportError as problem:
        raise ImportError(
            f"the log of likelier serve needs packages that are not installed ({problem.name}): pip "
            f"install "
            "'likelier[serve]'"
        ) from None
    from likelier.saving.format import place_for, write

    if options.output:
        place_for(Path(options.output))
    store = opened(options.data[0], read_only=True)
    try:
        live, events = Live(models_of(store)), store.after(0)
        start, printed = time.perf_counter(), 0
        if not options.quiet:
            print(HEADING)
        while part := list(islice(events, PART)):
            live.apply(part)
            table = live.curve.snapshots[printed:]
            printed += len(table)
            if not options.quiet:
                print("\n".join(map(line, table)), end="\n" if table else "")
        seconds = time.perf_counter() - start
        rest = live.curve.table()[printed:]
        for one in rest:
            print(line(one))
        print(
            f"\n{counted(live.version, 'event')}, {counted(live.rows_learned, 'row')} learned, "
            f"{counted(len(live.served.labels), 'class')}, {live.expired} expired, "
            f"{len(live.waiting.rows)} "
            f"waiting, {seconds:.2f} s ({live.version / max(seconds, 1e-9):,.0f} events a second)"
        )
        if options.output:
            write(Path(options.output), live.served.content())
            print(f"{options.output} ({size_of(Path(options.output).stat().st_size)})")
    finally:
        store.close()


def _check(options: Namespace) -> None:
    if len(options.data) > 1:
        raise ValueError("DATA: the log of a service is replayed by itself: name it alone")
    given = {
        "--from": options.start,
        "--target": options.target,
        "--set": options.settings,
        "--predictions": options.predictions,
        "--weight": options.weight,
        "--features": options.features,
        "--no-learn": options.no_learn,
    }
    for name, value in given.items():
        if value:
            raise ValueError(
                f"{name} cannot be given with {options.data[0]}: the log of likelier serve has its own "
                f"model, "
                "labels and settings"
            )
