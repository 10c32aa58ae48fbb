"""The cascade of recognizers: which words are read again, and how both readings become one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from inkgate.engines.ppocr.cascade import Cascade, LinePart, with_part
from inkgate.engines.ppocr.doubt import Words, measured
from inkgate.engines.ppocr.recognition import RecognizedText
from inkgate.page import RgbArray
from inkgate_client.concurrency import Threads

pytestmark = pytest.mark.anyio

BLOCK, APART, SPACE, MARGIN = 6, 9, 21, 10
"""Pixels of a character, between characters, between words, and before the first and after the last."""


def drawn(text: str) -> RgbArray:
    """A line whose characters are dark blocks. Their red level is the character."""
    columns = [np.full((MARGIN, 3), 255, np.uint8)]
    for character in text:
        if character == " ":
            columns.append(np.full((SPACE - APART, 3), 255, np.uint8))
            continue
        columns.append(np.tile(np.array([[ord(character), 0, 0]], np.uint8), (BLOCK, 1)))
        columns.append(np.full((APART, 3), 255, np.uint8))
    columns.append(np.full((MARGIN - APART, 3), 255, np.uint8))
    line = np.concatenate(columns)
    rgb = np.full((48, len(line), 3), 255, np.uint8)
    rgb[10:38] = line
    return rgb


def printed(crop: RgbArray) -> RecognizedText:
    """What is drawn in a crop, with its places."""
    row = crop[24]
    inked = np.concatenate([[False], row[:, 1] < 128, [False]])
    changes = np.flatnonzero(inked[1:] != inked[:-1])
    text, places, before = "", [], 0
    for start, end in zip(changes[::2], changes[1::2], strict=True):
        if text and start - before > (APART + SPACE) // 2:
            text += " "
            places.append((start + before) / 2)
        text += chr(row[start, 0])
        places.append((start + end) / 2)
        before = end
    return RecognizedText(text, np.ones(len(text), np.float32), (np.array(places) / len(row)).astype(np.float32))


@dataclass
class Careful:
    """Reads what is drawn, and remembers it."""

    texts: list[str] = field(default_factory=list)
    calls: int = 0

    async def predict(self, items: Sequence[RgbArray]) -> list[RecognizedText]:
        self.calls += bool(items)
        readings = [printed(item) for item in items]
        self.texts += [reading.text for reading in readings]
        return readings


@dataclass
class Quick:
    """Reads a word with an x as another one, with little confidence."""

    async def predict(self, items: Sequence[RgbArray]) -> list[RecognizedText]:
        return [self._misread(printed(item)) for item in items]

    @staticmethod
    def _misread(reading: RecognizedText) -> RecognizedText:
        words = reading.text.split(" ")
        misread = [word.replace("x", "#") for word in words]
        sure = [0.5 if "x" in word else 0.99 for word in words for _ in [*word, " "]]
        return replace(reading, text=" ".join(misread), confidences=np.array(sure[:-1] or sure, np.float32))


def doubts(readings: Sequence[RecognizedText], crops: Sequence[RgbArray]) -> tuple[Words, NDArray[np.float64]]:
    words, measures = measured(readings, crops)
    return words, 1 - measures[:, 0]


async def read(*texts: str) -> tuple[list[RecognizedText], Careful]:
    careful = Careful()
    cascade = Cascade(Quick(), careful, doubts, Threads("cascade", 1), limit=0.1)
    return await cascade.predict([drawn(text) for text in texts]), careful


async def test_only_doubtful_words_are_read_again() -> None:
    (found, sure), careful = await read("every worx counts in the end of it", "nothing to do")

    assert (found.text, sure.text) == ("every worx counts in the end of it", "nothing to do")
    assert careful.texts == ["every worx"]  # with a neighbour, as it is narrow
    assert careful.calls == 1


async def test_places_and_confidences_belong_to_the_characters() -> None:
    text = "some mixed words are to be read here by xo"
    (found,), careful = await read(text)

    expected = printed(drawn(text))
    assert found.text == expected.text == text
    width = drawn(text).shape[1]
    assert np.abs(found.positions - expected.positions).max() * width < 2
    assert found.positions.dtype == found.confidences.dtype == np.float32
    mixed = slice(text.index("mixed"), text.index("mixed") + 5)
    assert found.confidences[mixed].tolist() == [1.0] * 5
    assert found.confidences[text.index("words")] == pytest.approx(0.99)
    assert careful.texts == ["some mixed", "here by xo"]


async def test_adjacent_doubtful_words_are_one_crop() -> None:
    (found,), careful = await read("the tax taxi waited for a long time there")
    assert found.text == "the tax taxi waited for a long time there"
    assert careful.texts == ["tax taxi"]


async def test_a_line_that_is_mostly_doubtful_is_read_whole() -> None:
    (found,), careful = await read("xxx yyyx zx a")
    assert found.text == "xxx yyyx zx a"
    assert careful.texts == ["xxx yyyx zx a"]


@pytest.mark.parametrize("text", ["", "x", "fix"])
async def test_an_empty_or_lone_doubtful_word_is_read_whole(text: str) -> None:
    (found,), careful = await read(text)
    assert found.text == text
    assert careful.texts == [text]


async def test_no_lines_are_no_calls() -> None:
    found, careful = await read()
    assert (found, careful.calls) == ([], 0)


async def test_no_character_is_lost_or_doubled() -> None:
    chance = random.Random(3)
    texts = [
        " ".join("".join(chance.choices("abcdix", k=chance.randint(1, 7))) for _ in range(chance.randint(1, 12)))
        for _ in range(200)
    ]
    found, _ = await read(*texts)
    assert [reading.text for reading in found] == texts
    assert all(np.all(np.diff(reading.positions) > 0) for reading in found)


async def test_a_line_without_clear_gaps_is_read_whole() -> None:
    careful = Careful()
    crop = drawn("every worx counts in the end of it")
    crop[12:20, ::3] = 0  # stripes in all gaps
    await Cascade(Quick(), careful, doubts, Threads("cascade", 1), limit=0.1).predict([crop])
    assert careful.texts == ["every worx counts in the end of it"]


@dataclass
class Forgetful(Careful):
    """Reads parts of lines badly: nothing, or without their first character."""

    skipped: int = 0

    async def predict(self, items: Sequence[RgbArray]) -> list[RecognizedText]:
        readings = await super().predict(items)
        for at, reading in enumerate(readings):
            if len(reading.text) < 12:
                kept = slice(self.skipped, None)
                readings[at] = RecognizedText(reading.text[kept], reading.confidences[kept], reading.positions[kept])
        return readings


@pytest.mark.parametrize("skipped", [3, 100])
async def test_a_reading_that_does_not_fit_its_place_is_dropped_for_the_whole_line(skipped: int) -> None:
    text = "every worx counts in the end of it all"
    careful = Forgetful(skipped=skipped)
    (found,) = await Cascade(Quick(), careful, doubts, Threads("cascade", 1), limit=0.1).predict([drawn(text)])
    assert found.text == text
    assert careful.texts == ["every worx", text]


async def test_a_script_without_spaces_is_read_whole() -> None:
    class Han:
        async def predict(self, items: Sequence[RgbArray]) -> list[RecognizedText]:
            return [replace(printed(item), text="合计合计") for item in items]

    careful = Careful()
    await Cascade(Han(), careful, doubts, Threads("cascade", 1)).predict([drawn("abcd")])
    assert careful.texts == ["abcd"]


def test_spaces_around_a_part_are_dropped() -> None:
    line = RecognizedText("ab cd", np.ones(5, np.float32), np.array([0.1, 0.3, 0.5, 0.7, 0.9], np.float32))
    part = RecognizedText(" ad ", np.full(4, 0.5, np.float32), np.array([0.01, 0.4, 0.8, 0.99], np.float32))
    found = with_part(line, LinePart(3, 5, 50, 100), part, (48, 100))
    assert found is not None
    assert found.text == "ab ad"
    assert found.positions.tolist() == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9])
    assert found.confidences.tolist() == [1, 1, 1, 0.5, 0.5]


def test_lines_of_a_lone_space_have_no_words() -> None:
    readings = [
        RecognizedText(text, np.full(len(text), 0.9, np.float32), np.linspace(0, 1, len(text), dtype=np.float32))
        for text in ("abc", "def", " ", "")
    ]
    words, measures = measured(readings, [np.zeros((48, 96, 3), np.uint8)] * 4)
    assert words.lines.tolist() == [0, 1]
    assert np.isfinite(measures).all()
