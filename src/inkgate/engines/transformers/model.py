"""The port to a model in this process: takes a prompt, returns pieces of its answer. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from inkgate.types import RgbArray


@dataclass(frozen=True, slots=True)
class TransformersSampling:
    """Sampling parameters, named as in a chat request to vLLM; None: the model's own settings.

    `temperature` 0 takes the most likely token. `top_k` under 1 means no limit. `pixels`: minimum and maximum for the
    image processor.
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
        messages: in the form for chat templates; images are `{"type": "image"}`.
        images: the images of these placeholders, in order.
    """

    messages: Sequence[Mapping[str, object]]
    images: tuple[RgbArray, ...]
    sampling: TransformersSampling = field(default_factory=TransformersSampling)


@dataclass(frozen=True, slots=True)
class GeneratedPiece:
    """The text that one token (or several, for one character) adds to the answer, and its log-probability."""

    text: str
    logprob: float


@dataclass(frozen=True, slots=True)
class GenerationEnd:
    """How an answer ended, and its token usage."""

    reason: Literal["stop", "length"]
    prompt_tokens: int
    completion_tokens: int


class GenerativeModel(Protocol):
    """A loaded model. Called from one thread at a time."""

    def generate(
        self, question: ChatPrompt, heard: Callable[[GeneratedPiece], None], stopped: Callable[[], bool]
    ) -> GenerationEnd:
        """Answers `question`. Blocking. `heard` is called with each piece; `stopped` is called after each token and
        returns whether to end the answer because its caller has left.

        Raises:
            InputRejected: "upstream_rejected": the model can't process the prompt.
            EngineFailed: "engine_failed": the model failed on it.
        """
        ...
