"""The state of a store: the newest snapshot that is whole, and the events after it."""

import time
from collections.abc import Callable
from functools import lru_cache
from itertools import islice

from likelier.service.events import Action, Config, encode
from likelier.service.live import Live
from likelier.service.models import Served, served_of, sha_of
from likelier.service.snapshots import restored
from likelier.service.store import Draft, Store

PART = 1 << 14  # events that are applied together


def models_of(store: Store) -> Callable[[str], Served]:
    """A function that loads models of a store by the SHA-256 of their files, a new copy each time."""

    @lru_cache(maxsize=2)
    def content(sha: str) -> bytes:
        return store.model(sha)

    return lambda sha: served_of(content(sha))


def recovered(
    store: Store, *, snapshots: bool = True, note: Callable[[str], None] = lambda text: None
) -> Live:
    """The learner after all events of the log. Damaged snapshots are skipped."""
    models, live = models_of(store), None
    for version in store.snapshots() if snapshots else []:
        if version > store.last()[0]:
            note(f"snapshot {version} is of events that are not in the log: passed over")
            continue
        try:
            live = restored(store.snapshot(version), models, store.raws)
            break
        except (ValueError, OSError) as problem:
            note(f"snapshot {version} is passed over: {problem}")
    live = Live(models) if live is None else live
    events = iter(store.after(live.version))
    while part := list(islice(events, PART)):  # what became of them is not kept: a log may be long
        live.apply(part)
    return live


def begin(store: Store, content: bytes | None, config: Config, fresh: Callable[[], bytes]) -> None:
    """The first events of a new log: its model and its configuration. Of an old one: what has changed.

    content: the model file that was given. fresh: the file to begin with, if none was.
    """
    first = next(iter(store.after(0)), None)
    if first is None:
        content = fresh() if content is None else content
        served_of(content)
        store.put_model(sha_of(content), content)
        actions = [Action(model=sha_of(content)), Action(config=config)]
        store.append([Draft(None, action=encode(action)) for action in actions], time.time())


def began_with(store: Store) -> str | None:
    """The SHA-256 of the model file that a log began with."""
    from likelier.service.events import action_of

    first = next(iter(store.after(0)), None)
    return None if first is None or first.action is None else action_of(first.action).model
