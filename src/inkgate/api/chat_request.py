"""What of a chat request has to be known to pass it on: one parse finds it; the bytes stay as they came, but for what
chat_fields.py leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import orjson

from inkgate.api.chat_fields import (
    MM_KWARGS,
    Changes,
    answer_tokens,
    bounded_pixels,
    changes_to,
    check_fields,
    prompt_characters,
)
from inkgate.api.chat_images import UNKNOWN_MODEL, image_tokens
from inkgate.api.chat_media import remote_media
from inkgate.api.decoding import parse_json
from inkgate.engines.vllm.images import ImageLimits
from inkgate.engines.vllm.upstream import ModelCall
from inkgate.errors import InputRejected

_CHARACTERS_PER_TOKEN = 4
_SAMPLES, _SAMPLE = 16, 256
_FIELD = b'"model"'
_DATA_URL = b'"data:'
_CUT = b"data:"
"""What is left of a large one."""
_BEFORE_A_STRING = frozenset((b":", b" ", b",", b"[", b"\t", b"\n", b"\r"))
_BACKSLASH = ord("\\")
_LARGE = 2048
MAX_IMAGES = 999
"""Of a request: as many as vLLM takes unless it is told otherwise, and few enough to look at each on the event loop."""
_DATA_URLS = 1000
"""Of a request that are looked at: what begins like one may stand in a text a million times."""
_KIND = 80
"""Characters of a model's name that tell it from others."""


_NO_CHANGES = Changes({})


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A chat completion as a client asked for it.

    Attributes:
        body: the JSON as it came.
        model: empty where the client named none.
        stream: whether the answer is to come as events.
        prompt_tokens: of text and images, roughly: they balance servers, and bill nobody.
        answer_tokens: the most that the answer may have; of all answers together, where several are asked for.
        key: the same for the same images; empty without images.
        remote: whether parts have URLs that lead out of the request.
        changes: what of it isn't passed on as it came.
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
        """The same for a model server."""
        return ModelCall(
            self.body,
            prompt_tokens=self.prompt_tokens,
            answer_tokens=self.answer_tokens,
            kind=f"chat {self.model[:_KIND]} {self.prompt_tokens.bit_length()} {self.answer_tokens.bit_length()}",
            key=self.key,
            streams=self.stream,
            sent=sent,
        )


def understood(body: bytes, limits: ImageLimits = UNKNOWN_MODEL) -> ChatRequest:
    """The request that `body` is. What it doesn't need to know of it is for the model server to judge. `limits`: of its
    images.

    Raises:
        InputRejected: it is no JSON object, has too many images, asks for too many answers at once, or has a field that
            isn't taken.
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
            raise InputRejected("options_invalid", f"A request may have {MAX_IMAGES} images.")
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


def changed(asked: ChatRequest) -> ChatRequest:
    """The request as it is passed on: the same values serialized again, but for its `changes`. Blocking."""
    return replace(asked, body=orjson.dumps(asked.changes.apply(_parsed(asked.body))))


def _without_large_data_urls(body: bytes) -> tuple[bytes, list[memoryview]]:
    """`body` with every large string that is a data: URL cut down to `data:`, and what was cut out.

    1 MB of base64 takes 0.2 ms to parse, and holds the interpreter's lock meanwhile, so that a thread would not help;
    its end is found in a tenth of that.
    """
    kept: list[bytes] = []
    cut: list[memoryview] = []
    done = 0
    start = body.find(_DATA_URL)
    for _ in range(_DATA_URLS):
        if start < 0:
            break
        inside = start + len(_DATA_URL)
        end = body.find(b'"', inside)
        # A quote that opens a string stands after one of these; within a string it stands after a backslash.
        opens = body[start - 1 : start] in _BEFORE_A_STRING
        if opens and end - inside > _LARGE and body[end - 1] != _BACKSLASH:
            kept.append(body[done:inside])
            cut.append(memoryview(body)[inside:end])
            done = inside = end
        start = body.find(_DATA_URL, inside)
    return (b"".join((*kept, body[done:])) if cut else body), cut


def renamed(body: bytes, old: str, new: str) -> bytes:
    """`body` with `new` for the `model` that is `old`, every other byte as it is.

    Where the field can't be told by its bytes alone (another `"model"` stands in a nested object, or its value is
    written with escapes), the same values written anew.
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
        raise InputRejected("request_malformed", "The body is JSON, but not an object.")
    return value


def _parts(messages: object) -> Iterator[str | Mapping[str, Any]]:
    """The texts, and the parts with an image; whatever is neither is left out."""
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
    """The image's URL, in either of the two ways that clients write it."""
    image = part["image_url"]
    url = image.get("url") if isinstance(image, dict) else image
    return memoryview(url.encode("utf-8", "surrogatepass") if isinstance(url, str) else b"")


def _key(images: list[memoryview]) -> bytes:
    """Of samples: a hash of a whole megabyte takes 0.7 ms, and two images mistaken for one cost nothing but balance."""
    if not images:
        return b""
    digest = blake2b(digest_size=16)
    for url in images:
        digest.update(b"%d" % len(url))
        for start in range(0, len(url), max(_SAMPLE, len(url) // _SAMPLES)):
            digest.update(url[start : start + _SAMPLE])
        digest.update(url[-_SAMPLE:])
    return digest.digest()
