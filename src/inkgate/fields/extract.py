"""Turns proposals into an answer: every value is normalised, grounded and checked, or it is null.

Extractors propose texts. What stands in the answer is decided here, in the same way for all of them.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final, cast

from inkgate.fields.calibrated import MEASURED, ORIGIN, Knots, calibrated, is_placed, on_curve
from inkgate.fields.checks import SUBTOTAL_PLUS_TAX, known_checks, run_checks, with_adjustments
from inkgate.fields.codes.barcodes import CODE_MISMATCH, mismatch_checks
from inkgate.fields.document_types import codes_of, type_packages
from inkgate.fields.folded import FoldedPage, box_around, fold, glue
from inkgate.fields.ground import Effort, ground_copied, ground_sum, ground_text, ground_value, own_place
from inkgate.fields.invoice_checks import PASSED_BY_MOST, REQUIRED_MISSING, required_missing
from inkgate.fields.items import Item, ItemValue, array_of, items_of
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import ParsedValue, parse, plain
from inkgate.fields.lists import is_list, list_fields
from inkgate.fields.result import data_of, item_path, status_of
from inkgate.fields.rules.printed_items import printed_items
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.schema import FieldSchema, Leaf
from inkgate.fields.ticked import placed_marks, ticked
from inkgate.fields.trade.reader import curve_of, shifts_on
from inkgate.fields.trade.unread import ISSUER, UNREAD, other_issuer, unread_labels
from inkgate_client.concurrency import pause
from inkgate_client.fields.values import (
    CODE,
    Check,
    Extraction,
    FieldStatus,
    FieldValue,
    Match,
    Proposal,
    Source,
)
from inkgate_client.types import JsonValue, PageResult

MIN_CONFIDENCE: Final = 0.8
"""Fields below it are `uncertain`."""
_OF_MATCH: Final = {
    Match.VALUE: 1.0,
    Match.EXACT: 1.0,
    Match.SIMILAR: 0.9,
    Match.CORRECTED: 0.95,
    Match.CODE: 1.0,
    Match.SUM: 1.0,
}
_DOUBT: Final = 0.55
"""Share of the doubt that is allowed for values whose own kind was measured. Of complete invoices and receipts 6.6 %
have a wrong value with it, 10.7 % without (training/fields, by trees that had not seen the layout)."""
_LIKELY: Final = 0.3
"""Confidence from which a passing check tells something: a charge that makes the total is no tax for that."""
_BY_CHECK: Final = 0.5
"""Share of the doubt that remains if a check holds: a wrong amount rarely adds up."""
_FAILED: Final = 0.75
"""Most confidence of a field whose check fails; of 89 such fields, 83 % were right (2026-11-25)."""
_DISTINCT: Final = frozenset({"date", "currency"})
"""Kinds of which a text with two readings is doubtful, whatever sums say."""
_MAX_VALUE_LINES = 6
"""Lines that one value may be on."""
_NUMBERS: Final = frozenset({"money", "number"})
_KINDS_OF_TYPE: Final = {"string": None, "number": _NUMBERS, "integer": _NUMBERS, "boolean": frozenset({"boolean"})}
"""Kinds that make values of a JSON type; None: all. Free objects are not found yet."""


_OF_PAGES: Final = {UNREAD: unread_labels, ISSUER: other_issuer}
"""Checks that look at the pages, too."""


def unknown_checks(schema: FieldSchema) -> tuple[str, ...]:
    """The codes of checks that a schema names and nothing that is installed has."""
    codes = {name for package in type_packages() for code in package.codes for name in (code.check, code.contradiction)}
    return tuple(sorted(set(schema.checks) - {REQUIRED_MISSING, *known_checks(), *_OF_PAGES, *codes}))


def answer(
    pages: Sequence[PageResult],
    schema: FieldSchema,
    proposals: Mapping[str, Sequence[Proposal]],
    min_confidence: float = MIN_CONFIDENCE,
    *,
    whole: bool = True,
    calibrate: bool = True,
) -> Extraction:
    """The extraction. `proposals`: by the paths of the schema's leaves, the best first. `whole`: whether all values of
    the document are wanted, so that arrays of objects get the rows of tables and a missing value fails a check; the
    values that somebody else gives need not be all. `calibrate`: whether the confidence of what rules find is how often
    such values are right, where that was measured.
    """
    folded = [FoldedPage.of(page) for page in pages]
    leaves = [leaf for leaf in schema.leaves if not leaf.in_array]
    proposals = placed_marks(pages, leaves, proposals)
    effort = Effort()
    fields = {leaf.path: _field(folded, leaf, proposals.get(leaf.path, ()), effort, min_confidence) for leaf in leaves}
    printed = PrintedPages.of(pages)
    items = printed_items(folded, printed, schema, items_of(pages, schema)) if whole else {}
    fields |= dict(_item_fields(schema, items, min_confidence))
    for leaf in (each for each in schema.leaves if whole and is_list(each)):
        fields |= dict(list_fields(folded, leaf, fields, min_confidence))
    codes = codes_of(schema) if whole else ()
    of_codes = [check for code in codes for check in code.checks(pages, schema)]
    checks = (*run_checks(fields, schema.checks), *of_codes, *(mismatch_checks(schema, proposals) if whole else ()))
    if any(check.code == SUBTOTAL_PLUS_TAX and not check.passed for check in checks):
        checks = with_adjustments(checks, fields, shifts_on(printed))
    if whole and REQUIRED_MISSING in schema.checks and (missing := required_missing(fields, schema.required)):
        checks = (*checks, missing)
    for code, check in _OF_PAGES.items():
        if (whole or code != UNREAD) and code in schema.checks and (made := check(printed, fields)):
            checks = (*checks, made)
    contradictions = {CODE_MISMATCH, *(code.contradiction for code in codes)}
    fields = {path: _checked(field, checks, contradictions) for path, field in fields.items()}
    measured = {leaf.path: curve_of(schema.name, leaf.path) for leaf in leaves if calibrate and schema.name in MEASURED}
    fields = {path: _sure(field, min_confidence, measured.get(path)) for path, field in fields.items()}
    unread = tuple(code.unread for code in codes if all(check.code != code.check for check in checks))
    return Extraction(
        document_type=schema.name,
        data=data_of(schema, fields, {path: len(found) for path, found in items.items()}),
        fields=fields,
        checks=checks,
        status=status_of(fields, checks, lost=bool(unread) or any(page.error is not None for page in pages)),
        notes=unread,
    )


def _field(
    pages: Sequence[FoldedPage], leaf: Leaf, proposals: Sequence[Proposal], effort: Effort, least: float
) -> FieldValue:
    """The best proposal that stands on a page and that the schema allows."""
    missing = FieldValue(leaf.path, leaf.kind, FieldStatus.NOT_FOUND)
    if not _is_supported(leaf):
        return replace(missing, status=FieldStatus.NOT_SUPPORTED)
    if leaf.kind == "boolean":
        return ticked(pages, leaf, proposals, least)
    texts = tuple(dict.fromkeys(each.text for each in proposals))
    for proposal in proposals:
        pause()
        if not proposal.text.strip():
            continue
        value, sources = _of_code(pages, leaf, proposal) or _ground(pages, leaf, proposal, effort)
        others = tuple(text for text in texts if text != proposal.text)
        shown = _json(leaf, value, proposal.text) if sources else None
        if shown is not None:
            is_sum = sources[0].match is Match.SUM
            read = min(each.confidence for each in (sources if is_sum else sources[:1]))
            confidence = read * _OF_MATCH[sources[0].match] * proposal.score
            settled = proposal.settled or is_sum or sources[0].match is Match.CODE
            clear = settled or value is None or _is_clear(leaf, value, sources[0])
            return FieldValue(
                leaf.path,
                leaf.kind,
                FieldStatus.FOUND if clear else FieldStatus.UNCERTAIN,
                value=shown,
                text=_printed(value, sources) or proposal.text,
                confidence=confidence,
                origin=proposal.origin,
                sources=tuple(sources),
                alternatives=(*others, *_readings(value)),
            )
        status = FieldStatus.INVALID if sources else FieldStatus.UNGROUNDED
        missing = replace(missing, status=status, alternatives=(proposal.text, *others))
    return missing


def _printed(value: ParsedValue | None, sources: Sequence[Source]) -> str:
    """A value of a kind as printed; the numbers of a sum. Empty for text."""
    if value is None:
        return ""
    return " + ".join(each.text for each in sources if each.match is Match.SUM) or sources[0].text


def _is_supported(leaf: Leaf) -> bool:
    """Whether values of the leaf's kind have the type that the schema wants."""
    kinds = _KINDS_OF_TYPE.get(leaf.json_type, frozenset())
    return kinds is None or leaf.kind in kinds


