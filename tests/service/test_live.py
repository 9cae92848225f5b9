"""The learner is a function of the log: whole, in pieces or from a snapshot, always the same bits."""

import json
import random

import numpy as np
import pytest

import likelier as lk

pytest.importorskip("msgspec", reason="likelier[serve] is not installed")

from likelier.service.events import Action, Config, Event, encode
from likelier.service.live import LATE, LEARNED, Live, Outcome
from likelier.service.models import new_content, served_of, sha_of
from likelier.service.snapshots import captured, restored

CONTENT = new_content({"bits": 10})
SHA = sha_of(CONTENT)


def started(config, content=CONTENT):
    live = Live(lambda sha: served_of(content))
    live.apply([Event(1, 0.0, None, action=encode(Action(model=SHA)))])
    live.apply([Event(2, 0.0, None, action=encode(Action(config=config)))])
    return live


def log(n, seed=0, *, labels=("no", "click"), id_rows=0.5):
    """Rows, labels of them, and complete rows, mixed."""
    rng, waiting, events = random.Random(seed), [], []
    for i in range(n):
        at, kind = i / 10, rng.random()
        x = json.dumps({"a": rng.choice([0, 1.5, -2]), "b": rng.choice("uvw"), "c": rng.random()}).encode()
        y = json.dumps(rng.choice(labels)).encode()
        if kind < id_rows:
            waiting.append(f"i{i}")
            events.append(Event(i + 3, at, f"i{i}", x))
        elif kind < 0.75 and waiting:
            id = waiting.pop(rng.randrange(len(waiting)))
            events.append(Event(i + 3, at, id, None, y))
        else:
            events.append(Event(i + 3, at, None if rng.random() < 0.5 else f"e{i}", x, y))
    return events


def bits(live):
    """All that the learner will ever answer by."""
    return live.served.content(), list(live.waiting.rows.items()), live.rows_learned, live.expired


CONFIGS = (
    Config(),
    Config(horizon=3.0),
    Config(horizon=3.0, default="no"),
    Config(horizon=3.0, default="no", priors={"no": 0.9, "click": 0.1}),
    Config(horizon=3.0, default="no", in_order=True),
    Config(horizon=3.0, default="no", keep_unknown=True, max_waiting=10),
    Config(max_waiting=7),
)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: encode(config).decode())
def test_a_log_in_any_pieces_and_from_any_snapshot_gives_the_same_bits(config):
    events = log(600, labels=("no", "click", "third"))
    whole = started(config)
    whole.apply(events)
    single = started(config)
    for event in events:
        single.apply([event])
    assert bits(single) == bits(whole)
    raws = {event.id or f"\0{event.seq}": event.x for event in events if event.x is not None}
    rng = random.Random(1)
    for _ in range(3):
        cut = rng.randrange(600)
        first = started(config)
        first.apply(events[:cut])
        again = restored(captured(first)(), lambda sha: served_of(CONTENT), lambda ids: raws)
        assert bits(again) == bits(first)
        again.apply(events[cut:])
        assert bits(again) == bits(whole)
        figures, wanted = again.curve.figures, whole.curve.figures
        assert figures.rows == wanted.rows
        assert figures.log_loss == pytest.approx(wanted.log_loss, rel=1e-12)
        np.testing.assert_allclose(figures.classes, wanted.classes, rtol=1e-12)


def test_it_learns_what_pending_learns():
    events = log(500, seed=3)
    live = started(Config(horizon=3.0, default="no"))
    live.apply(events)
    pending = lk.Pending(lk.OnlineClassifier(bits=10), horizon=3.0, default="no")
    for event in events:
        x = None if event.x is None else json.loads(event.x)
        y = None if event.y is None else json.loads(event.y)
        if x is not None:
            pending.predict(event.id or f"#{event.seq}", x, at=event.at)
        if y is not None:
            pending.learn(event.id or f"#{event.seq}", y, at=event.at)
    rows = [{"a": 1.5, "b": "u", "c": 0.3}, {"b": "w"}, {}]
    for row in rows:
        assert live.served.answer(row) == pending.model.predict_proba_one(row)
    assert live.curve.figures.log_loss == pytest.approx(pending.figures.log_loss, rel=1e-12)
    assert live.expired == pending.expired


