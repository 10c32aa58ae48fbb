"""All settings that the dials allow, as points in a unit cube; numeric dials by the logarithm of their values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from inkgate.bench.tune.results import Parameter, Settings, Value

Key = tuple[int, ...]
"""Of each dial, the index of its value."""

Floats = NDArray[np.float64]

MOST_CANDIDATES = 400
"""Points that are looked at in one step of the search; their covariance is a matrix of that side."""


class Space:
    """The grid of `dials`."""

    def __init__(self, dials: Sequence[Parameter]) -> None:
        """`dials`: each with at least one value, the current one among them."""
        self.dials = tuple(dials)
        self._index = [{_plain(value): index for index, value in enumerate(dial.values)} for dial in dials]
        self._coordinates = [_coordinates(dial) for dial in dials]

    @property
    def size(self) -> int:
        return math.prod(len(dial.values) for dial in self.dials)

    def key(self, settings: Settings) -> Key:
        """Where `settings` are.

        Raises:
            KeyError: a dial has no value there, or one that it can't have.
        """
        return tuple(index[_plain(settings[dial.path])] for dial, index in zip(self.dials, self._index, strict=True))

    def settings(self, key: Key) -> Settings:
        return {dial.path: dial.values[index] for dial, index in zip(self.dials, key, strict=True)}

    def points(self, keys: Sequence[Key]) -> Floats:
        """(keys, dials), each coordinate 0 to 1."""
        return np.array(
            [[places[index] for places, index in zip(self._coordinates, key, strict=True)] for key in keys], dtype=float
        ).reshape(len(keys), len(self.dials))

    def weight(self, key: Key) -> float:
        """How much is asked of the machine: 0, where all dials are at their least, to their number."""
        return sum(
            places[index]
            for dial, places, index in zip(self.dials, self._coordinates, key, strict=True)
            if _numeric(dial)
        )

    def at_least(self, more: Key, less: Key, paths: Iterable[str] | None = None) -> bool:
        """Whether `more` has every numeric dial at least as high as `less`, and the other dials the same.

        `paths`: of these dials alone, without regard to the others.
        """
        counted = None if paths is None else set(paths)
        return all(
            high >= low if _numeric(dial) else high == low
            for dial, high, low in zip(self.dials, more, less, strict=True)
            if counted is None or dial.path in counted
        )

    def neighbours(self, key: Key, steps: int = 1) -> list[Key]:
        """The keys up to `steps` away on one dial."""
        found: list[Key] = []
        for number, dial in enumerate(self.dials):
            near = range(max(0, key[number] - steps), min(len(dial.values), key[number] + steps + 1))
            found += [(*key[:number], index, *key[number + 1 :]) for index in near if index != key[number]]
        return found

    def candidates(self, around: Sequence[Key], seed: int) -> list[Key]:
        """Every key, or where there are too many those `around`, their neighbours and a sample of the rest."""
        if self.size <= MOST_CANDIDATES:
            return list(itertools.product(*(range(len(dial.values)) for dial in self.dials)))
        chosen = dict.fromkeys(around)
        for key in around:
            chosen.update(dict.fromkeys(self.neighbours(key, 2)))
        chance = np.random.default_rng(seed)
        while len(chosen) < MOST_CANDIDATES:
            chosen[tuple(int(chance.integers(len(dial.values))) for dial in self.dials)] = None
        return list(chosen)[:MOST_CANDIDATES]

    def spread(self, count: int, seed: int) -> list[Key]:
        """`count` keys (fewer in a small space) that cover it evenly; the first ones of more are the same.

        The additive recurrence with the generalised golden ratio (Roberts 2018, "The unreasonable effectiveness of
        quasirandom sequences"), from a seeded start.
        """
        root = 2.0
        for _ in range(30):  # of x^(d+1) = x + 1
            root = (1 + root) ** (1 / (len(self.dials) + 1))
        steps = root ** -np.arange(1, len(self.dials) + 1)
        start = np.random.default_rng(seed).random(len(self.dials))
        found: dict[Key, None] = {}
        for number in range(50 * count):
            if len(found) >= min(count, self.size):
                break
            place = (start + number * steps) % 1
            found[tuple(_nearest(near, at) for near, at in zip(self._coordinates, place, strict=True))] = None
        return list(found)


def _nearest(places: Sequence[float], at: float) -> int:
    return min(range(len(places)), key=lambda index: abs(places[index] - at))


def _numeric(dial: Parameter) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in dial.values)


def _coordinates(dial: Parameter) -> list[float]:
    if len(dial.values) == 1:
        return [0.5]
    numbers = [value for value in dial.values if isinstance(value, int | float) and not isinstance(value, bool)]
    if len(numbers) < len(dial.values) or min(numbers) <= 0:
        return [index / (len(dial.values) - 1) for index in range(len(dial.values))]
    low, high = math.log(numbers[0]), math.log(numbers[-1])
    return [(math.log(number) - low) / (high - low) for number in numbers]


def _plain(value: Value) -> tuple[str, Value]:
    """Keeps True apart from 1, and 16 together with 16.0."""
    if isinstance(value, bool | str):
        return type(value).__name__, value
    return "number", float(value)
