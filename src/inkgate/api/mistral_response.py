"""Options of Mistral's OCR, and documents in its form: Markdown pages, with figures, tables, blocks and confidence on
request.

Additions: `status` of the document and `error` of a page. Difference: `dpi` is 72 if a page's resolution is unknown,
because Mistral's clients need a number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict, JsonValue

from inkgate.api.http.conversions import pipe_table_to_html
from inkgate.api.http.options import Pages
from inkgate.api.http.page_list import AboutDocument
from inkgate.errors import InputRejected
from inkgate.extraction.figures import NO_MODEL_FOR_FIGURES
from inkgate_client.codec import encodable, page_to_dict
from inkgate_client.formats.markdown import content_of
from inkgate_client.image_links import beside_image
from inkgate_client.types import MARK_TYPES, Block, BlockType, Box, DocumentResult, PageResult, TextWord, Word

MISTRAL_MODELS = ("mistral-ocr", "inkgate")
"""Model names (and prefixes) that clients of Mistral's service send."""
_TEXT: JsonDict = {"type": "string", "minLength": 1}
_ANY_SOURCE: list[JsonValue] = [
    {"required": ["document_url"], "properties": {"document_url": _TEXT}},
    {"required": ["image_url"], "properties": {"image_url": _TEXT}},
    {"required": ["file_id"], "properties": {"file_id": _TEXT}},
]


class DocumentSource(BaseModel):
    """The document's place. `type` may be omitted; the key tells it."""

    model_config = ConfigDict(extra="ignore", frozen=True, json_schema_extra={"anyOf": _ANY_SOURCE})

    type: Literal["document_url", "image_url", "file"] | None = None
    document_url: str | None = None
    image_url: str | dict[str, Any] | None = None
    file_id: str | None = None
    document_name: str | None = None

    @property
    def url(self) -> str | None:
        """The URL under either key; `image_url` may be `{"url": ...}`."""
        if self.document_url is not None:
            return self.document_url
        if isinstance(self.image_url, dict):
            inner = self.image_url.get("url")
            return inner if isinstance(inner, str) else None
        return self.image_url


