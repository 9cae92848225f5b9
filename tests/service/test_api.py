"""The HTTP API: bodies, answers, and what is refused."""

import asyncio
import json

import numpy as np
import pytest

import likelier as lk
from likelier.saving.models import content_of

pytest.importorskip("uvicorn", reason="likelier[serve] is not installed")

from likelier.service.events import Config, encode
from likelier.service.http import Limits
from likelier.service.models import new_content
from likelier.service.tokens import Tokens, make

ROW = {"user": "anna", "hour": 9, "mobile": True}


def test_the_first_prediction_is_one_request_away_and_labels_are_learned(run):
    async def main(service):
        answer = (await service.post("/predict", {"x": ROW, "id": "a"})).json()
        assert answer == {"id": "a", "label": None, "proba": {}, "version": 3}
        assert (await service.post("/learn", {"id": "a", "y": "click"})).json() == {
            "learned": 1,
            "duplicates": 0,
            "waiting": 0,
        }
        learned = (await service.post("/learn", {"x": {"user": "ben"}, "y": "no", "id": "b"})).json()
        assert learned == {"learned": 1, "duplicates": 0, "waiting": 0}
        answer = (await service.post("/predict", {"x": ROW})).json()
        assert answer["id"] is None
        assert answer["label"] == "click"
        assert set(answer["proba"]) == {"click", "no"}
        assert sum(answer["proba"].values()) == pytest.approx(1)
        model = (await service.get("/model")).json()
        assert model["rows_learned"] == 2
        assert model["version"] == answer["version"] == 5
        assert model["figures"]["rows"] == 2

    run(main)


def test_many_rows_in_one_request_are_what_single_ones_are(run):
    rows = [{"x": {"a": i % 3, "b": f"w{i % 5}"}, "y": i % 2} for i in range(300)]

    async def main(service):
        assert (await service.post("/learn", {"rows": rows})).json()["learned"] == 300
        asked = [{"x": row["x"]} for row in rows]
        many = (await service.post("/predict", {"rows": asked})).json()["rows"]
        for one, answer in zip(asked[:20], many, strict=False):
            assert (await service.post("/predict", one)).json() == answer
        named = [{"x": row["x"], "id": i} for i, row in enumerate(rows[:5])] + [{"x": rows[5]["x"]}]
        answers = (await service.post("/predict", {"rows": named})).json()["rows"]
        assert [answer["id"] for answer in answers] == [0, 1, 2, 3, 4, None]
        assert [answer["proba"] for answer in answers] == [answer["proba"] for answer in many[:6]]
        assert answers[0]["label"] in (0, 1)
        model = (await service.get("/model")).json()
        assert model["waiting"] == 5
        return many

    many = run(main)
    learner = lk.OnlineClassifier(bits=10)
    for row in rows:
        learner.learn_one(row["x"], row["y"])
    P = learner.predict_proba([row["x"] for row in rows])
    assert [[answer["proba"]["0"], answer["proba"]["1"]] for answer in many] == P.tolist()


def test_labels_are_idempotent_by_id(run):
    async def main(service):
        await service.post("/predict", {"x": ROW, "id": "a"})
        for first in (True, False, False):
            answer = (await service.post("/learn", {"id": "a", "y": "click"})).json()
            assert answer == {"learned": int(first), "duplicates": int(not first), "waiting": 0}
        answer = await service.post("/learn", {"id": "a", "y": "no"})
        assert answer.status_code == 409
        assert 'has the label "click" already' in answer.json()["error"]
        both = {"rows": [{"x": ROW, "y": "no", "id": f"b{i % 2}"} for i in range(5)]}
        assert (await service.post("/learn", both)).json() == {"learned": 2, "duplicates": 3, "waiting": 0}
        before = (await service.get("/model")).json()["rows_learned"]
        mixed = {"rows": [{"x": ROW, "y": "no", "id": "c"}, {"id": "a", "y": "no"}]}
        answer = await service.post("/learn", mixed)
        assert answer.status_code == 409
        assert answer.json()["error"].startswith("row 1: ")
        after = (await service.get("/model")).json()["rows_learned"]
        assert before == after == 3  # nothing of a request that is refused
        assert (await service.post("/learn", {"rows": mixed["rows"][:1]})).json()["learned"] == 1

    run(main)


