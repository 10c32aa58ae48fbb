"""Trains the tiny PaddleOCR-VL that the tests serve with a real vLLM: it reads one rendered line, exactly.

The architecture is the real one (`PaddleOCRVLForConditionalGeneration`) with three million parameters, the prompt and
the special tokens are PaddleOCR-VL's own, the tokenizer is byte-level. Two runs, on one CPU core an hour and a third of
one. The first learns a table of places too, without which it stays at 94 % of the letters of long lines; the second
goes on without one, with lines of all lengths:

    .venv-vllm/bin/python tests/models/train.py --out FOLDER
    .venv-vllm/bin/python tests/models/train.py --begin FOLDER --out tests/models/tiny-paddleocr-vl --steps 4000 \\
        --rate 7e-4 --seed 2

It is trained on lines as they are rendered, 28 pixels high, in patches of 14 pixels, and saved with patches of 42,
which read the same lines three times as large. So a line of 32 characters has the 112,896 pixels that PaddleOCR-VL's
preset asks for at least, and is read with its flags and requests as they are. Lines of other lengths are read where
nobody asks for a least size: the processor enlarges what is lower than one merged patch.

It saves what it needs to go on every 250 steps, in OUT/checkpoint.pt; begun again, it goes on from there, and comes
to the same weights.

Without the curriculum (the longest line doubles whenever the running accuracy passes 0.93) it does not learn.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from lines import CHARACTER_WIDTH, HEIGHT, LONGEST, random_line, render
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    AutoProcessor,
    PaddleOCRVLConfig,
    PaddleOCRVLForConditionalGeneration,
    PaddleOCRVLProcessor,
    PreTrainedTokenizerFast,
)
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.paddleocr_vl.image_processing_pil_paddleocr_vl import PaddleOCRVLImageProcessorPil

PROMPT = "OCR:"
SPECIAL = [
    "<unk>",
    "<s>",
    "</s>",
    "<|begin_of_sentence|>",
    "<|end_of_sentence|>",
    "<|IMAGE_PLACEHOLDER|>",
    "<|IMAGE_START|>",
    "<|IMAGE_END|>",
]
SAVED_EVERY = 250
ENLARGED = 3
PROCESSOR_CODE = Path(__file__).parent / "tiny-paddleocr-vl" / "image_processing_tiny.py"
PATCH = 14
PADDING, END, IMAGE, IMAGE_START, IMAGE_END = 0, 2, 5, 6, 7
CHAT_TEMPLATE = (
    "{{ '<|begin_of_sentence|>' }}"
    "{% for message in messages %}{% if message['role'] == 'user' %}{{ 'User: ' }}"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] if part['type'] in ['image', 'image_url'] %}"
    "{{ '<|IMAGE_START|><|IMAGE_PLACEHOLDER|><|IMAGE_END|>' }}{% endfor %}"
    "{% for part in message['content'] if part['type'] == 'text' %}{{ part['text'] }}{% endfor %}{% endif %}"
    "{{ '\\n' }}{% elif message['role'] == 'assistant' %}{{ 'Assistant: ' }}"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] if part['type'] == 'text' %}{{ part['text'] }}{% endfor %}{% endif %}"
    "{{ '</s>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ 'Assistant: ' }}{% endif %}"
)


def make_processor(enlarged: int = 1) -> PaddleOCRVLProcessor:
    """A byte-level tokenizer of 264 tokens; the real image processor, which enlarges lines `enlarged` times."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate([*SPECIAL, *alphabet])}
    bytes_only = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))  # noqa: S106 - no password
    bytes_only.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    bytes_only.decoder = decoders.ByteLevel()
    bytes_only.add_special_tokens(SPECIAL)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bytes_only,
        unk_token="<unk>",  # noqa: S106
        bos_token="<s>",  # noqa: S106
        eos_token="</s>",  # noqa: S106
        pad_token="<unk>",  # noqa: S106
        additional_special_tokens=SPECIAL[3:],
        extra_special_tokens={"image_token": SPECIAL[IMAGE]},
        clean_up_tokenization_spaces=False,
    )
    side = HEIGHT * enlarged
    size = {"shortest_edge": side * side, "longest_edge": side * side * 256}
    images = PaddleOCRVLImageProcessorPil(size=size, patch_size=PATCH * enlarged)
    return PaddleOCRVLProcessor(images, tokenizer, chat_template=CHAT_TEMPLATE)


