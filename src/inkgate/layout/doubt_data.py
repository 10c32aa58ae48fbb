"""Coefficients of the models of confidence, by `benchmarks.structure.fit_confidence` of commit ee68bbdf.

2026-11-28: 210 documents of the tuning half. 365 blocks; 194 pages for text, 37 for order.
"""

from __future__ import annotations

BLOCK_RIGHT = {
    "": 3.7535,
    "doubt": -0.8439,
    "bend": -0.029,
    "rows": -0.4341,
    "overlap": -3.2578,
    "brief": -0.2186,
    "table": 0.0,
    "marginal": -2.5558,
}

PAGE_TEXT_RIGHT = {
    "": 7.3767,
    "unsure": -4.8466,
    "worst": -1.4427,
    "small": -0.2396,
    "odd": -5.6242,
    "codes": -4.1755,
    "bend": -0.5357,
}

# By `python -m training.layout.doubt fit`, 2026-11-29: 51 real pages of the tuning half, by networks that were not
# trained on them, and 80 generated ones. 2,272 blocks, 94 of them tables; 131 pages.
PAGE_ORDER_RIGHT = {"": 1.8324, "bend": -1.727, "rows": -0.5213, "worst": -0.1835, "total": -0.4477}

STRUCTURE_RIGHT = {
    "": 4.669,
    "type": -0.5082,
    "order": -0.4288,
    "around": -0.2725,
    "page": -0.6331,
    "unknown": -3.6837,
}

TABLE_RIGHT = {"": 2.1915, "type": -0.7163, "wide": 0.0}

HEADING_RIGHT = {"": 2.5077, "type": -0.9897, "title": -0.2732}

REVIEW_TEXT = 0.9
"""Pages whose text is right with a lower probability are to be reviewed."""

REVIEW_ORDER = 0.75
"""Pages whose order is right with a lower probability are to be reviewed."""
REVIEW_TABLE, REVIEW_HEADING = 0.7, 0.6
"""Tables, and headings or what may be one, that are right with a lower probability are to be reviewed. Of the 51 real
pages above, 34 of 42 with a fault are flagged; of the real and generated ones, 7 of 63 right ones.
"""

PAIRS = (
    "854588585973439593436687694"
    "397929774693783994554999494"
    "395739834955893895734999794"
    "499628883996884895584899791"
    "575466796995538683347685892"
    "499844993995992994754999792"
    "577929644995945894564999792"
    "399929993998874995756979893"
    "564545599984423575338699976"
    "279629995969963796472699996"
    "468828673996954797486789691"
    "388537993983893799655899492"
    "358829994997573399696999792"
    "494347395977964999436799792"
    "665594786985426593544657893"
    "398738954994693493545999794"
    "397979996799979997960999997"
    "385627694977563796556699692"
    "595839954978795589434979891"
    "397939833998894794555979592"
    "554648595994437593348998894"
    "299919992998893999887999996"
    "396928942998953997598949893"
    "594939974998987499828983892"
    "697849996997573498469989991"
    "259939963999993796965959543"
    "354444654775554475436659799"
)
"""Surprise in bits of letter pairs, a row for each first letter; the 27th is the edge of a word."""
