"""A service put together: a store, a learner, a writer, and the server in front of them."""

import contextlib
import gc
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import uvicorn

from likelier.service.api import Api
from likelier.service.events import Action, Config, encode
from likelier.service.http import Limits
from likelier.service.live import Live
from likelier.service.metrics import Metrics
from likelier.service.models import served_of, sha_of, unfit
from likelier.service.recovery import began_with, begin, recovered
from likelier.service.sqlite_store import SqliteStore
from likelier.service.store import Draft, Store, StoreError, is_url
from likelier.service.tokens import Tokens
from likelier.service.writer import Writer

LOOPBACK = ("127.0.0.1", "localhost", "::1")
SWITCH = 1e-4  # seconds after which a thread that is busy lets the other run
COLLECTED = 20_000, 20, 20  # new objects between collections: most of them go without one
GRACE = 20  # seconds for requests under way, when asked to end


class Options:
    """The options of a service."""

    def __init__(self, **given: Any) -> None:
        self.host: str = given.pop("host", "127.0.0.1")
        self.port: int = given.pop("port", 8000)
        self.store: str = given.pop("store", "events.db")
        self.model: bytes | None = given.pop("model", None)
        self.shadow: bytes | None = given.pop("shadow", None)
        self.fresh: Any = given.pop("fresh", None)
        self.config: Config = given.pop("config", Config())
        self.tokens: str | None = given.pop("tokens", None)
        self.limits: Limits = given.pop("limits", Limits())
        self.max_queue: int = given.pop("max_queue", 10_000)
        self.snapshot_seconds: float = given.pop("snapshot_seconds", 60.0)
        self.snapshot_events: int = given.pop("snapshot_events", 100_000)
        if given:
            raise TypeError(f"there is no option {', '.join(given)}")


def opened(store: str, *, read_only: bool = False) -> Store:
    """The store of a name: an SQLite file, or a PostgreSQL database by URL."""
    if is_url(store):
        try:
            from likelier.service.postgres_store import PostgresStore
        except ImportError as problem:
            raise ImportError(
                f"a PostgreSQL store needs {problem.name}: pip install 'likelier[serve,postgres]'"
            ) from None
        return PostgresStore(store, read_only=read_only)
    return SqliteStore(store, read_only=read_only)


def prepared(store: Store, options: Options, note: Any) -> Live:
    """The learner of a store; a new store gets its first events."""
    if options.model is not None:
        first = began_with(store)
        if first is not None and first != sha_of(options.model):
            raise StoreError(
                f"{options.store} began with another model, and learned from it. Leave the model out to "
                "continue with that, POST the new one to /model, or take another --store."
            )
    begin(store, options.model, options.config, options.fresh)
    live = recovered(store, note=note)
    wanted = "" if options.shadow is None else sha_of(options.shadow)
    there = live.shadow.live.served.sha if live.shadow is not None else ""
    if (options.config != live.config or wanted != there) and not store.alone():
        raise StoreError(_differences(options.config, live.config) or _OTHER_SHADOW)
    if options.config != live.config:
        _act(store, live, Action(config=options.config))
    if wanted != there:
        if options.shadow is not None:
            _check_shadow(options.shadow, live)
            store.put_model(wanted, options.shadow)
        _act(store, live, Action(shadow=wanted))
    return live


_OTHER_SHADOW = (
    "other processes serve this log with another --shadow: start this one with the same, or end the others "
    "first"
)


def _differences(ours: Config, theirs: Config) -> str:
    """Why a process may not join others that serve the log; empty if the settings are equal."""
    found = [
        f"{name} is {getattr(theirs, name)!r} there and {getattr(ours, name)!r} here"
        for name in Config.__struct_fields__
        if getattr(ours, name) != getattr(theirs, name)
    ]
    if not found:
        return ""
    return (
        f"other processes serve this log with other settings ({'; '.join(found)}): start this one with the "
        "same options, or end the others first"
    )


def _act(store: Store, live: Live, action: Action) -> None:
    live.apply(store.append([Draft(None, action=encode(action))], store.last()[1]))


def _check_shadow(content: bytes, live: Live) -> None:
    """A shadow is compared by labels, which a service gets only if its model learns from them."""
    if not live.served.learns:
        raise ValueError(
            f"--shadow needs a served model that learns row by row, and takes labels; a {live.served.name} "
            "does not"
        )
    reason = unfit(served_of(content), live.served)
    if reason is not None:
        raise ValueError(f"--shadow: {reason}")


def check_address(host: str, tokens: Tokens) -> bool:
    """Whether only this machine can ask; an address that others can reach needs tokens."""
    local = host in LOOPBACK
    if not local and not tokens:
        raise ValueError(
            f"--host {host} can be reached by others: make tokens with likelier token, and give "
            f"--tokens FILE."
        )
    return local


@contextlib.contextmanager
def service(options: Options, note: Any) -> Iterator[tuple[Writer, Api, Any]]:
    """Start the parts of a service; at the end everything accepted is written."""
    tokens = Tokens.of(Path(options.tokens)) if options.tokens else Tokens()
    local = check_address(options.host, tokens)
    store = opened(options.store)
    try:
        with store.exclusive():
            live = prepared(store, options, note)
            store.serve()
        writer = _writer_of(store)(
            store,
            live,
            most=options.max_queue,
            snapshot_events=options.snapshot_events,
            snapshot_seconds=options.snapshot_seconds,
        )
        api = Api(writer, options.limits, Metrics())
        writer.start()
        try:
            yield writer, api, api.router(tokens, local=local and not tokens)
        finally:
            writer.stop()
    finally:
        store.close()


def _writer_of(store: Store) -> type[Writer]:
    if not store.shared:
        return Writer
    from likelier.service.shared import SharedWriter

    return SharedWriter


def listening(host: str, port: int) -> socket.socket:
    """A socket at this address; port 0: any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as problem:
        found.close()
        raise OSError(problem.errno, f"cannot listen at {host}:{port}: {problem.strerror}") from None
    return found


def server_of(app: Any) -> uvicorn.Server:
    """The server of an ASGI application."""
    config = uvicorn.Config(
        app,
        loop="auto",  # uvloop, which Windows lacks
        http="httptools",
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=4096,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=1 << 16,
    )
    return uvicorn.Server(config)


def run(options: Options, note: Any, ready: Any) -> None:
    """Serve until SIGTERM or Ctrl-C: requests under way are answered, then a snapshot is taken."""
    sys.setswitchinterval(SWITCH)
    with listening(options.host, options.port) as sock, service(options, note) as (_, api, app):
        server = server_of(app)
        api.monitor.stopping = lambda: server.should_exit
        sock.listen(2048)
        ready(*sock.getsockname()[:2])
        gc.collect()
        gc.freeze()  # what was loaded stays: collections need not look at it
        gc.set_threshold(*COLLECTED)
        server.run(sockets=[sock])
