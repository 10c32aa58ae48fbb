"""Pictures of made-up papers, read with the embedded engine: type and fields, without being told what they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from PIL import Image

import inkgate

SPECIMENS = Path(__file__).parents[1] / "data" / "specimens"
TRUTH: dict[str, tuple[str, dict[str, object]]] = {
    "cn_id_front.jpg": (
        "cn_id_card",
        {
            "name": "郭超",
            "sex": "男",
            "nation": "维吾尔",
            "birth_date": "1983-04-28",
            "address": "北京市朝阳区长江路40号1号楼5单元256室",
            "number": "110105198304288576",
        },
    ),
    "train_ticket_paper.jpg": (
        "train_ticket",
        {
            "from_station": "天津站",
            "to_station": "广州南站",
            "train_number": "K1162",
            "date": "2025-03-01",
            "time": "12:43",
            "seat": "13车19B号",
            "seat_class": "一等座",
            "price": "567.00",
            "name": "胡磊",
            "id_number": "4201111983****9133",
            "ticket_number": "J742371",
        },
    ),
    "bill_of_lading.jpg": (
        "bill_of_lading",
        {
            "bl_number": "OOLU123057551",
            "shipper": "BRIGHTWATER LOGISTICS LTD 41 HARBOUR STREET NINGBO, CHINA",
            "consignee": "NORTHGATE TRADING INC. 25 MILL ROAD SINGAPORE",
            "notify_party": "ALDER & FINCH GMBH 71 QUAY SIDE SINGAPORE",
            "vessel": "MAERSK ELBA",
            "voyage": "958N",
            "port_of_loading": "NINGBO, CHINA",
            "port_of_discharge": "SINGAPORE",
            "place_of_delivery": "SINGAPORE",
            "containers": ["BEPU1466517", "PNDU3420211", "YKYU8184114"],
            "packages": "283 CARTONS",
            "gross_weight": "10997 kg",
            "measurement": "36.583 m3",
            "issue_date": "2026-03-26",
            "issue_place": "NINGBO",
        },
    ),
    "bank_card.jpg": (
        "bank_card",
        {"bank": "NORTH HARBOUR BANK", "number": "4539016007489030", "valid_thru": "2028-10", "name": "INGRID MOREAU"},
    ),
}


@pytest.fixture(scope="module")
def ocr() -> Iterator[inkgate.Ocr]:
    with inkgate.Ocr() as opened:
        yield opened


@pytest.mark.parametrize("name", list(TRUTH))
def test_a_paper_is_known_and_read(ocr: inkgate.Ocr, name: str) -> None:
    wanted_type, wanted = TRUTH[name]
    found = ocr.extract(SPECIMENS / name)
    assert found.extraction.document_type == wanted_type
    assert {key: value for key, value in found.data.items() if value not in (None, [])} == wanted
    assert all(check.passed for check in found.extraction.checks)


def test_a_picture_without_text_is_of_no_type(ocr: inkgate.Ocr, tmp_path: Path) -> None:
    random = Random(3)
    picture = Image.new("RGB", (40, 30))
    picture.putdata([(random.randrange(256), random.randrange(256), 90) for _ in range(1200)])
    picture.resize((800, 600), Image.Resampling.BICUBIC).save(tmp_path / "photo.png")
    found = ocr.extract(tmp_path / "photo.png").extraction
    assert (found.document_type, found.data, found.status.value) == ("", {}, "needs_review")
