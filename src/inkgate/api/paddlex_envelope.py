"""Common parts of PaddleX's APIs: the file in requests, and the envelope of responses and errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from inkgate.api.error_forms import json_error, paddlex_error
from inkgate.api.errors import Problem
from inkgate.errors import InputRejected
from inkgate.types import DocumentResult


class PaddlexFile(BaseModel):
    """Fields of every PaddleX 3 request. Unknown keys are accepted, because newer clients send more.

    Only JSON is accepted, so types are strict: `"no"` and 0 are not booleans.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    file: Annotated[str, Field(min_length=1)]
    fileType: Literal[0, 1] | None = None  # noqa: N815 - PaddleX's names
    visualize: bool | None = None
    logId: Annotated[str, Field(max_length=128)] | None = None  # noqa: N815
    useDocOrientationClassify: bool | None = None  # noqa: N815
    useDocUnwarping: bool | None = None  # noqa: N815


class Envelope:
    """One per request, because responses and errors repeat its `logId`."""

    def __init__(self) -> None:
        self._log_id = uuid4().hex

    def open(self, fields: Mapping[str, Any]) -> None:
        """Takes the `logId` of a request.

        Raises:
            InputRejected: "file_missing".
        """
        log_id = fields.get("logId")
        if isinstance(log_id, str) and log_id:
            self._log_id = log_id[:128]
        if not fields.get("file"):
            raise InputRejected("file_missing", "`file` is empty.")

    def success(self, result: dict[str, Any]) -> dict[str, Any]:
        """The envelope around `result`."""
        return {"logId": self._log_id, "errorCode": 0, "errorMsg": "Success", "result": result}

    def problem(self, problem: Problem) -> Response:
        """The error response for `problem`."""
        return json_error(problem, paddlex_error(problem, self._log_id))


def data_info(result: DocumentResult) -> dict[str, Any]:
    """`dataInfo`: type of the file and sizes of its pages."""
    sizes = [{"width": page.width, "height": page.height} for page in result.pages]
    if result.mime_type == "application/pdf" or len(sizes) != 1:
        return {"numPages": len(sizes), "pages": sizes, "type": "pdf"}
    return {**sizes[0], "type": "image"}
