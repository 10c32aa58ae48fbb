"""Pages with exact truth of their structure (training/layout): composing, ordering and scanning, without a browser."""

import io
import random
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image
from training.layout import texts as corpus
from training.layout.degrade import homography, moved_truth, scan
from training.layout.drawing import make_draw
from training.layout.generate import FAMILIES, plan
from training.layout.hyphens import SOFT_HYPHEN, hyphenated
from training.layout.tables import data_table
from training.layout.truth import Block, ordered, structure, table_html


@pytest.fixture(autouse=True)
def made_up_texts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Texts that don't depend on what is installed."""
    monkeypatch.setattr(corpus, "_SOURCES", dict.fromkeys(corpus.LANGUAGES, ()))
    monkeypatch.setattr(corpus, "_fortunes", lambda _: [])
    monkeypatch.setattr(corpus, "_catalogue", lambda _: [])
    corpus.texts.cache_clear()
    yield
    corpus.texts.cache_clear()


def test_same_seed_gives_the_same_page_in_every_family() -> None:
    failures = []
    for family, make in FAMILIES.items():
        for language in ("en", "de", "zh", "ar"):
            first, second = make("seed-1", language), make("seed-1", language)
            if first != second or "data-t=" not in first.html or first == make("seed-2", language):
                failures.append((family, language))
    assert not failures


def test_plan_takes_families_in_turn() -> None:
    pages = plan(20, 1, ["letter", "form"])
    assert [family for family, _, _ in pages] == ["letter", "form"] * 10
    assert len({seed for _, _, seed in pages}) == 20


def test_soft_hyphens_leave_the_letters_alone() -> None:
    text = "representation of installations, twice"
    assert hyphenated(text, "en").replace(SOFT_HYPHEN, "") == text
    assert hyphenated(text, "zh") == text


def test_tables_have_as_many_cells_as_their_rows_and_columns_hold() -> None:
    for seed in range(20):
        made = data_table(make_draw(f"table-{seed}", "en"))
        assert made.count("<tr") == made.count("</tr>")
        assert made.count("<td") + made.count("<th") - made.count("<thead") == made.count("</td>") + made.count("</th>")


def _block(kind: str, box: list[float], text: str, **more: object) -> Block:
    line = {"text": text, "box": box, "words": [{"text": text, "box": box}]}
    plain = {"order": 0, "floats": False, "interrupts": False, "flow": 0, "frames": [box]}
    return {"type": kind, "box": box, "lines": [line], **plain, **more}


def _texts(blocks: list[Block]) -> list[str]:
    return [block["lines"][0]["text"] for block in blocks]


def test_float_follows_the_last_block_beside_it() -> None:
    blocks = [
        _block("text", [100, 0, 200, 50], "before"),
        _block("figure", [0, 60, 90, 200], "picture", floats=True),
        _block("text", [100, 60, 200, 120], "beside", frames=[[0, 60, 200, 120]]),
        _block("text", [100, 130, 200, 190], "beside too", frames=[[0, 130, 200, 190]]),
        _block("text", [0, 210, 200, 300], "after"),
    ]
    assert _texts(ordered(blocks)) == ["before", "beside", "beside too", "picture", "after"]


def test_picture_inside_a_paragraph_follows_the_paragraph() -> None:
    blocks = [
        _block("text", [0, 0, 90, 50], "begins"),
        _block("figure", [100, 0, 190, 50], "picture", interrupts=True),
        _block("caption", [100, 50, 190, 60], "caption", interrupts=True),
        _block("text", [100, 70, 190, 100], "ends", goes_on=True),
        _block("text", [100, 110, 190, 130], "next"),
    ]
    assert _texts(ordered(blocks)) == ["begins", "ends", "picture", "caption", "next"]


def test_running_heads_come_first_and_page_numbers_last() -> None:
    blocks = [
        _block("page_number", [0, 0, 9, 9], "7", order=2),
        _block("text", [0, 20, 90, 50], "body"),
        _block("footer", [0, 90, 90, 99], "foot", order=1),
        _block("header", [20, 0, 90, 9], "head", order=-1),
    ]
    page = structure(blocks, 100, 200)
    assert _texts(page["blocks"]) == ["head", "body", "foot", "7"]
    assert (page["width"], page["height"]) == (75.0, 150.0)
    assert page["blocks"][0]["box"] == [15.0, 0.0, 67.5, 6.75]
    assert "order" not in page["blocks"][0]


def test_table_html_keeps_spans_and_headers() -> None:
    cell = {"row_span": 1, "column_span": 1, "header": False, "box": [0, 0, 1, 1]}
    cells = [
        {**cell, "row": 0, "column": 0, "column_span": 2, "header": True, "text": "a < b"},
        {**cell, "row": 1, "column": 0, "text": "1"},
        {**cell, "row": 1, "column": 1, "text": "2"},
    ]
    assert table_html(cells) == '<table><tr><th colspan="2">a &lt; b</th></tr><tr><td>1</td><td>2</td></tr></table>'


def test_homography_takes_corners_where_they_were_sent() -> None:
    corners = [(0.0, 0.0), (100.0, 0.0), (100.0, 50.0), (0.0, 50.0)]
    moved = [(3.0, 1.0), (98.0, 4.0), (97.0, 52.0), (-1.0, 49.0)]
    matrix = homography(corners, moved)
    for (x, y), wanted in zip(corners, moved, strict=True):
        u, v, w = matrix @ np.array([x, y, 1.0])
        assert (u / w, v / w) == pytest.approx(wanted)


def test_boxes_of_a_scan_stand_where_the_ink_is() -> None:
    rng = random.Random(4)
    missed = []
    for number in range(8):
        page = Image.new("RGB", (600, 800), "white")
        left, top = rng.randint(50, 400), rng.randint(50, 600)
        page.paste((0, 0, 0), (left, top, left + 120, top + 60))
        data, matrix = scan(page, f"scan-{number}")
        [box] = moved_truth([{"box": [left, top, left + 120, top + 60]}], matrix)
        dark = np.asarray(Image.open(io.BytesIO(data)).convert("L")) < 110
        rows, columns = np.nonzero(dark[20:-20, 40:-40])
        found = (
            np.percentile(columns, 5) + 40,
            np.percentile(rows, 5) + 20,
            np.percentile(columns, 95) + 40,
            np.percentile(rows, 95) + 20,
        )
        x0, y0, x1, y1 = box["box"]
        if not (x0 - 2 <= found[0] and y0 - 2 <= found[1] and found[2] <= x1 + 2 and found[3] <= y1 + 2):
            missed.append((number, box["box"], found))
    assert not missed