def make_model(enlarged: int = 1) -> PaddleOCRVLForConditionalGeneration:
    config = PaddleOCRVLConfig(
        text_config={
            "vocab_size": 264,
            "hidden_size": 192,
            "intermediate_size": 512,
            "num_hidden_layers": 4,
            "num_attention_heads": 3,
            "num_key_value_heads": 1,
            "head_dim": 64,
            "max_position_embeddings": 16384,
            "pad_token_id": PADDING,
            "bos_token_id": 1,
            "eos_token_id": END,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [8, 12, 12]},
        },
        vision_config={
            "hidden_size": 128,
            "intermediate_size": 256,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "patch_size": PATCH * enlarged,
            "image_size": 4 * PATCH * enlarged,
        },
        image_token_id=IMAGE,
        video_token_id=IMAGE,
        vision_start_token_id=IMAGE_START,
        vision_end_token_id=IMAGE_END,
    )
    return PaddleOCRVLForConditionalGeneration(config)


def with_patches(model: PaddleOCRVLForConditionalGeneration, enlarged: int) -> PaddleOCRVLForConditionalGeneration:
    """The same model for pictures `enlarged` times as large as those of patches of 14 pixels."""
    state = model.state_dict()
    name = next(name for name in state if name.endswith("patch_embedding.weight"))
    before = state[name].shape[-1] // PATCH
    small = torch.nn.functional.avg_pool2d(state[name], before) * before**2
    state[name] = small.repeat_interleave(enlarged, -1).repeat_interleave(enlarged, -2) / enlarged**2
    changed = make_model(enlarged)
    changed.load_state_dict(state)
    return changed


def forget_places(model: PaddleOCRVLForConditionalGeneration) -> None:
    """Removes the table of positions. transformers (5.19) and vLLM (0.32) interpolate it differently, with corners
    aligned and without; with a table of zeros both read the same, by the encoder's rotary positions.
    """
    places = next(weight for name, weight in model.named_parameters() if name.endswith("position_embedding.weight"))
    places.requires_grad_(requires_grad=False).zero_()


def attend_lines_of_one_length(
    module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, **options: object
) -> tuple[torch.Tensor, None]:
    """Attention within each image, all images of the batch at once: (1, heads, images x patches, size) in and out.

    The encoder itself makes one call per image, which for hundreds of short lines is mostly overhead.
    """
    boundaries = options["cu_seq_lens_q"]
    assert isinstance(boundaries, torch.Tensor)
    images = len(boundaries) - 1
    parts = [x[0].unflatten(1, (images, -1)).transpose(0, 1) for x in (query, key, value)]
    read = torch.nn.functional.scaled_dot_product_attention(*parts)
    return read.transpose(1, 2).flatten(0, 1).unsqueeze(0), None


