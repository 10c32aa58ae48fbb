"""Requests of docling-serve's API: a document, how to read it, and how to divide it into chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from inkgate.api.http.options import Flag, StopAtFirst, parse
from inkgate.errors import InputRejected
from inkgate.jobs.job import JobOptions
from inkgate.settings import PdfText
from inkgate_client.types import Task, TaskKind

_JSON = "json"
SHOWN = frozenset({"md", "text", _JSON})
_IN_RESPONSE = "inbody"
_NO_IMAGES = "placeholder"
_SHOWN_LATER = {"to_formats", "md_page_break_placeholder", "chunker", "max_tokens", "merge_peers", "include_raw_text"}
"""Options on which the result of a task depends."""


def _listed(value: object) -> object:
    """A form has one text where JSON has a list."""
    return [value] if isinstance(value, str) else value


def _page_range(value: object) -> object:
    """A form may have `1,4` or `[1, 4]`."""
    return [part for part in value.strip("[]").split(",") if part] if isinstance(value, str) else value


_LAST_PAGE = 999_999_999
_PageNumber = Annotated[int, Field(ge=1, le=2**63 - 1)]


class DoclingOptions(BaseModel):
    """The options that are used. docling's others are accepted."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    to_formats: Annotated[
        Annotated[list[str], Field(max_length=20), StopAtFirst()] | None,
        BeforeValidator(_listed),
        Field(description="`md`, `text`, `json`. With `json`, others are ignored."),
    ] = None
    target_type: Annotated[str, Field(max_length=100, description="`inbody`; of forms.")] = _IN_RESPONSE
    page_range: Annotated[
        tuple[_PageNumber, _PageNumber] | None, BeforeValidator(_page_range), Field(description="First and last page.")
    ] = None
    do_ocr: Flag | None = None
    force_ocr: Annotated[Flag | None, Field(description="`true`: ignore the text layer of PDFs.")] = None
    include_images: Flag = True
    image_export_mode: Annotated[
        str, Field(max_length=100, description="`embedded` and `referenced`: images are inside, as `data:` URLs.")
    ] = _NO_IMAGES
    md_page_break_placeholder: Annotated[
        str, Field(max_length=100, description="Text between pages of the Markdown.")
    ] = ""

    def job_options(self) -> JobOptions:
        """How the job reads.

        Raises:
            InputRejected: no format is requested that inkgate makes, the result shall go elsewhere than into the
                response, or the pages are invalid.
        """
        others = ", ".join(f"`{name[:40]}`" for name in self.to_formats or () if name not in SHOWN)
        if others and not self.shows_json:  # docling's client asks for `json` too, and makes the others of it
            why = (
                f"to_formats: there are only `md`, `text` and `json`, not {others}. Export it from `json` with docling."
            )
            raise InputRejected("options_invalid", why)
        if self.target_type != _IN_RESPONSE:
            # docling's client asks for `presigned_url` first, and for `inbody` if the detail has these words.
            why = f"target: `{self.target_type[:40]}` needs artifact storage to be configured; there is only `inbody`."
            raise InputRejected("options_invalid", why)
        pages = ""
        if self.page_range is not None:
            first, last = self.page_range
            if last < first:
                raise InputRejected("pages_invalid", "`page_range` ends before it starts.")
            pages = f"{min(first, _LAST_PAGE)}-{min(last, _LAST_PAGE)}"
        pdf_text = PdfText.NEVER if self.force_ocr else PdfText.ALWAYS if self.do_ocr is False else None
        images = self.include_images and self.image_export_mode != _NO_IMAGES
        task = Task(kind=TaskKind.PARSE, images=images)
        form = self.model_dump_json(include=_SHOWN_LATER)
        return JobOptions(task, pages, pdf_text, form=form)

    @property
    def shows_json(self) -> bool:
        """Whether the result has `json_content`."""
        return _JSON in (self.to_formats or ())


