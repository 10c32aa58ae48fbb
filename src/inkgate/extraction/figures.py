"""Asks the engine about figures: each image is read as a document of its own, with the names of a schema's fields."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isfinite
from typing import Final

import anyio
import structlog

from inkgate.caller import Caller
from inkgate.errors import InkgateError, InputRejected, TaskUnsupported, from_page_error
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import parse
from inkgate.fields.result import object_of
from inkgate.fields.schema import FieldSchema, Leaf
from inkgate.service.reader import CheckedOptions, Reader
from inkgate_client.block_image import BlockImage
from inkgate_client.codec import encodable
from inkgate_client.concurrency import single_error
from inkgate_client.types import Document, JsonValue, Task, TaskKind

log = structlog.get_logger(__name__)

MAX_FIGURES: Final = 100
"""Maximum figures of a document. Further ones are not asked about."""
NO_MODEL_FOR_FIGURES: Final = (
    "this engine can't be asked about figures. Set `engine.name` to a model that extracts fields: "
    "hunyuanocr, glm-ocr, qwen3-vl or qwen2.5-vl."
)
_TRUTHS: Final = {"true": True, "yes": True, "是": True, "false": False, "no": False, "否": False}


@dataclass(frozen=True, slots=True)
class FigureAnnotator:
    """Reads as any caller does: each figure is charged to the caller, takes its turn among other pages, and is kept in
    the cache.

    Attributes:
        at_once: figures of one document that are asked about at once.
        time_s: for all figures of a document.
    """

    reader: Reader
    at_once: int
    time_s: float

    async def annotate(
        self, images: Sequence[BlockImage], schema: FieldSchema, caller: Caller, *, private: bool = False
    ) -> Mapping[str, str]:
        """What the engine says of the images, by their names, as JSON in the form of `schema`. What it says is not
        looked up on the page: a description is not printed there. Images that failed are left out. `private`: as in
        CheckedOptions.

        Raises:
            InputRejected: "feature_unavailable": the engine can't be asked.
            InkgateError: none could be asked about, as the engine failed or has no room: the first one's error.
        """
        caller = replace(caller, deadline=min(caller.deadline, anyio.current_time() + self.time_s))
        options = CheckedOptions(
            Task(TaskKind.EXTRACT, detect_rotation=False, fields=tuple(schema.questions)), private=private
        )
        waiting = iter(images[:MAX_FIGURES])
        annotations: dict[str, str] = {}
        errors: list[InkgateError] = []

        async def ask() -> None:
            for image in waiting:
                try:
                    fields = await self._annotate(image, options, caller)
                except TaskUnsupported as error:
                    raise InputRejected(
                        "feature_unavailable", f"`bbox_annotation_format`: {NO_MODEL_FOR_FIGURES}"
                    ) from error
                except InkgateError as error:
                    log.info("figure_not_annotated", code=error.code)
                    if not isinstance(error, InputRejected):  # else about this figure, such as one that is too narrow
                        errors.append(error)
                else:
                    annotations[image.name] = encodable(json.dumps(annotation(schema, fields), ensure_ascii=False))

        with single_error():
            async with anyio.create_task_group() as group:
                for _ in range(self.at_once):
                    group.start_soon(ask)
        if errors and not annotations:
            raise errors[0]
        return annotations

    async def _annotate(self, image: BlockImage, options: CheckedOptions, caller: Caller) -> Mapping[str, object]:
        async with self.reader.read(Document(image.data, image.name), options, caller) as reading:
            (page,) = (await reading.all()).pages
        if page.error is not None:
            raise from_page_error(page.error)
        return page.fields or {}


def annotation(schema: FieldSchema, answers: Mapping[str, object]) -> dict[str, object]:
    """Every property of the schema: null where the model says nothing that the schema allows, and an empty array for
    arrays, which models are not asked for. `answers`: values by question, from anybody.
    """
    questions = schema.questions
    by_path = {questions[question]: value for question, value in answers.items() if question in questions}
    data: dict[str, object] = {}
    for leaf in schema.leaves:
        object_of(data, leaf)[leaf.names[-1]] = [] if leaf.in_array else _value(leaf, by_path.get(leaf.path))
    return data


def _value(leaf: Leaf, given: object) -> JsonValue:
    if isinstance(given, float) and not isfinite(given):
        return None
    text = str(given).strip() if isinstance(given, str | int | float) else ""
    value: JsonValue = None
    if leaf.json_type == "boolean":
        value = _TRUTHS.get(text.lower())
    elif leaf.json_type in {"number", "integer"}:
        value = _number(leaf, given if isinstance(given, int | float) else text)
    elif leaf.json_type == "string":
        value = text or None
    if value is None or not leaf.choices:
        return value
    return next((each for each in leaf.choices if _same(each, value)), None)


def _number(leaf: Leaf, given: str | float) -> int | float | None:
    number: object = None
    if not isinstance(given, str):
        number = None if isinstance(given, bool) else Decimal(repr(given))
    elif (found := parse(KINDS["number"], given)) is not None:
        number = found.readings[0]
    if not isinstance(number, Decimal) or not isfinite(float(number)):
        return None
    if number == int(number):
        return int(number)
    return None if leaf.json_type == "integer" else float(number)


def _same(choice: JsonValue, value: JsonValue) -> bool:
    if isinstance(choice, str) and isinstance(value, str):
        return choice.casefold() == value.casefold()
    return type(choice) is type(value) and choice == value
