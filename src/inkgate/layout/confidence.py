"""The confidence of blocks and pages: the probability that text and order are right; and which pages to review. Pure.

The models are logistic, and monotone: no measure of doubt raises a confidence. They
were fitted on documents with ground truth (docs/guides/accuracy.md); doubt_data.py has their coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from inkgate.layout.doubt import (
    Measures,
    bend,
    block_measures,
    heading_measures,
    order_measures,
    page_doubt,
    structure_measures,
    table_measures,
    text_measures,
)
from inkgate.layout.doubt_data import (
    BLOCK_RIGHT,
    HEADING_RIGHT,
    PAGE_ORDER_RIGHT,
    PAGE_TEXT_RIGHT,
    REVIEW_HEADING,
    REVIEW_ORDER,
    REVIEW_TABLE,
    REVIEW_TEXT,
    STRUCTURE_RIGHT,
    TABLE_RIGHT,
)
from inkgate.layout.text.surprise import surprise
from inkgate_client.types import Block, BlockType, Line, PageResult, ReviewNote, ReviewReason, mean_confidence

MAX_CONFIDENCE = 0.995
"""No probability is nearer to 0 or 1: the models were fitted on about a thousand blocks."""
MISREAD_TABLE = 0.4
"""A table whose text and structure are right with a lower probability is to be reviewed."""
REVIEW_STEP = 0.7
"""On a page whose order is doubtful, blocks that follow the block before with a lower confidence are shown."""
MAX_NOTES = 20
"""Blocks of a page that are named for one reason, the most doubtful first."""
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
        in_order = order_right(page)
        page = replace(page, blocks=blocks, confidence=text_right(page) * in_order)
        page = page.with_notes([*_order_notes(page, in_order), *_type_notes(page)])
    page, unreadable = _noted(page)
    return replace(page, review=_review(page, unreadable=unreadable))


def text_right(page: PageResult) -> float:
    """The probability that the text of a page with lines is right, whatever its order."""
    read = lines_read(page)
    return _probability(PAGE_TEXT_RIGHT, text_measures(read)) if read else MAX_CONFIDENCE


def order_right(page: PageResult) -> float:
    """The probability that the order of a page's lines is right, if its text is."""
    return _probability(PAGE_ORDER_RIGHT, order_measures(page))


def lines_read(page: PageResult) -> Sequence[Line]:
    """The lines that were recognised: those of a text layer have a confidence of 1, and nothing to be measured."""
    return page.lines if page.source == "ocr" else [line for line in page.lines if line.confidence < 1]


def _all_judged(blocks: Sequence[Block], lines: Sequence[Line], page_bend: float) -> tuple[Block, ...]:
    doubt = page_doubt(blocks)

    def confidence(number: int) -> float:
        text = _probability(BLOCK_RIGHT, block_measures(number, blocks, lines, page_bend))
        return text * _probability(STRUCTURE_RIGHT, structure_measures(number, blocks, doubt))

    return tuple(
        replace(block, confidence=confidence(number)) if block.lines else block for number, block in enumerate(blocks)
    )


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
    if page.confidence is not None and page.confidence < REVIEW_WORDS and not page.lines:
        found.add(ReviewReason.UNCERTAIN_TEXT)
    return tuple(reason for reason in ReviewReason if reason in found)


def _order_notes(page: PageResult, in_order: float) -> list[ReviewNote]:
    """The parts of a page whose order is doubtful. `in_order`: the probability that the page's is right."""
    if in_order >= REVIEW_ORDER:
        return []
    blocks = [block for block in page.blocks or () if block.lines]
    doubtful = sorted((_or_sure(block.order_confidence), block.box) for block in blocks)
    places = [box for confidence, box in doubtful if confidence < REVIEW_STEP]
    notes = [ReviewNote(ReviewReason.UNCERTAIN_ORDER, box=box) for box in places[:MAX_NOTES]]
    return notes or [ReviewNote(ReviewReason.UNCERTAIN_ORDER)]


def _type_notes(page: PageResult) -> list[ReviewNote]:
    """The parts of a page whose cells or headings are doubtful."""
    blocks = [block for block in page.blocks or () if block.lines]
    tables = [(block, table_measures(block)) for block in blocks if block.type is BlockType.TABLE]
    found = _notes(ReviewReason.UNCERTAIN_TABLE, TABLE_RIGHT, REVIEW_TABLE, tables)
    known = {note.box for note in found}
    misread = [block.box for block, _ in tables if (block.confidence or 0.0) < MISREAD_TABLE and block.box not in known]
    found += [ReviewNote(ReviewReason.UNCERTAIN_TABLE, box=box) for box in misread[:MAX_NOTES]]
    others = [(block, heading_measures(block)) for block in blocks if block.type in (BlockType.TITLE, BlockType.TEXT)]
    return found + _notes(ReviewReason.UNCERTAIN_HEADINGS, HEADING_RIGHT, REVIEW_HEADING, others)


def _notes(
    reason: ReviewReason, model: Measures, least: float, blocks: Sequence[tuple[Block, Measures]]
) -> list[ReviewNote]:
    """A note for each block that is right with a probability below `least`, the most doubtful first."""
    rated = sorted((_probability(model, measures), block.box) for block, measures in blocks)
    return [ReviewNote(reason, box=box) for probability, box in rated if probability < least][:MAX_NOTES]


def _or_sure(confidence: float | None) -> float:
    return 1.0 if confidence is None else confidence


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
