"""Repairs of a PDF's bytes that need no parser: a header where one belongs, and a trailer that names the catalog. Pure,
and apart from pdfium's modules, because the worker that writes PDFs needs them, too.
"""

from __future__ import annotations

import re
from typing import Final

from inkgate.documents.pdf.encryption import encryption_of, last_match

MAX_MENDED_BYTES: Final = 128 * 2**20
"""Maximum size of a file that is repaired: it is in memory three times. Larger ones stay unread."""
_HEADER = re.compile(rb"%PDF-\d\.\d")
_HEADER_WITHIN: Final = 1024
"""Libraries look for the header in the first bytes only (ISO 32000-1, annex H, note 13)."""
_CATALOG = re.compile(rb"(?<!\d)(\d{1,9})\s{1,9}(\d{1,5})\s{1,9}obj\b\s{0,9}<<[^>]{0,500}/Type\s{0,9}/Catalog\b")


def with_header(data: bytes) -> bytes:
    """`data` from its header on; with a header if it has none; `data` itself if it is fine."""
    if (found := _HEADER.search(data)) is None:
        return b"%PDF-1.7\n" + data
    return data if found.start() <= _HEADER_WITHIN else data[found.start() :]


def with_trailer(data: bytes) -> bytes | None:
    """`data` with one trailer, which names the last catalog in it; None if there is none, or the file is encrypted."""
    if encryption_of(data) is not None or (last := last_match(_CATALOG, data)) is None:
        return None
    data = data.replace(b"startxref", b"nostartxr").replace(b"trailer", b"notrail")  # which libraries would follow
    return data + b"\ntrailer\n<< /Root %s %s R >>\n%%%%EOF\n" % last.groups()
