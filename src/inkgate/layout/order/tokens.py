"""What the layout network sees of a page: its pieces, and how each of two pieces stands to the other.

A token is a piece of the page: a line outside tables and figures, or a whole table or figure. All distances are in line
heights of the page.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.evidence import Region
from inkgate.layout.order.frame import LayoutPiece, directed
from inkgate.layout.text.paragraphs import BULLET, NUMBER
from inkgate_client.types import BlockType, Box

Floats = NDArray[np.floating[Any]]
Flags = NDArray[np.bool_]
NEAR, FAR = 1.0, 6.0
"""Distances are seen at two scales, in line heights."""
ALONG = 0.3
"""A piece lies along a line if they share more than this, in line heights."""
ZONES = (
    BlockType.TITLE,
    BlockType.TEXT,
    BlockType.LIST,
    BlockType.TABLE,
    BlockType.FIGURE,
    BlockType.CAPTION,
    BlockType.HEADER,
    BlockType.FOOTER,
    BlockType.REFERENCE,
    BlockType.FORMULA,
)
_STOPS, _OPEN, _HYPHENS = frozenset(".!?。！？…"), frozenset(",;，；、"), frozenset("-‐\u00ad")
_NUMBERED = re.compile(r"^\s*(?:\d{1,2}(?:\.\d{1,2})*\.?|[A-Z]\.|[IVX]{1,5}\.|§\s*\d+|第.{1,4}[章节節条])\s+\S")
_CAPTION = re.compile(
    r"^\s*(?:fig|abb|tab|table|figure|tableau|tabla|figura|рис|табл|rys|obr|图|表|圖|図|chart|photo|plate|exhibit)",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"^\s*\[\d{1,3}\]|\b(?:19|20)\d\d[a-z]?\b\)?[.,]|\b(?:doi|vol|pp)\b", re.IGNORECASE)
_PAGE = re.compile(
    r"^\W*(?:(?:page|seite|página|p\.)\s*)?(?:\d{1,4}|[ivxlc]{1,6})(?:\W{1,3}(?:of|von|de|sur)?\W?\d{1,4})?\W*$",
    re.IGNORECASE,
)
_NOTE = re.compile(r"^\s*(?:\d{1,2}|[*†‡§¹²³⁴⁵⁶⁷⁸⁹]{1,2})\s?(?=[^\W\d_])")
_SUM = re.compile(r"\d[.,]\d\d\b|[$€£¥]")


@dataclass(frozen=True, slots=True)
class PageTokens:
    """The pieces that the network looks at.

    Attributes:
        pieces: in the page's frame, as in a mirror if the text runs from the right.
        zones: of each piece the layout model's region; None for none.
        boxes: of these regions, in the same frame.
        bounds: of the page, in the same frame.
        unit: the page's line height.
        rules: the lines drawn on the page as thin boxes, in the same frame.
    """

    pieces: Sequence[LayoutPiece]
    zones: Sequence[Region | None]
    boxes: Sequence[Box]
    bounds: Box
    unit: float
    rules: Sequence[Box] = ()


def token_features(page: PageTokens) -> Floats:
    """What is seen of each piece, (N, features)."""
    geometry = _geometry(page)
    texts = np.array([text_features(piece.text) for piece in page.pieces], np.float32)
    return np.concatenate([geometry, _zone_features(page), texts, _rule_gaps(page)], axis=1).astype(np.float32)


def pair_features(page: PageTokens) -> Floats:
    """What is seen of each two pieces, (N, N, features): how the second stands to the first."""
    left, top, right, bottom = _edges(page)
    middle, width, height = (top + bottom) / 2, right - left, bottom - top
    apart = [
        left[None] - left[:, None],
        right[None] - right[:, None],
        left[None] - right[:, None],
        right[None] - left[:, None],
        top[None] - bottom[:, None],
        middle[None] - middle[:, None],
        bottom[None] - top[:, None],
    ]
    across, down = _overlaps(left, right), _overlaps(top, bottom)
    across_share = across / np.maximum(np.minimum(width[:, None], width[None]), 0.1)
    down_share = down / np.maximum(np.minimum(height[:, None], height[None]), 0.1)
    em = np.log(np.maximum(_sizes(page), 0.05))
    bold = np.array([piece.bold for piece in page.pieces])
    number = {id(zone): at for at, zone in enumerate(page.zones)}
    zone = np.array([-1 if zone is None else number[id(zone)] for zone in page.zones])
    both = (zone[:, None] >= 0) & (zone[None] >= 0)
    below = _nearest_below(left, right, top, middle)
    beside = _nearest_beside(left, right, down_share)
    level, upright = _rules(page)
    features = [
        *(_squashed(value, scale) for value in apart for scale in (NEAR, FAR)),
        np.clip(across_share, -1, 1),
        np.clip(down_share, -1, 1),
        both & (zone[:, None] == zone[None]),
        both & (zone[:, None] != zone[None]),
        np.clip(em[None] - em[:, None], -1, 1),
        bold[None] == bold[:, None],
        below,
        below.T,
        beside,
        beside.T,
        *_ruled_off(level, left, right, middle),
        *_ruled_off(upright, top, bottom, (left + right) / 2),
    ]
    return np.stack([np.asarray(feature, np.float32) for feature in features], axis=-1)


def _edges(page: PageTokens) -> tuple[Floats, Floats, Floats, Floats]:
    edges = np.array([(p.left, p.top, p.right, p.bottom) for p in page.pieces], np.float64) / page.unit
    edges = edges.astype(np.float32)
    return edges[:, 0], edges[:, 1], edges[:, 2], edges[:, 3]


def _sizes(page: PageTokens) -> Floats:
    """Sizes of the pieces' fonts, in multiples of that of most letters; 1 for zones."""
    known = sorted((p.em, len(p.text)) for p in page.pieces if p.zone < 0)
    half, usual = sum(length for _, length in known) / 2, page.unit
    for em, length in known:
        half -= length
        if half <= 0:
            usual = em
            break
    return np.array([p.em / max(usual, 1e-6) if p.zone < 0 and p.em > 0 else 1.0 for p in page.pieces], np.float32)


