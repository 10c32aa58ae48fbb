"""Events as senders document them, by sender. All but the ignored ones tell of one object."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

from inkgate.jobs.intake.base import ObjectCreated


@dataclass(frozen=True, slots=True)
class SampleEvent:
    """An event, and the object that it tells of; None: it is ignored."""

    body: bytes
    object: ObjectCreated | None
    headers: dict[str, str] = field(default_factory=dict)


def s3_records(key: str, etag: str = "d41d8cd98f00b204e9800998ecf8427e", **more: object) -> dict[str, Any]:
    """As S3 sends it; `key` as it stands there, escaped."""
    return {
        "Records": [
            {
                "eventVersion": "2.1",
                "eventSource": "aws:s3",
                "awsRegion": "us-west-2",
                "eventTime": "1970-01-01T00:00:00.000Z",
                "eventName": "ObjectCreated:Put",
                "userIdentity": {"principalId": "AIDAJDPLRKLG7UEXAMPLE"},
                "requestParameters": {"sourceIPAddress": "127.0.0.1"},
                "responseElements": {"x-amz-request-id": "C3D13FE58DE4C810"},
                "s3": {
                    "s3SchemaVersion": "1.0",
                    "configurationId": "receipts",
                    "bucket": {"name": "scans", "ownerIdentity": {"principalId": "A"}, "arn": "arn:aws:s3:::scans"},
                    "object": {
                        "key": key,
                        "size": 1024,
                        "eTag": etag,
                        "versionId": "096fKKXTRTtl3on89fVO.nfljtsv6qko",
                        "sequencer": "0055AED6DCD90281E5",
                    },
                },
                **more,
            }
        ]
    }


def cloud_event(kind: str, data: dict[str, Any], **more: object) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "id": "A234-1234-1234",
        "source": "/scanner/7",
        "type": kind,
        "datacontenttype": "application/json",
        "data": data,
        **more,
    }


def _as_json(value: object) -> bytes:
    return json.dumps(value).encode()


_S3 = s3_records("in/till+7/caf%C3%A9.jpg")
_S3_OBJECT = ObjectCreated(
    "s3://scans/in/till 7/café.jpg",
    "d41d8cd98f00b204e9800998ecf8427e",
    "096fKKXTRTtl3on89fVO.nfljtsv6qko",
    1024,
    "0055AED6DCD90281E5",
)
_MINIO = {"EventName": "s3:ObjectCreated:Put", "Key": "scans/in/a b.jpg"} | s3_records(
    "in%2Fa+b.jpg", "e1", eventName="s3:ObjectCreated:Put"
)
_EVENT_BRIDGE = {
    "version": "0",
    "id": "17793124-05d4-b198-2fde-7ededc63b103",
    "detail-type": "Object Created",
    "source": "aws.s3",
    "account": "111122223333",
    "region": "ca-central-1",
    "resources": ["arn:aws:s3:::scans"],
    "detail": {
        "version": "0",
        "bucket": {"name": "scans"},
        "object": {
            "key": "in/a+b%20c.jpg",
            "size": 5,
            "etag": "b1946ac92492d2347c6235b4d2611184",
            "sequencer": "00617",
        },
        "reason": "PutObject",
    },
}
_OSS = {
    "eventName": "ObjectCreated:PutObject",
    "eventSource": "acs:oss",
    "eventTime": "2016-07-01T11:17:30.000Z",
    "region": "cn-hangzhou",
    "oss": {
        "bucket": {
            "arn": "acs:oss:cn-hangzhou:123:scans",
            "name": "scans",
            "ownerIdentity": "123",
            "virtualBucket": "",
        },
        "object": {"deltaSize": 9, "eTag": "0CC175B9C0F1B6A831C399E269772661", "key": "in/收据.jpg", "size": 9},
        "ossSchemaVersion": "1.0",
    },
}
_OSS_OBJECT = ObjectCreated("s3://scans/in/收据.jpg", "0CC175B9C0F1B6A831C399E269772661", "", 9)
_GCS_DATA = {"kind": "storage#object", "bucket": "scans", "name": "in/a.jpg", "generation": "1700", "size": "352"}
_PUB_SUB = {
    "message": {
        "attributes": {
            "bucketId": "scans",
            "objectId": "in/a.jpg",
            "objectGeneration": "1700",
            "eventType": "OBJECT_FINALIZE",
            "payloadFormat": "JSON_API_V1",
        },
        "data": base64.b64encode(_as_json(_GCS_DATA)).decode(),
        "messageId": "2070443601311540",
        "publishTime": "2021-02-26T19:13:55.749Z",
    },
    "subscription": "projects/p/subscriptions/scans",
}
_AZURE_SUBJECT = "/blobServices/default/containers/scans/blobs/in/a b.jpg"
_AZURE_DATA = {
    "api": "PutBlockList",
    "requestId": "6d79dbfb-0e37-4fc4-981f-442c9ca65760",
    "eTag": "0x8D4BCC2E4835CD0",
    "contentType": "image/jpeg",
    "contentLength": 524288,
    "blobType": "BlockBlob",
    "url": "https://shop.blob.core.windows.net/scans/in/a%20b.jpg",
    "sequencer": "00000000000004420000000000028963",
}
_AZURE = {
    "topic": "/subscriptions/1/resourceGroups/Storage/providers/Microsoft.Storage/storageAccounts/shop",
    "subject": _AZURE_SUBJECT,
    "eventType": "Microsoft.Storage.BlobCreated",
    "eventTime": "2017-06-26T18:41:00.9584103Z",
    "id": "831e1650-001e-001b-66ab-eeb76e069631",
    "data": _AZURE_DATA,
    "dataVersion": "",
    "metadataVersion": "1",
}
_AZURE_OBJECT = ObjectCreated(
    "az://scans/in/a b.jpg", "0x8D4BCC2E4835CD0", "", 524288, "00000000000004420000000000028963"
)
_BINARY = {"ce-specversion": "1.0", "ce-id": "7", "ce-source": "/scanner/7", "ce-type": "com.example.scanned"}
_LINKED = ObjectCreated("s3://scans/in/a.jpg", event="/scanner/7 A234-1234-1234")


def _sns(message: str, kind: str = "Notification") -> bytes:
    return _as_json(
        {
            "Type": kind,
            "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
            "TopicArn": "arn:aws:sns:us-west-2:123456789012:scans",
            "Message": message,
            "Timestamp": "2012-05-02T00:54:06.655Z",
            "SignatureVersion": "1",
            "Signature": "EXAMPLE",
            "UnsubscribeURL": "https://sns.us-west-2.amazonaws.com/?Action=Unsubscribe",
        }
    )


SAMPLES: dict[str, SampleEvent] = {
    "S3": SampleEvent(_as_json(_S3), _S3_OBJECT),
    "S3 through SNS": SampleEvent(_sns(json.dumps(_S3)), _S3_OBJECT),
    "S3's test event": SampleEvent(
        _as_json({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "scans", "HostId": "8"}), None
    ),
    "S3, deleted": SampleEvent(_as_json(s3_records("in/a", eventName="ObjectRemoved:Delete")), None),
    "S3, a folder": SampleEvent(_as_json(s3_records("in/new/")), None),
    "MinIO": SampleEvent(
        _as_json(_MINIO),
        ObjectCreated("s3://scans/in/a b.jpg", "e1", "096fKKXTRTtl3on89fVO.nfljtsv6qko", 1024, "0055AED6DCD90281E5"),
    ),
    "SNS, unsubscribed": SampleEvent(_sns("You have chosen to deactivate", "UnsubscribeConfirmation"), None),
    "EventBridge": SampleEvent(
        _as_json(_EVENT_BRIDGE),
        ObjectCreated("s3://scans/in/a+b%20c.jpg", "b1946ac92492d2347c6235b4d2611184", "", 5, "00617"),
    ),
    "EventBridge, deleted": SampleEvent(_as_json(_EVENT_BRIDGE | {"detail-type": "Object Deleted"}), None),
    "OSS through EventBridge": SampleEvent(_as_json(cloud_event("oss:ObjectCreated:PutObject", _OSS)), _OSS_OBJECT),
    "OSS, a part of an upload": SampleEvent(_as_json(cloud_event("oss:ObjectCreated:UploadPart", _OSS)), None),
    "OSS through SMQ": SampleEvent(base64.b64encode(_as_json({"events": [_OSS]})), _OSS_OBJECT),
    "OSS through SMQ, in JSON": SampleEvent(
        _as_json({"TopicName": "scans", "Message": base64.b64encode(_as_json({"events": [_OSS]})).decode()}),
        _OSS_OBJECT,
    ),
    "GCS through Pub/Sub": SampleEvent(_as_json(_PUB_SUB), ObjectCreated("gs://scans/in/a.jpg", "", "1700")),
    "GCS through Pub/Sub, deleted": SampleEvent(
        _as_json({"message": {"attributes": {"eventType": "OBJECT_DELETE", "bucketId": "scans"}}}), None
    ),
    "GCS through Eventarc": SampleEvent(
        _as_json(_GCS_DATA),
        ObjectCreated("gs://scans/in/a.jpg", "", "1700", 352),
        _BINARY | {"ce-type": "google.cloud.storage.object.v1.finalized"},
    ),
    "GCS through Eventarc, deleted": SampleEvent(
        _as_json(_GCS_DATA), None, _BINARY | {"ce-type": "google.cloud.storage.object.v1.deleted"}
    ),
    "Event Grid": SampleEvent(_as_json([_AZURE]), _AZURE_OBJECT),
    "Event Grid, as CloudEvents": SampleEvent(
        _as_json(cloud_event("Microsoft.Storage.BlobCreated", _AZURE_DATA, subject=_AZURE_SUBJECT)), _AZURE_OBJECT
    ),
    "Event Grid, an empty file": SampleEvent(_as_json([_AZURE | {"data": _AZURE_DATA | {"api": "CreateFile"}}]), None),
    "Event Grid, deleted": SampleEvent(_as_json([_AZURE | {"eventType": "Microsoft.Storage.BlobDeleted"}]), None),
    "CloudEvents": SampleEvent(_as_json(cloud_event("com.example.scanned", {"url": "s3://scans/in/a.jpg"})), _LINKED),
    "CloudEvents in a batch": SampleEvent(
        _as_json([cloud_event("com.example.scanned", {"url": "s3://scans/in/a.jpg"})]), _LINKED
    ),
    "CloudEvents in binary mode": SampleEvent(
        _as_json({"url": "s3://scans/in/a.jpg", "etag": '"e1"'}),
        ObjectCreated("s3://scans/in/a.jpg", "e1", event="/scanner/7 7"),
        _BINARY,
    ),
    "CloudEvents in binary mode, Kafka": SampleEvent(
        _as_json({"url": "s3://scans/in/a.jpg", "version": "3"}),
        ObjectCreated("s3://scans/in/a.jpg", "", "3", event="/scanner/7 7"),
        {name.replace("-", "_"): value for name, value in _BINARY.items()},
    ),
}
SNS_CONFIRMATION = {
    "Type": "SubscriptionConfirmation",
    "MessageId": "165545c9-2a5c-472c-8df2-7ff2be2b3b1b",
    "Token": "2336412f37",
    "TopicArn": "arn:aws:sns:us-west-2:123456789012:scans",
    "Message": "You have chosen to subscribe to the topic",
    "SubscribeURL": "https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&TopicArn=arn:aws:sns:us-west-2:123"
    "&Token=2336412f37",
}
AZURE_VALIDATION = [
    {
        "id": "2d1781af-3a4c-4d7c-bd0c-e34b19da4e66",
        "topic": "/subscriptions/1",
        "subject": "",
        "data": {"validationCode": "512d38b6-c7b8-40c8-89fe-f46f9e9622b6", "validationUrl": "https://rp.invalid/"},
        "eventType": "Microsoft.EventGrid.SubscriptionValidationEvent",
        "eventTime": "2018-01-25T22:12:19.4556811Z",
        "metadataVersion": "1",
        "dataVersion": "1",
    }
]
