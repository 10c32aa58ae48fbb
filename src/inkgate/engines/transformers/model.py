"""The port to a model in this process: a question goes in, pieces of its answer come out. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from inkgate.types import RgbArray


@dataclass(frozen=True, slots=True)
class TransformersSampling:
    """How tokens are chosen, as a chat request to vLLM says it; None: as the model's own settings say.

    `temperature` 0 takes the likeliest token. `top_k` under 1 is no limit. `pixels`: the least and the most that the
    image processor makes of an image.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int | None = None
    skip_special_tokens: bool = True
    pixels: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """A chat to be answered.

    Attributes:
        messages: as chat templates take them; images are `{"type": "image"}`.
        images: those that these stand for, in their order.
    """

    messages: Sequence[Mapping[str, object]]
    images: tuple[RgbArray, ...]
    sampling: TransformersSampling = field(default_factory=TransformersSampling)


@dataclass(frozen=True, slots=True)
class GeneratedPiece:
    """What one token (or the several that one character takes) adds to the answer, and its log-probability."""

    text: str
    logprob: float


@dataclass(frozen=True, slots=True)
class GenerationEnd:
    """How an answer ended, and what it cost in tokens."""

    reason: Literal["stop", "length"]
    prompt_tokens: int
    completion_tokens: int


class GenerativeModel(Protocol):
    """A loaded model. Called from one thread at a time."""

    def generate(
        self, question: ChatPrompt, heard: Callable[[GeneratedPiece], None], stopped: Callable[[], bool]
    ) -> GenerationEnd:
        """Answers `question`. Blocking. `heard` gets each piece as it comes; `stopped` is asked after each token
        whether anybody still waits, and ends the answer where nobody does.

        Raises:
            InputRejected: "upstream_rejected": the model can't take the question.
            EngineFailed: "engine_failed": the model failed on it.
        """
        ...
