"""The bot: takes events at once, keeps them, and works on a bounded number of them at a time."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import anyio
import structlog
from anyio.abc import TaskGroup

from inkgate_client import ServiceError
from inkgate_feishu import wording
from inkgate_feishu.calls import AppRefused, FeishuApp, FeishuError
from inkgate_feishu.choices import TEXT, Choice
from inkgate_feishu.connection import FeishuConnection
from inkgate_feishu.documents import DocumentAnswers, ServiceUnavailable
from inkgate_feishu.inbox import FeishuInbox, InboxFull, InboxItem
from inkgate_feishu.presses import CardPresses
from inkgate_feishu.received import ChatMessage, is_direct, parse_message, parse_press
from inkgate_feishu.wording import filled

log = structlog.get_logger(__name__)

MAX_WAITING: Final = 1000
"""Events that wait. Feishu sends further ones again later."""
MAX_OF_ONE: Final = 20
"""Messages of one person that wait; further ones are refused, so that others get their turn."""
STOP_S: Final = 60.0
"""Seconds for what is under way when the bot stops."""
_PRESSES_AT_ONCE: Final = 4
_MAX_ATTEMPTS: Final = 5
"""Maximum attempts, also of what ended the process."""
_TYPES_KEPT_S: Final = 60.0
_ASK_AGAIN_S: Final = 30.0
_AGAIN_S: Final = (15.0, 60.0, 120.0, 240.0)
"""Pauses before an event is worked on again, when Feishu or the service could not be reached."""
_AFTER_ANSWER_S: Final = 0.3
"""Feishu shows a card that replaces another only once the press is answered, which the connection's thread does."""


class BotUnknown(Exception):
    """Whether a message of a group is for the bot can't be said yet."""


@dataclass(frozen=True, slots=True)
class BotOptions:
    """`choice`: for chats that never said what they want. `at_once`: documents."""

    choice: str = TEXT
    at_once: int = 8


