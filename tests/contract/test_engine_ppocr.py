"""What the embedded engine does beyond the contract of an Engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from inkgate.caller import NO_CALLER
from inkgate.engines.ppocr.engine import PpOcr
from inkgate.errors import EngineFailed
from inkgate.layout.analysis import PageAnalysis
from inkgate.layout.evidence import Region
from inkgate.page import RgbArray
from inkgate.runtimes.base import ColumnModel, Model, Runtime
from inkgate.runtimes.choose import open_runtime
from inkgate.serving.batching import Batchers
from inkgate.settings import PpocrSettings, Precision, Quality, RuntimeName
from inkgate_client.coordinates import as_sent
from inkgate_client.types import BlockType, ReviewReason, Task, TaskKind
from support.ppocr import ArrayPage, drawn, drawn_cells, faces

pytestmark = pytest.mark.anyio

SETTINGS = PpocrSettings(shortest_side=320)
RUNTIME = open_runtime(RuntimeName.AUTO, Precision.AUTO, threads=0)
"""Less than the default: what these tests draw is large enough, and detection takes a fourth of the time."""
VERTICAL = (
    "「ただいま」と言って、戸を開けた。雨はもうやんでいた。"
    "コーヒーとケーキを頼み、ノートを開いて、ゆっくり待った。"
    "「はい」と、そっと答えた。"
)
TEXT = ["The quick brown fox", "jumps over 1234 lazy dogs", "and runs away from here"]


class OneBlock:
    """A Layout that takes any page of some size for text."""

    def find(self, pixels: RgbArray) -> list[Region]:
        height, width = pixels.shape[:2]
        return [Region(BlockType.TEXT, (0, 0, width, height), 0.9)]


class BrokenLayout:
    """A Layout that fails as native code does."""

    def find(self, pixels: RgbArray) -> list[Region]:
        raise RuntimeError(f"bad tensor {pixels.shape} at 0x7f00")


@pytest.fixture(scope="module")
async def engine() -> AsyncIterator[PpOcr]:
    engine = PpOcr(SETTINGS, PageAnalysis(OneBlock()), RUNTIME)
    await engine.start()
    yield engine
    await engine.stop()


@pytest.mark.parametrize("quarters", [0, 1, 2, 3])
async def test_a_turned_page_is_set_upright(engine: PpOcr, quarters: int) -> None:
    """`quarters`: by how many times 90 degrees clockwise the page was turned."""
    upright = drawn(TEXT)
    result = await engine.read(ArrayPage(np.ascontiguousarray(np.rot90(upright, -quarters))), Task(), NO_CALLER)

    assert result.rotation == (360 - 90 * quarters) % 360
    assert (result.width, result.height) == (640, 360)
    assert [line.text for line in result.lines] == TEXT
    left, top, right, bottom = result.lines[0].box
    assert (left, top) == pytest.approx((28, 22), abs=6)
    assert right > left + 200
    assert bottom < 62


@pytest.mark.parametrize("quarters", [0, 1, 2, 3])
@pytest.mark.parametrize("texts", [["Please pay the amount", "of 450 before 3 June"], ["Return to sender please"]])
async def test_a_sparse_page_is_set_upright_by_its_lines(engine: PpOcr, texts: list[str], quarters: int) -> None:
    """The lines stand where the page classifier doesn't look."""
    sheet = np.full((1754, 1240, 3), 255, np.uint8)
    sheet[40:200, 40:680] = drawn(texts, (640, 160))
    result = await engine.read(ArrayPage(np.ascontiguousarray(np.rot90(sheet, -quarters))), Task(), NO_CALLER)

    assert result.rotation == (360 - 90 * quarters) % 360
    assert (result.width, result.height) == (1240, 1754)
    assert [line.text for line in result.lines] == texts
    assert result.lines[0].box[:2] == pytest.approx((68, 62), abs=8)


@pytest.mark.parametrize("quarters", [1, 2, 3])
async def test_boxes_of_a_turned_page_lie_on_the_ink_of_the_picture_as_sent(engine: PpOcr, quarters: int) -> None:
    picture = np.ascontiguousarray(np.rot90(drawn(TEXT), -quarters))
    page = as_sent(await engine.read(ArrayPage(picture), Task(), NO_CALLER))

    assert page.rotation != 0
    assert (page.height, page.width) == picture.shape[:2]
    ink = picture.min(axis=2) < 128
    covered = np.zeros_like(ink)
    for line in page.lines:
        left, top, right, bottom = (round(side) for side in line.box)
        covered[max(top, 0) : bottom, max(left, 0) : right] = True
    assert ink[covered].sum() > 0.97 * ink.sum()
    assert covered.sum() < 0.3 * covered.size


