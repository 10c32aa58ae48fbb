"""Settings of PDF documents."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from inkgate.settings.base import Branch, PositiveFloat, PositiveInt


class PdfText(StrEnum):
    """When the text inside a PDF page is used instead of OCR."""

    AUTO = "auto"
    NEVER = "never"
    ALWAYS = "always"


class PdfSettings(Branch):
    text: PdfText = Field(PdfText.AUTO, description="Use the text inside a PDF page; `auto`: if it can be trusted.")
    dpi: PositiveFloat = Field(200.0, description="Resolution at which pages are rendered.")
    max_side: PositiveInt = Field(
        4000, description="Maximum side of a rendered page in pixels; lowers the dpi of larger pages."
    )
    workers: PositiveInt = Field(2, description="Worker processes that open and render PDFs.")
    warm_workers: int = Field(
        1, ge=0, description="Worker processes started with the service. The others start when needed."
    )
    worker_memory_mb: PositiveInt = Field(
        2048, description="Memory limit of a worker: address space beyond what it has at its start."
    )
    page_timeout_s: PositiveFloat = Field(20.0, description="Time limit to open a PDF or to render a page.")
