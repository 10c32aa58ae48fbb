"""The only module that uses torch and transformers, which come with the extra `inkgate[transformers]`.

They are imported when a model is loaded. Their objects are `Any` here and do not leave this module.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import structlog

from inkgate.engines.transformers.chat import (
    ChatPrompt,
    GeneratedPiece,
    GenerationEnd,
    GenerativeModel,
    TransformersSampling,
)
from inkgate.errors import EngineFailed, InputRejected
from inkgate.installation import install_extra
from inkgate.settings import TransformersSettings

log = structlog.get_logger(__name__)

_PART = "\ufffd"
"""The tokenizer's placeholder for a character whose last bytes are in the next token."""
_LONGEST = 8
"""Number of tokens after which no more bytes are awaited: a character has at most 4, so the sign is in the text itself.
"""
_MAX_TOKENS = 4096
"""Maximum tokens of an answer if the request sets none."""
_SHOWN = 300
"""Maximum characters of a library's error message that are passed on."""


class Detokenizer:
    """Converts the tokens of one answer to text."""

    def __init__(self, decode: Callable[[Sequence[int]], str]) -> None:
        self._decode = decode
        self._context: list[int] = []
        self._new: list[int] = []
        self._logprobs: list[float] = []

    def feed(self, token: int, logprob: float) -> GeneratedPiece | None:
        """The new text; None while a character is incomplete, or for a token that is not shown."""
        self._new.append(token)
        self._logprobs.append(logprob)
        text = self._added()
        return None if text.endswith(_PART) and len(self._new) < _LONGEST else self._piece(text)

    def rest(self) -> GeneratedPiece | None:
        """The remaining text at the end: a character that was never completed, with its placeholder."""
        return self._piece(self._added()) if self._new else None

    def _added(self) -> str:
        before = self._decode(self._context)
        return self._decode(self._context + self._new)[len(before) :]

    def _piece(self, text: str) -> GeneratedPiece | None:
        if not text:
            # A special token: neither its text nor its probability counts.
            self._new.pop()
            self._logprobs.pop()
            return None
        logprob = sum(self._logprobs) / len(self._logprobs)
        self._context, self._new, self._logprobs = self._new, [], []
        return GeneratedPiece(text, logprob)


def load(
    name: str, settings: TransformersSettings, imported: Callable[[str], Any] = importlib.import_module
) -> GenerativeModel:
    """The model in the folder `name`, or of that name on the hub. Blocking; seconds to minutes.

    Raises:
        EngineFailed: "engine_not_installed"; "weights_missing"; "model_unusable": it can't be run, or not with these
            settings.
    """
    try:
        torch, library = imported("torch"), imported("transformers")
    except ImportError as error:
        missing = error.name or "its packages"
        detail = f"The engine `transformers` needs {missing}: {install_extra('transformers')}."
        raise EngineFailed("engine_not_installed", detail) from error
    # Its messages and progress bars would bypass the log.
    library.utils.logging.set_verbosity_error()
    library.utils.logging.disable_progress_bar()
    if settings.threads:
        torch.set_num_threads(settings.threads)
    device = settings.device or ("cuda" if torch.cuda.is_available() else "cpu")
    local = not settings.download
    try:
        processor = library.AutoProcessor.from_pretrained(name, local_files_only=local)
        model = library.AutoModelForImageTextToText.from_pretrained(name, local_files_only=local, dtype=settings.dtype)
        model = model.to(device).eval()
    except OSError as error:
        log.warning("weights_not_loaded", model=name, error=str(error))
        where = "on this machine" if local else "on this machine or on the hub"
        raise EngineFailed("weights_missing", f"The weights of {name!r} were not found {where}.") from error
    except Exception as error:
        log.exception("model_not_loaded", model=name, device=device)
        message = " ".join(str(error).split())[:_SHOWN]
        detail = f"transformers {library.__version__} can't run {name!r} on {device!r}: {message}."
        raise EngineFailed("model_unusable", detail) from error
    log.info("model_loaded", model=name, device=device, dtype=str(model.dtype), transformers=library.__version__)
    return _TransformersModel(torch, model, processor)


