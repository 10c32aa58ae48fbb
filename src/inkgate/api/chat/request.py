"""Parses a chat request for what inkgate needs to forward it, and inlines remote media.

The bytes stay unchanged except for what fields.py removes, and for media URLs: inkgate fetches them under the `fetch`
settings; a model server never does. A model server is inside the network and fetches any URL it is given. So only what
can't be a URL is forwarded unchanged: texts, data: URLs and strings without a colon (base64). Any other string in a
part, whatever its type and key, is treated as a URL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import orjson
import pybase64

from inkgate.api.chat.fields import (
    MM_KWARGS,
    Changes,
    answer_tokens,
    bounded_pixels,
    changes_to,
    check_fields,
    prompt_characters,
)
from inkgate.api.chat.images import UNKNOWN_MODEL, image_tokens
from inkgate.api.http.decoding import BodyThreads, parse_json
from inkgate.api.http.sources import Sources
from inkgate.caller import Caller
from inkgate.engines.vlm.images import ImageLimits
from inkgate.errors import InputRejected
from inkgate.model_servers.upstream import ModelCall

MAX_REMOTE = 16
"""Maximum number of URLs fetched for one request."""
_TEXTS = frozenset({"text", "thinking", "refusal", "content", "name", "uuid", "id", "type", "role", "detail", "format"})
"""Keys of parts whose strings are texts and names, from which model servers load nothing."""


@dataclass(frozen=True, slots=True)
class RemoteMedia:
    """A URL in a part of a message, and its position."""

    url: str
    holder: dict[str, Any] | list[Any]
    key: Any

    def replace(self, url: str) -> None:
        self.holder[self.key] = url


def remote_media(messages: object) -> Iterator[RemoteMedia]:
    """The remote URLs in the parts of `messages`."""
    waiting: list[tuple[object, bool]] = [
        (message.get("content"), True)
        for message in (messages if isinstance(messages, list) else ())
        if isinstance(message, dict)
    ]
    while waiting:
        node, is_text = waiting.pop()
        if not isinstance(node, dict | list):
            continue
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            text = key in _TEXTS if isinstance(node, dict) else is_text
            if not isinstance(value, str):
                waiting.append((value, text))
            elif not text and ":" in value and value[:5].lower() != "data:":
                yield RemoteMedia(value, node, key)


async def with_media_inlined(
    body: bytes, sources: Sources, caller: Caller, threads: BodyThreads, max_bytes: int
) -> bytes:
    """`body` with each remote URL replaced by a data: URL: the same values, serialized again.

    Raises:
        InputRejected: "url_forbidden", "url_unreachable" or another of `Sources.from_url`; "options_invalid": there are
            too many; "body_too_large": with the fetched files, it has more than `max_bytes`.
    """
    fields: Any = await threads.run(caller, len(body), parse_json, body)
    found = list(remote_media(fields.get("messages")))
    if len(found) > MAX_REMOTE:
        raise InputRejected(
            "options_invalid", f"The request has more than {MAX_REMOTE} URLs of images and other media."
        )
    size = len(body)
    for media in found:
        data = (await sources.from_url(media.url, caller)).data
        size += len(data) * 4 // 3
        if size > max_bytes:
            raise InputRejected(
                "body_too_large",
                "Together with the files at its URLs, the request is larger than the maximum body size.",
            )
        media.replace(await threads.run(caller, len(data), _data_url, data))
    return await threads.run(caller, size, orjson.dumps, fields)


def _data_url(data: bytes) -> str:
    """Encodes `data` as a data: URL. Blocking."""
    return "data:application/octet-stream;base64," + pybase64.b64encode_as_string(data)


_CHARACTERS_PER_TOKEN = 4
_SAMPLES, _SAMPLE = 16, 256
_FIELD = b'"model"'
_DATA_URL = b'"data:'
_CUT = b"data:"
"""Replaces a large data: URL."""
_BEFORE_A_STRING = frozenset((b":", b" ", b",", b"[", b"\t", b"\n", b"\r"))
_BACKSLASH = ord("\\")
_LARGE = 2048
MAX_IMAGES = 999
"""Images of a request: vLLM's default limit, and few enough to check each on the event loop."""
_DATA_URLS = 1000
"""Data: URLs of a request that are checked: a text may contain their beginning a million times."""
_KIND = 80
"""Characters of a model's name that identify it."""

