"""The real queue and adaptive limit on simulated servers: how they behave, and what they survive.

Servers are a 4090D that is four times slower and has memory for any batch, so that fewer requests have to be
simulated. Offered is twice what it serves 16 pages at once; the queue is bounded by count and deadlines are far, so
that it is the limit that decides.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence

import pytest

from benchmarks.figures import quantile
from benchmarks.simulate.card import RTX_4090D, Card
from benchmarks.simulate.inkgate import adaptive, fixed
from benchmarks.simulate.policies import Bare, semaphore
from benchmarks.simulate.run import simulate
from benchmarks.simulate.scenario import End, Event, Link, Run, Scenario
from benchmarks.simulate.workload import Pages, Tenant
from inkgate.caller import Priority
from inkgate.settings import SchedulingSettings

CARD = RTX_4090D.undying().slower(4)
RENDER_BOUND = dataclasses.replace(CARD, render_s_per_megapixel=0.22)
SMALL_CACHE = dataclasses.replace(CARD, kv_tokens=30_000)
SHORT_QUEUE = adaptive(scheduling=SchedulingSettings(max_waiting=40))


def _tenant(name: str = "all", rate: float = 11.0) -> Tenant:
    return Tenant(name, [(0.0, rate)], patience_s=60)


def _event(at: float, act: Callable[[Link], None]) -> Event:
    def on_all(links: Sequence[Link]) -> None:
        for link in links:
            act(link)

    return Event(at, on_all)


@functools.cache
def _undisturbed(card: Card) -> Run:
    return simulate(Scenario([_tenant()], until_s=200, card=card), SHORT_QUEUE)


def test_the_same_seed_gives_the_same_run_and_another_does_not() -> None:
    scenario = Scenario([_tenant()], until_s=30, card=SMALL_CACHE)
    first, again = (simulate(scenario, SHORT_QUEUE) for _ in range(2))
    other = simulate(dataclasses.replace(scenario, seed=2), SHORT_QUEUE)
    assert (first.ended, first.samples) == (again.ended, again.samples)
    assert first.ended != other.ended


def test_bare_vllm_collapses_where_a_short_queue_does_not() -> None:
    tenant = Tenant("all", [(0.0, 25.0)], patience_s=10)
    runs = [simulate(Scenario([tenant], until_s=90, card=CARD), policy) for policy in (Bare, semaphore(16, 20))]
    assert runs[0].goodput(after_s=30) < 0.3 * runs[1].goodput(after_s=30)


def test_the_limit_settles_where_rendering_is_the_bottleneck() -> None:
    settled = _undisturbed(RENDER_BOUND).limits(after_s=60, before_s=200)
    assert max(settled) <= 2 * min(settled)


def test_a_small_cache_preempts_little_and_answers_as_much_as_under_a_good_fixed_limit() -> None:
    with_inkgate = _undisturbed(SMALL_CACHE)
    good, many = (simulate(Scenario([_tenant()], until_s=200, card=SMALL_CACHE), semaphore(n, 40)) for n in (16, 32))
    assert with_inkgate.preemptions < many.preemptions / 4
    assert with_inkgate.answered_per_s(100, 200) > 0.95 * good.answered_per_s(100, 200)


@pytest.mark.parametrize("from_s", [0.0, 60.0])
def test_without_readings_it_serves_on(from_s: float) -> None:
    gone = _event(from_s, lambda link: setattr(link, "gone", True))
    run = simulate(Scenario([_tenant()], until_s=200, card=RENDER_BOUND, events=[gone]), SHORT_QUEUE)
    assert run.answered_per_s(100, 200) > 0.85 * _undisturbed(RENDER_BOUND).answered_per_s(100, 200)


@pytest.mark.parametrize("lag_s", [2.0, 4.0])
def test_late_readings_make_it_neither_swing_nor_starve(lag_s: float) -> None:
    late = _event(0.0, lambda link: setattr(link, "lag_s", lag_s))
    run = simulate(Scenario([_tenant()], until_s=200, card=RENDER_BOUND, events=[late]), SHORT_QUEUE)
    assert run.answered_per_s(100, 200) > 0.85 * _undisturbed(RENDER_BOUND).answered_per_s(100, 200)
    settled = run.limits(after_s=60, before_s=200)
    assert max(settled) <= 2.5 * min(settled)


def test_it_leaves_room_for_other_clients_beside_it() -> None:
    others = [_tenant("beside", 1.5)]
    run = simulate(Scenario([_tenant()], until_s=200, card=SMALL_CACHE, beside=others), SHORT_QUEUE)
    many = simulate(Scenario([_tenant()], until_s=200, card=SMALL_CACHE, beside=others), semaphore(32, 40))
    assert run.preemptions < many.preemptions / 3
    alone = _undisturbed(SMALL_CACHE).answered_per_s(100, 200)
    assert run.answered_per_s(100, 200) + 1.5 > 0.9 * alone


def test_it_follows_a_server_that_gets_slow_and_fast_again() -> None:
    events = [_event(100, lambda link: link.server.slow_down(3)), _event(150, lambda link: link.server.slow_down(1))]
    run = simulate(Scenario([_tenant()], until_s=260, card=CARD, events=events), SHORT_QUEUE)
    before, slow, after = (run.answered_per_s(*span) for span in ((50, 100), (110, 150), (180, 260)))
    assert slow > 0.6 * before / 3
    assert after > 0.9 * before


def test_it_grows_with_a_step_in_load() -> None:
    tenant = Tenant("all", [(0.0, 1.0), (100.0, 11.0)], patience_s=60)
    run = simulate(Scenario([tenant], until_s=200, card=CARD), SHORT_QUEUE)
    assert run.answered_per_s(20, 100) == pytest.approx(1.0, rel=0.2)
    assert run.answered_per_s(130, 200) > 0.85 * simulate(
        Scenario([_tenant()], until_s=100, card=CARD), semaphore(8, 40)
    ).answered_per_s(30, 100)


def test_pages_that_get_longer_cost_no_more_than_under_a_fixed_limit() -> None:
    short = Tenant("short", [(0.0, 8.0), (100.0, 0.0)], patience_s=60)
    long = Tenant("long", [(100.0, 8.0)], Pages(output_tokens=720), patience_s=60)
    scenario = Scenario([short, long], until_s=200, card=SMALL_CACHE)
    run, fixed_16 = (simulate(scenario, policy) for policy in (SHORT_QUEUE, semaphore(16, 40)))
    assert run.preemptions <= 1.2 * fixed_16.preemptions
    assert run.answered_per_s(100, 200) > 0.95 * fixed_16.answered_per_s(100, 200)


def test_two_gateways_before_one_server_share_it_without_talking() -> None:
    queue_of_20 = adaptive(scheduling=SchedulingSettings(max_waiting=20))
    run = simulate(Scenario([_tenant()], until_s=300, card=SMALL_CACHE, gateways=2), queue_of_20)
    limits = run.limits(after_s=200, before_s=300)
    first, second = sum(limits[::2]), sum(limits[1::2])
    assert max(first, second) < 1.5 * min(first, second)
    assert run.answered_per_s(100, 200) > 0.9 * _undisturbed(SMALL_CACHE).answered_per_s(100, 200)


def test_a_long_document_does_not_double_the_time_of_single_pages() -> None:
    pages = Tenant("pages", [(0.0, 2.0)])
    document = Tenant("library", [(0.0, 0.02)], priority=Priority.BATCH, pages_per_request=200, patience_s=600)

    def p95_s(*tenants: Tenant) -> float:
        run = simulate(Scenario(tenants, until_s=150, from_s=30, leave_s=600, card=CARD), adaptive())
        return quantile(run.times(End.ANSWERED, "pages"), 0.95)

    assert p95_s(pages, document) < 2 * p95_s(pages)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.calibration)])
def test_a_greedy_tenant_costs_the_others_nothing_of_their_goodput(seed: int) -> None:
    polite = Tenant("polite", [(0.0, 2.0)], patience_s=20)
    greedy = Tenant("greedy", [(0.0, 40.0)], patience_s=20)

    def goodput(*tenants: Tenant) -> float:
        scenario = Scenario(tenants, until_s=100, from_s=30, card=CARD, seed=seed)
        return simulate(scenario, adaptive()).goodput("polite")

    assert goodput(polite, greedy) > 0.9 * goodput(polite)


def test_tens_of_servers_are_simulated_side_by_side() -> None:
    tenant = Tenant("all", [(0.0, 80.0)], patience_s=20)
    run = simulate(Scenario([tenant], until_s=20, card=CARD, servers=20), adaptive())
    assert run.goodput() > 0.95 * len(run.ended) / 20
    assert len(run.limits(after_s=10, before_s=11)) == 20


@pytest.mark.parametrize(("rate", "seed"), [(15.0, 0), pytest.param(37.5, 4, marks=pytest.mark.calibration)])
def test_it_grows_past_a_batch_that_gains_little_to_one_that_gains_much(rate: float, seed: int) -> None:
    """Between 16 and 32 at once the card gains a third of what it does below and beyond: no reason to stop there."""
    scenario = Scenario([Tenant("all", [(0.0, rate)], patience_s=40)], until_s=400, from_s=200, card=CARD, seed=seed)
    assert simulate(scenario, adaptive()).goodput() > 0.95 * simulate(scenario, fixed(64)).goodput()


def test_a_server_that_died_of_too_many_is_not_killed_again_every_few_minutes() -> None:
    """Twenty minutes: it had died 14 times, and now 3; each time it is given less, and for longer."""
    scenario = Scenario([_tenant()], until_s=1200, card=RTX_4090D.slower(4))
    assert simulate(scenario, SHORT_QUEUE).deaths <= 4
