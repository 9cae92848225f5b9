"""The routes of the API: what is done for each request."""

import asyncio
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from msgspec import UNSET, UnsetType

from likelier.service import schemas
from likelier.service.decide import Item
from likelier.service.events import (
    Action,
    Config,
    encode,
    id_text,
    label_of,
    label_text,
    proba_text,
)
from likelier.service.explain import explained
from likelier.service.http import HTML, PAGE, PLAIN, Limits, Problem, Reply, Route, Router
from likelier.service.live import Live
from likelier.service.metrics import Metrics
from likelier.service.models import Served, served_of, sha_of, unfit
from likelier.service.monitor import Monitor
from likelier.service.openapi import document, document_page
from likelier.service.page import page
from likelier.service.snapshots import model_in
from likelier.service.tokens import Tokens
from likelier.service.writer import Answered, Learned, Writer

MANY = 200  # rows: more are predicted beside the event loop
LARGE = 1 << 15  # bytes of a body that is read beside the event loop
SMALL = 4096  # bytes of a body that names little
ONE_LEARNED = Learned(1, 0, 0)
ONE_LEARNED_REPLY = Reply(schemas.encode(schemas.LearnAnswer(*ONE_LEARNED)))
decode_predict, decode_learn = schemas.predict_decoder.decode, schemas.learn_decoder.decode


