"""How the outbox is delivered, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import pairwise

import anyio
import anyio.lowlevel
import pytest

from inkgate.errors import InputRejected, Overloaded
from inkgate.jobs.job import Delivery, Job, JobState
from inkgate.jobs.sinks.base import DeliverLater, DeliverNever, Sink
from inkgate.jobs.sinks.relay import PAUSES_S, DeliveryOutcome, Relay, RelaySettings
from inkgate_client.concurrency import single_error
from inkgate_client.types import DocumentResult, PageError, PageResult
from support.jobs import document
from support.outbox import MemoryOutbox
from support.virtual_time import VIRTUAL_TIME, Backend

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend() -> Backend:
    return VIRTUAL_TIME


class FakeSink:
    """Calls `script`, which may raise; then sleeps for `seconds`."""

    def __init__(self, script: Callable[[Delivery], None] = lambda _: None, seconds: float = 0.0) -> None:
        self.script = script
        self.seconds = seconds
        self.delivered: list[str] = []
        self.at_once = self.most_at_once = 0
        self.entered = False

    async def __aenter__(self) -> None:
        self.entered = True

    async def __aexit__(self, *exception: object) -> None:
        self.entered = False

    async def deliver(self, delivery: Delivery) -> None:
        assert self.entered
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await anyio.sleep(self.seconds)
            self.script(delivery)
        finally:
            self.at_once -= 1
        self.delivered.append(delivery.id)


def raising(error: Exception) -> Callable[[Delivery], None]:
    def script(_: Delivery) -> None:
        raise error

    return script


async def load(job: Job) -> DocumentResult:
    error = PageError("engine_failed", "It failed.", "Try again.") if job.name == "failed" else None
    return document(PageResult(0, error=error), name=job.name)


class Running:
    def __init__(self, settings: RelaySettings | None = None, **sinks: Sink) -> None:
        self.outbox = MemoryOutbox(anyio.current_time)
        self.relay: Relay = Relay(self.outbox, sinks, load, settings, jitter=lambda: 0.5)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self.relay, anyio.create_task_group() as group:
            group.start_soon(self.relay.run)
            yield
            group.cancel_scope.cancel()


async def test_due_deliveries_are_delivered_and_counted() -> None:
    sink = FakeSink()
    made = Running(sink=sink)
    for n in range(300):
        made.outbox.add(str(n))
    async with made.running():
        await anyio.sleep(0.5)
    assert made.outbox.done == sink.delivered == [str(n) for n in range(300)]
    assert made.relay.outcomes == {("sink", DeliveryOutcome.DELIVERED): 300}
    assert not sink.entered
    assert made.outbox.queries < 100


@pytest.mark.timeout(20)
async def test_relay_that_is_cancelled_at_any_of_its_first_steps_ends() -> None:
    for steps in range(10):
        made = Running(sink=FakeSink())
        made.outbox.add("1")
        async with made.relay, anyio.create_task_group() as group:
            group.start_soon(made.relay.run)
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()


async def test_load_gives_the_document_of_the_job() -> None:
    loaded = []

    class Loading(FakeSink):
        async def deliver(self, delivery: Delivery) -> None:
            loaded.append((await delivery.load()).name)

    made = Running(sink=Loading())
    made.outbox.add("1", name="a.pdf")
    async with made.running():
        await anyio.sleep(0.5)
    assert loaded == ["a.pdf"]


async def test_there_is_nothing_to_load_if_no_page_has_a_result() -> None:
    loaded = []

    class Loading(FakeSink):
        async def deliver(self, delivery: Delivery) -> None:
            try:
                loaded.append(len((await delivery.load()).pages))
            except LookupError:
                loaded.append(0)

    made = Running(sink=Loading())
    made.outbox.add("no page", saved=0)
    made.outbox.add("failed pages", name="failed")
    async with made.running():
        await anyio.sleep(0.5)
    assert loaded == [0, 0]


async def test_document_that_is_no_longer_kept_is_never_delivered() -> None:
    made = Running(sink=FakeSink(raising(InputRejected("job_expired", "The result is no longer kept."))))
    made.outbox.add("1")
    async with made.running():
        await anyio.sleep(0.5)
    assert made.outbox.errors == {"1": "The result is no longer kept."}
    assert made.outbox.gone == ["1"]


async def test_failed_delivery_is_tried_seven_times_in_18_hours_and_then_dead() -> None:
    times = []

    def script(_: Delivery) -> None:
        times.append(anyio.current_time())
        raise DeliverLater("it is closed")

    made = Running(sink=FakeSink(script))
    made.outbox.add("1")
    async with made.running():
        await anyio.sleep(3600 * 24)
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert pauses == [pytest.approx(pause_s * 1.1, abs=1.1) for pause_s in PAUSES_S]
    assert [row.attempt for row in made.outbox.taken] == [1, 2, 3, 4, 5, 6, 7]
    assert made.outbox.gone == ["1"]
    assert made.outbox.errors["1"] == "it is closed (7 attempts)"
    assert made.relay.outcomes == {("sink", DeliveryOutcome.RETRIED): 6, ("sink", DeliveryOutcome.DEAD): 1}


async def test_retry_after_is_honoured_if_it_is_longer() -> None:
    for retry_after_s, pause_s in ((3600.0, 3600.0), (1.0, 5.5)):
        made = Running(sink=FakeSink(raising(DeliverLater("busy", retry_after_s))))
        made.outbox.add("1")
        async with made.running():
            await anyio.sleep(0.1)
            assert made.outbox.pauses["1"] == pytest.approx(pause_s, abs=0.2)


async def test_refused_delivery_is_dead_at_once_and_does_not_stop_others() -> None:
    def script(delivery: Delivery) -> None:
        if int(delivery.id) < 50:
            raise DeliverNever("column `total`: `x` is not a number")

    made = Running(sink=FakeSink(script))
    for n in range(60):
        made.outbox.add(str(n))
    async with made.running():
        await anyio.sleep(0.5)
    assert len(made.outbox.gone) == 50
    assert len(made.outbox.done) == 10
    assert made.outbox.errors["0"] == "column `total`: `x` is not a number"


@pytest.mark.parametrize("error", [RuntimeError("s3cret"), Overloaded("jobs_unavailable", "No database.", 60.0)])
async def test_unexpected_error_is_tried_again(error: Exception) -> None:
    made = Running(sink=FakeSink(raising(error)))
    made.outbox.add("1")
    async with made.running():
        await anyio.sleep(0.1)
    assert made.outbox.pauses["1"] > 0
    assert "s3cret" not in made.outbox.errors["1"]


async def test_delivery_to_a_sink_that_was_removed_waits() -> None:
    made = Running()
    made.outbox.add("1", "old")
    async with made.running():
        await anyio.sleep(0.1)
    assert made.outbox.errors == {"1": "there is no sink `old` in the settings"}
    assert made.outbox.pauses["1"] > 0


async def test_delivery_of_a_job_that_was_retried_waits_for_its_end() -> None:
    made = Running(sink=FakeSink())
    made.outbox.add("1", state=JobState.RUNNING)
    async with made.running():
        await anyio.sleep(0.1)
    assert made.outbox.done == []
    assert made.outbox.pauses["1"] > 0


async def test_hanging_sink_does_not_hold_up_others() -> None:
    hanging, good = FakeSink(seconds=1e9), FakeSink()
    made = Running(hanging=hanging, good=good)
    for n in range(1000):
        made.outbox.add(f"h{n}", "hanging")
    for n in range(100):
        made.outbox.add(f"g{n}", "good")
    async with made.running():
        await anyio.sleep(0.5)
        assert len(good.delivered) == 100
    assert hanging.most_at_once == RelaySettings().at_once


class ByHost(FakeSink):
    """Takes the seconds that are the first label of the webhook's host."""

    async def deliver(self, delivery: Delivery) -> None:
        self.seconds = float(delivery.job.webhook.split("/")[2].split(".")[0])
        await super().deliver(delivery)


