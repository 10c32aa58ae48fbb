"""Targets of the engine's performance, beside the measured values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benchmarks.figures import table


@dataclass(frozen=True)
class Target:
    """One target: the bound `least` or `most`, in the unit of `measured`."""

    what: str
    measured: float
    unit: str = ""
    least: float | None = None
    most: float | None = None
    digits: int = 2

    @property
    def met(self) -> bool:
        high_enough = self.least is None or self.measured >= self.least
        return high_enough and (self.most is None or self.measured <= self.most)

    def row(self) -> tuple[str, str, str, str]:
        bound = f"≥ {self.least:g}" if self.least is not None else f"≤ {self.most:g}"
        measured = f"{self.measured:.{self.digits}f}"
        return self.what, f"{measured}{self.unit}", f"{bound}{self.unit}", "yes" if self.met else "**no**"

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "met": self.met}


def target_table(targets: Sequence[Target]) -> str:
    """The targets as a Markdown table."""
    return table(("what", "measured", "asked for", "met"), [target.row() for target in targets])