def _is_clear(leaf: Leaf, value: ParsedValue, source: Source) -> bool:
    """Whether the text on the page means this value: alone (dates), or first of all (1,234)."""
    printed = parse(KINDS[leaf.kind], source.text)
    if printed is None or printed.readings[0] != value.readings[0]:
        return False
    return not (value.ambiguous and leaf.kind in _DISTINCT)


def _read_on(pages: Sequence[FoldedPage], proposal: Proposal) -> list[Source]:
    """The proposal's own lines, if the value is copied from their text: a date that goes on in the next line, or a
    number with a letter behind it (享年84岁).
    """
    page = next((page for page in pages if page.page == proposal.page), None)
    if page is None or not 0 < len(proposal.lines) <= _MAX_VALUE_LINES:
        return []
    text = ""
    for index in proposal.lines:
        line = page.lines[index].text
        text += (glue(text, line) if text else "") + line
    text, wanted = ("".join(plain(each).split()) for each in (text, proposal.text))
    at = text.find(wanted)
    end = at + len(wanted)
    if at < 0 or text[max(0, at - 1) : at].isdigit() or text[end : end + 1].isdigit():
        return []
    return [own_place(page, proposal, Match.VALUE)]


def _of_code(
    pages: Sequence[FoldedPage], leaf: Leaf, proposal: Proposal
) -> tuple[ParsedValue | None, list[Source]] | None:
    """Does what `_ground` does for a value of a code, whose place is the code's; None for other values."""
    page = next((page for page in pages if page.page == proposal.page), None)
    lines = [page.lines[index] for index in proposal.lines] if page is not None else []
    if proposal.origin != CODE or not (lines or proposal.box):
        return None
    kind = KINDS.get(leaf.kind)
    value = None if kind is None else parse(kind, proposal.text)
    if kind is not None and value is None:
        return None
    box = proposal.box or box_around([line.box for line in lines])
    confidence = min((line.confidence for line in lines), default=1.0)
    source = Source(
        page.page if page else 0, proposal.lines, box, proposal.text, Match.CODE, confidence, proposal.label
    )
    return value, [source]


