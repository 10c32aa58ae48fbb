"""What the buttons of cards do: open the form, keep corrections, and show the values again."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from uuid import uuid4

import structlog

from inkgate_client import AsyncInkgateClient, ServiceError
from inkgate_feishu import wording
from inkgate_feishu.calls import FeishuCalls
from inkgate_feishu.cards import FieldCards, changed_values
from inkgate_feishu.choices import ChatWords
from inkgate_feishu.received import CardPress
from inkgate_feishu.wording import filled, problem

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class CardPresses:
    """Works on presses. Corrections are kept by the service, with the job."""

    client: AsyncInkgateClient
    calls: FeishuCalls
    words: ChatWords
    secret: str

    async def work(self, press: CardPress) -> None:
        """Shows the next card. Raises FeishuError: the card can't be changed."""
        cards = FieldCards(self.words, self.secret, press.job, press.chat)
        try:
            card = await self._card(press, cards)
        except ServiceError as error:
            log.warning("feishu_press_failed", action=press.action, code=error.code, status=error.status)
            gone = error.status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)
            said = wording.NO_LONGER_KEPT if gone else wording.NOT_REACHED
            await self.calls.reply(press.message, "post", said.post(), uuid4().hex)
            return
        await self.calls.replace_card(press.message, card)

    async def apologise(self, press: CardPress) -> None:
        """Says below the card that something went wrong. Raises FeishuError."""
        await self.calls.reply(press.message, "post", wording.BROKEN.post(), uuid4().hex)

    async def _card(self, press: CardPress, cards: FieldCards) -> dict[str, Any]:
        """Raises ServiceError."""
        job = await self.client.jobs.get(press.job)
        found = await job.fields()
        name = "" if job.status.name == "photo" else job.status.name
        if press.action == "correct":
            return cards.form(found)
        if press.action != "save":
            return cards.answer(name, found)
        entered = {path: press.form[name] for name, path in press.paths.items() if name in press.form}
        values = changed_values(found.data, entered)
        if found.version != press.version:  # somebody else was faster, or this press was begun before a restart
            return cards.form(found, wording.CHANGED) if values else cards.answer(name, found)
        try:
            return cards.answer(name, await job.correct(values, press.version, f"feishu:{press.by}"))
        except ServiceError as error:
            if error.status == HTTPStatus.PRECONDITION_FAILED:  # somebody else was faster
                return cards.form(await job.fields(), wording.CHANGED)
            if error.status != HTTPStatus.UNPROCESSABLE_ENTITY:
                raise
            why = problem(error.code, error.title)
            detail = wording.LocalizedText(error.detail or why.en, error.detail or why.zh)
            return cards.form(found, filled(wording.NOT_ALLOWED, why=detail), entered)
