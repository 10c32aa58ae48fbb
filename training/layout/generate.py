"""Write pages with exact truth: `python -m training.layout.generate OUT --pages N --seed S`."""

import argparse
import multiprocessing
import random
import time
from collections.abc import Callable
from pathlib import Path

from training.layout.drawing import Page
from training.layout.families import books, financial, forms, mail, press, prose, technical
from training.layout.printer import chromium, write
from training.layout.texts import LANGUAGES

FAMILIES: dict[str, Callable[[str, str], Page]] = {
    "article": prose.article,
    "paper": prose.paper,
    "bibliography": prose.bibliography,
    "newspaper": press.newspaper,
    "magazine": press.magazine,
    "gazette": press.gazette,
    "letter": mail.letter,
    "invoice": mail.invoice,
    "form": forms.form,
    "sheet": forms.sheet,
    "questionnaire": forms.questionnaire,
    "financial": financial.financial,
    "book": books.book,
    "contents": books.contents,
    "dictionary": books.dictionary,
    "certificate": books.certificate,
    "slide": technical.slide,
    "manual": technical.manual,
}
_LANGUAGE_WEIGHTS = {"en": 5, "de": 3, "zh": 2, "fa": 0.5, "ar": 0.7}


def plan(pages: int, seed: int, families: list[str]) -> list[tuple[str, str, str]]:
    """Family, language and seed of each page; families in turn, languages by weight."""
    rng = random.Random(f"plan-{seed}")
    weights = [_LANGUAGE_WEIGHTS.get(language, 1) for language in LANGUAGES]
    return [(families[i % len(families)], rng.choices(LANGUAGES, weights)[0], f"{seed}-{i:05}") for i in range(pages)]


def _print_share(share: list[tuple[str, str, str]], folder: Path) -> None:
    with chromium() as printer:
        for family, language, seed in share:
            name = f"{family}-{language}-{seed}"
            if (folder / f"{name}.structure.json").is_file():
                continue
            for attempt in range(6):
                printed = printer.print_page(FAMILIES[family](f"{name}-{attempt}", language))
                if printed:
                    pdf, truth = printed
                    write(
                        folder,
                        name,
                        pdf,
                        {**truth, "family": family, "language": language, "seed": f"{seed}-{attempt}"},
                    )
                    break
            else:
                print(f"{name}: no attempt fits its page", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    pages = plan(options.pages, options.seed, options.families.split(","))
    start = time.perf_counter()
    shares = [pages[n :: options.workers] for n in range(options.workers)]
    processes = [multiprocessing.Process(target=_print_share, args=(share, options.folder)) for share in shares]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    print(f"{len(pages)} pages in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