async def test_slow_receiver_only_slows_its_own() -> None:
    sink = ByHost()
    made = Running(webhook=sink)
    for n in range(1000):
        made.outbox.add(f"slow {n}", "webhook", tenant="a", webhook="https://7.example/")
    async with made.running():
        await anyio.sleep(3)
        made.outbox.add("fast", "webhook", tenant="b", webhook="https://0.example/")
        await anyio.sleep(1.1)
        assert sink.delivered == ["fast"]
        await anyio.sleep(60)
        assert len(sink.delivered) >= 8 * 8
    assert {row.attempt for row in made.outbox.taken} == {1}


async def test_waiting_for_a_slot_is_no_attempt() -> None:
    sink = ByHost()
    made = Running(webhook=sink)
    for n in range(400):
        made.outbox.add(str(n), "webhook", webhook="https://7.example/")
    async with made.running():
        await anyio.sleep(400 / 8 * 8 + 60)  # longer than a lease, and than the time of a delivery
    assert sorted(sink.delivered) == sorted(made.outbox.rows)
    assert {row.attempt for row in made.outbox.taken} == {1}


async def test_deliveries_that_a_breaker_holds_back_are_not_tried() -> None:
    def script(_: Delivery) -> None:
        raise DeliverLater("closed")

    made = Running(webhook=FakeSink(script))
    for n in range(200):
        made.outbox.add(str(n), "webhook", webhook="https://down.example/")
    async with made.running():
        await anyio.sleep(3600)
    assert len(made.outbox.taken) <= 8 + 3600 / 60  # then a probe now and then, at last every 120 s
    assert not made.outbox.gone