async def test_a_turned_page_is_left_as_it_is_on_request(engine: PpOcr) -> None:
    page = ArrayPage(np.ascontiguousarray(np.rot90(drawn(TEXT))))

    result = await engine.read(page, Task(detect_rotation=False), NO_CALLER)

    assert (result.rotation, result.width, result.height) == (0, 360, 640)
    # The lines are read all the same: each is cut out along its own direction.
    assert sorted(line.text for line in result.lines) == sorted(TEXT)
    x0, y0 = result.lines[0].quad[0]
    x1, y1 = result.lines[0].quad[1]
    assert abs(x1 - x0) < 5
    assert y0 - y1 > 200


async def test_a_single_line_upside_down_is_turned(engine: PpOcr) -> None:
    rgb = drawn([*TEXT, "", "Keep this side up please"], (640, 400)).copy()
    rgb[200:280] = rgb[200:280][::-1, ::-1]

    result = await engine.read(ArrayPage(rgb), Task(), NO_CALLER)

    assert result.rotation == 0
    turned = next(line for line in result.lines if line.text == "Keep this side up please")
    assert turned.quad[0][0] > turned.quad[1][0]
    assert turned.quad[0][1] > turned.quad[3][1]


SHORT = ["7", "x7", "7x", "5°", "77", "6", "L", "37", "4h", "9", "17", "J7", "2", "75", "7%"]


@pytest.mark.parametrize("heading", [TEXT[:2], []])
@pytest.mark.parametrize("quarters", [0, 2])
async def test_short_lines_are_read_the_way_their_page_stands(engine: PpOcr, heading: list[str], quarters: int) -> None:
    """Turned by 180 degrees 7 is L, 6 is 9, and each is read as well as the other."""
    wrong = []
    for name, font in list(faces(28).items())[:3]:
        sheet = np.ascontiguousarray(np.rot90(drawn_cells(SHORT, font, heading), quarters))
        read = {line.text for line in (await engine.read(ArrayPage(sheet), Task(), NO_CALLER)).lines}
        wrong += [(name, text) for text in ("7", "6", "9", "L", "77", "17", "75") if text not in read]
    assert wrong == []


CHARACTERS = [*"7LIl1|O0o-–—£½²®xSsK8]¶§@Q", "3o", "²9", "2£", "B7", "75"]


async def test_no_lone_character_is_silently_another(engine: PpOcr) -> None:
    """What is read in its cell is printed there, or has a confidence below that of marked words.

    One pair may lie above: `2£` is read as `2f` with 0.91 where int8 is beside f32.
    """
    wrong = []
    for name, font in [one for one in faces(32).items() if one[0] in {"DejaVuSans", "DejaVuSerif"}]:
        page = ArrayPage(drawn_cells(CHARACTERS, font, TEXT[:2]))
        lines = (await engine.read(page, Task(), NO_CALLER)).lines[2:]
        for line in lines:
            left, top, right, bottom = line.box
            row, column = (bottom + top) / 2 / 32, (left + right) / 2 / 32
            printed = CHARACTERS[5 * round((row - 5.55) / 3) + round((column - 2.3) / 4.5)]
            wrong += [(name, printed, line.text)] if line.text != printed and line.confidence >= 0.9 else []
        assert len(lines) > 0.8 * len(CHARACTERS)
    assert [each for each in wrong if each[1:] != ("2£", "2f")] == []


@pytest.mark.parametrize(
    ("texts", "script"),
    [
        (["Все люди рождаются свободными", "и равными в своем достоинстве", "Они наделены разумом"], "Cyrillic"),
        (["כל בני אדם נולדו בני חורין", "ושווים בערכם ובזכויותיהם", "כולם חוננו בתבונה"], "Hebrew"),
        (TEXT, None),
    ],
)
async def test_a_page_in_a_script_that_is_not_read_is_flagged_by_name(
    engine: PpOcr, texts: list[str], script: str | None
) -> None:
    result = await engine.read(ArrayPage(drawn(texts, (640, 220), font=faces(28)["DejaVuSans"])), Task(), NO_CALLER)

    named = [note.detail for note in result.review_notes if note.reason is ReviewReason.SCRIPT_UNSUPPORTED]
    assert named == ([script] if script else [])


async def test_a_chinese_page_is_not_flagged(engine: PpOcr) -> None:
    picture = Image.open(Path(__file__).parent.parent / "data" / "specimens" / "cn_id_front.jpg").convert("RGB")
    result = await engine.read(ArrayPage(np.asarray(picture)), Task(), NO_CALLER)

    assert ReviewReason.SCRIPT_UNSUPPORTED not in result.review


