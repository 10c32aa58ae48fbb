"""Load on a service that responds, stalls, refuses, breaks connections, or is missing."""

from __future__ import annotations

import time
from dataclasses import replace

import anyio
import pytest
from aiohttp import web

from inkgate_bench.load import LoadImpossible
from inkgate_bench.load.pages import LoadPage
from inkgate_bench.load.plan import CallerShare, Load
from inkgate_bench.load.results import Second
from inkgate_bench.load.run import run
from inkgate_bench.load.sender import try_once
from inkgate_bench.load.target import ProtocolName, Target, TargetOptions, detect
from support.load_target import PAGE, closed_plan, load_target, open_plan, refusal, stream, text

pytestmark = pytest.mark.anyio
DONE = "[DONE]"
SAID = '{"choices":[{"delta":{"content":"Invoice"}}]}'


class StallingReply:
    """Responds only once this many requests have arrived."""

    def __init__(self, until: int) -> None:
        self.until = until
        self.go = anyio.Event()

    async def __call__(self, request: web.Request, number: int) -> web.StreamResponse:
        if number >= self.until:
            self.go.set()
        await self.go.wait()
        return await text(request, number)


async def test_a_service_that_stands_still_is_latency_and_not_fewer_requests() -> None:
    async with load_target(StallingReply(until=30)) as target:
        measured = await target.put_on(open_plan(rate=100, seconds=0.3))
    summary = measured.summary
    assert (summary.offered, summary.answered, summary.error_share) == (30, 30, 0.0)
    assert summary.latency is not None
    # The 30th was due 0.29 s after the first, which was answered no earlier.
    assert summary.latency.most_s >= 0.29
    assert summary.latency.mean_s >= 0.14
    assert summary.in_flight > 10


async def test_answers_after_the_deadline_are_answers_but_not_in_time() -> None:
    async with load_target(StallingReply(until=30)) as target:
        summary = (await target.put_on(open_plan(rate=20, seconds=1.5, deadline_s=0.5))).summary
    assert summary.answered == 30
    assert summary.in_time <= 11 + 1
    assert summary.pages == summary.in_time


async def test_what_may_not_be_on_its_way_is_counted_and_said() -> None:
    async with load_target(StallingReply(until=1000)) as target:
        plan = open_plan(rate=100, seconds=0.2, max_in_flight=4, timeout_s=0.3)
        measured = await target.put_on(plan)
    assert measured.summary.timed_out == 4
    assert measured.own.unsent == measured.summary.errors["not sent: 4 in flight"] == 16
    assert measured.own.bottleneck
    assert "not sent" in measured.own.why
    assert measured.summary.offered == 20


async def test_a_closed_loop_keeps_as_many_requests_in_flight_as_it_has_clients() -> None:
    in_flight: list[int] = [0]
    all_there = StallingReply(until=3)

    async def reply(request: web.Request, number: int) -> web.StreamResponse:
        in_flight.append(in_flight[-1] + 1)
        try:
            return await all_there(request, number)
        finally:
            in_flight.append(in_flight[-1] - 1)

    async with load_target(reply) as target:
        summary = (await target.put_on(closed_plan(clients=3))).summary
    assert summary.answered == summary.offered >= 3
    assert max(in_flight) == 3
    assert len(target.bodies) >= summary.offered


@pytest.mark.parametrize(("waits", "most"), [(True, 2), (False, 10_000)])
async def test_clients_that_were_refused_wait_as_long_as_they_are_told(*, waits: bool, most: int) -> None:
    async with load_target(refusal(503, "service_full", "30")) as target:
        summary = (await target.put_on(closed_plan(clients=2, waits_when_refused=waits))).summary
    assert 2 <= summary.refused == summary.offered <= most
    assert summary.errors == {"503 service_full": summary.refused}
    assert summary.refusal is not None
    assert summary.latency is None
    assert (summary.refused > 2) is not waits


