"""Links to the images of figures: they lead to files, or into the Markdown itself. Pure, and part of the client."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final
from urllib.parse import quote

from inkgate_client.block_image import BlockImage
from inkgate_client.escape import at_beginning
from inkgate_client.types import Block, BlockType, DocumentResult, PageResult

IMAGE_FOLDER: Final = "images"
"""The folder of the links, unless they are written to files."""
_LINK = re.compile(r"!\[Figure\]\([^()\s]*\)\n*")
_PLACEHOLDER = re.compile(r"> \[Figure(?:: (.*))?\](?=\n|$)")
"""What inkgate.layout.text.markdown writes for a figure without an image."""


def images_of(result: DocumentResult) -> list[BlockImage]:
    """The images that the Markdown links to."""
    return [image for page in result.pages for image in images_on(page)]


def images_on(page: PageResult) -> list[BlockImage]:
    """The images that the page's Markdown links to."""
    images = (block.image for block in page.blocks or () if block.type is BlockType.FIGURE)
    return [image for image in images if image is not None]


def with_embedded_images(page: PageResult) -> PageResult:
    """The page with the images inside of its Markdown, as `data:` URLs."""
    return with_image_links(page, lambda image: f"![Figure]({image.data_url})")


def with_all_images_embedded(result: DocumentResult) -> DocumentResult:
    """The document with the images inside of its Markdown, as `data:` URLs."""
    return replace(result, pages=tuple(map(with_embedded_images, result.pages)))


def with_image_folder(result: DocumentResult, folder: str) -> DocumentResult:
    """The document with links to images in `folder`, relative to the Markdown file."""
    path = quote(folder)
    return replace(
        result,
        pages=tuple(with_image_links(page, lambda image: f"![Figure]({path}/{image.name})") for page in result.pages),
    )


def beside_image(block: Block) -> str:
    """The Markdown of a figure without the link to its image, or what stands for it where there is none: its caption,
    and the text inside of it.
    """
    if block.image is not None:
        return _LINK.sub("", block.markdown, count=1)
    if (found := _PLACEHOLDER.match(block.markdown)) is None:
        return block.markdown
    parts = (at_beginning((found[1] or "").strip()), block.markdown[found.end() :].strip("\n"))
    return "\n\n".join(part for part in parts if part)


def with_image_links(page: PageResult, link_of: Callable[[BlockImage], str]) -> PageResult:
    """The page with other links to its images in the Markdown."""
    images = {f"{IMAGE_FOLDER}/{image.name}": image for image in images_on(page)}
    if not images or page.markdown is None:
        return page

    def linked(found: re.Match[str]) -> str:
        # Once: a page that a thousand times has what looks like the link would get a thousand files.
        image = images.pop(found[1], None)
        return found[0] if image is None else link_of(image)

    pattern = re.compile(r"!\[Figure\]\((" + "|".join(map(re.escape, images)) + r")\)")
    return replace(page, markdown=pattern.sub(linked, page.markdown))