def test_many_clients_that_send_the_same_label_teach_it_once(run):
    async def main(service):
        await service.post("/predict", {"x": ROW, "id": "a"})
        answers = await asyncio.gather(
            *(service.post("/learn", {"id": "a", "y": "click"}) for _ in range(50))
        )
        assert sum(answer.json()["learned"] for answer in answers) == 1
        assert sum(answer.json()["duplicates"] for answer in answers) == 49
        answers = await asyncio.gather(
            *(service.post("/learn", {"x": ROW, "id": "b", "y": y}) for y in ["click", "no"] * 20)
        )
        codes = [answer.status_code for answer in answers]
        assert codes.count(200) == codes.count(409) == 20
        assert (await service.get("/model")).json()["rows_learned"] == 2

    run(main)


def test_predictions_are_idempotent_by_id(run):
    async def main(service):
        await service.post("/learn", {"rows": [{"x": ROW, "y": "click"}, {"x": {}, "y": "no"}]})
        first = (await service.post("/predict", {"x": ROW, "id": "a"})).json()
        await service.post("/learn", {"x": ROW, "y": "no"})
        again = (await service.post("/predict", {"x": ROW, "id": "a"})).json()
        assert again["proba"] == first["proba"]
        answer = await service.post("/predict", {"x": {"user": "ben"}, "id": "a"})
        assert answer.status_code == 409
        assert "another row" in answer.json()["error"]
        assert (await service.get("/model")).json()["waiting"] == 1

    run(main)


def test_labels_of_unknown_rows_are_refused_or_kept(run, tmp_path):
    async def refused(service):
        answer = await service.post("/learn", {"id": "x", "y": "click"})
        assert answer.status_code == 404
        assert "no row with id 'x' was predicted" in answer.json()["error"]

    async def kept(service):
        answer = (await service.post("/learn", {"id": "x", "y": "click"})).json()
        assert answer == {"learned": 0, "duplicates": 0, "waiting": 1}
        answer = (await service.post("/learn", {"id": "x", "y": "click"})).json()
        assert answer == {"learned": 0, "duplicates": 1, "waiting": 0}
        assert (await service.get("/model")).json()["rows_learned"] == 0
        await service.post("/predict", {"x": ROW, "id": "x"})
        model = (await service.get("/model")).json()
        assert (model["rows_learned"], model["waiting"]) == (1, 0)

    run(refused)
    run(kept, path=tmp_path / "kept.db", config=Config(keep_unknown=True))


def test_labels_that_come_too_late_are_refused_unless_they_are_the_default(run, tmp_path):
    async def main(service):
        await service.post("/predict", {"rows": [{"x": ROW, "id": "a"}, {"x": ROW, "id": "b"}]})
        await asyncio.sleep(0.25)
        await service.post("/predict", {"x": ROW, "id": "c"})
        answer = await service.post("/learn", {"id": "a", "y": "click"})
        assert answer.status_code == 410
        assert 'counts as "no"' in answer.json()["error"]
        answer = (await service.post("/learn", {"id": "b", "y": "no"})).json()
        assert answer == {"learned": 0, "duplicates": 1, "waiting": 0}
        model = (await service.get("/model")).json()
        assert (model["expired"], model["rows_learned"]) == (2, 2)

    async def nothing_in_between(service):
        await service.post("/predict", {"x": ROW, "id": "a"})
        await asyncio.sleep(0.25)
        answer = await service.post("/learn", {"id": "a", "y": "click"})
        assert answer.status_code == 410
        assert (await service.get("/model")).json()["version"] == 3  # and it is not in the log

    run(main, config=Config(horizon=0.2, default="no"))
    run(nothing_in_between, path=tmp_path / "quiet.db", config=Config(horizon=0.2, default="no"))


