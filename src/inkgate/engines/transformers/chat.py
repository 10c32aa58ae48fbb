"""A chat with a model in this process: its prompt, parsed from a request; the port; and the answer as events."""

from __future__ import annotations

import binascii
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import cv2
import numpy as np
import orjson
import pybase64

from inkgate.errors import InputRejected
from inkgate.model_servers.protocol import token_limit
from inkgate.page import RgbArray

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class TransformersSampling:
    """Sampling parameters, named as in a chat request to vLLM; None: the model's own settings.

    `temperature` 0 takes the most likely token. `top_k` under 1 means no limit. `pixels`: minimum and maximum for the
    image processor.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int | None = None
    skip_special_tokens: bool = True
    pixels: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """A chat to be answered.

    Attributes:
        messages: in the form for chat templates; images are `{"type": "image"}`.
        images: the images of these placeholders, in order.
    """

    messages: Sequence[Mapping[str, object]]
    images: tuple[RgbArray, ...]
    sampling: TransformersSampling = field(default_factory=TransformersSampling)


@dataclass(frozen=True, slots=True)
class GeneratedPiece:
    """The text that one token (or several, for one character) adds to the answer, and its log-probability."""

    text: str
    logprob: float


@dataclass(frozen=True, slots=True)
class GenerationEnd:
    """How an answer ended, and its token usage."""

    reason: Literal["stop", "length"]
    prompt_tokens: int
    completion_tokens: int


class GenerativeModel(Protocol):
    """A loaded model. Called from one thread at a time."""

    def generate(
        self, question: ChatPrompt, heard: Callable[[GeneratedPiece], None], stopped: Callable[[], bool]
    ) -> GenerationEnd:
        """Answers `question`. Blocking. `heard` is called with each piece; `stopped` is called after each token and
        returns whether to end the answer because its caller has left.

        Raises:
            InputRejected: "upstream_rejected": the model can't process the prompt.
            EngineFailed: "engine_failed": the model failed on it.
        """
        ...


def chat_prompt_of(body: bytes) -> ChatPrompt:
    """The prompt of a chat request in vLLM's format. Fields that only vLLM supports (`repetition_detection`) are
    ignored.

    Raises:
        InputRejected: "upstream_rejected": it is not such a request, or an image can't be read.
    """
    try:
        request = orjson.loads(body)
        images: list[RgbArray] = []
        messages = [_message(message, images) for message in request["messages"]]
        return ChatPrompt(messages, tuple(images), _sampling(request))
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputRejected("upstream_rejected", "The request is not a chat with images as data URLs.") from error


def event_of(piece: GeneratedPiece) -> bytes:
    """The event for a piece, with its log-probability."""
    token = {"token": piece.text, "logprob": piece.logprob, "bytes": list(piece.text.encode("utf-8", "replace"))}
    delta = {"content": piece.text}
    return _event({"choices": [{"index": 0, "delta": delta, "logprobs": {"content": [token]}, "finish_reason": None}]})


def events_of(ending: GenerationEnd) -> bytes:
    """The last events: the finish reason and the token usage."""
    usage = {"prompt_tokens": ending.prompt_tokens, "completion_tokens": ending.completion_tokens}
    last = _event({"choices": [{"index": 0, "delta": {}, "finish_reason": ending.reason}]})
    return last + _event({"choices": [], "usage": usage}) + DONE


def _event(chunk: Mapping[str, object]) -> bytes:
    return b"data: " + orjson.dumps({"object": "chat.completion.chunk", **chunk}) + b"\n\n"


def _message(message: Mapping[str, object], images: list[RgbArray]) -> Mapping[str, object]:
    """The message in the form for a chat template. Adds to `images`."""
    content = message["content"]
    if isinstance(content, str):
        return {"role": message["role"], "content": content}
    if not isinstance(content, Sequence):
        raise TypeError("a message's content is text, or parts")
    return {"role": message["role"], "content": [_part(part, images) for part in content]}


def _part(part: Mapping[str, object], images: list[RgbArray]) -> Mapping[str, object]:
    if part["type"] == "text":
        return {"type": "text", "text": str(part["text"])}
    image = part["image_url"]
    if not isinstance(image, Mapping):
        raise TypeError("image_url has a URL")
    images.append(_pixels(str(image["url"])))
    return {"type": "image"}


def _pixels(url: str) -> RgbArray:
    head, _, data = url.partition(";base64,")
    if not head.startswith("data:image/"):
        raise ValueError("images come as data URLs")
    try:
        coded = np.frombuffer(pybase64.b64decode(data, validate=True), np.uint8)
        bgr = cv2.imdecode(coded, cv2.IMREAD_COLOR) if coded.size else None
    except (binascii.Error, cv2.error) as error:
        raise ValueError("an image can't be read") from error
    if bgr is None:
        raise ValueError("an image can't be read")
    return np.asarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB), np.uint8)


def _sampling(request: Mapping[str, object]) -> TransformersSampling:
    kwargs = request.get("mm_processor_kwargs")
    skip = request.get("skip_special_tokens")
    return TransformersSampling(
        max_tokens=token_limit(request),
        temperature=_number(request.get("temperature")),
        top_p=_number(request.get("top_p")),
        top_k=_whole(request.get("top_k")),
        repetition_penalty=_number(request.get("repetition_penalty")),
        presence_penalty=_number(request.get("presence_penalty")) or 0.0,
        frequency_penalty=_number(request.get("frequency_penalty")) or 0.0,
        seed=_whole(request.get("seed")),
        skip_special_tokens=True if skip is None else bool(skip),
        pixels=(int(kwargs["min_pixels"]), int(kwargs["max_pixels"])) if isinstance(kwargs, Mapping) else None,
    )


def _number(value: object) -> float | None:
    if value is None:
        return None
    if not isinstance(value, int | float):
        raise TypeError("a number is expected")
    return float(value)


def _whole(value: object) -> int | None:
    number = _number(value)
    return None if number is None else int(number)
