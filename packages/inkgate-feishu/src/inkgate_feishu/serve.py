"""Puts the bot together, and runs it until it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from inkgate.errors import InputRejected
from inkgate_client import AsyncInkgateClient
from inkgate_feishu.bot import BotOptions, FeishuBot
from inkgate_feishu.calls import FeishuApp, FeishuCalls
from inkgate_feishu.choices import shipped_words
from inkgate_feishu.documents import DocumentAnswers
from inkgate_feishu.inbox import FeishuInbox
from inkgate_feishu.presses import CardPresses

_OTHER_CALLS = 8
"""Calls to Feishu at once, besides one for each document."""


@dataclass(frozen=True, slots=True)
class FeishuServing:
    """What a bot needs. `service`: URL of the service; `answer`: what chats get that never asked for something else."""

    app: FeishuApp
    service: str
    answer: str
    at_once: int
    most_mb: float
    key: str = field(default="", repr=False)


async def serve_bot(
    serving: FeishuServing,
    client: AsyncInkgateClient,
    inbox: FeishuInbox,
    stop: anyio.Event,
    connected: Callable[[], None],
) -> None:
    """Serves until `stop`.

    Raises:
        InputRejected: "type_unknown": `answer` is nothing that the service can give.
        FeishuError, FeishuRefused: Feishu refuses the app.
        ServiceError: the service can't be asked for its document types.
        ValueError: the domain is no origin.
    """
    app, words = serving.app, shipped_words()
    calls = FeishuCalls(app, serving.at_once + _OTHER_CALLS)
    types = await client.document_types()
    choice = words.choice(serving.answer, types)
    if choice is None:
        known = ", ".join(["text", "markdown", "fields", *types])
        raise InputRejected("type_unknown", f"The service has no document type of this name; there are {known}.")
    answers = DocumentAnswers(client, calls, words, app.id, app.secret, serving.most_mb)
    presses = CardPresses(client, calls, words, app.secret)
    bot = FeishuBot(app, inbox, answers, presses, BotOptions(choice.name, serving.at_once))
    await bot.run(stop, connected)
