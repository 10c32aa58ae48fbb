"""What `inkgate read` was told to read, and what became of it, whoever reads: this process or a service."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from time import perf_counter

from inkgate.cli.inputs import InputDocument
from inkgate.cli.messages import problem_line, problem_of, say
from inkgate.cli.outputs import FileContents, Output
from inkgate.cli.progress import reading_bar
from inkgate.documents.files import AnyFormat, FileFormat
from inkgate.errors import CODES
from inkgate_client import ReadOptions
from inkgate_client.concurrency import Threads
from inkgate_client.many import Outcome, read_many
from inkgate_client.reading import DocumentReader
from inkgate_client.types import DocumentResult, DocumentStatus, ReadError, ReviewReason, TaskKind


def task_of(formats: Iterable[AnyFormat]) -> TaskKind:
    """The task whose result has everything that all the formats show."""
    kinds = {wanted.task_kind for wanted in formats}
    return next((kind for kind in (TaskKind.PARSE, TaskKind.CHART) if kind in kinds), TaskKind.TEXT)


@dataclass(frozen=True, slots=True)
class ReadCommand:
    """The documents of one command, options, and output. `at_once`: how many documents are read at once."""

    sources: tuple[InputDocument, ...]
    to: Output
    formats: tuple[AnyFormat, ...]
    options: ReadOptions
    at_once: int = 1

    @property
    def file_formats(self) -> tuple[FileFormat, ...]:
        """The binary formats among the wanted ones."""
        return tuple(wanted for wanted in self.formats if isinstance(wanted, FileFormat))


@dataclass(frozen=True, slots=True)
class DocumentRead:
    """A document's pages, and its binary files."""

    result: DocumentResult
    files: FileContents


@dataclass(slots=True)
class ReadTally:
    """What became of the documents of a run.

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

    def lines_before_failure(self) -> list[str]:
        """What became of the documents before the reader could not be used any more."""
        count = self.whole + self.partial
        before = [f"{count} {'document was' if count == 1 else 'documents were'} read before."] if count else []
        return [*before, *self.problems]

    def take(self, order: ReadCommand, outcome: Outcome[InputDocument, DocumentRead]) -> None:
        """Writes the complete or partial results of a document, or notes why there are none. Raises BrokenPipeError."""
        source = outcome.source
        if outcome.error is not None:
            self.fail(problem_of(source.name, outcome.error))
            return
        found = outcome.result
        for note in found.result.notes:
            say(f"{source.name}: {note}")
        try:
            order.to.write(source, found.result, found.files)
        except BrokenPipeError:
            raise
        except OSError as error:
            self.fail(problem_of(source.name, error))
        else:
            self.add(source, found.result)


async def read_documents(reader: DocumentReader, order: ReadCommand, tally: ReadTally) -> None:
    """Reads every document, and writes the results in their order.

    Raises:
        ReadError: the reader can't be used any more.
        BrokenPipeError: the reader of standard output has closed it.
    """
    threads = Threads("read_files", 4)
    with reading_bar(len(order.sources), order.at_once) as bar:

        async def read_one(source: InputDocument) -> DocumentRead:
            bar.begin(source.name)
            document = await threads.run(source.document)
            result = await reader.read(document, order.options, bar.pages)
            kinds = order.file_formats
            return DocumentRead(
                result, {kind: await reader.file(document, result, kind, order.options) for kind in kinds}
            )

        async with read_many(read_one, order.sources, order.at_once) as outcomes:
            async for outcome in outcomes:
                raise_if_unavailable(outcome.error)
                tally.take(order, outcome)
                bar.end()


def raise_if_unavailable(error: Exception | None) -> None:
    """Raises an error that the other documents would have, too."""
    if isinstance(error, ReadError) and error.unavailable:
        raise error


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
    """Returns the title of an error, which may be one of a later version of the service."""
    return CODES[code].title if code in CODES else "The page could not be read"
