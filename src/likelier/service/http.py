"""The ASGI side: who may ask, how large a body may be, and errors as JSON."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, MutableMapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import msgspec

from likelier.service.decide import Refusal
from likelier.service.metrics import Metrics
from likelier.service.models import RefusedRow
from likelier.service.store import StoreError
from likelier.service.tokens import Tokens
from likelier.service.writer import Busy

Scope = MutableMapping[str, Any]
Receive = Callable[[], Coroutine[Any, Any, MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
JSON, PLAIN, HTML = (
    b"application/json",
    b"text/plain; version=0.0.4; charset=utf-8",
    b"text/html; charset=utf-8",
)
START, BODY = "http.response.start", "http.response.body"
BODY_SECONDS = 30.0  # for a body to arrive
LOCAL = frozenset(["127.0.0.1", "localhost", "[::1]", "testserver"])

# A page may load nothing but what is in it, and nobody may frame it.
SECURE: Headers = [(b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store")]
POLICY = (
    b"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
    b"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGE: Headers = [
    *SECURE,
    (b"content-security-policy", POLICY),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
]


class Problem(Exception):
    """An error that is sent as the response."""

    def __init__(self, status: int, reason: str, headers: Headers | None = None) -> None:
        super().__init__(reason)
        self.status, self.headers = status, headers or []


class Reply(NamedTuple):
    """A response."""

    body: bytes
    kind: bytes = JSON
    status: int = 200


class Limits(NamedTuple):
    """Limits of requests."""

    body: int = 16 << 20  # bytes
    model: int = 256 << 20  # bytes of a model file
    rows: int = 10_000
    listeners: int = 32  # of /events


class Route(NamedTuple):
    """What answers a path, and which token it needs."""

    handle: Callable[[bytes], Awaitable[Reply]]
    scope: str | None  # None: anybody
    body: int  # bytes, at most
    headers: Headers = SECURE
    stream: Callable[[Receive, Send, Headers], Awaitable[None]] | None = None  # in place of `handle`


class Router:
    """An ASGI application of fixed paths. Every exception becomes an answer, and none shows a traceback."""

    def __init__(self, tokens: Tokens, metrics: Metrics, *, local: bool) -> None:
        self.tokens, self.metrics, self._local = tokens, metrics, local
        self.routes: dict[str, dict[str, Route]] = {}
        self._fixed: dict[tuple[str, str], Route] = {}  # the same, by method and path

    def add(self, method: str, path: str, route: Route) -> None:
        """A path of this application."""
        self.routes.setdefault(path, {})[method] = route
        self._fixed[method, path] = route
        if method == "GET":
            self._fixed["HEAD", path] = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await _lifespan(scope, receive, send)
            return
        start = time.perf_counter()
        path = scope["path"]
        route = self._fixed.get((scope["method"], path))
        try:
            if route is None:
                raise self._unknown(scope)
            self._check(scope["headers"], route)
            headers = route.headers
            if route.stream is not None:
                await route.stream(receive, send, SECURE)
                return
            body, kind, status = await route.handle(await _body(receive, route.body) if route.body else b"")
        except Exception as problem:
            found = _problem(problem)
            body, kind, status = msgspec.json.encode({"error": str(found)}), JSON, found.status
            headers = [*SECURE, *found.headers]
        length = b"content-length", b"%d" % len(body)
        await send(
            {"type": START, "status": status, "headers": [(b"content-type", kind), length, *headers]}
        )
        await send({"type": BODY, "body": body})
        taken = time.perf_counter() - start
        self.metrics.request(path if path in self.routes else "other", status, taken)

    def _unknown(self, scope: Scope) -> Problem:
        known = self.routes.get(scope["path"])
        if known is None:
            return Problem(404, f"there is no {scope['path']!r:.200}: /docs has the list")
        allowed, method = ", ".join(known), scope["method"]
        return Problem(405, f"{method:.20} is not allowed here: {allowed}", [(b"allow", allowed.encode())])

    def _check(self, headers: Headers, route: Route) -> None:
        """Check host, origin, length of the body and token of a request."""
        host, length, origin, token = b"", b"", None, None
        for name, value in headers:
            if name == b"host":
                host = value
            elif name == b"content-length":
                length = value
            elif name == b"origin":
                origin = value
            elif name == b"authorization":
                token = value
        if origin is not None and origin.partition(b"://")[2] != host:
            raise Problem(403, "requests of pages from elsewhere are refused (CORS is off)")
        if self._local and not _is_local(host):
            raise Problem(
                403,
                f"host {host.decode('latin-1')!r:.100} is not this machine: ask for 127.0.0.1 or localhost",
            )
        if length.isdigit() and int(length) > route.body:
            raise Problem(413, f"a body may have at most {route.body} bytes; got {int(length)}")
        if self.tokens and route.scope is not None:
            self._authorise(token, route.scope)

    def _authorise(self, header: bytes | None, wanted: str) -> None:
        asked = [(b"www-authenticate", b"Bearer")]
        if header is None:
            raise Problem(401, "a token is needed: Authorization: Bearer lk_...", asked)
        scopes = self.tokens.scopes(header)
        if scopes is None:
            raise Problem(401, "this token is not known", asked)
        if wanted not in scopes and "admin" not in scopes:
            raise Problem(403, f"this token is for {', '.join(sorted(scopes))}, and not for {wanted}")


@lru_cache(maxsize=64)
def _is_local(host: bytes) -> bool:
    """Whether a Host header names this machine, with or without a port."""
    text = host.decode("latin-1")
    return (text if text.endswith("]") else text.rpartition(":")[0] if ":" in text else text) in LOCAL


def _problem(problem: Exception) -> Problem:
    """The response to an exception."""
    if isinstance(problem, Problem):
        return problem
    if isinstance(problem, Refusal):
        return Problem(problem.status, str(problem))
    if isinstance(problem, Busy):
        return Problem(429, "too many rows wait to be written: try again", [(b"retry-after", b"1")])
    if isinstance(problem, StoreError):
        return Problem(503, f"the store cannot be written to: {problem}", [(b"retry-after", b"5")])
    if isinstance(problem, TimeoutError):
        return Problem(408, f"the body did not arrive within {BODY_SECONDS:g} seconds")
    if isinstance(problem, msgspec.ValidationError | RefusedRow):
        return Problem(422, str(problem))
    if isinstance(problem, RecursionError):
        return Problem(400, "the body is nested too deeply")
    if isinstance(problem, msgspec.DecodeError | UnicodeDecodeError):
        return Problem(400, f"the body is not valid JSON: {problem}")
    if isinstance(problem, ValueError):
        return Problem(422, str(problem))
    return Problem(500, f"internal error ({type(problem).__name__}); please report it")


async def _body(receive: Receive, most: int) -> bytes:
    """The body of a request. It has mostly arrived already; then no timer is needed."""
    waiting = receive()
    try:
        yielded = waiting.send(None)
    except StopIteration as there:
        message = there.value
        if message.get("more_body"):
            return await _parts(message, receive, most)
    else:
        async with asyncio.timeout(BODY_SECONDS):
            message = await _Begun(waiting, yielded)
        if message.get("more_body"):
            return await _parts(message, receive, most)
    body: bytes = message.get("body", b"")
    if len(body) > most:
        raise Problem(413, f"a body may have at most {most} bytes; got {len(body)}")
    return body


async def _parts(message: MutableMapping[str, Any], receive: Receive, most: int) -> bytes:
    """Collect a body that arrives in several messages."""
    parts = [message.get("body", b"")]
    size = len(parts[0])
    async with asyncio.timeout(BODY_SECONDS):
        while message.get("more_body") and size <= most:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Problem(400, "the body ended early")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
    if size > most:
        raise Problem(413, f"a body may have at most {most} bytes")
    return b"".join(parts)


class _Begun:
    """A coroutine that has already yielded once, to be awaited to its end."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], yielded: Any) -> None:
        self._coroutine, self._yielded = coroutine, yielded

    def __await__(self) -> Generator[Any, Any, Any]:
        yielded = self._yielded
        while True:
            try:
                sent = yield yielded
            except BaseException as problem:
                step: Callable[[], Any] = partial(self._coroutine.throw, problem)
            else:
                step = partial(self._coroutine.send, sent)
            try:
                yielded = step()
            except StopIteration as end:
                return end.value


async def _lifespan(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1000})
        return
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        else:
            await send({"type": "lifespan.shutdown.complete"})
            return
