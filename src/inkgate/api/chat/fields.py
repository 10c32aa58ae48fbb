"""Rules for fields of chat requests: which ones reach a model server, and within what bounds.

vLLM trusts its clients. With some of its fields, a client can use up what others need or reach their data. They are
listed here, each with its treatment and the reason. Every other field of vLLM 0.32's `ChatCompletionRequest` costs no
more than the images and tokens that are charged, and is forwarded unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from inkgate.engines.vlm.images import ImageLimits
from inkgate.errors import InputRejected

MM_KWARGS = "mm_processor_kwargs"
UUID = "uuid"
_PIXELS = ("min_pixels", "max_pixels")
MAX_ANSWERS = 16
"""Completions of one request. Each is a separate sequence in the model server's batch."""
_ANSWER_TOKENS = 1024
"""Tokens charged for a completion without a length limit."""
_ENDLESS_TOKENS = 16_384
"""Tokens charged for a completion without a length limit that never ends by itself: the presets' maximum."""
_DIGITS = 20
_VAST = 1 << 53
"""A number larger than any limit."""


class Treatment(StrEnum):
    """How a field is treated.

    DROPPED: it is removed, and a response header lists it.
    REFUSED: the request is refused, because without the field the response would not be what the client wants.
    CLAMPED: it is forwarded with lower values (`bounded_pixels`).
    CHARGED: it counts as tokens of the prompt or the completion.
    BOUNDED: the request is refused if the value's size is above `most`.
    """

    DROPPED = "dropped"
    REFUSED = "refused"
    CLAMPED = "clamped"
    CHARGED = "charged"
    BOUNDED = "bounded"


@dataclass(frozen=True, slots=True)
class Rule:
    """A field's treatment and its reason."""

    treatment: Treatment
    reason: str
    most: int = 0
    unit: str = ""


def _dropped(reason: str) -> Rule:
    return Rule(Treatment.DROPPED, reason)


def _refused(reason: str) -> Rule:
    return Rule(Treatment.REFUSED, reason)


def _charged(reason: str) -> Rule:
    return Rule(Treatment.CHARGED, reason)


def _bounded(most: int, unit: str, reason: str) -> Rule:
    return Rule(Treatment.BOUNDED, reason, most, unit)


_GRAMMAR = _bounded(65_536, "bytes", "it is compiled before the first token, while other requests wait")
_EACH_STEP = _bounded(1_024, "values", "every value is checked for each token")
_LOGPROBS = _bounded(20, "", "each adds a token's text to every token of the completion")

RULES: Mapping[str, Rule] = {
    MM_KWARGS: Rule(Treatment.CLAMPED, "larger images use memory and time that admission has not counted"),
    "media_io_kwargs": _dropped("it chooses how images and videos are decoded, and how many frames"),
    "priority": _dropped("it puts one client's requests before all others"),
    "request_id": _dropped("a model server may confuse two requests with the same ID"),
    "session_id": _dropped("it names state that is stored between requests"),
    "kv_transfer_params": _dropped("it names hosts and KV cache blocks, including those of other clients"),
    "ec_transfer_params": _dropped("it names hosts and encoder cache entries, including those of other clients"),
    "logits_processors": _dropped("it names code to run"),
    UUID: _dropped("of a part: it names the image in a cache that all clients share"),
    "use_beam_search": _refused("each step of a beam search is a separate request"),
    "prompt_logprobs": _refused("it needs memory for the whole vocabulary at each prompt token"),
    "echo": _refused("vLLM turns it into `prompt_logprobs`"),
    "chat_template": _refused("the model server would run it as a program"),
    "n": _charged("each completion is a separate sequence"),
    "best_of": _charged("each completion is a separate sequence"),
    "max_tokens": _charged("it is the length of a completion"),
    "max_completion_tokens": _charged("it is the length of a completion"),
    "min_tokens": _charged("it is the minimum length of a completion"),
    "ignore_eos": _charged("every completion then has its maximum length"),
    "tools": _charged("it becomes part of the prompt"),
    "documents": _charged("it becomes part of the prompt"),
    "chat_template_kwargs": _charged("it becomes part of the prompt"),
    "top_logprobs": _LOGPROBS,
    "logprob_token_ids": _bounded(20, "values", _LOGPROBS.reason),
    "stop": _EACH_STEP,
    "stop_token_ids": _EACH_STEP,
    "bad_words": _EACH_STEP,
    "allowed_token_ids": _EACH_STEP,
    "logit_bias": _EACH_STEP,
    "repetition_detection": _bounded(1_024, "tokens", "every pattern up to these sizes is checked for at each token"),
    "structured_outputs": _GRAMMAR,
    "response_format": _GRAMMAR,
    "guided_json": _GRAMMAR,
    "guided_regex": _GRAMMAR,
    "guided_choice": _GRAMMAR,
    "guided_grammar": _GRAMMAR,
}
_NESTED = {"chat_template_kwargs": ("chat_template",), "vllm_xargs": ("kv_transfer_params", "ec_transfer_params")}
"""Fields in which vLLM accepts other fields."""
_PROMPT_FIELDS = ("tools", "documents", "chat_template_kwargs")


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes to a request before it is forwarded.

    Attributes:
        fields: replacement values; None: the field is removed.
        uuids: whether parts have a `uuid`, which is removed.
    """

    fields: Mapping[str, object]
    uuids: bool = False

    @property
    def ignored(self) -> tuple[str, ...]:
        """The names for the header `X-Inkgate-Ignored`."""
        return (*self.fields, *((UUID,) if self.uuids else ()))

    def apply(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Changes the request's `fields` in place and returns them."""
        for name, value in self.fields.items():
            if value is None:
                fields.pop(name, None)
            else:
                fields[name] = value
        for part in parts_with_uuid(fields.get("messages")) if self.uuids else ():
            del part[UUID]
        return fields


