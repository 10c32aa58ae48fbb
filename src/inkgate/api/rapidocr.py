"""The API of rapidocr_api: multipart `image_file`, or base64 in `image_data`; responds with lines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from inkgate.api.http.conversions import with_lines
from inkgate.api.http.document_response import ReadRequest, ReceivedRequest, ordered
from inkgate.api.http.errors import Problem
from inkgate.api.http.options import Flag, parse
from inkgate.api.http.sources import document
from inkgate_client.codec import page_to_dict
from inkgate_client.types import DocumentResult


class RapidOcrOptions(BaseModel):
    """`use_cls=false` skips the check for upside-down lines. Detection and recognition always run: `use_det` and
    `use_rec` only select what the response shows.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    use_det: Flag | None = None
    use_cls: Flag | None = None
    use_rec: Flag | None = None


@dataclass(frozen=True, slots=True)
class _RapidOcrOutput:
    boxes: bool
    text: bool

    def __call__(self, result: DocumentResult) -> dict[str, Any]:
        """`{"0": {"rec_txt", "dt_boxes", "score"}, ...}` over all pages; empty if there is no text."""
        lines = [line for page in result.pages for line in page_to_dict(with_lines(page))["lines"]]
        answer: dict[str, Any] = {}
        for number, line in enumerate(lines):
            entry: dict[str, Any] = {}
            if self.text:
                entry["rec_txt"] = line["text"]
            if self.boxes:
                entry["dt_boxes"] = line["quad"]
            if self.text:
                entry["score"] = line["confidence"]
            answer[str(number)] = entry
        return answer


class RapidOcrForm:
    """Parses requests of rapidocr_api clients."""

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        options = parse(RapidOcrOptions, received.body.fields)
        file = received.body.files.get("image_file") or received.body.files.get("image_data")
        if file is not None:
            found = document(file.data, file.filename)
        else:
            text = received.body.fields.get("image_data") or received.body.fields.get("image_file") or ""
            found = await received.context.sources.from_text(text, received.caller)
        shown = _RapidOcrOutput(boxes=options.use_det is not False, text=options.use_rec is not False)
        order = ordered(received, found, shown)
        if options.use_cls is None:
            return order
        task = replace(order.options.task, line_orientation=options.use_cls)
        return replace(order, options=replace(order.options, task=task))

    def problem(self, problem: Problem) -> Response:
        return problem.response()
