"""python -m benchmarks.quality: accuracy, log-loss, calibration; writes docs/benchmarks/quality.md.

Every method runs with its default parameters. Truth is used to score, never to choose.
"""

from __future__ import annotations

import argparse
import platform
import warnings
from datetime import date
from pathlib import Path

import numpy as np

import crowdwise as cw
from crowdwise import registry, simulate

ROOT = Path(__file__).resolve().parents[2]


def methods() -> list[str]:
    return [name for name in registry.METHODS if not registry.card(name).needs]


def real(names: tuple[str, ...]) -> dict[tuple[str, str], cw.metrics.Evaluation]:
    """Scores of every method on every set."""
    scores = {}
    for name in names:
        data = cw.datasets.load(name)
        for method in methods():
            try:
                scores[method, name] = cw.evaluate(registry.method(method).fit(data.annotations), data.truth)
            except cw.DataError as refusal:
                print(f"{method} refuses {name}: {refusal}")
        print(name, " ".join(f"{m}={_shown(scores, m, name)}" for m in methods()), flush=True)
    return scores


def _shown(scores: dict, method: str, name: str) -> str:
    return f"{scores[method, name].expected_accuracy:.3f}" if (method, name) in scores else "–"


def planted(seeds: int) -> list[list[str]]:
    """Calibration and interval coverage where the model is right: one-coin workers, four classes."""
    rows = []
    for labels in (3, 5, 10):
        for name in ("majority_vote", "dawid_skene", "hierarchical", "committee"):
            found = []
            for seed in range(seeds):
                group = simulate.OneCoin(60, low=0.2, high=0.95, beta=(4.0, 2.5))
                crowd = simulate.crowd(1000, 4, [group], simulate.PerTask(labels), seed=seed)
                result = registry.method(name).fit(crowd.annotations)
                score = cw.evaluate(result, crowd.truth_table())
                true = np.einsum("wkk->w", crowd.confusion) / 4
                inside = ((result.skill_low <= true) & (true <= result.skill_high)).mean()
                found.append((score.expected_accuracy, score.log_loss, score.ece, inside))
            mean, spread = np.mean(found, axis=0), np.std(found, axis=0)
            rows.append([str(labels), name, *(f"{m:.3f} ± {s:.3f}" for m, s in zip(mean, spread, strict=True))])
            print(*rows[-1], flush=True)
    return rows


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def page(scores: dict, names: tuple[str, ...], calibration: list[list[str]], seeds: int) -> str:
    means = []
    partial = [m for m in methods() if any((m, name) not in scores for name in names)]
    for method in (m for m in methods() if m not in partial):
        own = [scores[method, name] for name in names]
        vote = [scores["majority_vote", name] for name in names]
        worse = sum(a.expected_accuracy < b.expected_accuracy - 0.01 for a, b in zip(own, vote, strict=True))
        figures = [np.mean([getattr(s, key) for s in own]) for key in ("expected_accuracy", "log_loss", "ece")]
        means.append([method, f"{figures[0]:.4f}", f"{figures[1]:.3f}", f"{figures[2]:.3f}", str(worse)])
    means.sort(key=lambda row: -float(row[1]))
    by_set = [[method, *(_shown(scores, method, name) for name in names)] for method in methods()]
    return f"""# Quality
`make bench-quality` ({date.today()}, crowdwise {cw.__version__}, numpy {np.__version__}, Python
{platform.python_version()}). Default parameters everywhere, the same for all sets; truth is used to score only.
Some defaults were settled with these sets in view, so their figures are no independent check: `strength_max` and
`prior_class` of `hierarchical` (dog, web, labelme, music, imagenet15, cf, zencrowd_in), the committee's members and
`doubt` (all), `mace`'s smoothing (14 sets), `minimax_entropy`'s strengths (ten), `m3v`'s strength and the EM steps of
`multi_spa` and `sym_nmf` (bluebird, rte, dog, web), `raykar_yu`'s charge and `glad`'s step cap.

## {len(names)} real data sets with independent truth
Accuracy with ties shared, log-loss in nats with probabilities clipped at 1e-6, calibration error over 15 equal bins;
means over the sets, and on how many of them a method is more than a point below majority vote.

{table(["method", "accuracy", "log-loss", "ECE", "sets > 1 point below the vote"], means)}
Not in the table, because they refuse some of the sets as too large or not theirs: {", ".join(partial) or "none"}.
Accuracy set by set:

{table(["method", *names], by_set)}
## Planted crowds where the model is right
1,000 tasks, 60 workers of accuracy .2 + .75 · Beta(4, 2.5) with uniform errors, four classes; mean ± standard deviation
over {seeds} seeds. Coverage: share of the 95 % skill intervals that hold the worker's true accuracy.

{table(["labels per task", "method", "accuracy", "log-loss", "ECE", "coverage"], calibration)}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "docs" / "benchmarks" / "quality.md")
    parser.add_argument("--quick", action="store_true", help="two small sets and two seeds")
    options = parser.parse_args()
    warnings.simplefilter("ignore", cw.ConvergenceWarning)
    names = ("bluebird", "dog") if options.quick else cw.datasets.INDEPENDENT
    seeds = 2 if options.quick else 20
    scores = real(names)
    options.output.write_text(page(scores, names, planted(seeds), seeds), encoding="utf-8")
    print(f"written to {options.output.name}")


if __name__ == "__main__":
    main()