async def test_each_kind_of_no_is_counted_as_what_it_is() -> None:
    replies = [
        text,
        refusal(429, "rate_limited", "1"),
        refusal(422, "image_corrupt"),
        refusal(502, "engine_failed"),
        stream("x", breaks=True),
    ]

    async def reply(request: web.Request, number: int) -> web.StreamResponse:
        return await replies[(number - 1) % len(replies)](request, number)

    async with load_target(reply) as target:
        summary = (await target.put_on(open_plan(rate=50, seconds=0.2))).summary
    assert summary.offered == 10
    assert (summary.answered, summary.refused, summary.rejected, summary.failed) == (2, 2, 2, 4)
    assert summary.errors == {
        "429 rate_limited": 2,
        "422 image_corrupt": 2,
        "502 engine_failed": 2,
        "connection broken": 2,
    }


async def test_nobody_waits_longer_than_the_timeout() -> None:
    async with load_target(StallingReply(until=1000)) as target:
        summary = (await target.put_on(open_plan(rate=50, seconds=0.1, timeout_s=0.05))).summary
    assert summary.timed_out == summary.offered == 5
    assert summary.errors == {"no response in 0.05 s": 5}


@pytest.mark.parametrize(
    ("events", "breaks", "error"),
    [
        ((SAID, DONE), False, None),
        ((SAID,), False, "stream cut off"),
        ((SAID,), True, "connection broken"),
        ((SAID, '{"error":{"message":"no","code":"upstream_cut_off"}}'), False, "stream upstream_cut_off"),
        ((SAID, '{"error":{"message":"no"}}', DONE), False, "stream error"),
        (('{"choices":[{"delta":{"content":"an \\"error\\": none"}}]}', DONE), False, None),
    ],
)
async def test_a_streamed_answer_is_whole_only_with_its_end_and_no_error(
    *, events: tuple[str, ...], breaks: bool, error: str | None
) -> None:
    async with load_target(stream(*events, breaks=breaks)) as target:
        summary = (await target.put_on(open_plan(rate=50, seconds=0.1), ProtocolName.CHAT)).summary
    assert summary.offered == 5
    assert summary.errors == ({} if error is None else {error: 5})
    assert summary.answered == summary.pages == (5 if error is None else 0)


async def test_who_asks_is_mixed_by_weights() -> None:
    mix = (CallerShare("interactive", "alpha", 3.0), CallerShare("batch", "beta", 1.0))
    async with load_target() as target:
        await target.put_on(open_plan(rate=500, seconds=0.2, mix=mix, tells_deadline=True))
    asked = [(head.get("X-Inkgate-Priority"), head["Authorization"]) for head in target.heads]
    assert set(asked) == {("interactive", "Bearer alpha"), ("batch", "Bearer beta")}
    assert asked.count(("interactive", "Bearer alpha")) > asked.count(("batch", "Bearer beta")) > 5
    assert {head["X-Inkgate-Timeout"] for head in target.heads} == {"5"}
    assert {head["Cache-Control"] for head in target.heads} == {"no-store"}


async def test_what_was_asked_before_the_window_does_not_count() -> None:
    async with load_target() as target:
        measured = await target.put_on(open_plan(rate=64, seconds=0.125, warm_s=0.25))
    assert measured.summary.offered == 8
    assert len(target.bodies) >= 24
    assert measured.begins_s == 0.25
    assert not measured.partial


async def test_what_is_due_while_the_generator_stands_still_is_late_and_not_missing() -> None:
    async def reply(request: web.Request, number: int) -> web.StreamResponse:
        if number == 5:
            time.sleep(0.75)  # noqa: ASYNC251 - the generator is to stand still, which is in this event loop, too
        return await text(request, number)

    async with load_target(reply) as target:
        measured = await target.put_on(open_plan(rate=64, seconds=0.125, warm_s=0.25))
    assert measured.summary.offered == measured.summary.answered == 8
    assert measured.summary.latency is not None
    assert measured.summary.latency.p50_s > 0.3


async def test_ended_early_it_says_what_there_is() -> None:
    stop = anyio.Event()

    async def reply(request: web.Request, number: int) -> web.StreamResponse:
        if number == 20:
            stop.set()
        return await text(request, number)

    seconds: list[Second] = []
    async with load_target(reply) as target:
        with anyio.fail_after(60):
            load = target.load(ProtocolName.SIMPLE, open_plan(rate=100, seconds=600, warm_s=0.05))
            measured = await run(load, seconds.append, stop)
    assert measured.partial
    assert 0 < measured.summary.offered <= 20
    assert measured.summary.seconds < 600
    assert measured.summary.answered == measured.summary.offered


