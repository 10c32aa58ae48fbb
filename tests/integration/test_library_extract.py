"""Fields from Python: types, schemas, pydantic models, names, and values to look up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont
from pydantic import BaseModel

import inkgate
from inkgate.errors import InputRejected

ROWS = ("LITTLE HARBOUR TRADING LTD", "Date: 13/04/2018", "Berth: 14B", "TOTAL 28.50", "CASH 30.00", "CHANGE 1.50")


class Slip(BaseModel):
    """What a user's program wants."""

    berth: str
    total: float | None = None


@pytest.fixture(scope="module")
def slip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    image = Image.new("RGB", (700, 450), "white")
    draw = ImageDraw.Draw(image)
    for at, row in enumerate(ROWS):
        draw.text((40, 30 + 65 * at), row, "black", ImageFont.load_default(34))
    path = tmp_path_factory.mktemp("slip") / "slip.png"
    image.save(path)
    return path


@pytest.fixture(scope="module")
def ocr() -> Iterator[inkgate.Ocr]:
    with inkgate.Ocr() as opened:
        yield opened


@pytest.mark.smoke
def test_what_to_find_may_be_given_in_any_form(ocr: inkgate.Ocr, slip: Path) -> None:
    by_model = ocr.extract(slip, schema=Slip)
    assert by_model.data == Slip(berth="14B", total=28.5)
    assert by_model.fields["/total"].sources[0].page == 0
    assert by_model.document.page_count == 1
    assert by_model.extraction.fields["/berth"].sources[0].page == 0
    assert ocr.extract(slip, schema=Slip.model_json_schema()).data == by_model.values
    assert ocr.extract(slip, fields=["berth"]).data == {"berth": "14B"}
    by_words = ocr.extract(slip)
    assert (by_words.extraction.document_type, by_words.data["total"]) == ("receipt", "28.50")


def test_values_that_a_class_does_not_take_are_named_without_them(ocr: inkgate.Ocr, slip: Path) -> None:
    class Ticket(BaseModel):
        berth: int

    found = ocr.extract(slip, schema=Ticket)
    assert (found.data, found.values) == (None, {"berth": None})
    assert found.errors == ("/berth: Input should be a valid integer",)


def test_values_of_somebody_else_are_looked_up(ocr: inkgate.Ocr, slip: Path) -> None:
    data = ocr.extract(slip, type="receipt", data={"total": "28.50", "date": "2018-04-14"}).data
    assert (data["total"], data["date"]) == ("28.50", None)


def test_what_can_not_be_asked_is_refused(ocr: inkgate.Ocr, slip: Path) -> None:
    with pytest.raises(InputRejected) as refused:
        ocr.extract(slip, type="recipe")
    assert refused.value.code == "type_unknown"


def test_wrong_arguments_are_refused_before_anything_is_read(ocr: inkgate.Ocr, slip: Path) -> None:
    with pytest.raises(TypeError, match="feilds"):
        ocr.extract(slip, feilds=["total"])  # type: ignore[call-overload]
    with pytest.raises(inkgate.InputRejected):
        next(ocr.extract_many([slip], pages="x"))
    with pytest.raises(TypeError, match="list of documents"):
        next(ocr.read_many(str(slip)))
