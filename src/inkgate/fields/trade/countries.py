"""Which currency `$`, `¥` or `kr` means: what the addresses, taxes and telephone numbers of one country show."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from inkgate.fields.rules.rows import PrintedPages

LONGEST_TEXT: Final = 20_000
"""Characters of a document that tell where it is from."""
_STATES: Final = (
    "AL|AK|AZ|AR|CA|CO|CT|DE|FL|GA|HI|ID|IL|IN|IA|KS|KY|LA|ME|MD|MA|MI|MN|MS|MO|MT|NE|NV|NH|NJ|NM|NY|NC|ND|OH|OK|OR|PA|RI"
    "|SC|SD|TN|TX|UT|VT|VA|WA|WV|WI|WY|DC"
)
AMERICAN: Final = re.compile(
    rf"[A-Za-z],?\s(?:{_STATES}),?\s+\d{{5}}(?:-\d{{4}})?\b|\b(?i:sales tax)\b|\bUSA\b|\bUnited States\b"
)
"""A town with its state and postcode, or a tax that no other country has."""
_SHOWN: Final = {
    "USD": AMERICAN,
    "AUD": re.compile(
        r"\b(?:NSW|VIC|QLD|TAS)\s+\d{4}\b|\b[A-Z][a-z]+,?\s(?:SA|WA|NT)\s+[0568]\d{3}\b|\bACT\s+(?:02|26|29)\d\d\b|\bA\.?B\.?N\b|\+61[\s\d]|\.com\.au\b|\bAustralia\b"
    ),
    "NZD": re.compile(r"\bNew Zealand\b|\.co\.nz\b|\+64[\s\d]|\bAuckland\b|\bWellington\s+\d{4}\b"),
    "CAD": re.compile(
        r"\b(?:ON|QC|BC|AB|MB|SK|NS|NB|NL|PE),?\s+[A-Z]\d[A-Z]\s?\d[A-Z]\d\b|\b(?:HST|QST|TVQ|TPS)\b|\bCanada\b"
    ),
    "SGD": re.compile(r"\bSingapore\s+\d{6}\b|\+65[\s\d]|\.com\.sg\b|\bUEN\b"),
    "HKD": re.compile(r"\bHong\s?Kong\b|香港|\+852[\s\d]|\.com\.hk\b"),
    "MXN": re.compile(r"(?<!New )(?<!Nuevo )\bM[ée]xico\b|\+52[\s\d]|\.com\.mx\b"),
    "JPY": re.compile(r"[\u3040-\u30ff]|〒|\+81[-\s\d]|\.co\.jp\b|\bJapan\b"),
    "CNY": re.compile(r"税号|增值税|统一社会信用代码|开户行|发票|收银|\+86[-\s\d]|\.com\.cn\b|\bChina\b"),
    "SEK": re.compile(r"\+46[\s\d]|\.se\b|\bmomsreg|\b(?:bank|plus)giro\b|\bSverige\b|\bSweden\b", re.IGNORECASE),
    "NOK": re.compile(r"\+47[\s\d]|\.no\b|\bMVA\b|\bNorge\b|\bNorway\b"),
    "DKK": re.compile(r"\+45[\s\d]|\.dk\b|\bCVR\b|\bDanmark\b|\bDenmark\b"),
}


def currency_meant(
    pages: PrintedPages, currencies: Collection[str], customers: Collection[tuple[int, int]] = frozenset()
) -> str:
    """The currency, of those that a sign may mean, that the document's country has; empty if nothing or not only one
    country is shown. `customers`: pages and lines of the customer, which say nothing of it.
    """
    cells = ((row.page, cell) for row in pages.rows for cell in row.cells)
    text = " ".join(cell.text for page, cell in cells if (page, cell.line) not in customers)[:LONGEST_TEXT]
    shown = [each for each in currencies if each in _SHOWN and _SHOWN[each].search(text)]
    return shown[0] if len(shown) == 1 else ""
