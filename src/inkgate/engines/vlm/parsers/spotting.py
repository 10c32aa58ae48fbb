"""Text with coordinates, in the three formats that models write. Output that was cut off gives the lines before the
cut.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from inkgate.engines.vlm.parsers.answer import (
    FARTHEST,
    ParsedAnswer,
    PlacedText,
    box_on_page,
    quad_on_page,
    without_surrogates,
)
from inkgate.errors import EngineFailed
from inkgate_client.types import Size

_PAIR = re.compile(r"\(\s*(\d{1,5})\s*,\s*(\d{1,5})\s*\)\s*,\s*\(\s*(\d{1,5})\s*,\s*(\d{1,5})\s*\)")
_HUNYUAN_TAG = re.compile(r"</?(?:ref|quad)>")
_LOCATION = re.compile(r"<\|LOC_(\d{1,5})\|>")
_LOCATIONS = re.compile(r"(?:<\|LOC_\d{1,5}\|>(?:\s|<\|LOC_SEP\|>)*)+")
_PADDLE_MARKER = re.compile(r"<\|(?:TEXT_START|TEXT_END|LOC_BEGIN|LOC_END|LOC_SEP)\|>")
_DECODER = json.JSONDecoder()


def spotting_json(output: str, size: Size) -> ParsedAnswer:
    """Lines of a JSON array of `{"box": [left, top, right, bottom], "text": "..."}` on the grid (HunyuanOCR 1.5), or of
    `{"bbox_2d": [...], "text_content": "..."}` (Qwen3-VL).

    Elements in any other form, and text around the array, are ignored.

    Raises:
        EngineFailed: `engine_output_invalid`: there is text, and neither an array nor such an element.
    """
    lines = tuple(_json_lines(output, size))
    if not lines and output.strip() and "[" not in output:
        raise EngineFailed("engine_output_invalid", "the model's answer is not a JSON array")
    return _answer(lines)


def _json_lines(output: str, size: Size) -> Iterator[PlacedText]:
    start = output.find("{")
    while start >= 0:
        end = start + 1
        try:
            element, end = _DECODER.raw_decode(output, start)
        except ValueError:
            element = None
        except RecursionError:
            # Only a model that repeats itself nests so deep, and every brace of it would be as deep again.
            return
        box, text = _box_and_text(element)
        corners = _corners(box)
        if isinstance(text, str) and text.strip() and corners:
            yield PlacedText(without_surrogates(text.strip()), box_on_page(corners, size), start, end)
        start = output.find("{", end)


def _box_and_text(element: object) -> tuple[object, object]:
    """The keys are the names that HunyuanOCR gives them, or Qwen-VL."""
    if not isinstance(element, dict):
        return None, None
    if "box" in element:
        return element["box"], element.get("text")
    return element.get("bbox_2d"), element.get("text_content", element.get("label"))


def _corners(value: object) -> tuple[float, ...] | None:
    """The four numbers of a box; None if there are not four."""
    if not isinstance(value, list) or len(value) != 4:
        return None
    numbers = tuple(item for item in value if isinstance(item, int | float) and abs(item) <= FARTHEST)
    return numbers if len(numbers) == 4 else None


def spotting_hunyuan(output: str, size: Size) -> ParsedAnswer:
    """Lines of `text(left,top),(right,bottom)` on the grid, one after the other (HunyuanOCR 1.0).

    With special tokens shown it is `<ref>text</ref><quad>(left,top),(right,bottom)</quad>`. Text without coordinates is
    in the answer's text, but in no line.
    """
    lines: list[PlacedText] = []
    texts: list[str] = []
    end = 0
    for match in _PAIR.finditer(output):
        text = _HUNYUAN_TAG.sub("", output[end : match.start()]).strip()
        if text:
            box = tuple(float(value) for value in match.groups())
            lines.append(PlacedText(text, box_on_page(box, size), end, match.start()))
            texts.append(text)
        end = match.end()
    rest = _HUNYUAN_TAG.sub("", output[end:]).strip()
    return _answer(tuple(lines), [*texts, rest])


def spotting_paddle(output: str, size: Size) -> ParsedAnswer:
    """Lines of PaddleOCR-VL 1.5 and later: text, then eight location tokens, x and y of four corners on the grid.

    Written `text<|LOC_10|><|LOC_20|>...` or, with every token shown, `<|TEXT_START|>text<|TEXT_END|><|LOC_BEGIN|>
    <|LOC_10|>...<|LOC_END|>`. Source of both: `post_process_for_spotting` in paddlex 3.4 and later
    (inference/pipelines/paddleocr_vl/uilts.py), and the model's tokenizer, which has `<|LOC_0|>` to `<|LOC_1000|>`.
    Text with fewer than eight is in the answer's text, but in no line; of more than eight, the first eight count.
    """
    lines: list[PlacedText] = []
    texts: list[str] = []
    end = 0
    for run in _LOCATIONS.finditer(output):
        text = _PADDLE_MARKER.sub("", output[end : run.start()]).strip()
        corners = tuple(float(value) for value in _LOCATION.findall(run[0]))
        if text:
            texts.append(text)
        if text and len(corners) >= 8:
            lines.append(PlacedText(text, quad_on_page(corners, size), end, run.start()))
        end = run.end()
    return _answer(tuple(lines), [*texts, _PADDLE_MARKER.sub("", output[end:]).strip()])


def _answer(lines: tuple[PlacedText, ...], texts: list[str] | None = None) -> ParsedAnswer:
    shown = [line.text for line in lines] if texts is None else texts
    return ParsedAnswer(text="\n".join(text for text in shown if text), lines=lines)
