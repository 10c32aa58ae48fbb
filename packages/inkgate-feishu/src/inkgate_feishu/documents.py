"""Reads a document of a chat with a job of the service, and answers with its text or its fields."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Final

import structlog

from inkgate.errors import BodyTooLarge, error_class
from inkgate_client import AsyncInkgateClient, AsyncJobHandle, JobStatus, ServiceError
from inkgate_client.retries import JOB_REQUESTS, Retrier
from inkgate_feishu import wording
from inkgate_feishu.calls import MAX_UPLOADED, TOO_LARGE, FeishuCalls, FeishuError
from inkgate_feishu.cards import FieldCards
from inkgate_feishu.choices import MARKDOWN, ChatWords, Choice
from inkgate_feishu.received import ChatFile, ChatMessage
from inkgate_feishu.wording import LocalizedText, filled, problem, text_post

log = structlog.get_logger(__name__)

LONGEST_MESSAGE: Final = 4000
"""Characters of a text that is sent as a message. A longer one is sent as a file."""
_MAX_LINES: Final = 200
_UNDER_WAY: Final = "OnIt"
"""The reaction that says that a document is being read."""


class ServiceUnavailable(Exception):
    """The service can't be reached, or is too busy."""


@dataclass(frozen=True, slots=True)
class DocumentAnswers:
    """Answers documents. `most_mb`: of a file; `secret`: signs cards."""

    client: AsyncInkgateClient
    calls: FeishuCalls
    words: ChatWords
    app: str
    secret: str
    most_mb: float

    async def say(self, message: ChatMessage, said: LocalizedText, part: str = "said") -> None:
        """Replies with a sentence. Raises FeishuError."""
        await self.calls.reply(message.id, "post", said.post(), _key(message.id, part))

    async def show_work(self, message: ChatMessage) -> None:
        """Shows at the message that its documents are being read; a bot that may not is no worse a reader."""
        try:
            await self.calls.react(message.id, _UNDER_WAY)
        except FeishuError as error:
            log.info("feishu_reaction_failed", code=error.code)

    async def answer(self, message: ChatMessage, file: ChatFile, choice: Choice, *, last: bool) -> None:
        """Reads the file and replies with the result, or with what went wrong. `last`: this is not tried again.

        Raises:
            FeishuError: Feishu can't be reached, or refuses the reply.
            ServiceUnavailable: unless it is the last try.
        """
        try:
            data = await self.calls.file(file)
        except FeishuError as error:
            if error.may_pass and not last:
                raise
            log.warning("feishu_file_not_fetched", code=error.code)
            said = wording.TOO_LARGE if error.code == TOO_LARGE else wording.NOT_FETCHED
            await self.say(message, filled(said, code=error.code, most_mb=_number(self.most_mb)), file.key)
            return
        if len(data) > self.most_mb * 1_000_000:
            await self.say(message, filled(wording.TOO_LARGE, most_mb=_number(self.most_mb)), file.key)
            return
        try:
            job = await self._submitted(message, file, choice, data)
            del data
            status = await job.wait()
            await self._reply(message, file, choice, job, status)
        except ServiceError as error:
            if _is_unavailable(error) and not last:
                raise ServiceUnavailable from error
            log.warning("feishu_document_failed", code=error.code, status=error.status)
            await self.say(message, _refused(error, self.most_mb), file.key)

    async def _submitted(self, message: ChatMessage, file: ChatFile, choice: Choice, data: bytes) -> AsyncJobHandle:
        """The job: the same one for the same file of the same message. Raises ServiceError."""
        asked = sha256(f"{self.app}\n{message.id}\n{file.key}\n{choice.name}".encode()).hexdigest()[:40]
        job_as = choice.job_as(f"feishu-{asked}")
        return await Retrier(JOB_REQUESTS).run_awaited(
            lambda: self.client.jobs.submit(data, choice.read_as, job_as, file.name)
        )

    async def _reply(
        self, message: ChatMessage, file: ChatFile, choice: Choice, job: AsyncJobHandle, status: JobStatus
    ) -> None:
        """Raises FeishuError, ServiceError."""
        if status.state == "cancelled":
            await self.say(message, wording.CANCELLED, file.key)
            return
        if status.state not in ("succeeded", "partial"):
            code = status.error.code if status.error else status.state
            why = problem(code, status.error.detail if status.error else status.state)
            await self.say(message, filled(wording.NOT_READ, why=why, code=code), file.key)
            return
        notice = None
        if status.pages.failed:
            notice = filled(wording.SOME_PAGES, failed=status.pages.failed, total=status.pages.total)
        if choice.has_fields:
            cards = FieldCards(self.words, self.secret, job.id, message.chat)
            name = "" if file.kind == "image" else file.name
            card = cards.answer(name, await job.fields(), notice)
            await self.calls.reply(message.id, "interactive", card, _key(message.id, file.key))
            return
        format_name, ending = ("markdown", "md") if choice.name == MARKDOWN else ("text", "txt")
        text = (await job.result_in(format_name)).decode("utf-8", "replace")
        await self._send_text(message, file, text, ending, job.id)
        if notice is not None:
            await self.say(message, notice, f"{file.key} pages")

    async def _send_text(self, message: ChatMessage, file: ChatFile, text: str, ending: str, job: str) -> None:
        text = text.strip()
        key = _key(message.id, file.key)
        if not text:
            await self.say(message, wording.NO_TEXT, file.key)
        elif len(text) <= LONGEST_MESSAGE and text.count("\n") < _MAX_LINES:
            title = "" if file.kind == "image" else file.name
            await self.calls.reply(message.id, "post", text_post(title, text), key)
        elif len(data := text.encode()) > MAX_UPLOADED:
            await self.say(message, filled(wording.FILE_TOO_LARGE, job=job), file.key)
        else:
            uploaded = await self.calls.upload(f"{file.name}.{ending}", data)
            await self.say(message, wording.FILE_FOLLOWS, f"{file.key} long")
            await self.calls.reply(message.id, "file", {"file_key": uploaded}, key)


def _refused(error: ServiceError, most_mb: float) -> LocalizedText:
    if error_class(error.code) is BodyTooLarge:
        return filled(wording.TOO_LARGE, most_mb=_number(most_mb))
    if _is_unavailable(error):
        return wording.NOT_REACHED
    why = problem(error.code, error.title or "the service refused it")
    return filled(wording.NOT_READ, why=why, code=error.code or error.status)


def _is_unavailable(error: ServiceError) -> bool:
    return error.status in (None, 429, 502, 503, 504)


def _key(message_id: str, part: str) -> str:
    """Returns the key of a reply, which Feishu sends once."""
    return sha256(f"{message_id}\n{part}".encode()).hexdigest()[:40]


def _number(value: float) -> str:
    return f"{value:g}"
