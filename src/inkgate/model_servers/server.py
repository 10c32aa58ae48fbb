"""One model server (vLLM, or any that speaks its protocol) over pooled connections."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import anyio
import cv2
import numpy as np
import orjson
import pybase64
import structlog
from aiohttp.payload import BytesPayload, Payload
from opentelemetry.trace import get_current_span

from inkgate.errors import EngineFailed
from inkgate.model_servers.metrics import ServerReading, parse_metrics
from inkgate.model_servers.protocol import (
    IGNORED_HEADER,
    error_body,
    garbled_error,
    refuses_mm_kwargs,
    without_mm_kwargs,
)
from inkgate.model_servers.refusals import upstream_error
from inkgate.model_servers.upstream import ModelAnswer, ModelCall, ServedModelName
from inkgate.telemetry.tracing import outgoing_headers

log = structlog.get_logger(__name__)

_KEEP_ALIVE_S = 4.0
"""Idle connections are closed before vLLM closes them (uvicorn: 5 s), so that no request is sent on a closing one."""
_LIST_S = 10.0
"""A list of models takes milliseconds, but a server that is busy with images responds late."""
_PROBE_TOKENS = 4
"""The first token of an answer needs no decoding step."""
_PROBE_SQUARES = 8
_PROBE_SIDE = 64
"""Pixels. The smallest size that all models accept: their image processors round to multiples of 28 or 32 pixels."""
_METRICS_S = 10.0
_METRICS_BYTES = 8 << 20
"""vLLM 0.32 has 57 kB for one engine."""
_REFUSAL_S = 600.0
"""Seconds for which a server that refused `mm_processor_kwargs` gets none: it may be restarted with another flag. A
server that refuses connections is being restarted."""


class _JsonPayload(BytesPayload):
    """A body of any size, written at once because it is already in memory. (BytesPayload itself warns from 1 MB on.)"""

    def __init__(self, value: bytes) -> None:
        Payload.__init__(self, value, content_type="application/json")
        self._size = len(value)


ImageRequest = Callable[[str], dict[str, object]]
"""Takes the URL of an image, returns the request to read it."""


@dataclass(slots=True)
class PageForm:
    """Holds how pages are requested. `request`: None until the model is known."""

    request: ImageRequest | None = None


class ModelServer:
    """An Upstream: the server at one address."""

    def __init__(
        self,
        base_url: str,
        connect_s: float,
        api_key: str = "",
        model_names: Sequence[str] = (),
        pages: PageForm | None = None,
    ) -> None:
        """`base_url` ends in `/v1`, as in OpenAI's clients. `connect_s`: timeout for connecting.

        `model_names`: possible names of the model that reads pages; without them it is the first model of the server.
        `pages`: how probes ask for their image, too.
        """
        self.base_url = base_url.rstrip("/")
        self._host = urlsplit(self.base_url).netloc.rpartition("@")[2]
        self._connect_s = connect_s
        self._model_names = tuple(model_names)
        self._pages = pages or PageForm()
        self._headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {api_key}"} if api_key else {})
        self._opened: aiohttp.ClientSession | None = None
        self._answers: set[aiohttp.ClientResponse] = set()
        self._closed = False
        self._without_mm_kwargs_until = -math.inf
        self._no_connection = ""

    def _session(self) -> aiohttp.ClientSession:
        """The connections, which belong to the first event loop that uses them.

        Raises:
            EngineFailed: "upstream_unreachable": they were closed.
        """
        if self._closed:
            raise self._unreachable()
        if self._opened is None:
            self._opened = aiohttp.ClientSession(
                headers=self._headers,
                # The engine limits how many requests are sent at once.
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_S),
                # The callers bound reading: they can tell a first token from a stalled stream.
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_s),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
            )
        return self._opened

    async def close(self) -> None:
        """Closes the connections. Reads in progress fail at once with a connection error."""
        self._closed = True
        for response in self._answers:
            response.close()
        if self._opened is not None:
            await self._opened.close()

    @asynccontextmanager
    async def _answer(self, begun: Awaitable[aiohttp.ClientResponse]) -> AsyncIterator[aiohttp.ClientResponse]:
        """An answer whose reading raises aiohttp's error once `close` is called.

        Without it, closing the session leaves a reader waiting for ever, or raises RuntimeError in one that starts
        reading.
        """
        response = await begun
        self._answers.add(response)
        try:
            if self._closed:
                response.close()
            yield response
        finally:
            self._answers.discard(response)
            response.close()  # a connection that was read to its end has been returned to the pool by then

    async def models(self) -> tuple[str, ...]:
        """Lists the server's models.

        Raises:
            InputRejected, EngineFailed: the server is unreachable or not a model server.
        """
        session = self._session()
        try:
            with anyio.fail_after(self._connect_s + _LIST_S):
                async with self._answer(session.get(f"{self.base_url}/models")) as response:
                    status, body = response.status, await response.read()
        except aiohttp.ClientError as error:
            raise self._unreachable(error) from error
        except TimeoutError as error:
            raise EngineFailed("upstream_stalled", "The model server does not respond.") from error
        if status == 404:
            raise garbled_error("The model server's address has no /models; does it end in /v1?")
        if status != 200:
            raise upstream_error(status, body)
        try:
            return tuple(_model_name(model) for model in orjson.loads(body)["data"])
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise garbled_error("The model server's list of models can't be read.") from error

    @asynccontextmanager
    async def send(self, call: ModelCall) -> AsyncIterator[ModelAnswer]:
        """Sends a call. A server that refuses `mm_processor_kwargs` gets the call without them; the answer's header
        `IGNORED_HEADER` names the omitted fields.
        """
        refusing = anyio.current_time() < self._without_mm_kwargs_until
        body, ignored = without_mm_kwargs(call.body) if refusing else (call.body, ())
        async with AsyncExitStack() as stack:
            answer = await stack.enter_async_context(self._posted(call, body, ignored))
            if answer.status == 400:
                begun = await error_body(answer)
                body, refused = without_mm_kwargs(body) if refuses_mm_kwargs(answer.status, begun) else (body, ())
                if refused:
                    log.info("model_server_refuses_mm_kwargs", url=self.base_url, left_out=refused)
                    self._without_mm_kwargs_until = anyio.current_time() + _REFUSAL_S
                    await stack.aclose()
                    answer = await stack.enter_async_context(self._posted(call, body, refused))
                else:
                    answer = replace(answer, chunks=_after(begun, answer.chunks))
            yield answer

    @asynccontextmanager
    async def _posted(self, call: ModelCall, body: bytes, ignored: tuple[str, ...]) -> AsyncIterator[ModelAnswer]:
        session = self._session()
        call.sent()
        get_current_span().add_event("sent", {"server.address": self._host})
        url = f"{self.base_url}/{call.path}"
        async with AsyncExitStack() as stack:
            begun = session.post(url, data=_JsonPayload(body), headers=outgoing_headers())
            try:
                response = await stack.enter_async_context(self._answer(begun))
            except aiohttp.ClientError as error:
                raise self._unreachable(error) from error
            self._no_connection = ""
            chunks = await stack.enter_async_context(aclosing(_chunks(response)))
            headers = response.headers.copy()
            headers.popall(IGNORED_HEADER, None)
            if ignored:
                headers[IGNORED_HEADER] = ", ".join(ignored)
            yield ModelAnswer(response.status, headers, chunks)

    async def probe(self) -> None:
        """Returns once the server has read a small image, requested as a page is, and generated a few tokens.

        `/health` succeeds on a stalled server, a text prompt on one whose image encoder fails, and a plain request on
        one that fails on a field of the requests for pages.

        Raises:
            InputRejected, EngineFailed: the probe failed.
        """
        served = await self.models()
        if not served:
            raise garbled_error("The model server serves no model.")
        model = next((name for name in self._model_names if name in served), served[0])
        async with self.send(ModelCall(orjson.dumps(self._probe_request(model)))) as answer:
            if answer.status != 200:
                raise upstream_error(answer.status, b"".join([chunk async for chunk in answer.chunks]))
            async for _ in answer.chunks:
                pass

    def _probe_request(self, model: str) -> dict[str, object]:
        if self._pages.request is not None:
            request = self._pages.request(probe_image())
            limit = "max_completion_tokens" if "max_completion_tokens" in request else "max_tokens"
            return request | {"model": model, limit: _PROBE_TOKENS}
        image = {"type": "image_url", "image_url": {"url": probe_image()}}
        message = {"role": "user", "content": [image, {"type": "text", "text": "OCR:"}]}
        return {"model": model, "messages": [message], "max_tokens": _PROBE_TOKENS}

    async def readings(self) -> ServerReading | None:
        """The server's metrics at /metrics; None if it does not respond in time or they are not vLLM's."""
        with anyio.move_on_after(self._connect_s + _METRICS_S):
            try:
                begun = self._session().get(f"{self.base_url.removesuffix('/v1')}/metrics")
                async with self._answer(begun) as response:
                    if response.status != 200:
                        return None
                    text = bytearray()
                    async for chunk in response.content.iter_any():
                        text += chunk
                        if len(text) > _METRICS_BYTES:
                            return None
                return parse_metrics(text.decode(errors="replace"))
            except aiohttp.ClientError as error:
                self._unreachable(error)
            except EngineFailed:
                pass
        return None

    def _unreachable(self, error: aiohttp.ClientError | None = None) -> EngineFailed:
        """The error. Also forgets what is known of the server, which may be another one next time. Logs why it can't be
        connected to, once until that changes.
        """
        self._without_mm_kwargs_until = -math.inf
        cause = error.strerror if isinstance(error, aiohttp.ClientConnectorError) else ""
        if cause and cause != self._no_connection:
            log.warning("model_server_unreachable", server=self._host, cause=cause)
            self._no_connection = cause
        return EngineFailed("upstream_unreachable", "Can't connect to the model server.")


def probe_image() -> str:
    """The data URL of a small PNG of grey squares, different each time: a server that has seen an image answers from
    its caches without running the image encoder.
    """
    squares = np.random.default_rng().integers(0, 256, (_PROBE_SQUARES, _PROBE_SQUARES), np.uint8)
    side = _PROBE_SIDE // _PROBE_SQUARES
    image = cv2.cvtColor(squares.repeat(side, axis=0).repeat(side, axis=1), cv2.COLOR_GRAY2BGR)
    data = cv2.imencode(".png", image, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1]
    return f"data:image/png;base64,{pybase64.b64encode_as_string(data.data)}"


async def _after(begun: bytes, rest: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    yield begun
    async for chunk in rest:
        yield chunk


async def _chunks(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    try:
        async for chunk in response.content.iter_any():
            yield chunk
    except aiohttp.ClientError as error:
        raise EngineFailed("upstream_cut_off", "The connection to the model server broke.") from error


def _model_name(model: Mapping[str, Any]) -> ServedModelName:
    longest = model.get("max_model_len")
    return ServedModelName(str(model["id"]), longest if isinstance(longest, int) else None)
