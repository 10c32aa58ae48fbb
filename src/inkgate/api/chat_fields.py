"""Which fields of a chat request reach a model server, and within what bounds.

vLLM trusts its clients. A few of its fields let one client spend what belongs to others, or reach their work: they
are listed here, each with what is done about it and why. Every other field of vLLM 0.32's `ChatCompletionRequest` costs
no more than the images and tokens that are charged, and goes up as it came.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from inkgate.engines.vllm.images import ImageLimits
from inkgate.errors import InputRejected

MM_KWARGS = "mm_processor_kwargs"
UUID = "uuid"
_PIXELS = ("min_pixels", "max_pixels")
MOST_ANSWERS = 16
"""To one request. Each is a sequence of its own in the model server's batch."""
_ANSWER_TOKENS = 1024
"""Of an answer whose length the client left open."""
_ENDLESS_TOKENS = 16_384
"""Of an answer that doesn't end by itself and whose length the client left open: the longest of the presets' models."""
_DIGITS = 20
_VAST = 1 << 53
"""More than there is of anything."""


class Treatment(StrEnum):
    """What is done about a field.

    DROPPED: it isn't passed on, and the answer's header says so.
    REFUSED: the request is, as the answer would not be what was asked for.
    CLAMPED: it is passed on with smaller values (`bounded_pixels`).
    CHARGED: it counts as tokens of the prompt or the answer.
    BOUNDED: the request is refused where `measure` of the value is more than `most`.
    """

    DROPPED = "dropped"
    REFUSED = "refused"
    CLAMPED = "clamped"
    CHARGED = "charged"
    BOUNDED = "bounded"


@dataclass(frozen=True, slots=True)
class Rule:
    """What is done about a field, and why."""

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
_EACH_STEP = _bounded(1_024, "values", "every value is looked at for each token")
_LOGPROBS = _bounded(20, "", "each adds a token's text to every token of the answer")

RULES: Mapping[str, Rule] = {
    MM_KWARGS: Rule(Treatment.CLAMPED, "larger images take memory and time that nobody was charged for"),
    "media_io_kwargs": _dropped("it chooses how images and videos are decoded, and how many frames are"),
    "priority": _dropped("it puts one caller's requests before those of others"),
    "request_id": _dropped("a model server may take two requests with one name for the same"),
    "session_id": _dropped("it names state that is kept between requests"),
    "kv_transfer_params": _dropped("it names hosts and blocks of the KV cache, also those of others"),
    "ec_transfer_params": _dropped("it names hosts and entries of the encoder cache, also those of others"),
    "logits_processors": _dropped("it names code that is run"),
    UUID: _dropped("of a part: it is the image's name in a cache that all clients share"),
    "use_beam_search": _refused("each step of a beam is a request of its own"),
    "prompt_logprobs": _refused("it needs memory for the whole vocabulary at each token of the prompt"),
    "echo": _refused("vLLM makes `prompt_logprobs` of it"),
    "chat_template": _refused("it is a program that the model server would run"),
    "n": _charged("each answer is a sequence of its own"),
    "best_of": _charged("each answer is a sequence of its own"),
    "max_tokens": _charged("it is the length of an answer"),
    "max_completion_tokens": _charged("it is the length of an answer"),
    "min_tokens": _charged("an answer is at least as long"),
    "ignore_eos": _charged("an answer then has all the tokens that it may have"),
    "tools": _charged("it is written into the prompt"),
    "documents": _charged("it is written into the prompt"),
    "chat_template_kwargs": _charged("it is written into the prompt"),
    "top_logprobs": _LOGPROBS,
    "logprob_token_ids": _bounded(20, "values", _LOGPROBS.reason),
    "stop": _EACH_STEP,
    "stop_token_ids": _EACH_STEP,
    "bad_words": _EACH_STEP,
    "allowed_token_ids": _EACH_STEP,
    "logit_bias": _EACH_STEP,
    "repetition_detection": _bounded(1_024, "tokens", "every pattern up to its sizes is looked for at each token"),
    "structured_outputs": _GRAMMAR,
    "response_format": _GRAMMAR,
    "guided_json": _GRAMMAR,
    "guided_regex": _GRAMMAR,
    "guided_choice": _GRAMMAR,
    "guided_grammar": _GRAMMAR,
}
_NESTED = {"chat_template_kwargs": ("chat_template",), "vllm_xargs": ("kv_transfer_params", "ec_transfer_params")}
"""Fields in which vLLM takes others, too."""
_PROMPT_FIELDS = ("tools", "documents", "chat_template_kwargs")


