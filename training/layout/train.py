"""Trains the layout network (src/inkgate/layout/order/network.py) on observed pages, and measures it.

    PYTHONPATH=src:. python training/layout/train.py train OUT.npz --train OBSERVED=TRUTHS --valid OBSERVED=TRUTHS
    PYTHONPATH=src:. python training/layout/train.py judge WEIGHTS.npz --valid OBSERVED=TRUTHS ...

OBSERVED: what observe.py wrote. Needs PyTorch. One run with one seed gives the same weights on one machine.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as nn_f
from torch import Tensor, nn
from training.layout.examples import CLASS, LEVEL, Example, load, targets, varied

from inkgate.layout.order import tokens
from inkgate.layout.order.decode import learned_blocks
from inkgate.layout.order.network import CLASSES, HEADS, LAYERS, LEVELS, PAIR, WIDTH, forward
from inkgate.layout.order.tokens import pair_features, token_features

tokens.text_features = lru_cache(maxsize=None)(tokens.text_features)
MAX_PAIRS = 40_000
"""Pairs of a batch."""
RUNNING = {CLASSES.index(name) for name in ("header", "footer", "page_number")}


class Network(nn.Module):  # type: ignore[misc] # PyTorch is not installed where types are checked
    """As network.forward computes it, for a batch of padded pages."""

    def __init__(self, token_size: int, pair_size: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.parts = nn.ModuleDict()

        def linear(name: str, inputs: int, outputs: int) -> None:
            self.parts[name.replace(".", "_")] = nn.Linear(inputs, outputs)

        linear("pair", pair_size, PAIR)
        linear("bias", PAIR, LAYERS * HEADS)
        linear("token1", token_size, 2 * WIDTH)
        linear("token2", 2 * WIDTH, WIDTH)
        for layer in range(LAYERS):
            linear(f"qkv.{layer}", WIDTH, 3 * WIDTH)
            linear(f"out.{layer}", WIDTH, WIDTH)
            linear(f"up.{layer}", WIDTH, 2 * WIDTH)
            linear(f"down.{layer}", 2 * WIDTH, WIDTH)
            self.parts[f"norm1_{layer}"] = nn.LayerNorm(WIDTH)
            self.parts[f"norm2_{layer}"] = nn.LayerNorm(WIDTH)
        self.parts["norm"] = nn.LayerNorm(WIDTH)
        linear("pair_hidden", PAIR, PAIR)
        linear("first", WIDTH, PAIR)
        linear("second", WIDTH, PAIR)
        linear("pair_out", PAIR, 2)
        linear("ends", WIDTH, 2)
        linear("class", WIDTH, len(CLASSES))
        linear("level", WIDTH, LEVELS)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor, pairs: Tensor, mask: Tensor) -> dict[str, Tensor]:
        part = self.parts
        batch, count, _ = tokens.shape
        seen = torch.relu(part["pair"](pairs))
        bias = part["bias"](seen).view(batch, count, count, LAYERS, HEADS)
        bias = bias.masked_fill(~mask[:, None, :, None, None], -1e4)
        state = part["token2"](torch.relu(part["token1"](tokens)))
        for layer in range(LAYERS):
            query, key, value = (
                each.view(batch, count, HEADS, -1).transpose(1, 2)
                for each in part[f"qkv_{layer}"](part[f"norm1_{layer}"](state)).chunk(3, dim=2)
            )
            scores = query @ key.transpose(2, 3) / (WIDTH // HEADS) ** 0.5 + bias[:, :, :, layer].permute(0, 3, 1, 2)
            mixed = (torch.softmax(scores, 3) @ value).transpose(1, 2).reshape(batch, count, WIDTH)
            state = state + self.dropout(part[f"out_{layer}"](mixed))
            inner = torch.relu(part[f"up_{layer}"](part[f"norm2_{layer}"](state)))
            state = state + self.dropout(part[f"down_{layer}"](inner))
        state = part["norm"](state)
        hidden = part["pair_hidden"](seen) + part["first"](state)[:, :, None] + part["second"](state)[:, None]
        scores = part["pair_out"](torch.relu(hidden))
        return {
            "class": part["class"](state),
            "level": part["level"](state),
            "ends": part["ends"](state),
            "next": scores[..., 0],
            "order": scores[..., 1] - scores[..., 1].transpose(1, 2),
        }

    def weights(self) -> dict[str, Any]:
        """Matrices by the names of network.forward, (inputs, outputs)."""
        found = {}
        for name, module in self.parts.items():
            known = name.rsplit("_", 1)
            public = f"{known[0]}.{known[1]}" if known[-1].isdigit() else name
            weight = module.weight.detach().cpu().numpy()
            found[f"{public}.weight"] = (weight.T if weight.ndim == 2 else weight).astype(np.float16)
            found[f"{public}.bias"] = module.bias.detach().cpu().numpy().astype(np.float16)
        return found


def batch_of(examples: Sequence[Example]) -> dict[str, Tensor]:
    """Padded tensors; -1 where nothing is known."""
    most = max(len(example.labels) for example in examples)
    seen = [token_features(example.tokens) for example in examples]
    pairs = [pair_features(example.tokens) for example in examples]
    made = {
        "tokens": torch.zeros(len(examples), most, seen[0].shape[1]),
        "pairs": torch.zeros(len(examples), most, most, pairs[0].shape[2]),
        "mask": torch.zeros(len(examples), most, dtype=torch.bool),
        "class": torch.full((len(examples), most), -1),
        "level": torch.full((len(examples), most), -1),
        "after": torch.full((len(examples), most), -1),
        "ahead": torch.full((len(examples), most), -1),
        "before": torch.full((len(examples), most, most), -1, dtype=torch.int8),
    }
    for at, example in enumerate(examples):
        count = len(example.labels)
        after, ahead, before = targets(example)
        made["tokens"][at, :count] = torch.from_numpy(seen[at])
        made["pairs"][at, :count, :count] = torch.from_numpy(pairs[at])
        made["mask"][at, :count] = True
        made["class"][at, :count] = torch.from_numpy(example.labels[:, CLASS])
        made["level"][at, :count] = torch.from_numpy(example.labels[:, LEVEL])
        made["after"][at, :count] = torch.from_numpy(np.where(after == count, most, after))
        made["ahead"][at, :count] = torch.from_numpy(np.where(ahead == count, most, ahead))
        made["before"][at, :count, :count] = torch.from_numpy(before)
    return made


def loss_of(outputs: dict[str, Tensor], batch: dict[str, Tensor]) -> Tensor:
    mask, count = batch["mask"], batch["mask"].shape[1]
    own = torch.eye(count, dtype=torch.bool)[None]
    scores = outputs["next"].masked_fill(own | ~mask[:, None, :] | ~mask[:, :, None], -1e4)
    after = torch.cat([scores, outputs["ends"][:, :, :1]], 2)
    ahead = torch.cat([scores.transpose(1, 2), outputs["ends"][:, :, 1:]], 2)
    total = _entropy(outputs["class"], batch["class"]) + 0.2 * _entropy(outputs["level"], batch["level"])
    total = total + _entropy(after, batch["after"]) + _entropy(ahead, batch["ahead"])
    known = batch["before"] >= 0
    wrong = nn_f.binary_cross_entropy_with_logits(outputs["order"], (batch["before"] > 0).float(), reduction="none")
    # Each page counts the same whatever its number of pairs.
    per_page = (wrong * known).sum((1, 2)) / known.sum((1, 2)).clamp(min=1)
    return total + 2.0 * per_page.mean()


def _entropy(scores: Tensor, wanted: Tensor) -> Tensor:
    """The mean cross entropy of what is known; 0 if nothing is."""
    total = nn_f.cross_entropy(scores.flatten(0, 1), wanted.flatten(), ignore_index=-1, reduction="sum")
    return total / (wanted >= 0).sum().clamp(min=1)


def batches(examples: Sequence[Example], rng: random.Random) -> list[list[Example]]:
    """The examples in batches of pages of one size, in any order."""
    ordered = sorted(examples, key=lambda example: len(example.labels) * rng.uniform(0.9, 1.1))
    made: list[list[Example]] = [[]]
    for example in ordered:
        if made[-1] and (len(made[-1]) + 1) * len(example.labels) ** 2 > MAX_PAIRS:
            made.append([])
        made[-1].append(example)
    rng.shuffle(made)
    return made


def judge(weights: Mapping[str, Any], examples: Sequence[Example]) -> dict[str, dict[str, float]]:
    """Figures by family: pages whose order is right, wrong successors, borders of blocks, types."""
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for example in examples:
        seen = forward(weights, token_features(example.tokens), pair_features(example.tokens))
        after, _, before = targets(example)
        place = {id(piece): n for n, piece in enumerate(example.tokens.pieces)}
        blocks = learned_blocks(example.tokens, seen)
        found = [[place[id(piece)] for piece in block.pieces] for block in blocks]
        kind = {n: CLASSES.index(block.type) for block, own in zip(blocks, found, strict=True) for n in own}
        known = example.labels[:, CLASS] >= 0
        body = [n for own in found for n in own if known[n] and example.labels[n, CLASS] not in RUNNING]
        true = sorted(body, key=lambda n: int((before[n] == 1).sum()), reverse=True)
        follows = dict(zip(true, [*true[1:], -1], strict=True)) if true else {}
        wrong = sum(follows[i] != j for i, j in pairwise(body))
        links = {(i, j) for own in found for i, j in pairwise(own) if known[i] and known[j]}
        truth = {(i, int(j)) for i, j in enumerate(after) if 0 <= j < len(after)}
        for family in (example.family, "all"):
            row = sums[family]
            row["pages"] += 1
            row["right"] += body == true
            row["wrong"] += wrong
            row["successors"] += max(len(body) - 1, 0)
            row["links_right"] += len(links & truth)
            row["links"] += len(links) + len(truth)
            row["class_right"] += sum(kind[n] == example.labels[n, CLASS] for n in kind if known[n])
            row["known"] += int(known.sum())
            titles = {n for n in kind if known[n] and kind[n] == 0}
            real = {n for n in kind if example.labels[n, CLASS] == 0}
            row["titles_right"] += len(titles & real)
            row["titles"] += len(titles) + len(real)
    return {
        family: {
            "pages": row["pages"],
            "order_right_%": 100 * row["right"] / row["pages"],
            "wrong_successors_%": 100 * row["wrong"] / max(row["successors"], 1),
            "links_f1": 200 * row["links_right"] / max(row["links"], 1),
            "types_%": 100 * row["class_right"] / max(row["known"], 1),
            "titles_f1": 200 * row["titles_right"] / max(row["titles"], 1),
        }
        for family, row in sorted(sums.items())
    }


def show(figures: Mapping[str, Mapping[str, float]]) -> None:
    for family, row in figures.items():
        print(f"{family:24}", "  ".join(f"{name} {value:.1f}" for name, value in row.items()), flush=True)


def train(args: argparse.Namespace) -> None:
    """Trains in several processes, which share the weights and change them as they come (Hogwild), each with its own
    pages. With one process, a seed gives the same weights on one machine.
    """
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    network = Network(args.features[0], args.features[1])
    if args.start:
        resume(network, args.start)
    network.share_memory()
    context = torch.multiprocessing.get_context("fork")
    workers = [context.Process(target=learn, args=(network, args, number)) for number in range(args.processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    valid = [example for pair in args.valid for example in read(pair, set())]
    network.eval()
    np.savez_compressed(args.weights, **network.weights())
    show(judge({name: value.astype(np.float32) for name, value in network.weights().items()}, valid))


def learn(network: Network, args: argparse.Namespace, number: int) -> None:
    """Trains on this process's part of the pages; pages may be observed while the first ones are learned."""
    rng = random.Random(args.seed + number)
    torch.manual_seed(args.seed + number)
    known: set[str] = set()
    examples: list[Example] = []
    optimizer = torch.optim.AdamW(network.parameters(), lr=args.rate, weight_decay=0.01)
    began, step, share = time.monotonic(), 0, 0.0
    for epoch in range(args.epochs):
        found = [example for pair in args.train for example in read(pair, known, number, args.processes)]
        examples += [example for example in found if len(example.labels) > 1]
        network.train()
        started, total, done = time.monotonic(), 0.0, 0
        groups = batches(examples, rng)
        for at, group in enumerate(groups):
            share = (epoch + at / len(groups)) / args.epochs
            if args.minutes:
                share = min((time.monotonic() - began) / 60 / args.minutes, 1.0)
            step += 1
            for part in optimizer.param_groups:
                part["lr"] = args.rate * min(step / 50, 1.0) * max(0.02, (1 + math.cos(math.pi * share)) / 2)
            batch = batch_of([varied(example, rng) for example in group])
            loss = loss_of(network(batch["tokens"], batch["pairs"], batch["mask"]), batch)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            total, done = total + loss.item() * len(group), done + len(group)
            if share >= 1:
                break
        spent = time.monotonic() - started
        print(f"{number}: epoch {epoch + 1}: {len(examples)} pages, loss {total / done:.3f}, {spent:.0f} s", flush=True)
        if number == 0:
            np.savez_compressed(args.weights, **network.weights())
        if share >= 1:
            break


