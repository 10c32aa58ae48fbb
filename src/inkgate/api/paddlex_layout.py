"""Pages of PaddleX's document parsing (PP-StructureV3, PaddleOCR-VL), and the options that they are read by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from inkgate.api.http.conversions import pipe_table_to_html
from inkgate.api.http.page_list import AboutDocument
from inkgate.api.paddlex import PaddlexFile, PaddlexOcrOptions, ocr_result, recognized
from inkgate.errors import InputRejected
from inkgate_client.block_image import BlockImage
from inkgate_client.block_parts import text_is_unplaced
from inkgate_client.codec import encodable, page_to_dict
from inkgate_client.formats.markdown import failure_note
from inkgate_client.image_links import IMAGE_FOLDER, images_on, with_image_links
from inkgate_client.types import Block, BlockType, PageResult, Task, TaskKind

_WHOLE_PAGE = {
    "ocr": TaskKind.TEXT,
    "formula": TaskKind.FORMULA,
    "table": TaskKind.TABLE,
    "chart": TaskKind.CHART,
    "spotting": TaskKind.SPOT,
}
_LABELS = {
    BlockType.TITLE: "paragraph_title",
    BlockType.TEXT: "text",
    BlockType.LIST: "text",
    BlockType.TABLE: "table",
    BlockType.FIGURE: "image",
    BlockType.CAPTION: "figure_title",
    BlockType.HEADER: "header",
    BlockType.FOOTER: "footer",
    BlockType.REFERENCE: "reference",
    BlockType.FORMULA: "formula",
    BlockType.BARCODE: "image",
    BlockType.STAMP: "seal",
}
_UNORDERED = frozenset({BlockType.HEADER, BlockType.FOOTER, BlockType.BARCODE, BlockType.STAMP})
_AS_MARKDOWN = frozenset({BlockType.LIST, BlockType.FORMULA})


class LayoutParsingOptions(PaddlexOcrOptions):
    """Options of PaddleX's PaddleOCR-VL and PP-StructureV3 pipelines."""

    prettifyMarkdown: bool | None = None  # noqa: N815 - PaddleX's names
    returnMarkdownImages: bool | None = None  # noqa: N815
    useLayoutDetection: bool | None = None  # noqa: N815
    promptLabel: Literal["ocr", "formula", "table", "chart", "seal", "spotting"] | None = None  # noqa: N815

    @property
    def label(self) -> str:
        """Label of the single block of a page read without layout; empty for a page with layout."""
        return (self.promptLabel or "ocr") if self.useLayoutDetection is False else ""

    def layout_task(self, *, invisible: bool = False) -> Task:
        """The task of the request. `promptLabel` applies only to pages read without layout.

        Raises:
            InputRejected: "task_unsupported": no engine reads seals.
        """
        if self.label and self.label not in _WHOLE_PAGE:
            raise InputRejected("task_unsupported", f"This service has no engine that reads {self.label!r}.")
        kind = _WHOLE_PAGE[self.label] if self.label else TaskKind.PARSE
        return replace(
            self.task(kind),
            whole_page=bool(self.label),
            images=self.returnMarkdownImages is not False,
            invisible=invisible,
        )


class LayoutParsingRequest(LayoutParsingOptions, PaddlexFile):
    """The request, as PaddleX's PaddleOCR-VL and PP-StructureV3 pipelines define it."""


def _embedded(_: PageResult, image: BlockImage) -> tuple[str, str]:
    """Base64 by a path."""
    return f"{IMAGE_FOLDER}/{image.name}", image.base64


def layout_page(
    options: LayoutParsingOptions,
    page: PageResult,
    about: AboutDocument,
    image_of: Callable[[PageResult, BlockImage], tuple[str, str]] = _embedded,
) -> dict[str, Any]:
    """A page of `layoutParsingResults`. `image_of`: key and value of an image in `markdown.images`."""
    page_count = about.page_count if about.mime_type == "application/pdf" else None
    return {
        "prunedResult": _pruned(options, page, page_count),
        "markdown": {
            "text": _markdown(options, page, image_of),
            "images": dict(image_of(page, image) for image in images_on(page)),
        },
        "outputImages": None,
        "inputImage": None,
    }


