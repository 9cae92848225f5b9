"""What `likelier serve` is measured beside, behind the same server with the same settings.

    python -m benchmarks.service.peers echo PORT

`echo` reads a body and sends it back: no service can be faster. `river` decodes bodies as `likelier serve`
does and asks a model of River; it writes no log, so that a kill loses all that it has learned.
"""

import sys
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from likelier.service.server import listening, server_of

BITS = 18  # of the hashes: as many as OnlineClassifier has
Answer = Callable[[str, bytes], bytes]


def echo(path: str, body: bytes) -> bytes:
    """The body itself."""
    return body


def river() -> Answer:
    """A logistic regression by AdaGrad on columns hashed by Python's own hash: River's fastest way."""
    from river import linear_model, optim

    model, mask = linear_model.LogisticRegression(optim.AdaGrad()), 2**BITS - 1
    decode = msgspec.json.Decoder().decode

    def hashed(x: dict[str, Any]) -> dict[Any, float]:
        return {
            hash((k, v)) & mask if isinstance(v, str) else k: 1 if isinstance(v, str) else v
            for k, v in x.items()
        }

    def predicted(row: dict[str, Any]) -> dict[str, Any]:
        p = model.predict_proba_one(hashed(row["x"]))[True]
        return {"id": row.get("id"), "label": int(p > 0.5), "proba": {"0": 1 - p, "1": p}}

    def answer(path: str, body: bytes) -> bytes:
        asked = decode(body or b'{"rows":[]}')
        rows = asked.get("rows", [asked])
        if path == "/learn":
            for row in rows:
                model.learn_one(hashed(row["x"]), bool(row["y"]))
            return msgspec.json.encode({"learned": len(rows)})
        found = [predicted(row) for row in rows]
        return msgspec.json.encode({"rows": found} if "rows" in asked else found[0])

    return answer


def application(answer: Answer) -> Callable[..., Awaitable[None]]:
    """The barest ASGI application that reads a body and answers it."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        body = message.get("body", b"")
        while message.get("more_body"):
            message = await receive()
            body += message.get("body", b"")
        found = answer(scope["path"], body)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(found)).encode()),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": found})

    return app


def main(name: str, port: str) -> None:
    """Serve until it is ended."""
    app = application({"echo": lambda: echo, "river": river}[name]())
    with listening("127.0.0.1", int(port)) as sock:
        sock.listen(2048)
        server_of(app).run(sockets=[sock])


if __name__ == "__main__":
    main(*sys.argv[1:3])
