"""Documents that were answered wrongly without a word: tests/data/trust/expect.json says what is right."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import inkgate
from inkgate import Ocr, Task
from inkgate.library import OcrResult
from inkgate_client.types import LeftOutReason, TaskKind

DATA = Path(__file__).parents[1] / "data/trust"
CASES: list[dict[str, Any]] = json.loads((DATA / "expect.json").read_text())


def test_what_the_service_says_is_printed_and_what_is_printed_it_says_or_flags() -> None:
    with Ocr() as ocr:
        wrong = {case["file"]: faults for case in CASES if (faults := _faults(ocr, case))}
    assert wrong == {}


def _faults(ocr: Ocr, case: dict[str, Any]) -> list[str]:
    try:
        if "extract" in case:
            return _wrong_fields(ocr.extract(DATA / case["file"], case["extract"]).data, case["data"])
        kind = TaskKind.PARSE if "format" in case else TaskKind.TEXT
        # As macOS sends it: letters and accents apart.
        password = unicodedata.normalize("NFD", case.get("password", ""))
        read = ocr.read(DATA / case["file"], task=Task(kind), password=password)
    except inkgate.InkgateError as error:
        return [f"{error.code}: {error}"]
    return _wrong_text(read, case)


def _wrong_fields(found: Mapping[str, object], expected: dict[str, str]) -> list[str]:
    return [f"{name} is {found.get(name)}" for name, value in expected.items() if str(found.get(name)) != value]


def _wrong_text(read: OcrResult, case: dict[str, Any]) -> list[str]:
    text = read.markdown if "format" in case else read.text
    lines = [line.strip() for line in text.splitlines()]
    flat = " ".join(text.split())
    faults = [f"{part!r} is missing" for part in case.get("must", []) if part not in flat]
    faults += [f"{part!r} is there" for part in case.get("must_not", []) if part in flat]
    faults += [f"{word!r} is a word" for word in case.get("must_not_word", []) if word in flat.split()]
    faults += [f"{line!r} is a line" for line in case.get("must_not_line", []) if line in lines]
    if "lines_of" in case:
        expected = [line.strip() for line in (DATA / case["lines_of"]).read_text().splitlines() if line.strip()]
        faults += [f"{line!r} is missing" for line in expected if line not in lines]
    reasons = {part.reason for page in read.pages for part in page.left_out}
    if "hidden" in case and LeftOutReason.INVISIBLE not in reasons:
        faults.append("nothing is left out")
    if "note" in case and not read.notes:
        faults.append("there is no note")
    least = case.get("note_or_more_lines", 0)
    if sum(len(page.lines) for page in read.pages) < least and not read.notes:
        faults.append(f"there are fewer than {least} lines, and no note")
    return faults
