"""`/v1/files` for Mistral's clients: upload a file, then read it by its ID or a signed URL, and show its pages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.http import uploads
from inkgate.api.http.context import context_of, tenant_of
from inkgate.api.http.costs import CONTROL, DOWNLOAD, FILE, PICTURE, costs
from inkgate.api.http.head import parse_head
from inkgate.api.http.leaving import LoadedContent
from inkgate.api.http.openapi import PROBLEM_RESPONSES, problems
from inkgate.api.http.pictures import JPEG_RESPONSE, PageNumber, SideOption, TurnOption, picture_response
from inkgate.api.http.sources import SignedUrls, document
from inkgate.errors import InputRejected
from inkgate.storage.files import MAX_FILES, StoredFile, unknown_file
from inkgate_client.types import Document


class UploadedFile(BaseModel):
    """An uploaded file. Times are Unix times in seconds."""

    id: str
    object: str = "file"
    bytes: int = Field(description="Its size.")
    size_bytes: int = Field(description="The same.")
    created_at: int
    expires_at: int = Field(description="When the file is deleted.")
    filename: str
    purpose: str
    sample_type: str = Field("ocr_input", description="Clients require a value; it has no meaning here.")
    source: str = "upload"
    num_lines: int | None = None
    mimetype: str | None = None
    signature: str | None = None
    deleted: bool = Field(default=False, description="Always false: deleted files are not kept.")


class FileQuery(BaseModel):
    """Which files to list, and how many: as Mistral's clients say it, or as OpenAI's (`after`, `limit`)."""

    page: Annotated[int, Field(ge=0, le=MAX_FILES, description="From 0, of `page_size` files.")] = 0
    page_size: Annotated[int, Field(ge=1)] = MAX_FILES
    after: Annotated[str, Field(max_length=64, description="ID of the last file that you have.")] = ""
    limit: Annotated[int, Field(ge=1)] = MAX_FILES
    purpose: Annotated[str, Field(max_length=64, description="Only files with this purpose.")] = ""
    search: Annotated[str, Field(max_length=1000, description="Only files with this in their names.")] = ""

    def has(self, file: StoredFile) -> bool:
        """Whether `file` is asked for."""
        return self.purpose in ("", file.purpose) and self.search.lower() in file.name.lower()

    def start(self, found: Sequence[StoredFile]) -> int:
        """The index of the first of `found` to list. Raises InputRejected: `after` is none of them."""
        if not self.after:
            return self.page * self.page_size
        for at, file in enumerate(found, 1):
            if file.id == self.after:
                return at
        raise unknown_file()


class FileList(BaseModel):
    """The caller's files, or some of them."""

    data: list[UploadedFile]
    object: str = "list"
    total: int = Field(description="How many there are in all.")
    has_more: bool = Field(description="Whether there are more after the last one.")


class DeletedFile(BaseModel):
    """A deleted file."""

    id: str
    object: str = "file"
    deleted: bool = True


class SignedUrl(BaseModel):
    """A URL that a file can be read at."""

    url: str


UPLOAD_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["file"],
                "properties": {
                    "file": {"type": "string", "format": "binary", "contentMediaType": "application/octet-stream"},
                    "purpose": {"type": "string", "examples": ["ocr"]},
                },
            }
        }
    },
}


router = APIRouter(prefix="/v1/files", tags=["files"], responses=PROBLEM_RESPONSES)

FileId = Annotated[str, Path(max_length=64, description="The `id` from the upload.")]
_LISTED_BYTES = 2000
"""Estimate of what a file in a list costs, in bytes that are rendered: 50 microseconds."""
_UNKNOWN: dict[int | str, dict[str, Any]] = problems(404, 422)


@router.post(
    "",
    operation_id="upload_file",
    summary="Upload a file",
    responses=problems(400, 408, 413, 415, 422),
    openapi_extra={"requestBody": UPLOAD_BODY},
)
@costs(FILE)
async def upload(request: Request) -> UploadedFile:
    """Keeps a file for an hour. Only the key that uploaded it can use it.

    The body is read under the limits of the settings.
    """
    context = context_of(request)
    head = parse_head(request, context.settings)
    async with context.service.gateway.admit(head.caller, head.body_bytes) as admitted:
        with admitted.receiving() as count_bytes:
            body = await uploads.receive(request, context.settings.limits, context.bodies, admitted.caller, count_bytes)
        part = body.files.get("file")
        if part is None:
            raise InputRejected("file_missing", "The form has no part `file` with a filename.")
        found = document(part.data, part.filename)
        purpose = str(body.fields.get("purpose") or "ocr")[:64]
        admitted.received(len(found.data))
        with admitted.without_deadline():  # stored as a whole, or not at all
            return _described(await context.files.add(found.name, found.data, purpose, tenant_of(request)))