@pytest.mark.parametrize("face", ["sans", "serif"])
async def test_small_characters_of_vertical_columns_are_read_or_flagged(engine: PpOcr, face: str) -> None:
    picture = Image.open(Path(__file__).parent.parent / "data" / "vertical" / f"{face}.png").convert("RGB")
    result = await engine.read(ArrayPage(np.asarray(picture)), Task(), NO_CALLER)

    columns = sorted(result.lines, key=lambda line: -line.box[0])
    text = "".join(line.text for line in columns)
    missing = Counter(VERTICAL) - Counter(text)
    gaps = [note for note in result.review_notes if note.reason is ReviewReason.INK_WITHOUT_TEXT]
    assert sum(missing.values()) <= 3
    assert len(gaps) >= sum(missing.values())
    assert all(note.box is not None and note.box[2] - note.box[0] < 60 for note in gaps)


@pytest.mark.parametrize(("height", "width"), [(1, 1), (2, 900), (12_000, 12), (12, 12_000)])
async def test_pages_of_odd_shapes_are_answered(engine: PpOcr, height: int, width: int) -> None:
    result = await engine.read(ArrayPage(np.full((height, width, 3), 200, np.uint8)), Task(), NO_CALLER)

    assert (result.width, result.height, result.lines) == (width, height, ())


async def test_words_stand_where_they_are_printed(engine: PpOcr) -> None:
    rgb = drawn(["left                         right"], (640, 80))
    ink = np.flatnonzero((rgb < 128).any(axis=(0, 2)))
    gap = int(np.argmax(np.diff(ink)))

    result = await engine.read(ArrayPage(rgb), Task(), NO_CALLER)

    words = [word for line in result.lines for word in line.words]
    assert [word.text for word in words] == ["left", "right"]
    (left, right) = words
    assert left.quad[0][0] == pytest.approx(ink[0], abs=14)
    assert left.quad[1][0] == pytest.approx(ink[gap], abs=14)
    assert right.quad[0][0] == pytest.approx(ink[gap + 1], abs=14)
    assert right.quad[1][0] == pytest.approx(ink[-1], abs=14)


async def test_a_task_overrides_the_settings(engine: PpOcr) -> None:
    page = ArrayPage(drawn(TEXT))

    nothing = await engine.read(page, Task(min_line_confidence=1.0, detection_longest_side=640), NO_CALLER)
    no_boxes = await engine.read(page, Task(detection_box_threshold=1.0), NO_CALLER)

    assert nothing.lines == ()
    assert no_boxes.lines == ()


async def test_before_start_and_after_stop_it_is_unavailable() -> None:
    engine = PpOcr(SETTINGS, PageAnalysis(OneBlock()), RUNTIME)
    page = ArrayPage(drawn(TEXT))
    with pytest.raises(EngineFailed) as before:
        await engine.read(page, Task(), NO_CALLER)
    await engine.start()
    await engine.stop()
    with pytest.raises(EngineFailed) as after:
        await engine.read(page, Task(), NO_CALLER)
    assert (before.value.code, after.value.code) == ("engine_unavailable", "engine_unavailable")


async def test_a_failure_of_native_code_is_the_engines_and_tells_nothing() -> None:
    engine = PpOcr(SETTINGS, PageAnalysis(BrokenLayout()), RUNTIME)
    await engine.start()
    with pytest.raises(EngineFailed) as failed:
        await engine.read(ArrayPage(drawn(TEXT, (320, 200), 14)), Task(kind=TaskKind.PARSE), NO_CALLER)
    await engine.stop()
    assert failed.value.code == "engine_failed"
    assert "0x7f00" not in str(failed.value)


async def test_regions_are_those_of_the_upright_page(engine: PpOcr) -> None:
    turned = np.ascontiguousarray(np.rot90(drawn(TEXT)))

    result = await engine.read(ArrayPage(turned), Task(kind=TaskKind.PARSE), NO_CALLER)

    assert result.rotation == 90
    assert result.blocks is not None
    assert [block.type for block in result.blocks] == [BlockType.TEXT]
    assert result.blocks[0].lines == (0, 1, 2)
    assert result.blocks[0].text.split() == " ".join(TEXT).split()


