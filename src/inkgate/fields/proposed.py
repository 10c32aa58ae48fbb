"""Everybody's proposals for the fields of a document, the surest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from inkgate.fields.codes.barcodes import barcode_proposals, without_payer
from inkgate.fields.document_types import codes_of
from inkgate.fields.rules.extractor import propose
from inkgate.fields.schema import FieldSchema
from inkgate_client.fields.values import Proposal
from inkgate_client.types import PageResult

MODEL: Final = "model"
_OF_MODEL: Final = 0.95
"""Score of what a model proposes: its values are looked up on the page, but may be those of another field."""
_MAX_CHARACTERS: Final = 4000
"""Maximum characters of a value. Longer ones are no values."""


def proposed(
    pages: Sequence[PageResult], schema: FieldSchema, of_models: Iterable[Mapping[str, Sequence[Proposal]]] = ()
) -> Mapping[str, Sequence[Proposal]]:
    """Returns proposals by path: what codes have, then what models propose, then what rules do. What a code names as
    the payer's is no value of the payee.
    """
    of_codes = (code.values(pages, schema) for code in codes_of(schema))
    sources = [*of_codes, barcode_proposals(pages, schema), *of_models, propose(pages, schema)]
    found = {leaf.path: [each for source in sources for each in source.get(leaf.path, ())] for leaf in schema.leaves}
    return without_payer(pages, schema, found)


def model_proposals(pages: Sequence[PageResult], schema: FieldSchema) -> Mapping[str, Sequence[Proposal]]:
    """What the model that was shown the pages answered (`PageResult.fields`), by path."""
    return answered(schema, ((page.index, page.fields or {}) for page in pages), MODEL)


def answered(
    schema: FieldSchema, answers: Iterable[tuple[int | None, Mapping[str, object]]], origin: str
) -> Mapping[str, Sequence[Proposal]]:
    """A model's answers, by path. `answers`: the page that each is about, if known, and values by question."""
    questions = schema.questions
    found: dict[str, list[Proposal]] = {}
    for page, answer in answers:
        for question, value in answer.items():
            if question in questions and (text := _text(value)):
                found.setdefault(questions[question], []).append(Proposal(text, origin, _OF_MODEL, page))
    return found


def _text(value: object) -> str:
    """A value as text; empty for what is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = str(value).strip()
    return text if len(text) <= _MAX_CHARACTERS else ""