class _TransformersModel:
    """A GenerativeModel of transformers."""

    def __init__(self, torch: Any, model: Any, processor: Any) -> None:  # noqa: ANN401 - see the module
        self._torch = torch
        self._model = model
        self._processor = processor
        ends = model.generation_config.eos_token_id
        self._ends = frozenset(ends if isinstance(ends, list) else [ends])

    def generate(
        self, question: ChatPrompt, heard: Callable[[GeneratedPiece], None], stopped: Callable[[], bool]
    ) -> GenerationEnd:
        torch, sampling = self._torch, question.sampling
        inputs = self._inputs(question)
        prompt = int(inputs["input_ids"].shape[1])
        decode = partial(self._decode, skip_special_tokens=sampling.skip_special_tokens)
        watch = _TokenObserver(torch, Detokenizer(decode), self._ends, heard, stopped)
        penalty = sampling.repetition_penalty or self._model.generation_config.repetition_penalty or 1.0
        if sampling.seed is not None:
            torch.manual_seed(sampling.seed)
        try:
            with torch.inference_mode():
                output = self._model.generate(
                    **inputs,
                    **_choice(sampling),
                    max_new_tokens=sampling.max_tokens or _MAX_TOKENS,
                    # Penalties are applied here, after the watch has seen the model's own logits.
                    repetition_penalty=1.0,
                    logits_processor=[watch.scored, partial(_penalised, torch, prompt, penalty, sampling)],
                    stopping_criteria=[watch],
                )
        except RuntimeError as error:  # torch's own, such as out of GPU memory
            log.warning("model_failed", error=str(error))
            raise EngineFailed("engine_failed", "The model failed on this page; the log says why.") from error
        if (rest := watch.detokenizer.rest()) is not None:
            heard(rest)
        tokens = output[0, prompt:].tolist()
        return GenerationEnd("stop" if tokens and tokens[-1] in self._ends else "length", prompt, len(tokens))

    def _inputs(self, question: ChatPrompt) -> Any:  # noqa: ANN401 - a BatchEncoding
        """Tokens and patches, on the model's device. Raises InputRejected if the processor refuses the input."""
        pixels = question.sampling.pixels
        images = {"size": {"shortest_edge": pixels[0], "longest_edge": pixels[1]}} if pixels else {}
        try:
            text = self._processor.apply_chat_template(
                list(question.messages), add_generation_prompt=True, tokenize=False
            )
            inputs = self._processor(
                text=[text],
                images=list(question.images) or None,
                return_tensors="pt",
                # The template contains them. vLLM adds none to a chat either.
                text_kwargs={"add_special_tokens": False},
                images_kwargs=images,
            )
        except (ValueError, KeyError, TypeError) as error:
            log.warning("question_refused", error=str(error))
            raise InputRejected("upstream_rejected", f"The model's processor refused the page: {error}") from error
        inputs = inputs.to(self._model.device)
        return {name: self._typed(value) for name, value in inputs.items()}

    def _typed(self, tensor: Any) -> Any:  # noqa: ANN401 - a tensor
        return tensor.to(self._model.dtype) if tensor.is_floating_point() else tensor

    def _decode(self, tokens: Sequence[int], *, skip_special_tokens: bool) -> str:
        tokenizer = self._processor.tokenizer
        text = tokenizer.decode(
            list(tokens), skip_special_tokens=skip_special_tokens, clean_up_tokenization_spaces=False
        )
        return str(text)


class _TokenObserver:
    """Sees each generated token: a StoppingCriteria of `generate`, and the first of its logits processors."""

    def __init__(
        self,
        torch: Any,  # noqa: ANN401 - see the module
        detokenizer: Detokenizer,
        ends: frozenset[int],
        heard: Callable[[GeneratedPiece], None],
        stopped: Callable[[], bool],
    ) -> None:
        self.detokenizer = detokenizer
        self._torch = torch
        self._ends = ends
        self._heard = heard
        self._stopped = stopped
        self._logits: Any = None

    def scored(self, _: Any, logits: Any) -> Any:  # noqa: ANN401 - tensors
        """Stores the model's own logits of the next token, (1, vocabulary)."""
        self._logits = logits
        return logits

    def __call__(self, tokens: Any, _: Any, **__: Any) -> Any:  # noqa: ANN401 - tensors
        """Passes the last token on. Returns whether to stop, as a tensor (1,) of bool."""
        token = int(tokens[0, -1])
        if token not in self._ends:
            logits = self._logits[0].float()
            piece = self.detokenizer.feed(token, float(logits[token] - logits.logsumexp(0)))
            if piece is not None:
                self._heard(piece)
        return self._torch.full((1,), self._stopped(), dtype=self._torch.bool, device=tokens.device)


def _choice(sampling: TransformersSampling) -> dict[str, object]:
    """Arguments of `generate` for sampling; None leaves a value to the model's own settings."""
    if sampling.temperature == 0:
        return {"do_sample": False}
    given = {
        "do_sample": True,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": None if sampling.top_k is None else max(0, sampling.top_k),
    }
    return {name: value for name, value in given.items() if value is not None}


def _penalised(
    torch: Any,  # noqa: ANN401 - the module
    prompt: int,
    penalty: float,
    sampling: TransformersSampling,
    tokens: Any,  # noqa: ANN401 - a tensor, as logits processors get it
    logits: Any,  # noqa: ANN401 - as above
) -> Any:  # noqa: ANN401 - a tensor
    """The logits (1, vocabulary) after vLLM's penalties: the repetition penalty is a factor on tokens of prompt and
    answer, the presence and frequency penalties are differences on tokens of the answer only.
    """
    if penalty != 1.0:
        there = logits.gather(1, tokens)
        logits = logits.scatter(1, tokens, torch.where(there < 0, there * penalty, there / penalty))
    if sampling.presence_penalty or sampling.frequency_penalty:
        counts = torch.bincount(tokens[0, prompt:], minlength=logits.shape[1])
        logits = logits - sampling.frequency_penalty * counts - sampling.presence_penalty * (counts > 0)
    return logits
