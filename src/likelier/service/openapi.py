"""The API as an OpenAPI document, made of the very types that requests are decoded with; and as a page."""

from functools import lru_cache
from html import escape
from importlib.metadata import version
from typing import Any, NamedTuple

import msgspec

from likelier.service import schemas
from likelier.service.http import Limits

TYPES = (
    *(schemas.PredictBody, schemas.PredictRow, schemas.LearnBody, schemas.LearnRow, schemas.RollbackBody),
    *(schemas.Answer, schemas.Answers, schemas.LearnAnswer, schemas.Swapped, schemas.Health),
    *(schemas.Contribution, schemas.Explanation, schemas.Problem, schemas.ModelInfo),
)
ERRORS = {
    "400": "The body is not JSON",
    "401": "A token is needed",
    "403": "The token is not for this, or the request comes from a page elsewhere",
    "404": "No row with this id was predicted, or there is no such snapshot",
    "408": "The body did not arrive in time",
    "409": "Another row or label has this id; or the model does not fit, or does not learn row by row",
    "410": "The label comes too late",
    "413": "The body is too large, or has too many rows",
    "422": "The body is JSON, and not what is described here",
    "429": "Too many rows wait to be written: try again after Retry-After seconds",
    "503": "The store cannot be written to",
}
ROW = {"x": {"hour": 9, "user": "anna", "mobile": True}, "id": "row-1"}


class Path(NamedTuple):
    """A path, what it takes and what it answers."""

    method: str
    path: str
    summary: str
    body: str | None
    answer: str
    scope: str
    errors: str


ROWS = "400 401 403 408 413 422"
PATHS = (
    Path("post", "/predict", "Predict rows", "PredictBody", "Answer", "predict", f"{ROWS} 409 429 503"),
    Path("post", "/explain", "Explain a prediction", "PredictBody", "Explanation", "predict", ROWS),
    Path(
        "post", "/learn", "Learn labels", "LearnBody", "LearnAnswer", "learn", f"{ROWS} 404 409 410 429 503"
    ),
    Path("get", "/model", "The model that is served", None, "ModelInfo", "predict", "401 403"),
    Path("post", "/model", "Serve another model file", "bytes", "Swapped", "admin", f"{ROWS} 409 503"),
    Path(
        "post",
        "/model/rollback",
        "Return to the model of an earlier snapshot",
        "RollbackBody",
        "Swapped",
        "admin",
        f"{ROWS} 404 409 503",
    ),
    Path("get", "/metrics", "Counts and latencies, for Prometheus", None, "text", "admin", "401 403"),
    Path("get", "/health", "Whether requests are served", None, "Health", "", "403 503"),
    Path("get", "/events", "The state every second, as events", None, "events", "admin", "401 403 429"),
)


@lru_cache(maxsize=4)
def document(limits: Limits) -> dict[str, Any]:
    """The document, OpenAPI 3.1."""
    _, components = msgspec.json.schema_components(TYPES, ref_template="#/components/schemas/{name}")
    paths: dict[str, dict[str, Any]] = {}
    for method, path, summary, body, answer, scope, errors in PATHS:
        operation: dict[str, Any] = {"summary": summary, "operationId": _name(method, path)}
        if scope:
            operation["description"] = f"Where tokens are needed: one with the scope {scope}."
        operation["responses"] = {
            "200": _ok(path, answer),
            **{code: _error(code) for code in sorted(errors.split())},
        }
        if body is not None:
            operation["requestBody"] = _body(path, body)
        paths.setdefault(path, {})[method] = operation
    components = {name: _strict(name, schema, limits) for name, schema in components.items()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "likelier serve", "version": version("likelier")},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _strict(name: str, schema: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """What the decoder cannot say: a body has one row, or many."""
    known = {"required": ["id"], "properties": {"id": {"not": {"type": "null"}}}}
    labelled = {"anyOf": [{"required": ["x"]}, known]}
    if name == "PredictBody":
        return schema | {"oneOf": [{"required": ["x"]}, _many("id")]}
    if name == "LearnBody":
        return schema | {"oneOf": [{"required": ["y"], **labelled}, _many("id", "x")]}
    if name == "LearnRow":
        return schema | labelled
    return schema


def _many(*others: str) -> dict[str, Any]:
    """Rows, and none of what one row has."""
    return {"required": ["rows"], "not": {"anyOf": [{"required": [name]} for name in others]}}


def _name(method: str, path: str) -> str:
    return f"{method}_{path.strip('/').replace('/', '_')}"


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _ok(path: str, answer: str) -> dict[str, Any]:
    if answer == "text":
        return {"description": "Text", "content": {"text/plain": {"schema": {"type": "string"}}}}
    if answer == "events":
        return {"description": "Events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
    schema = {"anyOf": [_ref("Answer"), _ref("Answers")]} if path == "/predict" else _ref(answer)
    return {"description": "Done", "content": {"application/json": {"schema": schema}}}


def _error(code: str) -> dict[str, Any]:
    return {"description": ERRORS[code], "content": {"application/json": {"schema": _ref("Problem")}}}


def _body(path: str, body: str) -> dict[str, Any]:
    if body == "bytes":
        binary = {"type": "string", "format": "binary"}
        return {"required": True, "content": {"application/octet-stream": {"schema": binary}}}
    example = ROW if body == "PredictBody" else {"id": "row-1", "y": "click"} if body == "LearnBody" else {}
    content = {"application/json": {"schema": _ref(body), "example": example}}
    return {"required": body != "RollbackBody", "content": content}


def document_page(found: dict[str, Any]) -> bytes:
    """The document as HTML, of which all is in the page."""
    parts = []
    for path, methods in found["paths"].items():
        for method, operation in methods.items():
            codes = "".join(
                f"<tr><td>{code}</td><td>{escape(answer['description'])}</td></tr>"
                for code, answer in operation["responses"].items()
            )
            body = _example(operation)
            parts.append(
                f"<section><h2><b>{method.upper()}</b> "
                f"{escape(path)}</h2><p>{escape(operation['summary'])}. "
                f"{escape(operation.get('description', ''))}</p>{body}<table>{codes}</table></section>"
            )
    schemas_ = "".join(
        f"<details><summary>{name}</summary><pre>{escape(_pretty(schema))}</pre></details>"
        for name, schema in found["components"]["schemas"].items()
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>likelier serve: API</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style><main><h1>likelier serve</h1>"
        "<p>Bodies and answers are JSON; an error is {&quot;error&quot;: why}. "
        '<a href="/openapi.json">openapi.json</a> is the same for programs.</p>'
        f"{''.join(parts)}<h2>Types</h2>{schemas_}</main></html>"
    ).encode()


def _example(operation: dict[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {})
    example = content.get("application/json", {}).get("example")
    return f"<pre>{escape(_pretty(example))}</pre>" if example else ""


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:0}main{max-width:52rem;"
    "margin:auto;padding:1.5rem}h2{font-size:1.1rem;margin-top:2rem}h2 b{color:#0072b2}pre{overflow:auto;"
    "padding:.6rem;background:#8881;border-radius:6px;font-size:.85rem}td{padding:.1rem .8rem .1rem 0;"
    "vertical-align:top}section{border-top:1px solid #8884}"
)