def _squashed(value: Floats, scale: float) -> Floats:
    scaled = value / scale
    squashed: Floats = scaled / (1 + np.abs(scaled))
    return squashed


def _overlaps(low: Floats, high: Floats) -> Floats:
    shared: Floats = np.minimum(high[:, None], high[None]) - np.maximum(low[:, None], low[None])
    return shared


def _nearest_below(left: Floats, right: Floats, top: Floats, middle: Floats) -> Flags:
    """Whether the second piece is the nearest one below the first, among those that overlap it from left to right."""
    distance = np.where(
        (_overlaps(left, right) > 0) & (middle[None] > middle[:, None] + 0.3), top[None] - top[:, None], np.inf
    )
    nearest: Flags = np.isfinite(distance) & (distance <= distance.min(axis=1, keepdims=True) + 0.3)
    return nearest


def _nearest_beside(left: Floats, right: Floats, down_share: Floats) -> Flags:
    """Whether the second piece is the nearest one to the right of the first, in its row."""
    distance = np.where((down_share > 0.5) & (left[None] > left[:, None]), left[None] - right[:, None], np.inf)
    np.fill_diagonal(distance, np.inf)
    nearest: Flags = np.isfinite(distance) & (distance <= distance.min(axis=1, keepdims=True))
    return nearest


def _rules(page: PageTokens) -> tuple[Floats, Floats]:
    """The level and the upright lines, as `directed`, in line heights."""
    level, upright = directed(page.rules)
    return (level / page.unit).astype(np.float32), (upright / page.unit).astype(np.float32)


def _along(rules: Floats, low: Floats, high: Floats) -> Flags:
    """Whether each piece, from `low` to `high`, lies along each line, (N, R)."""
    along: Flags = np.minimum(high[:, None], rules[:, 1]) - np.maximum(low[:, None], rules[:, 0]) > ALONG
    return along


def _ruled_off(rules: Floats, low: Floats, high: Floats, middle: Floats) -> tuple[Floats, Floats]:
    """How many lines are between each two pieces that lie along them, and that one of the two lies along; squashed."""
    along = _along(rules, low, high)
    before = middle[:, None] < rules[:, 2]
    sides = [np.asarray(side, np.float32) for side in (before & along, ~before & along, before, ~before)]
    both = sides[0] @ sides[1].T
    one = sides[0] @ sides[3].T + sides[2] @ sides[1].T - both
    return _squashed(both + both.T, 1.0), _squashed(one + one.T, 1.0)


def _rule_gaps(page: PageTokens) -> Floats:
    """The gaps between each piece and the nearest level lines above and below it and upright ones beside it; and
    whether there are any.
    """
    left, top, right, bottom = _edges(page)
    found: list[Floats] = []
    for rules, low, high, start, end in zip(
        _rules(page), (left, top), (right, bottom), (top, left), (bottom, right), strict=True
    ):
        along, at = _along(rules, low, high), rules[:, 2]
        before = at < ((start + end) / 2)[:, None]
        found += _gaps(np.where(along & before, start[:, None] - at, np.inf))
        found += _gaps(np.where(along & ~before, at - end[:, None], np.inf))
    return np.stack([np.asarray(column, np.float32) for column in found], axis=1)