BAD = [
    (b"", 400),
    (b"{", 400),
    (b"\xff\xfe", 400),
    (b'{"x": {"a": NaN}}', 400),
    (b'{"x": {"a": Infinity}}', 400),
    (b'{"x": {"a": 1e999}}', 422),
    (b'{"x": {"a": "\\ud800"}}', 400),
    (b'{"x": ' + b"[" * 100_000, 422),
    (b'{"x": ' + b'{"a":' * 100_000, 422),
    (b'{"z": ' + b"[" * 100_000, 422),
    (b'{"x": {"a": ' + b"9" * 400 + b"}}", 422),
    (b"[1]", 422),
    (b"{}", 422),
    (b'{"x": 5}', 422),
    (b'{"x": {"a": {"b": {"c": 1}}}}', 422),
    (b'{"x": {}, "unknown": 1}', 422),
    (b'{"x": {}, "rows": [{"x": {}}]}', 422),
    (b'{"rows": []}', 422),
    (b'{"rows": [{"id": 1}]}', 422),
    (b'{"x": {}, "id": ""}', 422),
    (b'{"x": {}, "id": 1.5}', 422),
    (b'{"x": {}, "id": "a\\u0000b"}', 422),
    (b'{"x": {}, "id": "' + b"i" * 10_000_000 + b'"}', 422),
]


@pytest.mark.parametrize(("body", "status"), BAD, ids=lambda value: repr(value)[:40])
@pytest.mark.parametrize("path", ["/predict", "/learn"])
def test_bad_bodies_are_refused_and_said_why(run, path, body, status):
    if path == "/learn":
        body = (
            body.replace(b'"x"', b'"y": "no", "x"', 1)
            .replace(b'[{"id"', b'[{"y": 1, "id"')
            .replace(b'[{"x"', b'[{"y": 1, "x"')
        )
        if body == b'{"rows": [{"y": 1, "id": 1}]}':
            status = 404

    async def main(service):
        answer = await service.client.post(path, content=body)
        assert answer.status_code in (status, 400 if b"[[[" in body or b'":{"a"' in body else status)
        assert list(answer.json()) == ["error"]
        assert len(answer.content) < 1000
        model = (await service.get("/model")).json()
        assert (model["version"], model["rows_learned"]) == (2, 0)

    run(main)


@pytest.mark.parametrize("y", [None, [], {}, "x" * 10_000, 10**30])
def test_labels_of_other_types_are_refused(run, y):
    async def main(service):
        answer = await service.post("/learn", {"x": ROW, "y": y})
        assert answer.status_code == 422
        assert "error" in answer.json()

    run(main)


def test_limits_of_rows_bodies_classes_and_the_queue(run, tmp_path):
    async def main(service):
        many = {"rows": [{"x": {}}] * 11}
        assert (await service.post("/predict", many)).status_code == 413
        assert (await service.post("/learn", {"rows": [{"x": {}, "y": 1}] * 11})).status_code == 413
        answer = await service.client.post("/predict", content=b" " * 3000)
        assert answer.status_code == 413
        for y in "abc":
            assert (await service.post("/learn", {"x": ROW, "y": y})).status_code == 200
        answer = await service.post("/learn", {"x": ROW, "y": "d"})
        assert answer.status_code == 422
        assert "--max-classes=3" in answer.json()["error"]

    run(main, limits=Limits(body=2000, rows=10), config=Config(max_classes=3))

    async def busy(service):
        service.writer.store.append = slowly(service.writer.store.append)
        bodies = ({"x": ROW, "y": "a", "id": i} for i in range(40))
        answers = await asyncio.gather(*(service.post("/learn", body) for body in bodies))
        codes = [answer.status_code for answer in answers]
        assert set(codes) == {200, 429}
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert refused.headers["retry-after"] == "1"
        assert (await service.get("/model")).json()["rows_learned"] == codes.count(200)

    run(busy, path=tmp_path / "busy.db", max_queue=5)


def slowly(append):
    """A store on a slow disk."""
    import time

    def wait(*arguments):
        time.sleep(0.05)
        return append(*arguments)

    return wait


def test_a_slow_disk_does_not_hold_up_predictions(run):
    async def main(service):
        service.writer.store.append = slowly(service.writer.store.append)
        learning = [service.post("/learn", {"x": ROW, "y": "a", "id": i}) for i in range(30)]
        waiting = asyncio.gather(*learning)
        await asyncio.sleep(0.02)
        before = service.writer.counted.commits
        for _ in range(5):
            assert (await service.post("/predict", {"x": ROW})).status_code == 200
        assert service.writer.counted.commits <= before + 1
        answers = await waiting
        assert all(answer.status_code == 200 for answer in answers)
        assert service.writer.counted.commits < 10  # many requests share a commit

    run(main)


