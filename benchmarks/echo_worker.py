"""An engine worker with an empty model, to measure the cost of a round trip. Started by workers.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inkgate.engines.workers import serve


def nothing(items: Sequence[object]) -> list[object]:
    return [None] * len(items)


def load(_: str) -> Mapping[str, serve.Predict]:
    return {"nothing": nothing}


def main() -> None:
    serve.run(load)
