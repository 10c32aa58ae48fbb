"""Puts the parts of a document together into chunks, page by page: only the chunk that is being made is kept. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from inkgate_client.formats.chunks.divide import DividedRows, Division, Rows, RunningText, last_words, rows_of
from inkgate_client.formats.chunks.options import ChunkOptions
from inkgate_client.formats.chunks.parts import Part, Place, parts_of
from inkgate_client.types import BlockType, PageResult

_BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document for retrieval.

    Attributes:
        index: from 0.
        text: Markdown, with `context` in front of it.
        context: the headings above it, if they were asked for and are not in the text itself.
        overlap: characters after `context` that the chunk before has, too.
        headings: the path of headings that it stands below, as plain text, the outermost first.
        pages: numbers of the pages that it is from, from 1.
        places: the blocks that it is from. A block that was divided is in several chunks.
        types: of these, each once.
        captions: of its tables and figures.
        tokens: as ChunkOptions.count counts them.
    """

    index: int
    text: str
    context: str
    overlap: int
    headings: tuple[str, ...]
    pages: tuple[int, ...]
    places: tuple[Place, ...]
    types: tuple[BlockType, ...]
    captions: tuple[str, ...]
    tokens: int

    @property
    def own_text(self) -> str:
        """The text without `context`."""
        return self.text[len(self.context) + len(_BETWEEN) :] if self.context else self.text


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part, or some of it, in the chunk that is being made. `rows`: of a table. `overlap`: the chunk before has it,
    too.
    """

    text: str
    part: Part
    rows: tuple[str, ...] = ()
    table: Rows | None = None
    overlap: bool = False

    @property
    def is_body(self) -> bool:
        return not (self.part.level or self.overlap)


class Chunker:
    """Makes chunks of the pages of one document, which it gets in their order."""

    def __init__(self, options: ChunkOptions | None = None) -> None:
        self._options = options or ChunkOptions()
        self._between = self._options.size(_BETWEEN)
        self._path: list[Part] = []
        self._open: list[_Piece] = []
        self._used = 0
        self._table: Rows | None = None
        self._made: list[Chunk] = []
        self._count = 0

    def add(self, page: PageResult) -> list[Chunk]:
        """The chunks that the page completes."""
        for (_, number), group in groupby(enumerate(parts_of(page)), key=lambda pair: _group(*pair)):
            parts = [part for _, part in group]
            if number == 0 and parts[0].level:
                self._add_heading(parts[0])
            else:
                self._add(parts)
        return self._taken()

    def end(self) -> list[Chunk]:
        """The last chunks."""
        self._flush(goes_on=False)
        return self._taken()

    def _taken(self) -> list[Chunk]:
        made, self._made = self._made, []
        return made

    def _add_heading(self, part: Part) -> None:
        """Begins a section. Its heading is in the chunk of what follows."""
        if self._has_body or self._used > self._options.limit // 2 or not self._fits(part.text):
            self._flush(goes_on=False)
        if self._open and self._open[0].overlap:
            self._drop_overlap()
        self._path = [above for above in self._path if above.level < part.level]
        if self._fits(part.text):
            self._append(_Piece(part.text, part))
            self._path.append(part)
        else:  # longer than a chunk
            self._path.append(part)
            self._divide(part, RunningText(part.text))

    def _add(self, parts: Sequence[Part]) -> None:
        """Adds parts that belong together, to this chunk or to the next."""
        self._make_room(_BETWEEN.join(part.text for part in parts))
        for part in parts:
            self._place(part)
        if not self._options.merge:
            self._flush(goes_on=False)

    def _place(self, part: Part) -> None:
        table = rows_of(part.text)
        if part.continues and table is not None and self._table is not None:
            continued = self._table.continued(table)
            if continued is not None and self._extended(part, continued):
                return
            table = continued or table
            part = replace(part, text=table.text(table.rows))
        if part.type is BlockType.TABLE:
            self._table = table
        self._make_room(part.text)
        if not self._fits(part.text) and part.type in {BlockType.TABLE, BlockType.FIGURE} and self._fits_alone(part):
            self._flush(goes_on=False)  # rather a heading of its own than a divided table
        if self._fits(part.text):
            self._append(_Piece(part.text, part, table.rows if table else (), table))
        else:
            self._divide(part, DividedRows(table) if table is not None else RunningText(part.text))

    def _extended(self, part: Part, table: Rows) -> bool:
        """Whether the table at the end of this chunk has room for the rows of its part on the next page, and now has
        them.
        """
        last = self._open[-1] if self._open else None
        if last is None or last.table is None or last.table.headers != table.headers:
            return False
        rows = (*last.rows, *table.rows)
        text = table.text(rows)
        if self._used - self._options.size(last.text) + self._options.size(text) > self._options.limit:
            return False
        joined = replace(last.part, places=(*last.part.places, *part.places))
        self._open[-1] = _Piece(text, joined, rows, table)
        self._used += self._options.size(text) - self._options.size(last.text)
        return True

    def _divide(self, part: Part, division: Division) -> None:
        """Adds a part that is larger than a chunk."""
        forced = False
        while not division.done:
            text = division.take(self._fits, forced=forced)
            if text:
                rows, table = (division.taken, division.table) if isinstance(division, DividedRows) else ((), None)
                self._append(_Piece(text, part, rows, table))
                forced = False
                if not division.done:
                    self._flush()
            elif any(not piece.overlap for piece in self._open):
                self._flush()
            else:
                forced = not self._open
                self._drop_overlap()

    def _make_room(self, text: str) -> None:
        """Begins the next chunk if this one has no room for `text`."""
        if not self._fits(text) and self._has_body:
            self._flush()
        if not self._fits(text) and self._open and self._open[0].overlap:
            self._drop_overlap()

    def _drop_overlap(self) -> None:
        self._open, self._used = [], 0

    @property
    def _has_body(self) -> bool:
        return any(piece.is_body for piece in self._open)

    def _fits(self, text: str) -> bool:
        used = self._used or self._context_size()
        return used + (self._between if used else 0) + self._options.size(text) <= self._options.limit

    def _fits_alone(self, part: Part) -> bool:
        return self._options.size(part.text) + self._context_size(alone=True) <= self._options.limit

    def _append(self, piece: _Piece) -> None:
        used = self._used or self._context_size()
        self._open.append(piece)
        self._used = used + (self._between if used else 0) + self._options.size(piece.text)

    def _context(self, *, alone: bool = False) -> str:
        """The headings above this chunk that its own text does not have. Of a path as long as half a chunk, only the
        innermost ones.
        """
        if not self._options.headings:
            return ""
        own = [] if alone else [piece.part for piece in self._open]
        context = ""
        for above in reversed([above for above in self._path if not any(above is part for part in own)]):
            longer = f"{above.text}{_BETWEEN}{context}" if context else above.text
            if self._options.size(longer) > self._options.limit // 2:
                break
            context = longer
        return context

    def _context_size(self, *, alone: bool = False) -> int:
        context = self._context(alone=alone)
        return self._options.size(context) if context else 0

    def _flush(self, *, goes_on: bool = True) -> None:
        """Completes the chunk. `goes_on`: the next one is of the same section, and may begin with the end of this."""
        pieces, context = self._open, self._context()
        self._open, self._used = [], 0
        if not any(not piece.overlap for piece in pieces):
            return
        text = _BETWEEN.join(filter(None, (context, *(piece.text for piece in pieces))))
        parts = [piece.part for piece in pieces]
        places = tuple(dict.fromkeys(place for part in parts for place in part.places))
        self._made.append(
            Chunk(
                self._count,
                text,
                context,
                len(pieces[0].text) if pieces[0].overlap else 0,
                tuple(above.heading for above in self._path),
                tuple(dict.fromkeys([*(part.page for part in parts), *(place.page for place in places)])),
                places,
                tuple(dict.fromkeys(part.type for part in parts)),
                tuple(dict.fromkeys(caption for part in parts for caption in part.captions)),
                self._options.count(text),
            )
        )
        self._count += 1
        if goes_on and self._options.overlap:
            self._begin_with(pieces[-1])

    def _begin_with(self, last: _Piece) -> None:
        """Begins the next chunk with the end of this one."""
        if not last.is_body or last.table is not None or last.part.type is BlockType.TABLE:
            return
        most = self._options.overlap - self._between
        text = last_words(last.text, lambda text: self._options.size(text) <= most)
        if text:
            self._append(_Piece(text, last.part, overlap=True))


def _group(number: int, part: Part) -> tuple[int, int]:
    """Parts in a row with the same value belong together."""
    return (-1, part.together) if part.together else (number, 0)


def chunks_of(pages: Iterable[PageResult], options: ChunkOptions | None = None) -> Iterator[Chunk]:
    """The chunks of a document, each as soon as it is complete."""
    chunker = Chunker(options)
    for page in pages:
        yield from chunker.add(page)
    yield from chunker.end()
