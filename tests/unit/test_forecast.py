"""How full the KV cache will get, against going through it step by step."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.serving.ledger import Forecast, WorkForecast


@st.composite
def outlooks(draw: st.DrawFn) -> WorkForecast:
    held = draw(st.integers(0, 30))
    expected = held + draw(st.integers(1, 30))
    return WorkForecast(held, expected, draw(st.integers(0, 20)), ends=draw(st.booleans()))


def step_by_step(works: list[WorkForecast]) -> float:
    """The same, looked at after every step until all have left that do."""
    most = 0.0
    for step in range(100):
        there = [work for work in works if work.steps >= step]
        held = sum(min(work.held + step, work.expected) if work.ends else work.expected for work in there)
        most = max(most, held + math.sqrt(sum(work.margin**2 for work in there)))
    return most


def forecast_of(works: list[WorkForecast]) -> Forecast:
    forecast = Forecast()
    for work in works:
        forecast.add(work)
    return forecast


@given(st.lists(outlooks(), max_size=40))
def test_the_most_is_that_of_all_steps(works: list[WorkForecast]) -> None:
    assert forecast_of(works).most() == pytest.approx(step_by_step(works))


@given(st.lists(outlooks(), max_size=40), outlooks())
def test_asking_about_a_work_is_as_good_as_adding_it(works: list[WorkForecast], new: WorkForecast) -> None:
    forecast = forecast_of(works)
    asked = forecast.most_with(new)
    forecast.add(new)
    assert asked == pytest.approx(forecast.most())


@given(st.lists(outlooks(), min_size=1, max_size=40), st.data())
def test_what_changed_or_left_counts_as_it_is_now(works: list[WorkForecast], data: st.DataObject) -> None:
    forecast = Forecast()
    slots = [forecast.add(work) for work in works]
    left = data.draw(st.integers(0, len(works) - 1))
    forecast.remove(slots[left])
    for index, slot in enumerate(slots):
        if index != left:
            works[index] = data.draw(outlooks())
            forecast.change(slot, works[index])
    assert forecast.most() == pytest.approx(step_by_step(works[:left] + works[left + 1 :]))


@given(st.lists(outlooks(), min_size=1, max_size=10), st.data())
def test_a_token_more_is_a_step_further(works: list[WorkForecast], data: st.DataObject) -> None:
    forecast = Forecast()
    slots = [forecast.add(work) for work in works]
    for index, work in enumerate(works):
        if work.ends and (more := data.draw(st.integers(0, work.growth - 1))):
            forecast.grew(slots[index], more)
            works[index] = replace(work, held=work.held + more)
    assert forecast.most() == pytest.approx(step_by_step(works))


def test_short_works_that_leave_early_make_room_for_long_ones() -> None:
    nearly_done = WorkForecast(900, 1000, ends=True)
    just_begun = WorkForecast(100, 1000, ends=True)
    assert forecast_of([nearly_done, just_begun]).most() == 1000 + 200
    assert forecast_of([nearly_done, WorkForecast(1000, 1000)]).most() == 2000


def test_nothing_is_held_by_nobody() -> None:
    assert Forecast().most() == 0.0
    assert Forecast().most_with(WorkForecast(10, 30, 5, ends=True)) == 35
