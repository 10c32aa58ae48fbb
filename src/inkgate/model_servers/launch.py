"""How vLLM is started for a model: what a preset says about it."""

from __future__ import annotations

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpeculativeDraft:
    """Describes how vLLM guesses tokens ahead with a draft of the model; the text stays the same.

    Attributes:
        method: vLLM's name for it: `dflash`, `mtp`.
        tokens: guessed at once.
        folder: of the draft inside the folder of the weights; empty: the draft is part of the weights.
        gpu_memory_utilization: with the draft, instead of that of Launch; None: the same.
    """

    method: str
    tokens: int
    folder: str = ""
    gpu_memory_utilization: float | None = None

    def flags(self, model: str) -> list[str]:
        """The flag of vLLM. `model`: folder of the draft; empty if it is part of the weights."""
        named = {"model": model} if model else {}
        config = {"method": self.method, **named, "num_speculative_tokens": self.tokens}
        return ["--speculative-config", json.dumps(config, separators=(",", ":"))]


@dataclass(frozen=True, slots=True)
class Launch:
    """Describes how vLLM is started for the model.

    Attributes:
        model: name on the model hub; None if only a folder can be given.
        flags: from the model's recipe, as written on the command line.
        newer_flags: flags without a value that older versions of vLLM neither have nor need: if vLLM rejects one as
            unknown, it is started without it.
        max_model_len: None: from the model's configuration.
        draft: for speculative decoding; None: the model has none.
    """

    model: str | None
    flags: tuple[str, ...] = ()
    max_model_len: int | None = None
    gpu_memory_utilization: float = 0.9
    max_num_seqs: int = 16
    newer_flags: tuple[str, ...] = ()
    draft: SpeculativeDraft | None = None

    def arguments(self) -> list[str]:
        """Command-line flags of vLLM's server, without the model, its name and the address."""
        length = [] if self.max_model_len is None else ["--max-model-len", str(self.max_model_len)]
        memory = ["--gpu-memory-utilization", f"{self.gpu_memory_utilization:g}"]
        return [*self.flags, *self.newer_flags, *length, *memory, "--max-num-seqs", str(self.max_num_seqs)]