async def test_every_second_is_told() -> None:
    seconds: list[Second] = []
    async with load_target() as target:
        load = target.load(ProtocolName.SIMPLE, open_plan(rate=50, seconds=1.1))
        measured = await run(load, seconds.append)
    assert [second.at for second in seconds] == [second.at for second in measured.timeline] == [1.0]
    first = measured.timeline[0]
    assert (first.offered, first.level) == (50, 50)
    assert sum(many for _, many in first.sizes) == first.answered > 0


async def test_a_wrong_key_or_address_is_told_before_any_load() -> None:
    async with load_target(refusal(401, "unauthenticated")) as target:
        with pytest.raises(LoadImpossible, match="requires a valid API key"):
            await try_once(target.load(ProtocolName.SIMPLE, open_plan()))
        assert len(target.bodies) == 1
    async with load_target(refusal(404, "route_unknown")) as target:
        with pytest.raises(LoadImpossible, match=r"accepts no pages \(404 route_unknown"):
            await try_once(target.load(ProtocolName.OCR, open_plan()))
        url = target.url
    async with load_target() as target:
        with pytest.raises(LoadImpossible, match="unexpected body for protocol ocr: try another --protocol"):
            await try_once(target.load(ProtocolName.OCR, open_plan()))
    with pytest.raises(LoadImpossible, match="Nothing listens"):
        await try_once(Load(Target(url, ProtocolName.SIMPLE), (PAGE,), open_plan()))
    with pytest.raises(LoadImpossible, match="Nothing listens"):
        await detect(url, TargetOptions())


async def test_a_service_that_is_full_is_no_reason_not_to_test_it() -> None:
    async with load_target(refusal(503, "service_full", "1")) as target:
        found = await try_once(target.load(ProtocolName.SIMPLE, open_plan()))
    assert found.kind == "503 service_full"


async def test_the_protocol_is_found_out() -> None:
    async with load_target(models=("reader", "other")) as target:
        chat = await detect(target.url, TargetOptions())
        assert (chat.protocol, chat.model) == (ProtocolName.CHAT, "reader")
        assert chat.url == f"{target.url}/v1/chat/completions"
        assert (await detect(f"{target.url}/v1", TargetOptions(model="other"))).model == "other"
        assert (await detect(f"{target.url}/v1/", TargetOptions())).url == chat.url
        assert (await detect(target.url, TargetOptions(protocol=ProtocolName.OCR))).url == f"{target.url}/ocr"
    async with load_target() as target:
        simple = await detect(target.url.removeprefix("http://"), TargetOptions())
        assert (simple.protocol, simple.url) == (ProtocolName.SIMPLE, f"{target.url}/ocr")
        assert (await detect(f"{target.url}/read/page", TargetOptions())).url == f"{target.url}/read/page"
        with pytest.raises(LoadImpossible, match="lists no model"):
            await detect(f"{target.url}/v1", TargetOptions())
    with pytest.raises(LoadImpossible, match="is not an address"):
        await detect("http://", TargetOptions())
    for secret in ("http://me:hidden@127.0.0.1:1", "http://127.0.0.1:1/ocr?key=hidden"):
        with pytest.raises(LoadImpossible, match="--key") as told:
            await detect(secret, TargetOptions())
        assert "hidden" not in str(told.value)


async def test_large_bodies_arrive_whole_every_time_with_their_length_and_type() -> None:
    page = LoadPage("large.png", bytes(range(256)) * 12_000, "image/png", 1)
    async with load_target() as target:
        load = replace(target.load(ProtocolName.OCR, closed_plan(clients=2)), pages=(page,))
        with anyio.fail_after(60):
            await run(load)
        assert len(target.bodies) > 1
        assert set(target.bodies) == {target.bodies[0]}
        assert page.content in target.bodies[0]
        for head in target.heads:
            assert head["Content-Length"] == str(len(target.bodies[0]))
            assert head["Content-Type"].startswith("multipart/form-data")