def resume(network: Network, file: Path) -> None:
    """Continues with stored weights."""
    with np.load(file) as stored, torch.no_grad():
        for name, module in network.parts.items():
            known = name.rsplit("_", 1)
            public = f"{known[0]}.{known[1]}" if known[-1].isdigit() else name
            weight = stored[f"{public}.weight"].astype(np.float32)
            if weight.ndim == 2:  # features that are new count for nothing yet
                weight = np.pad(weight, ((0, module.weight.shape[1] - len(weight)), (0, 0)))
            module.weight.copy_(torch.from_numpy(weight.T if weight.ndim == 2 else weight))
            module.bias.copy_(torch.from_numpy(stored[f"{public}.bias"].astype(np.float32)))


def read(pair: str, known: set[str], part: int = 0, parts: int = 1) -> list[Example]:
    """The examples of a part of OBSERVED=TRUTHS that are not yet known."""
    observed, truths = pair.split("=")
    return list(load(Path(observed), Path(truths), known, part, parts))


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("train", "judge"))
    parser.add_argument("weights", type=Path)
    parser.add_argument("--train", nargs="*", default=[])
    parser.add_argument("--valid", nargs="*", default=[])
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--start", type=Path)
    parser.add_argument("--minutes", type=float, default=0.0, help="ends after this time whatever the epochs")
    args = parser.parse_args()
    if args.action == "train":
        args.features = (85, 28)
        train(args)
        return
    with np.load(args.weights) as stored:
        weights = {name: stored[name].astype(np.float32) for name in stored.files}
    show(judge(weights, [example for pair in args.valid for example in read(pair, set())]))


if __name__ == "__main__":
    main()
