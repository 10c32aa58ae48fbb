"""One model server (vLLM, or any that speaks its protocol) over pooled connections."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

import anyio
import httpx
import orjson

from inkgate.engines.vllm.upstream import Answer, Call
from inkgate.engines.vllm.wire import garbled, upstream_error
from inkgate.errors import EngineFailed

_KEEP_ALIVE_S = 4.0
"""Idle connections are closed before vLLM does (uvicorn: 5 s): none is lost under a request that was just sent."""
_GENERATED = re.compile(r"^vllm:generation_tokens_total(?:\{[^}]*\})? ([0-9.e+]+)$", re.MULTILINE)
_LIST_S = 10.0
"""A list of models takes milliseconds; a server that is busy with images answers late."""


class ModelServer:
    """An Upstream: the server at one address."""

    def __init__(self, base_url: str, connect_s: float, api_key: str = "") -> None:
        """`base_url` ends in `/v1`, as clients of OpenAI have it. `connect_s`: how long connecting may take."""
        self.base_url = base_url.rstrip("/")
        self._connect_s = connect_s
        headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {api_key}"} if api_key else {})
        self._http = httpx.AsyncClient(
            headers=headers,
            # Reading is bounded by those who ask: they know a first token from a stalled stream.
            timeout=httpx.Timeout(None, connect=connect_s),
            # How many are sent at once is for the engine to say.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=_KEEP_ALIVE_S),
            trust_env=False,  # a proxy for the way out is not on the way to the model server
        )

    async def close(self) -> None:
        """See Upstream."""
        await self._http.aclose()

    async def models(self) -> tuple[str, ...]:
        """See Upstream.

        Raises:
            InputRejected, EngineFailed: the server is not there, or is no such server.
        """
        if self._http.is_closed:
            raise _unreachable()
        try:
            with anyio.fail_after(self._connect_s + _LIST_S):
                answer = await self._http.get(f"{self.base_url}/models")
        except TimeoutError as error:
            raise EngineFailed("upstream_stalled", "The model server does not answer.") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _unreachable() from error
        if answer.status_code == 404:
            raise garbled("The model server's address has no /models; does it end in /v1?")
        if answer.status_code != 200:
            raise upstream_error(answer.status_code, answer.content)
        try:
            return tuple(str(model["id"]) for model in orjson.loads(answer.content)["data"])
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise garbled("The model server's list of models can't be read.") from error

    @asynccontextmanager
    async def send(self, call: Call) -> AsyncIterator[Answer]:
        """See Upstream."""
        if self._http.is_closed:
            raise _unreachable()
        request = self._http.build_request(
            "POST", f"{self.base_url}/{call.path}", content=call.body, headers={"Content-Type": "application/json"}
        )
        try:
            response = await self._http.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _unreachable() from error
        try:
            async with aclosing(_chunks(response)) as chunks:
                yield Answer(response.status_code, response.headers, chunks)
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()

    async def probe(self) -> None:
        """Nothing, when the server generates. `/health` would say so of a server that stands still, too.

        Raises:
            InputRejected, EngineFailed: it does not.
        """
        names = await self.models()
        if not names:
            raise garbled("The model server has no model.")
        message = {"role": "user", "content": "?"}
        body = orjson.dumps({"model": names[0], "messages": [message], "max_tokens": 1})
        async with self.send(Call(body)) as answer:
            if answer.status != 200:
                raise upstream_error(answer.status, b"".join([chunk async for chunk in answer.chunks]))
            async for _ in answer.chunks:
                pass

    async def tokens_generated(self) -> float | None:
        """How many tokens it has generated since it started; None where it doesn't say (vLLM does, at /metrics)."""
        if self._http.is_closed:
            return None
        try:
            answer = await self._http.get(f"{self.base_url.removesuffix('/v1')}/metrics")
        except (httpx.HTTPError, httpx.InvalidURL):
            return None
        counts = _GENERATED.findall(answer.text) if answer.status_code == 200 else []
        return sum(map(float, counts)) if counts else None


async def _chunks(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    try:
        async with aclosing(response.aiter_raw()) as chunks:  # type: ignore[type-var]  # it is a generator
            async for chunk in chunks:
                yield chunk
    except httpx.HTTPError as error:
        raise EngineFailed("upstream_cut_off", "The connection to the model server broke.") from error


def _unreachable() -> EngineFailed:
    return EngineFailed("upstream_unreachable", "No connection to the model server.")
