"""Trains the network of src/inkgate/engines/ppocr/scripts.py on lines drawn with free fonts, and measures it on others.

Fonts are divided by family, before anything is drawn: those of JUDGE are never learned. Words come from the
translations of Debian's package iso-codes (names of countries, regions, languages and currencies), unpacked in WORDS.
No font is kept, and weights are no copy of them. Needs torch, fonttools and Pillow with Raqm.

PYTHONPATH=src python training/scripts.py draw FONTS WORDS DATA   # 95,000 lines
PYTHONPATH=src python training/scripts.py train DATA              # 14 epochs in 6 minutes; writes scripts.f16
PYTHONPATH=src python training/scripts.py judge DATA              # lines by script
"""

from __future__ import annotations

import argparse
import gettext
import random
import re
from collections import Counter, defaultdict
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path

import cv2
import numpy as np
from fontTools.ttLib import TTCollection, TTFont
from PIL import Image, ImageDraw, ImageFont

from inkgate.engines.ppocr.scripts import (
    LAYERS,
    MIN_PROBABILITY,
    NAMES,
    WEIGHTS,
    features,
    likeness,
    network,
    of_line,
    windows,
)

LANGUAGES = {
    "Latin": ("de", "fr", "es", "it", "pl", "cs", "vi", "tr", "sv", "fi", "pt", "hu", "id"),
    "Chinese or Japanese": ("zh_CN", "zh_TW", "ja"),
    "Hangul": ("ko",),
    "Cyrillic": ("ru", "ru", "uk", "bg", "sr", "be", "mk", "kk"),
    "Greek": ("el",),
    "Arabic": ("ar", "ar", "fa", "ur", "ps", "ug"),
    "Hebrew": ("he",),
    "Thai": ("th",),
    "Devanagari": ("hi", "mr", "ne", "kok", "mai"),
    "Bengali": ("bn", "as"),
    "Tamil": ("ta",),
    "Gujarati": ("gu",),
    "Gurmukhi": ("pa",),
    "Telugu": ("te",),
    "Kannada": ("kn",),
    "Malayalam": ("ml",),
    "Sinhala": ("si",),
    "Georgian": ("ka",),
    "Armenian": ("hy",),
    "Khmer": ("km",),
    "Lao": ("lo",),
    "Burmese": ("my",),
    "Ethiopic": ("am", "ti"),
}
LETTERS = {
    "Latin": r"[A-Za-zÀ-ɏḀ-ỿ]",
    "Chinese or Japanese": r"[぀-ヿ一-鿿]",
    "Hangul": r"[가-힣]",
    "Cyrillic": r"[Ѐ-ӿ]",
    "Greek": r"[Ͱ-Ͽἀ-῿]",
    "Arabic": r"[؀-ۿ]",
    "Hebrew": r"[֐-׿]",
    "Thai": r"[฀-๿]",
    "Devanagari": r"[ऀ-ॿ]",
    "Bengali": r"[ঀ-৿]",
    "Tamil": r"[஀-௿]",
    "Gujarati": r"[઀-૿]",
    "Gurmukhi": r"[਀-੿]",
    "Telugu": r"[ఀ-౿]",
    "Kannada": r"[ಀ-೿]",
    "Malayalam": r"[ഀ-ൿ]",
    "Sinhala": r"[඀-෿]",
    "Georgian": r"[Ⴀ-ჿ]",
    "Armenian": r"[԰-֏]",
    "Khmer": r"[ក-៿]",
    "Lao": r"[຀-໿]",
    "Burmese": r"[က-႟]",
    "Ethiopic": r"[ሀ-፿]",
}
CATALOGUES = ("iso_3166-1", "iso_3166-2", "iso_639-2", "iso_639-3", "iso_4217")
UNSPACED = ("Chinese or Japanese", "Thai", "Khmer", "Lao", "Burmese")
JUDGE = re.compile(
    r"DejaVu|NotoSerif|NotoLooped|PT[FMNSCZ]\d|Libertine|Biolinum|Didot|C059|schola|Caladea|Play|Inconsolata|OldStandard"
    r"|ukai|ipa|takao|Nanum|Amiri|Scheherazade|SILEOT|FrankRuehl|Arundina|sahadeva|Samyak|kalimati|Jamrul|Ani\.|Comic"
    r"|KhmerOSbattambang|PadaukBook|BPG_Nino|BPG_Serif|monofur|Vollkorn|Karla|Cabin|b612|roboto.?slab",
    re.IGNORECASE,
)
LEFT_OUT = re.compile(
    r"Keyboard|Symbol|D050000L|Z003|Stam|Muol|Jamo|Math|KacstArt|ae_Shado|Color|Quran|Supplement|Rashi"
)
MAX_FONTS = 90
LINES = defaultdict(
    lambda: 2200, {"Latin": 9000, "Cyrillic": 8000, "Greek": 5000, "Chinese or Japanese": 6000, "": 5000}
)
LINES["Hangul"] = LINES["Arabic"] = 3500
JUDGED = 400
EPOCHS, BATCH = 14, 256
Line = tuple[np.ndarray, int, bool]


