"""All settings that the parameters allow, as keys: of each parameter the index of its value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from inkgate_bench.tune.results import Parameter, Settings, Value

Key = tuple[int, ...]

_OCTAVE_RANGE = 4.0
"""A parameter whose largest value is less than this many times its smallest has no octaves worth the name."""


class ParameterSpace:
    """The grid of `parameters`; numbers are placed by their logarithm."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        """`parameters`: each with at least one value, the current one among them."""
        self.parameters = tuple(parameters)
        self._index = [{_plain(value): index for index, value in enumerate(each.values)} for each in parameters]
        self._places = [_places(each) for each in parameters]

    def key(self, settings: Settings) -> Key:
        """Returns where `settings` are. Raises KeyError if a parameter has no value there, or one that it can't
        have.
        """
        pairs = zip(self.parameters, self._index, strict=True)
        return tuple(index[_plain(settings[parameter.path])] for parameter, index in pairs)

    def settings(self, key: Key) -> Settings:
        return {each.path: each.values[index] for each, index in zip(self.parameters, key, strict=True)}

    def weight(self, key: Key) -> float:
        """How much `key` asks of the machine: 0 with all numbers at their least, up to their count."""
        rows = zip(self.parameters, self._places, key, strict=True)
        return sum(places[index] for parameter, places, index in rows if _numeric(parameter))

    def at_least(self, more: Key, less: Key, paths: Iterable[str] | None = None) -> bool:
        """Whether `more` has every number at least as high as `less`, and everything else the same.

        `paths`: compare these parameters only.
        """
        counted = None if paths is None else set(paths)
        return all(
            high >= low if _numeric(parameter) else high == low
            for parameter, high, low in zip(self.parameters, more, less, strict=True)
            if counted is None or parameter.path in counted
        )

    def line(self, key: Key, number: int) -> list[Key]:
        """The keys that differ from `key` at most in parameter `number`, from its least value to its most."""
        return [(*key[:number], index, *key[number + 1 :]) for index in range(len(self.parameters[number].values))]

    def octaves(self, key: Key, number: int, start: Key) -> list[Key]:
        """The keys of the line nearest to 1/4, 1/2, 1, 2, 4, ... times the value at `start`, and the ends of the range.

        All of the line if the values are no numbers; its ends and the start if the range is too short for octaves.
        """
        parameter, line = self.parameters[number], self.line(key, number)
        if not _numeric(parameter):
            return line
        values = [float(value) for value in parameter.values]
        kept = {0, start[number], len(values) - 1}
        if values[0] > 0 and values[-1] >= _OCTAVE_RANGE * values[0]:
            logs = [math.log2(value / values[start[number]]) for value in values]
            for octave in range(math.ceil(logs[0]), math.floor(logs[-1]) + 1):
                kept.add(min(range(len(logs)), key=lambda index: abs(logs[index] - octave)))
        return [line[index] for index in sorted(kept)]

    def distance(self, first: Key, second: Key, number: int) -> float:
        """Returns the distance of two keys of a line, as a share of the parameter's range."""
        return abs(self._places[number][first[number]] - self._places[number][second[number]])

    def middle(self, first: Key, second: Key, number: int) -> Key | None:
        """The key halfway between two of a line; None if they are neighbours."""
        places, line = self._places[number], self.line(first, number)
        low, high = sorted((first[number], second[number]))
        halfway = (places[low] + places[high]) / 2
        return min(line[low + 1 : high], key=lambda key: abs(places[key[number]] - halfway), default=None)


def _numeric(parameter: Parameter) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in parameter.values)


def _places(parameter: Parameter) -> list[float]:
    """Returns the place of each value, 0 to 1."""
    count = len(parameter.values)
    if count == 1:
        return [0.5]
    if not _numeric(parameter) or float(parameter.values[0]) <= 0:
        return [index / (count - 1) for index in range(count)]
    logs = [math.log(float(value)) for value in parameter.values]
    return [(log - logs[0]) / (logs[-1] - logs[0]) for log in logs]


def _plain(value: Value) -> tuple[str, Value]:
    """Keeps True apart from 1, and 16 together with 16.0."""
    return (type(value).__name__, value) if isinstance(value, bool | str) else ("number", float(value))
