"""The confidence of blocks and pages: the probability that text and order are right; and which pages to review. Pure.

The models are logistic, and monotone: no measure of doubt raises a confidence. They
were fitted on documents with ground truth (docs/guides/accuracy.md); doubt_data.py has their coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from inkgate.layout.doubt import Measures, bend, block_measures, order_measures, text_measures
from inkgate.layout.doubt_data import BLOCK_RIGHT, PAGE_ORDER_RIGHT, PAGE_TEXT_RIGHT, REVIEW_TEXT
from inkgate.layout.text.surprise import surprise
from inkgate_client.types import Block, BlockType, Line, PageResult, ReviewReason, mean_confidence

MAX_CONFIDENCE = 0.995
"""No probability is nearer to 0 or 1: the models were fitted on about a thousand blocks."""
REVIEW_ORDER = 0.6
"""Pages whose order is right with a lower probability are to be reviewed."""
REVIEW_TABLE = 0.4
"""A page with a table below is to be reviewed."""
REVIEW_WORDS = 0.8
"""Mean word confidence below which a page without positions is to be reviewed. Not calibrated: these engines give
probabilities of tokens, and no documents of dev were read by them here."""
UNREADABLE = 0.72
"""Text below is taken for no text: of dev's 2,176 blocks, one that has MIN_UNREADABLE characters is; it is wrong."""
UNREADABLE_IF_ODD = 0.2
"""How much more confidence text needs that looks like no words at all, see surprise.py."""
MIN_UNREADABLE = 6
"""Letters and digits; less is a stamp, a page number or a logo."""
NOTE = "> **Doubtful text:** "
"""How a reader of Markdown sees what is unreadable."""


def judged(page: PageResult) -> PageResult:
    """The page with confidences, with its reasons for review, and with text that is no text marked in its Markdown.

    Call it once for a page: it replaces the mean confidence of blocks.
    """
    if not page.lines:
        page = replace(page, confidence=mean_confidence(page.words))
    else:
        bent = bend(page.lines)
        blocks = None if page.blocks is None else _all_judged(page.blocks, page.lines, bent)
        page = replace(page, blocks=blocks, confidence=text_right(page) * order_right(page))
    page, unreadable = _noted(page)
    return replace(page, review=_review(page, unreadable=unreadable))


def text_right(page: PageResult) -> float:
    """The probability that the text of a page with lines is right, whatever its order."""
    read = lines_read(page)
    return _probability(PAGE_TEXT_RIGHT, text_measures(read)) if read else MAX_CONFIDENCE


def order_right(page: PageResult) -> float:
    """The probability that the order of a page's lines is right, if its text is."""
    return _probability(PAGE_ORDER_RIGHT, order_measures(page.lines))


def lines_read(page: PageResult) -> Sequence[Line]:
    """The lines that were recognised: those of a text layer have a confidence of 1, and nothing to be measured."""
    return page.lines if page.source == "ocr" else [line for line in page.lines if line.confidence < 1]


def _all_judged(blocks: Sequence[Block], lines: Sequence[Line], page_bend: float) -> tuple[Block, ...]:
    return tuple(_judged(number, blocks, lines, page_bend) for number in range(len(blocks)))


def _judged(number: int, blocks: Sequence[Block], lines: Sequence[Line], page_bend: float) -> Block:
    block = blocks[number]
    if not block.lines:
        return block
    return replace(block, confidence=_probability(BLOCK_RIGHT, block_measures(number, blocks, lines, page_bend)))


def _probability(model: Measures, measures: Measures) -> float:
    """Returns the probability by a logistic model: its weights by measure, and its intercept as `""`."""
    total = model[""] + sum(model[name] * value for name, value in measures.items())
    return min(MAX_CONFIDENCE, max(1 - MAX_CONFIDENCE, 1 / (1 + math.exp(-total))))


def _review(page: PageResult, *, unreadable: bool) -> tuple[ReviewReason, ...]:
    found: set[ReviewReason] = set(page.review)
    if page.error is not None:
        found.add(ReviewReason.NOT_READ)
    if unreadable:
        found.add(ReviewReason.UNCERTAIN_TEXT)
    if page.lines and text_right(page) < REVIEW_TEXT:
        found.add(ReviewReason.UNCERTAIN_TEXT)
    if page.lines and order_right(page) < REVIEW_ORDER:
        found.add(ReviewReason.UNCERTAIN_ORDER)
    if page.confidence is not None and page.confidence < REVIEW_WORDS and not page.lines:
        found.add(ReviewReason.UNCERTAIN_TEXT)
    if any(_is_uncertain_table(block) for block in page.blocks or ()):
        found.add(ReviewReason.UNCERTAIN_TABLE)
    return tuple(reason for reason in ReviewReason if reason in found)


def _is_uncertain_table(block: Block) -> bool:
    return block.type is BlockType.TABLE and block.confidence is not None and block.confidence < REVIEW_TABLE


def is_unreadable(text: str, confidence: float | None) -> bool:
    """Whether what was recognised is very likely no text: patterns, drawings, a script that the model doesn't know.

    `confidence`: the mean of its characters.
    """
    if confidence is None or sum(character.isalnum() for character in text) < MIN_UNREADABLE:
        return False
    return confidence < UNREADABLE or confidence < UNREADABLE + UNREADABLE_IF_ODD * surprise(text)


def _noted(page: PageResult) -> tuple[PageResult, bool]:
    """The page with a note at each unreadable block in its Markdown, and whether there are any."""
    blocks, markdown, place = [], page.markdown or "", 0
    for block in page.blocks or ():
        mean = mean_confidence([page.lines[i] for i in block.lines]) if block.lines else block.confidence
        unreadable = bool(block.markdown) and block.type is not BlockType.TABLE and is_unreadable(block.text, mean)
        noted = replace(block, markdown=_note(block.markdown)) if unreadable else block
        at = _whole(markdown, block.markdown, place) if block.markdown else -1
        if at >= 0:
            before, after = markdown[:at], markdown[at + len(block.markdown) :]
            if unreadable:
                before, after = _apart(before, after)
            place = len(before) + len(noted.markdown)
            markdown = before + noted.markdown + after
        blocks.append(noted)
    changed = tuple(blocks)
    if changed == (page.blocks or ()):
        return page, False
    return replace(page, blocks=changed, markdown=markdown), True


def _whole(markdown: str, part: str, start: int) -> int:
    """Returns where `part` stands between white space, from `start` on; -1 if it doesn't, as where a hyphen was taken
    away.
    """
    at = markdown.find(part, start)
    while at >= 0:
        end = at + len(part)
        if not markdown[:at][-1:].strip() and not markdown[end : end + 1].strip():
            return at
        at = markdown.find(part, at + 1)
    return -1


def _apart(before: str, after: str) -> tuple[str, str]:
    """What stands around a part that becomes a paragraph of its own: it may continue one, or be continued."""
    if before and not before.endswith("\n\n"):
        before = before.rstrip() + "\n\n"
    if after and not after.startswith("\n\n"):
        after = "\n\n" + after.lstrip()
    return before, after


def _note(markdown: str) -> str:
    """The block as a quotation that begins with NOTE."""
    first, *others = markdown.lstrip("# ").split("\n")
    return "\n".join([NOTE + first, *(f"> {line}" for line in others)])
