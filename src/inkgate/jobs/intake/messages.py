"""The messages of object stores that tell of objects, as models, and the objects that they tell of.

Each has `created()`: the objects, of which there are none in a message that tells of something else. Unknown keys are
ignored. The forms are those of the vendors' documents:

- S3: https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html, ev-events.html
- Alibaba OSS: https://www.alibabacloud.com/help/en/oss/user-guide/event-notification
- GCS: https://cloud.google.com/storage/docs/pubsub-notifications
- Azure: https://learn.microsoft.com/azure/event-grid/event-schema-blob-storage
"""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import unquote_plus

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, NonNegativeInt

from inkgate.jobs.intake.base import ObjectCreated

MAX_RECORDS = 1_000
"""Senders put one record into a message, or at most some hundreds."""
_LONGEST_URL = 4_000
"""Keys of all stores have at most 1,024 bytes."""
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
_AZURE_SUBJECT = re.compile(r"/blobServices/[^/]+/containers/(?P<container>[^/]+)/blobs/(?P<name>.+)", re.DOTALL)
_OSS_UNFINISHED = ("InitiateMultipartUpload", "UploadPart", "UploadPartCopy")
"""OSS's ObjectCreated events after which there is no object yet."""


def _usable(value: str) -> str:
    """`value`. Raises ValueError for NUL, which PostgreSQL can't store."""
    if "\0" in value:
        raise ValueError("it has a NUL character")
    return value


def _unescaped(value: str) -> str:
    """A key of S3's records as the store has it. Raises ValueError if it is not UTF-8."""
    return _usable(unquote_plus(value, errors="strict"))


def _bucket(value: str) -> str:
    if not _BUCKET.fullmatch(value):
        raise ValueError("it is not the name of a bucket")
    return value


Bucket = Annotated[str, AfterValidator(_bucket)]
Key = Annotated[str, Field(min_length=1, max_length=_LONGEST_URL), AfterValidator(_usable)]
EscapedKey = Annotated[str, Field(min_length=1, max_length=_LONGEST_URL), AfterValidator(_unescaped)]
ShortText = Annotated[str, Field(max_length=1_024), AfterValidator(_usable)]


