"""A shadow learns what it would have learned if it were served, and the comparison is right."""

import random

import numpy as np
import pytest
from scipy import stats

import likelier as lk
from likelier.saving.models import content_of

pytest.importorskip("uvicorn", reason="likelier[serve] is not installed")

from tests.service.test_live import CONFIGS, CONTENT, SHA, bits, log, started

from likelier.service.events import Action, Config, Event, encode
from likelier.service.live import Live
from likelier.service.models import new_content, served_of, sha_of
from likelier.service.shadow import BATCHES, PairedLosses
from likelier.service.snapshots import captured, restored

OTHER = new_content({"bits": 10, "learning_rate": 0.01})
FILES = {SHA: CONTENT, sha_of(OTHER): OTHER}


def models(sha):
    return served_of(FILES[sha])


def shadowed(config, shadow=OTHER):
    live = Live(models)
    actions = [Action(model=SHA), Action(config=config), Action(shadow=sha_of(shadow))]
    live.apply([Event(i, 0.0, None, action=encode(action)) for i, action in enumerate(actions, 1)])
    return live


def same(one, other):
    """Whether two comparisons are equal, but for the last digits of logarithms."""
    one, other = one.state(), other.state()
    means = one.pop("means"), other.pop("means")
    return one == pytest.approx(other, rel=1e-9) and means[0] == pytest.approx(means[1], rel=1e-9)


def later(events):
    """The events, numbered after three actions."""
    return [event._replace(seq=event.seq + 1) for event in events]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: encode(config).decode())
def test_the_served_model_is_what_it_is_without_a_shadow_and_the_shadow_what_it_is_served(config):
    events = log(600, labels=("no", "click", "third"))
    alone, other = started(config), started(config, OTHER)
    live = shadowed(config)
    for one, some in ((alone, events), (other, events), (live, later(events))):
        one.apply(some)
    assert bits(live)[0] == bits(alone)[0]
    beside = live.shadow.live
    assert bits(beside)[0] == bits(other)[0]
    losses = live.shadow.losses
    assert losses.rows == alone.curve.figures.rows > 100
    assert losses.live / losses.rows == pytest.approx(alone.curve.figures.log_loss, rel=1e-9)
    assert losses.shadow / losses.rows == pytest.approx(other.curve.figures.log_loss, rel=1e-9)


@pytest.mark.parametrize("config", CONFIGS[:4], ids=lambda config: encode(config).decode())
def test_a_log_in_any_pieces_and_from_any_snapshot_gives_the_same_comparison(config):
    events = later(log(600))
    whole = shadowed(config)
    whole.apply(events)
    single = shadowed(config)
    for event in events:
        single.apply([event])
    assert same(single.shadow.losses, whole.shadow.losses)
    raws = {event.id or f"\0{event.seq}": event.x for event in events if event.x is not None}
    cut = random.Random(1).randrange(600)
    first = shadowed(config)
    first.apply(events[:cut])
    again = restored(captured(first)(), models, lambda ids: raws)
    assert again.shadow.losses.state() == first.shadow.losses.state()
    again.apply(events[cut:])
    assert bits(again) == bits(whole)
    assert bits(again.shadow.live) == bits(whole.shadow.live)
    assert same(again.shadow.losses, whole.shadow.losses)


def test_a_difference_that_is_real_is_found_and_one_that_is_not_is_not():
    rng = np.random.default_rng(0)
    found = []
    for seed in range(200):
        pair = PairedLosses()
        noise = np.random.default_rng(seed).standard_normal((2, 1000))
        for a, b in noise.T:
            pair.add(1 + a, 1 + b)
        found.append(pair.p_value)
    assert stats.kstest(found, "uniform").pvalue > 0.01  # without a difference all p-values are as likely
    pair = PairedLosses()
    for a, b in rng.standard_normal((1000, 2)):
        pair.add(1 + a, 0.8 + b)
    assert pair.p_value < 0.001
    assert len(pair.means) < BATCHES
    d = np.array(pair.means)
    assert pair.p_value == pytest.approx(stats.ttest_1samp(d, 0).pvalue, rel=1e-9)
    assert np.isnan(PairedLosses().p_value)


