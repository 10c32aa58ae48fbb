"""Parses events of object stores and of others. What arrives is input from outside: whatever it holds, the only error
is InputRejected("event_invalid").

Forms are told apart by their keys, not by what the sender says of them: brokers have no Content-Type, and SNS sends
JSON as text/plain. Envelopes (SNS, SMQ, Pub/Sub) hold an event as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote

import orjson
import pybase64
from pydantic import ValidationError

from inkgate.errors import InputRejected
from inkgate.jobs.intake.base import ObjectCreated
from inkgate.jobs.intake.messages import (
    MAX_RECORDS,
    AzureBlobEvent,
    AzureValidationEvent,
    EventBridgeEvent,
    EventPart,
    GcsAttributes,
    GcsObject,
    LinkedObject,
    MissingPart,
    OssEvent,
    OssEvents,
    S3Records,
)

MAX_EVENT_BYTES = 1_000_000
"""The default limit of Kafka and of Event Grid; SNS, SQS and EventBridge have 256 KB."""
_MAX_VALUES = 100_000
_MAX_ENVELOPES = 3
"""Envelopes in envelopes. None of the known senders makes more than two."""
_MAX_LINES = 5
_SUBSCRIBE_URL = re.compile(
    r"https://sns\.[a-z0-9-]{1,32}\.amazonaws\.com(\.cn)?/\?Action=ConfirmSubscription&[\x21-\x7e]{1,2000}"
)
_ATTRIBUTE_PREFIXES = ("ce-", "ce_", "cloudevents:", "cloudevents_")
"""Prefixes of CloudEvents' attributes in headers: HTTP and NATS, Kafka, and AMQP have their own."""
_AZURE_CREATED = "Microsoft.Storage.BlobCreated"
_AZURE_VALIDATION = "Microsoft.EventGrid.SubscriptionValidationEvent"
_GCS_EVENTS = "google.cloud.storage.object.v1."

Part = TypeVar("Part", bound=EventPart)


@dataclass(frozen=True, slots=True)
class Handshake:
    """What a sender asks for before it sends events.

    Attributes:
        confirm_url: SNS: fetching it subscribes. Always at `https://sns.REGION.amazonaws.com`.
        code: Event Grid: sent back in the response.
    """

    confirm_url: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class ParsedEvent:
    """What an event tells of.

    Attributes:
        objects: new objects.
        ignored: number of other things, such as deletions and test events.
        handshake: None for most events; an event with one has nothing else.
    """

    objects: tuple[ObjectCreated, ...] = ()
    ignored: int = 0
    handshake: Handshake | None = None


_IGNORED = ParsedEvent(ignored=1)


def parse_event(body: bytes, headers: Mapping[str, str]) -> ParsedEvent:
    """The objects of which `body` tells. `headers`: of the request or the message; CloudEvents in binary mode have
    their attributes there.

    Raises:
        InputRejected: "event_invalid": it has no known form, lacks something, or is too large.
    """
    if len(body) > MAX_EVENT_BYTES:
        raise _invalid(f"The event is larger than {MAX_EVENT_BYTES} bytes.")
    try:
        attributes = _attributes(headers)
        if "type" in attributes and "id" in attributes:
            return _one(_cloud_event({**attributes, "data": _json(body)}))
        return _one(_text(body, _MAX_ENVELOPES))
    except MissingPart as error:
        raise _invalid(f"The event lacks {error}.") from error
    except ValidationError as error:
        raise _invalid(_described(error)) from error


def check_subscribe_url(url: str) -> None:
    """Raises InputRejected("event_invalid") for a URL that is not one of AWS at which SNS's topics are subscribed."""
    if not _SUBSCRIBE_URL.fullmatch(url):
        raise _invalid("`SubscribeURL` is not at https://sns.REGION.amazonaws.com.")


def _attributes(headers: Mapping[str, str]) -> dict[str, str]:
    """The attributes of a CloudEvent in binary mode; empty for other messages."""
    found = {}
    for name, value in headers.items():
        lower = name.lower()
        for prefix in _ATTRIBUTE_PREFIXES:
            if lower.startswith(prefix):
                found[lower.removeprefix(prefix)] = unquote(value)
    return found


def _text(raw: bytes, envelopes: int) -> list[ParsedEvent]:
    """An event as JSON, or as JSON in base64, as SMQ sends it."""
    if envelopes == 0:
        raise _invalid("The event is in too many envelopes.")
    if raw.lstrip()[:1] in {b"{", b"["}:
        return _value(_json(raw), envelopes)
    try:
        return _value(_json(pybase64.b64decode(raw, validate=True)), envelopes)
    except ValueError as error:
        raise _invalid("The event is not JSON.") from error


