"""The embedded extractor: fields by rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from inkgate.fields.document_types import package_rules
from inkgate.fields.kinds import KINDS
from inkgate.fields.rules.candidates import FieldCandidate, candidates_of
from inkgate.fields.rules.form_fields import FormReader
from inkgate.fields.rules.head_words import is_business
from inkgate.fields.rules.invoice_fields import OF_IMPRINT, read_invoice
from inkgate.fields.rules.invoices import number_in, read_invoice_head
from inkgate.fields.rules.labelled import LabelFinder
from inkgate.fields.rules.receipts import read_receipt
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.schema import FieldSchema, words_of
from inkgate_client.fields.values import Proposal
from inkgate_client.types import PageResult

ORIGIN: Final = "rules"
_TYPES: Final = frozenset({"receipt", "invoice"})
"""Document types whose heads and totals have rules of their own."""
_MEANT: Final = {
    **dict.fromkeys(("total", "grand total", "total amount", "amount total", "amount due", "合计", "总计"), "total"),
    **dict.fromkeys(("subtotal", "sub total", "net amount", "amount untaxed"), "subtotal"),
    **dict.fromkeys(("tax", "total tax", "tax amount", "vat amount", "税额"), "tax"),
    **dict.fromkeys(
        ("merchant name", "merchant", "store name", "store", "company", "vendor", "seller"), "merchant_name"
    ),
    **dict.fromkeys(("merchant address", "store addr", "store address", "address", "地址"), "merchant_address"),
    **dict.fromkeys(("phone", "tel", "telephone", "phone number", "电话"), "phone"),
    **dict.fromkeys(("date", "日期"), "date"),
    **dict.fromkeys(("time", "时间"), "time"),
}
"""Names of other schemas for the same fields."""
_SUMS: Final = frozenset({"total", "subtotal", "tax"})
"""Fields of sums, whose labels alone don't tell: a summary by tax rate has totals too."""
_INVOICE, _NUMBER = "invoice", "invoice_number"
_SELF_EVIDENT: Final = frozenset({"iban", "vat_id"})
"""Kinds whose values need no label."""
_BY_PLACE: Final = frozenset({"merchant_name", "merchant_address"})
_OF_PLACE: Final = 0.9
"""Fields that stand without a label, and how sure they are: of names and addresses in receipts, one in ten is wrong."""
_NAMED: Final = 0.95
"""Score of a date whose label is the field's: an invoice has the dates of the order and of the delivery, too."""
_UNLABELLED: Final = 0.75
"""How sure a value without a label is in a schema that isn't of a type with rules."""


def propose(pages: Sequence[PageResult], schema: FieldSchema) -> dict[str, list[Proposal]]:
    """Proposals by path: fields in the boxes of forms, behind their labels, and those of receipts that need none."""
    printed = PrintedPages.of(pages)
    finder = LabelFinder.of(printed, schema.leaves)
    if (rules := package_rules().get(schema.name)) is not None:
        return _of_type(schema, finder, rules(printed))
    forms = FormReader.of(pages)
    known = read_receipt(printed)
    head = read_invoice_head(printed)
    own = _of_invoice(printed, known) if schema.name == _INVOICE else {}
    found: dict[str, list[Proposal]] = {}
    for leaf in schema.leaves:
        if leaf.in_array:
            continue
        if leaf.kind == "boolean":
            mark = forms.mark(leaf)
            found[leaf.path] = [] if mark is None else [_proposal(mark)]
            continue
        boxed = None if schema.name in _TYPES else forms.find(leaf)
        if boxed is not None:
            # A box with the field's label and nothing in it says that there is no value.
            found[leaf.path] = [_proposal(boxed)] if boxed.text else []
            continue
        meant = _MEANT.get(words_of(leaf.path.rsplit("/", 1)[-1]), "")
        special = known.get(meant)
        if (best := own.get(leaf.path.removeprefix("/"))) is not None:
            others = [] if meant in _BY_PLACE | _SUMS | {_NUMBER} else finder.find(leaf)
            found[leaf.path] = [_proposal(each) for each in (*best, *others)]
            continue
        if special is not None and (meant in _SUMS or schema.name in _TYPES):
            proposal = _proposal(special)
            by_place = meant in _BY_PLACE
            if meant == "date" and (labelled := finder.find(leaf)) and labelled[0].score >= _NAMED:
                found[leaf.path] = [_proposal(labelled[0]), proposal]
                continue
            found[leaf.path] = [replace(proposal, score=proposal.score * _OF_PLACE) if by_place else proposal]
            continue
        name = leaf.path.removeprefix("/")
        found[leaf.path] = [_proposal(each) for each in finder.find(leaf) if _may_be(name, each, schema)]
        if not found[leaf.path] and name == _NUMBER and name in head:
            found[leaf.path] = [_proposal(head[name])]
        elif not found[leaf.path] and leaf.kind in _SELF_EVIDENT:
            found[leaf.path] = [_proposal(each) for each in candidates_of(printed, KINDS[leaf.kind])[:1]]
        if special is not None and not found[leaf.path]:
            found[leaf.path] = [replace(_proposal(special), score=_UNLABELLED)]
    return found


def _may_be(name: str, candidate: FieldCandidate, schema: FieldSchema) -> bool:
    """Whether the text may be the field's: the number of an invoice is one."""
    return schema.name != _INVOICE or name != _NUMBER or number_in(candidate.text) == candidate.text


def _of_invoice(printed: PrintedPages, known: Mapping[str, FieldCandidate]) -> dict[str, list[FieldCandidate]]:
    """What an invoice has by rules of its own. A company at the head of the page comes before that of its foot."""
    found = read_invoice(printed, known.get("total"))
    name = known.get("merchant_name")
    if name is not None and name.score >= 1 and found.get("merchant_name", [name])[0].score <= OF_IMPRINT:
        found["merchant_name"] = [replace(name, text=_without_address(name.text), score=_OF_PLACE)]
    return found


def _without_address(name: str) -> str:
    """A company's name without the address that follows it in its row: `Nord GmbH, Kai 5, 20457 Hamburg`."""
    company, comma, address = name.partition(",")
    return company.strip() if comma and is_business(company) and any(map(str.isdigit, address)) else name


def _of_type(
    schema: FieldSchema, finder: LabelFinder, candidates: Mapping[str, Sequence[FieldCandidate]]
) -> dict[str, list[Proposal]]:
    """What the type's own rules find; labels for the fields that they leave."""
    found = {}
    for leaf in schema.leaves:
        if not leaf.in_array:
            own = candidates.get(leaf.path.removeprefix("/"), ())
            found[leaf.path] = [_proposal(each) for each in own or finder.find(leaf)]
    return found


def _proposal(candidate: FieldCandidate) -> Proposal:
    score = min(1.0, max(0.5, candidate.score)) if candidate.score else 1.0
    return Proposal(candidate.text, ORIGIN, score, candidate.page, candidate.lines, candidate.label)
