"""Retry-After: when refused callers return."""

from __future__ import annotations

from collections import Counter
from random import Random

import anyio
import pytest

from inkgate.api.http.errors import Places
from support.virtual_time import VIRTUAL_TIME, Backend

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> Backend:
    return VIRTUAL_TIME


async def test_callers_refused_together_return_one_after_another() -> None:
    places = Places(lambda: 0.25, random=Random(1))
    after_s = [places.return_s("a", 2.0) for _ in range(200)]
    assert after_s[0] == 2.0
    assert all(2 + 0.25 * number <= at <= 2 + 0.25 * (number + 1) for number, at in enumerate(after_s[1:], 1))
    assert max(Counter(map(int, after_s)).values()) == 4  # in each second as many as slots become free
    assert 52 - 0.25 <= max(after_s) <= 60
    late = [places.return_s("a", 2.0) for _ in range(200)]
    assert all(2 <= at <= 60 for at in late)
    assert max(Counter(map(int, late[40:])).values()) < 12
    assert places.return_s("b", 2.0) == 2.0  # no tenant pays for another
    await anyio.sleep(100)
    assert places.return_s("a", 2.0) == 2.0


async def test_a_refusal_may_know_the_pace_and_a_long_time_is_not_cut() -> None:
    places = Places(random=Random(1))
    after_s = [places.return_s("a", 3600.0, 60.0) for _ in range(50)]
    assert len(set(after_s)) == 50
    assert all(3600 <= at <= 3660 for at in after_s)


async def test_who_waits_for_one_thing_has_no_place_in_the_line_for_another() -> None:
    places = Places(random=Random(1))
    assert places.return_s("a", 3600.0, code="share_exceeded") == 3600  # of the room for files
    assert places.return_s("a", 2.0, code="share_exceeded") == 2  # of documents in flight
    assert places.return_s("a", 30.0, code="jobs_full") == 30
    assert places.return_s("a", 2.0, code="service_full") == 2


async def test_the_places_of_few_tenants_are_remembered() -> None:
    places = Places()
    for number in range(10_100):
        places.return_s(f"{number}", 2.0)
    assert len(places._next) == 10_000
