"""Calls of Feishu's HTTP interface by the official SDK, in threads, with retries."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import orjson
import requests

from inkgate_client.concurrency import Threads
from inkgate_feishu.received import ChatFile, message_files
from inkgate_feishu.sdk import exception, im, lark

DOMAINS: Final[dict[str, str]] = {"feishu": lark.FEISHU_DOMAIN, "lark": lark.LARK_DOMAIN}
MAX_UPLOADED: Final = 30_000_000
"""Bytes of a file that a bot may send."""
TOO_LARGE: Final = 234037
"""Code of the error for files of more than 100 MB, which a bot can't fetch."""
_PAUSES_S = (0.5, 2.0, 5.0)
_RATE_LIMITED = frozenset({99991400, 230020, 11232})
_TIMEOUT_S = 60.0


class FeishuError(Exception):
    """Feishu refused a call, or can't be reached. `code`: its own; 0: there was no answer. `may_pass`: later, it may
    work.
    """

    def __init__(self, call: str, code: int, message: str, *, may_pass: bool = False) -> None:
        super().__init__(f"Feishu's {call} failed: {message} (code {code}).")
        self.code = code
        self.may_pass = may_pass


class AppRefused(FeishuError):
    """The app's ID or secret is wrong."""


@dataclass(frozen=True, slots=True)
class FeishuApp:
    """The bot's credentials. `domain`: such as https://open.feishu.cn."""

    id: str
    secret: str = field(repr=False)
    domain: str = DOMAINS["feishu"]


class FeishuCalls:
    """Calls for one app."""

    def __init__(self, app: FeishuApp, at_once: int) -> None:
        """`at_once`: how many calls may run.

        Raises:
            ValueError: the domain is none.
        """
        builder = lark.Client.builder().app_id(app.id).app_secret(app.secret).domain(app.domain)
        self._client = builder.timeout(_TIMEOUT_S).log_level(lark.LogLevel.WARNING).build()
        self._threads = Threads("feishu", at_once)

    async def bot_id(self) -> str:
        """The open ID of the bot. Raises AppRefused; FeishuError: such as that the app has no bot."""
        ask = lark.BaseRequest.builder().http_method(lark.HttpMethod.GET).uri("/open-apis/bot/v3/info")
        request = ask.token_types({lark.AccessTokenType.TENANT}).build()
        answer = await self._call("bot/v3/info", lambda: self._client.request(request))
        found = orjson.loads(answer.raw.content).get("bot", {})
        return str(found.get("open_id") or "")

    async def file(self, wanted: ChatFile) -> bytes:
        """The bytes of a file in a chat. Raises FeishuError."""
        ask = im.GetMessageResourceRequest.builder().message_id(wanted.message_id).file_key(wanted.key)
        request = ask.type(wanted.kind).build()
        answer = await self._call("messages/resources", lambda: self._client.im.v1.message_resource.get(request))
        return bytes(answer.file.read())

    async def files_of(self, message_id: str) -> tuple[ChatFile, ...]:
        """The files of a message. Raises FeishuError."""
        request = im.GetMessageRequest.builder().message_id(message_id).build()
        answer = await self._call("messages/get", lambda: self._client.im.v1.message.get(request))
        items = orjson.loads(answer.raw.content).get("data", {}).get("items") or [{}]
        return message_files(items[0], message_id)

    async def reply(self, message_id: str, kind: str, content: object, key: str) -> None:
        """Replies to a message. Of replies with one `key`, Feishu sends one within an hour. Raises FeishuError."""
        body = im.ReplyMessageRequestBody.builder().msg_type(kind).content(orjson.dumps(content).decode()).uuid(key)
        request = im.ReplyMessageRequest.builder().message_id(message_id).request_body(body.build()).build()
        await self._call("messages/reply", lambda: self._client.im.v1.message.reply(request))

    async def react(self, message_id: str, emoji: str) -> None:
        """Adds a reaction to a message. Raises FeishuError."""
        kind = im.Emoji.builder().emoji_type(emoji).build()
        body = im.CreateMessageReactionRequestBody.builder().reaction_type(kind).build()
        request = im.CreateMessageReactionRequest.builder().message_id(message_id).request_body(body).build()
        await self._call("reactions/create", lambda: self._client.im.v1.message_reaction.create(request))

    async def upload(self, name: str, data: bytes) -> str:
        """The key of a new file. Raises FeishuError."""

        def send() -> Any:  # noqa: ANN401 - the SDK has no types
            body = im.CreateFileRequestBody.builder().file_type("stream").file_name(name).file(io.BytesIO(data))
            return self._client.im.v1.file.create(im.CreateFileRequest.builder().request_body(body.build()).build())

        return str((await self._call("files/create", send)).data.file_key)

    async def replace_card(self, message_id: str, card: object) -> None:
        """Shows another card in a message of the bot. Raises FeishuError."""
        body = im.PatchMessageRequestBody.builder().content(orjson.dumps(card).decode()).build()
        request = im.PatchMessageRequest.builder().message_id(message_id).request_body(body).build()
        await self._call("messages/patch", lambda: self._client.im.v1.message.patch(request))

    async def _call(self, name: str, send: Callable[[], Any]) -> Any:  # noqa: ANN401 - the SDK has no types
        for pause_s in (*_PAUSES_S, None):
            failure: FeishuError
            try:
                answer = await self._threads.run(send)
            except (requests.RequestException, ValueError, exception.UnmarshalException) as error:
                failure = FeishuError(name, 0, type(error).__name__, may_pass=True)
            except exception.ObtainAccessTokenException as error:
                raise AppRefused(name, int(error.code or 0), str(error.msg)) from error
            else:
                if answer.success():
                    return answer
                status, code = answer.raw.status_code, int(answer.code or 0)
                may_pass = status >= 500 or status == 429 or code in _RATE_LIMITED
                failure = FeishuError(name, code, str(answer.msg or f"status {status}"), may_pass=may_pass)
            if pause_s is None or not failure.may_pass:
                raise failure
            await anyio.sleep(pause_s)
        raise AssertionError("the last try returns or raises")
