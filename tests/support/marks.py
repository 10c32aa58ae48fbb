"""Which markers a selection of tests requires."""

import re

_TERM = re.compile(r"(?P<no>not\s+)?(?P<name>\w+)")


def required_markers(expression: str) -> list[str]:
    """Markers that each test selected by `-m EXPRESSION` has; none for more than `and` and `not NAME`."""
    terms = [_TERM.fullmatch(term.strip()) for term in re.split(r"\band\b", expression)]
    if not all(terms):
        return []
    return [term["name"] for term in terms if term and not term["no"]]
