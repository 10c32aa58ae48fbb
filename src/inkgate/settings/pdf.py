"""Settings of PDF documents."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from inkgate.settings.base import Branch, PositiveFloat, PositiveInt


class PdfText(StrEnum):
    """When a PDF page's own text is taken instead of reading its pixels."""

    AUTO = "auto"
    NEVER = "never"
    ALWAYS = "always"


class PdfSettings(Branch):
    text: PdfText = Field(PdfText.AUTO, description="Take a page's own text: `auto` when it can be trusted.")
    dpi: PositiveFloat = Field(200.0, description="Resolution at which pages are rendered.")
    max_side: PositiveInt = Field(4000, description="Longest side of a rendered page in pixels; dpi gives way to it.")
    workers: PositiveInt = Field(2, description="Worker processes that open and render PDFs.")
    warm_workers: int = Field(1, ge=0, description="How many of them start with the service; the others when needed.")
    worker_memory_mb: PositiveInt = Field(2048, description="Address space of a worker beyond its start.")
    page_timeout_s: PositiveFloat = Field(20.0, description="Time to open a PDF, or to render one page of it.")
