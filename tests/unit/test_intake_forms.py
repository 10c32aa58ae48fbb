"""Events are parsed in the forms of all senders, and nothing that arrives raises another error than `event_invalid`."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.errors import InputRejected
from inkgate.jobs.intake.forms import MAX_EVENT_BYTES, Handshake, ParsedEvent, parse_event
from support.events import AZURE_VALIDATION, SAMPLES, SNS_CONFIRMATION, SampleEvent, cloud_event, s3_records


def _refused(body: object, headers: dict[str, str] | None = None) -> str:
    """The detail of the error for `body`."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(InputRejected) as caught:
        parse_event(raw, headers or {})
    assert caught.value.code == "event_invalid"
    return caught.value.detail


def test_the_events_of_all_senders_are_understood() -> None:
    failures = []
    for sender, sample in SAMPLES.items():
        expected = ParsedEvent(ignored=1) if sample.object is None else ParsedEvent((sample.object,))
        parsed = parse_event(sample.body, sample.headers)
        if parsed != expected:
            failures.append(f"{sender}: {parsed}, not {expected}")
    assert not failures


def test_every_record_of_a_message_counts() -> None:
    records = [s3_records(f"in/{number}.jpg")["Records"][0] for number in range(3)]
    records.append(s3_records("in/3.jpg", eventName="ObjectRemoved:Delete")["Records"][0])
    parsed = parse_event(json.dumps({"Records": records}).encode(), {})
    assert [found.url for found in parsed.objects] == [f"s3://scans/in/{number}.jpg" for number in range(3)]
    assert parsed.ignored == 1


def test_objects_of_a_bucket_whose_versioning_is_suspended_have_no_version() -> None:
    body = s3_records("in/1.jpg")
    body["Records"][0]["s3"]["object"]["versionId"] = "null"
    (found,) = parse_event(json.dumps(body).encode(), {}).objects
    assert found.version == ""
    assert found.etag


def test_handshakes_are_recognized() -> None:
    sns = parse_event(json.dumps(SNS_CONFIRMATION).encode(), {})
    assert sns == ParsedEvent(handshake=Handshake(confirm_url=str(SNS_CONFIRMATION["SubscribeURL"])))
    azure = parse_event(json.dumps(AZURE_VALIDATION).encode(), {})
    assert azure == ParsedEvent(handshake=Handshake(code="512d38b6-c7b8-40c8-89fe-f46f9e9622b6"))


@pytest.mark.parametrize(
    "url",
    [
        "http://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&Token=1",
        "https://sns.us-west-2.amazonaws.com.evil.example/?Action=ConfirmSubscription&Token=1",
        "https://evil.example/sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&Token=1",
        "https://sns.us-west-2.amazonaws.com:8443/?Action=ConfirmSubscription&Token=1",
        "https://user@sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&Token=1",
        "https://sns.us-west-2.amazonaws.com/?Action=Publish&Token=1",
        "https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&Token=1\r\nX: y",
        7,
    ],
)
def test_a_subscription_is_confirmed_at_aws_only(url: object) -> None:
    assert "SubscribeURL" in _refused(SNS_CONFIRMATION | {"SubscribeURL": url})


def test_the_error_names_what_is_missing() -> None:
    without_key = s3_records("in/a.jpg")
    del without_key["Records"][0]["s3"]["object"]["key"]
    without_s3 = s3_records("in/a.jpg")
    del without_s3["Records"][0]["s3"]
    cases: list[tuple[object, str]] = [
        (without_key, "Records.0.s3.object.key"),
        (without_s3, "Records.s3"),
        ({"detail-type": "Object Created", "source": "aws.s3"}, "detail"),
        ({"detail-type": "Object Created", "source": "aws.ec2"}, "aws.s3"),
        (cloud_event("com.example.scanned", {}), "url"),
        (cloud_event("oss:ObjectCreated:PutObject", {}), "oss"),
        ({"message": {"attributes": {"eventType": "OBJECT_FINALIZE", "bucketId": "b"}}}, "objectId"),
        ({"message": {}}, "message.data"),
        ([{"eventType": "Microsoft.Storage.BlobCreated", "subject": "/x", "data": {}}], "subject"),
        ({"anything": 1}, "`Records`"),
        ([7], "neither a JSON object nor a list"),
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"{", "not JSON"),
    ]
    failures = [f"{body!r}: {detail}" for body, part in cases if part not in (detail := _refused(body))]
    assert not failures


@pytest.mark.parametrize("key", ["in/%FF.jpg", "in/%00.jpg", "in/\0.jpg", "", "x" * 5_000])
def test_a_key_that_no_store_has_is_refused(key: str) -> None:
    assert "Records.0.s3.object.key" in _refused(s3_records(key))


def test_size_number_and_nesting_are_bounded() -> None:
    assert "larger" in _refused(b" " * (MAX_EVENT_BYTES + 1))
    assert "values" in _refused(b"[" + b"{}," * 100_000 + b"{}]")
    assert "more than 1000" in _refused([s3_records("in/a")] * 1_001)
    many = s3_records("in/a")["Records"] * 501
    assert "more than 1000" in _refused([{"Records": many}, {"Records": many}][:2])
    assert "not JSON" in _refused(b"[" * 5_000 + b"]" * 5_000)
    nested: dict[str, Any] = s3_records("in/a")
    for _ in range(4):
        nested = {"Type": "Notification", "Message": json.dumps(nested)}
    assert "envelopes" in _refused(nested)


def test_values_of_an_event_are_not_repeated_in_the_error() -> None:
    event = s3_records("in/a")
    event["Records"][0]["s3"]["object"]["size"] = "secret"
    assert "secret" not in _refused(event)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def _replaced(value: object, steps: list[int], new: object) -> object:
    """`value` with one part, found by `steps`, replaced or, if `new` is Ellipsis, left out."""
    if not steps or not isinstance(value, dict | list) or not value:
        return None if new is ... else new
    index = steps[0] % len(value)
    if isinstance(value, list):
        return [_replaced(item, steps[1:], new) if place == index else item for place, item in enumerate(value)]
    key = list(value)[index]
    if new is ... and len(steps) == 1:
        return {name: item for name, item in value.items() if name != key}
    return {name: _replaced(item, steps[1:], new) if name == key else item for name, item in value.items()}


_JSON_SAMPLES = [sample for sample in SAMPLES.values() if sample.body[:1] in b"[{"]
_HEADERS = st.dictionaries(st.sampled_from(["ce-type", "ce_id", "cloudEvents:type", "x"]), st.text(max_size=20))


def _parse_or_refuse(body: bytes, headers: dict[str, str]) -> None:
    try:
        parse_event(body, headers)
    except InputRejected as error:
        assert error.code == "event_invalid"  # noqa: PT017 - either outcome is right


@given(
    sample=st.sampled_from(_JSON_SAMPLES),
    steps=st.lists(st.integers(0, 20), max_size=6),
    new=_VALUES | st.just(...),
    wrap=st.sampled_from([lambda body: body, base64.b64encode]),
)
def test_a_changed_event_is_parsed_or_refused(
    sample: SampleEvent, steps: list[int], new: object, wrap: Callable[[bytes], bytes]
) -> None:
    changed = _replaced(json.loads(sample.body), steps, new)
    _parse_or_refuse(wrap(json.dumps(changed).encode()), sample.headers)


@given(body=st.binary(max_size=200) | _VALUES.map(lambda value: json.dumps(value).encode()), headers=_HEADERS)
def test_anything_is_parsed_or_refused(body: bytes, headers: dict[str, str]) -> None:
    _parse_or_refuse(body, headers)
