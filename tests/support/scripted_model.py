"""A model in this process with scripted answers."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from inkgate.engines.transformers.chat import ChatPrompt, GeneratedPiece, GenerationEnd


@dataclass(frozen=True)
class ScriptedAnswer:
    """An answer: its pieces, and how it ends or what is raised after them."""

    pieces: Iterable[str]
    reason: Literal["stop", "length"] = "stop"
    raised: Exception | None = None
    logprob: float = -0.1


class ScriptedModel:
    """A GenerativeModel: the first prompt gets the first answer, and so on; the last answer is repeated."""

    def __init__(self, *answers: ScriptedAnswer) -> None:
        self._answers = list(answers)
        self._inside = 0
        self.questions: list[ChatPrompt] = []
        self.most_at_once = 0
        self.threads: set[str] = set()
        self.ended_early = threading.Event()

    def generate(
        self, question: ChatPrompt, heard: Callable[[GeneratedPiece], None], stopped: Callable[[], bool]
    ) -> GenerationEnd:
        self.questions.append(question)
        self.threads.add(threading.current_thread().name)
        self._inside += 1
        self.most_at_once = max(self.most_at_once, self._inside)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        count = 0
        try:
            for text in answer.pieces:
                heard(GeneratedPiece(text, answer.logprob))
                count += 1
                if stopped():
                    self.ended_early.set()
                    break
        finally:
            self._inside -= 1
        if answer.raised is not None:
            raise answer.raised
        return GenerationEnd(answer.reason, 10, count)


def numbered() -> Iterator[str]:
    """Infinitely many distinct pieces."""
    return (f"{number} " for number in itertools.count())
