"""OpenAI's Responses API on chat completions: translates a request, its answer, and the answer's events.

Nothing is stored, and models have no tools here. What would need either, or change the answer, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import orjson

from inkgate.api.http.decoding import parse_json
from inkgate.api.http.errors import Problem, openai_error
from inkgate.errors import EngineFailed, InputRejected

Json = dict[str, Any]

_STATELESS = "inkgate stores no responses; send the whole conversation as `input`"
_NEUTRAL: Mapping[str, tuple[tuple[object, ...], str]] = {
    "previous_response_id": ((), _STATELESS),
    "conversation": ((), _STATELESS),
    "prompt": ((), "inkgate stores no prompts; send the text as `instructions` or `input`"),
    "background": ((False,), "send documents that take long to /v1/jobs"),
    "tools": (([],), "the models read documents and call no tools"),
    "tool_choice": (("auto", "none"), "the models read documents and call no tools"),
    "reasoning": (({}, {"effort": "none"}), "the models don't reason"),
    "moderation": ((), "the model server has none"),
    "context_management": (([],), _STATELESS),
    "functions": (([],), "the models read documents and call no tools"),
    "modalities": ((["text"],), "a response has text only"),
    "logprobs": ((False,), "use /v1/chat/completions, which has log-probabilities"),
    "top_logprobs": ((0,), "use /v1/chat/completions, which has log-probabilities"),
    "n": ((1,), "a response has one output"),
    "best_of": ((1,), "a response has one output"),
    "messages": ((), "the Responses API has `input`"),
}
"""Fields that are refused, with the values that are accepted beside null because they change nothing; and the reason.
"""
_LOGPROBS = "message.output_text.logprobs"
_WITHOUT_EFFECT = frozenset(
    {
        *("include", "max_tool_calls", "metadata", "parallel_tool_calls", "prompt_cache_key", "prompt_cache_options"),
        *("prompt_cache_retention", "safety_identifier", "service_tier", "store", "stream_options", "truncation"),
    }
)
"""Fields that can't change the answer of one request without tools."""
_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
_TEXTS = ("input_text", "output_text", "text")
_REASONS = {"length": "max_output_tokens"}


def chat_of(body: bytes) -> tuple[bytes, ResponsesForm]:
    """The chat completion for a request of the Responses API, and the form of its answer. With images, it takes a
    millisecond for each megabyte.

    Raises:
        InputRejected: it is not such a request, or has something that is not supported.
    """
    fields = parse_json(body)
    if not isinstance(fields, dict):
        raise InputRejected("request_malformed", "The body is JSON, but not a JSON object.")
    for name, (neutral, reason) in _NEUTRAL.items():
        value = fields.get(name)
        if isinstance(value, dict):
            value = {key: inner for key, inner in value.items() if inner is not None}
        if value is not None and value not in neutral:
            raise InputRejected("options_invalid", f"`{name}` is not supported: {reason}.")
    if isinstance(fields.get("include"), list) and _LOGPROBS in fields["include"]:
        raise InputRejected("options_invalid", f"`include` may not have `{_LOGPROBS}`: {_NEUTRAL['top_logprobs'][1]}.")
    own = {*_NEUTRAL, *_WITHOUT_EFFECT, "input", "instructions", "max_output_tokens", "text"}
    chat = {name: value for name, value in fields.items() if name not in own}
    chat["messages"] = list(_messages(fields))
    if fields.get("max_output_tokens") is not None:
        chat["max_completion_tokens"] = fields["max_output_tokens"]
    if (response_format := _response_format(fields.get("text"))) is not None:
        chat["response_format"] = response_format
    if fields.get("stream") is True:
        chat["stream_options"] = {"include_usage": True}
    return orjson.dumps(chat), ResponsesForm({name: value for name, value in fields.items() if name != "input"})


