"""Trains the network of src/inkgate/documents/pdf/shapes.py on free fonts, and measures it on others.

Fonts are divided by family, before anything is drawn: `FAMILIES`. The network learns from the first part; the margins
in shapes.py are chosen on the second; the figures of `judge` are of the third, on which nothing was chosen.

The fonts come from Debian's packages; no file of them is kept, and weights are no copy of them. Unpack them in a folder
(`apt-get download`, `dpkg -x`). Their licences are the SIL Open Font License, the GPL with an exception for fonts, the
LaTeX Project and GUST licences, Apache 2.0, and Bitstream Vera's. Needs torch, fonttools and pypdfium2.

PYTHONPATH=src:tests python training/shapes.py draw FONTS DATA    # 700,000 characters in 5 minutes
PYTHONPATH=src:tests python training/shapes.py train FONTS DATA   # 12 epochs in 5 minutes; writes shapes.f16
PYTHONPATH=src:tests python training/shapes.py judge FONTS DATA [validate]
"""

from __future__ import annotations

import argparse
import random
import re
import string
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from fontTools.ttLib import TTFont

from inkgate.documents.pdf.shapes import ALPHABET, FEATURES, GRID, LAYERS, WEIGHTS, Shape, features, judge, likeness
from support.font_shapes import drawn_shapes

FAMILIES = {
    "learn": "Liberation Sans|FreeSans|Heros|Nimbus|Switzera|Liberation Serif|FreeSerif|Termes|STIX|Doulos|Cursor"
    "|FreeMono|Courier Prime|Latin Modern|Noto Sans|Noto Mono|Open Sans|Lato|Carlito|Roboto(?! Slab)|Pagella|P052"
    "|Junicode|JetBrains|Fira|Hermit|Agave|Anonymous|PT Sans|PT Mono|monofur|Nanum|Vollkorn|Universalis|Tuffy|Dosis"
    "|Averia|Yanone|EB Garamond|Jura|Accanthis|Mekanus|Romande|Artemisia|Fanwood|Charis|Quicksand",
    "validate": "Caladea|Liberation Mono|Bonum|Bookman|mononoki|Oxygen|Gillius|Berenis|Comfortaa|Play",
    "judge": "DejaVu|Hack|Verana|Noto Serif|Roboto Slab|Inter|Schola|C059|Century|Adventor|URW Gothic|League Mono"
    "|Inconsolata|Go( |$)|B612|PT Serif|IPA|Lexi|Karla|Cabin|Baskervald|Libertine|Biolinum|Cantarell|Didot|Libris"
    "|Old Standard|Goudy|Prociono|Andika|Routed",
}
"""Which part a family belongs to, by its name. Fonts of one design under two names are in one part."""
LEFT_OUT = r"Caps|Smallcaps|Titling|Keyboard|Symbols|D050000L|Z003|Chorus|Math|Bebas|Script|Romande ADF Style|Dunhill"
"""Capitals only, symbols, scripts."""
MAX_CUTS = 8
"""Of a family. A family of 40 weights is no 40 families."""
OTHERS = ',.;:-()&@#%$+=*?"<>~{}€£éüñöçåßæøœ§ΔΛΞΠΣΨΩλπφψБДЖИЛФЦШЩЮЯжщыю•†©'
"""What is none of the 62, and looks like none of them."""
SIZES = (6, 6.5, 7, 7.5, 8, 9, 10, 11, 12, 14, 16, 18, 24, 32, 40)
DPI = (100, 100, 110, 120, 150, 150, 150, 200)
PAGES = 16
"""Of each font, each of one size; the first has 6 points at 100 dpi."""
EPOCHS, BATCH, RATE, SEED = 12, 512, 3e-3, 0


@dataclass(frozen=True)
class Font:
    path: Path
    family: str
    part: str


@dataclass(frozen=True)
class DrawnPage:
    """Characters of a font at one size: numbers in ALPHABET (N,), features (N, FEATURES), and the em in pixels."""

    font: Font
    ems: float
    numbers: np.ndarray
    seen: np.ndarray


def fonts(folder: Path) -> list[Font]:
    """The text fonts in `folder` that have all letters and digits."""
    found, cuts = [], Counter()
    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in {".ttf", ".otf"})
    random.Random(1).shuffle(paths)
    for path in paths:
        if "noto-core" in str(path) and not re.match(r"Noto(Sans|Serif|SansDisplay|SansMono|SerifDisplay)-", path.name):
            continue  # of another script, with the letters of Noto Sans
        file = TTFont(path, lazy=True)
        family = file["name"].getBestFamilyName() or ""
        known = file.getBestCmap() or {}
        parts = [
            part for part, names in FAMILIES.items() if re.match(rf"({names})", family) or re.search(names, family)
        ]
        usable = (
            ("glyf" in file or "CFF " in file) and "fvar" not in file and all(ord(char) in known for char in ALPHABET)
        )
        if usable and parts and not re.search(LEFT_OUT, family) and cuts[family] < MAX_CUTS:
            cuts[family] += 1
            (part,) = parts
            found.append(Font(path, family, part))
    return found


