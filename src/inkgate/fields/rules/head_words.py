"""Words that tell what a row at the head of a document is."""

from __future__ import annotations

import re
from typing import Final

HEAD_ROWS: Final = 16
"""The head of a document: its first rows."""


def _any_of(words: str, before: str = r"\b", behind: str = r"\b") -> re.Pattern[str]:
    """A pattern of any of the patterns in `words`, which spaces and line ends separate; `~` stands for a space."""
    return re.compile(f"{before}(?:{'|'.join(words.split()).replace('~', ' ')}){behind}", re.IGNORECASE)


LEGAL_FORM: Final = _any_of(
    r"""sdn\.?\s*bhd\.? s/b bhd\.? berhad ltd\.? limited enterprise trading inc\.? llc corp\.? gmbh co\.? company
    store mart restaurant restoran hardware stationery pharmacy clinic cafe bakery marketing holdings? resources
    b\.?v\.? s\.?a\.? s\.?r\.?l\.?""",
    behind=r"(?!\w)",
)
LEGAL_FORM_CJK: Final = re.compile("有限公司|公司|商店|超市")
BUSINESS: Final = _any_of("st.?tionery restaurants? retail services? paper foods? f&b pharmacy parking supplies")
GOES_ON: Final = re.compile(r"^(?:\(?m\)?\s*)?(?:sdn|bhd|berhad|s/b|ltd|\(m\)|\()", re.IGNORECASE)
"""How the second row of a name begins."""
NO_NAME: Final = _any_of(
    "tax~?invoice invoice receipt cash~?bill cash~?sales? cash~?receipt official~receipt simplified.* bill welcome.*"
    " thank.*",
    before=r"^\W*",
    behind=r"\W*$",
)
NUMBERED: Final = _any_of(
    r"""gst\b.* reg\b.* co\.?\s*no company~no br~no ref tel\w* phone fax h/?p mobile email www http inv invoice
    receipt date tax~id cashier bill~no doc\w*~no ssm roc""",
    behind=r"(?!\w)",
)
"""Labels of numbers: what stands behind them is neither name nor address."""
STREET: Final = _any_of(
    r"""no lot jalan jln jl lorong taman tmn kampung kg persiaran lebuh street st road rd avenue ave blvd drive lane
    block blk unit floor ground level batu bandar plaza mall kawasan wisma bangunan menara pusat seksyen section
    p\.?o\.?~box strasse straße rue off suite jaya darul ehsan kl kuala selangor johor penang perak melaka
    pahang sabah sarawak malaysia singapore"""
)
STREET_CJK: Final = re.compile("[路街号號區区市]")
POSTCODE: Final = re.compile(r"(?<!\d)\d{5}(?!\d)")
HOUSE_NUMBER: Final = re.compile(r"^\W*(?:no|lot)\W*\d", re.IGNORECASE)
REGISTRATION: Final = re.compile(
    r"^\W*(?:(?:co|reg|company)\W*)?(?:(?:no|reg)\W*)?[A-Z]{0,3}\d{5,}[-\s]?[A-Z]{0,2}\W*$", re.IGNORECASE
)
"""A row that is nothing but a registration number: (123456-X)."""
TRAILING_NUMBER: Final = re.compile(r"\s*\(?\b[A-Z]{0,3}\d{5,}\s?-\s?[A-Z]\b\)?\W*$", re.IGNORECASE)
"""The same behind a name."""


def is_business(text: str) -> bool:
    """Whether the text has a legal form or says what kind of business it is."""
    return bool(LEGAL_FORM.search(text) or LEGAL_FORM_CJK.search(text))


def is_street(text: str) -> bool:
    """Whether the text has words of an address."""
    return bool(STREET.search(text) or STREET_CJK.search(text) or POSTCODE.search(text))


def is_number(text: str) -> bool:
    """Whether the text is a labelled or a registration number, or the name of the document."""
    return bool(NUMBERED.search(text) or REGISTRATION.match(text) or NO_NAME.match(text) or "@" in text)