def _json(raw: bytes) -> object:
    if sum(raw.count(mark) for mark in (b",", b"[", b"{")) > _MAX_VALUES:
        raise _invalid(f"The event has more than {_MAX_VALUES} values.")
    try:
        return orjson.loads(raw.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise _invalid(f"The event is not JSON: {error.msg} at position {error.pos}.") from error


def _value(value: object, envelopes: int) -> list[ParsedEvent]:
    """An event, or a list of events, as Event Grid sends them and as batches of CloudEvents are."""
    if isinstance(value, dict):
        return _message(value, envelopes)
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise _invalid("The event is neither a JSON object nor a list of objects.")
    if len(value) > MAX_RECORDS:
        raise _invalid(f"The list has more than {MAX_RECORDS} events.")
    return [parsed for item in value for parsed in _message(item, envelopes)]


Node = dict[str, Any]


def _message(node: Node, envelopes: int) -> list[ParsedEvent]:
    """A message, by the key that only its form has."""
    for key, parse in _FORMS.items():
        if key in node:
            return parse(node)
    for key, unwrap in _ENVELOPES.items():
        if key in node:
            return unwrap(node, envelopes)
    keys = ", ".join(f"`{key}`" for key in (*_FORMS, *_ENVELOPES))
    raise _invalid(f"The event has none of the keys by which the forms are told apart: {keys}.")


def _cloud_event(node: Node) -> list[ParsedEvent]:
    kind = node.get("type")
    if not isinstance(kind, str):
        raise MissingPart("type")
    if kind.startswith("Microsoft."):
        return _azure(kind, node)
    if "data" not in node and isinstance(node.get("data_base64"), str):
        node = {**node, "data": _json(_decoded(node["data_base64"]))}
    data = node.get("data")
    if not isinstance(data, dict):
        raise MissingPart("data, as an object")
    if kind.startswith("oss:"):
        # The type says what happened; OSS's own `eventName` in the data may have another prefix.
        return [_found(_model(OssEvent, {**data, "eventName": kind}).created())]
    if kind.startswith(_GCS_EVENTS):
        return [_found(_model(GcsObject, data).created())] if kind == f"{_GCS_EVENTS}finalized" else [_IGNORED]
    event = f"{node.get('source', '')} {node.get('id', '')}"[:1_024]
    return [_found(_model(LinkedObject, data).created(event.replace("\0", "")))]


def _event_grid(node: Node) -> list[ParsedEvent]:
    kind = node["eventType"]
    if not isinstance(kind, str):
        raise MissingPart("eventType, as text")
    return _azure(kind, node)


def _azure(kind: str, node: Node) -> list[ParsedEvent]:
    if kind == _AZURE_VALIDATION:
        return [ParsedEvent(handshake=Handshake(code=_model(AzureValidationEvent, node).data.code))]
    return [_found(_model(AzureBlobEvent, node).created())] if kind == _AZURE_CREATED else [_IGNORED]


def _s3(node: Node) -> list[ParsedEvent]:
    return [_found(record.created()) for record in _model(S3Records, node).records]


def _s3_test(node: Node) -> list[ParsedEvent]:
    if node["Event"] != "s3:TestEvent":
        raise _invalid("The event has `Event`, but is not S3's test event.")
    return [_IGNORED]


def _event_bridge(node: Node) -> list[ParsedEvent]:
    if node.get("source") != "aws.s3":
        raise _invalid("The event is of EventBridge, but its `source` is not `aws.s3`.")
    if node["detail-type"] != "Object Created":
        return [_IGNORED]
    return [_found(_model(EventBridgeEvent, node).created())]


def _smq(node: Node) -> list[ParsedEvent]:
    return [_found(event.created()) for event in _model(OssEvents, node).events]


def _topic(node: Node, envelopes: int) -> list[ParsedEvent]:
    """A message of SNS, or of an SMQ topic, which has no `Type`."""
    kind = node.get("Type")
    if kind == "SubscriptionConfirmation":
        url = node.get("SubscribeURL")
        if not isinstance(url, str):
            raise MissingPart("SubscribeURL")
        check_subscribe_url(url)
        return [ParsedEvent(handshake=Handshake(confirm_url=url))]
    if kind == "UnsubscribeConfirmation":
        return [_IGNORED]
    if not isinstance(node["Message"], str):
        raise MissingPart("Message, as text")
    return _text(node["Message"].encode(), envelopes - 1)


def _pub_sub(node: Node, envelopes: int) -> list[ParsedEvent]:
    """A message that Pub/Sub pushes: of GCS, whose attributes say all, or of others, as base64."""
    message = node["message"]
    if not isinstance(message, dict):
        raise MissingPart("message, as an object")
    attributes = message.get("attributes")
    if isinstance(attributes, dict) and "eventType" in attributes:
        if attributes["eventType"] != "OBJECT_FINALIZE":
            return [_IGNORED]
        return [_found(_model(GcsAttributes, attributes).created())]
    if not isinstance(message.get("data"), str):
        raise MissingPart("message.attributes.eventType, or message.data")
    return _text(_decoded(message["data"]), envelopes - 1)


_FORMS: dict[str, Callable[[Node], list[ParsedEvent]]] = {
    "specversion": _cloud_event,
    "Records": _s3,
    "detail-type": _event_bridge,
    "eventType": _event_grid,
    "events": _smq,
    "Event": _s3_test,
}
_ENVELOPES: dict[str, Callable[[Node, int], list[ParsedEvent]]] = {"Message": _topic, "message": _pub_sub}


def _decoded(text: str) -> bytes:
    try:
        return pybase64.b64decode(text, validate=True)
    except ValueError as error:
        raise _invalid("The event's data is not base64.") from error


def _model(model: type[Part], node: Node) -> Part:
    return model.model_validate(node)


def _found(objects: tuple[ObjectCreated, ...]) -> ParsedEvent:
    return ParsedEvent(objects) if objects else _IGNORED


def _one(parts: Sequence[ParsedEvent]) -> ParsedEvent:
    """All parts as one."""
    for part in parts:
        if part.handshake is not None:
            return part
    objects = tuple(found for part in parts for found in part.objects)
    if len(objects) > MAX_RECORDS:
        raise _invalid(f"The event tells of more than {MAX_RECORDS} objects.")
    return ParsedEvent(objects, sum(part.ignored for part in parts))


def _described(error: ValidationError) -> str:
    """Returns where the event doesn't fit its form, without its values."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in found[:_MAX_LINES]) + "."


def _invalid(detail: str) -> InputRejected:
    return InputRejected("event_invalid", detail)