class FeishuBot:
    """The bot of one app."""

    def __init__(
        self,
        app: FeishuApp,
        inbox: FeishuInbox,
        answers: DocumentAnswers,
        presses: CardPresses,
        options: BotOptions,
    ) -> None:
        self._app = app
        self._inbox = inbox
        self._answers = answers
        self._presses = presses
        self._options = options
        self._bot = ""
        self._stop = anyio.Event()
        self._arrived = anyio.Event()
        self._types: tuple[float, tuple[str, ...]] = (float("-inf"), ())

    async def run(self, stop: anyio.Event, connected: Callable[[], None]) -> None:
        """Works until `stop`, then finishes what is under way, for up to STOP_S; the rest is done after the next start.

        Raises:
            AppRefused: the app's ID or secret is wrong.
            FeishuRefused: Feishu refuses the connection.
        """
        known = await self._learn_own_id()
        loop = asyncio.get_running_loop()

        def received(kind: str, event: dict[str, Any]) -> dict[str, Any] | None:
            """Takes an event, in the connection's thread."""
            answer, kept = self._receive(kind, event)
            if kept:
                loop.call_soon_threadsafe(self._wake)
            return answer

        connection = FeishuConnection(self._app, received, connected)
        async with anyio.create_task_group() as tasks:

            async def stopped() -> None:
                await stop.wait()
                self._stop.set()
                connection.stop()
                self._wake()
                tasks.cancel_scope.deadline = anyio.current_time() + STOP_S

            tasks.start_soon(stopped)
            if not known:
                tasks.start_soon(self._learn_own_id_later, stop)
            for _ in range(self._options.at_once):
                tasks.start_soon(self._work, tasks, "message", self._message)
            for _ in range(_PRESSES_AT_ONCE):
                tasks.start_soon(self._work, tasks, "press", self._press)
            await connection.run()

    async def _learn_own_id(self) -> bool:
        """Asks who the bot is, which mentions in groups are compared with. Raises AppRefused."""
        try:
            self._bot = await self._answers.calls.bot_id()
        except AppRefused:
            raise
        except FeishuError as error:  # such as an app whose bot was not published yet
            log.warning("feishu_bot_unknown", code=error.code, error=str(error))
        return bool(self._bot)

    async def _learn_own_id_later(self, stop: anyio.Event) -> None:
        while not stop.is_set() and not await self._learn_own_id():
            with anyio.move_on_after(_ASK_AGAIN_S):
                await stop.wait()

    def _wake(self) -> None:
        self._arrived.set()
        self._arrived = anyio.Event()

    def _receive(self, kind: str, event: dict[str, Any]) -> tuple[dict[str, Any] | None, bool]:
        """The answer to Feishu, and whether there is something new to do. In the connection's thread; must be quick.

        Raises:
            InboxFull, BotUnknown, sqlite3.Error: Feishu should send the message again.
        """
        body = event.get("event") or {}
        if kind == "message":
            if not self._bot and not is_direct(body):
                raise BotUnknown
            message = parse_message(body, self._bot)
            if message is None or not message.id:
                return None, False
            waiting = self._inbox.waiting_of(message.sender)
            if waiting >= MAX_OF_ONE:
                kind = "refusal"
            # By the message, which Feishu's documentation asks for: events of one message can have several IDs.
            return None, self._inbox.accept(message.id, kind, message.sender, body)
        press = parse_press(body, self._app.secret)
        if press is None:
            return wording.OTHER_CARD.toast("error"), False
        event_id = str((event.get("header") or {}).get("event_id") or "")
        try:
            kept = self._inbox.accept(f"press {event_id}", "press", press.by, body)
        except InboxFull:
            return wording.BUSY.toast("warning"), False
        return (wording.SAVING if press.action == "save" else wording.OPENING).toast("info"), kept

    async def _work(self, pauses: TaskGroup, kind: str, work: Callable[[InboxItem], Awaitable[None]]) -> None:
        """Works on events of a kind, one after another. `pauses`: for those that are to be tried again later."""
        while not self._stop.is_set():
            arrived = self._arrived
            try:
                item = self._inbox.begin(kind) or (self._inbox.begin("refusal") if kind == "press" else None)
            except sqlite3.Error as error:
                await self._wait_for_disk(error)
                continue
            if item is None:
                await arrived.wait()
                continue
            if await self._done(item, self._refuse if item.kind == "refusal" else work):
                await self._finish(item)
                continue
            log.warning("feishu_event_waits", kind=item.kind, attempts=item.attempts)
            pauses.start_soon(self._put_back_later, item)  # others go on meanwhile

    async def _put_back_later(self, item: InboxItem) -> None:
        with anyio.move_on_after(_AGAIN_S[item.attempts - 1]):
            await self._stop.wait()
        self._inbox.put_back(item)
        self._wake()

    async def _finish(self, item: InboxItem) -> None:
        """Marks an event as done, as soon as that can be written."""
        while True:
            try:
                return self._inbox.finish(item)
            except sqlite3.Error as error:
                await self._wait_for_disk(error)
            if self._stop.is_set():
                return None

    async def _wait_for_disk(self, error: sqlite3.Error) -> None:
        """Such as a full one: nothing is taken from Feishu meanwhile, which sends it again."""
        log.error("feishu_inbox_failed", error=str(error))
        with anyio.move_on_after(_ASK_AGAIN_S):
            await self._stop.wait()

    async def _done(self, item: InboxItem, work: Callable[[InboxItem], Awaitable[None]]) -> bool:
        """Works on an event. False: it should be tried again."""
        try:
            if item.attempts <= _MAX_ATTEMPTS:
                await work(item)
            else:  # the process ended in each attempt
                log.error("feishu_event_given_up", kind=item.kind, attempts=item.attempts - 1)
                await self._apologise(item)
        except ServiceUnavailable:
            return False
        except FeishuError as error:
            if (isinstance(error, AppRefused) or error.may_pass) and item.attempts < _MAX_ATTEMPTS:
                return False
            log.warning("feishu_answer_failed", code=error.code, error=str(error))
        except Exception:  # one event; the others go on
            log.exception("feishu_event_failed", kind=item.kind)
            await self._apologise(item)
        return True

    async def _message(self, item: InboxItem) -> None:
        """Raises FeishuError."""
        message = parse_message(item.event)
        if message is None:
            return
        words, types = self._answers.words, await self._known_types()
        files = message.files
        for parent in message.parents if not files else ():
            files = files or await self._answers.calls.files_of(parent)
        if files:
            await self._answers.show_work(message)
            kept = self._inbox.choice(message.chat) or self._options.choice
            choice = words.choice(message.words, types) or Choice(kept)
            for file in files:
                await self._answers.answer(message, file, choice, last=item.attempts >= _MAX_ATTEMPTS)
        elif (asked := words.choice_alone(message.words, types)) is not None:
            self._inbox.choose(message.chat, asked.name)
            await self._answers.say(message, filled(wording.CHOSEN, choice=words.shown(asked)))
        else:
            await self._help(message)

    async def _help(self, message: ChatMessage) -> None:
        """Raises FeishuError."""
        words, names = self._answers.words, await self._known_types()
        english, chinese = ", ".join(names), "、".join(words.title(name).zh for name in names)
        said = filled(wording.HELP, types=wording.LocalizedText(english, chinese), most_mb=f"{self._answers.most_mb:g}")
        await self._answers.say(message, said)

    async def _press(self, item: InboxItem) -> None:
        """Raises FeishuError."""
        press = parse_press(item.event, self._app.secret)
        if press is not None:
            await anyio.sleep(_AFTER_ANSWER_S)
            await self._presses.work(press)

    async def _refuse(self, item: InboxItem) -> None:
        """Raises FeishuError."""
        message = parse_message(item.event)
        if message is not None:
            await self._answers.say(message, filled(wording.TOO_MANY, count=MAX_OF_ONE))

    async def _apologise(self, item: InboxItem) -> None:
        message = parse_message(item.event) if item.kind == "message" else None
        press = parse_press(item.event, self._app.secret) if item.kind == "press" else None
        try:
            if message is not None:
                await self._answers.say(message, wording.BROKEN)
            elif press is not None:
                await self._presses.apologise(press)
        except FeishuError as error:
            log.warning("feishu_answer_failed", code=error.code, error=str(error))

    async def _known_types(self) -> tuple[str, ...]:
        """Names of the service's document types; the shipped ones while it can't be asked."""
        asked_at, names = self._types
        if anyio.current_time() - asked_at < _TYPES_KEPT_S:
            return names
        try:
            names = tuple(await self._answers.client.document_types())
        except ServiceError:
            return names or tuple(self._answers.words.types)
        self._types = (anyio.current_time(), names)
        return names
