"""Values that QR codes and bar codes have for the fields of a schema, and whether the print agrees with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from inkgate.fields.folded import fold
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import parse
from inkgate.fields.schema import FieldSchema, Leaf
from inkgate_client.fields.values import CODE, Check, Proposal
from inkgate_client.types import Block, PageResult

CODE_MISMATCH: Final = "code_mismatch"
INVOICE_CODE: Final = "cn_vat_invoice"
INVOICE_XML: Final = "invoice_xml"
"""What a PDF's invoice as XML counts as: a code that stands at no place of the page."""
_OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "number": ("invoice_number", "document_number", "发票号码"),
    "code": ("invoice_code", "发票代码"),
    "date": ("invoice_date", "issue_date", "开票日期"),
    "check_code": ("校验码",),
    "amount": ("subtotal", "不含税金额"),
    "total": ("total_amount", "amount_due", "价税合计"),
    "invoice_type": ("发票类型",),
    "payee_name": ("merchant_name", "seller_name", "supplier_name", "vendor_name", "creditor"),
    "vat_id": ("seller_vat_id", "supplier_vat_id", "vendor_vat_id"),
    "payer_name": ("buyer_name", "customer_name", "debtor"),
    "payer_vat_id": ("buyer_vat_id", "customer_vat_id"),
    "reference": ("payment_reference",),
    "surname": ("last_name", "family_name"),
    "given_names": ("first_name",),
    "birth_date": ("date_of_birth",),
    "expiry_date": ("date_of_expiry",),
    "flight": ("flight_number", "航班号"),
    "seat": ("seat_number", "座位号"),
    "booking": ("booking_reference", "pnr"),
}
"""Names that schemas have for the values of codes."""
_PAYERS: Final = frozenset({"payer", "buyer", "customer", "client", "debtor"})
"""Names of objects whose values are the payer's, as `{"buyer": {"vat_id": ...}}`."""
_OF_PAYER: Final = {"payee_name": "payer_name", "vat_id": "payer_vat_id"}
"""Values of the payee, and those of the payer that are never one of the payee."""
_MIN_SCORE: Final = 0.8
"""Score of a printed value that can contradict a code."""


def barcode_proposals(pages: Sequence[PageResult], schema: FieldSchema) -> dict[str, list[Proposal]]:
    """Proposals by path, in the order of the codes on the pages."""
    found: dict[str, list[Proposal]] = {}
    leaves = [leaf for leaf in schema.leaves if not leaf.in_array]
    for page, block in _coded_blocks(pages):
        code = block.barcode
        for name, value in code.parsed.items() if code is not None else ():
            if value and (leaf := _leaf_of(name, leaves)) is not None:
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
    leaves = [leaf for leaf in schema.leaves if not leaf.in_array]
    kept = dict(proposals)
    for payee, payer in _OF_PAYER.items():
        leaf, other = _leaf_of(payee, leaves), values.get(payer, "")
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


def _leaf_of(name: str, leaves: Sequence[Leaf]) -> Leaf | None:
    """The field of the value's name; else of another name for it."""
    for other_name in (name, *_OTHER_NAMES.get(name, ())):
        for leaf in leaves:
            if fold(other_name) in _names_of(leaf):
                return leaf
    return None


def _names_of(leaf: Leaf) -> tuple[str, ...]:
    """The field's names, folded: with its parent's, and alone if it is none of the payer."""
    *parents, own = map(fold, leaf.names)
    joined = "".join((*parents[-1:], own))
    return (joined,) if _PAYERS & {*parents} else (joined, own)