def check_fields(fields: Mapping[str, Any]) -> None:
    """Refuses fields that RULES refuse.

    Raises:
        InputRejected: "options_invalid".
    """
    for name, value in fields.items():
        rule = RULES.get(name)
        if rule is None or value is None or value is False:
            continue
        if rule.treatment is Treatment.REFUSED:
            raise InputRejected("options_invalid", f"`{name}` is not accepted: {rule.reason}.")
        if rule.treatment is Treatment.BOUNDED and _measured(value, rule.unit) > rule.most:
            raise InputRejected("options_invalid", f"`{name}` may be at most {rule.most} {rule.unit}".rstrip() + ".")
    for name, inner in ((name, inner) for name, inners in _NESTED.items() for inner in inners):
        holder = fields.get(name)
        if isinstance(holder, dict) and holder.get(inner) is not None:
            raise InputRejected("options_invalid", f"`{name}.{inner}` is not accepted: {RULES[inner].reason}.")


def changes_to(fields: Mapping[str, Any], limits: ImageLimits) -> Changes:
    """The changes that a request needs before it is forwarded."""
    changed: dict[str, object] = {
        name: None
        for name, rule in RULES.items()
        if rule.treatment is Treatment.DROPPED and name != UUID and fields.get(name)
    }
    requested = fields.get(MM_KWARGS)
    bounded = bounded_pixels(requested, limits)
    if requested and bounded != requested:
        changed[MM_KWARGS] = bounded or None
    return Changes(changed, any(True for _ in parts_with_uuid(fields.get("messages"))))


def bounded_pixels(kwargs: object, limits: ImageLimits) -> dict[str, int]:
    """The part of `mm_processor_kwargs` that is forwarded: `min_pixels` and `max_pixels`, neither above the limit."""
    values = {name: kwargs.get(name) for name in _PIXELS} if isinstance(kwargs, dict) else {}
    return {
        name: min(value, limits.max_pixels)
        for name, value in values.items()
        if isinstance(value, int) and not isinstance(value, bool) and value > 0
    }


def parts_with_uuid(messages: object) -> list[dict[str, Any]]:
    """Message parts that give their image a `uuid`."""
    contents = [message.get("content") for message in _dicts(messages)]
    return [part for content in contents for part in _dicts(content) if part.get(UUID) is not None]


def answer_tokens(fields: Mapping[str, Any]) -> int:
    """Maximum tokens of all completions together: they share the prompt's tokens but not their own."""
    usual = _ENDLESS_TOKENS if fields.get("ignore_eos") else _ANSWER_TOKENS
    longest = _first_number(fields, "max_completion_tokens", "max_tokens", otherwise=usual)
    return _answers(fields) * max(0, longest, _first_number(fields, "min_tokens", otherwise=0))


def prompt_characters(fields: Mapping[str, Any]) -> int:
    """Characters that fields other than the messages add to the prompt."""
    return sum(len(orjson.dumps(fields[name])) for name in _PROMPT_FIELDS if fields.get(name))


def _answers(fields: Mapping[str, Any]) -> int:
    """How many completions the model server generates: the larger of `n` and `best_of`."""
    answers = max(1, _first_number(fields, "n", otherwise=1), _first_number(fields, "best_of", otherwise=1))
    if answers > MAX_ANSWERS:
        detail = f"`n` or `best_of` asks for {answers} completions; at most {MAX_ANSWERS} are allowed."
        raise InputRejected("request_malformed", detail)
    return answers


def _first_number(fields: Mapping[str, Any], *names: str, otherwise: int) -> int:
    """The first of the fields that is an integer. The model server judges other values."""
    values = (_whole(fields.get(name)) for name in names)
    return next((value for value in values if value is not None), otherwise)


def _whole(value: object) -> int | None:
    """The integer that vLLM converts a value to: pydantic also accepts 8.0 and "8" as 8."""
    try:
        if isinstance(value, str) and len(value) > _DIGITS:
            return None
        number = float(value) if isinstance(value, str | float | int) else None
    except (ValueError, OverflowError):
        return None
    return int(max(-_VAST, min(number, _VAST))) if number is not None and number.is_integer() else None


def _measured(value: object, unit: str) -> int:
    """The size of a BOUNDED field's value, in the rule's unit."""
    if unit == "bytes":
        return len(orjson.dumps(value))
    if unit == "values":
        return len(value) if isinstance(value, list | dict) else 1
    numbers = value.values() if isinstance(value, dict) else (value,)
    # Below 0 stands for the whole vocabulary.
    return max((_vast(_whole(number)) for number in numbers), default=0)


def _vast(number: int | None) -> int:
    return 0 if number is None else number if number >= 0 else _VAST


def _dicts(values: object) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
