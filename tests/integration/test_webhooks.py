"""Webhooks to a receiver that behaves badly, over real connections."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import anyio
import pytest
from pydantic import SecretStr
from standardwebhooks import Webhook

from inkgate.jobs.job import Job
from inkgate.jobs.sinks.base import DeliverLater, DeliverNever
from inkgate.jobs.sinks.relay import DeliveryOutcome, Relay, RelaySettings
from inkgate.jobs.sinks.webhook import WebhookOptions, WebhookSink
from inkgate.serving.breaker import BreakerSettings
from inkgate_client.concurrency import Threads
from inkgate_client.types import DocumentResult
from support.clock import Clock
from support.jobs import delivery
from support.outbox import MemoryOutbox
from support.receiver import OK, Receiver, WebhookRequest, answer, running_receiver

pytestmark = pytest.mark.anyio

SECRETS = tuple("whsec_" + base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2))


@asynccontextmanager
async def sending(
    *, allow: Sequence[str] = ("127.0.0.1",), timeout_s: float = 10.0, private: bool = False, url: str = ""
) -> AsyncIterator[WebhookSink]:
    options = WebhookOptions(url, [SecretStr(one) for one in SECRETS], timeout_s, private=private, allow_hosts=allow)
    async with WebhookSink(options, Threads("test", 1), time.time) as sink:
        yield sink


@pytest.mark.smoke
async def test_delivered_event_verifies_with_both_secrets() -> None:
    async with running_receiver() as receiver, sending() as sink:
        for _ in range(3):
            await sink.deliver(delivery(webhook=receiver.url + "?token=t"))
    assert receiver.connections == 1  # it is used again
    assert [request.path for request in receiver.requests] == ["/hook?token=t"] * 3
    for request in receiver.requests:
        for secret in SECRETS:
            assert Webhook(secret).verify(request.body, request.headers)["subject"] == "job_01"
        assert request.headers["content-type"] == "application/cloudevents+json; charset=utf-8"
        assert request.headers["webhook-id"] == json.loads(request.body)["id"] == "dlv_01"


async def outcome(how: bytes | str, timeout_s: float = 10.0) -> tuple[DeliverLater | DeliverNever | None, Receiver]:
    async with running_receiver(lambda _: how) as receiver, sending(timeout_s=timeout_s) as sink:
        try:
            await sink.deliver(delivery(webhook=receiver.url))
        except (DeliverLater, DeliverNever) as error:
            return error, receiver
        return None, receiver


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
async def test_2xx_is_delivered(status: int) -> None:
    assert (await outcome(answer(status)))[0] is None


@pytest.mark.parametrize("status", [300, 304, 400, 401, 404, 408, 409, 422, 425, 429, 500, 502, 503, 504, 999])
async def test_other_statuses_are_tried_again(status: int) -> None:
    error, _ = await outcome(answer(status))
    assert isinstance(error, DeliverLater)
    assert str(status) in str(error)
    assert error.retry_after_s is None


async def test_410_is_never_tried_again() -> None:
    assert isinstance((await outcome(answer(410)))[0], DeliverNever)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirect_is_not_followed(status: int) -> None:
    error, receiver = await outcome(answer(status, "Location: /elsewhere"))
    assert isinstance(error, DeliverLater)
    assert len(receiver.requests) == 1


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("120", 120.0), ("0", 0.0), ("9" * 30, 86400.0), ("-5", None), ("soon", None), ("nan", None), ("1e400", None)],
)
async def test_retry_after_is_read(value: str, seconds: float | None) -> None:
    for status in (429, 503):
        error, _ = await outcome(answer(status, f"Retry-After: {value}"))
        assert isinstance(error, DeliverLater)
        assert error.retry_after_s == seconds


async def test_retry_after_may_be_a_date() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    error, _ = await outcome(answer(503, f"Retry-After: {date}"))
    assert isinstance(error, DeliverLater)
    assert error.retry_after_s == pytest.approx(7200, abs=60)


@pytest.mark.parametrize("how", ["hang", "heads"])
async def test_receiver_that_does_not_respond_is_left(how: str) -> None:
    error, _ = await outcome(how, timeout_s=0.3)
    assert isinstance(error, DeliverLater)
    assert "0.3 s" in str(error)


@pytest.mark.parametrize(
    "how", ["close", b"not HTTP\r\n\r\n", b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\nX: " + b"y" * 500_000]
)
async def test_broken_answer_is_tried_again(how: bytes | str) -> None:
    error, _ = await outcome(how, timeout_s=1.0)
    assert isinstance(error, DeliverLater)


@pytest.mark.parametrize("how", ["drip", "pour", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort"])
async def test_endless_or_cut_body_of_a_good_status_is_delivered(how: bytes | str) -> None:
    error, receiver = await outcome(how)
    assert error is None
    assert receiver.poured < 10_000_000


async def test_private_address_is_not_connected_to() -> None:
    async with running_receiver() as receiver, sending(allow=()) as sink:
        with pytest.raises(DeliverLater, match="not public"):
            await sink.deliver(delivery(webhook=receiver.url))
    assert receiver.connections == 0


async def test_sink_of_the_settings_may_be_private_and_has_one_url() -> None:
    async with running_receiver() as receiver, sending(allow=(), private=True, url=receiver.url) as sink:
        await sink.deliver(delivery(webhook="https://elsewhere.example/"))
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("url", ["", "ftp://127.0.0.1/", "https://a\x00b/"])
async def test_url_that_is_none_is_never_tried_again(url: str) -> None:
    async with sending() as sink:
        with pytest.raises(DeliverNever, match="not valid"):
            await sink.deliver(delivery(webhook=url))


async def test_nobody_listening_is_tried_again() -> None:
    async with running_receiver() as receiver:
        pass
    async with sending() as sink:
        with pytest.raises(DeliverLater, match="ConnectError"):
            await sink.deliver(delivery(webhook=receiver.url))


async def test_reason_does_not_hold_the_url() -> None:
    async with running_receiver(lambda _: answer(500)) as receiver, sending() as sink:
        with pytest.raises(DeliverLater) as failed:
            await sink.deliver(delivery(webhook=receiver.url + "?token=s3cret"))
    assert "s3cret" not in str(failed.value)


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - any condition
        await anyio.sleep(0.001)


def by_turns(*answers: bytes | str) -> Callable[[WebhookRequest], bytes | str]:
    left = list(answers)
    return lambda _: left.pop(0) if left else OK


async def test_a_hanging_delivery_does_not_hold_up_another() -> None:
    async with running_receiver(by_turns("hang")) as receiver, sending() as sink:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(sink.deliver, delivery(webhook=receiver.url))
                await until(lambda: bool(receiver.requests))
                await sink.deliver(delivery(key="dlv_02", webhook=receiver.url))
                scope.cancel()
        await sink.deliver(delivery(key="dlv_03", webhook=receiver.url))
    assert [request.headers["webhook-id"] for request in receiver.requests] == ["dlv_01", "dlv_02", "dlv_03"]


async def test_every_notice_arrives_after_all_faults_and_each_id_has_one_effect() -> None:
    """Each notice meets each fault once, in another order; the clock of the outbox is turned by hand."""
    faults: list[bytes | str] = ["hang", "close", "drip", "heads", "pour", answer(500), answer(302), answer(503)]
    seen: dict[str, int] = {}

    def script(request: WebhookRequest) -> bytes | str:
        key = request.headers["webhook-id"]
        attempt = seen[key] = seen.get(key, 0) + 1
        if attempt <= 5:
            return faults[(int(key) + attempt) % len(faults)]
        return OK

    clock = Clock()
    outbox = MemoryOutbox(clock)
    settings = RelaySettings(poll_s=0.01, breaker=BreakerSettings(min_calls=10_000))
    async with running_receiver(script) as receiver, sending(timeout_s=0.2) as sink, anyio.create_task_group() as group:
        relay: Relay = Relay(outbox, {"webhook": sink}, _no_document, settings)
        for n in range(45):
            outbox.add(str(n), "webhook", webhook=receiver.url)
        group.start_soon(relay.run)
        while len(outbox.done) < 45:
            assert not outbox.gone
            await until(lambda: len(outbox.taken) == relay.outcomes.total())
            clock.goes_on(3600.0)
            await anyio.sleep(0.02)
        group.cancel_scope.cancel()
    effects = set()
    for request in receiver.requests:
        effects.add(Webhook(SECRETS[0]).verify(request.body, request.headers)["id"])
    assert effects == {str(n) for n in range(45)}
    assert len(receiver.requests) > 45
    assert relay.outcomes["webhook", DeliveryOutcome.DELIVERED] == 45


async def _no_document(_: Job) -> DocumentResult:
    raise LookupError