def _messages(fields: Json) -> Iterator[Json]:
    if (instructions := fields.get("instructions")) is not None:
        yield {"role": "system", "content": instructions}
    given = fields.get("input")
    if isinstance(given, str):
        yield {"role": "user", "content": given}
        return
    if not isinstance(given, list) or not given:
        raise InputRejected("options_invalid", "`input` must be a text, or a list of messages.")
    for item in given:
        kind = item.get("type", "message") if isinstance(item, dict) else None
        if kind == "item_reference":
            raise InputRejected("options_invalid", f"`item_reference` is not supported: {_STATELESS} (`store: false`).")
        if kind != "message" or str(item.get("role")) not in _ROLES:
            raise InputRejected(
                "options_invalid", f"An item of `input` is not a message with a known role: {kind!r:.60}."
            )
        content = item.get("content")
        if isinstance(content, list):
            content = [_part(part) for part in content]
        elif not isinstance(content, str):
            raise InputRejected("options_invalid", "The `content` of a message must be a text or a list of parts.")
        yield {"role": _ROLES[item["role"]], "content": content}


def _part(part: object) -> Json:
    kind = part.get("type") if isinstance(part, dict) else None
    if isinstance(part, dict) and kind in _TEXTS and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if isinstance(part, dict) and kind == "input_image":
        if not isinstance(part.get("image_url"), str):
            raise InputRejected("options_invalid", "An `input_image` needs an `image_url`; `file_id` is not supported.")
        detail = {} if part.get("detail") is None else {"detail": part["detail"]}
        return {"type": "image_url", "image_url": {"url": part["image_url"], **detail}}
    if kind == "input_file":
        reason = "send a PDF to /v1/ocr, or its pages as `input_image`"
        raise InputRejected("options_invalid", f"`input_file` is not supported: {reason}.")
    raise InputRejected("options_invalid", f"A message's content may not have a part of type {kind!r:.60}.")


def _response_format(text: object) -> Json | None:
    """The chat completion's field for `text`. Raises InputRejected."""
    if text is None:
        return None
    wanted = text.get("format") or {"type": "text"} if isinstance(text, dict) else None
    if not isinstance(text, dict) or not isinstance(wanted, dict) or text.get("verbosity") not in (None, "medium"):
        raise InputRejected("options_invalid", "`text` may have `format`, and no `verbosity` but medium.")
    if wanted.get("type") != "json_schema":
        return None if wanted.get("type") == "text" else wanted
    return {"type": "json_schema", "json_schema": {name: value for name, value in wanted.items() if name != "type"}}


