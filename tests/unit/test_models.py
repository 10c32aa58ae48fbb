"""The shipped model files are the ones that NOTICE.md names."""

import hashlib
import re
from pathlib import Path

from inkgate.runtimes import models

NOTICE = Path(models.__file__).parent / "weights" / "NOTICE.md"
ROWS = re.findall(r"^\| `([^`]+\.(?:onnx|json|npz))` .*`([0-9a-f]{64})` \|$", NOTICE.read_text(), flags=re.MULTILINE)


def test_every_shipped_file_is_listed() -> None:
    shipped = {path.name for path in NOTICE.parent.iterdir()} - {NOTICE.name}
    assert {name for name, _ in ROWS} == shipped


def test_a_shipped_file_has_the_listed_checksum() -> None:
    wrong = [
        (name, found)
        for name, checksum in ROWS
        if (found := hashlib.sha256((NOTICE.parent / name).read_bytes()).hexdigest()) != checksum
    ]
    assert wrong == []


def test_every_model_is_found_where_it_is_said_to_be() -> None:
    cases = [
        models.text_detection,
        models.text_detection_tiny,
        models.text_recognition,
        models.text_recognition_tiny,
        models.line_orientation,
        models.page_orientation,
        models.page_layout,
        models.table_structure,
        models.lone_glyphs,
    ]
    assert [find for find in cases if find().stat().st_size <= 100_000] == []
