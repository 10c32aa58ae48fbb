"""`inkgate extract`, `verify` and `types`, as a user runs them, with the real engine."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from support.server import inkgate, inkgate_here

ROWS = (
    "LITTLE HARBOUR TRADING LTD",
    "Date: 13/04/2018",
    "Rope 8.50",
    "Anchor 20.00",
    "TOTAL 28.50",
    "CASH 30.00",
    "CHANGE 1.50",
)


@pytest.fixture(scope="module")
def receipt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    image = Image.new("RGB", (700, 520), "white")
    draw = ImageDraw.Draw(image)
    for at, row in enumerate(ROWS):
        draw.text((40, 30 + 65 * at), row, "black", ImageFont.load_default(34))
    path = tmp_path_factory.mktemp("receipt") / "receipt.png"
    image.save(path)
    return path


@pytest.mark.smoke
def test_fields_of_a_type_come_as_json_with_their_places(receipt: Path) -> None:
    done = inkgate("extract", str(receipt), "--type", "receipt")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["data"]["total"], found["data"]["date"]) == ("28.50", "2018-04-13")
    left, top, right, bottom = found["fields"]["/total"]["sources"][0]["box"]
    assert 0 <= left < right <= 700
    assert 250 < top < bottom < 350


def test_several_documents_become_rows_and_one_that_is_broken_is_told(receipt: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"\x89PNG no")
    table = tmp_path / "table.csv"
    done = inkgate("extract", str(receipt), str(broken), "-f", "csv", "-o", str(table))
    assert done.returncode == 1
    assert "broken.png" in done.stderr.decode()
    (row,) = csv.DictReader(io.StringIO(table.read_text("utf-8-sig")))
    assert (row["document_type"], row["total"], row["file"]) == ("receipt", "28.50", str(receipt))


def test_strict_and_verify_tell_by_their_status_that_somebody_must_look(receipt: Path, tmp_path: Path) -> None:
    assert inkgate("extract", str(receipt), "--fields", "number of legs", "--strict").returncode == 3
    values = tmp_path / "values.json"
    values.write_text('{"total": "28.60", "date": "2018-04-13"}')
    done = inkgate("verify", str(receipt), str(values), "--type", "receipt")
    found = json.loads(done.stdout)
    assert done.returncode == 3
    assert (found["data"]["total"], found["fields"]["/total"]["status"]) == (None, "ungrounded")
    assert found["data"]["date"] == "2018-04-13"


def test_what_is_wrong_with_the_arguments_is_told(receipt: Path, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text("{")
    wrong = {
        "`inkgate types` shows them": ("extract", str(receipt), "--type", "recipe"),
        "not JSON": ("extract", str(receipt), "--schema", str(schema)),
        "only one": ("extract", str(receipt), "--type", "receipt", "--fields", "total"),
        "not a format": ("extract", str(receipt), "-f", "xml"),
        "No such file": ("extract", str(receipt), "--schema", str(tmp_path / "none.json")),
    }
    for said, arguments in wrong.items():
        done = inkgate_here(*arguments)
        assert (done.returncode, said in done.stderr.decode(), done.stdout) == (2, True, b""), done.stderr


def test_types_are_listed_and_shown() -> None:
    assert "receipt: merchant_name" in inkgate("types").stdout.decode()
    assert json.loads(inkgate_here("types", "receipt").stdout)["name"] == "receipt"
    assert inkgate_here("types", "recipe").returncode == 2