def test_neighbouring_rows_that_depend_on_each_other_do_not_make_a_difference():
    """Errors that last for some 20 rows: a test that took rows as independent would find differences."""
    wrong = 0
    for seed in range(100):
        rng, pair, d = np.random.default_rng(seed), PairedLosses(), 0.0
        for e in rng.standard_normal(8000):
            d = 0.95 * d + e
            pair.add(1.0, 1.0 + d)
        wrong += pair.p_value < 0.05
    assert wrong <= 14


def test_the_same_model_beside_itself_does_not_differ():
    live = shadowed(Config(), CONTENT)
    live.apply(later(log(400)))
    summary = live.shadow.summary()
    assert summary["difference"] == 0
    assert summary["p_value"] == 1


def test_a_shadow_is_started_ended_and_compared_anew_after_a_swap(run, tmp_path):
    path = tmp_path / "events.db"
    rng = random.Random(0)
    labelled = [
        {"x": {"a": (a := rng.choice("uvw"))}, "y": "click" if rng.random() < "uvw".index(a) / 2 else "no"}
        for _ in range(600)
    ]

    async def first(service):
        assert (await service.get("/model")).json()["shadow"]["rows"] == 0
        await service.post("/learn", {"rows": labelled})
        for i in range(20):
            await service.post("/predict", {"x": {"a": "w"}, "id": i})
            await service.post("/learn", {"y": "click", "id": i})
        shadow = (await service.get("/model")).json()["shadow"]
        assert shadow["rows"] == 620
        assert shadow["log_loss"] > shadow["live_log_loss"]  # its steps are too short
        assert shadow["p_value"] < 0.01
        return shadow

    async def again(service):
        assert (await service.get("/model")).json()["shadow"] == found
        served = service.writer.live.served.content()
        swapped = await service.client.post("/model", content=served)
        assert swapped.status_code == 200
        assert (await service.get("/model")).json()["shadow"]["rows"] == 0
        await service.post("/learn", {"rows": labelled[:10]})
        assert (await service.get("/model")).json()["shadow"]["rows"] == 10

    async def ended(service):
        assert (await service.get("/model")).json()["shadow"] is None

    found = run(first, path=path, shadow=OTHER)
    for snapshot in sorted((tmp_path / "events.db.snapshots").iterdir()):
        snapshot.unlink()
    found = {
        name: pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
        for name, value in found.items()
    }
    run(again, path=path, shadow=OTHER)
    run(ended, path=path)


def test_a_shadow_that_does_not_learn_is_evaluated_too(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(int)
    fitted = content_of(lk.LogisticRegression().fit(X, y), statistics=True)
    rows = [
        {"x": {"0": a, "1": b}, "y": label} for (a, b), label in zip(X.tolist(), y.tolist(), strict=True)
    ]

    async def main(service):
        await service.post("/learn", {"rows": rows})
        shadow = (await service.get("/model")).json()["shadow"]
        assert shadow["estimator"] == "LogisticRegression"
        assert shadow["rows"] == 300
        assert shadow["log_loss"] < shadow["live_log_loss"]

    run(main, shadow=fitted)
    with pytest.raises(ValueError, match="--shadow needs a served model that learns row by row"):
        run(main, path=tmp_path / "fitted.db", model=fitted, shadow=OTHER)
    others = content_of(lk.OnlineClassifier(bits=5).fit([{"a": 1}, {}], ["x", "y"]), statistics=True)
    with pytest.raises(ValueError, match="--shadow: the model has the classes"):
        run(main, shadow=others)


def test_rows_that_the_shadow_cannot_take_are_left_out_of_the_comparison(run):
    rows = [{"x": {"0": i / 9} if i % 3 else {"text": "a"}, "y": i % 2} for i in range(90)]
    X = np.arange(20.0)[:, None]
    fitted = content_of(lk.GaussianNB().fit(X, np.arange(20) % 2), statistics=True)

    async def main(service):
        await service.post("/learn", {"rows": rows})
        model = (await service.get("/model")).json()
        assert model["rows_learned"] == 90
        return model["shadow"]["rows"]

    assert run(main, shadow=fitted) == 90  # without probabilities it is as if it knew nothing