async def test_tenant_with_many_slow_receivers_leaves_slots_for_others() -> None:
    sink = ByHost()
    made = Running(webhook=sink)
    for n in range(1000):
        made.outbox.add(f"slow {n}", "webhook", tenant="a", webhook=f"https://7.{n}.example/")
    async with made.running():
        await anyio.sleep(3)
        assert sink.at_once == RelaySettings().taken // 2
        made.outbox.add("fast", "webhook", tenant="b", webhook="https://0.example/")
        await anyio.sleep(1.1)
        assert sink.delivered == ["fast"]


async def test_one_tenant_s_failing_webhooks_don_t_stop_another_s_to_the_same_host() -> None:
    def script(delivery: Delivery) -> None:
        if delivery.job.tenant == "bad":
            raise DeliverLater("closed")

    sink = FakeSink(script)
    made = Running(webhook=sink)
    for n in range(20):
        made.outbox.add(str(n), "webhook", tenant="bad", webhook="https://hooks.example/bad")
    async with made.running():
        await anyio.sleep(1)
        made.outbox.add("good", "webhook", tenant="good", webhook="https://hooks.example/good")
        await anyio.sleep(1.1)
        assert sink.delivered == ["good"]


async def test_tenants_take_turns_at_a_sink_of_all() -> None:
    sink = FakeSink(seconds=1.0)
    made = Running(sink=sink)
    for n in range(200):
        made.outbox.add(f"many {n}", tenant="many")
    async with made.running():
        await anyio.sleep(0.5)
        made.outbox.add("few", tenant="few")
        await anyio.sleep(2.1)
        assert "few" in sink.delivered
    assert sink.most_at_once == RelaySettings().at_once


async def test_receiver_that_comes_back_gets_what_waited() -> None:
    down = True

    def script(_: Delivery) -> None:
        if down:
            raise DeliverLater("closed")

    sink = FakeSink(script)
    made = Running(sink=sink)
    for n in range(100):
        made.outbox.add(str(n))
    async with made.running():
        await anyio.sleep(200)
        down = False
        await anyio.sleep(3600 * 3)
    assert sorted(sink.delivered) == sorted(str(n) for n in range(100))


async def test_wake_finds_a_delivery_before_the_next_look() -> None:
    sink = FakeSink()
    made = Running(RelaySettings(poll_s=1000.0), sink=sink)
    async with made.running():
        await anyio.sleep(1)
        made.outbox.add("1")
        made.relay.wake()
        await anyio.sleep(1)
        assert sink.delivered == ["1"]


async def test_shutdown_lets_a_delivery_end() -> None:
    sink = FakeSink(seconds=3)
    made = Running(sink=sink)
    made.outbox.add("1")
    async with made.running():
        await anyio.sleep(1)
    assert made.outbox.done == ["1"]


async def test_delivery_that_does_not_end_at_shutdown_is_taken_again_after_its_lease() -> None:
    made = Running(sink=FakeSink(seconds=100))
    made.outbox.add("1")
    before = anyio.current_time()
    async with made.running():
        await anyio.sleep(1)
    assert anyio.current_time() - before == pytest.approx(6, abs=0.1)  # virtual time: 1 s and the grace of 5 s
    assert made.outbox.done == []
    assert made.outbox.pauses["1"] > 0


async def test_delivery_that_takes_longer_than_its_lease_is_left_to_others() -> None:
    sink = FakeSink(seconds=1e6)
    made = Running(sink=sink)
    made.outbox.add("1")
    async with made.running():
        await anyio.sleep(299)
        assert sink.at_once == 0
        await anyio.sleep(3)
        assert sink.at_once == 1
    assert [row.attempt for row in made.outbox.taken] == [1, 2]


async def test_store_that_is_away_ends_the_run_but_not_the_delivery() -> None:
    def script(_: Delivery) -> None:
        made.outbox.broken = False

    made = Running(sink=FakeSink(script, seconds=2))
    made.outbox.add("1")

    async def break_it() -> None:
        await anyio.sleep(0.5)
        made.outbox.broken = True

    with pytest.raises(OSError, match="broken"), single_error():
        async with made.relay, anyio.create_task_group() as group:
            group.start_soon(break_it)
            await made.relay.run()
    assert made.outbox.done == ["1"]


async def test_delivery_that_can_not_be_noted_is_delivered_again() -> None:
    def script(_: Delivery) -> None:
        made.outbox.broken = True

    sink = FakeSink(script)
    made = Running(RelaySettings(poll_s=400.0), sink=sink)
    made.outbox.add("1")
    async with made.running():
        await anyio.sleep(1)
        made.outbox.broken = False
        sink.script = lambda _: None
        await anyio.sleep(401)
    assert sink.delivered == ["1", "1"]
    assert made.outbox.done == ["1"]