_NO_CHANGES = Changes({})


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A client's chat completion request.

    Attributes:
        body: the JSON as received.
        model: empty if the client named none.
        stream: whether the response is an event stream.
        prompt_tokens: estimate for text and images, used for load balancing only.
        answer_tokens: maximum tokens of all completions together.
        key: equal for equal images; empty without images.
        remote: whether parts have remote URLs.
        changes: what is changed before forwarding.
    """

    body: bytes
    model: str
    stream: bool
    prompt_tokens: int
    answer_tokens: int
    key: bytes
    remote: bool = False
    changes: Changes = _NO_CHANGES

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.answer_tokens

    def call(self, sent: Callable[[], None]) -> ModelCall:
        """The request for a model server."""
        return ModelCall(
            self.body,
            prompt_tokens=self.prompt_tokens,
            answer_tokens=self.answer_tokens,
            kind=f"chat {self.model[:_KIND]} {self.prompt_tokens.bit_length()} {self.answer_tokens.bit_length()}",
            key=self.key,
            sent=sent,
        )


def parse_chat(body: bytes, limits: ImageLimits = UNKNOWN_MODEL) -> ChatRequest:
    """Parses `body`. The model server judges the fields that inkgate does not need. `limits`: of the images.

    Raises:
        InputRejected: it is not a JSON object, has too many images, asks for too many completions, or has a field that
            is not accepted.
    """
    rest, images = _without_large_data_urls(body)
    fields = _parsed(rest)
    check_fields(fields)
    characters, parts = prompt_characters(fields), 0
    for part in _parts(fields.get("messages")):
        if isinstance(part, str):
            characters += len(part)
            continue
        parts += 1
        if parts > MAX_IMAGES:
            raise InputRejected("options_invalid", f"The request has more than {MAX_IMAGES} images.")
        if (url := _image(part)) != _CUT:
            images.append(url)
    pixels = bounded_pixels(fields.get(MM_KWARGS), limits)
    tokens = characters // _CHARACTERS_PER_TOKEN + image_tokens(images, limits, pixels)
    model = fields.get("model")
    return ChatRequest(
        body,
        model=model if isinstance(model, str) else "",
        stream=fields.get("stream") is True,
        prompt_tokens=tokens,
        answer_tokens=answer_tokens(fields),
        key=_key(images),
        remote=any(remote_media(fields.get("messages"))),
        changes=changes_to(fields, limits),
    )


def apply_changes(requested: ChatRequest) -> ChatRequest:
    """The request as it is forwarded: the same values serialized again, except for its `changes`. Blocking."""
    return replace(requested, body=orjson.dumps(requested.changes.apply(_parsed(requested.body))))


def _without_large_data_urls(body: bytes) -> tuple[bytes, list[memoryview]]:
    """`body` with every large data: URL shortened to `data:`, and the removed strings.

    Parsing 1 MB of base64 takes 0.2 ms and holds the interpreter's lock, so a thread would not help. Finding its end
    takes a tenth of that.
    """
    pieces: list[bytes] = []
    cut: list[memoryview] = []
    done = 0
    start = body.find(_DATA_URL)
    for _ in range(_DATA_URLS):
        if start < 0:
            break
        inside = start + len(_DATA_URL)
        end = body.find(b'"', inside)
        # A quote that opens a string follows one of these; within a string it follows a backslash.
        opens = body[start - 1 : start] in _BEFORE_A_STRING
        if opens and end - inside > _LARGE and body[end - 1] != _BACKSLASH:
            pieces.append(body[done:inside])
            cut.append(memoryview(body)[inside:end])
            done = inside = end
        start = body.find(_DATA_URL, inside)
    return (b"".join((*pieces, body[done:])) if cut else body), cut


def rename_model(body: bytes, old: str, new: str) -> bytes:
    """`body` with the `model` `old` replaced by `new`, and every other byte unchanged.

    If the bytes alone don't identify the field (a nested object has another `"model"`, or the value has escapes), the
    same values serialized again.
    """
    at = body.find(_FIELD)
    if at >= 0 and body.rfind(_FIELD) == at:
        value = re.compile(rb"\s*:\s*(" + re.escape(orjson.dumps(old)) + rb")").match(body, at + len(_FIELD))
        if value is not None:
            return b"".join((body[: value.start(1)], orjson.dumps(new), body[value.end(1) :]))
    return orjson.dumps(_parsed(body) | {"model": new})


def _parsed(body: bytes) -> dict[str, Any]:
    value = parse_json(body)
    if not isinstance(value, dict):
        raise InputRejected("request_malformed", "The body is JSON, but not a JSON object.")
    return value


def _parts(messages: object) -> Iterator[str | Mapping[str, Any]]:
    """The texts and the image parts; other parts are ignored."""
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content") if isinstance(message, dict) else None
        if isinstance(content, str):
            yield content
        for part in content if isinstance(content, list) else ():
            if not isinstance(part, dict):
                continue
            if isinstance(part.get("text"), str):
                yield part["text"]
            elif "image_url" in part:
                yield part


def _image(part: Mapping[str, Any]) -> memoryview:
    """The image's URL, in either of the two forms that clients use."""
    image = part["image_url"]
    url = image.get("url") if isinstance(image, dict) else image
    return memoryview(url.encode("utf-8", "surrogatepass") if isinstance(url, str) else b"")


def _key(images: list[memoryview]) -> bytes:
    """Hash of samples: hashing a whole megabyte takes 0.7 ms, and a collision only costs load balance."""
    if not images:
        return b""
    digest = blake2b(digest_size=16)
    for url in images:
        digest.update(b"%d" % len(url))
        for start in range(0, len(url), max(_SAMPLE, len(url) // _SAMPLES)):
            digest.update(url[start : start + _SAMPLE])
        digest.update(url[-_SAMPLE:])
    return digest.digest()
