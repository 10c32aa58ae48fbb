"""A double of Feishu for one app: the calls that the bot makes, and the long connection in the SDK's own frames."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import anyio
from aiohttp import BodyPartReader, WSMsgType, web

from inkgate_feishu import sdk

Json = dict[str, Any]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

Frame = sdk.ws.Frame
BOT = "ou_bot"
PERSON = "ou_anna"


@dataclass
class Sent:
    """A message of the bot: a reply to `parent` with `kind` and `content`."""

    id: str
    parent: str
    kind: str
    content: Any

    @property
    def text(self) -> str:
        """Its text in English, of a `post`."""
        post = self.content.get("en_us") or self.content["zh_cn"]
        return "\n".join(part["text"] for row in post["content"] for part in row)


@dataclass
class FeishuDouble:
    """What Feishu has and does.

    Attributes:
        url: of the server.
        resources: bytes by the ID of the message and the key of the file.
        messages: by ID, as GET gives them.
        sent: replies of the bot.
        cards: what was shown instead of a card, by the ID of its message.
        uploads: files that the bot sent, by key.
        answers: codes of its answers to events, with the answer to a card's button.
        reactions: of the bot: ID of the message, and emoji.
        refuse: how many of the next connections are refused.
        failing: how many of the next calls fail, as Feishu's do now and then.
        published: whether the app has a bot that can be asked for.
    """

    app: str = field(default_factory=lambda: f"cli_{uuid4().hex[:12]}")
    secret: str = "app-secret-of-the-test"  # noqa: S105
    url: str = ""
    resources: dict[tuple[str, str], bytes] = field(default_factory=dict)
    messages: dict[str, dict[str, Any]] = field(default_factory=dict)
    sent: list[Sent] = field(default_factory=list)
    cards: dict[str, list[Any]] = field(default_factory=dict)
    uploads: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    reactions: list[tuple[str, str]] = field(default_factory=list)
    answers: list[tuple[int, Any]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    connections: int = 0
    refuse: int = 0
    failing: int = 0
    published: bool = True
    changed: anyio.Event = field(default_factory=anyio.Event)
    _socket: web.WebSocketResponse | None = None

    async def until(self, condition: Callable[[], object]) -> None:
        """Waits until the condition holds."""
        while not condition():
            await self.changed.wait()

    def _tell(self) -> None:
        self.changed.set()
        self.changed = anyio.Event()

    async def push(self, kind: str, event: Json) -> tuple[int, Any]:
        """Sends an event over the connection, in two frames, and returns the bot's answer."""
        await self.until(lambda: self._socket is not None)
        assert self._socket is not None
        header = {"event_id": uuid4().hex, "event_type": kind, "app_id": self.app, "token": ""}
        payload = json.dumps({"schema": "2.0", "header": header, "event": event}).encode()
        number, message_id = len(self.answers), uuid4().hex
        for index, part in enumerate((payload[:100], payload[100:])):
            frame = Frame(service=1, method=1, SeqID=index, LogID=1, payload=part)
            values = {"type": "event", "message_id": message_id, "trace_id": "t", "sum": "2", "seq": str(index)}
            for key, value in values.items():
                frame.headers.add(key=key, value=value)
            await self._socket.send_bytes(frame.SerializeToString())
        await self.until(lambda: len(self.answers) > number)
        return self.answers[number]

    async def message(self, content: Json, kind: str = "image", **more: Any) -> str:  # noqa: ANN401 - JSON
        """A person's message to the bot; its ID."""
        message_id = str(more.pop("message_id", "") or f"om_{uuid4().hex}")
        message = {"message_id": message_id, "chat_id": "oc_direct", "chat_type": "p2p", "message_type": kind}
        message |= {"content": json.dumps(content), **more}
        sender = {"sender_id": {"open_id": PERSON}, "sender_type": "user"}
        status, _ = await self.push("im.message.receive_v1", {"sender": sender, "message": message})
        assert status == 200
        return message_id

    async def photo(self, data: bytes, **more: Any) -> str:  # noqa: ANN401
        """A person's photo; the ID of the message."""
        message_id = f"om_{uuid4().hex}"
        self.resources[message_id, "img_1"] = data
        return await self.message({"image_key": "img_1"}, message_id=message_id, **more)

    async def press(self, sent: Sent, button: Json, form: dict[str, str] | None = None, **more: str) -> Json:
        """A press of a button; the bot's answer."""
        [behaviour] = button["behaviors"]
        action = {"tag": "button", "value": behaviour["value"], "name": button.get("name"), "form_value": form or {}}
        context = {"open_message_id": sent.id, "open_chat_id": "oc_direct", **more}
        event = {"operator": {"open_id": PERSON}, "token": "c-1", "action": action, "context": context}
        status, answer = await self.push("card.action.trigger", event)
        assert status == 200
        found: Json = answer
        return found

    async def drop(self) -> None:
        """Closes the connection, as Feishu does now and then."""
        assert self._socket is not None
        await self._socket.close()

    def routes(self) -> web.Application:
        """The server."""
        app = web.Application(client_max_size=64_000_000, middlewares=[self._guard])
        app.router.add_post("/callback/ws/endpoint", self._endpoint)
        app.router.add_get("/ws", self._connect)
        app.router.add_post("/open-apis/auth/v3/tenant_access_token/internal", self._token)
        app.router.add_get("/open-apis/bot/v3/info", self._info)
        app.router.add_get("/open-apis/im/v1/messages/{id}/resources/{key}", self._resource)
        app.router.add_get("/open-apis/im/v1/messages/{id}", self._message)
        app.router.add_post("/open-apis/im/v1/messages/{id}/reply", self._reply)
        app.router.add_post("/open-apis/im/v1/messages/{id}/reactions", self._react)
        app.router.add_patch("/open-apis/im/v1/messages/{id}", self._patch)
        app.router.add_post("/open-apis/im/v1/files", self._upload)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        free = ("/callback", "/ws", "/open-apis/auth")
        if not request.path.startswith(free) and request.headers.get("Authorization") != f"Bearer t-{self.app}":
            return web.json_response({"code": 99991663, "msg": "invalid access token"}, status=400)
        if self.failing and request.path.startswith("/open-apis/im"):
            self.failing -= 1
            return web.json_response({"code": 2200, "msg": "internal"}, status=500)
        answer = await handler(request)
        self._tell()
        return answer

    async def _endpoint(self, request: web.Request) -> web.Response:
        body = await request.json()
        if self.refuse or (body["AppID"], body["AppSecret"]) != (self.app, self.secret):
            self.refuse = max(0, self.refuse - 1)
            return web.json_response({"code": 1000040345, "msg": "app unavailable"})
        config = {"ReconnectCount": -1, "ReconnectInterval": 0, "ReconnectNonce": 0, "PingInterval": 120}
        url = f"ws{self.url[4:]}/ws?device_id=1&service_id=2&access_key=the-access-key&ticket=the-ticket"
        return web.json_response({"code": 0, "msg": "", "data": {"URL": url, "ClientConfig": config}})

    async def _connect(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.connections += 1
        self._socket = socket
        self._tell()
        async for packet in socket:
            if packet.type is not WSMsgType.BINARY:
                break
            frame = Frame()
            frame.ParseFromString(packet.data)
            if frame.method == 1:
                answer = json.loads(frame.payload)
                data = answer.get("data")
                self.answers.append((answer["code"], json.loads(b64decode(data)) if data else None))
                self._tell()
        self._socket = None
        return socket

    async def _token(self, request: web.Request) -> web.Response:
        body = await request.json()
        if (body["app_id"], body["app_secret"]) != (self.app, self.secret):
            return web.json_response({"code": 10014, "msg": "app secret invalid"})
        return web.json_response({"code": 0, "msg": "ok", "tenant_access_token": f"t-{self.app}", "expire": 7200})

    async def _info(self, request: web.Request) -> web.Response:
        if not self.published:
            return web.json_response({"code": 11205, "msg": "app do not have bot"})
        return web.json_response({"code": 0, "msg": "ok", "bot": {"open_id": BOT, "app_name": "inkgate"}})

    async def _resource(self, request: web.Request) -> web.Response:
        data = self.resources.get((request.match_info["id"], request.match_info["key"]))
        if data is None:
            return web.json_response({"code": 234003, "msg": "File not in message."}, status=400)
        assert request.query["type"] in ("image", "file")
        return web.Response(body=data, content_type="application/octet-stream")

    async def _message(self, request: web.Request) -> web.Response:
        found = self.messages.get(request.match_info["id"])
        return web.json_response({"code": 0, "msg": "success", "data": {"items": [found] if found else []}})

    async def _reply(self, request: web.Request) -> web.Response:
        body = await request.json()
        if len(body["content"].encode()) > 30_000:
            return web.json_response({"code": 230025, "msg": "The length of the message content reaches its limit."})
        sent = Sent(f"om_{uuid4().hex}", request.match_info["id"], body["msg_type"], json.loads(body["content"]))
        if not body.get("uuid") or body["uuid"] not in self.keys:
            self.keys.add(body.get("uuid") or "")
            self.sent.append(sent)
        return web.json_response({"code": 0, "msg": "success", "data": {"message_id": sent.id}})

    async def _react(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.reactions.append((request.match_info["id"], body["reaction_type"]["emoji_type"]))
        return web.json_response({"code": 0, "msg": "success", "data": {}})

    async def _patch(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.cards.setdefault(request.match_info["id"], []).append(json.loads(body["content"]))
        return web.json_response({"code": 0, "msg": "success", "data": {}})

    async def _upload(self, request: web.Request) -> web.Response:
        fields: dict[str, bytes] = {}
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            fields[part.name or ""] = bytes(await part.read())
        key = f"file_{uuid4().hex}"
        self.uploads[key] = (fields["file_name"].decode(), fields["file"])
        return web.json_response({"code": 0, "msg": "success", "data": {"file_key": key}})


@asynccontextmanager
async def running_feishu() -> AsyncIterator[FeishuDouble]:
    """The double, on a free port of loopback."""
    double = FeishuDouble()
    runner = web.AppRunner(double.routes(), shutdown_timeout=1, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    [address] = runner.addresses
    double.url = f"http://127.0.0.1:{address[1]}"
    try:
        yield double
    finally:
        await runner.cleanup()


def elements(card: dict[str, Any], tag: str) -> list[dict[str, Any]]:
    """The parts of a card with a tag, in order."""
    found: list[dict[str, Any]] = []

    def walk(part: object) -> None:
        if isinstance(part, dict):
            if part.get("tag") == tag:
                found.append(part)
            for value in part.values():
                walk(value)
        elif isinstance(part, list):
            for value in part:
                walk(value)

    walk(card)
    return found


def shown(card: dict[str, Any]) -> list[str]:
    """The English texts of a card's body."""
    return [part["text"]["content"] for part in elements(card["body"], "div")]