class Api:
    """The handlers of a service."""

    def __init__(self, writer: Writer, limits: Limits, metrics: Metrics) -> None:
        self.writer, self.limits, self.metrics = writer, limits, metrics
        self.monitor = Monitor(writer, metrics)

    @property
    def live(self) -> Live:
        """The learner."""
        return self.writer.live

    def router(self, tokens: Tokens, *, local: bool) -> Router:
        """The ASGI application with all routes."""
        router, limits = Router(tokens, self.metrics, local=local), self.limits
        router.add("POST", "/predict", Route(self.predict, "predict", limits.body))
        router.add("POST", "/explain", Route(self.explain, "predict", limits.body))
        router.add("POST", "/learn", Route(self.learn, "learn", limits.body))
        router.add("GET", "/model", Route(self.model, "predict", 0))
        router.add("POST", "/model", Route(self.swap, "admin", limits.model))
        router.add("POST", "/model/rollback", Route(self.rollback, "admin", SMALL))
        router.add("GET", "/metrics", Route(self.prometheus, "admin", 0))
        router.add("GET", "/health", Route(self.health, None, 0))
        router.add("GET", "/events", Route(self.health, "admin", 0, stream=self.monitor.stream))
        router.add("GET", "/", Route(self.page, None, 0, PAGE))
        router.add("GET", "/docs", Route(self.docs, None, 0, PAGE))
        router.add("GET", "/openapi.json", Route(self.openapi, None, 0))
        self.monitor.most = limits.listeners
        return router

    # ---- predictions ---------------------------------------------------------------------------------
    async def predict(self, body: bytes) -> Reply:
        """Predict one row or many. Rows with an id are logged before the response."""
        live, most = self.writer.live, self.limits.rows
        if len(body) <= LARGE:
            plain = live.served.answer_body(body, live.version, most)
        else:
            plain = await asyncio.to_thread(live.served.answer_body, body, live.version, most)
        if plain is None:
            return await self._predict_checked(body)
        answer, rows = plain
        self.metrics.count("/predict", rows)
        return Reply(answer)

    async def _predict_checked(self, body: bytes) -> Reply:
        """Requests that native code does not read: rows with ids, lists as cells, and invalid ones."""
        asked = decode_predict(body)
        if asked.rows is UNSET:
            if asked.x is UNSET:
                raise Problem(
                    422, 'a prediction needs a row: {"x": {...}} or {"rows": [{"x": {...}}, ...]}'
                )
            self.metrics.count("/predict", 1)
            live = self.writer.live
            served = live.served
            x = served.checked(asked.x)
            if asked.id is None:
                return Reply(encode(_answer(None, served.answer(x), live.version)))
            (answer,) = await self._logged([schemas.PredictRow(x, asked.id)])
            return Reply(encode(answer))
        if asked.x is not UNSET or asked.id is not None:
            raise Problem(422, "a body has either x (and id) or rows, not both")
        self._few(asked.rows)
        self.metrics.count("/predict", len(asked.rows))
        return Reply(await self._predict_many(asked.rows))

    def _few(self, rows: Sequence[Any]) -> None:
        if len(rows) > self.limits.rows:
            raise Problem(413, f"a request may have at most {self.limits.rows} rows; got {len(rows)}")

    async def _predict_many(self, rows: list[schemas.PredictRow]) -> bytes:
        if any(row.id is not None for row in rows):
            checked = [schemas.PredictRow(self.live.served.checked(row.x), row.id) for row in rows]
            return schemas.encode(schemas.Answers(await self._logged(checked)))
        if len(rows) > MANY:
            return await asyncio.to_thread(self._answers, rows)
        return self._answers(rows)

    def _answers(self, rows: list[schemas.PredictRow]) -> bytes:
        served, version = self.live.served, self.live.version
        labels, P = served.probabilities([served.checked(row.x) for row in rows])
        names = [label_text(label) for label in labels]
        answers = [
            schemas.Answer(
                None, labels[p.index(max(p))] if p else None, dict(zip(names, p, strict=True)), version
            )
            for p in P
        ]
        return schemas.encode(schemas.Answers(answers))

    async def _logged(self, rows: Sequence[schemas.PredictRow]) -> list[schemas.Answer]:
        """Predict rows of which some have ids: these are logged and predicted by the writer."""
        items = [Item(id_text(row.id), encode(row.x)) for row in rows if row.id is not None]
        named: Answered = await self.writer.submit(items)
        answers = iter(named.answers)
        served = self.live.served
        found = [next(answers) if row.id is not None else served.answer(row.x) for row in rows]
        return [_answer(row.id, one, named.version) for row, one in zip(rows, found, strict=True)]

    async def explain(self, body: bytes) -> Reply:
        """What each feature adds to the answer."""
        asked = decode_predict(body)
        if isinstance(asked.x, UnsetType):
            raise Problem(422, 'an explanation is of one row: {"x": {...}}')
        live = self.live
        return Reply(schemas.encode(explained(live.served, live.served.checked(asked.x), live.version)))

    # ---- labels --------------------------------------------------------------------------------------
    async def learn(self, body: bytes) -> Reply:
        """Learn labels of predicted rows, or rows with labels. They are durable before the response."""
        plain = self.live.served.labelled_rows(body)
        if plain is None:
            items = self._items_checked(body)
        else:
            many, ids, rows, labels = plain
            if many:
                self._few(ids)
            items = list(map(Item, ids, rows, map(label_of, labels)))
        self.metrics.count("/learn", len(items))
        done: Learned = await self.writer.submit(items)
        if done == ONE_LEARNED:
            return ONE_LEARNED_REPLY
        return Reply(schemas.encode(schemas.LearnAnswer(*done)))

    def _items_checked(self, body: bytes) -> list[Item]:
        """The rows of a request that native code does not read; raises the reason if it is invalid."""
        asked, served = decode_learn(body), self.live.served
        if not served.learns:
            raise Problem(
                409,
                f"a {served.name} is fitted as a whole and does not learn row by row: it is served, and "
                "learns nothing. Serve an OnlineClassifier to learn from labels.",
            )
        if isinstance(asked.rows, UnsetType):
            if isinstance(asked.y, UnsetType):
                raise Problem(422, 'a label is needed: {"id": ..., "y": ...} or {"x": {...}, "y": ...}')
            return [self._item(schemas.LearnRow(asked.y, asked.id, asked.x), served, "")]
        if not (isinstance(asked.x, UnsetType) and isinstance(asked.y, UnsetType) and asked.id is None):
            raise Problem(422, "a body has either y (with id or x) or rows, not both")
        self._few(asked.rows)
        return [self._item(row, served, f"row {i}: ") for i, row in enumerate(asked.rows)]

    def _item(self, row: schemas.LearnRow, served: Served, where: str) -> Item:
        if isinstance(row.y, float) and not math.isfinite(row.y):
            raise Problem(422, f"{where}y must be finite")
        if row.x is UNSET and row.id is None:
            raise Problem(422, f"{where}a label needs the id of a predicted row, or a row x")
        id = None if row.id is None else id_text(row.id)
        if row.x is UNSET:
            return Item(id, None, row.y)
        x = served.checked(row.x)
        return Item(id, encode(x), row.y)

    # ---- the model -----------------------------------------------------------------------------------
    async def model(self, body: bytes) -> Reply:
        """Information on the served model."""
        live = self.live
        served, figures = live.served, self.monitor.figures()
        return Reply(
            schemas.encode(
                schemas.ModelInfo(
                    version=live.version,
                    rows_learned=live.rows_learned,
                    estimator=served.name,
                    learns=served.learns,
                    classes=served.labels,
                    columns=served.columns,
                    settings=_settings(served),
                    waiting=len(live.waiting.rows),
                    expired=live.expired,
                    late=live.late,
                    snapshots=self.writer.snapshots,
                    figures=figures,
                    config=_config(live.config),
                    shadow=self.monitor.shadow(),
                )
            )
        )

    async def swap(self, body: bytes) -> Reply:
        """Replace the model by an uploaded file, which is parsed and checked; logged as an event."""
        if not body:
            raise Problem(422, "the body must be a model file: curl --data-binary @model.lk")
        new = await asyncio.to_thread(served_of, body, self.limits.model)
        return await self._swap(body, new, None)

    async def _swap(self, content: bytes, new: Served, note: str | None) -> Reply:
        writer, sha = self.writer, sha_of(content)

        def work() -> int:
            reason = unfit(new, writer.live.served)
            if reason is not None:
                raise Problem(409, reason)
            writer.snapshot_now()  # to which one can roll back
            writer.store.put_model(sha, content)
            return writer.act(Action(model=sha, note=note)).seq

        version = await writer.call(work)
        return Reply(schemas.encode(schemas.Swapped(version, new.name)))

    async def rollback(self, body: bytes) -> Reply:
        """The model of an earlier snapshot; what was learned since stays in the log."""
        asked = schemas.rollback_decoder.decode(body or b"{}")
        versions = await self.writer.call(self.writer.store.snapshots)
        version = asked.version
        if version is None:
            version = next((v for v in versions if v < self.live.version), None)
        if version is None or version not in versions:
            some = ", ".join(map(str, versions)) or "none yet"
            which = "an earlier version" if version is None else f"version {version}"
            raise Problem(404, f"there is no snapshot of {which}; there are: {some}")
        content = model_in(await self.writer.call(partial(self.writer.store.snapshot, version)))
        new = await asyncio.to_thread(served_of, content)
        return await self._swap(content, new, f"rollback to {version}")

    # ---- the rest ------------------------------------------------------------------------------------
    async def health(self, body: bytes) -> Reply:
        """Whether requests are served."""
        broken = self.writer.broken
        status = "ok" if broken is None else "broken"
        reply = schemas.encode(schemas.Health(status, self.live.version, self.writer.role))
        return Reply(reply, status=200 if broken is None else 503)

    async def prometheus(self, body: bytes) -> Reply:
        """All metrics, for Prometheus."""
        return Reply(self.metrics.text(self.monitor.gauges()).encode(), PLAIN)

    async def page(self, body: bytes) -> Reply:
        """The live page."""
        return Reply(page(), HTML)

    async def docs(self, body: bytes) -> Reply:
        """The documentation of the API as a page."""
        return Reply(document_page(document(self.limits)), HTML)

    async def openapi(self, body: bytes) -> Reply:
        """The OpenAPI document."""
        return Reply(encode(document(self.limits)))


def _answer(id: str | int | None, answer: dict[Any, float], version: int) -> schemas.Answer:
    label = max(answer, key=answer.__getitem__) if answer else None
    return schemas.Answer(id, label, proba_text(answer), version)


def _settings(served: Served) -> dict[str, Any]:
    """Hyper-parameters in JSON types; others as text."""
    return {name: _plain(value) for name, value in served.settings.items()}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    return repr(value)[:200]


def _config(config: Config) -> dict[str, Any]:
    return {name: getattr(config, name) for name in config.__struct_fields__}
