"""Markdown with something of the model's own around or in it: olmOCR's front matter, Nanonets' tags, code fences."""

from __future__ import annotations

import re

from inkgate.engines.vlm.parsers.answer import ParsedAnswer
from inkgate.engines.vlm.parsers.markdown import markdown
from inkgate_client.types import Size

_FRONT = re.compile(r"\A\s*---[ \t]*\n((?:[a-z_]{1,40}:[^\n]{0,200}\n){0,20})(?:---[ \t]*(?:\n|\Z)|\Z)")
_FENCED = re.compile(r"\A\s*```(?:markdown|md|html)?[ \t]*\n(.*?)(?:\n```\s*\Z|\Z)", re.DOTALL)
_PAGE_NUMBER = re.compile(r"<page_number>[^<\n]{0,40}</page_number>", re.IGNORECASE)
_WRAPPER = re.compile(r"</?(?:watermark|signature|img|page_number)>", re.IGNORECASE)


def front_matter_markdown(output: str, size: Size) -> ParsedAnswer:
    """The Markdown after the front matter, which olmOCR writes about each page (its language, its rotation)."""
    front = _FRONT.match(output)
    return markdown(output[front.end() :] if front else output, size)


def tagged_markdown(output: str, size: Size) -> ParsedAnswer:
    """Markdown in which watermarks, signatures and descriptions of images have tags around them, which are dropped, and
    page numbers, which are left out (Nanonets-OCR2).
    """
    return markdown(_WRAPPER.sub("", _PAGE_NUMBER.sub("", output)), size)


def unfenced_markdown(output: str, size: Size) -> ParsedAnswer:
    """Markdown that may be in a code fence as a whole, as general models write it."""
    return markdown(unfenced(output), size)


def unfenced(output: str) -> str:
    """The output without a code fence around all of it."""
    fenced = _FENCED.match(output)
    return fenced[1] if fenced and "\n```" not in fenced[1] else output
