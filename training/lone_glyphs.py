"""Draws single characters and fits the network of their shapes (engines/ppocr/glyphs.py).

    python training/lone_glyphs.py --fonts FOLDER --out lone_glyphs.npz

Needs PyTorch and fontTools. Draws every character of ALONE in up to three faces of each
family in FOLDER, small and large, blurred, noisy, compressed, on dark and light paper; without the families of the
judging half and without faces that look like theirs. Every ninth face is kept back and tells the accuracy.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from fontTools.ttLib import TTFont
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from inkgate.engines.ppocr.glyphs import SIDE, features_of, ink_of
from inkgate.page import RgbArray
from inkgate.runtimes.base import FloatArray

LEFT_OUT = re.compile(
    r"NimbusSans|heros|FreeSans|^Noto|OpenSans|Caladea|Charis|ClearSans|Karla|Quicksand|Cabin|P052|pagella|Bookman|bonum"
    r"|mononoki|Oxygen|D050|Standard|Symbol|Z003|Keyboard|chorus|OCR-?B|Kacst|ExtraLight|Hairline|Thin|SC|Initials|Math"
    r"|Condensed.*Oblique|LinLibertineO?.*[ZI]|LinBiolinum.*K|Arimo|Tinos|Cousine",
    re.IGNORECASE,
)
"""The judging half's families and their copies, symbols, and faces that other names stand for."""
PLAIN = re.compile(r"Regular|Roman$|Book$|^DejaVu|^PT|_R$|12-Reg")
FACES_A_FAMILY, TIMES = 3, 4
SIZES = (11, 13, 15, 18, 20, 22, 25, 28, 32, 38, 48, 60)
COLOURS = (*[(0, 255)] * 5, (60, 230), (30, 200), (255, 40), (255, 0), (90, 255))
"""Ink and paper."""
HIDDEN, EPOCHS, BATCH = 160, 12, 256
ALONE = (*map(chr, range(33, 127)), *(chr(code) for code in range(0xA1, 0x100) if code != 0xAD), *"€–—•…")
"""The printable characters of ASCII and Latin-1, and five more."""


def faces(folder: Path) -> dict[str, Path]:
    """Up to three faces of each family (seven letters of their names), upright ones first."""
    files = {path.stem: path for path in sorted(folder.rglob("*.[ot]tf")) if not LEFT_OUT.search(path.stem)}
    names = sorted(files)
    random.Random(5).shuffle(names)
    names.sort(key=lambda name: not PLAIN.search(name))
    kept, families = {}, Counter[str]()
    for name in names:
        families[name[:7]] += 1
        if families[name[:7]] <= FACES_A_FAMILY:
            kept[name] = files[name]
    return kept


def crop_of(character: str, font: ImageFont.FreeTypeFont, choice: random.Random) -> RgbArray | None:
    """A character as a page's crop may show it. None if the face draws nothing."""
    left, top, right, bottom = (round(side) for side in font.getbbox(character, anchor="ls"))
    if right <= left or bottom <= top:
        return None
    margin = max(3, round(font.size * 0.15)) + choice.randrange(3)
    ink, paper = choice.choice(COLOURS)
    image = Image.new("L", (right - left + 2 * margin, bottom - top + 2 * margin), paper)
    ImageDraw.Draw(image).text((margin - left, margin - top), character, ink, font, anchor="ls")
    return np.repeat(worn(np.asarray(image), font.size, choice)[:, :, None], 3, axis=2)