def _markdown(
    options: LayoutParsingOptions, page: PageResult, image_of: Callable[[PageResult, BlockImage], tuple[str, str]]
) -> str:
    """The page's Markdown, with a note if it could not be read. Clients look for its images in `<img src="KEY"`, as
    PaddleX writes them unless `prettifyMarkdown` is false.
    """
    link = "![Figure]({})" if options.prettifyMarkdown is False else '<img src="{}" alt="Figure" />'
    shown = with_image_links(page, lambda image: link.format(image_of(page, image)[0]))
    note = "" if page.error is None else failure_note(page.index, page.error)
    return "\n\n".join(part for part in (_content_of(shown), encodable(note)) if part)


def _pruned(options: LayoutParsingOptions, page: PageResult, page_count: int | None) -> dict[str, Any]:
    oriented = options.useDocOrientationClassify is not False
    blocks = [block for block in page.blocks or () if block.type in _LABELS]
    labels = _labels(blocks)
    tables = [_table(page, block) for block in blocks if block.type is BlockType.TABLE]
    whole = _whole(options, page) if text_is_unplaced(page) else []
    pruned: dict[str, Any] = {
        "page_count": page_count,
        "width": page.width,
        "height": page.height,
        "model_settings": {
            "use_doc_preprocessor": oriented,
            "use_doc_orientation_classify": oriented,
            "use_doc_unwarping": False,
            "use_layout_detection": not options.label,
            "use_table_recognition": not options.label,
        },
        "parsing_res_list": [*whole, *_parsed(blocks, labels, len(whole))],
    }
    if page.blocks is not None:
        pruned["layout_det_res"] = {
            "boxes": [_found(block, label) for block, label in zip(blocks, labels, strict=True)]
        }
    if page.lines:
        pruned["overall_ocr_res"] = ocr_result(options, page.lines)
    if tables:
        pruned["table_res_list"] = tables
    if page.error is not None:
        pruned["error"] = page_to_dict(page)["error"]
    return pruned


def _whole(options: LayoutParsingOptions, page: PageResult) -> list[dict[str, Any]]:
    """The page as one block, if no block has its text."""
    content = _content_of(page)
    if not content:
        return []
    box = [0, 0, page.width, page.height]
    label = options.label or "text"
    return [{"block_label": label, "block_content": content, "block_bbox": box, "block_id": 0, "block_order": 1}]


def _labels(blocks: list[Block]) -> list[str]:
    """PaddleX's labels. It has one document title, and paragraph titles."""
    first = next((block for block in blocks if block.type is BlockType.TITLE and block.level == 1), None)
    return ["doc_title" if block is first else _LABELS[block.type] for block in blocks]


def _parsed(blocks: list[Block], labels: list[str], before: int) -> list[dict[str, Any]]:
    """`before`: the number of blocks before these."""
    shown = []
    order = before
    for number, (block, label) in enumerate(zip(blocks, labels, strict=True), before):
        ordered = block.type not in _UNORDERED
        order += ordered
        shown.append(
            {
                "block_label": label,
                "block_content": encodable(_content(block)),
                "block_bbox": [round(side) for side in block.box],
                "block_id": number,
                "block_order": order if ordered else None,
            }
        )
    return shown


def _found(block: Block, label: str) -> dict[str, Any]:
    """A block as the layout model found it. Without `cls_id`, which depends on PaddleX's model; the score is null if
    no model decided.
    """
    score = None if block.type_confidence is None else round(float(block.type_confidence), 4)
    return {"label": label, "score": score, "coordinate": [round(float(side), 1) for side in block.box]}


def _table(page: PageResult, block: Block) -> dict[str, Any]:
    """A table: the cells whose place is known, and their lines."""
    cells = block.table.cells if block.table else ()
    read = [page.lines[number] for number in block.lines]
    return {
        "cell_box_list": [[round(float(side), 1) for side in cell.box] for cell in cells if cell.box is not None],
        "pred_html": f"<html><body>{encodable(_content(block))}</body></html>",
        "table_ocr_pred": recognized(read),
    }


def _content(block: Block) -> str:
    """The block's content in PaddleX's form: tables as HTML, everything else without Markdown syntax."""
    if block.type is BlockType.TABLE:
        return pipe_table_to_html(block.markdown)
    if block.stamp is not None:
        return block.stamp.text
    return block.markdown if block.type in _AS_MARKDOWN else block.text


def _content_of(page: PageResult) -> str:
    return encodable(page.text if page.markdown is None else page.markdown)
