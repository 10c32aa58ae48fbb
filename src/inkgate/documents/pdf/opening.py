"""Opens documents: with pdfium, and what it can't parse once more, after qpdf's repair. In worker processes only."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from inkgate.documents.pdf.encryption import encryption_of, password_forms
from inkgate.documents.pdf.mending import MAX_MENDED_BYTES, with_header, with_trailer
from inkgate.documents.pdf.pdfium import PdfFault, PdfiumDocument, PdfLocked, PdfUnparsed

_GROWTH: Final = 4
"""A repaired file is at most this many times as long, because object streams are written out."""
_MIN_ROOM: Final = 2**20
_UNSUPPORTED: Final = "The PDF's encryption is not supported."


def open_document(data: NDArray[np.uint8], password: str = "") -> PdfiumDocument:
    """The document in `data`, which must live, unchanged, until it is closed.

    Raises:
        PdfFault: pdf_corrupt, pdf_encrypted or pdf_password_wrong.
        MemoryError: there is not enough.
    """
    try:
        document = PdfiumDocument(data, password)
    except PdfLocked as fault:
        raise _password_fault(data, password, fault) from fault
    except PdfUnparsed as fault:
        if data.size > MAX_MENDED_BYTES:
            raise
        return _repaired(data, password, fault)
    if document.has_crypt_filters and (encryption := encryption_of(data.data)) is not None and not encryption.known:
        document.close()  # pdfium takes an unknown method for RC4, and its text would be noise
        raise PdfFault("pdf_encrypted", _UNSUPPORTED)
    if not document.page_count and data.size <= MAX_MENDED_BYTES:
        with suppress(PdfFault):
            return _repaired(data, password, PdfFault("pdf_empty", "The PDF has no pages."))
    return document


def _password_fault(data: NDArray[np.uint8], password: str, fault: PdfFault) -> PdfFault:
    """`fault`, or that the encryption is not supported, where pdfium takes that for a wrong password."""
    encryption = encryption_of(data.data)
    if encryption is None or data.size > MAX_MENDED_BYTES:
        return fault
    # Files whose permissions were changed: pdfium takes no password, qpdf does.
    altered = encryption.known and encryption.revision >= 5 and _password_fits(data, password)
    return fault if encryption.known and not altered else PdfFault("pdf_encrypted", _UNSUPPORTED)


def _password_fits(data: NDArray[np.uint8], password: str) -> bool:
    import pikepdf

    with suppress(pikepdf.PdfError, pikepdf.PasswordError), _open_with_qpdf(data.tobytes(), password) as pdf:
        # Without a password, a file whose owner has none still needs the user's.
        return bool(pdf.user_password_matched or (password and pdf.owner_password_matched))
    return False


def repaired_for(index: int, data: NDArray[np.uint8], password: str, page_count: int) -> PdfiumDocument | None:
    """The document after a repair that lets page `index` be opened and leaves the number of pages as it is; None if
    there is none.

    Raises:
        MemoryError: there is not enough.
    """
    if data.size > MAX_MENDED_BYTES:
        return None
    with suppress(PdfFault, _RepairError):
        document = PdfiumDocument(np.frombuffer(_rewritten(with_header(data.tobytes()), password), np.uint8))
        if document.page_count == page_count and _page_opens(document, index):
            return document
        document.close()
    return None


def _page_opens(document: PdfiumDocument, index: int) -> bool:
    with suppress(PdfFault), document.page(index):
        return True
    return False


def _repaired(data: NDArray[np.uint8], password: str, fault: PdfFault) -> PdfiumDocument:
    """The document after a repair. Raises PdfFault: `fault`, or as `open_document`."""
    for attempt in _mended(data.tobytes(), password):
        with suppress(PdfFault):
            document = PdfiumDocument(np.frombuffer(attempt, np.uint8), password)
            if document.page_count and _page_opens(document, 0):
                return document
            document.close()
    raise fault


def _mended(data: bytes, password: str) -> Iterator[bytes]:
    """Repaired files, the cheapest first: with a header where one belongs, written again, with a new trailer."""
    headed = with_header(data)
    if headed is not data:
        yield headed
    with suppress(_RepairError):
        yield _rewritten(headed, password)
    if (named := with_trailer(headed)) is not None:
        yield named


class _RepairError(Exception):
    """qpdf can't repair the file, or it would become too large."""


def _rewritten(data: bytes, password: str) -> bytes:
    """The file as qpdf writes it, without encryption.

    Raises:
        PdfFault: pdf_encrypted or pdf_password_wrong.
    """
    import pikepdf

    target = _BoundedFile(len(data) * _GROWTH + _MIN_ROOM)
    try:
        with _open_with_qpdf(data, password) as pdf:
            pdf.save(
                target,
                object_stream_mode=pikepdf.ObjectStreamMode.disable,
                stream_decode_level=pikepdf.StreamDecodeLevel.none,
                fix_metadata_version=False,
            )
    except pikepdf.PasswordError as error:
        raise PdfFault(*_password_needed(password)) from error
    except (pikepdf.PdfError, RuntimeError, ValueError, TypeError, KeyError) as error:  # of damaged objects
        raise _RepairError from error
    return target.getvalue()


def _password_needed(password: str) -> tuple[str, str]:
    if password:
        return "pdf_password_wrong", "This password does not open the PDF."
    return "pdf_encrypted", "The PDF is encrypted and no password was given."


def _open_with_qpdf(data: bytes, password: str) -> Any:  # noqa: ANN401 - pikepdf is imported late
    """Raises pikepdf.PasswordError and pikepdf.PdfError."""
    import pikepdf

    for form in password_forms(password)[:-1]:
        with suppress(pikepdf.PasswordError):
            return pikepdf.open(io.BytesIO(data), password=form)
    return pikepdf.open(io.BytesIO(data), password=password_forms(password)[-1])


class _BoundedFile(io.BytesIO):
    """A file in memory of at most `room` bytes."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room = room

    def write(self, data: Any) -> int:  # noqa: ANN401 - a buffer, which has no name before Python 3.12
        if self.tell() + len(data) > self._room:
            raise _RepairError
        return super().write(data)