def draw(folder: Path, data: Path) -> None:
    """Writes what the network sees of each font's characters: DATA/<number>.npz."""
    data.mkdir(exist_ok=True)
    with get_context("spawn").Pool(2) as pool:
        pool.starmap(partial(_draw_font, data), enumerate(fonts(folder)), chunksize=4)


def _draw_font(data: Path, number: int, font: Font) -> None:
    rng = random.Random(number)
    known = TTFont(font.path, lazy=True).getBestCmap()
    others = [char for char in OTHERS if ord(char) in known]
    pages = {}
    for page in range(PAGES):
        size, dpi = (rng.choice(SIZES), rng.choice(DPI)) if page else (6, 100)
        times = (3, 2, 20) if size <= 16 else (1, 1, 6)
        text = [*string.digits * times[0], *string.ascii_letters * times[1], *rng.choices(others, k=times[2])]
        rng.shuffle(text)
        shapes = drawn_shapes(font.path, "".join(text), size, dpi, rng, drawn=ALPHABET + "".join(others))
        shapes = [replace(shape, ink=_coloured(shape.ink, rng)) for shape in shapes]
        seen = np.concatenate([features(shapes[i : i + 64]) for i in range(0, len(shapes), 64)])
        pages[f"seen{page}"] = seen.astype(np.float16)
        pages[f"numbers{page}"] = np.array([_number(shape) for shape in shapes])
        pages[f"ems{page}"] = np.float32(size * dpi / 72)
    np.savez(data / f"{number}.npz", **pages)


def _number(shape: Shape) -> int:
    return ALPHABET.index(shape.text) if shape.text in ALPHABET else len(ALPHABET)


def _coloured(ink: np.ndarray, rng: random.Random) -> np.ndarray:
    """More than half of the crops in another colour, some of them light on dark."""
    if rng.random() < 0.45:
        return ink
    fore, ground = rng.randint(0, 255), rng.choice([255, 255, rng.randint(0, 255)])
    if abs(fore - ground) < 70:
        fore, ground = (0, 255) if rng.random() < 0.6 else (255, 0)
    return np.clip(fore + (ground - fore) * (ink / 255) + 0.5, 0, 255).astype(np.uint8)


