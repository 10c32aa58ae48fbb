"""The service under load: its address, and the protocol that it speaks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import orjson

from inkgate_bench.load import LoadImpossible

PROMPT = "OCR:"
DETECT_TIMEOUT_S = 10.0
_CHAT = "/v1/chat/completions"


class ProtocolName(StrEnum):
    """OCR: inkgate's own, a form with a file. SIMPLE: JSON {"image": base64}. CHAT: OpenAI's, with an image."""

    OCR = "ocr"
    SIMPLE = "simple"
    CHAT = "chat"


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """What a user says about a service beside its address.

    Attributes:
        key: sent as a bearer token; empty for none.
        protocol: None: it is detected.
        model, prompt, max_tokens: for the chat protocol; `model` empty: the first that the service lists.
    """

    key: str = ""
    protocol: ProtocolName | None = None
    model: str = ""
    prompt: str = PROMPT
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A service.

    Attributes:
        url: where requests are posted, without a key in it.
        key: sent as a bearer token; empty for none.
        model, prompt, max_tokens: for the chat protocol; `max_tokens` None: the server's default.
        task: for the ocr protocol, what to read; empty: the service's default.
    """

    url: str
    protocol: ProtocolName
    key: str = ""
    model: str = ""
    prompt: str = PROMPT
    max_tokens: int | None = None
    task: str = ""

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"


async def detect(url: str, options: TargetOptions) -> Target:
    """The service at `url`, in the protocol of `options` or else the one that it turns out to speak.

    A path in `url` is where requests go (`/v1` stands for its chat completions); without one they go to the protocol's
    own. inkgate is recognized by its OpenAPI description, chat services by their list of models; any other service is
    taken to speak the simple protocol.

    Raises:
        LoadImpossible: `url` is no address, nothing listens there, the key is wrong, or there is no model.
    """
    origin, path = _split(url)
    key, model = options.key, options.model
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(DETECT_TIMEOUT_S)) as session:
        spoken = options.protocol or _protocol_by_path(path) or await _protocol_of(session, origin, key)
        if path in {"/v1", _CHAT.removesuffix("/completions")}:
            path = ""
        if spoken is ProtocolName.CHAT and not model:
            model = await _first_model(session, origin, key)
    address = origin + (path or (_CHAT if spoken is ProtocolName.CHAT else "/ocr"))
    return Target(address, spoken, key, model, options.prompt, options.max_tokens)


def _split(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url if "//" in url else f"http://{url}")
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid:
        raise LoadImpossible(f"{url!r} is not an address such as http://127.0.0.1:7860.")
    if "@" in parts.netloc or parts.query:  # the address is in the report, and these may be secret
        raise LoadImpossible("Leave user, password and query out of the address; give a key with --key.")
    return f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")


def _protocol_by_path(path: str) -> ProtocolName | None:
    return ProtocolName.CHAT if path == "/v1" or "/chat" in path else None


async def _protocol_of(session: aiohttp.ClientSession, origin: str, key: str) -> ProtocolName:
    _, described = await _get_json(session, f"{origin}/openapi.json", key)
    about = described.get("info")
    if isinstance(about, dict) and about.get("title") == "inkgate":
        return ProtocolName.OCR
    status, listed = await _get_json(session, f"{origin}/v1/models", key)
    if status in {401, 403} or (status == 200 and isinstance(listed.get("data"), list)):
        return ProtocolName.CHAT
    return ProtocolName.SIMPLE


async def _first_model(session: aiohttp.ClientSession, origin: str, key: str) -> str:
    status, listed = await _get_json(session, f"{origin}/v1/models", key)
    if status in {401, 403}:
        raise key_error(origin)
    models = listed.get("data")
    if not isinstance(models, list) or not models:
        raise LoadImpossible(f"{origin}/v1/models lists no model: name one with --model.")
    return str(models[0].get("id", "")) if isinstance(models[0], dict) else str(models[0])


async def _get_json(session: aiohttp.ClientSession, url: str, key: str) -> tuple[int, dict[str, Any]]:
    """Status and body; an empty body where it is no JSON object."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        async with session.get(url, headers=headers) as response:
            body = await response.read()
    except (aiohttp.ClientError, OSError) as error:
        raise _connection_error(_split(url)[0], error) from error
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        parsed = {}
    return response.status, parsed if isinstance(parsed, dict) else {}


def key_error(url: str) -> LoadImpossible:
    """The error where an API key is missing or wrong."""
    return LoadImpossible(f"{url} requires a valid API key: give one with --key.")


def _connection_error(url: str, error: BaseException) -> LoadImpossible:
    if isinstance(error, TimeoutError):
        return LoadImpossible(f"{url} does not respond.")
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return LoadImpossible(f"Nothing listens at {url} ({why}). Is the service running?")