def test_an_event_is_applied_once():
    live = started(Config())
    events = log(10)
    live.apply(events)
    before = bits(live)
    with pytest.raises(ValueError, match="event 12 was applied already"):
        live.apply(events[-1:])
    assert bits(live) == before


def test_labels_at_the_horizon_are_in_time_and_later_ones_are_not():
    live = started(Config(horizon=5.0, default="no"))
    rows = [Event(3, 10.0, "a", b'{"k": 1}'), Event(4, 10.0, "b", b'{"k": 2}')]
    live.apply(rows)
    (at,) = live.apply([Event(5, 15.0, "a", None, b'"click"')])
    assert at.label == LEARNED
    (after,) = live.apply([Event(6, 15.1, "b", None, b'"click"')])
    assert after == Outcome(None, LATE)
    assert (live.expired, live.rows_learned, live.late) == (1, 2, 1)
    assert live.served.labels == ["click", "no"]


def test_early_clicks_do_not_make_the_model_believe_in_clicks_alone():
    """Clicks are 2 % and come within a minute; the others are known after an hour only."""
    rng = random.Random(0)
    events, seq = [], 3
    for i in range(5400):  # one row a second, for an hour and a half
        events.append(Event(seq, float(i), f"r{i}", b'{"ad": "%s"}' % rng.choice([b"a", b"b"])))
        seq += 1
        if rng.random() < 0.02:
            events.append(Event(seq, i + 0.5, f"r{i}", None, b'"click"'))
            seq += 1
    answers = {}
    for priors in (None, {"no": 0.98, "click": 0.02}):
        live = started(Config(horizon=3600.0, default="no", priors=priors))
        found = [one.answer for one in live.apply(events) if one.answer is not None]
        answers[priors is None] = [answer.get("click", 0.5) for answer in found]
    assert answers[False][0] == pytest.approx(0.02, rel=0.1)
    assert max(answers[False]) < 0.15
    assert np.mean(answers[False][:3600]) == pytest.approx(0.02, rel=0.5)
    assert np.mean(answers[True][100:3600]) > 0.9  # what would happen without them


def test_a_row_that_the_model_cannot_take_is_counted_and_leaves_it_as_it_was():
    columns = lk.OnlineClassifier(bits=10, random_state=0)
    import polars as pl

    columns.fit(pl.DataFrame({"n": [1.0, 2.0], "w": ["a", "b"]}), ["no", "click"])
    from likelier.saving.models import content_of

    live = started(Config(), content_of(columns, statistics=True))
    before = live.served.content()
    live.apply([Event(3, 0.0, None, b'{"unknown": 1}', b'"click"')])
    assert live.failed == 1
    assert live.served.content() == before


def test_a_damaged_snapshot_is_refused_wherever_it_is_damaged():
    live = started(Config(horizon=3.0, default="no"))
    live.apply(log(100))
    content = captured(live)()
    rng = random.Random(0)
    places = [*range(0, 200, 7), *(rng.randrange(len(content)) for _ in range(100))]
    for place in places:
        broken = bytearray(content)
        broken[place] ^= 0x55
        try:
            again = restored(bytes(broken), lambda sha: served_of(CONTENT), lambda ids: {})
        except ValueError:
            continue
        assert bits(again)[0] == bits(live)[0]  # a byte of the zip's own directory that says nothing
    for cut in (0, 1, 50, len(content) // 2, len(content) - 1):
        with pytest.raises(ValueError, match=r".+"):
            restored(content[:cut], lambda sha: served_of(CONTENT), lambda ids: {})


def test_recent_shares_forget_and_all_shares_do_not():
    from likelier.service.drift import RATE, Shares

    rng, shares, single = random.Random(0), Shares(), {}
    for n in range(1, 3000):
        value = rng.choice("aab" if n < 1500 else "abb")
        shares.add(value)
        rate = max(RATE, 1 / n)
        single = {key: share * (1 - rate) for key, share in single.items()}
        single[value] = single.get(value, 0.0) + rate
    assert shares.recent == pytest.approx(single, rel=1e-9)
    assert 0.3 < shares.recent["a"] < shares.all["a"] / shares.n
    many = Shares()
    for value, n in (("a", 1000), ("b", 1000)):
        many.add(value, n)
    assert many.recent == pytest.approx({"a": 1 - many.recent["b"], "b": 1 - (1 - RATE) ** 1000})
