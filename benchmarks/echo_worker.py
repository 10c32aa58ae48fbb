"""An engine worker with an empty model, to measure the cost of a round trip. Started by workers.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inkgate.engines.workers.model import Predict, run_models


def nothing(items: Sequence[object]) -> list[object]:
    return [None] * len(items)


def load(_: str) -> Mapping[str, Predict]:
    return {"nothing": nothing}


def main() -> None:
    run_models(load)