class MistralOptions(BaseModel):
    """The options. Pages count from 0. Strings of forms are already converted to these types."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    model: str | None = None
    pages: Pages | None = None
    include_image_base64: bool | None = None
    image_limit: Annotated[int, Field(ge=0)] | None = None
    image_min_size: Annotated[int, Field(ge=0)] | None = None
    table_format: Literal["markdown", "html"] | None = None
    extract_header: bool | None = None
    extract_footer: bool | None = None
    include_blocks: bool | None = None
    confidence_scores_granularity: Literal["word", "page", "block"] | None = None
    document_annotation_format: Any = None
    document_annotation_prompt: Any = None
    bbox_annotation_format: Any = None

    def refuse_what_is_missing(self, names: Sequence[str]) -> None:
        """Rejects unsupported options. `names`: the engine's name first, then its models'.

        Raises:
            InputRejected: "feature_unavailable" for annotations by a prompt, and of figures by an engine that can't be
                requested; "engine_unknown" for an unknown model.
        """
        if self.document_annotation_prompt is not None:
            why = "`document_annotation_prompt` is not supported: fields are found by the schema's names and titles."
            raise InputRejected("feature_unavailable", why)
        if self.figure_schema() and names[0] == "ppocr":
            raise InputRejected("feature_unavailable", f"`bbox_annotation_format`: {NO_MODEL_FOR_FIGURES}")
        if self.model is None or self.model in names or self.model.startswith(MISTRAL_MODELS):
            return
        raise InputRejected("engine_unknown", f"No model has this name. This service has `{names[0]}`.")

    @property
    def images(self) -> bool:
        """Whether the pixels of figures are needed."""
        return bool(self.include_image_base64) or bool(self.figure_schema())

    def annotation_schema(self) -> str:
        """The JSON Schema of `document_annotation_format`; see `_schema`."""
        return _schema("document_annotation_format", self.document_annotation_format)

    def figure_schema(self) -> str:
        """The JSON Schema of `bbox_annotation_format`; see `_schema`."""
        return _schema("bbox_annotation_format", self.bbox_annotation_format)


def _schema(option: str, requested: object) -> str:
    """A JSON Schema as text; empty if no annotation is requested.

    Raises:
        InputRejected: "options_invalid": `requested` is of another type than `json_schema`, or has no schema.
    """
    if requested is None or (isinstance(requested, dict) and requested.get("type") == "text"):
        return ""
    named = (
        requested.get("json_schema") if isinstance(requested, dict) and requested.get("type") == "json_schema" else None
    )
    schema = named.get("schema") if isinstance(named, dict) else None
    if not isinstance(schema, dict):
        why = f"{option}: it must have the type `json_schema`, and `json_schema` with a `schema`."
        raise InputRejected("options_invalid", why)
    try:
        return encodable(json.dumps(schema, ensure_ascii=False, allow_nan=False))
    except (ValueError, RecursionError) as error:
        raise InputRejected("schema_invalid", "The schema can't be used: it is not JSON.") from error


class MistralRequest(MistralOptions):
    """The JSON body."""

    document: DocumentSource


_DPI_UNKNOWN = 72
_ADDRESS = re.compile(r"https?://[^\s<>()\[\]\"'`|\\]+")
_BLOCK_TYPES: Mapping[BlockType, str] = {
    BlockType.TITLE: "title",
    BlockType.TEXT: "text",
    BlockType.LIST: "list",
    BlockType.TABLE: "table",
    BlockType.FIGURE: "image",
    BlockType.CAPTION: "caption",
    BlockType.HEADER: "header",
    BlockType.FOOTER: "footer",
    BlockType.REFERENCE: "references",
    BlockType.FORMULA: "equation",
}


class _Numbers:
    """Numbers of the figures and tables of a document, whose pages are converted in their order."""

    def __init__(self) -> None:
        self._first: dict[int, tuple[int, int]] = {}
        self._next = (0, 0)

    def of_page(self, page: PageResult, figures: int, tables: int) -> tuple[int, int]:
        """The numbers of its first figure and its first table; the same each time that the page is converted."""
        if page.index not in self._first:
            self._first[page.index] = self._next
            self._next = (self._next[0] + figures, self._next[1] + tables)
        return self._first[page.index]


@dataclass(frozen=True, slots=True)
class MistralAnswer:
    """Converts one document as `options` say. `annotations`: JSON about figures, by the names of their images."""

    options: MistralOptions
    annotations: Mapping[str, str] = field(default_factory=dict)
    numbers: _Numbers = field(default_factory=_Numbers)

    def annotated(self, data: Mapping[str, object], result: DocumentResult) -> dict[str, Any]:
        """The whole response with the fields that were found."""
        return self.document(result) | {"document_annotation": orjson.dumps(data).decode()}

    def document(self, result: DocumentResult, pages: Sequence[Any] | None = None) -> dict[str, Any]:
        """The whole response. `pages`: None: made of those of `result`."""
        return {
            "pages": [self.page(page) for page in result.pages] if pages is None else pages,
            "model": result.engine,
            "usage_info": {
                "pages_processed": sum(page.error is None for page in result.pages),
                "doc_size_bytes": result.byte_count,
            },
            "document_annotation": None,
            "status": result.status.value,
        }

    def page(self, page: PageResult, about: AboutDocument | None = None) -> dict[str, Any]:  # noqa: ARG002 - see PageListForm
        """One of `pages`."""
        shown = _Page(page, self)
        markdown = shown.markdown()
        return {
            "index": page.index,
            "markdown": markdown,
            "images": shown.images(),
            "dimensions": {
                "dpi": round(page.dpi) if page.dpi else _DPI_UNKNOWN,
                "height": page.height,
                "width": page.width,
            },
            "tables": shown.tables(),
            "hyperlinks": _hyperlinks(page),
            "header": _text(page.header) if self.options.extract_header else None,
            "footer": _text(page.footer) if self.options.extract_footer else None,
            "confidence_scores": shown.confidence(markdown),
            "blocks": shown.blocks() if self.options.include_blocks else None,
            "error": page_to_dict(page)["error"],
        }


def figures_of(page: PageResult, options: MistralOptions) -> list[Block]:
    """The requested figures of a page: `image_min_size` of width and height, at most `image_limit`."""
    min_size = options.image_min_size or 0
    figures = [block for block in page.blocks or () if block.type is BlockType.FIGURE]
    large = (block for block in figures if min(block.box[2] - block.box[0], block.box[3] - block.box[1]) >= min_size)
    return list(large)[: options.image_limit]


class _Page:
    def __init__(self, page: PageResult, answer: MistralAnswer) -> None:
        self._page = page
        self._options = answer.options
        self._annotations = answer.annotations
        self._tables = [block for block in page.blocks or () if block.type is BlockType.TABLE]
        self._figures = figures_of(page, answer.options)
        figure, table = answer.numbers.of_page(page, len(self._figures), len(self._tables))
        # By identity: equal ones are several.
        self._numbers = {id(each): number for number, each in enumerate(self._figures, figure)}
        self._numbers |= {id(each): number for number, each in enumerate(self._tables, table)}

    def markdown(self) -> str:
        """The page's Markdown. It includes header and footer unless they are extracted; extracted tables are replaced
        by links.
        """
        page = self._page
        text = content_of(page) if page.markdown is None else self._with_images(page.markdown)
        if self._options.table_format is not None:
            for table in self._tables:
                name = self._table_id(table)
                text = text.replace(table.markdown, f"[{name}]({name})", 1) if table.markdown else text
        header, text = self._running(BlockType.HEADER, page.header, text, extracted=bool(self._options.extract_header))
        footer, text = self._running(BlockType.FOOTER, page.footer, text, extracted=bool(self._options.extract_footer))
        return encodable("\n\n".join(part for part in (header, text, footer) if part))

    def _running(self, kind: BlockType, running: str | None, markdown: str, *, extracted: bool) -> tuple[str, str]:
        """What to add to the Markdown of the page's header or footer, and the Markdown. Engines omit page numbers from
        it, but not words, which are removed if they are extracted.
        """
        parts = markdown.split("\n\n")
        blocks = [block for block in self._page.blocks or () if block.type is kind and block.text]
        if extracted:
            for block in blocks:
                if block.markdown in parts:
                    parts.remove(block.markdown)
            return "", "\n\n".join(parts)
        missing = [block.text for block in blocks if block.markdown not in parts]
        return "\n".join(missing) if blocks else running or "", markdown

    def _with_images(self, markdown: str) -> str:
        """The Markdown with a link for each figure, after the block before it on the page. Mistral's clients replace
        these links by images.
        """
        at = 0
        for block in self._page.blocks or ():
            found = markdown.find(block.markdown, at) if block.markdown else -1
            if block.type is not BlockType.FIGURE:
                at = found + len(block.markdown) if found >= 0 else at
                continue
            link = f"![{name}]({name})" if (name := self._image_id(block)) else ""
            shown = "\n\n".join(part for part in (link, beside_image(block) if found >= 0 else "") if part)
            before = markdown[: max(found, at)]
            rest = markdown[found + len(block.markdown) if found >= 0 else at :]
            if found < 0 and shown:
                before += "\n\n" if at else ""
                rest = "\n\n" + rest.lstrip("\n") if rest.strip() else ""
            elif not shown:
                rest = rest.lstrip("\n")
            markdown = before + shown + rest
            at = len(before) + len(shown)
        return markdown

    def images(self) -> list[dict[str, Any]]:
        return [
            {
                "id": self._image_id(figure),
                **_corners(figure.box),
                "image_base64": figure.image.data_url if figure.image and self._options.include_image_base64 else None,
                "image_annotation": self._annotations.get(figure.image.name) if figure.image else None,
            }
            for figure in self._figures
        ]

    def _image_id(self, block: Block) -> str:
        """The figure's ID; empty for a block that is none, or not requested."""
        number = self._numbers.get(id(block), -1) if block.type is BlockType.FIGURE else -1
        drawing = block.image is not None and block.image.mime_type == "image/png"
        return f"img-{number}.{'png' if drawing else 'jpeg'}" if number >= 0 else ""

    def tables(self) -> list[dict[str, Any]]:
        if self._options.table_format is None:
            return []
        return [
            {
                "id": self._table_id(table),
                "content": self._table_content(table),
                "format": self._options.table_format,
                "word_confidence_scores": self._table_words(table),
            }
            for table in self._tables
        ]

    def _table_id(self, table: Block) -> str:
        return f"tbl-{self._numbers[id(table)]}.{'html' if self._options.table_format == 'html' else 'md'}"

    def _table_content(self, table: Block) -> str:
        content = encodable(table.markdown)
        return pipe_table_to_html(content) if self._options.table_format == "html" else content

    def _table_words(self, table: Block) -> list[dict[str, Any]] | None:
        if self._options.confidence_scores_granularity != "word":
            return None
        words = [word for index in table.lines for word in _words(self._page, index)]
        return _placed(words, self._table_content(table))

    def confidence(self, markdown: str) -> dict[str, Any] | None:
        granularity = self._options.confidence_scores_granularity
        page = self._page
        placed = [word for index in range(len(page.lines)) for word in _words(page, index)]
        words: Sequence[Word | TextWord] = placed or page.words
        if granularity is None or not words:
            return None
        average, minimum = _average_and_minimum(words)
        return {
            "average_page_confidence_score": average,
            "minimum_page_confidence_score": minimum,
            "word_confidence_scores": _placed(words, markdown) if granularity == "word" else [],
        }

    def blocks(self) -> list[dict[str, Any]]:
        return [self._block(block) for block in self._page.blocks or () if block.type not in MARK_TYPES]

    def _block(self, block: Block) -> dict[str, Any]:
        content = beside_image(block) if block.type is BlockType.FIGURE else block.markdown
        shown = {"type": _BLOCK_TYPES[block.type], "content": encodable(content), **_corners(block.box)}
        if block.type is BlockType.FIGURE:
            shown["image_id"] = self._image_id(block)
        if block.type is BlockType.TABLE:
            extracted = self._options.table_format is not None
            shown["table_id"] = self._table_id(block) if extracted else None
        if self._options.confidence_scores_granularity == "block":
            shown["confidence_scores"] = self._scores(block)
        return shown

    def _scores(self, block: Block) -> dict[str, float | None]:
        words = [word for index in block.lines for word in _words(self._page, index)]
        average, minimum = _average_and_minimum(words) if words else (block.confidence, None)
        return {
            "average_content_confidence_score": average,
            "minimum_content_confidence_score": minimum,
            "block_type_confidence_score": block.type_confidence,
        }


