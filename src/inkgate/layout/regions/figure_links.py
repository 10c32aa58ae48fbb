"""Puts links to the images of figures into Markdown, at the place of their placeholders. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from inkgate.layout.text.markdown import page_markdown
from inkgate_client.block_image import BlockImage
from inkgate_client.image_links import IMAGE_FOLDER, beside_image
from inkgate_client.types import Block, BlockType, PageResult


def with_images(page: PageResult, images: Mapping[int, BlockImage]) -> PageResult:
    """The page with `images`, by the number of the block. Links to those of figures are in the Markdown."""
    if not images or page.blocks is None:
        return page
    before = page.blocks
    blocks = tuple(
        _with_image(block, images[number]) if number in images else block for number, block in enumerate(before)
    )
    if page.markdown is None:
        return replace(page, blocks=blocks)
    if page.markdown == page_markdown(before, page.left_out):
        return replace(page, blocks=blocks, markdown=page_markdown(blocks, page.left_out))
    return replace(page, blocks=blocks, markdown=_rewritten(page.markdown, before, blocks))


def _with_image(block: Block, image: BlockImage) -> Block:
    if block.type is not BlockType.FIGURE:  # marks have no place in the Markdown
        return replace(block, image=image)
    # the caption below, where a reader sees it: programs show the text of the link only without the image
    parts = (f"![Figure]({IMAGE_FOLDER}/{image.name})", beside_image(block))
    return replace(block, image=image, markdown="\n\n".join(part for part in parts if part))


def _rewritten(markdown: str, before: tuple[Block, ...], after: tuple[Block, ...]) -> str:
    """Markdown that a model wrote, with the links: in place of what it has for a figure, else behind the block before
    the figure.
    """
    at = 0
    for old, new in zip(before, after, strict=True):
        start = markdown.find(old.markdown, at) if old.markdown else -1
        if new.image is None or new.type is not BlockType.FIGURE:
            at = start + len(old.markdown) if start >= 0 else at
        elif start >= 0:
            markdown = markdown[:start] + new.markdown + markdown[start + len(old.markdown) :]
            at = start + len(new.markdown)
        else:
            head = f"{markdown[:at]}\n\n" if at else ""
            rest = markdown[at:].lstrip("\n")
            markdown = head + new.markdown + (f"\n\n{rest}" if rest.strip() else "")
            at = len(head) + len(new.markdown)
    return markdown
