"""A server that is killed loses nothing that it has acknowledged, and learns nothing twice."""

import pytest

pytest.importorskip("uvicorn", reason="likelier[serve] is not installed")

from tests.service.kills import kill_often


def test_killed_at_random_moments_nothing_is_lost_or_learned_twice(tmp_path):
    events, repeated = kill_often(tmp_path, 4, seed=1)
    assert events > 50
    assert repeated > 0  # requests whose answer was lost were sent again, and were duplicates
