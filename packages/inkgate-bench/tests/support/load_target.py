"""A small OCR service in this event loop with scripted responses to load tests."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
from aiohttp import web

from inkgate_bench.load.pages import LoadPage
from inkgate_bench.load.plan import Arrivals, Load, Plan
from inkgate_bench.load.results import Axis
from inkgate_bench.load.run import LoadResult, run
from inkgate_bench.load.target import ProtocolName, Target
from support.api_client import png

PAGE = LoadPage("page.png", png(), "image/png", 1)
Reply = Callable[[web.Request, int], Awaitable[web.StreamResponse]]
"""Responds to a request; the number counts requests from 1 in order of arrival."""


@dataclass
class LoadTarget:
    """The server at `url`, and its requests."""

    url: str = ""
    heads: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def load(self, protocol: ProtocolName, plan: Plan) -> Load:
        path = "/v1/chat/completions" if protocol is ProtocolName.CHAT else "/ocr"
        return Load(Target(self.url + path, protocol, model="reader"), (PAGE,), plan)

    async def put_on(self, plan: Plan, protocol: ProtocolName = ProtocolName.SIMPLE) -> LoadResult:
        """The output of a load test."""
        with anyio.fail_after(60):
            return await run(self.load(protocol, plan))


def open_plan(rate: float = 100, seconds: float = 0.3, **more: object) -> Plan:
    """A short open-loop plan with equal intervals, without warm-up."""
    asked: dict[str, Any] = {"warm_s": 0.0, "arrivals": Arrivals.CONSTANT} | more
    return Plan(Axis.RATE, rate, seconds, **asked)


def closed_plan(clients: float = 2, seconds: float = 0.3, **more: object) -> Plan:
    """A short closed-loop plan without warm-up."""
    asked: dict[str, Any] = {"warm_s": 0.0} | more
    return Plan(Axis.CONCURRENCY, clients, seconds, **asked)


async def text(_request: web.Request, number: int) -> web.StreamResponse:
    """A complete response."""
    return web.json_response({"text": f"page {number}"})


def refusal(status: int, code: str, retry_after: str | None = None) -> Reply:
    """A refusal as inkgate sends it."""

    async def reply(_request: web.Request, _number: int) -> web.StreamResponse:
        headers = {} if retry_after is None else {"Retry-After": retry_after}
        problem = json.dumps({"status": status, "code": code})
        return web.Response(text=problem, status=status, headers=headers, content_type="application/problem+json")

    return reply


def stream(*events: str, breaks: bool = False) -> Reply:
    """A chat completion's events; `breaks`: the connection breaks after them."""

    async def reply(request: web.Request, _number: int) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in events:
            await response.write(f"data: {event}\n\n".encode())
        if breaks and request.transport is not None:
            request.transport.abort()
        return response

    return reply


@asynccontextmanager
async def load_target(reply: Reply = text, models: tuple[str, ...] = ()) -> AsyncIterator[LoadTarget]:
    """A service that responds to any POST with `reply`; with `models` it lists them as chat services do."""
    target = LoadTarget()

    async def post(request: web.Request) -> web.StreamResponse:
        target.heads.append(dict(request.headers))
        target.bodies.append(await request.read())
        return await reply(request, len(target.bodies))

    async def listed(_request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": name} for name in models]}, status=200 if models else 404)

    app = web.Application(client_max_size=1 << 24)
    app.router.add_post("/{path:.*}", post)
    app.router.add_get("/v1/models", listed)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    target.url = f"http://{host}:{port}"
    try:
        yield target
    finally:
        await runner.cleanup()
