"""The embedded extractor: fields by rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from inkgate.fields.calibrated import ORIGIN
from inkgate.fields.document_types import package_rules
from inkgate.fields.kinds import KINDS
from inkgate.fields.rules.candidates import FieldCandidate, candidates_of
from inkgate.fields.rules.form_fields import FormReader
from inkgate.fields.rules.labelled import LabelFinder
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.schema import FieldSchema, Leaf, words_of
from inkgate.fields.trade.reader import MEASURED, TYPES, read_trade
from inkgate_client.fields.values import Proposal
from inkgate_client.types import PageResult

_MEANT: Final = {
    **dict.fromkeys(("total", "grand total", "total amount", "amount total", "amount due", "合计", "总计"), "total"),
    **dict.fromkeys(("subtotal", "sub total", "net amount", "amount untaxed"), "subtotal"),
    **dict.fromkeys(("tax", "total tax", "tax amount", "vat amount", "税额"), "tax"),
    **dict.fromkeys(
        ("merchant name", "merchant", "store name", "store", "company", "vendor", "seller", "issuer"), "merchant_name"
    ),
    **dict.fromkeys(("invoice number", "invoice no", "invoice nr", "发票号码"), "invoice_number"),
    **dict.fromkeys(("due date", "date due", "payment due"), "due_date"),
    **dict.fromkeys(("merchant address", "store addr", "store address", "address", "地址"), "merchant_address"),
    **dict.fromkeys(("phone", "tel", "telephone", "phone number", "电话"), "phone"),
    **dict.fromkeys(("date", "日期"), "date"),
    **dict.fromkeys(("time", "时间"), "time"),
}
"""Names of other schemas for the same fields."""
_AMOUNTS: Final = frozenset({"total", "subtotal", "tax"})
"""Fields that labels tell where no number looks like an amount."""
_SELF_EVIDENT: Final = frozenset({"iban", "vat_id"})
"""Kinds whose values need no label."""
_LEAST: Final = 0.05
"""Minimum score of a proposal."""
_UNLABELLED: Final = 0.75
"""How sure a value without a label is in a schema that isn't of a type with rules."""


def propose(pages: Sequence[PageResult], schema: FieldSchema) -> dict[str, list[Proposal]]:
    """Proposals by path: fields in the boxes of forms, behind their labels, and those of invoices and receipts."""
    printed = PrintedPages.of(pages)
    finder = LabelFinder.of(printed, schema.leaves)
    if (rules := package_rules().get(schema.name)) is not None:
        return _of_type(schema, finder, {name: found for name, found in rules(printed).items() if found})
    if schema.name in TYPES:
        known = read_trade(printed, schema.name)
        left = _AMOUNTS if not _AMOUNTS & known.keys() else frozenset()
        return _of_type(schema, finder, {**dict.fromkeys({*MEASURED, "vat_id"} - left, ()), **known})
    known = read_trade(printed) if any(_meant(leaf) for leaf in schema.leaves) else {}
    forms = FormReader.of(pages)
    found: dict[str, list[Proposal]] = {}
    for leaf in schema.leaves:
        if leaf.in_array:
            continue
        if leaf.kind == "boolean":
            mark = forms.mark(leaf)
            found[leaf.path] = [] if mark is None else [_proposal(mark)]
            continue
        boxed = forms.find(leaf)
        if boxed is not None:
            # A box with the field's label and nothing in it says that there is no value.
            found[leaf.path] = [_proposal(boxed)] if boxed.text else []
            continue
        special = known.get(_meant(leaf), [])
        if special and _meant(leaf) in _AMOUNTS:
            found[leaf.path] = [_proposal(each) for each in special]
            continue
        found[leaf.path] = [_proposal(each) for each in finder.find(leaf)]
        if not found[leaf.path] and leaf.kind in _SELF_EVIDENT:
            alone = (
                each for each in candidates_of(printed, KINDS[leaf.kind]) if each.value and not each.value.needs_label
            )
            found[leaf.path] = [_proposal(each) for each in islice(alone, 1)]
        if special and not found[leaf.path]:
            found[leaf.path] = [replace(_proposal(special[0]), score=_UNLABELLED)]
    return found


def _meant(leaf: Leaf) -> str:
    """The field of an invoice or receipt that the leaf of another schema is; empty if it is none."""
    return _MEANT.get(words_of(leaf.path.rsplit("/", 1)[-1]), "")


def _of_type(
    schema: FieldSchema, finder: LabelFinder, candidates: Mapping[str, Sequence[FieldCandidate]]
) -> dict[str, list[Proposal]]:
    """What the type's own rules find; labels for the fields that they don't look for."""
    found = {}
    for leaf in schema.leaves:
        if not leaf.in_array:
            name = leaf.path.removeprefix("/")
            own = candidates[name] if name in candidates else finder.find(leaf)
            found[leaf.path] = [_proposal(each) for each in own]
    return found


def _proposal(candidate: FieldCandidate) -> Proposal:
    score = min(1.0, max(_LEAST, candidate.score)) if candidate.score else 1.0
    text, settled = candidate.reading or candidate.text, bool(candidate.reading)
    parts = tuple(map(_proposal, candidate.parts))
    return Proposal(text, ORIGIN, score, candidate.page, candidate.lines, candidate.label, None, settled, parts)