@lru_cache
def words(folder: Path, script: str) -> dict[str, list[str]]:
    found = {}
    for language in set(LANGUAGES[script]):
        texts: list[str] = []
        for name in CATALOGUES:
            try:
                known = gettext.translation(name, folder, [language])
            except OSError:
                continue
            texts += [text for text in known._catalog.values() if isinstance(text, str)][1:]  # type: ignore[attr-defined]  # noqa: SLF001
        parts = {word for text in texts for word in text.split()}
        found[language] = sorted(
            word for word in parts if len(re.findall(LETTERS[script], word)) >= max(1, 0.7 * len(word))
        )
    return {language: parts for language, parts in found.items() if len(parts) > 30}


def sentence(rng: random.Random, folder: Path, script: str) -> str:
    known = words(folder, script)
    language = rng.choice([name for name in LANGUAGES[script] if name in known])
    if script == "Latin" and rng.random() < 0.25:
        return _numbers(rng)
    least, text = rng.randint(4, 26), ""
    gap = "" if script in UNSPACED and rng.random() < 0.7 else " "
    while len(text) < least:
        word = rng.choice(known[language])
        if script == "Chinese or Japanese" and rng.random() < 0.3:
            word = "".join(chr(rng.randint(0x4E00, 0x9FA5)) for _ in range(rng.randint(1, 4)))
        elif rng.random() < 0.06:
            word = _numbers(rng)[:8]
        word = word.lower() if rng.random() < 0.5 else word
        text += (gap if text else "") + word + rng.choice(["", "", "", "", "", ",", ".", ":"])
    return text.upper() if rng.random() < 0.15 else text


def _numbers(rng: random.Random) -> str:
    texts = (
        f"{rng.random() * 10 ** rng.randint(1, 6):,.2f}",
        f"{rng.randint(1, 31):02}.{rng.randint(1, 12):02}.{rng.randint(1950, 2030)}",
        f"{rng.randint(0, 99999)} x {rng.randint(1, 99)} {rng.choice(['EUR', '$', '%', 'kg', 'USD'])}",
        "".join(rng.choices("ABCDEFGHKLMNPRSTUXZ0123456789-/ ", k=rng.randint(6, 20))).strip() or "7",
    )
    return rng.choice(texts)


def fonts(folder: Path, samples: dict[str, set[str]]) -> dict[tuple[str, bool], list[tuple[str, int]]]:
    """Path and number in its file of the fonts of each script, for learning and for judging."""
    found = defaultdict(list)
    seen = set()
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() not in {".ttf", ".otf", ".ttc"} or path.name in seen or LEFT_OUT.search(path.name):
            continue
        seen.add(path.name)
        try:
            known = set(
                (TTCollection(path).fonts[0] if path.suffix == ".ttc" else TTFont(path, lazy=True)).getBestCmap()
            )
        except Exception:  # noqa: BLE001, S112
            continue
        for script, letters in samples.items():
            if len([1 for letter in letters if ord(letter) in known]) >= 0.97 * len(letters):
                found[script, bool(JUDGE.search(path.name))].append((str(path), 0))
    rng = random.Random(1)
    return {key: rng.sample(paths, min(len(paths), MAX_FONTS)) for key, paths in found.items()}


def drawn(rng: random.Random, text: str, font: tuple[str, int]) -> np.ndarray:
    """A line as a scan shows it, RGB."""
    face = ImageFont.truetype(font[0], rng.randint(18, 44), index=font[1])
    left, top, right, bottom = (int(side) for side in face.getbbox(text))
    wide, high = right - left, bottom - top
    if wide < 8 or high < 6 or wide > 4000:
        return np.zeros((0, 0, 3), np.uint8)
    across = int(high * rng.uniform(0, 0.25)) + 1
    page = Image.new("L", (wide + 2 * across + 8, high + 2 * across), 255)
    ImageDraw.Draw(page).text((across + 4 - left, across - top), text, font=face, fill=rng.randint(0, 90))
    return np.asarray(page)