def _hyperlinks(page: PageResult) -> list[str]:
    """The addresses of the PDF's links, then those that are in the text alone, each once."""
    text = page.text if page.markdown is None or page.lines else page.markdown
    written = (found[0].rstrip(".,:;!?*_") for found in _ADDRESS.finditer(text))
    return [encodable(each) for each in dict.fromkeys((*page.links, *written))]


def _average_and_minimum(words: Sequence[Word | TextWord]) -> tuple[float, float]:
    scores = [float(word.confidence) for word in words]
    return round(sum(scores) / len(scores), 4), round(min(scores), 4)


def _words(page: PageResult, index: int) -> tuple[Word, ...]:
    """The words of a line; the line as one word if the engine gives no words."""
    line = page.lines[index]
    return line.words or (Word(line.text, line.quad, line.confidence),)


def _placed(words: Sequence[Word | TextWord], markdown: str) -> list[dict[str, Any]]:
    """Each word with its start in `markdown`, searched from the previous word on. A word that is written differently
    there (escaped, or split) gets the position from which it was searched.
    """
    placed = []
    cursor = 0
    for word in words:
        text = encodable(word.text)
        found = markdown.find(text, cursor)
        start = cursor if found < 0 else found
        placed.append({"text": text, "confidence": round(float(word.confidence), 4), "start_index": start})
        cursor = start if found < 0 else start + len(text)
    return placed


def _corners(box: Box) -> dict[str, int]:
    left, top, right, bottom = (round(float(value)) for value in box)
    return {"top_left_x": left, "top_left_y": top, "bottom_right_x": right, "bottom_right_y": bottom}


def _text(value: str | None) -> str | None:
    return None if value is None else encodable(value)