@router.get(
    "", operation_id="list_files", summary="List your files", response_model=FileList, responses=problems(404, 422)
)
@costs(CONTROL)
async def list_files(request: Request, which: Annotated[FileQuery, Query()]) -> Response:
    """The caller's files, latest first."""
    context = context_of(request)
    found = [each for each in await context.files.owned(tenant_of(request)) if which.has(each)]
    start = which.start(found)
    shown = found[start : start + min(which.page_size, which.limit)]
    caller = parse_head(request, context.settings).caller
    # 10,000 files take half a second, for which the event loop must not stand still.
    cost = len(shown) * _LISTED_BYTES
    listed = await context.threads.run_large(caller, cost, _listed, shown, len(found), start + len(shown))
    return Response(listed, media_type="application/json")


def _listed(files: Sequence[StoredFile], total: int, end: int) -> bytes:
    """The list as JSON. `end`: number of the last file among all. Blocking."""
    listed = FileList(data=[_described(file) for file in files], total=total, has_more=end < total)
    return listed.model_dump_json().encode()


@router.get("/{file_id}", operation_id="describe_file", summary="Describe a file", responses=_UNKNOWN)
@costs(CONTROL)
async def describe(request: Request, file_id: FileId) -> UploadedFile:
    return _described(await context_of(request).files.get(file_id, tenant_of(request)))


@router.delete("/{file_id}", operation_id="delete_file", summary="Delete a file", responses=_UNKNOWN)
@costs(CONTROL)
async def delete(request: Request, file_id: FileId) -> DeletedFile:
    await context_of(request).files.delete(file_id, tenant_of(request))
    return DeletedFile(id=file_id)


@router.get("/{file_id}/url", operation_id="sign_file_url", summary="Get a URL for a file", responses=_UNKNOWN)
@costs(CONTROL)
async def signed_url(
    request: Request,
    file_id: FileId,
    expiry: Annotated[
        int, Query(ge=1, le=168, description="Hours until it expires, at most as long as the file is stored.")
    ] = 24,
) -> SignedUrl:
    """A URL for `document_url` of `/v1/ocr`. Reading it needs no network."""
    urls = SignedUrls(context_of(request).files)
    return SignedUrl(url=await urls.sign(file_id, tenant_of(request), str(request.base_url), expiry * 3600.0))


@router.get(
    "/{file_id}/content",
    operation_id="download_file",
    summary="Download a file",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {"schema": {"type": "string"}}}}, **_UNKNOWN},
)
@costs(DOWNLOAD)
async def download(request: Request, file_id: FileId) -> Response:
    context, tenant = context_of(request), tenant_of(request)
    # As an attachment and without sniffing: an upload must never run as a page of this origin. No cache on the way may
    # give it to those who have a signed URL that has expired.
    headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    file = await context.files.get(file_id, tenant)
    load = partial(context.files.load, file)
    return LoadedContent(context.room, tenant, load, 0 if file.data else file.byte_count, headers)


def _described(file: StoredFile) -> UploadedFile:
    return UploadedFile(
        id=file.id,
        bytes=file.byte_count,
        size_bytes=file.byte_count,
        created_at=int(file.created_at),
        expires_at=int(file.expires_at),
        filename=file.name,
        purpose=file.purpose,
    )


@router.get(
    "/{file_id}/pages/{page}",
    operation_id="show_page",
    summary="Get a page of a file as JPEG",
    response_class=Response,
    responses={**JPEG_RESPONSE, **problems(404, 413, 415, 422)},
)
@costs(PICTURE)
async def picture(
    request: Request, file_id: FileId, page: PageNumber, turn: TurnOption = "0", side: SideOption = 1400
) -> Response:
    """The page is opened under the same limits as for reading."""

    async def load() -> Document:
        return await context_of(request).sources.from_file_id(file_id, tenant_of(request))

    return await picture_response(request, load, page, turn, side)
