"""Values that QR codes and bar codes have for the fields of a schema, and whether the print agrees with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from inkgate.fields.codes.names import field_of, single_fields
from inkgate.fields.folded import fold
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import parse
from inkgate.fields.schema import FieldSchema, Leaf
from inkgate_client.fields.values import CODE, Check, Proposal
from inkgate_client.types import Block, PageResult

CODE_MISMATCH: Final = "code_mismatch"
INVOICE_XML: Final = "invoice_xml"
"""What a PDF's invoice as XML counts as: a code that stands at no place of the page."""
_OF_PAYER: Final = {"payee_name": "payer_name", "vat_id": "payer_vat_id"}
"""Values of the payee, and those of the payer that are never one of the payee."""
_MIN_SCORE: Final = 0.8
"""Score of a printed value that can contradict a code."""


def barcode_proposals(pages: Sequence[PageResult], schema: FieldSchema) -> dict[str, list[Proposal]]:
    """Proposals by path, in the order of the codes on the pages."""
    found: dict[str, list[Proposal]] = {}
    leaves = single_fields(schema)
    for page, block in _coded_blocks(pages):
        code = block.barcode
        for name, value in code.parsed.items() if code is not None else ():
            if value and (leaf := field_of(name, leaves)) is not None:
                proposal = Proposal(value, CODE, 1.0, page, (), code.format if code else "", block.box)
                found.setdefault(leaf.path, []).append(proposal)
    return found


def has_code(pages: Sequence[PageResult], *contents: str) -> bool:
    """Whether a code of the pages follows one of these standards."""
    return any(block.barcode is not None and block.barcode.content in contents for _, block in _coded_blocks(pages))


def without_payer(
    pages: Sequence[PageResult], schema: FieldSchema, proposals: Mapping[str, Sequence[Proposal]]
) -> Mapping[str, Sequence[Proposal]]:
    """The proposals by path but those, for a field of the payee, that a code names as the payer's."""
    codes = [block.barcode for _, block in _coded_blocks(pages)]
    values = {name: value for code in codes if code is not None for name, value in code.parsed.items()}
    leaves = single_fields(schema)
    kept = dict(proposals)
    for payee, payer in _OF_PAYER.items():
        leaf, other = field_of(payee, leaves), values.get(payer, "")
        if leaf is not None and other and not _same(leaf, other, values.get(payee, "")):
            of_field = proposals.get(leaf.path, ())
            kept[leaf.path] = [each for each in of_field if each.origin == CODE or not _same(leaf, other, each.text)]
    return kept


def mismatch_checks(schema: FieldSchema, proposals: Mapping[str, Sequence[Proposal]]) -> tuple[Check, ...]:
    """Checks, for each field that a code has a value for and the print another, whether they agree. Values stay out of
    the details, which are logged.
    """
    agreeing: list[str] = []
    contradicted: list[str] = []
    for leaf in schema.leaves:
        of_field = proposals.get(leaf.path, ())
        coded = [each for each in of_field if each.origin == CODE and each.box is not None]
        printed = [each for each in of_field if each.origin != CODE and each.score >= _MIN_SCORE]
        if coded and printed:
            best = max(each.score for each in printed)
            likely = [each for each in printed if each.score == best]
            agree = any(_same(leaf, code.text, each.text) for code in coded[:1] for each in likely)
            (agreeing if agree else contradicted).append(leaf.path)
    checks = []
    if agreeing:
        checks.append(Check(CODE_MISMATCH, passed=True, paths=tuple(agreeing), detail="code and print agree"))
    if contradicted:
        checks.append(Check(CODE_MISMATCH, passed=False, paths=tuple(contradicted), detail="code and print differ"))
    return tuple(checks)


def _same(leaf: Leaf, coded: str, printed: str) -> bool:
    kind = KINDS.get(leaf.kind)
    if kind is None:
        return fold(coded) == fold(printed)
    first, second = parse(kind, coded), parse(kind, printed)
    return first is not None and second is not None and bool(set(first.readings) & set(second.readings))


def _coded_blocks(pages: Sequence[PageResult]) -> Iterator[tuple[int, Block]]:
    for page in pages:
        for block in page.blocks or ():
            if block.barcode is not None and block.barcode.content:
                yield page.index, block