class EventPart(BaseModel):
    """A part of an event."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class NamedBucket(EventPart):
    name: Bucket


class S3Object(EventPart):
    key: EscapedKey
    size: NonNegativeInt | None = None
    etag: ShortText | None = Field(None, alias="eTag")
    version: ShortText | None = Field(None, alias="versionId")
    sequencer: ShortText | None = None


class S3Entity(EventPart):
    bucket: NamedBucket
    object: S3Object


class S3Record(EventPart):
    """One change in S3, MinIO or Ceph. `s3`: needed only if an object was created."""

    name: ShortText = Field(alias="eventName")
    s3: S3Entity | None = None

    def created(self) -> tuple[ObjectCreated, ...]:
        if not self.name.removeprefix("s3:").startswith("ObjectCreated:"):
            return ()
        if self.s3 is None:
            raise MissingPart("Records.s3")
        found = self.s3.object
        return _objects(
            f"s3://{self.s3.bucket.name}/{found.key}", found.etag, found.version, found.size, found.sequencer
        )


class S3Records(EventPart):
    records: tuple[S3Record, ...] = Field(alias="Records", max_length=MAX_RECORDS)


class EventBridgeObject(EventPart):
    """An object of EventBridge, whose key is not escaped."""

    key: Key
    size: NonNegativeInt | None = None
    etag: ShortText | None = None
    version: ShortText | None = Field(None, alias="version-id")
    sequencer: ShortText | None = None


class EventBridgeDetail(EventPart):
    bucket: NamedBucket
    object: EventBridgeObject


class EventBridgeEvent(EventPart):
    """S3 through EventBridge, whose `detail-type` is "Object Created"."""

    detail: EventBridgeDetail

    def created(self) -> tuple[ObjectCreated, ...]:
        found = self.detail.object
        url = f"s3://{self.detail.bucket.name}/{found.key}"
        return _objects(url, found.etag, found.version, found.size, found.sequencer)


class OssObject(EventPart):
    key: Key
    size: NonNegativeInt | None = None
    etag: ShortText | None = Field(None, alias="eTag")
    version: ShortText | None = Field(None, alias="versionId")


class OssEntity(EventPart):
    bucket: NamedBucket
    object: OssObject


class OssEvent(EventPart):
    """A change in Alibaba OSS: an element of SMQ's `events`, or the data of a CloudEvent. OSS is read by S3's API."""

    name: ShortText = Field(alias="eventName")
    oss: OssEntity | None = None

    def created(self) -> tuple[ObjectCreated, ...]:
        kind, _, how = self.name.removeprefix("oss:").partition(":")
        if kind != "ObjectCreated" or how in _OSS_UNFINISHED:
            return ()
        if self.oss is None:
            raise MissingPart("oss")
        found = self.oss.object
        return _objects(f"s3://{self.oss.bucket.name}/{found.key}", found.etag, found.version, found.size, None)


class OssEvents(EventPart):
    events: tuple[OssEvent, ...] = Field(max_length=MAX_RECORDS)


class GcsAttributes(EventPart):
    """Attributes of a Pub/Sub message about a new object."""

    bucket: Bucket = Field(alias="bucketId")
    name: Key = Field(alias="objectId")
    generation: ShortText | None = Field(None, alias="objectGeneration")

    def created(self) -> tuple[ObjectCreated, ...]:
        return _objects(f"gs://{self.bucket}/{self.name}", None, self.generation, None, None)


class GcsObject(EventPart):
    """The data of a CloudEvent about a new object. Its etag is left out: GCS's other API, by which the object is read,
    has other etags.
    """

    bucket: Bucket
    name: Key
    generation: ShortText | None = None
    size: NonNegativeInt | None = None

    def created(self) -> tuple[ObjectCreated, ...]:
        return _objects(f"gs://{self.bucket}/{self.name}", None, self.generation, self.size, None)


class AzureBlob(EventPart):
    etag: ShortText | None = Field(None, alias="eTag")
    size: NonNegativeInt | None = Field(None, alias="contentLength")
    api: ShortText | None = None
    sequencer: ShortText | None = None


class AzureBlobEvent(EventPart):
    """Microsoft.Storage.BlobCreated. The container and the name are those of `subject`, which is not escaped."""

    subject: str = Field(max_length=_LONGEST_URL)
    data: AzureBlob

    def created(self) -> tuple[ObjectCreated, ...]:
        if self.data.api == "CreateFile":  # of Data Lake: the file is empty until FlushWithClose
            return ()
        place = _AZURE_SUBJECT.fullmatch(self.subject)
        if place is None or "\0" in self.subject:
            raise MissingPart("subject, as /blobServices/default/containers/CONTAINER/blobs/NAME")
        url = f"az://{place['container']}/{place['name']}"
        return _objects(url, self.data.etag, None, self.data.size, self.data.sequencer)


class AzureValidation(EventPart):
    code: ShortText = Field(alias="validationCode")


class AzureValidationEvent(EventPart):
    """Microsoft.EventGrid.SubscriptionValidationEvent."""

    data: AzureValidation


class LinkedObject(EventPart):
    """The data of anybody's CloudEvent."""

    url: Key
    etag: ShortText | None = None
    version: ShortText | None = None
    size: NonNegativeInt | None = None

    def created(self, event: str) -> tuple[ObjectCreated, ...]:
        """`event`: identity of the CloudEvent."""
        return _objects(self.url, self.etag, self.version, self.size, event)


class MissingPart(Exception):
    """An event about a new object lacks the part that is named."""


def _objects(
    url: str, etag: str | None, version: str | None, size: int | None, event: str | None
) -> tuple[ObjectCreated, ...]:
    """One object, or none for a folder, which consoles of object stores make as an empty object."""
    if url.endswith("/"):
        return ()
    if version == "null":  # S3's, of each object that is written while versioning is suspended: it tells nothing apart
        version = None
    return (ObjectCreated(url, (etag or "").strip('"'), version or "", size, event or ""),)
