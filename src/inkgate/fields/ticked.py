"""Booleans: whether the check box with a field's label is ticked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from inkgate.fields.folded import FoldedPage
from inkgate.fields.ground import ground_copied
from inkgate.fields.rules.form_fields import MARKS, FormReader
from inkgate.fields.schema import Leaf
from inkgate_client.fields.values import FieldStatus, FieldValue, Proposal
from inkgate_client.types import PageResult


def placed_marks(
    pages: Sequence[PageResult], leaves: Sequence[Leaf], proposals: Mapping[str, Sequence[Proposal]]
) -> Mapping[str, Sequence[Proposal]]:
    """The proposals; those for check boxes without a place get that of the box with their label, if it agrees."""
    unanswered = [leaf for leaf in leaves if leaf.kind == "boolean"]
    unanswered = [leaf for leaf in unanswered if any(each.page is None for each in proposals.get(leaf.path, ()))]
    if not unanswered:
        return proposals
    forms, found = FormReader.of(pages), dict(proposals)
    for leaf in unanswered:
        mark = forms.mark(leaf)
        found[leaf.path] = [
            replace(each, page=mark.page, lines=mark.lines, label=mark.label, score=min(each.score, mark.score))
            if mark is not None and each.page is None and each.text == mark.text
            else each
            for each in proposals[leaf.path]
        ]
    return found


def ticked(pages: Sequence[FoldedPage], leaf: Leaf, proposals: Sequence[Proposal], least: float) -> FieldValue:
    """A check box. Only proposals that know its place count: `[x]` stands beside many labels."""
    missing = FieldValue(leaf.path, leaf.kind, FieldStatus.NOT_FOUND)
    for proposal in proposals:
        sources = ground_copied(pages, proposal)
        if not sources or proposal.text not in MARKS.values():
            missing = replace(missing, status=FieldStatus.UNGROUNDED, alternatives=(proposal.text,))
            continue
        confidence = sources[0].confidence * proposal.score
        return replace(
            missing,
            status=FieldStatus.FOUND if confidence >= least else FieldStatus.UNCERTAIN,
            value=proposal.text == MARKS[True],
            text=proposal.text,
            confidence=confidence,
            origin=proposal.origin,
            sources=tuple(sources),
        )
    return missing
