"""The API of PaddleX's OCR pipeline: `{"file", "fileType", ...}`, with responses in PaddleX's envelope.

Intended differences: pages after the tenth are read too; images (`ocrImage`, `docPreprocessingImage`, `inputImage`)
are null, whatever `visualize` says; pages are not unwarped, and `model_settings` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
from inkgate_client.codec import encodable, page_to_dict
from inkgate_client.types import DocumentResult, Line, PageResult, Quad, Task, TaskKind

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
        "errorMsg": problem.message,
        "code": problem.code,
        "remedy": problem.remedy,
        "request_id": problem.request_id,
    }


class PaddlexOptions(BaseModel):
    """Options of every PaddleX 3 request. Unknown keys are accepted, because newer clients send more.

    Only JSON is accepted, so types are strict: `"no"` and 0 are not booleans.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    visualize: bool | None = None
    useDocOrientationClassify: bool | None = None  # noqa: N815 - PaddleX's names
    useDocUnwarping: bool | None = None  # noqa: N815


class PaddlexFile(BaseModel):
    """The file of a request, and what its response repeats."""

    model_config = PaddlexOptions.model_config

    file: Annotated[str, Field(min_length=1)]
    fileType: Literal[0, 1] | None = None  # noqa: N815 - PaddleX's names
    logId: Annotated[str, Field(max_length=128)] | None = None  # noqa: N815


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


class PaddlexOcrOptions(PaddlexOptions):
    """Options of PaddleX's OCR pipeline."""

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


class PaddlexRequest(PaddlexOcrOptions, PaddlexFile):
    """The request, as PaddleX's OCR pipeline defines it."""


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
        page = partial(ocr_page, request.model_copy(update={"file": ""}))
        show = ShowPages(PaddlexPages(self._envelope, "ocrResults", page))
        order = ReadRequest(found, options.read_options(task), shape, show, coordinates=options.coordinates)
        return replace(order, marks=bool(options.marks))

    def problem(self, problem: Problem) -> Response:
        return self._envelope.problem(problem)


@dataclass(frozen=True, slots=True)
class PaddlexPages:
    """The response to a request. `results`: name of the list of pages; `show`: makes the JSON of one."""

    envelope: Envelope
    results: str
    show: Callable[[PageResult, AboutDocument], dict[str, Any]]

    def page(self, page: PageResult, about: AboutDocument) -> dict[str, Any]:
        return self.show(page, about)

    def document(self, result: DocumentResult, pages: Sequence[Any]) -> dict[str, Any]:
        return self.envelope.success({self.results: pages, "dataInfo": data_info(result)})


def ocr_page(options: PaddlexOcrOptions, page: PageResult, about: AboutDocument) -> dict[str, Any]:  # noqa: ARG001 - see PaddlexPages
    """A page of `ocrResults`."""
    pruned = ocr_result(options, with_lines(page).lines)
    if page.error is not None:
        pruned["error"] = page_to_dict(page)["error"]
    return {"prunedResult": pruned, "ocrImage": None, "docPreprocessingImage": None, "inputImage": None}


def ocr_result(options: PaddlexOcrOptions, lines: Sequence[Line]) -> dict[str, Any]:
    """The lines of a page, with the options that they were read by."""
    pruned = {
        "model_settings": {
            "use_doc_preprocessor": options.useDocOrientationClassify is not False,
            "use_doc_orientation_classify": options.useDocOrientationClassify is not False,
            "use_doc_unwarping": False,
            "use_textline_orientation": options.useTextlineOrientation is not False,
        },
        "dt_polys": [_polygon(line.quad) for line in lines],
        # Null for what the engine's settings define.
        "text_det_params": {
            "limit_side_len": options.textDetLimitSideLen,
            "limit_type": options.textDetLimitType or "max",
            "thresh": options.textDetThresh,
            "box_thresh": options.textDetBoxThresh,
            "unclip_ratio": options.textDetUnclipRatio,
        },
        "text_type": "general",
        # Upside-down lines are turned before they are read; their quads show which.
        "textline_orientation_angles": [int(line.quad[1][0] < line.quad[0][0]) for line in lines],
        "text_rec_score_thresh": options.textRecScoreThresh or 0.0,
        "return_word_box": bool(options.returnWordBox),
        **recognized(lines),
    }
    if options.returnWordBox:
        words = [line.words for line in lines]
        quads = [[_polygon(word.quad) for word in line] for line in words]
        pruned["text_word"] = [[encodable(word.text) for word in line] for line in words]
        pruned["text_word_region"] = quads
        pruned["text_word_boxes"] = [[_box(quad) for quad in line] for line in quads]
    return pruned


def recognized(lines: Sequence[Line]) -> dict[str, Any]:
    """The lines' texts, scores and places."""
    polygons = [_polygon(line.quad) for line in lines]
    return {
        "rec_texts": [encodable(line.text) for line in lines],
        "rec_scores": [round(float(line.confidence), 4) for line in lines],
        "rec_polys": polygons,
        "rec_boxes": [_box(polygon) for polygon in polygons],
    }


def _polygon(quad: Quad) -> list[list[int]]:
    return [[round(x), round(y)] for x, y in quad]


def _box(polygon: list[list[int]]) -> list[int]:
    xs, ys = [x for x, _ in polygon], [y for _, y in polygon]
    return [min(xs), min(ys), max(xs), max(ys)]