@pytest.mark.parametrize(
    ("quality", "opened"),
    [
        (Quality.FAST, ["det_tiny", "rec_tiny"]),
        (Quality.BALANCED, ["det_small", "rec_small", "rec_tiny"]),
        (Quality.BEST, ["det_small", "rec_small"]),
    ],
)
async def test_each_quality_reads_clear_print_with_its_models(quality: Quality, opened: list[str]) -> None:
    runtime = OpeningRuntime(RUNTIME)
    settings = SETTINGS.model_copy(update={"quality": quality})
    engine = PpOcr(settings, PageAnalysis(OneBlock()), runtime)
    await engine.start()
    result = await engine.read(ArrayPage(drawn(TEXT)), Task(), NO_CALLER)
    await engine.stop()

    assert [line.text for line in result.lines][:3] == TEXT
    assert [word.text for word in result.lines[0].words] == TEXT[0].split()
    names = (name.removeprefix("PP-OCRv6_") for name in runtime.opened)
    assert sorted(name for name in names if name.startswith(("det_", "rec_"))) == opened


@dataclass
class OpeningRuntime:
    """A Runtime that remembers which models were opened."""

    runtime: Runtime
    opened: list[str] = field(default_factory=list)
    name: str = "remembering"
    gpu: bool = False
    fell_back: str = ""

    def open(self, path: Path) -> Model:
        self.opened.append(path.stem)
        return self.runtime.open(path)

    def open_columns(self, path: Path) -> ColumnModel:
        self.opened.append(path.stem)
        return self.runtime.open_columns(path)


async def counted(settings: PpocrSettings, task: Task) -> tuple[int, list[str]]:
    """How many lines the recognizer got for a page of small print, and what was read."""
    batchers = Batchers(settings.batching)
    engine = PpOcr(settings, PageAnalysis(OneBlock()), RUNTIME, batchers)
    await engine.start()
    result = await engine.read(ArrayPage(drawn(SMALL_PRINT, (320, 160), 11)), task, NO_CALLER)
    await engine.stop()
    return batchers.by_model["recognizer"].items, [line.text for line in result.lines]


SMALL_PRINT = ["All prices include VAT of 19 %.", "Goods can be returned within a month.", "Keep this receipt, please."]


async def test_only_doubtful_lines_are_read_twice() -> None:
    plain = Task(detect_rotation=False, line_orientation=False)
    once, first = await counted(SETTINGS.model_copy(update={"second_reading_below": 0.0}), plain)
    twice, second = await counted(SETTINGS.model_copy(update={"second_reading_below": 1.0}), plain)

    assert (once, twice) == (3, 6)
    # Spaces of print that small come and go with the detector's precision.
    texts = [sorted("".join(line.split()) for line in lines) for lines in (first, second, SMALL_PRINT)]
    assert texts[0] == texts[1] == texts[2]


async def test_a_degraded_page_is_read_once() -> None:
    settings = SETTINGS.model_copy(update={"second_reading_below": 1.0})
    lines, _ = await counted(settings, Task(detect_rotation=False, line_orientation=False, image_scale=0.75))
    assert lines == len(SMALL_PRINT)


LONE = ["Appendix A", "17", "Exhibit 3", "Notes"]


@pytest.mark.parametrize("quality", [Quality.FAST, Quality.BEST])
async def test_a_lone_line_on_a_sheet_is_read(quality: Quality) -> None:
    """The small detector sees none of these lines of 12 to 14 points on A4 at 100 dpi, however clear."""
    engine = PpOcr(SETTINGS.model_copy(update={"quality": quality}), PageAnalysis(OneBlock()), RUNTIME)
    await engine.start()
    wrong = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        text, px = LONE[seed % len(LONE)], int(rng.integers(17, 21))
        dark = seed % 5 == 4
        sheet = np.full((1169, 827, 3), 255, np.uint8)
        line = drawn([text], (10 * px, 60), px)[10:, 20:]
        y, x = (
            int(rng.uniform(0, 0.98) * (side - part))
            for side, part in zip(sheet.shape[:2], line.shape[:2], strict=True)
        )
        sheet[y : y + line.shape[0], x : x + line.shape[1]] = line
        result = await engine.read(ArrayPage(255 - sheet if dark else sheet), Task(detect_rotation=False), NO_CALLER)
        if [line.text for line in result.lines] != [text]:
            wrong.append((seed, text, px, dark, result.text))
    await engine.stop()
    assert wrong == []


async def test_writing_that_no_line_explains_is_noted_with_its_place(engine: PpOcr) -> None:
    """Here because the task asks for lines of a confidence that none has."""
    sheet = np.full((1169, 827, 3), 255, np.uint8)
    sheet[500:660, 100:740] = drawn(TEXT, (640, 160))

    read = await engine.read(ArrayPage(sheet), Task(), NO_CALLER)
    unread = await engine.read(ArrayPage(sheet), Task(min_line_confidence=1.0), NO_CALLER)

    assert read.review_notes == ()
    assert unread.review == (ReviewReason.INK_WITHOUT_TEXT,)
    box = unread.review_notes[0].box
    assert box is not None
    assert (box[0], box[1]) == pytest.approx((130, 525), abs=12)
