"""The pdfium library as the workers use it: documents, pages, bitmaps. Blocking, one thread, worker processes only.

The raw interface and not pypdfium2's classes: handles are closed where they were opened, and tight loops over
characters stay tight.
"""

from __future__ import annotations

import ctypes
import errno
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
import pypdfium2.raw as pdfium
from numpy.typing import NDArray

from inkgate.types import Box, RgbArray

Handle = Any
"""One of pdfium's pointers."""

_errno_location = ctypes.CDLL(None)["__errno_location"]
_errno_location.restype = ctypes.POINTER(ctypes.c_int)


class PdfFault(Exception):
    """What is wrong with a document or page: a `code` of errors.py, and a sentence."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail


class MemorySuspected(MemoryError):
    """An allocation failed while something was done that succeeded all the same: perhaps without a part of it."""


class NoticedMemory:
    """Whether an allocation failed inside: `failed`, to be asked after the block.

    Where pdfium can't get the memory for an image it leaves the image out and says nothing: a blank page would look
    like a page read. The C library's errno tells. (Measured with a 35,000 x 35,000 JBIG2 image under 128 MB.)

    It may also tell of an allocation that then succeeded in another way: malloc asks for more heap first, and for a
    place of its own where the heap can't grow. So `check` raises what is worth a second try: by then malloc has that.
    """

    def __init__(self) -> None:
        self.failed = False

    def __enter__(self) -> Self:
        _errno_location()[0] = 0
        return self

    def __exit__(self, *_: object) -> None:
        self.failed = _errno_location()[0] == errno.ENOMEM

    def check(self) -> None:
        """Raises MemorySuspected if an allocation failed."""
        if self.failed:
            raise MemorySuspected


def _why_not_open(password: str) -> PdfFault:
    match pdfium.FPDF_GetLastError():
        case pdfium.FPDF_ERR_SECURITY:
            return PdfFault("pdf_encrypted", "The PDF's encryption is not supported.")
        case pdfium.FPDF_ERR_PASSWORD if password:
            return PdfFault("pdf_password_wrong", "This password does not open the PDF.")
        case pdfium.FPDF_ERR_PASSWORD:
            return PdfFault("pdf_encrypted", "The PDF is encrypted and no password was given.")
    return PdfFault("pdf_corrupt", "The PDF's structure can't be parsed.")


class PdfiumDocument:
    """An open document. `data` must live, unchanged, until `close`. `password` is ignored where it needs none.

    Raises:
        PdfFault: pdf_corrupt, pdf_encrypted or pdf_password_wrong.
        MemoryError: there is not enough.
    """

    def __init__(self, data: NDArray[np.uint8], password: str = "") -> None:
        self._data = data
        with NoticedMemory() as memory:
            self.handle: Handle = self._load(password)
            if not self.handle and password:
                self.handle = self._load("")
        if not self.handle:
            if memory.failed:
                raise MemoryError
            raise _why_not_open(password)
        self._form: Handle = None
        self._form_config: Any = None
        if memory.failed:
            self.close()
            raise MemorySuspected
        if pdfium.FPDF_GetFormType(self.handle) != pdfium.FORMTYPE_NONE:
            self._start_form()

    def _load(self, password: str) -> Handle:
        return pdfium.FPDF_LoadMemDocument64(self._data.ctypes.data, self._data.size, password.encode() or None)

    def _start_form(self) -> None:
        self._form_config = pdfium.FPDF_FORMFILLINFO(version=2)
        self._form = pdfium.FPDFDOC_InitFormFillEnvironment(self.handle, self._form_config)
        if self._form:
            pdfium.FPDF_SetFormFieldHighlightAlpha(self._form, 0)  # the tint of a viewer is not on the paper

    @property
    def page_count(self) -> int:
        return int(pdfium.FPDF_GetPageCount(self.handle))

    @contextmanager
    def page(self, index: int) -> Iterator[PdfiumPage]:
        """The page, until the block is left.

        Raises:
            PdfFault: page_broken.
            MemoryError: there is not enough.
        """
        with NoticedMemory() as memory:
            handle = pdfium.FPDF_LoadPage(self.handle, index)
        if not handle:
            if memory.failed:
                raise MemoryError
            raise PdfFault("page_broken", f"Page {index + 1} can't be opened.")
        if self._form:
            pdfium.FORM_OnAfterLoadPage(handle, self._form)
        try:
            memory.check()
            yield PdfiumPage(handle, self._form, index)
        finally:
            if self._form:
                pdfium.FORM_OnBeforeClosePage(handle, self._form)
            pdfium.FPDF_ClosePage(handle)

    def close(self) -> None:
        if self._form:
            pdfium.FPDFDOC_ExitFormFillEnvironment(self._form)
        pdfium.FPDF_CloseDocument(self.handle)
        del self._data


class PdfiumPage:
    """An open page. Sizes are points, as shown (after /Rotate); `box` is in the page's own coordinates.

    Raises:
        PdfFault: page_broken, when it has no area.
    """

    def __init__(self, handle: Handle, form: Handle, index: int) -> None:
        self.handle = handle
        self._form = form
        self.width = float(pdfium.FPDF_GetPageWidthF(handle))
        self.height = float(pdfium.FPDF_GetPageHeightF(handle))
        sides = (self.width, self.height)
        if not all(math.isfinite(side) and side > 0 for side in sides):
            raise PdfFault("page_broken", f"Page {index + 1} has no area.")

    @property
    def rotation(self) -> int:
        """/Rotate: degrees clockwise."""
        return int(pdfium.FPDFPage_GetRotation(self.handle)) % 4 * 90

    @property
    def box(self) -> Box:
        """What is shown of the page: left, bottom, right, top in points."""
        across, along = (self.height, self.width) if self.rotation in {90, 270} else (self.width, self.height)
        rect = pdfium.FS_RECTF()
        if not pdfium.FPDF_GetPageBoundingBox(self.handle, rect):
            return (0.0, 0.0, across, along)
        return (float(rect.left), float(rect.bottom), float(rect.left) + across, float(rect.bottom) + along)

    def flatten_annotations(self) -> bool:
        """Make what fields, notes and stamps show part of the page, so that it counts as its text. The page must
        be opened anew to see it. False when there is no such thing (links and highlights show no text).
        """
        kinds = {pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_FREETEXT, pdfium.FPDF_ANNOT_STAMP}
        for number in range(pdfium.FPDFPage_GetAnnotCount(self.handle)):
            annotation = pdfium.FPDFPage_GetAnnot(self.handle, number)
            if not annotation:
                continue
            kind = pdfium.FPDFAnnot_GetSubtype(annotation)
            pdfium.FPDFPage_CloseAnnot(annotation)
            if kind in kinds:
                return bool(pdfium.FPDFPage_Flatten(self.handle, pdfium.FLAT_NORMALDISPLAY) == pdfium.FLATTEN_SUCCESS)
        return False

    def render(self, into: RgbArray) -> None:
        """Draw the whole page, on white, into `into`: RGB (H, W, 3) uint8, contiguous.

        Raises:
            MemoryError: there is not enough.
        """
        height, width = into.shape[:2]
        into.fill(255)
        bitmap = pdfium.FPDFBitmap_CreateEx(width, height, pdfium.FPDFBitmap_BGR, into.ctypes.data, width * 3)
        if not bitmap:
            raise MemoryError
        try:
            flags = pdfium.FPDF_ANNOT | pdfium.FPDF_REVERSE_BYTE_ORDER
            with NoticedMemory() as memory:
                pdfium.FPDF_RenderPageBitmap(bitmap, self.handle, 0, 0, width, height, 0, flags)
                if self._form:
                    pdfium.FPDF_FFLDraw(self._form, bitmap, self.handle, 0, 0, width, height, 0, flags)
            memory.check()
        finally:
            pdfium.FPDFBitmap_Destroy(bitmap)
