"""For tests of the evaluation: a small manifest, and a candidate that reads from a list."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from inkgate_bench.accuracy.candidates import Transcript
from inkgate_bench.accuracy.manifest import Entry


def draw(path: Path, *lines: str, width: int = 700) -> None:
    """An image with these lines of text, 60 pixels apart, in letters of about 36 pixels."""
    image = Image.new("L", (width, 60 * len(lines) + 40), 255)
    pen = ImageDraw.Draw(image)
    font = ImageFont.load_default(36)
    for number, line in enumerate(lines):
        pen.text((30, 20 + 60 * number), line, 0, font)
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)


def write_manifest(folder: Path, *items: Mapping[str, Any]) -> Path:
    """Writes a manifest of these entries; their `text`, `lines` and `tests` go to files beside it."""
    listed = []
    for item in items:
        entry = {key: value for key, value in item.items() if key not in {"text", "lines", "tests"}}
        file = folder / item["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        truth = {}
        if "text" in item:
            truth["text"] = _write(folder, file.with_suffix(".txt"), item["text"])
        if "lines" in item:
            truth["lines"] = _write(folder, file.with_suffix(".lines.json"), json.dumps(item["lines"]))
        if "tests" in item:
            rows = "\n".join(json.dumps(test) for test in item["tests"])
            truth["tests.jsonl"] = _write(folder, file.with_suffix(".tests.jsonl"), rows)
        listed.append({"ground_truth": truth, **entry})
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps(listed), encoding="utf-8")
    return manifest


def _write(folder: Path, file: Path, content: str) -> str:
    file.write_text(content, encoding="utf-8")
    return str(file.relative_to(folder))


class ScriptedCandidate:
    """A candidate that reads by path from a table; an exception in it is raised."""

    version = "1"
    parallel = 2

    def __init__(self, name: str, transcripts: Mapping[str, Transcript | Exception]) -> None:
        self.name = name
        self.read_paths: list[str] = []
        self._transcripts = transcripts

    async def read(self, entry: Entry) -> Transcript:
        self.read_paths.append(entry.path)
        found = self._transcripts[entry.path]
        if isinstance(found, Exception):
            raise found
        return found
