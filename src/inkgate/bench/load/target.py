"""Where load is sent: which address, in which protocol."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import orjson

from inkgate.bench.load.impossible import LoadImpossible

PROMPT = "OCR:"
ASKED_S = 10.0
"""How long a service may take to say what it is."""
_CHAT = "/v1/chat/completions"


class ProtocolName(StrEnum):
    """OCR: inkgate's own, a form with a file. SIMPLE: JSON {"image": base64}. CHAT: OpenAI's, with an image."""

    OCR = "ocr"
    SIMPLE = "simple"
    CHAT = "chat"


@dataclass(frozen=True, slots=True)
class Target:
    """A service.

    Attributes:
        url: to which requests are posted, without a key in it.
        key: sent as a bearer token; empty where none is asked for.
        model, prompt, max_tokens: of a chat completion; `max_tokens` None: as the server says.
    """

    url: str
    protocol: ProtocolName
    key: str = ""
    model: str = ""
    prompt: str = PROMPT
    max_tokens: int | None = None

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"


@dataclass(frozen=True, slots=True)
class _Said:
    status: int
    body: dict[str, Any]


async def detect(url: str, key: str = "", *, protocol: ProtocolName | None = None, model: str = "") -> Target:
    """The service at `url`, in the protocol that it speaks, or in the one that is asked for.

    With a path in `url` that is where requests go (`/v1` stands for its chat completions); without one they go where
    the protocol has them. inkgate is known by its description, other chat services by their list of models; what is
    neither is taken for the simple protocol.

    Raises:
        LoadImpossible: it is no address, nobody listens there, the key is wrong, or there is no model.
    """
    origin, path = _split(url)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(ASKED_S)) as session:
        found = protocol or _by_path(path) or await _by_asking(session, origin, key)
        if path in {"/v1", _CHAT[: -len("/completions")]}:
            path = ""
        if found is ProtocolName.CHAT and not model:
            model = await _only_model(session, origin, key)
    return Target(origin + (path or (_CHAT if found is ProtocolName.CHAT else "/ocr")), found, key, model)


def _split(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        named = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        named = False
    if not named:
        raise LoadImpossible(f"{url!r} is no address: give one such as http://127.0.0.1:7860.")
    if "@" in parts.netloc or parts.query:  # the address is in the report, and what stands there may be secret
        raise LoadImpossible("Give an address without user, password or query; a key is given with --key.")
    return f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")


def _by_path(path: str) -> ProtocolName | None:
    return ProtocolName.CHAT if path == "/v1" or "/chat" in path else None


async def _by_asking(session: aiohttp.ClientSession, origin: str, key: str) -> ProtocolName:
    described = await _get(session, f"{origin}/openapi.json", key)
    about = described.body.get("info")
    if isinstance(about, dict) and about.get("title") == "inkgate":
        return ProtocolName.OCR
    listed = await _get(session, f"{origin}/v1/models", key)
    if listed.status in {401, 403} or (listed.status == 200 and isinstance(listed.body.get("data"), list)):
        return ProtocolName.CHAT
    return ProtocolName.SIMPLE


async def _only_model(session: aiohttp.ClientSession, origin: str, key: str) -> str:
    listed = await _get(session, f"{origin}/v1/models", key)
    if listed.status in {401, 403}:
        raise denied(origin)
    models = listed.body.get("data")
    if not isinstance(models, list) or not models:
        raise LoadImpossible(f"{origin}/v1/models lists no model: say which one to ask.")
    return str(models[0].get("id", "")) if isinstance(models[0], dict) else str(models[0])


async def _get(session: aiohttp.ClientSession, url: str, key: str) -> _Said:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with session.get(url, headers=headers) as answer:
            body = await answer.read()
            status = answer.status
    except (aiohttp.ClientError, OSError) as error:
        raise nobody(_split(url)[0], error) from error
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        said = {}
    return _Said(status, said if isinstance(said, dict) else {})


def denied(url: str) -> LoadImpossible:
    """The error where a key is asked for."""
    return LoadImpossible(f"{url} asks for an API key, and this is none of its keys. Give one with --key.")


def nobody(url: str, error: BaseException) -> LoadImpossible:
    """The error where there was no answer at all."""
    if isinstance(error, TimeoutError):
        return LoadImpossible(f"{url} does not answer.")
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return LoadImpossible(f"Nobody listens at {url} ({why}). Is the service running?")