class DoclingSource(BaseModel):
    """A document: a URL, or a file as base64."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    kind: Literal["http", "file"] | None = None
    url: str | None = None
    base64_string: str | None = None
    filename: Annotated[str, Field(max_length=1000)] | None = None


class DoclingTarget(BaseModel):
    """Where the result goes."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    kind: Annotated[str, Field(max_length=100, description="`inbody`.")] = _IN_RESPONSE


_Sources = Annotated[list[DoclingSource], Field(max_length=100), StopAtFirst()] | None


class DoclingSources(BaseModel):
    """The sources of a request."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    sources: Annotated[_Sources, Field(description="One.")] = None
    http_sources: Annotated[_Sources, Field(description="As `sources`, by older clients.")] = None
    file_sources: Annotated[_Sources, Field(description="As `sources`, by older clients.")] = None
    target: DoclingTarget | None = None

    def source(self) -> DoclingSource:
        """The only source. Raises InputRejected if there is none, or several."""
        found: list[DoclingSource] = [*(self.sources or ()), *(self.http_sources or ()), *(self.file_sources or ())]
        if not found:
            raise InputRejected("file_missing", "The request has no `sources`.")
        if len(found) > 1:
            raise InputRejected("options_invalid", "sources: send one document.")
        return found[0]


class DoclingRequest(DoclingSources):
    """`/v1/convert/source` and `/v1/convert/source/async`."""

    options: DoclingOptions | None = None

    def all_options(self) -> DoclingOptions:
        """The options, with the target."""
        options = self.options or DoclingOptions()
        return options if self.target is None else options.model_copy(update={"target_type": self.target.kind})


Chunker = Literal["hybrid", "hierarchical"]


class DoclingChunking(BaseModel):
    """How to divide a document. docling's other options are accepted: tables are always Markdown."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    max_tokens: Annotated[int | None, Field(ge=32, description="Of `hybrid`, estimated. Default: 256.")] = None
    merge_peers: Annotated[Flag, Field(description="Of `hybrid`: small neighbours become one chunk.")] = True
    include_raw_text: Annotated[Flag, Field(description="Also the text without the headings above it.")] = False


class DoclingChunkRequest(DoclingSources):
    """`/v1/chunk/.../source` and `/v1/chunk/.../source/async`."""

    convert_options: DoclingOptions | None = None
    chunking_options: DoclingChunking | None = None
    include_converted_doc: Annotated[Flag, Field(description="The response has `json_content`, too.")] = False


class DoclingChunkOptions(DoclingOptions, DoclingChunking):
    """All options of a request for chunks. `chunker`: empty for requests without chunks."""

    chunker: Chunker | Literal[""] = ""
    include_converted_doc: Flag = False


def options_of_form(fields: Mapping[str, Any], chunker: Chunker | None) -> DoclingOptions:
    """The options of a form, in which those of chunks have prefixes."""
    if chunker is None:
        return parse(DoclingOptions, fields)
    plain = {name.removeprefix("convert_").removeprefix("chunking_"): value for name, value in fields.items()}
    return _chunk_options(plain, chunker)


def request_of_json(fields: Mapping[str, Any], chunker: Chunker | None) -> tuple[DoclingOptions, DoclingSource]:
    """The options, and the source."""
    if chunker is None:
        request = parse(DoclingRequest, fields)
        return request.all_options(), request.source()
    asked = parse(DoclingChunkRequest, fields)
    given: dict[str, Any] = {"include_converted_doc": asked.include_converted_doc}
    for part in (asked.convert_options, asked.chunking_options):
        given |= part.model_dump(exclude_unset=True) if part is not None else {}
    if asked.target is not None:
        given["target_type"] = asked.target.kind
    return _chunk_options(given, chunker), asked.source()


def _chunk_options(fields: Mapping[str, Any], chunker: Chunker) -> DoclingChunkOptions:
    options = parse(DoclingChunkOptions, {**fields, "chunker": chunker})
    return options.model_copy(update={"to_formats": [_JSON] if options.include_converted_doc else None})