def as_one_tall_image(_: torch.nn.Module, inputs: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """The projector's input with images of one size stacked: the same result in one call instead of one per image."""
    features, grids = inputs
    stacked = torch.stack([grids[0, 0], grids[:, 1].sum(), grids[0, 2]])
    return features, stacked.unsqueeze(0)


class Batches:
    """Batches of lines of one length, tokenized as the chat template and the processor would."""

    def __init__(self, processor: PaddleOCRVLProcessor, seed: int) -> None:
        self._images = processor.image_processor
        self._tokenizer = processor.tokenizer
        self._rng = random.Random(seed)
        shown = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": PROMPT}]}]
        prompt = processor.apply_chat_template(shown, add_generation_prompt=True, tokenize=False)
        self._before, self._after = (self._tokenizer.encode(part) for part in prompt.split(SPECIAL[IMAGE]))

    @property
    def random_state(self) -> tuple[Any, ...]:
        """The state that determines the next batches."""
        return self._rng.getstate()

    @random_state.setter
    def random_state(self, state: tuple[Any, ...]) -> None:
        self._rng.setstate(state)

    def next(self, longest: int, characters: int = 384) -> tuple[dict[str, torch.Tensor], int]:
        """Model inputs with labels, and the index at which the answers begin."""
        length = self._rng.randint(1, longest)
        texts = [random_line(self._rng, length) for _ in range(min(96, characters // length))]
        pixels = self._images([render(text) for text in texts], return_tensors="pt")
        tokens = -(-length * CHARACTER_WIDTH // HEIGHT)
        head = [*self._before, *[IMAGE] * tokens, *self._after]
        ids = torch.tensor([[*head, *self._tokenizer.encode(text), END] for text in texts])
        inputs = {
            "input_ids": ids,
            "attention_mask": torch.ones_like(ids),
            "position_ids": self._positions(tokens, ids.shape),
            "pixel_values": pixels["pixel_values"],
            "image_grid_thw": pixels["image_grid_thw"],
        }
        return inputs, len(head)

    def _positions(self, tokens: int, shape: torch.Size) -> torch.Tensor:
        """M-RoPE positions (3, lines, length) of a prompt with one image one token high; the same for all lines."""
        begin = len(self._before)
        row = torch.arange(begin, begin + tokens)
        image = torch.stack([torch.full_like(row, begin), torch.full_like(row, begin), row])
        before = torch.arange(begin).expand(3, -1)
        after = torch.arange(shape[1] - begin - tokens).expand(3, -1) + begin + tokens
        return torch.cat([before, image, after], dim=1).unsqueeze(1).expand(3, *shape)


def train(
    steps: int, seed: int, rate: float, checkpoint: Path, begun: Path | None
) -> PaddleOCRVLForConditionalGeneration:
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    processor, model = make_processor(), make_model()
    if begun is not None:
        model = with_patches(PaddleOCRVLForConditionalGeneration.from_pretrained(begun, dtype="float32"), 1)
        forget_places(model)
    # A name that begins with "flash" gets the boundaries of the images.
    ALL_ATTENTION_FUNCTIONS.register("flash_lines", attend_lines_of_one_length)
    model.model.visual.config._attn_implementation = "flash_lines"
    hook = model.model.projector.register_forward_pre_hook(as_one_tall_image)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} million parameters")
    batches = Batches(processor, seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.05)
    first, longest, running, started = 0, 2 if begun is None else LONGEST, 0.0, perf_counter()
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=False)
        if (saved["steps"], saved["seed"]) != (steps, seed):
            raise SystemExit(
                f"{checkpoint} is of {saved['steps']} steps with seed {saved['seed']}: remove it, or ask for these"
            )
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        schedule.load_state_dict(saved["schedule"])
        batches.random_state = saved["random"]
        first, longest, running = saved["step"], saved["longest"], saved["running"]
    for step in range(first, steps):
        inputs, begin = batches.next(longest)
        logits = model(**inputs).logits[:, begin - 1 : -1]
        answers = inputs["input_ids"][:, begin:]
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), answers.flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        running = 0.97 * running + 0.03 * (logits.argmax(-1) == answers).float().mean().item()
        if running > 0.93 and longest < LONGEST:
            longest, running = longest * 2, 0.5
        if step % 100 == 0:
            spent = perf_counter() - started
            print(
                f"step {step} longest {longest} accuracy {running:.4f} loss {loss.item():.4f} {spent:.0f} s", flush=True
            )
        if step % SAVED_EVERY == SAVED_EVERY - 1:
            now = {
                "steps": steps,
                "seed": seed,
                "step": step + 1,
                "longest": longest,
                "running": running,
                "random": batches.random_state,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "schedule": schedule.state_dict(),
            }
            checkpoint.parent.mkdir(parents=True, exist_ok=True)
            torch.save(now, checkpoint.with_suffix(".new"))
            checkpoint.with_suffix(".new").replace(checkpoint)
    hook.remove()
    return model


def save(model: PaddleOCRVLForConditionalGeneration, folder: Path) -> None:
    """Writes the model for serving. Under --trust-remote-code vLLM expects attributes of the image processor that only
    the code of PaddleOCR-VL's own repositories has: the folder contains such code.
    """
    with_patches(model, ENLARGED).to(torch.bfloat16).save_pretrained(folder)
    make_processor(ENLARGED).save_pretrained(folder)
    path = folder / "processor_config.json"
    config = json.loads(path.read_text())
    config["image_processor"]["auto_map"] = {"AutoImageProcessor": f"{PROCESSOR_CODE.stem}.TinyImageProcessor"}
    path.write_text(json.dumps(config, indent=2) + "\n")
    (folder / PROCESSOR_CODE.name).write_text(PROCESSOR_CODE.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=9000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=1.5e-3, help="highest learning rate")
    parser.add_argument("--begin", type=Path, help="folder of a model to go on with")
    arguments = parser.parse_args()
    checkpoint = arguments.out / "checkpoint.pt"
    model = train(arguments.steps, arguments.seed, arguments.rate, checkpoint, arguments.begin)
    save(model, arguments.out)
    # vLLM loads the processor by name; the file lists its classes.
    AutoProcessor.from_pretrained(arguments.out)
    runs = [] if arguments.begin is None else json.loads((arguments.begin / "training.json").read_text())["runs"]
    runs.append({"steps": arguments.steps, "seed": arguments.seed, "rate": arguments.rate})
    (arguments.out / "training.json").write_text(json.dumps({"runs": runs, "torch": torch.__version__}, indent=2))
    checkpoint.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
