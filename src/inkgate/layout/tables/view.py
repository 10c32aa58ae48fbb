"""What is known of the lines of a page when its tables are looked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.evidence import PageEvidence, Region, TableGuess
from inkgate.layout.order.frame import FloatArray, Frame, directed
from inkgate.layout.tables.headers import is_number
from inkgate.layout.tables.places import TablePlace, held_in, shares_in
from inkgate_client.types import BlockType

IntArray = NDArray[np.int64]

INSIDE = 0.5
"""A line is in a region or a drawn cell that contains this share of it."""
EXAMINED = 0.9
"""The table model looked at a place if this share of its lines is in the part of the page that it was shown."""
MIN_SHOWN = 0.6
"""Its cells are tried for places with at least this share of the lines in that part."""
MAX_HEAD = 40
_HEAD_WORDS = re.compile(
    r"\b(?:pos(?:ition)?|items?|no|nr|qty|quantity|description|descr|particulars|product|article|code|sku|unit|u/?m|price|rate"
    r"|amount|amt|total|subtotal|tax|vat|gst|disc(?:ount)?|balance|debit|credit|hours"
    r"|\w*(?:menge|preis|betrag|anzahl|artikel|bezeichnung|beschreibung|einheit|rabatt|mwst|summe)\w*"
    r"|désignation|libellé|quantité|qté|prix|montant|tva|remise|unité|référence"
    r"|descripción|concepto|cantidad|cant|precio|importe|iva|unidad|referencia"
    r"|descrizione|quantità|prezzo|importo|sconto|codice|descrição|quantidade|qtd|preço|valor|código"
    r"|omschrijving|aantal|prijs|bedrag|btw|eenheid|korting|nazwa|ilość|cena|wartość|lp|jm"
    r"|наименование|кол-?во|количество|цена|сумма|ндс|ед)\b"
    r"|品\s*名|商\s*品|名\s*称|项\s*目|規\s*格|规\s*格|数\s*量|单\s*[价位]|単\s*[価位]|金\s*[额額]|税\s*[额額率]|序\s*号|番\s*号",
    re.IGNORECASE,
)
"""What heads columns of goods and amounts."""


@dataclass(frozen=True, slots=True)
class PageView:
    """What is known of each line of a page, by its index: made once, for all places.

    Attributes:
        frame, guesses: the page's.
        drawn: the number of the drawn cell of each line; -1 for none.
        inside: whether each line is in each region of `regions`.
        numbers, bold, lower, broken: whether the line's text is a number, is bold, begins with a small letter, and ends
            as a line within a sentence does.
        heads: whether it has a word that heads columns of goods or amounts.
        lengths: its characters.
        middles: of the lines.
        bounds: of all lines.
        captions: the lines in captions.
        level, upright: the drawn lines of each direction, (R, 3): both ends, and where it is.
    """

    frame: Frame
    guesses: Sequence[TableGuess]
    regions: Sequence[Region]
    drawn: IntArray
    inside: NDArray[np.bool_]
    numbers: NDArray[np.bool_]
    bold: NDArray[np.bool_]
    lower: NDArray[np.bool_]
    broken: NDArray[np.bool_]
    heads: NDArray[np.bool_]
    lengths: IntArray
    middles: FloatArray
    bounds: FloatArray
    captions: frozenset[int]
    level: FloatArray
    upright: FloatArray


def view_of(frame: Frame, evidence: PageEvidence) -> PageView:
    regions, cells = evidence.regions or (), evidence.cells
    count = len(frame.pieces)
    boxes = np.array([(p.left, p.top, p.right, p.bottom) for p in frame.pieces], dtype=np.float64).reshape(-1, 4)
    drawn = np.full(count, -1, dtype=np.int64)
    if len(cells) and count:
        shares = shares_in(boxes, np.array([frame.place(cell) for cell in cells]))
        drawn = np.where(shares.max(axis=1) > INSIDE, shares.argmax(axis=1), -1)
    inside = np.zeros((count, len(regions)), dtype=np.bool_)
    if len(regions) and count:
        inside = shares_in(boxes, np.array([frame.place(region.box) for region in regions])) > INSIDE
    texts = [piece.text.strip() for piece in frame.pieces]
    captions = [i for i, region in enumerate(regions) if region.type is BlockType.CAPTION]
    level, upright = directed([frame.place(rule) for rule in evidence.rules])
    return PageView(
        frame,
        evidence.tables,
        regions,
        drawn,
        inside,
        numbers=np.array([is_number(text) for text in texts], dtype=np.bool_),
        bold=np.array([piece.bold for piece in frame.pieces], dtype=np.bool_),
        lower=np.array([text[:1].islower() for text in texts], dtype=np.bool_),
        broken=np.array([text.endswith(("-", ",", ";")) for text in texts], dtype=np.bool_),
        heads=np.array([bool(_HEAD_WORDS.search(text[:MAX_HEAD])) for text in texts], dtype=np.bool_),
        lengths=np.array([len(text) for text in texts], dtype=np.int64),
        middles=np.array([piece.middle for piece in frame.pieces]),
        bounds=np.concatenate([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)]) if count else np.zeros(4),
        captions=frozenset(np.flatnonzero(inside[:, captions].any(axis=1)).tolist()),
        level=level,
        upright=upright,
    )


def guess_for(page: PageView, place: TablePlace) -> TableGuess | None:
    """The table model's cells, if it looked at nearly all of the place, and not at much more."""
    pieces = place.pieces
    for guess in page.guesses:
        box = page.frame.place(guess.box)
        if not guess.cells or len(held_in(box, pieces)) < EXAMINED * len(pieces):
            continue
        if len(pieces) >= MIN_SHOWN * len(held_in(box, page.frame.pieces)):
            return guess
    return None