def drawn_pages(folder: Path, data: Path, part: str) -> list[DrawnPage]:
    """The pages of the fonts of `part`, which `draw` wrote."""
    result = []
    for number, font in enumerate(fonts(folder)):
        if font.part == part:
            file = np.load(data / f"{number}.npz")
            for page in range(len(file.files) // 3):
                seen = file[f"seen{page}"].astype(np.float32)
                result.append(DrawnPage(font, float(file[f"ems{page}"]), file[f"numbers{page}"], seen))
    return result


def train(folder: Path, data: Path) -> None:
    """Trains, and writes the weights."""
    import torch

    torch.manual_seed(SEED)
    torch.set_num_threads(1)  # the layers are small: threads wait for each other
    pages = drawn_pages(folder, data, "learn")
    seen = torch.from_numpy(np.concatenate([page.seen for page in pages]))
    numbers = torch.from_numpy(np.concatenate([page.numbers for page in pages]))
    sizes = Counter()
    for page in pages:
        sizes[page.font.family] += len(page.numbers)
    weights = np.concatenate([np.full(len(page.numbers), sizes[page.font.family] ** -0.5) for page in pages])
    weight = torch.from_numpy((weights / weights.mean()).astype(np.float32))
    linear = [torch.nn.Linear(*layer) for layer in LAYERS]
    network = torch.nn.Sequential(linear[0], torch.nn.ReLU(), linear[1], torch.nn.ReLU(), linear[2])
    steps = len(numbers) // BATCH
    optimizer = torch.optim.AdamW(network.parameters(), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=EPOCHS * steps, pct_start=0.15)
    for epoch in range(EPOCHS):
        order, total = torch.randperm(len(numbers)), 0.0
        for chosen in order[: steps * BATCH].split(BATCH):
            scores = network(_disturbed(torch, seen[chosen]))
            losses = torch.nn.functional.cross_entropy(scores, numbers[chosen], reduction="none", label_smoothing=0.01)
            loss = (losses * weight[chosen]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        print(f"epoch {epoch + 1} of {EPOCHS}: loss {total / steps:.3f}", flush=True)
    numbers_of = [part.detach().numpy() for layer in linear for part in (layer.weight.T, layer.bias)]
    np.concatenate([part.ravel() for part in numbers_of]).astype("<f2").tofile(WEIGHTS)


def _disturbed(torch: ModuleType, seen: Any) -> Any:  # noqa: ANN401 - tensors of a package that is not installed
    """Noise on the ink, rules beside one in eight, and positions as of fonts with other ems; none, for one in 25."""
    count, ink = len(seen), FEATURES - 4
    seen[: count // 8] = _ruled(torch, seen[: count // 8])
    seen[:, :ink] += 0.04 * torch.randn(count, ink)
    seen[:, ink] += 0.06 * torch.randn(count)
    seen[:, ink + 1 : ink + 3] *= torch.exp(0.08 * torch.randn(count, 1))
    seen[:, ink + 1 : ink + 3] += 0.015 * torch.randn(count, 2)
    seen[torch.rand(count) < 0.04, ink + 1 : ink + 3] = 0
    return seen


def _ruled(torch: ModuleType, seen: Any) -> Any:  # noqa: ANN401
    """The same with a rule in the crop: mostly under the character, as of links and sums, or at another side."""
    rule, gap = 1 + int(torch.randint(3, ())), int(torch.randint(3, ()))
    side = ("below", "below", "below", "above", "right", "left")[int(torch.randint(6, ()))]
    is_upright, is_first = side in {"left", "right"}, side in {"above", "left"}
    grid = seen[:, : GRID * GRID].reshape(-1, GRID, GRID)
    grid = grid.transpose(1, 2) if is_upright else grid
    grid = grid.flip(1) if is_first else grid
    short = torch.nn.functional.interpolate(grid.transpose(1, 2), size=GRID - rule - gap, mode="linear").transpose(1, 2)
    ink = (0.4 + 0.6 * torch.rand(len(seen), 1, 1)).expand(-1, rule, GRID)
    grid = torch.cat([short, torch.zeros(len(seen), gap, GRID), ink], 1)
    grid = grid.flip(1) if is_first else grid
    grid = grid.transpose(1, 2) if is_upright else grid
    stretch = float(np.log(GRID / (GRID - rule - gap)))
    rest = seen[:, GRID * GRID :].clone()
    rest[:, 0] += -stretch if is_upright else stretch
    return torch.cat([grid.reshape(len(seen), -1), rest], 1)


def measure(folder: Path, data: Path, part: str) -> None:
    """Prints how often right and wrong maps are doubted: all fonts, and by size and family."""
    rng = np.random.default_rng(0)
    rows = defaultdict(list)
    pages = drawn_pages(folder, data, part)
    for page in pages:
        for samples in (1, 2):
            outcome = _outcome(page, samples, rng)
            size = "small (em under 12 px)" if page.ems < 12 else "large (em from 12 px)"
            for group in ("all", size, page.font.family):
                rows[group, samples].append(outcome)
    print(
        f"{part}: {len({page.font.family for page in pages})} families, {len({page.font.path for page in pages})} fonts"
    )
    print("| group | samples | fonts x sizes | right: a digit doubted | right: over a fifth of letters |"
          " two digits swapped: missed | one of them shown: missed | letters shifted: missed |")  # fmt: skip
    for (group, samples), outcomes in sorted(rows.items(), key=lambda row: (len(row[1]) * -1, row[0])):
        shares = " | ".join(f"{100 * share:.2f} %" for share in np.mean(outcomes, 0))
        print(f"| {group} | {samples} | {len(outcomes)} | {shares} |")


def _outcome(page: DrawnPage, samples: int, rng: np.random.Generator) -> list[float]:
    places = [np.flatnonzero(page.numbers == number) for number in range(len(ALPHABET))]
    chosen = np.concatenate([rng.permutation(place)[:samples] for place in places])
    shown, seen = page.numbers[chosen], likeness(page.seen[chosen])
    digits = shown < 10
    right = judge(_claim(shown, np.arange(62)), seen)
    letters = [char for char in right if char.isalpha()]
    both, single = [], []
    for turn in range(1, 10):  # in nine rounds every digit is claimed for every other
        rotated = np.arange(62)
        rotated[:10] = (rotated[:10] + turn) % 10
        found = judge(_claim(shown[digits], rotated), seen[digits])
        for digit in range(10):
            single.append(ALPHABET[(digit + turn) % 10] not in found)
            both.append((digit, (digit + turn) % 10, single[-1]))
    missed = {(shape, claimed) for shape, claimed, is_missed in both if is_missed}
    swaps = [(one, other) in missed and (other, one) in missed for one in range(10) for other in range(one)]
    shifts = []
    for turn in (1, 3, 13, 25):
        shifted = np.concatenate([np.arange(10), *(start + (np.arange(26) + turn) % 26 for start in (10, 36))])
        shifts.append(len(judge(_claim(shown[~digits], shifted), seen[~digits])) <= 52 / 5)
    return [any(char.isdigit() for char in right), len(letters) > 52 / 5, *map(np.mean, (swaps, single, shifts))]


def _claim(shown: np.ndarray, table: np.ndarray) -> list[str]:
    return [ALPHABET[number] for number in table[shown]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["draw", "train", "judge"])
    parser.add_argument("fonts", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("part", nargs="?", default="judge", choices=list(FAMILIES))
    given = parser.parse_args()
    if given.step == "draw":
        draw(given.fonts, given.data)
    elif given.step == "train":
        train(given.fonts, given.data)
    else:
        measure(given.fonts, given.data, given.part)


if __name__ == "__main__":
    main()