def test_a_disk_that_is_full_is_said_and_passes(run):
    async def main(service):
        store = service.writer.store
        pages = store._one("PRAGMA page_count")[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        codes = []
        for i in range(40):
            body = {"x": {"text": "x" * 1000}, "y": "a", "id": i}
            codes.append((await service.post("/learn", body)).status_code)
        assert set(codes) == {200, 503}
        assert (await service.get("/health")).status_code == 200
        assert (await service.post("/predict", {"x": ROW})).status_code == 200
        model = (await service.get("/model")).json()
        assert model["rows_learned"] == codes.count(200) == len(list(store.after(2)))
        store._connection.execute("PRAGMA max_page_count = 100000")
        body = {"x": {"text": "x" * 1000}, "y": "a", "id": 39}
        assert (await service.post("/learn", body)).json()["learned"] == 1

    run(main)


def test_paths_methods_and_pages_from_elsewhere(run):
    async def main(service):
        assert (await service.get("/nothing")).status_code == 404
        answer = await service.get("/predict")
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        answer = await service.client.post(
            "/predict", json={"x": {}}, headers={"origin": "http://evil.example"}
        )
        assert answer.status_code == 403
        answer = await service.client.post("/predict", json={"x": {}}, headers={"host": "evil.example"})
        assert answer.status_code == 403
        answer = await service.get("/")
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY"
        assert "access-control-allow-origin" not in answer.headers

    run(main)


def test_another_model_is_swapped_in_and_rolled_back(run, tmp_path):
    other = lk.OnlineClassifier(bits=8)
    for _ in range(20):
        other.learn_one({"user": "anna"}, "click").learn_one({"user": "ben"}, "no")
    content = content_of(other, statistics=True)

    async def main(service):
        await service.post("/learn", {"rows": [{"x": ROW, "y": "no"}, {"x": {}, "y": "click"}]})
        first = (await service.post("/predict", {"x": {"user": "anna"}})).json()
        answer = await service.client.post("/model", content=content)  # which takes a snapshot first
        assert answer.json() == {"version": 5, "estimator": "OnlineClassifier"}
        answer = (await service.post("/predict", {"x": {"user": "anna"}})).json()
        assert answer["proba"] == other.predict_proba_one({"user": "anna"})
        await service.post("/learn", {"x": {"user": "anna"}, "y": "no"})
        assert (await service.post("/model/rollback", {"version": 99})).status_code == 404
        answer = await service.post("/model/rollback", {})
        assert answer.status_code == 200, answer.text
        again = (await service.post("/predict", {"x": {"user": "anna"}})).json()
        assert again["proba"] == first["proba"]
        await service.post("/learn", {"x": {"user": "anna"}, "y": "click"})
        return (await service.post("/predict", {"x": {"user": "anna"}})).json()

    last = run(main)

    async def restarted(service):
        assert (await service.post("/predict", {"x": {"user": "anna"}})).json() == last

    run(restarted)
    for snapshot in (tmp_path / "events.db.snapshots").iterdir():
        snapshot.unlink()
    run(restarted)


def test_a_small_file_of_a_huge_model_is_refused_before_it_is_made(run):
    content = new_content({"bits": 24})
    assert len(content) < 5000

    async def main(service):
        answer = await service.client.post("/model", content=content)
        assert answer.status_code == 422
        assert "2^24 weights takes 201,326,592 bytes: at most 1,000,000" in answer.json()["error"]
        assert (await service.client.post("/model", content=new_content({"bits": 14}))).status_code == 200

    run(main, limits=Limits(model=1_000_000))


def test_bodies_may_come_in_pieces_and_must_come_in_time(run, monkeypatch):
    async def pieces(*parts):
        for part in parts:
            await asyncio.sleep(part if isinstance(part, float) else 0)
            yield b"" if isinstance(part, float) else part

    async def main(service):
        body = encode({"x": ROW, "y": "a"})
        for content in (pieces(body[:9], body[9:]), pieces(0.05, body), pieces(body, b""), pieces(body)):
            answer = await service.client.post("/learn", content=content)
            assert answer.json() == {"learned": 1, "duplicates": 0, "waiting": 0}
        monkeypatch.setattr("likelier.service.http.BODY_SECONDS", 0.05)
        for content in (pieces(body[:9], 0.5, body[9:]), pieces(0.5, body)):
            answer = await service.client.post("/learn", content=content)
            assert answer.status_code == 408
        assert (await service.client.post("/learn", content=pieces(*[b" " * 800] * 3))).status_code == 413
        assert (await service.get("/model")).json()["rows_learned"] == 4

    run(main, limits=Limits(body=2000))


def test_models_that_do_not_fit_are_refused(run):
    async def main(service):
        await service.post("/learn", {"rows": [{"x": ROW, "y": "no"}, {"x": {}, "y": "click"}]})
        for content in (
            b"",
            b"PK\x03\x04" + b"x" * 100,
            b"\x80\x04." * 10,
            content_of(numbers(), statistics=True),
        ):
            answer = await service.client.post("/model", content=content)
            assert 400 <= answer.status_code < 500
            assert "error" in answer.json()
        assert "none in common" in answer.json()["error"]
        assert (await service.get("/model")).json()["version"] == 4

    run(main)


def numbers():
    rng = np.random.default_rng(0)
    return lk.GaussianNB().fit(rng.normal(size=(50, 3)), np.arange(50) % 2)


def test_a_model_that_does_not_learn_row_by_row_is_served_and_refuses_labels(run):
    model = numbers()

    async def main(service):
        x = {"0": 0.5, "1": -1, "2": None}
        answer = (await service.post("/predict", {"x": x})).json()
        P = model.predict_proba([[0.5, -1, np.nan]])[0]
        assert list(answer["proba"].values()) == pytest.approx(P, rel=1e-12)
        assert answer["label"] == int(P.argmax())
        answer = await service.post("/predict", {"x": {"3": 1}})
        assert answer.status_code == 422
        assert "no column '3'" in answer.json()["error"]
        assert (await service.post("/predict", {"x": {"0": "text"}})).status_code == 422
        answer = await service.post("/learn", {"x": x, "y": 1})
        assert answer.status_code == 409
        assert "does not learn row by row" in answer.json()["error"]
        model_ = (await service.get("/model")).json()
        assert (model_["estimator"], model_["learns"]) == ("GaussianNB", False)

    run(main, model=content_of(model, statistics=True))


def test_columns_of_a_model_of_tables_are_checked(run):
    import polars as pl

    model = lk.OnlineClassifier(bits=10)
    model.fit(pl.DataFrame({"age": [20.0, 60.0], "city": ["x", "y"]}), ["no", "yes"])

    async def main(service):
        answer = await service.post("/predict", {"x": {"agee": 5}})
        assert answer.status_code == 422
        assert "did you mean 'age'?" in answer.json()["error"]
        assert (await service.post("/learn", {"x": {"zip": 5}, "y": "no"})).status_code == 422
        answer = (await service.post("/predict", {"x": {"age": 60.0, "city": "y"}})).json()
        assert answer["proba"] == model.predict_proba_one({"age": 60.0, "city": "y"})

    run(main, model=content_of(model, statistics=True))


def test_tokens_say_who_may_do_what(run, tmp_path):
    path = tmp_path / "tokens.json"
    tokens = {scope: make(path, [scope], scope) for scope in ("predict", "learn", "admin")}
    assert path.stat().st_mode & 0o077 == 0
    assert not any(token in path.read_text() for token in tokens.values())
    with pytest.raises(ValueError, match="has a token named 'learn' already"):
        make(path, ["learn"], "learn")
    with pytest.raises(ValueError, match="must be some of predict, learn, admin"):
        make(path, ["everything"], "x")

    async def main(service):
        def bearer(token):
            return {"authorization": f"Bearer {token}"}

        async def code(method, path, token):
            body = {"x": ROW, "y": "a"} if path == "/learn" else {"x": ROW}
            headers = {} if token is None else bearer(token)
            asked = {"json": body} if method == "POST" else {}
            return (await service.client.request(method, path, headers=headers, **asked)).status_code

        for path_, method, scope in (
            ("/predict", "POST", "predict"),
            ("/learn", "POST", "learn"),
            ("/model", "GET", "predict"),
            ("/model", "POST", "admin"),
            ("/metrics", "GET", "admin"),
        ):
            assert await code(method, path_, None) == 401
            assert await code(method, path_, "lk_wrong") == 401
            for name, token in tokens.items():
                allowed = name in (scope, "admin")
                found = await code(method, path_, token)
                assert (found not in (401, 403)) if allowed else found == 403
        assert await code("GET", "/health", None) == 200

    run(main, tokens=str(path))


def test_damaged_token_files_are_refused(tmp_path):
    path = tmp_path / "tokens.json"
    for text in ("", "{}", '{"tokens": [{"name": 1}]}', '{"tokens": []}'):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"tokens"):
            Tokens.of(path)


