"""The API of PaddleX's OCR pipeline: `{"file", "fileType", ...}`, with responses in PaddleX's envelope.

Intended differences: pages after the tenth are read too; images (`ocrImage`, `docPreprocessingImage`, `inputImage`)
are null, whatever `visualize` says; pages are not unwarped, and `model_settings` says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from inkgate.api.http.conversions import with_lines
from inkgate.api.http.document_response import ReadRequest, ReceivedRequest
from inkgate.api.http.errors import Problem, json_error
from inkgate.api.http.options import OcrOptions, parse
from inkgate.api.http.page_list import AboutDocument, ShowPages
from inkgate.errors import InputRejected
from inkgate_client.codec import page_to_dict
from inkgate_client.types import DocumentResult, PageResult, Task, TaskKind

ERROR_SCHEMA: dict[str, Any] = {
    "title": "PaddlexError",
    "type": "object",
    "required": ["logId", "errorCode", "errorMsg", "code"],
    "properties": {
        "logId": {"type": "string"},
        "errorCode": {"type": "integer", "description": "The HTTP status."},
        **{name: {"type": "string"} for name in ("errorMsg", "code", "remedy", "request_id")},
    },
}


def success_schema(title: str, results: str, page: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema `title` of a response whose `result` has a `page` schema for each item of `results`."""
    properties = {results: {"type": "array", "items": page}, "dataInfo": {"type": "object"}}
    return {
        "title": title,
        "type": "object",
        "required": ["logId", "errorCode", "errorMsg", "result"],
        "properties": {
            "logId": {"type": "string"},
            "errorCode": {"type": "integer", "const": 0},
            "errorMsg": {"type": "string", "const": "Success"},
            "result": {"type": "object", "required": [*properties], "properties": properties},
        },
    }


def paddlex_error(problem: Problem, log_id: str = "") -> dict[str, Any]:
    """`problem` in PaddleX's envelope, without `result`. `errorCode`: the HTTP status; `code`, `remedy`: additions."""
    return {
        "logId": log_id or uuid4().hex,
        "errorCode": problem.status,
        "errorMsg": f"{problem.title}: {problem.detail}",
        "code": problem.code,
        "remedy": problem.remedy,
        "request_id": problem.request_id,
    }


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


Unit = Annotated[float, Field(ge=0, le=1)]


class PaddlexRequest(PaddlexFile):
    """The request, as PaddleX's OCR pipeline defines it."""

    useTextlineOrientation: bool | None = None  # noqa: N815 - PaddleX's names
    textDetLimitSideLen: Annotated[int, Field(gt=0, le=10_000)] | None = None  # noqa: N815
    textDetLimitType: Literal["min", "max"] | None = None  # noqa: N815
    textDetThresh: Unit | None = None  # noqa: N815
    textDetBoxThresh: Unit | None = None  # noqa: N815
    textDetUnclipRatio: Annotated[float, Field(gt=0, le=10)] | None = None  # noqa: N815
    textRecScoreThresh: Unit | None = None  # noqa: N815
    returnWordBox: bool | None = None  # noqa: N815

    def task(self, kind: TaskKind) -> Task:
        """The task of the request. Ignores a `min` limit, which would enlarge small pages: the engine never does."""
        longest = self.textDetLimitSideLen if self.textDetLimitType != "min" else None
        return Task(
            kind=kind,
            detect_rotation=self.useDocOrientationClassify is not False,
            line_orientation=self.useTextlineOrientation is not False,
            min_line_confidence=self.textRecScoreThresh,
            detection_threshold=self.textDetThresh,
            detection_box_threshold=self.textDetBoxThresh,
            detection_unclip_ratio=self.textDetUnclipRatio,
            detection_longest_side=longest,
        )


class Paddlex:
    """Parses one request of a PaddleX client. One per request, because its errors repeat the `logId`."""

    def __init__(self) -> None:
        self._envelope = Envelope()

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        self._envelope.open(received.body.fields)
        request = parse(PaddlexRequest, received.body.fields)
        options = parse(OcrOptions, received.body.fields, received.query)
        shape = options.shape(received.accept)
        found = await received.context.sources.from_text(request.file, received.caller)
        task = request.task(options.task_kind(shape))
        # Keeps only the options, so that the file's base64 is freed before reading.
        show = ShowPages(_PaddlexOutput(self._envelope, request.model_copy(update={"file": ""})))
        order = ReadRequest(found, options.read_options(task), shape, show, coordinates=options.coordinates)
        return replace(order, marks=bool(options.marks))

    def problem(self, problem: Problem) -> Response:
        return self._envelope.problem(problem)


@dataclass(frozen=True, slots=True)
class _PaddlexOutput:
    envelope: Envelope
    request: PaddlexRequest

    def page(self, page: PageResult, about: AboutDocument) -> dict[str, Any]:  # noqa: ARG002 - see PageListForm
        return {
            "prunedResult": self._pruned(page),
            "ocrImage": None,
            "docPreprocessingImage": None,
            "inputImage": None,
        }

    def document(self, result: DocumentResult, pages: Sequence[Any]) -> dict[str, Any]:
        return self.envelope.success({"ocrResults": pages, "dataInfo": data_info(result)})

    def _pruned(self, page: PageResult) -> dict[str, Any]:
        lines = page_to_dict(with_lines(page))["lines"]
        polygons = [[[round(x), round(y)] for x, y in line["quad"]] for line in lines]
        pruned = {
            "model_settings": self._model_settings(),
            "dt_polys": polygons,
            "text_det_params": self._detection(),
            "text_type": "general",
            # Upside-down lines are turned before they are read; their quads show which.
            "textline_orientation_angles": [_upside_down(line["quad"]) for line in lines],
            "text_rec_score_thresh": self.request.textRecScoreThresh or 0.0,
            "return_word_box": bool(self.request.returnWordBox),
            "rec_texts": [line["text"] for line in lines],
            "rec_scores": [line["confidence"] for line in lines],
            "rec_polys": polygons,
            "rec_boxes": [_box(polygon) for polygon in polygons],
        }
        if self.request.returnWordBox:
            words = [line["words"] for line in lines]
            pruned["text_word"] = [[word["text"] for word in line] for line in words]
            quads = [[[[round(x), round(y)] for x, y in word["quad"]] for word in line] for line in words]
            pruned["text_word_region"] = quads
            pruned["text_word_boxes"] = [[_box(quad) for quad in line] for line in quads]
        if page.error is not None:
            pruned["error"] = page_to_dict(page)["error"]
        return pruned

    def _model_settings(self) -> dict[str, bool]:
        return {
            "use_doc_preprocessor": self.request.useDocOrientationClassify is not False,
            "use_doc_orientation_classify": self.request.useDocOrientationClassify is not False,
            "use_doc_unwarping": False,
            "use_textline_orientation": self.request.useTextlineOrientation is not False,
        }

    def _detection(self) -> dict[str, Any]:
        """The requested detection settings; null for those that the engine's settings define."""
        return {
            "limit_side_len": self.request.textDetLimitSideLen,
            "limit_type": self.request.textDetLimitType or "max",
            "thresh": self.request.textDetThresh,
            "box_thresh": self.request.textDetBoxThresh,
            "unclip_ratio": self.request.textDetUnclipRatio,
        }


def _box(polygon: list[list[int]]) -> list[int]:
    xs, ys = [x for x, _ in polygon], [y for _, y in polygon]
    return [min(xs), min(ys), max(xs), max(ys)]


def _upside_down(quad: list[list[float]]) -> int:
    """1 if the line is upside down (turned by 180 degrees), else 0."""
    return int(quad[1][0] < quad[0][0])
