"""What `inkgate read` was told to read, and what became of it, whoever reads: this process or a service."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

from inkgate.cli.inputs import InputDocument
from inkgate.cli.messages import remedy_here, say
from inkgate.cli.outputs import FileContents, Output
from inkgate.documents.files import AnyFormat, FileFormat
from inkgate.documents.pages import PageSelection
from inkgate.errors import CODES
from inkgate.settings import PdfText
from inkgate.types import DocumentResult, DocumentStatus, PageError, ReviewReason, TaskKind

if TYPE_CHECKING:
    from inkgate.library import ReadArguments


def task_of(formats: Iterable[AnyFormat]) -> TaskKind:
    """The task whose result has everything that all the formats show."""
    kinds = {wanted.task_kind for wanted in formats}
    return next((kind for kind in (TaskKind.PARSE, TaskKind.CHART) if kind in kinds), TaskKind.TEXT)


@dataclass(frozen=True, slots=True)
class ReadCommand:
    """The documents of one command, options, and output. `at_once`: how many documents are
    read at once. `page_text`: `pages` as they were given.
    """

    sources: tuple[InputDocument, ...]
    to: Output
    formats: tuple[AnyFormat, ...]
    pages: PageSelection | None
    pdf_text: PdfText | None
    password: str = field(default="", repr=False)
    images: bool = False
    at_once: int = 1
    page_text: str = ""

    @property
    def task(self) -> TaskKind:
        """What a single read needs that serves all formats."""
        return TaskKind.PARSE if self.images else task_of(self.formats)

    @property
    def file_formats(self) -> tuple[FileFormat, ...]:
        """The binary formats among the wanted ones."""
        return tuple(wanted for wanted in self.formats if isinstance(wanted, FileFormat))

    @property
    def arguments(self) -> ReadArguments:
        """Of a single read that serves all formats: what the most demanding one needs."""
        return {
            "task": self.task,
            "images": self.images,
            "pages": self.pages,
            "pdf_text": self.pdf_text,
            "password": self.password,
        }


@dataclass(slots=True)
class ReadTally:
    """Counts of how the documents of one command ended.

    Attributes:
        pages: number of pages read.
        problems: one line for each document or page that could not be read.
        reviews: one line for each document with pages that a person should look at.
    """

    whole: int = 0
    partial: int = 0
    failed: int = 0
    pages: int = 0
    problems: list[str] = field(default_factory=list)
    reviews: list[str] = field(default_factory=list)
    begun: float = field(default_factory=perf_counter)

    def add(self, source: InputDocument, result: DocumentResult) -> None:
        """Counts a document that was read, in part at least."""
        failed = [(page.index + 1, page.error) for page in result.pages if page.error is not None]
        self.whole += result.status is DocumentStatus.COMPLETE
        self.partial += result.status is DocumentStatus.PARTIAL
        self.failed += result.status is DocumentStatus.FAILED
        self.pages += len(result.pages) - len(failed)
        if (to_review := review_line(source.name, result)) is not None:
            self.reviews.append(to_review)
        self.problems += [
            problem_line(f"{source.name}, page {number}", error, _title(error.code)) for number, error in failed
        ]

    def fail(self, problem: str) -> None:
        """Counts a document that could not be read."""
        self.failed += 1
        self.problems.append(problem)

    def take(self, order: ReadCommand, source: InputDocument, found: DocumentRead | str) -> None:
        """Writes the complete or partial results of a document, or notes why there are none. Raises BrokenPipeError."""
        if isinstance(found, str):
            self.fail(found)
            return
        for note in found.result.notes:
            say(f"{source.name}: {note}")
        try:
            if found.result.status is not DocumentStatus.FAILED:
                order.to.write(source, found.result, found.files)
        except BrokenPipeError:
            raise
        except OSError as error:
            self.fail(os_problem(source, error))
        else:
            self.add(source, found.result)


@dataclass(frozen=True, slots=True)
class DocumentRead:
    """A document's pages, and its binary files."""

    result: DocumentResult
    files: FileContents


def os_problem(source: InputDocument, error: OSError) -> str:
    """Why a file can't be read or written."""
    return f"{error.filename or source.name}: {error.strerror or error}."


def review_line(name: str, result: DocumentResult) -> str | None:
    """The pages to look at, from 1, by reason; None if there are none. Pages that failed are problems anyway."""
    pages: dict[ReviewReason, list[str]] = {}
    for page in result.pages:
        for reason in page.review:
            if reason is not ReviewReason.NOT_READ:
                pages.setdefault(reason, []).append(str(page.index + 1))
    parts = [f"{reason.value.replace('_', ' ')} on page {', '.join(numbers)}" for reason, numbers in pages.items()]
    return f"{name} needs review: {'; '.join(parts)}." if parts else None


def _title(code: str) -> str:
    """Of an error, which may be one of a later version of the service."""
    return CODES[code].title if code in CODES else "The page could not be read"


def problem_line(name: str, error: PageError, title: str) -> str:
    """What went wrong with a document or page, and what to do."""
    return f"{name}: {title}. {error.detail} {remedy_here(error.code, error.remedy)} ({error.code})"
