"""What clients of PaddleX's document parsing send and get."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from inkgate.caller import Caller
from inkgate.errors import EngineFailed, InputRejected
from inkgate.page import Page
from inkgate_client.types import Block, BlockType, Line, PageResult, Table, TableCell, Task, TaskKind
from support.api_client import b64, pdf, png, running_api, tiff
from support.fake_engine import FakeEngine
from support.pictured_page import PicturedEngine

pytestmark = pytest.mark.anyio

PATH = "/layout-parsing"
OPTIONS = {
    "useDocOrientationClassify": False,
    "useDocUnwarping": True,
    "useChartRecognition": True,
    "temperature": 0.3,
    "topP": 0.9,
    "repetitionPenalty": 1.1,
    "minPixels": 1000,
    "maxPixels": 2000,
    "maxNewTokens": 10,
    "prettifyMarkdown": True,
    "outputFormats": ["docx"],
    "visualize": True,
}


@dataclass
class Blocks(FakeEngine):
    """Finds these blocks on every page."""

    blocks: tuple[Block, ...] = ()
    lines: tuple[Line, ...] = ()

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        self.tasks.append(task)
        blocks = self.blocks if task.kind is TaskKind.PARSE else None
        return PageResult(page.index, 200, 130, lines=self.lines, blocks=blocks, markdown="all of it", text="all of it")


@pytest.mark.smoke
async def test_a_page_is_answered_in_the_envelope() -> None:
    async with running_api() as api:
        answer = await api.client.post(PATH, json={"file": b64(png()), "fileType": 1, "logId": "mine"})
    body = answer.json()
    assert (body["logId"], body["errorCode"], body["errorMsg"]) == ("mine", 0, "Success")
    assert body["result"]["dataInfo"] == {"width": 200, "height": 130, "type": "image"}
    [page] = body["result"]["layoutParsingResults"]
    assert page.keys() == {"prunedResult", "markdown", "outputImages", "inputImage"}
    assert (page["outputImages"], page["inputImage"]) == (None, None)
    assert page["markdown"]["text"].startswith("# Hello page 0")
    assert page["markdown"]["images"] == {}
    pruned = page["prunedResult"]
    assert (pruned["page_count"], pruned["width"], pruned["height"]) == (None, 200, 130)
    assert pruned["model_settings"]["use_layout_detection"] is True
    title, table, figure, footer = pruned["parsing_res_list"]
    assert title == {
        "block_label": "doc_title",
        "block_content": "Hello page 0",
        "block_bbox": [10, 10, 130, 30],
        "block_id": 0,
        "block_order": 1,
    }
    assert table["block_content"].startswith("<table>")
    assert (figure["block_label"], figure["block_content"], figure["block_order"]) == ("image", "", 3)
    assert (footer["block_label"], footer["block_order"], footer["block_id"]) == ("footer", None, 3)


async def test_every_type_of_block_has_one_of_paddlexs_labels() -> None:
    blocks = tuple(Block(kind, (0, 0, 9, 9), (), "text", "marked", level=1) for kind in (*BlockType, BlockType.TITLE))
    shown = [block for block in blocks if block.type is not BlockType.CHECKBOX]  # PaddleX has no such class
    async with running_api(Blocks(blocks=blocks)) as api:
        answer = await api.client.post(PATH, json={"file": b64(png())})
    found = answer.json()["result"]["layoutParsingResults"][0]["prunedResult"]["parsing_res_list"]
    assert {str(block.type): told["block_label"] for block, told in zip(shown[1:], found[1:], strict=True)} == {
        "title": "paragraph_title",
        "text": "text",
        "list": "text",
        "table": "table",
        "figure": "image",
        "caption": "figure_title",
        "header": "header",
        "footer": "footer",
        "reference": "reference",
        "formula": "formula",
        "barcode": "image",
        "stamp": "seal",
    }
    assert found[0]["block_label"] == "doc_title"
    assert {told["block_content"] for told in found if told["block_label"] == "formula"} == {"marked"}


async def test_a_page_that_is_not_cut_into_blocks_is_one() -> None:
    async with running_api(Blocks()) as api:
        answer = await api.client.post(PATH, json={"file": b64(png())})
    [block] = answer.json()["result"]["layoutParsingResults"][0]["prunedResult"]["parsing_res_list"]
    assert (block["block_label"], block["block_content"]) == ("text", "all of it")
    assert block["block_bbox"] == [0, 0, 200, 130]


async def test_options_that_mean_nothing_here_do_no_harm() -> None:
    async with running_api() as api:
        answer = await api.client.post(PATH, json={"file": b64(png()), **OPTIONS})
    assert answer.status_code == 200
    assert api.engine.tasks == [Task(TaskKind.PARSE, detect_rotation=False, images=True)]
    settings = answer.json()["result"]["layoutParsingResults"][0]["prunedResult"]["model_settings"]
    assert (settings["use_doc_unwarping"], settings["use_doc_orientation_classify"]) == (False, False)


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        (None, TaskKind.TEXT),
        ("ocr", TaskKind.TEXT),
        ("formula", TaskKind.FORMULA),
        ("table", TaskKind.TABLE),
        ("chart", TaskKind.CHART),
        ("spotting", TaskKind.SPOT),
    ],
)
async def test_without_layout_the_page_is_read_whole_by_its_label(label: str | None, kind: TaskKind) -> None:
    async with running_api() as api:
        body = {"file": b64(png()), "useLayoutDetection": False, "promptLabel": label}
        answer = await api.client.post(PATH, json=body)
    assert api.engine.tasks[0].kind is kind
    pruned = answer.json()["result"]["layoutParsingResults"][0]["prunedResult"]
    [block] = pruned["parsing_res_list"]
    assert (block["block_label"], block["block_content"]) == (label or "ocr", "Hello page 0\nGrüße 世界")
    assert pruned["model_settings"]["use_layout_detection"] is False


async def test_with_layout_the_label_has_no_effect() -> None:
    async with running_api() as api:
        answer = await api.client.post(PATH, json={"file": b64(png()), "promptLabel": "seal"})
    assert answer.status_code == 200
    assert api.engine.tasks[0].kind is TaskKind.PARSE


async def test_all_pages_of_a_pdf_are_answered_and_a_failed_one_keeps_its_place() -> None:
    failing = FakeEngine(failing={1: EngineFailed("engine_failed", "No luck.")})
    async with running_api(failing) as api:
        whole = await api.client.post(PATH, json={"file": b64(pdf(12)), "fileType": 0, "pages": "3-12"})
        partial = await api.client.post(PATH, json={"file": b64(tiff(3)), "fileType": 1})
    result = whole.json()["result"]
    assert len(result["layoutParsingResults"]) == 10
    assert result["layoutParsingResults"][0]["prunedResult"]["page_count"] == 12
    assert (result["dataInfo"]["type"], result["dataInfo"]["numPages"]) == ("pdf", 10)
    failed = partial.json()["result"]["layoutParsingResults"][1]
    assert partial.headers["x-inkgate-status"] == "partial"
    assert failed["prunedResult"]["error"]["code"] == "engine_failed"
    assert failed["prunedResult"]["parsing_res_list"] == []
    assert failed["markdown"]["text"] == "> **Page 2 could not be read:** No luck."


async def test_a_page_has_what_pp_structure_finds() -> None:
    cells = (TableCell(0, 0, "a", lines=(0,), box=(10, 40, 60.04, 60)), TableCell(0, 1, ""))
    lines = (
        Line("a", ((10, 40), (60, 40), (60, 60), (10, 60)), 0.87654),
        Line("b", ((9, 70), (60, 70), (60, 90), (9, 90)), 1),
    )
    table = Block(
        BlockType.TABLE, (10, 40, 190, 60), (0,), "a", "| a |  |", type_confidence=0.5, table=Table(1, 2, cells)
    )
    blocks = (table, Block(BlockType.TEXT, (9, 70, 60, 90), (1,), "b", "b"))
    async with running_api(Blocks(blocks=blocks, lines=lines)) as api:
        answer = await api.client.post(PATH, json={"file": b64(png()), "textDetThresh": 0.4, "textDetLimitType": "max"})
        plain = await api.client.post(PATH, json={"file": b64(png()), "useLayoutDetection": False})
    assert api.engine.tasks[0].detection_threshold == 0.4
    pruned = answer.json()["result"]["layoutParsingResults"][0]["prunedResult"]
    assert pruned["layout_det_res"] == {
        "boxes": [
            {"label": "table", "score": 0.5, "coordinate": [10.0, 40.0, 190.0, 60.0]},
            {"label": "text", "score": None, "coordinate": [9.0, 70.0, 60.0, 90.0]},
        ]
    }
    found = pruned["overall_ocr_res"]
    assert (found["rec_texts"], found["rec_scores"]) == (["a", "b"], [0.8765, 1.0])
    assert (found["rec_boxes"][0], found["text_det_params"]["thresh"]) == ([10, 40, 60, 60], 0.4)
    assert pruned["table_res_list"] == [
        {
            "cell_box_list": [[10.0, 40.0, 60.0, 60.0]],
            "pred_html": "<html><body><table><tbody><tr><td>a</td><td></td></tr></tbody></table></body></html>",
            "table_ocr_pred": {
                "rec_texts": ["a"],
                "rec_scores": [0.8765],
                "rec_polys": [[[10, 40], [60, 40], [60, 60], [10, 60]]],
                "rec_boxes": [[10, 40, 60, 60]],
            },
        }
    ]
    whole = plain.json()["result"]["layoutParsingResults"][0]["prunedResult"]
    assert "table_res_list" not in whole


WRONG_BODIES: list[tuple[dict[str, object], int, str]] = [
    ({"file": ""}, 400, "file_missing"),
    ({"image": b64(png())}, 400, "file_missing"),
    ({"file": "###"}, 400, "base64_invalid"),
    ({"file": b64(b"just text, no image")}, 415, "type_unsupported"),
    ({"file": b64(png()), "promptLabel": "poem"}, 422, "options_invalid"),
    ({"file": b64(png()), "useLayoutDetection": False, "promptLabel": "seal"}, 422, "task_unsupported"),
    ({"file": "http://example.com/a.png"}, 403, "url_forbidden"),
]


async def test_errors_come_in_the_envelope() -> None:
    wrong = []
    async with running_api() as api:
        for body, status, code in WRONG_BODIES:
            answer = await api.client.post(PATH, json={**body, "logId": "mine"})
            told = answer.json()
            envelope = (told["errorCode"], told["code"], told["logId"], bool(told["errorMsg"]), "result" in told)
            if (answer.status_code, envelope) != (status, (status, code, "mine", True, False)):
                wrong.append((body, answer.text))
    assert wrong == []


async def test_what_is_refused_unread_comes_in_the_envelope_too() -> None:
    async with running_api() as api:
        answer = await api.client.post(PATH, content=b"{", headers={"content-type": "application/json"})
    told = answer.json()
    assert (answer.status_code, told["errorCode"], told["code"]) == (400, 400, "json_invalid")
    assert told["logId"]


async def test_a_task_that_the_engine_cannot_do_is_the_callers_error() -> None:
    engine = FakeEngine(failing={0: InputRejected("task_unsupported", "It can't.")})
    async with running_api(engine) as api:
        body = {"file": b64(png()), "useLayoutDetection": False, "promptLabel": "chart"}
        answer = await api.client.post(PATH, json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "task_unsupported")


async def test_figures_come_beside_the_markdown_unless_they_are_refused() -> None:
    name = "images/page-1-1.png"
    async with running_api(PicturedEngine()) as api:
        for options, names, link in (
            ({}, [name], f'<img src="{name}" alt="Figure" />'),
            ({"prettifyMarkdown": False}, [name], f"![Figure]({name})"),
            ({"returnMarkdownImages": False}, [], ""),
        ):
            answer = await api.client.post(PATH, json={"file": b64(png()), "fileType": 1, **options})
            (page,) = answer.json()["result"]["layoutParsingResults"]
            assert list(page["markdown"]["images"]) == names
            assert link in page["markdown"]["text"]
            assert (name in page["markdown"]["text"]) == bool(names)