def worn(rng: random.Random, grey: np.ndarray) -> np.ndarray:
    if rng.random() < 0.3:
        grey = np.asarray(
            Image.fromarray(grey).rotate(rng.uniform(-1.5, 1.5), Image.Resampling.BILINEAR, fillcolor=255)
        )
    factor = rng.uniform(11, 44) / grey.shape[0]
    if factor < 1:
        size = (max(4, round(grey.shape[1] * factor)), max(4, round(grey.shape[0] * factor)))
        grey = cv2.resize(grey, size, interpolation=cv2.INTER_AREA)
    if rng.random() < 0.4:
        grey = cv2.GaussianBlur(grey, (0, 0), rng.uniform(0.3, 1.1))
    if rng.random() < 0.15:
        grey = (cv2.erode if rng.random() < 0.6 else cv2.dilate)(grey, np.ones((2, 2), np.uint8))
    out = grey.astype(np.float32)
    if rng.random() < 0.5:
        out = 255 - (255 - out) * rng.uniform(0.3, 1) - rng.uniform(0, 60)
    if rng.random() < 0.5:
        out += np.random.default_rng(rng.randrange(10**9)).normal(0, rng.uniform(1, 18), out.shape)
    out = out.clip(0, 255)
    if rng.random() < 0.08:
        out = 255 - out
    out = out.astype(np.uint8)
    if rng.random() < 0.3:
        out = cv2.imdecode(cv2.imencode(".jpg", out, [cv2.IMWRITE_JPEG_QUALITY, rng.randint(30, 80)])[1], 0)
    return out