@dataclass(frozen=True, slots=True)
class Changes:
    """What of a request isn't passed on as it came.

    Attributes:
        fields: values that are sent instead; None: the field is left out.
        uuids: whether parts have a `uuid`, which is left out.
    """

    fields: Mapping[str, object]
    uuids: bool = False

    @property
    def ignored(self) -> tuple[str, ...]:
        """The names, as `X-Inkgate-Ignored` has them."""
        return (*self.fields, *((UUID,) if self.uuids else ()))

    def apply(self, fields: dict[str, Any]) -> dict[str, Any]:
        """`fields` of a request as they are passed on; changed in place."""
        for name, value in self.fields.items():
            if value is None:
                fields.pop(name, None)
            else:
                fields[name] = value
        for part in parts_with_uuid(fields.get("messages")) if self.uuids else ():
            del part[UUID]
        return fields


def check_fields(fields: Mapping[str, Any]) -> None:
    """Refuses what RULES refuse.

    Raises:
        InputRejected: "options_invalid".
    """
    for name, value in fields.items():
        rule = RULES.get(name)
        if rule is None or value is None or value is False:
            continue
        if rule.treatment is Treatment.REFUSED:
            raise InputRejected("options_invalid", f"`{name}` is not taken: {rule.reason}.")
        if rule.treatment is Treatment.BOUNDED and _measured(value, rule.unit) > rule.most:
            raise InputRejected("options_invalid", f"`{name}` is at most {rule.most} {rule.unit}".rstrip() + ".")
    for name, inner in ((name, inner) for name, inners in _NESTED.items() for inner in inners):
        holder = fields.get(name)
        if isinstance(holder, dict) and holder.get(inner) is not None:
            raise InputRejected("options_invalid", f"`{name}.{inner}` is not taken: {RULES[inner].reason}.")


def changes_to(fields: Mapping[str, Any], limits: ImageLimits) -> Changes:
    """What has to be changed in a request before it is passed on."""
    changed: dict[str, object] = {
        name: None
        for name, rule in RULES.items()
        if rule.treatment is Treatment.DROPPED and name != UUID and fields.get(name)
    }
    asked = fields.get(MM_KWARGS)
    bounded = bounded_pixels(asked, limits)
    if asked and bounded != asked:
        changed[MM_KWARGS] = bounded or None
    return Changes(changed, any(True for _ in parts_with_uuid(fields.get("messages"))))


def bounded_pixels(kwargs: object, limits: ImageLimits) -> dict[str, int]:
    """What may be passed on of `mm_processor_kwargs`: `min_pixels` and `max_pixels`, neither above the limit."""
    values = {name: kwargs.get(name) for name in _PIXELS} if isinstance(kwargs, dict) else {}
    return {
        name: min(value, limits.max_pixels)
        for name, value in values.items()
        if isinstance(value, int) and not isinstance(value, bool) and value > 0
    }


def parts_with_uuid(messages: object) -> list[dict[str, Any]]:
    """The parts of messages that name their image themselves."""
    contents = [message.get("content") for message in _dicts(messages)]
    return [part for content in contents for part in _dicts(content) if part.get(UUID) is not None]


def answer_tokens(fields: Mapping[str, Any]) -> int:
    """The most that all answers have together: the prompt is held once, and each answer by itself."""
    usual = _ENDLESS_TOKENS if fields.get("ignore_eos") else _ANSWER_TOKENS
    longest = _first_number(fields, "max_completion_tokens", "max_tokens", otherwise=usual)
    return _answers(fields) * max(0, longest, _first_number(fields, "min_tokens", otherwise=0))


def prompt_characters(fields: Mapping[str, Any]) -> int:
    """Characters that fields besides the messages add to the prompt."""
    return sum(len(orjson.dumps(fields[name])) for name in _PROMPT_FIELDS if fields.get(name))


def _answers(fields: Mapping[str, Any]) -> int:
    """How many answers the model server has to make: `n`, or `best_of` where that is more."""
    answers = max(1, _first_number(fields, "n", otherwise=1), _first_number(fields, "best_of", otherwise=1))
    if answers > MOST_ANSWERS:
        detail = f"{answers} answers are asked for with `n` or `best_of`; at most {MOST_ANSWERS} are made at once."
        raise InputRejected("request_malformed", detail)
    return answers


def _first_number(fields: Mapping[str, Any], *names: str, otherwise: int) -> int:
    """The first of the fields that is a whole number; what isn't is for the model server to judge."""
    values = (_whole(fields.get(name)) for name in names)
    return next((value for value in values if value is not None), otherwise)


def _whole(value: object) -> int | None:
    """The number that vLLM takes a value for: pydantic takes 8.0 and "8" for 8, too."""
    try:
        if isinstance(value, str) and len(value) > _DIGITS:
            return None
        number = float(value) if isinstance(value, str | float | int) else None
    except (ValueError, OverflowError):
        return None
    return int(max(-_VAST, min(number, _VAST))) if number is not None and number.is_integer() else None


def _measured(value: object, unit: str) -> int:
    """How large the value of a BOUNDED field is, in the rule's unit."""
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