def _ground(
    pages: Sequence[FoldedPage], leaf: Leaf, proposal: Proposal, effort: Effort
) -> tuple[ParsedValue | None, list[Source]]:
    """The parsed value (None for text), and its places; those on the proposal's own lines first."""
    kind = KINDS.get(leaf.kind)
    if kind is None:
        value, number = None, parse(KINDS["number"], proposal.text)
        if number is not None and number.decimals:  # the letters and digits of 1.23 and 12.3 are the same
            sources = ground_value(pages, number, KINDS["number"], leaf.labels)
        elif len(proposal.lines) > 1 and (copied := ground_copied(pages, proposal)):
            sources = copied
        else:
            sources = ground_text(pages, proposal.text, effort) or ground_copied(pages, proposal)
    else:
        value = parse(kind, proposal.text)
        if value is not None and proposal.parts and (sources := ground_sum(pages, value, proposal.parts, kind)):
            return value, sources
        sources = [] if value is None else ground_value(pages, value, kind, leaf.labels)
        if value is not None and not sources:
            sources = _read_on(pages, proposal)
    if proposal.page is not None:
        own = [each for each in sources if each.page == proposal.page and set(each.lines) & set(proposal.lines)]
        sources = own + [each for each in sources if each not in own]
    if sources and proposal.label and not sources[0].label:
        sources[0] = replace(sources[0], label=proposal.label)
    return value, sources


def _json(leaf: Leaf, value: ParsedValue | None, text: str) -> JsonValue:
    """The value as the schema's type and choices have it; None if they don't."""
    shown: JsonValue = text if value is None else KINDS[leaf.kind].json(value)
    if value is not None and leaf.json_type in {"number", "integer"}:
        shown = _json_number(cast("Decimal", value.readings[0]), leaf.json_type)
    if shown is None or not leaf.choices:
        return shown
    if isinstance(shown, str):
        wanted = fold(shown)
        return next((each for each in leaf.choices if isinstance(each, str) and fold(each) == wanted), None)
    return shown if any(not isinstance(each, bool) and each == shown for each in leaf.choices) else None