def no_text(rng: random.Random) -> np.ndarray:
    high, wide = rng.randint(20, 60), rng.randint(60, 500)
    page = Image.new("L", (wide, high), 255)
    draw = ImageDraw.Draw(page)
    kind = rng.randrange(6)
    if kind == 0:
        x = 0
        while x < wide:
            bar = rng.randint(1, 6)
            draw.rectangle((x, 0, x + bar, high), fill=0)
            x += bar + rng.randint(1, 6)
    elif kind == 1:
        noise = np.random.default_rng(rng.randrange(10**9)).integers(
            0, 256, (high // 4 + 2, wide // 4 + 2), dtype=np.uint8
        )
        return cv2.resize(noise, (wide, high), interpolation=cv2.INTER_CUBIC)
    elif kind == 2:
        points = [(rng.randint(0, wide), rng.randint(0, high)) for _ in range(rng.randint(3, 30))]
        draw.line(sorted(points) if rng.random() < 0.6 else points, fill=0, width=rng.randint(1, 4))
    else:
        for _ in range(rng.randint(2, 25)):
            x, y, size = rng.randint(0, wide), rng.randint(0, high), rng.randint(2, 40)
            shape = (draw.ellipse, draw.rectangle)[rng.randrange(2)]
            filled = {"fill": rng.randint(0, 180)} if rng.random() < 0.4 else {"outline": 0}
            shape((x, y, x + size, y + rng.randint(2, 40)), **filled)
            if kind == 5:
                draw.line((0, y, wide, y), fill=0, width=2)
    return np.asarray(page)


def draw_part(job: tuple[str, bool, int, int, list[tuple[str, int]]], folder: Path) -> list[Line]:
    """Windows of lines (N, 32, 128) uint8, the script's number, and whether they judge."""
    script, judge, count, seed, faces = job
    rng = random.Random(f"{script} {judge} {seed}")
    found: list[Line] = []
    while len(found) < count:
        grey = drawn(rng, sentence(rng, folder, script), rng.choice(faces)) if script else no_text(rng)
        if not grey.size:
            continue
        grey = worn(rng, grey)
        if script and rng.random() < 0.08:
            grey = np.ascontiguousarray(grey[::-1, ::-1])
        seen = windows(cv2.cvtColor(grey, cv2.COLOR_GRAY2RGB))
        if len(seen):
            kept = seen if judge else seen[rng.sample(range(len(seen)), min(2, len(seen)))]
            found.append(((kept * 255).astype(np.uint8), NAMES.index(script), judge))
    return found


def draw(folder: Path, catalogues: Path, data: Path) -> None:
    samples = {}
    for script in LANGUAGES:
        known = [words(catalogues, script)[name] for name in words(catalogues, script)]
        letters = "".join(sorted("".join(word for parts in known for word in parts)))
        counts = {letter: letters.count(letter) for letter in set(letters)}
        common = sorted(counts, key=lambda letter: -counts[letter])[: 60 if script != "Chinese or Japanese" else 900]
        samples[script] = {letter for letter in common if re.match(LETTERS[script], letter)}
    faces = fonts(folder, samples)
    jobs = []
    for script in NAMES:
        for judge, count in ((False, LINES[script]), (True, JUDGED)):
            chosen = faces.get((script, judge), [])
            print(script, judge, count, len(chosen), flush=True)
            if chosen or not script:
                jobs += [(script, judge, min(500, count - at), at, chosen) for at in range(0, count, 500)]
    with get_context("spawn").Pool(2) as pool:
        parts = pool.imap_unordered(partial(draw_part, folder=catalogues), jobs)
        lines = [line for part in parts for line in part]
    for judge in (False, True):
        chosen = [line for line in lines if line[2] == judge]
        np.savez(
            data / f"{'judge' if judge else 'learn'}.npz",
            windows=np.concatenate([line[0] for line in chosen]),
            script=np.array([line[1] for line in chosen]),
            count=np.array([len(line[0]) for line in chosen]),
        )


def train(data: Path) -> None:
    """Learns, and writes the weights."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    torch.set_num_threads(1)  # two wait for each other on a busy machine
    loaded = np.load(data / "learn.npz")
    parts = [
        features(part.astype(np.float32) / 255).astype(np.float16) for part in np.array_split(loaded["windows"], 300)
    ]
    seen = torch.from_numpy(np.concatenate(parts))
    script = torch.from_numpy(np.repeat(loaded["script"], loaded["count"]))
    print(len(seen), flush=True)
    first, second, last = (nn.Linear(*sizes) for sizes in LAYERS)
    layers = nn.ModuleList([first, second, last])
    steps = EPOCHS * (len(seen) // BATCH)
    optimizer = torch.optim.AdamW(layers.parameters(), 1e-3, weight_decay=0.02)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, steps, pct_start=0.15)
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.02)
    for epoch in range(EPOCHS):
        total = 0.0
        order = torch.randperm(len(seen))
        for part in order[: len(seen) // BATCH * BATCH].split(BATCH):
            x = nn.functional.dropout(torch.relu(first(seen[part].float())), 0.1)
            x = torch.relu(second(x))
            loss = loss_of(last(torch.cat([x.mean(1), x.amax(1)], 1)), script[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            rate.step()
            total += float(loss.detach())
        print(epoch, total / (len(seen) // BATCH), flush=True)
        numbers = [one.detach().numpy().T.ravel() for layer in layers for one in (layer.weight, layer.bias)]
        np.concatenate(numbers).astype("<f2").tofile(WEIGHTS)
    judge(data)


def judge(data: Path) -> None:
    """Of the judging fonts' lines, by script: how many are named rightly, not named, and named wrongly."""
    network.cache_clear()
    loaded = np.load(data / "judge.npz")
    ends = np.cumsum(loaded["count"])
    probabilities = np.concatenate(
        [np.zeros((0, len(NAMES)), np.float32)]
        + [likeness(part.astype(np.float32) / 255) for part in np.array_split(loaded["windows"], 40)]
    )
    lines = np.array([of_line(part) for part in np.split(probabilities, ends[:-1])])
    sure = lines.max(axis=1) >= MIN_PROBABILITY
    best = lines.argmax(axis=1)
    for number, name in enumerate(NAMES):
        own = loaded["script"] == number
        right, named = own & (best == number), own & sure
        wrong = Counter(NAMES[other] for other in best[named & (best != number)])
        counts = f"best {right.sum()} sure {(right & sure).sum()} sure and wrong {dict(wrong)}"
        print(f"{name or 'no text':20} {own.sum()} {counts}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["draw", "train", "judge"])
    parser.add_argument("folders", nargs="+", type=Path)
    args = parser.parse_args()
    if args.what == "draw":
        draw(*args.folders)
    elif args.what == "train":
        train(*args.folders)
    else:
        judge(*args.folders)
