"""`GET /v1/files/{id}/pages/{page}`: a page of an uploaded file as an image, to show beside its text."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import cv2
import numpy as np
from fastapi import APIRouter, Path, Query
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.context import caller_of, context_of
from inkgate.api.head import parse_head
from inkgate.api.openapi import PROBLEM_RESPONSES, problems
from inkgate.api.routes_files import FileId
from inkgate.errors import EngineFailed
from inkgate.types import Document, Pixels

router = APIRouter(prefix="/v1/files", tags=["files"], responses=PROBLEM_RESPONSES)

_JPEG_QUALITY = 82
_JPEG: dict[int | str, dict[str, Any]] = {
    200: {"content": {"image/jpeg": {"schema": {"type": "string", "format": "binary"}}}}
}


@router.get(
    "/{file_id}/pages/{page}",
    operation_id="show_page",
    summary="Get a page of a file as JPEG",
    response_class=Response,
    responses={**_JPEG, **problems(404, 413, 415, 422)},
)
async def picture(
    request: Request,
    file_id: FileId,
    page: Annotated[int, Path(ge=1, le=100_000, description="From 1.")],
    turn: Annotated[
        Literal["0", "90", "180", "270"], Query(description="Degrees clockwise, such as the page's `rotation`.")
    ] = "0",
    side: Annotated[
        int, Query(ge=16, le=4000, description="Maximum side in pixels. Smaller pages are not enlarged.")
    ] = 1400,
) -> Response:
    """The page is opened under the same limits as for reading."""
    context = context_of(request)
    head = parse_head(request, context.settings)
    async with context.service.gateway.admit(head.caller) as admitted:
        file = context.files.get(file_id, caller_of(request))
        pixels = await admitted.picture(Document(file.data, file.name), page, side)
        content = await context.threads.run(_encoded, pixels, int(turn))
    # A caller's own file: only the browser may cache it.
    headers = {"Cache-Control": "private, max-age=600", "X-Content-Type-Options": "nosniff"}
    return Response(content, headers=headers, media_type="image/jpeg")


def _encoded(pixels: Pixels, turn: int) -> bytes:
    """Blocking."""
    upright = np.ascontiguousarray(np.rot90(pixels.rgb, -turn // 90))
    done, data = cv2.imencode(
        ".jpg", cv2.cvtColor(upright, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY]
    )
    if not done:
        raise EngineFailed("internal", "The page could not be encoded as a picture.")
    return data.tobytes()
