"""A common proxy: passes sixteen requests at a time, and lets the others wait without limit.

python -m benchmarks.overload.semaphore_proxy PORT UPSTREAM
"""

from __future__ import annotations

import asyncio
import sys

import aiohttp
from aiohttp import web

AT_ONCE = 16


def app_for(upstream: str) -> web.Application:
    places = asyncio.Semaphore(AT_ONCE)
    session: list[aiohttp.ClientSession] = []

    async def passed(request: web.Request) -> web.StreamResponse:
        if not session:
            session.append(aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)))
        body = await request.read()
        headers = {"Content-Type": request.headers.get("Content-Type", "application/json")}
        async with (
            places,
            session[0].request(request.method, f"{upstream}{request.path}", data=body, headers=headers) as up,
        ):
            answer = web.StreamResponse(status=up.status, headers={"Content-Type": up.headers["Content-Type"]})
            await answer.prepare(request)
            async for chunk in up.content.iter_any():
                await answer.write(chunk)
            await answer.write_eof()
            return answer

    app = web.Application(client_max_size=2**26)
    app.router.add_route("*", "/{path:.*}", passed)
    return app


if __name__ == "__main__":
    web.run_app(app_for(sys.argv[2]), host="127.0.0.1", port=int(sys.argv[1]), print=None, handler_cancellation=True)