def test_class_rates_count_the_rows_whose_label_did_not_come(run):
    async def main(service):
        rows = {"rows": [{"x": ROW, "id": i} for i in range(10)]}
        await service.post("/predict", rows)
        await service.post("/learn", {"rows": [{"id": i, "y": "click"} for i in range(2)]})
        await asyncio.sleep(0.3)
        await service.post("/predict", {"x": ROW, "id": "later"})
        rates = json.loads(service.monitor.state())["drift"]["labels"]
        assert {label: rate["all"] for label, rate in rates.items()} == {"click": 0.2, "no": 0.8}

    run(main, config=Config(horizon=0.2, default="no"))


def test_explanations_add_up_to_the_score(run):
    async def main(service):
        rows = [
            {"x": {"a": i % 7, "b": f"w{i % 3}"}, "y": ("no", "yes", "maybe")[i % 3]} for i in range(60)
        ]
        await service.post("/learn", {"rows": rows})
        x = {"a": 3, "b": "w1", "unknown": "new"}
        found = (await service.post("/explain", {"x": x})).json()
        scores = dict(found["intercept"])
        for part in found["contributions"]:
            for label, value in part["scores"].items():
                scores[label] += value
        p = np.exp(np.array(list(scores.values())))
        assert list(found["proba"].values()) == pytest.approx(p / p.sum(), rel=1e-5)
        assert {part["feature"] for part in found["contributions"]} == {"a", "b", "unknown"}

    run(main)


