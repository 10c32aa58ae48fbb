"""What the doctor found: one fault, the numbers it was judged by, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

Number = int | float


class Severity(StrEnum):
    """`critical`: documents are not read, or soon won't be. `warning`: it holds the service back now. `note`: it would
    be better otherwise, and nothing hurts now.
    """

    CRITICAL = "critical"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Evidence:
    """A number that was judged, or a word.

    Attributes:
        what: a name, such as `pages waiting`.
        unit: of `value`; `bytes`, `s` and `share` (of 1) are written for people: 1.5 GB, 2 min, 40 %.
        against: what it was compared with, such as `under 4`; empty where it only explains.
    """

    what: str
    value: Number | str
    unit: str = ""
    against: str = ""


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do. With `setting`: which to set to `value`; `now`: what it is. Without: something outside of inkgate."""

    text: str
    setting: str = ""
    value: Number | str | bool | None = None
    now: Number | str | bool | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """`code`: stable, the name of the rule with hyphens. `title`: one sentence."""

    code: str
    severity: Severity
    title: str
    evidence: tuple[Evidence, ...]
    advice: tuple[Advice, ...]