@dataclass(slots=True)
class ResponsesForm:
    """The form of one response, whole or as events; see relay.ResponseForm.

    Attributes:
        request: the request's fields without its input.
    """

    request: Json
    _response: Json = field(default_factory=dict)
    _text: list[str] = field(default_factory=list)
    _finish: str = ""
    _usage: Json | None = None
    _number: int = 0
    _ended: bool = False

    def whole(self, body: bytes) -> bytes:
        """The response for a chat completion. Raises EngineFailed: it is none."""
        try:
            chat = orjson.loads(body)
            choice = chat["choices"][0]
            self._take(choice["message"].get("content"), choice["finish_reason"], chat.get("usage"))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise EngineFailed("upstream_garbled", "The model server's response is not a chat completion.") from error
        self._begin(chat)
        return orjson.dumps(self._completed())

    def events(self, lines: bytes) -> bytes:
        """The events for complete lines of a chat completion's stream."""
        return b"".join(event for line in lines.split(b"\n") for event in self._events(line.rstrip(b"\r")))

    def error(self, problem: Problem) -> bytes:
        """The event for an error. OpenAI's clients raise it because of `error`."""
        self._ended = True
        error = openai_error(problem)["error"]
        shown = {name: error[name] for name in ("code", "message", "param")}
        return self._event("error", **shown, error=error)

    def _events(self, line: bytes) -> Iterator[bytes]:
        if self._ended or not line.startswith(b"data:"):
            return
        payload = line[5:].strip()
        if payload == b"[DONE]":
            yield from self._last_events()
            return
        try:
            chunk = orjson.loads(payload)
            choice: Json = next(iter(chunk.get("choices") or ()), {})
            delta = (choice.get("delta") or {}).get("content") or ""
            self._take(delta, choice.get("finish_reason"), chunk.get("usage"))
        except (ValueError, TypeError, AttributeError) as error:
            raise EngineFailed("upstream_garbled", "An event of the model server is no chunk of a chat.") from error
        if not self._response:
            self._begin(chunk)
            yield self._event("response.created", response=self._response)
            yield self._event("response.in_progress", response=self._response)
            yield self._event("response.output_item.added", output_index=0, item=self._message("in_progress", ()))
            yield self._of_part("response.content_part.added", part=_output_text(""))
        if delta:
            yield self._of_part("response.output_text.delta", delta=delta, logprobs=[])

    def _take(self, text: object, finish: object, usage: object) -> None:
        """Adds what a completion or a chunk has. Raises TypeError: it is none."""
        if not (isinstance(text or "", str) and isinstance(finish or "", str) and isinstance(usage or {}, dict)):
            raise TypeError("of another type than in a chat completion")
        self._text.append(str(text or ""))
        self._finish = str(finish or self._finish)
        self._usage = dict(usage) if isinstance(usage, dict) and usage else self._usage

    def _last_events(self) -> Iterator[bytes]:
        self._ended = True
        if not self._response:
            raise EngineFailed("upstream_garbled", "The model server's stream has no chunk of a chat.")
        completed = self._completed()
        (item,) = completed["output"]
        (part,) = item["content"]
        yield self._of_part("response.output_text.done", text=part["text"], logprobs=[])
        yield self._of_part("response.content_part.done", part=part)
        yield self._event("response.output_item.done", output_index=0, item=item)
        yield self._event(f"response.{completed['status']}", response=completed)

    def _begin(self, chat: Json) -> None:
        """The response as it is before its output. `chat`: the completion, or its first chunk."""
        asked = self.request
        self._response = {
            "id": f"resp_{uuid4().hex}",
            "object": "response",
            "created_at": chat.get("created", 0),
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "model": chat.get("model") or asked.get("model", ""),
            "output": [],
            "usage": None,
            "store": False,
            "background": False,
            "previous_response_id": None,
            "tools": [],
            "tool_choice": "auto",
            "parallel_tool_calls": True,
            "reasoning": {"effort": None, "summary": None},
            "text": asked.get("text") or {"format": {"type": "text"}},
            "truncation": "disabled",
            "metadata": asked.get("metadata") or {},
            **{name: asked.get(name) for name in ("instructions", "max_output_tokens", "temperature", "top_p", "user")},
        }

    def _completed(self) -> Json:
        """The response with its output."""
        whole = self._finish == "stop"
        status = "completed" if whole else "incomplete"
        return self._response | {
            "status": status,
            "incomplete_details": None if whole else {"reason": _REASONS.get(self._finish, self._finish)},
            "output": [self._message(status, (_output_text("".join(self._text)),))],
            "usage": None if self._usage is None else _usage(self._usage),
        }

    def _message(self, status: str, content: tuple[Json, ...]) -> Json:
        return {"id": self._item, "type": "message", "role": "assistant", "status": status, "content": list(content)}

    @property
    def _item(self) -> str:
        return str(self._response["id"]).replace("resp_", "msg_")

    def _of_part(self, kind: str, **values: object) -> bytes:
        return self._event(kind, item_id=self._item, output_index=0, content_index=0, **values)

    def _event(self, kind: str, **values: object) -> bytes:
        event = {"type": kind, "sequence_number": self._number, **values}
        self._number += 1
        return b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps(event))


def _output_text(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _usage(usage: Json) -> Json:
    given, made = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": given + made,
    }
