"""Fit the trees that find fields: `python -m training.fields.fit FOLDER=RESULTS ... --out FILE`.

Each FOLDER has documents and their fields; its RESULTS are from observe.py. With --receipts, receipts as lines too
(JSON lines with `lines` and `fields`).
"""

import argparse
import json
import pickle
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from training.fields.examples import Example, Spans, cents_of, example
from training.fields.observe import observed
from training.trees import exported

from inkgate.fields.trade import amounts, hypotheses, parties
from inkgate.fields.trade.hypotheses import sets_of
from inkgate.fields.trade.reader import MEASURED, TYPES, Forests, likely, posterior, summed
from inkgate.runtimes.trees import BoostedTrees
from inkgate_client.types import Line, PageResult

FOLDS = 4
OF_REAL = 6.0
"""Weight of a real document that is the only one of its source."""
OF_REAL_SUMS = 4.0
"""What it counts more where sets of sums are compared: generated receipts add up more often than real ones."""
SURE = 0.95
TYPES_OF_NODES = {
    "features": np.uint8, "limits": np.float32, "left": np.uint16, "right": np.uint16, "values": np.float16,
    "roots": np.uint16, "start": np.float64, "depth": np.int64,
}  # fmt: skip
WITHOUT_TOTAL = 12
"""One document of so many is also learned without its total."""
TREES = {
    "total": 90,
    "subtotal": 70,
    "tax": 70,
    "shift": 50,
    "date": 50,
    "due_date": 40,
    "invoice_number": 70,
    "merchant_name": 120,
    "merchant_address": 90,
    "customer_name": 60,
    "customer_address": 60,
}


def load(pairs: Sequence[str], receipts: Path | None, cache: Path | None) -> list[Example]:
    if cache is not None and cache.is_file():
        kept: list[Example] = pickle.loads(cache.read_bytes())  # noqa: S301 - of this program
        return kept
    found = []
    for pair in pairs:
        folder, results = map(Path, pair.split("="))
        for name, truth, pages in observed(folder, results):
            found.append(example(name, source_of(name, truth), truth, pages))
            if truth.get("spans") and zlib.crc32(name.encode()) % WITHOUT_TOTAL == 0:
                found.append(example(name, source_of(name, truth), *without_total(truth, pages)))
    if receipts is not None:
        for row in receipts.read_text("utf-8").splitlines():
            loaded = json.loads(row)
            page = page_of(loaded["lines"])
            found.append(example(f"line-{loaded['id']}", source_of("", loaded), loaded, [page], 0.5))
    if cache is not None:
        cache.write_bytes(pickle.dumps(found))
    return found


def source_of(name: str, truth: Mapping[str, Any]) -> str:
    """Documents of one source have one family of layouts, or one merchant."""
    if truth.get("type") == "invoice" and "layout" in truth:
        return str(truth["layout"]).rstrip("0123456789")
    return (
        str(truth.get("layout") or "") or re.sub("[^a-z]", "", str(truth["fields"].get("company") or name).lower())[:7]
    )


def roles_of(examples: Sequence[Example]) -> list[str]:
    """The fields of which enough documents tell."""
    return [role for role in MEASURED if sum(role in each.known for each in examples) >= 50]


def without_total(truth: Mapping[str, Any], pages: Sequence[PageResult]) -> tuple[dict[str, Any], list[PageResult]]:
    """The document as if the lines with its total were cut off: then nothing else is the total."""
    spans = Spans(truth, pages)
    cut = []
    for page in pages:
        kept = tuple(line for line in page.lines if not spans.has(page.index, line.box, {"total", "due"}))
        cut.append(replace(page, lines=kept))
    fields = {name: value for name, value in truth["fields"].items() if name != "total"}
    return {**truth, "fields": fields}, cut


def weigh(examples: Sequence[Example]) -> None:
    """Weigh real documents by source: of forty receipts of one merchant each tells less than the only one of another."""
    counts = Counter(each.source for each in examples if is_real(each))
    for each in examples:
        if is_real(each):
            each.weight = OF_REAL / counts[each.source] ** 0.5


def is_real(example_: Example) -> bool:
    """Whether the document was not generated: then its truth tells only of some fields."""
    return "tax" not in example_.known


