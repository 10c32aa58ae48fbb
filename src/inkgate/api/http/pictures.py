"""Pages of documents as JPEG, and figures as PNG, for all routes that show them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

import cv2
import numpy as np
from fastapi import Path, Query
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.http.context import context_of
from inkgate.api.http.head import parse_head
from inkgate.api.http.leaving import CountedContent
from inkgate.errors import EngineFailed
from inkgate.page import Pixels
from inkgate_client.types import Document

PageNumber = Annotated[int, Path(ge=1, le=100_000, description="From 1.")]
TurnOption = Annotated[
    Literal["0", "90", "180", "270"], Query(description="Degrees clockwise, such as the page's `rotation`.")
]
SideOption = Annotated[
    int, Query(ge=16, le=4000, description="Maximum side in pixels. Smaller pages are not enlarged.")
]

JPEG_RESPONSE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"image/jpeg": {"schema": {"type": "string", "format": "binary"}}}}
}
_JPEG_QUALITY = 82
_ENCODE_MS = 20
_PNG = b"\x89PNG"


async def picture_response(
    request: Request, load: Callable[[], Awaitable[Document]], page: int, turn: str, side: int
) -> Response:
    """The page number `page` of the document that `load` gives, once the request is admitted. It is opened under the
    same limits as for reading.
    """
    context = context_of(request)
    head = parse_head(request, context.settings)
    async with context.service.gateway.admit(head.caller) as admitted:
        document = await load()
        admitted.set_held_bytes(len(document.data))
        pixels = await admitted.picture(document, page, side)
        content = await context.threads.run(admitted.caller, _ENCODE_MS, _encoded, pixels, int(turn))
    # A caller's own file: only the browser may cache it.
    headers = {"Cache-Control": "private, max-age=600", "X-Content-Type-Options": "nosniff"}
    return CountedContent(context.room, head.caller.tenant, content, "image/jpeg", headers)


def _encoded(pixels: Pixels, turn: int) -> bytes:
    """Turns a page and encodes it as JPEG. Blocking."""
    upright = np.ascontiguousarray(np.rot90(pixels.rgb, -turn // 90))
    done, data = cv2.imencode(
        ".jpg", cv2.cvtColor(upright, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY]
    )
    if not done:
        raise EngineFailed("internal", "The page could not be encoded as a picture.")
    return data.tobytes()


def png_of(data: bytes) -> bytes:
    """The image, which is JPEG or PNG, as PNG. Blocking."""
    if data.startswith(_PNG):
        return data
    bgr = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    if bgr is None:
        raise EngineFailed("internal", "The figure's image is damaged.")
    return cv2.imencode(".png", bgr)[1].tobytes()
