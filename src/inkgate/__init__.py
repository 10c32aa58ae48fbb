"""inkgate: an OCR service that stays up, stays fast and explains itself.

inkgate.read("scan.pdf").markdown        # reads a document in this process, without a server: docs/start/python.md

Importing this loads nothing; a name below is imported at its first use.
"""

from typing import TYPE_CHECKING

from inkgate_client.lazy import lazy_names

if TYPE_CHECKING:
    from inkgate.errors import EngineFailed, InkgateError, InputRejected, Overloaded
    from inkgate.library import (
        AsyncOcr,
        DocumentFields,
        Ocr,
        OcrResult,
        Outcome,
        aextract,
        aread,
        averify,
        document_types,
        extract,
        read,
        verify,
    )
    from inkgate_client.types import Document, Task

__all__ = [
    "AsyncOcr",
    "Document",
    "DocumentFields",
    "EngineFailed",
    "InkgateError",
    "InputRejected",
    "Ocr",
    "OcrResult",
    "Outcome",
    "Overloaded",
    "Task",
    "__version__",
    "aextract",
    "aread",
    "averify",
    "document_types",
    "extract",
    "read",
    "verify",
]

__version__ = "0.1.0"

_MODULES = {
    "inkgate.library": (
        "AsyncOcr",
        "DocumentFields",
        "Outcome",
        "Ocr",
        "OcrResult",
        "aextract",
        "aread",
        "averify",
        "document_types",
        "extract",
        "read",
        "verify",
    ),
    "inkgate.errors": ("EngineFailed", "InkgateError", "InputRejected", "Overloaded"),
    "inkgate_client.types": ("Document", "Task"),
}


if not TYPE_CHECKING:  # type checkers would believe that every name exists
    __getattr__, __dir__ = lazy_names(__name__, _MODULES)
