"""Reads the documents of `inkgate read` one after another, with pages in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from inkgate.cli.inputs import InputDocument
from inkgate.cli.messages import remedy_here, say
from inkgate.cli.outputs import Output
from inkgate.codec import encodable
from inkgate.documents.files import AnyFormat, FileFormat
from inkgate.documents.pages import PageSelection
from inkgate.errors import CODES, InkgateError
from inkgate.library import AsyncOcr, ReadArguments
from inkgate.settings import PdfText, Settings
from inkgate.types import Document, DocumentResult, DocumentStatus, PageError, ReviewReason, TaskKind


def task_of(formats: Iterable[AnyFormat]) -> TaskKind:
    """The task whose result has everything that all the formats show."""
    kinds = {wanted.task_kind for wanted in formats}
    return TaskKind.PARSE if TaskKind.PARSE in kinds else TaskKind.TEXT


@dataclass(frozen=True, slots=True)
class ReadCommand:
    """The documents of one command, options, and output."""

    sources: tuple[InputDocument, ...]
    to: Output
    formats: tuple[AnyFormat, ...]
    pages: PageSelection | None
    pdf_text: PdfText | None
    password: str = field(default="", repr=False)
    images: bool = False

    @property
    def arguments(self) -> ReadArguments:
        """Of a single read that serves all formats: what the most demanding one needs."""
        return {
            "task": TaskKind.PARSE if self.images else task_of(self.formats),
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


async def read_documents(settings: Settings, order: ReadCommand) -> ReadTally:
    """Reads every document and writes its results.

    Raises:
        InputRejected: the settings name an unknown engine.
        EngineFailed: the engine did not start.
        BrokenPipeError: the reader of standard output has closed it.
    """
    tally = ReadTally()
    async with AsyncExitStack() as stack:
        with _status("Loading the models"):
            ocr = await stack.enter_async_context(AsyncOcr(settings))
        for number, source in enumerate(order.sources, start=1):
            title = source.name if len(order.sources) == 1 else f"[{number}/{len(order.sources)}] {source.name}"
            await _read_one(ocr, order, source, title, tally)
    return tally


async def _read_one(ocr: AsyncOcr, order: ReadCommand, source: InputDocument, title: str, tally: ReadTally) -> None:
    """Reads one document, writes its complete or partial results, and adds the outcome to `tally`."""
    problem = ""
    try:
        document = Document(source.data(), encodable(source.name))
        result = await _result(ocr, document, order.arguments, title)
        for note in result.notes:
            say(f"{source.name}: {note}")
        if result.status is not DocumentStatus.FAILED:
            binary = [wanted for wanted in order.formats if isinstance(wanted, FileFormat)]
            files = {wanted: await ocr.file(document, result, wanted, password=order.password) for wanted in binary}
            order.to.write(source, result, files)
    except InkgateError as error:
        problem = problem_line(source.name, error.as_page_error(), error.title)
    except BrokenPipeError:
        raise
    except OSError as error:
        problem = f"{error.filename or source.name}: {error.strerror or error}."
    if problem:
        tally.failed += 1
        tally.problems.append(problem)
    else:
        _add(tally, source, result)


def _add(tally: ReadTally, source: InputDocument, result: DocumentResult) -> None:
    failed = [(page.index + 1, page.error) for page in result.pages if page.error is not None]
    tally.whole += result.status is DocumentStatus.COMPLETE
    tally.partial += result.status is DocumentStatus.PARTIAL
    tally.failed += result.status is DocumentStatus.FAILED
    tally.pages += len(result.pages) - len(failed)
    if (to_review := review_line(source.name, result)) is not None:
        tally.reviews.append(to_review)
    tally.problems += [
        problem_line(f"{source.name}, page {number}", error, CODES[error.code].title) for number, error in failed
    ]


def review_line(name: str, result: DocumentResult) -> str | None:
    """The pages to look at, from 1, by reason; None if there are none. Pages that failed are problems anyway."""
    pages: dict[ReviewReason, list[str]] = {}
    for page in result.pages:
        for reason in page.review:
            if reason is not ReviewReason.NOT_READ:
                pages.setdefault(reason, []).append(str(page.index + 1))
    parts = [f"{reason.value.replace('_', ' ')} on page {', '.join(numbers)}" for reason, numbers in pages.items()]
    return f"{name} needs review: {'; '.join(parts)}." if parts else None


async def _result(ocr: AsyncOcr, document: Document, arguments: ReadArguments, title: str) -> DocumentResult:
    with _bar(title) as advance:
        async with ocr.stream(document, **arguments) as reading:
            pages = []
            advance(0, len(reading.selected))
            async for page in reading:
                pages.append(page)
                advance(len(pages), len(reading.selected))
            return reading.result(pages)


def problem_line(name: str, error: PageError, title: str) -> str:
    """What went wrong with a document or page, and what to do."""
    return f"{name}: {title}. {error.detail} {remedy_here(error.code, error.remedy)} ({error.code})"


@contextmanager
def _bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar over the pages of one document, on a terminal only, removed at the end. Yields a function of the
    pages read and their total.
    """
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("pages"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(title, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def _status(text: str) -> Iterator[None]:
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(text):
        yield
