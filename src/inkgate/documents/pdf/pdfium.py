"""Documents, pages and bitmaps of pdfium. Blocking, single-threaded, in worker processes only.

Uses pdfium's C API and not pypdfium2's classes, so that handles are closed where they were opened and loops over
characters are fast.
"""

from __future__ import annotations

import ctypes
import errno
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pypdfium2.raw as pdfium
from numpy.typing import NDArray

from inkgate.documents.pdf.encryption import password_forms
from inkgate.documents.pdf.geometry import MIN_CROPPED_POINTS
from inkgate.page import RgbArray
from inkgate_client.types import Box, Size

if TYPE_CHECKING:
    from inkgate.documents.pdf.remarks import PageRemarks

Handle = Any
"""A pointer of pdfium's."""

_errno_location = ctypes.CDLL(None)["__errno_location"]
_errno_location.restype = ctypes.POINTER(ctypes.c_int)


def address(handle: Handle) -> int:
    """The address that `handle` points to. Handles of one object differ, the address does not."""
    return ctypes.cast(handle, ctypes.c_void_p).value or 0


def quick(function: Any, result: type[Any], *arguments: type[Any]) -> Callable[..., Any]:  # noqa: ANN401 - of ctypes
    """A pdfium function of an object's plain address and `arguments`. A call takes a third of the time of the checked
    binding, which matters for pages of thousands of characters.
    """
    location = ctypes.cast(function, ctypes.c_void_p).value or 0
    return ctypes.PYFUNCTYPE(result, ctypes.c_void_p, *arguments)(location)


get_font = quick(pdfium.FPDFTextObj_GetFont, ctypes.c_void_p)
"""The address of a text object's font, by the object's."""


class PdfFault(Exception):
    """A fault of a document or page: a `code` of errors.py, and a detail."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail


class PdfLocked(PdfFault):
    """The document needs a password, or another one."""


class PdfUnparsed(PdfFault):
    """The document's structure can't be parsed."""


class PageBroken(PdfFault):
    """A page of the document can't be opened."""


class MemorySuspected(MemoryError):
    """An allocation failed during a call that reported success: its result may be incomplete."""