def _json_number(number: Decimal, json_type: str) -> int | float | None:
    """None for a fraction where an integer is wanted, and for more digits than a float has."""
    if json_type == "integer":
        return int(number) if number == int(number) else None
    return float(number) if Decimal(repr(float(number))) == number else None


def _readings(value: ParsedValue | None) -> tuple[str, ...]:
    return tuple(map(str, value.readings[1:])) if value is not None else ()


def _checked(field: FieldValue, checks: Sequence[Check], contradictions: Container[str]) -> FieldValue:
    """The field with the checks that it took part in. `contradictions`: codes of those that compare two places, either
    of which may be right.
    """
    mine = [check for check in checks if field.path in check.paths]
    if field.confidence is None or not mine:
        return field
    codes = tuple(check.code for check in mine)
    if all(check.passed for check in mine):
        tells = field.confidence >= _LIKELY and any(check.code not in PASSED_BY_MOST for check in mine)
        confidence = 1 - _BY_CHECK * (1 - field.confidence) if tells else field.confidence
        clear = field.status is FieldStatus.UNCERTAIN and field.kind not in _DISTINCT and tells
        return replace(field, checks=codes, confidence=confidence, status=FieldStatus.FOUND if clear else field.status)
    contradicted = all(check.passed or check.code in contradictions for check in mine)
    status = FieldStatus.CONFLICT if contradicted else FieldStatus.INVALID
    return replace(field, checks=codes, confidence=min(field.confidence, _FAILED), status=status)


def _sure(field: FieldValue, least: float, curve: Knots | None) -> FieldValue:
    """The field with its confidence as it is told, `uncertain` if that is low. A failing check says more. `curve`: of
    such fields, empty if only the kinds were measured; None if nothing was.
    """
    if field.confidence is None:
        return field
    confidence, of_rules = field.confidence, field.origin == ORIGIN and field.kind != "boolean"
    if curve is not None and of_rules:
        placed = is_placed(field.kind, field.sources[0].label)
        confidence = on_curve(curve, confidence) if curve else calibrated(confidence, placed=placed)
    if field.status in {FieldStatus.INVALID, FieldStatus.CONFLICT}:
        confidence = min(confidence, _FAILED)
    allowed = 1 - _DOUBT * (1 - least) if curve and of_rules else least
    doubtful = field.status is FieldStatus.FOUND and confidence < allowed
    return replace(field, confidence=confidence, status=FieldStatus.UNCERTAIN if doubtful else field.status)


def _item_fields(
    schema: FieldSchema, items: Mapping[str, Sequence[Item]], least: float
) -> Iterator[tuple[str, FieldValue]]:
    """The fields of items that a table has, by path: `/items/0/amount`."""
    for leaf in schema.leaves:
        for number, item in enumerate(items.get(array_of(leaf), ())):
            if (value := item.get(leaf.path)) is not None:
                path = item_path(leaf, number)
                yield path, _item_field(replace(leaf, path=path), value, least)


def _item_field(leaf: Leaf, found: ItemValue, least: float) -> FieldValue:
    """A cell's value. It stands in the cell, so it needs no grounding."""
    missing = FieldValue(leaf.path, leaf.kind, FieldStatus.INVALID, alternatives=(found.text,))
    if not _is_supported(leaf):
        return replace(missing, status=FieldStatus.NOT_SUPPORTED)
    kind = KINDS.get(leaf.kind)
    value = None if kind is None else parse(kind, found.text)
    shown = None if kind is not None and value is None else _json(leaf, value, found.text)
    if shown is None:
        return missing
    confidence = found.source.confidence * found.score
    sure = confidence >= least and not (value is not None and value.ambiguous and leaf.kind in _DISTINCT)
    return FieldValue(
        leaf.path,
        leaf.kind,
        FieldStatus.FOUND if sure else FieldStatus.UNCERTAIN,
        value=shown,
        text=found.text,
        confidence=confidence,
        origin=found.origin,
        sources=(found.source,),
        alternatives=_readings(value),
    )