def worn(picture: NDArray[np.uint8], size: float, choice: random.Random) -> NDArray[np.uint8]:
    """A character blurred, scaled, tilted, noisy and compressed, each at times; enlarged as crops of lines are."""
    grey: NDArray[Any] = picture
    if choice.random() < 0.35:
        grey = cv2.GaussianBlur(grey, (0, 0), choice.uniform(0.4, 1.0) * max(1, size / 24))
    if choice.random() < 0.25:
        part = choice.uniform(0.6, 0.95)
        grey = cv2.resize(grey, None, fx=part, fy=part, interpolation=cv2.INTER_AREA)
    height, width = grey.shape
    if choice.random() < 0.3:
        tilt = cv2.getRotationMatrix2D((width / 2, height / 2), choice.uniform(-3, 3), 1)
        grey = cv2.warpAffine(grey, tilt, (width, height), borderMode=cv2.BORDER_REPLICATE)
    scale = min(max(1.0, 48 / height), 6)
    grey = cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_LINEAR)
    if choice.random() < 0.3:
        noise = np.random.default_rng(choice.randrange(2**32)).normal(0, choice.uniform(2, 14), grey.shape)
        grey = np.clip(grey + noise, 0, 255).astype(np.uint8)
    if choice.random() < 0.2:
        _, data = cv2.imencode(".jpg", grey, [cv2.IMWRITE_JPEG_QUALITY, choice.randrange(40, 85)])
        return np.asarray(cv2.imdecode(data, cv2.IMREAD_GRAYSCALE), np.uint8)
    return np.asarray(grey, np.uint8)


def drawn(files: dict[str, Path]) -> tuple[FloatArray, NDArray[np.int64], NDArray[np.int64]]:
    """Features (N, 402) of characters, their places in ALONE and the numbers of their faces."""
    choice = random.Random(0)
    rows, labels, numbers = [], [], []
    for number, path in enumerate(files.values()):
        has = TTFont(path, lazy=True).getBestCmap()
        for _ in range(TIMES):
            font = ImageFont.truetype(str(path), choice.choice(SIZES))
            for place, character in enumerate(ALONE):
                crop = crop_of(character, font, choice) if ord(character) in has else None
                ink = None if crop is None else ink_of(crop)
                if ink is not None:
                    rows.append(features_of(ink))
                    labels.append(place)
                    numbers.append(number)
    return np.stack(rows), np.array(labels), np.array(numbers)


def fitted(rows: FloatArray, labels: NDArray[np.int64], numbers: NDArray[np.int64]) -> torch.nn.Sequential:
    """The network. Prints the accuracy on faces that it did not see, in which equal shapes are half wrong."""
    torch.manual_seed(0)
    kept_back = torch.from_numpy(numbers % 9 == 0)
    x, y = torch.from_numpy(rows), torch.from_numpy(labels)
    seen, wanted = x[~kept_back], y[~kept_back]
    parts = (torch.nn.Linear(x.shape[1], HIDDEN), torch.nn.ReLU(), torch.nn.Dropout(0.1))
    network = torch.nn.Sequential(*parts, torch.nn.Linear(HIDDEN, len(ALONE)))
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3, weight_decay=0.02)
    steps = EPOCHS * (len(seen) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps, pct_start=0.2)
    for epoch in range(EPOCHS):
        network.train()
        order = torch.randperm(len(seen))
        for start in range(0, len(seen) - BATCH + 1, BATCH):
            part = order[start : start + BATCH]
            loss = torch.nn.functional.cross_entropy(network(moved(seen[part])), wanted[part], label_smoothing=0.005)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        network.eval()
        with torch.no_grad():
            right = (network(x[kept_back]).argmax(1) == y[kept_back]).float().mean()
        print(f"epoch {epoch}: {right:.3f} right of faces that were kept back")
    return network


def moved(rows: torch.Tensor) -> torch.Tensor:
    """Features with noise; of most batches a pixel to one side."""
    square = rows[:, : SIDE * SIDE].reshape(-1, SIDE, SIDE)
    side = int(torch.randint(0, 5, (1,)))
    if side:
        square = torch.roll(square, 1 if side < 3 else -1, dims=1 + side % 2)
    square = square.reshape(len(rows), -1) + 0.05 * torch.randn(len(rows), SIDE * SIDE)
    return torch.cat([square, rows[:, SIDE * SIDE :] + torch.tensor([0.05, 0.02]) * torch.randn(len(rows), 2)], dim=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fonts", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    network = fitted(*drawn(faces(arguments.fonts)))
    values = {name: value.numpy().astype(np.float16) for name, value in network.state_dict().items()}
    layers = {"w1": values["0.weight"].T, "b1": values["0.bias"], "w2": values["3.weight"].T, "b2": values["3.bias"]}
    np.savez_compressed(arguments.out, characters=np.array("".join(ALONE)), **layers)


if __name__ == "__main__":
    main()
