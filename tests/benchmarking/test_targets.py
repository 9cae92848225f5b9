"""Which peers a target is measured by, and when it counts as reached."""

import benchmarks.race.cli  # noqa: F401  (enters all problems)
import pytest
from benchmarks.race.registry import Contender
from benchmarks.race.report import collect, markdown
from benchmarks.race.runner import ENOUGH, Row
from benchmarks.race.targets import NEAR, Target

OURS = "hill/likelier/ours"


def entered(*times_and_gaps, key):
    """A row with a repeat for each pair of time and gap; a gap of None is not measured."""
    trials = []
    for fit, gap in times_and_gaps:
        figures = {"fit": fit} | ({} if gap is None else {"gap": gap})
        trials.append({"figures": figures, "others": 0.0})
    return Row(Contender(*key.split("/"), make=lambda: None), trials)


def table(**rows):
    keys = {name: f"hill/{name.replace('_', '/')}" for name in rows}
    return {key: entered(*rows[name], key=key) for name, key in keys.items()}


TARGET = Target("hill", OURS, "fit", "hill/*", at_least=3, gap=1e-6)


def test_fastest_peer_near_the_minimum_counts():
    rows = table(
        likelier_ours=[(1.0, 1e-7)],
        likelier_other=[(0.1, 1e-9)],
        a_hasty=[(0.5, 1.1 * NEAR * 1e-6)],
        a_elsewhere=[(0.5, None)],
        a_slow=[(9.0, 1e-9)],
        a_near=[(4.0, 0.9 * NEAR * 1e-6)],
    )
    assert TARGET.compared(rows) == [OURS, "hill/a/near"]
    assert TARGET.got(rows) == pytest.approx(4)
    assert TARGET.reached(rows, 4.0)
    assert not TARGET.reached(rows, 2.9)


@pytest.mark.parametrize("gap", [1.1e-6, None])
def test_fast_but_far_from_the_minimum_is_missed(gap):
    rows = table(likelier_ours=[(0.01, gap)], a_peer=[(4.0, 1e-7)])
    got = TARGET.got(rows)
    assert got == pytest.approx(400)
    assert not TARGET.reached(rows, got)


def test_best_time_and_worst_gap_of_all_repeats_count():
    rows = table(likelier_ours=[(1.0, 1e-5), (2.0, 1e-9)], a_peer=[(4.0, 1e-7)])
    assert rows[OURS].best("fit") == 1
    assert rows[OURS].best("gap") == 1e-5
    assert not TARGET.reached(rows, 4.0)


def test_what_was_not_run_has_no_verdict():
    assert TARGET.got(table(a_peer=[(4.0, 1e-7)])) is None
    assert TARGET.got(table(likelier_ours=[(1.0, 1e-7)])) is None
    assert TARGET.got(table(likelier_ours=[], a_peer=[(4.0, 1e-7)])) is None


def test_long_fits_are_not_repeated():
    assert entered(key=OURS).wanted()
    assert entered((ENOUGH - 1, 0.0), key=OURS).wanted()
    assert not entered((ENOUGH + 1, 0.0), key=OURS).wanted()


def test_report_says_which_peer_counted():
    keys = {
        "text/likelier/LogisticRegression": (0.5, 2e-7),
        "text/scikit-learn/lbfgs": (0.1, 2e-3),
        "text/scikit-learn/liblinear": (4.0, 5e-7),
        "text/snapml/LogisticRegression": (0.9, 2.4e-6),
    }
    rows = [entered(figures, key=key) for key, figures in keys.items()]
    settings = {"scale": 1.0, "repeats": 1, "threads": 2}
    text = markdown(collect(rows, settings, "2000-01-01"), rows)
    ours = "2.0e-07, asked 1e-06"
    assert f"| 1x | 1.8x | {ours}; snapml/LogisticRegression: 2.4e-06 | reached |" in text
    assert f"| 4x | 8.0x | {ours}; scikit-learn/liblinear: 5.0e-07 | reached |" in text
    assert "| scikit-learn lbfgs | 0.10 s | 2.0e-03 |" in text