def test_metrics_are_what_prometheus_reads(run):
    import re

    async def main(service):
        await service.post("/learn", {"rows": [{"x": ROW, "y": "no"}] * 3})
        await service.post("/predict", {"x": ROW})
        await service.get("/nothing")
        answer = await service.get("/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        lines = answer.text.splitlines()
        for line in lines:
            assert re.fullmatch(
                r"# (HELP|TYPE) .+|[a-z_]+(\{[a-z_]+=\"[^\"]+\"(,[a-z_]+=\"[^\"]+\")*\})? [-+.e\d]+", line
            )
        assert "likelier_rows_learned_total 3" in lines
        assert 'likelier_requests_total{path="other",status="404"} 1' in lines
        assert 'likelier_request_seconds_count{path="/predict"} 1' in lines

    run(main)


def test_a_store_that_began_with_another_model_is_refused(run, tmp_path):
    first, second = (
        content_of(lk.OnlineClassifier(bits=b).fit([{"a": 1}, {}], [0, 1]), statistics=True) for b in (5, 6)
    )

    async def main(service):
        assert (await service.post("/learn", {"x": {}, "y": 1})).status_code == 200

    run(main, model=first)
    run(main, model=first)
    run(main)
    with pytest.raises(OSError, match="began with another model"):
        run(main, model=second)


def test_other_addresses_need_tokens(run):
    async def main(service):
        raise AssertionError

    with pytest.raises(ValueError, match=r"--host 0\.0\.0\.0 can be reached by others"):
        run(main, host="0.0.0.0")


def test_the_document_describes_what_is_there(run):
    async def main(service):
        found = (await service.get("/openapi.json")).json()
        assert found["openapi"].startswith("3.1")
        assert set(found["paths"]) >= {"/predict", "/learn", "/model", "/metrics", "/health", "/events"}
        text = json.dumps(found)
        for name in set(__import__("re").findall(r"#/components/schemas/(\w+)", text)):
            assert name in found["components"]["schemas"]
        page = (await service.get("/docs")).text
        assert "/predict" in page
        assert "http://" not in page.replace("http://www.w3.org", "")
        assert "https://" not in page

    run(main)