def _geometry(page: PageTokens) -> Floats:
    left, top, right, bottom = _edges(page)
    low_x, low_y, high_x, high_y = (edge / page.unit for edge in page.bounds)
    wide, high = max(high_x - low_x, 1e-6), max(high_y - low_y, 1e-6)
    first, last = float(left.min()), float(right.max())
    across = _overlaps(left, right) > 0
    middle = (top + bottom) / 2
    down = _overlaps(top, bottom) > 0.3
    above = np.where(across & (middle[None] < middle[:, None] - 0.3), top[:, None] - bottom[None], np.inf)
    below = np.where(across & (middle[None] > middle[:, None] + 0.3), top[None] - bottom[:, None], np.inf)
    before = np.where(down & (right[None] <= left[:, None] + 0.5), left[:, None] - right[None], np.inf)
    after = np.where(down & (left[None] >= right[:, None] - 0.5), left[None] - right[:, None], np.inf)
    sizes = _sizes(page)
    columns = [
        (left - low_x) / wide,
        (right - low_x) / wide,
        (top - low_y) / high,
        (bottom - low_y) / high,
        (left - first) / max(last - first, 1e-6),
        (right - first) / max(last - first, 1e-6),
        np.log(np.maximum(right - left, 0.1)) / 3,
        np.log(np.maximum(bottom - top, 0.1)),
        np.log(np.maximum(sizes, 0.05)),
        sizes > 1.15,
        sizes < 0.93,
        np.array([p.bold for p in page.pieces]),
        np.full(len(left), np.mean([p.bold for p in page.pieces])),
        np.full(len(left), wide / 60),
        np.full(len(left), np.log1p(len(left)) / 5),
        *(side for gaps in (above, below, before, after) for side in _gaps(gaps)),
        *(_shift(left, right, gaps) for gaps in (above, below)),
        *(_shift(right, left, gaps) for gaps in (above, below)),
    ]
    return np.stack([np.asarray(column, np.float32) for column in columns], axis=1)


def _gaps(gaps: Floats) -> tuple[Floats, Floats]:
    """The nearest gap, squashed, and whether there is one."""
    nearest = gaps.min(axis=1, initial=np.inf)
    known = np.isfinite(nearest)
    return np.where(known, _squashed(np.where(known, nearest, 0), 2.0), 1.0), known


def _shift(edge: Floats, other: Floats, gaps: Floats) -> Floats:
    """How far the edge is from that of the nearest piece above or below; `other`: only makes ties unique."""
    nearest = np.lexsort((other, edge))
    place = nearest[gaps[:, nearest].argmin(axis=1)]
    known = np.isfinite(gaps.min(axis=1))
    return np.where(known, _squashed(edge - edge[place], 2.0), 0.0)


def _zone_features(page: PageTokens) -> Floats:
    made = np.zeros((len(page.pieces), len(ZONES) + 8), np.float32)
    for at, (piece, zone, box) in enumerate(zip(page.pieces, page.zones, page.boxes, strict=True)):
        if zone is None:
            continue
        if zone.type in ZONES:
            made[at, ZONES.index(zone.type)] = 1
        unit = page.unit
        made[at, len(ZONES) :] = (
            1,
            zone.confidence,
            piece.zone >= 0,
            _soft((piece.top - box[1]) / unit),
            _soft((box[3] - piece.bottom) / unit),
            _soft((piece.left - box[0]) / unit),
            _soft((box[2] - piece.right) / unit),
            _soft((box[3] - box[1]) / unit / 4),
        )
    return made


def _soft(value: float) -> float:
    return value / (1 + abs(value))


def text_features(text: str) -> tuple[float, ...]:
    text = text.strip()
    length = max(len(text), 1)
    first = next((char for char in text if char.isalnum()), " ")
    last = text[-1:] or " "
    letters = sum(map(str.isalpha, text))
    words = text.split()
    return (
        first.isupper(),
        first.islower(),
        first.isdigit(),
        first.isalpha() and not (first.isupper() or first.islower()),
        text[:1] in set("([{\"'“‘«„"),
        bool(text) and not text[0].isalnum(),
        last in _STOPS,
        last in _OPEN,
        last in set(":："),
        last in _HYPHENS,
        last.isdigit(),
        last in set(")]}\"'”’»"),
        last.islower(),
        bool(BULLET.match(text)),
        bool(NUMBER.match(text)),
        bool(_NUMBERED.match(text)),
        bool(_CAPTION.match(text)),
        bool(_REFERENCE.search(text)),
        bool(_PAGE.match(text)),
        bool(_NOTE.match(text)),
        bool(_SUM.search(text)),
        ":" in text[1:-1],
        "@" in text or "www." in text or "http" in text,
        length / 100,
        float(np.log(length)) / 5,
        len(words) / 15,
        sum(map(str.isupper, text)) / length,
        sum(map(str.isdigit, text)) / length,
        letters / length,
        sum(word[:1].isupper() for word in words) / max(len(words), 1),
        any(unicodedata.category(char) == "Sm" for char in text),
        any("⺀" <= char <= "\uffee" for char in text),
    )
