"""inkgate: an OCR service that stays up, stays fast and explains itself."""

__version__ = "0.1.0"
