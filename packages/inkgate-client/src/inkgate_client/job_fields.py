"""Fields of jobs: what was found, and what people corrected, shared by the blocking and the asynchronous client."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic

from pydantic import TypeAdapter

from inkgate_client.extracted import DataT, Fields, fitted, parse_answer
from inkgate_client.fields.asked import WantedFields, schema_text
from inkgate_client.fields.values import FieldValue
from inkgate_client.requests import READ_S, ClientRequest


@dataclass(frozen=True, slots=True)
class CorrectionMade:
    """A correction by a person: values by path, who, and when (RFC 3339)."""

    fields: dict[str, Any]
    by: str | None
    at: str


@dataclass(frozen=True, slots=True)
class _ReviewAnswer:
    """The part of a response that only jobs have."""

    review: str | None
    version: int
    corrections: tuple[CorrectionMade, ...]


@dataclass(frozen=True, slots=True)
class JobFieldsFound(Generic[DataT]):
    """The fields of a job's document.

    Attributes:
        data: the values with corrections; of a model class, an instance, or None if they don't fit it: see `errors`.
        found: as they were found, but for the corrections in its `data`.
        review: `complete`, `needs_review` or `reviewed`.
        version: of every change; `correct` needs it.
        corrections: the earliest first; of a value, the latest counts.
    """

    data: DataT
    found: Fields[DataT]
    review: str | None
    version: int
    corrections: tuple[CorrectionMade, ...]

    @property
    def errors(self) -> tuple[str, ...]:
        """Why the values don't fit the model class."""
        return self.found.errors

    @property
    def fields(self) -> Mapping[str, FieldValue]:
        """What was found of each value, by JSON Pointer into the data, such as `/total`."""
        return self.found.fields

    @property
    def needs_review(self) -> bool:
        """Whether a person should look at it."""
        return self.review == "needs_review"


_parse_review = TypeAdapter(_ReviewAnswer).validate_json


def job_fields_parser(schema: Any) -> Callable[[bytes], JobFieldsFound[Any]]:  # noqa: ANN401 - a class, or None
    """Parses a response. `schema`: a pydantic class that `data` is to be of; None: as it came."""

    def read(body: bytes) -> JobFieldsFound[Any]:
        review, found = _parse_review(body), parse_answer(body)
        typed: Fields[Any] = found if schema is None else fitted(found, schema)
        return JobFieldsFound(typed.data, typed, review.review, review.version, review.corrections)

    return read


def extract_option(asked: WantedFields) -> dict[str, Any]:
    """The value of a job's option `extract`."""
    schema = "" if asked.schema is None else schema_text(asked.schema)
    given: dict[str, Any] = {"type": asked.type, "schema": schema, "fields": list(asked.names)}
    return {name: value for name, value in given.items() if value}


def job_fields_request(job_id: str) -> ClientRequest:
    """The request for the fields of a job."""
    return ClientRequest("GET", f"/v1/jobs/{job_id}/fields", wait_s=READ_S)


def correction(
    job_id: str, values: Mapping[str, object], version: int | None, by: str, *, reviewed: bool
) -> ClientRequest:
    """The request to correct a job's fields. `version`: of those that were seen; None: any."""
    body = {"fields": dict(values), "reviewed": reviewed} | ({"by": by} if by else {})
    headers = {"If-Match": "*" if version is None else f'"{version}"', "Content-Type": "application/json"}
    content = json.dumps(body, default=str).encode()  # dates and decimals are texts in answers, too
    return ClientRequest("PATCH", f"/v1/jobs/{job_id}/fields", headers=headers, content=content)