def type_of(example_: Example) -> str:
    """The document type; real documents are receipts."""
    return "receipt" if is_real(example_) or example_.name.startswith("receipt") else "invoice"


def page_of(lines: Sequence[Mapping[str, Any]]) -> PageResult:
    made = []
    for line in lines:
        q = line["quad"]
        made.append(Line(line["text"], ((q[0], q[1]), (q[2], q[3]), (q[4], q[5]), (q[6], q[7])), 0.95))
    return PageResult(0, lines=tuple(made))


def fold_of(source: str) -> int:
    return zlib.crc32(source.encode()) % FOLDS


def table(examples: Sequence[Example], role: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    kept = [each for each in examples if role in each.known and len(each.right[role])]
    x = np.vstack([each.measures[MEASURED[role]] for each in kept])
    y = np.concatenate([each.right[role] for each in kept])
    w = np.concatenate([np.full(len(each.right[role]), each.weight) for each in kept])
    return x, y, w


def mirrored(x: np.ndarray) -> np.ndarray:
    """Measures of lines as if the page were mirrored: what stands left may as well stand right."""
    at = {name: number for number, name in enumerate(parties.NAMES)}
    found = x.copy()
    for name in ("x", "side"):
        found[:, at[name]] = 1 - x[:, at[name]]
    found[:, at["left"]], found[:, at["right"]] = x[:, at["right"]], x[:, at["left"]]
    found[:, at["of_row"]] = x[:, at["cells_in_row"]] - 1 - x[:, at["of_row"]]
    return found


def fit_role(examples: Sequence[Example], role: str, seed: int = 0) -> HistGradientBoostingClassifier:
    x, y, w = table(examples, role)
    if MEASURED[role] == "line":
        x, y, w = np.vstack([x, mirrored(x)]), np.concatenate([y, y]), np.concatenate([w, w / 2])
    model = HistGradientBoostingClassifier(
        max_iter=TREES[role], max_leaf_nodes=16, max_depth=7, learning_rate=0.08, min_samples_leaf=12,
        l2_regularization=5.0, max_features=0.4, random_state=seed,
    )  # fmt: skip
    model.fit(x.astype(np.float32), y, sample_weight=w)
    return model


def predict(model: HistGradientBoostingClassifier, x: np.ndarray) -> np.ndarray:
    return model.predict_proba(x.astype(np.float32))[:, 1] if len(x) else np.zeros(0)


def sums_right(each: Example, found: hypotheses.SumSet) -> bool:
    """Whether the set has what the truth knows."""
    for role, value in (("total", found.total), ("subtotal", found.net), ("tax", found.tax)):
        if role in each.known and cents_of(each.truth.get(role)) != value:
            return False
    return True


def fit_sets(cases: Sequence[tuple[np.ndarray, np.ndarray, float]], rounds: int = 400) -> np.ndarray:
    """Weights of the measures of sets: of each document, the likelihood of the right ones among all, by gradient.
    `cases`: measures, which are right, and the weight of the document.
    """
    total = sum(weight for _, _, weight in cases)
    weights = np.zeros(len(hypotheses.NAMES))
    first = second = np.zeros_like(weights)
    for step in range(1, rounds + 1):
        gradient = 0.02 * weights
        for x, right, weight in cases:
            score = x @ weights
            p = np.exp(score - score.max())
            p /= p.sum()
            q = p * right
            if q.sum() <= 0:
                continue
            q /= q.sum()
            gradient += weight * (p - q) @ x / total * 10
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        weights = weights - 0.05 * first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
    return weights


def fold_models(examples: Sequence[Example], roles: Sequence[str]) -> list[dict[str, HistGradientBoostingClassifier]]:
    """By part, the trees that saw none of its sources."""
    found = []
    for number in range(FOLDS):
        train = [each for each in examples if fold_of(each.source) != number]
        found.append({role: fit_role(train, role) for role in roles})
    return found


def out_of_fold(
    examples: Sequence[Example], models: Sequence[Mapping[str, HistGradientBoostingClassifier]]
) -> list[dict[str, np.ndarray]]:
    """Of each example the probabilities by trees that saw none of its source."""
    chances = [{role: np.zeros(len(each.right[role])) for role in MEASURED} for each in examples]
    for each, chance in zip(examples, chances, strict=True):
        for role, model in models[fold_of(each.source)].items():
            measured = each.measures[MEASURED[role]]
            chance[role] = predict(model, measured)
            if MEASURED[role] == "amount":
                chance[role] = amounts.plausible(role, chance[role], measured)
    return chances


def cases_of(
    examples: Sequence[Example], chances: Sequence[Mapping[str, np.ndarray]]
) -> Iterator[tuple[Example, list[hypotheses.SumSet], np.ndarray, np.ndarray]]:
    for each, chance in zip(examples, chances, strict=True):
        sets = list(sets_of(likely(each.cents, chance)))
        x = np.array([found.measures for found in sets])
        yield each, sets, x, np.array([sums_right(each, found) for found in sets], dtype=float)


def report(
    examples: Sequence[Example], chances: Sequence[Mapping[str, np.ndarray]], weights: Mapping[str, np.ndarray]
) -> None:
    """Print how often the likeliest value is right, and how often it is with a probability above 0.95."""
    judged: dict[str, list[tuple[float, bool]]] = {}
    for each, sets, x, _ in cases_of(examples, chances):
        p = posterior(x, weights[type_of(each)])
        for role, values in (
            ("total", [found.total for found in sets]),
            ("subtotal", [found.net for found in sets]),
            ("tax", [found.tax for found in sets]),
        ):
            if role in each.known:
                best, chance = summed(values, p)[0]
                judged.setdefault(role, []).append((chance, best == cents_of(each.truth.get(role))))
    for each, by_role in zip(examples, chances, strict=True):
        for role, kind in MEASURED.items():
            if kind != "amount" and role in each.known and each.truth.get(role):
                at = int(np.argmax(by_role[role])) if len(by_role[role]) else -1
                found = (float(by_role[role][at]), bool(each.right[role][at])) if at >= 0 else (0.0, False)
                judged.setdefault(role, []).append(found)
    for role, results in judged.items():
        sure = [right for chance, right in results if chance > SURE]
        print(
            f"{role:18} {len(results):5} documents, right {100 * sum(right for _, right in results) / len(results):.1f} %;"
            f" above {SURE}: {len(sure)}, right {100 * sum(sure) / max(1, len(sure)):.1f} %"
        )


def arrays(model: HistGradientBoostingClassifier) -> dict[str, np.ndarray]:
    """The trees in the types that the file keeps."""
    kept = exported(model)
    return {name: np.array(kept[name], dtype=kind) for name, kind in TYPES_OF_NODES.items()}


def save(models: Mapping[str, HistGradientBoostingClassifier], weights: Mapping[str, np.ndarray], file: Path) -> None:
    kept = {f"{role}/{name}": value for role, model in models.items() for name, value in arrays(model).items()}
    kept |= {f"sums:{kind}": each.round(4) for kind, each in weights.items()}
    np.savez_compressed(file, **kept)  # type: ignore[arg-type] # of numpy's stubs
    print(file, file.stat().st_size, "bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", nargs="*")
    parser.add_argument("--receipts", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--folds", type=Path, help="where to keep the forests of the parts, for check.py")
    parser.add_argument("--out", type=Path, help="trees.npz")
    options = parser.parse_args()
    examples = load(options.pairs, options.receipts, options.cache)
    weigh(examples)
    roles = roles_of(examples)
    print(len(examples), "documents", roles)
    models = fold_models(examples, roles)
    chances = out_of_fold(examples, models)
    cases = [
        (x, right, each.weight * (OF_REAL_SUMS if is_real(each) else 1))
        for each, _, x, right in cases_of(examples, chances)
    ]
    print("right set among the candidates:", sum(right.any() for _, right, _ in cases), "of", len(cases))
    weights = {}
    for kind in sorted(TYPES):
        weights[kind] = fit_sets([case for case, each in zip(cases, examples, strict=True) if type_of(each) == kind])
        print(
            kind, {name: round(float(weight), 2) for name, weight in zip(hypotheses.NAMES, weights[kind], strict=True)}
        )
    report(examples, chances, weights)
    if options.folds is not None:
        made = [{role: BoostedTrees.of(arrays(model)) for role, model in by_role.items()} for by_role in models]
        options.folds.write_bytes(pickle.dumps([Forests(trees, weights) for trees in made]))
    if options.out is not None:
        save({role: fit_role(examples, role) for role in roles}, weights, options.out)


if __name__ == "__main__":
    main()
