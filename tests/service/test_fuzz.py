"""Whatever is sent, the server has no error of its own, and its state stays that of the log."""

import asyncio
import json
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("uvicorn", reason="likelier[serve] is not installed")

from tests.service.conftest import asked

from likelier.service.events import Config, encode, features_of, label_of
from likelier.service.live import Live
from likelier.service.models import served_of
from likelier.service.recovery import models_of

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=True)
    | st.text(max_size=20)
)
VALUES = st.recursive(
    LEAVES, lambda of: st.lists(of, max_size=4) | st.dictionaries(st.text(max_size=5), of, max_size=4)
)
CELLS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=10)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
ROWS = st.dictionaries(st.text(max_size=8), CELLS | NUMBERS | st.lists(CELLS, max_size=3), max_size=5)
FEW = settings(max_examples=25, suppress_health_check=list(HealthCheck), deadline=None)


@given(x=ROWS)
def test_rows_come_back_from_the_log_as_they_were(x):
    try:
        raw = encode(x)
    except UnicodeEncodeError:  # surrogates: JSON in UTF-8 has none
        return
    assert features_of(raw) == x
    assert encode(features_of(raw)) == raw


@given(content=st.binary(max_size=200))
def test_parsers_refuse_bytes_by_value_errors(content):
    for read in (features_of, label_of, served_of):
        try:
            read(content)
        except (ValueError, UnicodeDecodeError):
            continue


@FEW
@given(
    bodies=st.lists(
        st.tuples(st.sampled_from(["/predict", "/learn", "/explain", "/model/rollback"]), VALUES),
        max_size=20,
    )
)
def test_no_body_makes_an_error_of_the_servers_own(bodies, tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "events.db"

    async def main():
        async with asked(path) as service:
            for url, body in bodies:
                content = json.dumps(body).encode()
                answer = await service.client.post(url, content=content)
                assert answer.status_code < 500, (url, content, answer.text)
                if answer.status_code >= 400:
                    assert list(answer.json()) == ["error"]

    asyncio.run(main())


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["predict", "learn", "both"]),
        st.integers(0, 6),
        ROWS,
        st.sampled_from(["a", "b", 1, True]),
    ),
    max_size=40,
)


@FEW
@given(operations=OPERATIONS, keep=st.booleans(), batch=st.booleans())
def test_any_requests_leave_a_log_that_teaches_the_model_that_is_served(
    operations, keep, batch, tmp_path_factory
):
    path = tmp_path_factory.mktemp("fuzz") / "events.db"

    async def one(service, kind, id, x, y):
        body = (
            {"x": x, "id": id}
            if kind == "predict"
            else {"id": id, "y": y} | ({"x": x} if kind == "both" else {})
        )
        url = "/predict" if kind == "predict" else "/learn"
        return await service.client.post(url, content=encode(body))

    async def main():
        async with asked(path, config=Config(keep_unknown=keep, max_waiting=3)) as service:
            requests = [one(service, *operation) for operation in operations]
            if batch:
                answers = await asyncio.gather(*requests)
            else:
                answers = [await request for request in requests]
            assert all(answer.status_code in (200, 404, 409, 410) for answer in answers)
            live, store = service.writer.live, service.writer.store
            again = Live(models_of(store))
            again.apply(store.after(0))
            assert again.served.content() == live.served.content()
            assert again.waiting.rows == live.waiting.rows
            assert again.rows_learned == live.rows_learned
            assert service.writer.broken is None

    asyncio.run(main())


def test_requests_made_of_the_document_are_answered_as_it_says(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schemathesis = pytest.importorskip("schemathesis", reason="schemathesis makes the requests")
        from schemathesis.specs.openapi.checks import positive_data_acceptance
    from tests.service.kills import Server

    server = Server(tmp_path, "--set", "bits=8").start().wait()
    try:
        schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
        for found in schema.get_all_operations():
            operation = found.ok()
            if operation.path == "/events":
                continue

            @settings(
                max_examples=20, suppress_health_check=list(HealthCheck), deadline=None, database=None
            )
            @given(case=operation.as_strategy())
            def ask(case):
                response = case.call()
                # In JSON Schema 1.0 is an integer; as an id or a label it is refused.
                case.validate_response(response, excluded_checks=[positive_data_acceptance])

            ask()
    finally:
        server.end()
