"""The tools and resources of the server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from inkgate import __version__
from inkgate.integrations.mcp.files import AllowedFiles, FileRefused
from inkgate.integrations.mcp.kept import KeptDocuments, search
from inkgate_client import ReadOptions
from inkgate_client.concurrency import Threads
from inkgate_client.fields.as_json import Json
from inkgate_client.fields.asked import WantedFields
from inkgate_client.formats.markdown import content_of
from inkgate_client.reading import DocumentReader
from inkgate_client.types import Document, DocumentResult, PageResult, ReadError

_INSTRUCTIONS = (
    "Reads scans, photos and PDFs on this machine. Call `read` for the text of a document as Markdown, and `page` for "
    "the pages that did not fit into its answer. `extract` finds fields, such as the total of a receipt, with the "
    "place where each stands and what is doubtful about it. Before you state values that you read off a document "
    "yourself, check them with `verify`: it keeps only what stands on the page."
)
_SHOWN_CHARACTERS = 20_000
"""Maximum characters of one answer, unless the agent asks for another number; about 5,000 tokens of English."""
_MAX_MATCHES = 200
_REMEDIES = {"type_unknown": "`document_types` lists them."}
"""Remedies for agents that differ from those for clients of the HTTP API."""

DocumentArgument = Annotated[
    str, Field(description="The path of an image or PDF, or its bytes as data:TYPE;base64,DATA.")
]
ReadArgument = Annotated[str, Field(description="The ID that `read` returned, such as doc_x1Y2.")]
PagesArgument = Annotated[str, Field(description="Pages, such as 1-3,7. Empty: all.")]
TypeArgument = Annotated[str, Field(description="A document type, as `document_types` lists them.")]
SchemaArgument = Annotated[dict[str, Any] | None, Field(description="A JSON Schema of the object to find.")]
NamesArgument = Annotated[list[str] | None, Field(description="Names of the fields to find, as the document has them.")]
CharactersArgument = Annotated[int, Field(ge=500, le=1_000_000, description="How many characters to return at most.")]

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


class DocumentTools:
    """What agents can do with documents. Used from one event loop, by many clients at once."""

    def __init__(self, reader: DocumentReader, files: AllowedFiles) -> None:
        self._reader = reader
        self._files = files
        self._kept = KeptDocuments()
        self._threads = Threads("mcp", 4)

    def server(self) -> MCPServer:
        """The server, with these tools."""
        server: MCPServer = MCPServer(
            "inkgate", title="inkgate", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING"
        )
        for tool in (self.read, self.page, self.search):
            server.add_tool(tool, annotations=_READS, structured_output=False)
        for asked in (self.extract, self.verify, self.document_types):
            server.add_tool(asked, annotations=_READS)
        server.resource(
            "inkgate://documents/{document_id}/pages/{number}",
            name="page",
            description="A page of a document that `read` has read, from 1.",
            mime_type="text/markdown",
        )(self.page_resource)
        return server

    async def read(
        self,
        document: DocumentArgument,
        context: Context[Any, Any],
        pages: PagesArgument = "",
        max_characters: CharactersArgument = _SHOWN_CHARACTERS,
    ) -> str:
        """Read the text of an image or PDF, as Markdown with headings and tables.

        Pages that don't fit are read too, and named: `page` returns them by the document's ID, `search` searches them.
        """
        loaded = await self._loaded(document)

        async def progress(done: int, total: int) -> None:
            if done:
                await context.report_progress(done, total)

        with _told():
            result = await self._reader.read(loaded, ReadOptions("parse", pages), progress)
        return _shown(self._kept.add(result), result, max_characters)

    async def page(
        self,
        document_id: ReadArgument,
        number: Annotated[int, Field(description="The page's number, from 1.")],
        max_characters: CharactersArgument = _SHOWN_CHARACTERS,
        first_character: Annotated[int, Field(ge=0, description="Where to begin, for a page that was cut off.")] = 0,
    ) -> str:
        """Return one page of a document that was read."""
        text = _page_text(self._page_of(self._document(document_id), number))
        end = first_character + max_characters
        rest = f"\n\n[Cut off. Go on with first_character={end}.]" if end < len(text) else ""
        return text[first_character:end] + rest

    async def search(
        self,
        document_id: ReadArgument,
        words: Annotated[str, Field(max_length=1_000, description="What to look for; case and spaces don't matter.")],
        most: Annotated[int, Field(ge=1, le=_MAX_MATCHES)] = 20,
    ) -> str:
        """Search a document that was read. Returns a line for each place: its page, the text, and its box in pixels."""
        matches = await self._threads.run(search, self._document(document_id), words, most)
        if not matches:
            return "Nothing found."
        boxes = ["" if match.box is None else f" {[round(side) for side in match.box]}" for match in matches]
        return "\n".join(f"page {match.page}{box}: {match.text}" for match, box in zip(matches, boxes, strict=True))

    async def extract(
        self,
        document: DocumentArgument,
        type: TypeArgument = "",  # noqa: A002 - the argument's name over HTTP, too
        schema: SchemaArgument = None,
        fields: NamesArgument = None,
    ) -> Json:
        """Find fields of a document: those of a type, a JSON Schema, or names. Without any, the type is found.

        `data` has the values; what does not stand on the page is null. `fields` says of each where it stands, how sure
        it is, and what else it may be; `checks` whether sums and check digits hold.
        """
        wanted = WantedFields(type, schema, tuple(fields or ()))
        return await self._found(document, wanted)

    async def verify(
        self,
        document: DocumentArgument,
        data: Annotated[dict[str, Any], Field(description="The values, as an object.")],
        type: TypeArgument = "",  # noqa: A002
        schema: SchemaArgument = None,
    ) -> Json:
        """Look values up in a document. Those that stand on the page are kept; others are null.

        Without `type` and `schema`, the names of `data` name the fields.
        """
        names = () if type or schema is not None else tuple(data)
        return await self._found(document, WantedFields(type, schema, names, data))

    async def document_types(self) -> dict[str, list[str]]:
        """List the document types that `extract` knows, and their fields."""
        with _told():
            types = await self._reader.document_types()
        return {name: [path.removeprefix("/").replace("/-/", "[].") for path in paths] for name, paths in types.items()}

    async def page_resource(self, document_id: str, number: str) -> str:
        """A page of a document that was read. Raises ResourceNotFoundError."""
        try:
            return _page_text(self._page_of(self._document(document_id), int(number)))
        except (ToolError, ValueError) as error:
            raise ResourceNotFoundError(str(error)) from error

    async def _found(self, document: str, wanted: WantedFields) -> Json:
        loaded = await self._loaded(document)
        with _told():
            return dict((await self._reader.extract(loaded, wanted)).answer)

    async def _loaded(self, document: str) -> Document:
        try:
            return await self._threads.run(self._files.load, document)
        except FileRefused as error:
            raise ToolError(str(error)) from error

    def _document(self, document_id: str) -> DocumentResult:
        if (found := self._kept.get(document_id)) is None:
            raise ToolError(f"No document {document_id} is kept. Read it again.")
        return found

    def _page_of(self, document: DocumentResult, number: int) -> PageResult:
        for page in document.pages:
            if page.index + 1 == number:
                return page
        raise ToolError(f"Page {number} was not read. The document has {document.page_count} pages.")


@contextmanager
def _told() -> Iterator[None]:
    """Errors of inkgate are for the agent: what is wrong, and what to do."""
    try:
        yield
    except ReadError as error:
        remedy = _REMEDIES.get(error.code, error.remedy)
        said = f"{error.title}. {error.detail} {remedy} ({error.code})" if error.code else str(error)
        raise ToolError(said) from error


def _page_text(page: PageResult) -> str:
    if page.error is not None:
        return f"[Page {page.index + 1} was not read: {page.error.detail} {page.error.remedy} ({page.error.code})]"
    return content_of(page) or "[This page has no text.]"


def _shown(document_id: str, result: DocumentResult, most: int) -> str:
    """What the answer begins with, and as many whole pages as fit; of the first at least a part."""
    parts: list[str] = []
    left, hidden = most, 0
    for page in result.pages:
        text, number = _page_text(page), page.index + 1
        if hidden or len(text) > left:
            if not parts and not hidden:
                parts.append(f"## Page {number} (its first {left} characters)\n\n{text[:left]}")
            hidden = hidden or number
        else:
            parts.append(f"## Page {number}\n\n{text}" if result.page_count > 1 else text)
            left -= len(text)
    head = [f"Document {document_id}: {len(result.pages)} of {result.page_count} pages were read."]
    head += result.notes
    if result.needs_review:
        pages = ", ".join(str(index + 1) for index in result.needs_review)
        head.append(f"Look at page {pages}: the text may be wrong there.")
    if hidden:
        head.append(f"Not shown, or only in part: page {hidden} and those after it. `page` returns them.")
    return "\n\n".join([" ".join(head), *parts])
