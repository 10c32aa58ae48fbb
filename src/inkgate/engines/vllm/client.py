"""Chat completions of one model server (vLLM, or any that speaks its protocol), streamed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

import anyio
import httpx
import orjson

from inkgate.engines.vllm.wire import Delta, EventLines, delta_of, garbled, upstream_error
from inkgate.errors import EngineFailed, InkgateError

_KEEP_ALIVE_S = 4.0
"""Idle connections are closed before vLLM does (uvicorn: 5 s): none is lost under a request that was just sent."""
_MAX_ERROR_BODY = 65_536


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a model server may take, in seconds.

    Attributes:
        connect: to accept a connection.
        first_token: from sending a request to the first token, its time in the server's queue included.
        progress: from one token to the next.
    """

    connect: float
    first_token: float
    progress: float


class ChatClient:
    """One model server. Used from one event loop by many tasks at once; `close` ends its connections."""

    def __init__(self, base_url: str, patience: Patience, api_key: str = "") -> None:
        """`base_url` ends in `/v1`, as clients of OpenAI have it."""
        self.base_url = base_url.rstrip("/")
        self._patience = patience
        headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {api_key}"} if api_key else {})
        self._http = httpx.AsyncClient(
            headers=headers,
            # Reading is bounded by `patience`, which tells waiting for the first token from a stalled stream.
            timeout=httpx.Timeout(None, connect=patience.connect),
            # How many are sent at once is for the engine to say.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=_KEEP_ALIVE_S),
            trust_env=False,  # a proxy for the way out is not on the way to the model server
        )

    async def close(self) -> None:
        """Closes all connections. Safe to call twice."""
        await self._http.aclose()

    async def models(self) -> tuple[str, ...]:
        """The names of the models that are served.

        Raises:
            EngineFailed: the server is not there, or is no such server.
        """
        try:
            with anyio.fail_after(self._patience.connect + self._patience.progress):
                answer = await self._http.get(f"{self.base_url}/models")
        except TimeoutError as error:
            raise EngineFailed("upstream_stalled", "The model server does not answer.") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._unreachable() from error
        if answer.status_code == 404:
            raise garbled("The model server's address has no /models; does it end in /v1?")
        if answer.status_code != 200:
            raise upstream_error(answer.status_code, answer.content)
        try:
            return tuple(str(model["id"]) for model in orjson.loads(answer.content)["data"])
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise garbled("The model server's list of models can't be read.") from error

    @asynccontextmanager
    async def stream(self, request: Mapping[str, object]) -> AsyncIterator[AsyncGenerator[Delta, None]]:
        """The deltas of the answer to `request`, a chat completion without `stream`, to be iterated once.

        Leaving the block before their end closes the connection, on which vLLM stops generating. The iterator ends
        only after the whole answer: every other end is an error.

        Raises:
            InputRejected: "upstream_rejected": the server refuses the request.
            EngineFailed: the server is not there, fails, stalls, breaks off, or talks nonsense.
        """
        body = orjson.dumps({**request, "stream": True, "stream_options": {"include_usage": True}})
        deadline = anyio.current_time() + self._patience.first_token
        response = await self._send(body, deadline)
        try:
            if response.status_code != 200:
                raise await self._refusal(response, str(request.get("model", "")), deadline)
            if "text/event-stream" not in response.headers.get("content-type", ""):
                raise garbled("The model server answered with something else than an event stream.")
            async with aclosing(self._deltas(response, deadline)) as deltas:
                yield deltas
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()

    async def _send(self, body: bytes, deadline: float) -> httpx.Response:
        request = self._http.build_request(
            "POST", f"{self.base_url}/chat/completions", content=body, headers={"Content-Type": "application/json"}
        )
        with anyio.CancelScope(deadline=deadline):
            try:
                return await self._http.send(request, stream=True)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise self._unreachable() from error
        raise _stalled("first token")

    async def _refusal(self, response: httpx.Response, model: str, deadline: float) -> InkgateError:
        """The error that a status other than 200 means."""
        body = b""
        with anyio.CancelScope(deadline=deadline):
            try:
                async for chunk in response.aiter_raw():
                    body += chunk
                    if len(body) > _MAX_ERROR_BODY:
                        break
            except httpx.HTTPError:  # what came of the body is enough: the status says what it is
                pass
        if response.status_code != 404:
            return upstream_error(response.status_code, body)
        served = await self.models()
        return upstream_error(404, body) if model in served else model_unknown(model, served)

    async def _deltas(self, response: httpx.Response, deadline: float) -> AsyncGenerator[Delta, None]:
        lines = EventLines()
        started = whole = done = False
        async with aclosing(response.aiter_raw()) as chunks:  # type: ignore[type-var]  # it is a generator
            while True:
                with anyio.CancelScope(deadline=deadline) as scope:
                    chunk = await _next(chunks, whole=whole)
                if scope.cancelled_caught:
                    raise _stalled("next token" if started else "first token")
                if chunk is None:
                    break
                for payload in lines.feed(chunk):
                    # After the end the rest is read too: a connection that was read to its end is used again.
                    done = done or payload == b"[DONE]"
                    if done:
                        continue
                    delta = delta_of(payload)
                    started = started or bool(delta.text or delta.tokens)
                    whole = whole or delta.finish_reason is not None
                    if started:
                        deadline = anyio.current_time() + self._patience.progress
                    yield delta
        if not whole:
            raise EngineFailed("upstream_cut_off", "The model server's answer ended before it was whole.")

    def _unreachable(self) -> EngineFailed:
        return EngineFailed("upstream_unreachable", "No connection to the model server.")


async def _next(chunks: AsyncIterator[bytes], *, whole: bool) -> bytes | None:
    """The next bytes; None at the end. `whole`: nothing that matters is to come.

    Raises:
        EngineFailed: "upstream_cut_off": the connection broke before that.
    """
    try:
        return await anext(chunks, None)
    except httpx.HTTPError as error:
        if whole:
            return None
        raise EngineFailed("upstream_cut_off", "The connection to the model server broke.") from error


def _stalled(awaited: str) -> EngineFailed:
    return EngineFailed("upstream_stalled", f"The {awaited} did not come in time.")


def model_unknown(model: str, served: tuple[str, ...]) -> EngineFailed:
    """That `model` is not among those served, and which are."""
    names = ", ".join(repr(name) for name in served[:8]) or "none"
    return EngineFailed("model_unknown", f"The model server has no model {model!r}; it has {names}.")