class NoticedMemory:
    """Detects failed allocations: check `failed` after the block.

    If pdfium can't get the memory for an image, it silently omits the image, so the page would look blank. The C
    library's errno reveals it. (Measured with a 35,000 x 35,000 JBIG2 image under 128 MB.)

    errno may also report an allocation that then succeeded in another way: malloc first tries to grow the heap, then
    to map a separate block. So `check` raises an error that is worth a second try, when malloc has that block.
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
            return PdfLocked("pdf_encrypted", "The PDF's encryption is not supported.")
        case pdfium.FPDF_ERR_PASSWORD if password:
            return PdfLocked("pdf_password_wrong", "This password does not open the PDF.")
        case pdfium.FPDF_ERR_PASSWORD:
            return PdfLocked("pdf_encrypted", "The PDF is encrypted and no password was given.")
    return PdfUnparsed("pdf_corrupt", "The PDF's structure can't be parsed.")


class PdfiumDocument:
    """An open document. `data` must live, unchanged, until `close`. `password` is ignored if it needs none.

    Attributes:
        remarks: of pages that were examined, by index (remarks.py).

    Raises:
        PdfFault: pdf_corrupt, pdf_encrypted or pdf_password_wrong.
        MemoryError: there is not enough.
    """

    def __init__(self, data: NDArray[np.uint8], password: str = "") -> None:
        self.data = data
        self.remarks: dict[int, PageRemarks] = {}
        with NoticedMemory() as memory:
            self.handle: Handle = self._load(password)
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
        """Tries `password` in all its forms; the last is none."""
        handle: Handle = None
        for form in dict.fromkeys((*password_forms(password), b"")):
            handle = pdfium.FPDF_LoadMemDocument64(self.data.ctypes.data, self.data.size, form or None)
            if handle or pdfium.FPDF_GetLastError() != pdfium.FPDF_ERR_PASSWORD:
                break
        return handle

    def _start_form(self) -> None:
        self._form_config = pdfium.FPDF_FORMFILLINFO(version=2)
        self._form = pdfium.FPDFDOC_InitFormFillEnvironment(self.handle, self._form_config)
        if self._form:
            pdfium.FPDF_SetFormFieldHighlightAlpha(self._form, 0)  # a viewer's highlight colour is not part of the page

    @property
    def page_count(self) -> int:
        return int(pdfium.FPDF_GetPageCount(self.handle))

    @property
    def has_xfa(self) -> bool:
        """Whether it has a form in XML (xfa.py)."""
        return pdfium.FPDF_GetFormType(self.handle) in {pdfium.FORMTYPE_XFA_FULL, pdfium.FORMTYPE_XFA_FOREGROUND}

    @property
    def has_crypt_filters(self) -> bool:
        """Whether it is encrypted by revision 4 or later of the standard handler."""
        return int(pdfium.FPDF_GetSecurityHandlerRevision(self.handle)) >= 4

    @contextmanager
    def page(self, index: int) -> Iterator[PdfiumPage]:
        """Opens the page for the block.

        Raises:
            PdfFault: page_broken.
            MemoryError: there is not enough.
        """
        with NoticedMemory() as memory:
            handle = self._load_page(index)
        if not handle:
            if memory.failed:
                raise MemoryError
            raise PageBroken("page_broken", f"Page {index + 1} can't be opened.")
        if self._form:
            pdfium.FORM_OnAfterLoadPage(handle, self._form)
        try:
            memory.check()
            yield PdfiumPage(handle, self._form, index)
        finally:
            if self._form:
                pdfium.FORM_OnBeforeClosePage(handle, self._form)
            pdfium.FPDF_ClosePage(handle)

    def _load_page(self, index: int) -> Handle:
        """The page. Removes a crop box that has no area in common with the media box, as other viewers do."""
        handle = pdfium.FPDF_LoadPage(self.handle, index)
        if handle and min(pdfium.FPDF_GetPageWidthF(handle), pdfium.FPDF_GetPageHeightF(handle)) < MIN_CROPPED_POINTS:
            pdfium.FPDFPage_SetCropBox(handle, 0, 0, 0, 0)
            pdfium.FPDF_ClosePage(handle)
            handle = pdfium.FPDF_LoadPage(self.handle, index)
        return handle

    def close(self) -> None:
        if self._form:
            pdfium.FPDFDOC_ExitFormFillEnvironment(self._form)
        pdfium.FPDF_CloseDocument(self.handle)
        del self.data


class PdfiumPage:
    """An open page. Sizes are in points, as displayed (after /Rotate); `box` is in page coordinates.

    Raises:
        PdfFault: page_broken, if it has no area.
    """

    def __init__(self, handle: Handle, form: Handle, index: int) -> None:
        self.handle = handle
        self._form = form
        self.width = float(pdfium.FPDF_GetPageWidthF(handle))
        self.height = float(pdfium.FPDF_GetPageHeightF(handle))
        sides = (self.width, self.height)
        if not all(math.isfinite(side) and side > 0 for side in sides):
            raise PageBroken("page_broken", f"Page {index + 1} has no area.")

    @property
    def rotation(self) -> int:
        """/Rotate: degrees clockwise."""
        return int(pdfium.FPDFPage_GetRotation(self.handle)) % 4 * 90

    @property
    def box(self) -> Box:
        """The visible box of the page: left, bottom, right, top in points."""
        across, along = (self.height, self.width) if self.rotation in {90, 270} else (self.width, self.height)
        rect = pdfium.FS_RECTF()
        if not pdfium.FPDF_GetPageBoundingBox(self.handle, rect):
            return (0.0, 0.0, across, along)
        return (float(rect.left), float(rect.bottom), float(rect.left) + across, float(rect.bottom) + along)

    @property
    def annotation_count(self) -> int:
        return int(pdfium.FPDFPage_GetAnnotCount(self.handle))

    def flatten_annotations(self) -> bool:
        """Merges fields, notes and stamps into the page's content, so that their text counts as the page's. Reopen the
        page to see it. Returns False if there are none (links and highlights show no text).
        """
        kinds = {pdfium.FPDF_ANNOT_WIDGET, pdfium.FPDF_ANNOT_FREETEXT, pdfium.FPDF_ANNOT_STAMP}
        handle = self.handle
        annotations = [pdfium.FPDFPage_GetAnnot(handle, at) for at in range(self.annotation_count)]
        annotations = [annotation for annotation in annotations if annotation]
        try:
            if not any(pdfium.FPDFAnnot_GetSubtype(annotation) in kinds for annotation in annotations):
                return False
            for annotation in annotations:
                flags = pdfium.FPDFAnnot_GetFlags(annotation)
                if flags & pdfium.FPDF_ANNOT_FLAG_NOVIEW:  # for paper only; pdfium would flatten it, too
                    pdfium.FPDFAnnot_SetFlags(annotation, flags | pdfium.FPDF_ANNOT_FLAG_HIDDEN)
        finally:
            for annotation in annotations:
                pdfium.FPDFPage_CloseAnnot(annotation)
        return bool(pdfium.FPDFPage_Flatten(handle, pdfium.FLAT_NORMALDISPLAY) == pdfium.FLATTEN_SUCCESS)

    def render(self, into: RgbArray) -> None:
        """Draws the whole page on white into `into`: RGB (H, W, 3) uint8, contiguous.

        Raises:
            MemoryError: there is not enough.
        """
        into.fill(255)
        self.draw(into, (0, 0), Size(into.shape[1], into.shape[0]))

    def draw(self, on: NDArray[np.uint8], at: tuple[int, int], whole: Size, *, annotations: bool = True) -> None:
        """Draws a part of the page, which has `whole` pixels, on `on`: RGB (H, W, 3) or grey (H, W), contiguous. The
        part's corner (left, top) is `at`. `annotations`: whether to draw these and form fields too.

        Raises:
            MemoryError: there is not enough.
        """
        height, width = on.shape[:2]
        rgb = on.ndim == 3
        kind, channels = (pdfium.FPDFBitmap_BGR, 3) if rgb else (pdfium.FPDFBitmap_Gray, 1)
        bitmap = pdfium.FPDFBitmap_CreateEx(width, height, kind, on.ctypes.data, width * channels)
        if not bitmap:
            raise MemoryError
        place = (-at[0], -at[1], whole.width, whole.height, 0)
        try:
            flags = pdfium.FPDF_ANNOT if annotations else 0
            flags |= pdfium.FPDF_REVERSE_BYTE_ORDER if rgb else 0  # crashes pdfium with grey
            with NoticedMemory() as memory:
                pdfium.FPDF_RenderPageBitmap(bitmap, self.handle, *place, flags)
                if self._form and annotations:
                    pdfium.FPDF_FFLDraw(self._form, bitmap, self.handle, *place, flags)
            memory.check()
        finally:
            pdfium.FPDFBitmap_Destroy(bitmap)
