"""The Feishu bot, by the official SDK, against a double of Feishu and the real service in process."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import httpx
import pytest

from inkgate.caller import Caller
from inkgate.page import Page
from inkgate_client import AsyncInkgateClient, ServiceError
from inkgate_client.concurrency import single_error
from inkgate_client.retries import RetryPolicy
from inkgate_client.types import PageResult, Task
from inkgate_feishu.calls import AppRefused, FeishuApp
from inkgate_feishu.inbox import FeishuInbox
from inkgate_feishu.serve import FeishuServing, serve_bot
from support.api_client import Api, png
from support.feishu import BOT, PERSON, FeishuDouble, Sent, elements, running_feishu, shown
from support.jobs_api import jobs_api
from support.receipt_engine import ReceiptEngine

pytestmark = pytest.mark.anyio


@dataclass
class ReceiptReader(ReceiptEngine):
    """Reads the receipt, with its text."""

    repeat: int = 1

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        found = await super().read(page, task, caller)
        return replace(found, text="\n".join(line.text for line in found.lines) * self.repeat)


@asynccontextmanager
async def running_bot(
    feishu: FeishuDouble, api: Api, folder: Path, most: int = 100, *, crash: bool = False
) -> AsyncIterator[AsyncInkgateClient]:
    """The bot, connected; stopped at the end. `crash`: without finishing anything."""
    inbox = FeishuInbox(folder / "feishu" / "inbox.sqlite", lambda: 1.0e9, most)
    serving = FeishuServing(FeishuApp(feishu.app, feishu.secret, feishu.url), "", "text", 2, 1.0)
    transport = httpx.ASGITransport(api.app)
    before = feishu.connections
    try:
        async with AsyncInkgateClient("http://inkgate.localhost", transport=transport) as client:
            stop = anyio.Event()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(serve_bot, serving, client, inbox, stop, lambda: None)
                try:
                    await feishu.until(lambda: feishu.connections > before)
                    yield client
                finally:
                    stop.set()
                    if crash:
                        tasks.cancel_scope.cancel()
    finally:
        inbox.close()


@asynccontextmanager
async def feishu_and_bot(folder: Path, most: int = 100) -> AsyncIterator[tuple[FeishuDouble, AsyncInkgateClient]]:
    async with (
        running_feishu() as feishu,
        jobs_api(folder / "jobs", ReceiptReader()) as api,
        running_bot(feishu, api, folder, most) as client,
    ):
        yield feishu, client


async def reply(feishu: FeishuDouble, message_id: str) -> Sent:
    """The first answer to a message."""
    await feishu.until(lambda: any(sent.parent == message_id for sent in feishu.sent))
    return next(sent for sent in feishu.sent if sent.parent == message_id)


async def test_a_photo_is_answered_with_its_text_and_once_only(tmp_path: Path) -> None:
    async with feishu_and_bot(tmp_path) as (feishu, client):
        message_id = await feishu.photo(png())
        answer = await reply(feishu, message_id)
        assert answer.kind == "post"
        assert "GRAND TOTAL" in answer.text
        assert feishu.reactions == [(message_id, "OnIt")]
        await feishu.message({"image_key": "img_1"}, message_id=message_id)  # sent again, with another event ID
        later = await feishu.photo(png())
        await reply(feishu, later)
        assert [sent.parent for sent in feishu.sent] == [message_id, later]
        assert len((await client.jobs.list()).jobs) == 2


async def test_fields_are_shown_on_a_card_and_corrected_there(tmp_path: Path) -> None:
    async with feishu_and_bot(tmp_path) as (feishu, client):
        asked = await feishu.message({"text": "小票"}, "text")
        assert (await reply(feishu, asked)).text == "From now on in this chat: Receipt."
        card = await reply(feishu, await feishu.photo(png()))
        assert card.kind == "interactive"
        assert "Total: 30.20" in shown(card.content)
        assert "合计：30.20" in [each["text"]["i18n_content"]["zh_cn"] for each in elements(card.content, "div")]
        [correct] = elements(card.content, "button")

        assert (await feishu.press(card, correct))["toast"]["type"] == "info"
        await feishu.until(lambda: len(feishu.cards.get(card.id, [])) == 1)
        form = feishu.cards[card.id][-1]
        inputs = {each["label"]["content"]: each for each in elements(form, "input")}
        assert inputs["Total"]["default_value"] == "30.20"
        save = next(each for each in elements(form, "button") if each.get("form_action_type") == "submit")
        entered = {each["name"]: each["default_value"] for each in inputs.values()}
        await feishu.press(card, save, entered | {inputs["Date"]["name"]: "someday"})
        await feishu.until(lambda: len(feishu.cards[card.id]) == 2)
        assert "must be a date" in shown(feishu.cards[card.id][-1])[0]

        again = {each["name"]: each["default_value"] for each in elements(feishu.cards[card.id][-1], "input")}
        await feishu.press(card, save, again | {inputs["Date"]["name"]: "2018-03-04", inputs["Phone"]["name"]: ""})
        await feishu.until(lambda: len(feishu.cards[card.id]) == 3)
        assert "Date: 2018-03-04" in shown(feishu.cards[card.id][-1])
        [job] = (await client.jobs.list()).jobs
        kept = await (await client.jobs.get(job.id)).fields()
        assert (kept.data["date"], kept.data["phone"], kept.review) == ("2018-03-04", None, "reviewed")
        assert kept.corrections[0].by == "feishu:ou_anna"

        refused = await feishu.press(card, correct, open_chat_id="oc_other")
        assert refused["toast"]["type"] == "error"


async def test_in_a_group_only_mentions_are_answered_and_replies_to_photos_read_them(tmp_path: Path) -> None:
    async with feishu_and_bot(tmp_path) as (feishu, _):
        group = {"chat_type": "group", "chat_id": "oc_group"}
        mentions = [{"key": "@_user_1", "id": {"open_id": BOT}, "name": "inkgate"}]
        await feishu.photo(png(), **group)
        await feishu.message({"text": "hello"}, "text", **group)
        feishu.resources["om_photo", "img_2"] = png()
        feishu.messages["om_photo"] = {"msg_type": "image", "body": {"content": '{"image_key": "img_2"}'}}
        said = {"text": "@_user_1 receipt"}
        by_reply = await feishu.message(said, "text", **group, mentions=mentions, parent_id="om_photo")
        assert (await reply(feishu, by_reply)).kind == "interactive"
        feishu.resources["om_rich", "img_3"] = png()
        rich = {
            "title": "",
            "content": [[{"tag": "at", "user_id": "@_user_1"}], [{"tag": "img", "image_key": "img_3"}]],
        }
        by_post = await feishu.message(rich, "post", **group, mentions=mentions, message_id="om_rich")
        assert "GRAND TOTAL" in (await reply(feishu, by_post)).text
        assert {sent.parent for sent in feishu.sent} == {by_reply, by_post}


async def test_what_was_not_answered_is_answered_after_a_restart(tmp_path: Path) -> None:
    engine = ReceiptReader(gate=anyio.Event())
    async with running_feishu() as feishu, jobs_api(tmp_path / "jobs", engine) as api:
        async with running_bot(feishu, api, tmp_path, crash=True) as client:
            message_id = await feishu.photo(png())
            await engine.reading.wait()
        assert not feishu.sent
        assert engine.gate is not None
        engine.gate.set()
        async with running_bot(feishu, api, tmp_path) as client:
            await reply(feishu, message_id)
            await feishu.message({"image_key": "img_1"}, message_id=message_id)
            await reply(feishu, await feishu.photo(png()))
            assert len((await client.jobs.list()).jobs) == 2
        assert [sent.parent for sent in feishu.sent].count(message_id) == 1


async def test_a_bot_that_stops_finishes_what_is_under_way(tmp_path: Path) -> None:
    engine = ReceiptReader(gate=anyio.Event())
    async with running_feishu() as feishu, jobs_api(tmp_path / "jobs", engine) as api:
        async with running_bot(feishu, api, tmp_path) as _:
            message_id = await feishu.photo(png())
            await engine.reading.wait()
            assert engine.gate is not None
            engine.gate.set()
        assert [sent.parent for sent in feishu.sent] == [message_id]


async def test_a_lost_connection_is_opened_again_and_secrets_are_not_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with feishu_and_bot(tmp_path) as (feishu, _):
        await feishu.drop()
        await feishu.until(lambda: feishu.connections == 2)
        feishu.failing = 2  # Feishu's own errors, which pass
        await reply(feishu, await feishu.photo(png()))
        secrets = (feishu.secret, "the-access-key", "the-ticket", f"t-{feishu.app}", "GRAND TOTAL")
        assert [record for record in caplog.records if record.name == "Lark"]
        assert not [secret for secret in secrets if secret in caplog.text]


async def test_a_connection_that_the_sdk_gives_up_is_opened_again(tmp_path: Path) -> None:
    async with feishu_and_bot(tmp_path) as (feishu, _):
        feishu.refuse = 1
        await feishu.drop()
        await feishu.until(lambda: feishu.connections == 2)
        await reply(feishu, await feishu.photo(png()))


async def test_an_answer_that_feishu_does_not_take_is_sent_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inkgate_feishu.calls._PAUSES_S", ())
    monkeypatch.setattr("inkgate_feishu.bot._AGAIN_S", (0.01, 0.01, 0.01, 0.01))
    async with feishu_and_bot(tmp_path) as (feishu, client):
        feishu.failing = 5  # the reactions, the first file and the first replies
        await reply(feishu, await feishu.photo(png()))
        assert len((await client.jobs.list()).jobs) == 1


async def test_messages_that_are_tried_again_later_hold_up_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inkgate_feishu.calls._PAUSES_S", ())
    async with feishu_and_bot(tmp_path) as (feishu, _):  # it works on two at once
        for _ in range(2):
            feishu.failing = 2  # the reaction and the file
            await feishu.photo(png())
            while feishu.failing:  # noqa: ASYNC110 - a counter
                await anyio.sleep(0.01)
        third = await feishu.photo(png())
        assert (await reply(feishu, third)).kind == "post"
        assert [sent.parent for sent in feishu.sent] == [third]


async def test_a_service_that_is_away_is_asked_again_and_then_the_sender_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inkgate_feishu.bot._AGAIN_S", (0.01, 0.01, 0.01, 0.01))
    monkeypatch.setattr("inkgate_feishu.documents.JOB_REQUESTS", RetryPolicy(0.0))
    async with feishu_and_bot(tmp_path) as (feishu, client):
        asked = 0

        async def away(*_: object) -> None:
            nonlocal asked
            asked += 1
            raise ServiceError("busy", 503, {"code": "overloaded"})

        monkeypatch.setattr(client.jobs, "submit", away)
        answer = await reply(feishu, await feishu.photo(png()))
        assert "too busy" in answer.text
        assert asked == 5


async def test_a_full_disk_stops_nothing_for_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inkgate_feishu.bot._ASK_AGAIN_S", 0.01)
    engine, opened = ReceiptReader(gate=anyio.Event()), list[FeishuInbox]()

    class WatchedInbox(FeishuInbox):
        def __init__(self, file: Path, now: Callable[[], float], most: int) -> None:
            super().__init__(file, now, most)
            opened.append(self)

    monkeypatch.setattr(f"{__name__}.FeishuInbox", WatchedInbox)
    async with (
        running_feishu() as feishu,
        jobs_api(tmp_path / "jobs", engine) as api,
        running_bot(feishu, api, tmp_path),
    ):
        [inbox] = opened
        first = await feishu.photo(png())
        await engine.reading.wait()
        inbox._rows.execute("PRAGMA query_only = ON")  # each write fails
        assert engine.gate is not None
        engine.gate.set()
        await reply(feishu, first)
        message = {"chat_type": "p2p", "message_type": "image", "content": "{}", "message_id": "om_later"}
        assert (await feishu.push("im.message.receive_v1", {"message": message}))[0] == 500  # Feishu sends it again
        inbox._rows.execute("PRAGMA query_only = OFF")
        second = await feishu.photo(png())
        await reply(feishu, second)
        while inbox.waiting_of(PERSON):  # noqa: ASYNC110 - of a database
            await anyio.sleep(0.01)
        assert [sent.parent for sent in feishu.sent] == [first, second]


async def test_messages_of_groups_are_not_lost_while_the_bot_does_not_know_its_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inkgate_feishu.bot._ASK_AGAIN_S", 0.01)
    mentions = [{"key": "@_user_1", "id": {"open_id": BOT}, "name": "inkgate"}]
    group = {"chat_type": "group", "chat_id": "oc_group", "mentions": mentions}
    engine = ReceiptReader(gate=anyio.Event())
    async with running_feishu() as feishu, jobs_api(tmp_path / "jobs", engine) as api:
        async with running_bot(feishu, api, tmp_path, crash=True):
            kept = await feishu.photo(png(), **group)
            await engine.reading.wait()
        assert engine.gate is not None
        engine.gate.set()
        feishu.published = False
        async with running_bot(feishu, api, tmp_path):
            await reply(feishu, kept)
            message = {"message_id": "om_1", "message_type": "text", "content": '{"text": "hello"}', **group}
            event = {"sender": {"sender_type": "user"}, "message": message}
            assert (await feishu.push("im.message.receive_v1", event))[0] == 500  # Feishu sends it again
            feishu.published = True
            while (await feishu.push("im.message.receive_v1", event))[0] != 200:  # noqa: ASYNC110 - as Feishu does
                await anyio.sleep(0.01)
            assert "cn_vat_invoice" in (await reply(feishu, "om_1")).text


async def test_the_sender_of_what_ended_the_process_each_time_is_told(tmp_path: Path) -> None:
    inbox = FeishuInbox(tmp_path / "feishu" / "inbox.sqlite", lambda: 1.0e9, 10)
    message = {"chat_type": "p2p", "message_type": "image", "content": "{}", "message_id": "om_hard"}
    inbox.accept("om_hard", "message", PERSON, {"message": message})
    for _ in range(5):
        item = inbox.begin("message")
        assert item is not None
        inbox.put_back(item)
    inbox.close()
    async with feishu_and_bot(tmp_path) as (feishu, _):
        assert "went wrong" in (await reply(feishu, "om_hard")).text


async def test_long_texts_are_sent_as_files(tmp_path: Path) -> None:
    async with (
        running_feishu() as feishu,
        jobs_api(tmp_path / "jobs", ReceiptReader(repeat=20)) as api,
        running_bot(feishu, api, tmp_path),
    ):
        feishu.resources["om_pdf", "file_1"] = png()
        await feishu.message({"file_key": "file_1", "file_name": "../a b.pdf"}, "file", message_id="om_pdf")
        await feishu.until(lambda: len(feishu.sent) == 2)
    assert [sent.kind for sent in feishu.sent] == ["post", "file"]
    [(name, data)] = feishu.uploads.values()
    assert name == "..a b.pdf.txt"
    assert data.decode().count("GRAND TOTAL") == 20


async def test_people_are_told_what_went_wrong_and_what_there_is(tmp_path: Path) -> None:
    async with feishu_and_bot(tmp_path) as (feishu, _):
        broken = await reply(feishu, await feishu.photo(b"no picture"))
        assert "I can't read this document: " in broken.text
        assert "（" in str(broken.content["zh_cn"])
        large = await reply(feishu, await feishu.photo(b"x" * 1_000_001))
        assert "up to 1 MB" in large.text
        gone = await reply(feishu, await feishu.message({"image_key": "img_missing"}))
        assert "code 234003" in gone.text
        helped = await reply(feishu, await feishu.message({"text": "hello"}, "text"))
        assert "cn_vat_invoice" in helped.text


async def test_one_person_and_all_together_can_only_have_so_much_waiting(tmp_path: Path) -> None:
    engine = ReceiptReader(gate=anyio.Event())
    async with (
        running_feishu() as feishu,
        jobs_api(tmp_path / "jobs", engine) as api,
        running_bot(feishu, api, tmp_path, most=23),
    ):
        for _ in range(20):
            await feishu.photo(png())
        refused = await reply(feishu, await feishu.photo(png()))
        assert "20 documents of yours are waiting" in refused.text
        message = {"chat_id": "oc_ben", "chat_type": "p2p", "message_type": "image", "content": "{}"}
        event = {"sender": {"sender_id": {"open_id": "ou_ben"}}, "message": message}
        codes = []
        for number in range(4):
            message["message_id"] = f"om_{number}"
            codes.append((await feishu.push("im.message.receive_v1", event))[0])
        assert (codes[:2], codes[-1]) == ([200, 200], 500)
        assert engine.gate is not None
        engine.gate.set()


async def test_a_wrong_secret_is_refused(tmp_path: Path) -> None:
    async with running_feishu() as feishu, jobs_api(tmp_path / "jobs", ReceiptReader()) as api:
        feishu.secret = "wrong"  # noqa: S105
        with pytest.raises(AppRefused, match="app secret invalid"), single_error():
            async with running_bot(replace(feishu, secret="another"), api, tmp_path):  # noqa: S106
                pass


async def test_two_bots_can_not_use_one_folder(tmp_path: Path) -> None:
    inbox = FeishuInbox(tmp_path / "inbox.sqlite", lambda: 1.0e9, 10)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        FeishuInbox(tmp_path / "inbox.sqlite", lambda: 1.0e9, 10)
    inbox.close()
