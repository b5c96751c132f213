"""docs/benchmarks/aggregation.md from the rows."""

from __future__ import annotations

import polars as pl

from crowdwise.core import method_registry as registry
from crowdwise.datasets import FIRST

from ..markdown import figures, table
from . import halves, ours, peer, resample, sets, tables

TUNED = """**What was tuned on what.** `adaptive`, the default: its constants were chosen with all 58 sets in view.
`committee`: its members were settled with all 58 sets in view, and its confidence, which `adaptive` uses too, was
learnt on them; the first table has it learnt without each set's family, and is the one to go by.
The table of all methods has the confidence as shipped, so its log-loss and calibration error are a little too good.
With some of the first 18 sets in view, and none of the others: `strength_max` and `prior_class` of `hierarchical` (dog,
web, labelme, music, imagenet15, cf, zencrowd_in), what `auto` fixes, `mace`'s smoothing (14 sets), `minimax_entropy`'s
strengths (ten), `m3v`'s strength and the EM steps of `multi_spa` and `sym_nmf` (bluebird, rte, dog, web), `raykar_yu`'s
charge and `glad`'s step cap. crowd-kit runs with its own defaults."""
PARTS = (
    ("accuracy", "Accuracy", 3),
    ("log_loss", "Log-loss", 2),
    ("ece", "Calibration error", 3),
    ("cpu", "CPU seconds", 2),
)


def page(
    rows: dict[str, pl.DataFrame], names: tuple[str, ...], bp_mf: str, facts: list[tuple[str, str]], first: str = ""
) -> str:
    """The whole page; `facts` say on what it was measured, `first` is what comes first."""
    fits = tables.by_set(rows["fits"])
    default = registry.DEFAULT
    main, ranks = tables.means(fits, names, default)
    seeds = sorted(
        {m for m, n in fits.filter(pl.col("side") == "crowdwise").select("method", "seeds").iter_rows() if n > 1}
    )
    cpu = {side: part["cpu"].sum() for (side,), part in rows["fits"].group_by("side")}
    subjective = tuple(name for name in sets.SUBJECTIVE if name in set(fits["set"]))
    parts = [
        "# Aggregation: quality",
        "Written by `make bench-quality` (`python -m benchmarks.quality`); do not edit by hand. The rows behind it are "
        "in [aggregation.parquet](aggregation.parquet) (fits), from which `--page` writes this page again.\n",
        table(["", "measured on"], [list(fact) for fact in facts]),
        first,
        "\n## What was run\nEvery registered method that needs no gold and every classification aggregator of "
        "crowd-kit 1.4.2 that needs none, default parameters, the same for all sets; truth is used to score only. "
        f"crowd-kit and the resampled crowds below have the first {len(FIRST)} sets. {TUNED}\n\n"
        f"Methods that draw ({', '.join(seeds) or 'none'}) count as the mean of {ours.SEEDS} seeds on sets of at most "
        f"{ours.LARGE:,} labels, of one on larger ones; crowd-kit's draw with their default "
        f"seed. A fit of ours is ended after {ours.LIMIT} CPU s (60 on the first sets), "
        f"and the slow ones ({', '.join(ours.SLOW)}) are not tried on later sets of over {ours.PATIENCE:,} labels; one "
        f"of crowd-kit after {peer.LIMIT}, and larger sets are then not tried. CPU s: one fit on each set, one "
        f"process, numba's cache warm; all fits behind this page took {cpu.get('crowdwise', 0) / 60:.1f} CPU minutes "
        f"for crowdwise and {cpu.get('crowd-kit', 0) / 60:.1f} for crowd-kit (what was ended not counted). "
        "Finished fits are kept while a method gives the same answers, so they are not all of one day.\n",
        f"## {len(names)} real data sets with independent truth\n"
        "Means over the sets of accuracy (ties shared), log-loss (nats, probabilities clipped at 1e-6), calibration "
        f"error (15 equal bins), and the sum of CPU seconds; on how many sets a method is more than a point below "
        f"majority vote; and the mean gain of the default, `{default}`, with the p-value of Wilcoxon's signed-rank "
        "test over sets after Holm's correction for all methods.\n",
        main,
        _ranks(ranks),
        "### Methods that did not run on every set\n",
        tables.partial(fits, names),
        *_by_set(fits, names),
    ]
    if subjective:
        parts += [
            f"\n## {len(subjective)} sets with subjective truth\nThe truth is the source's own aggregate of the same "
            "labels, so accuracy says how far a method is from the majority, and overturning it is no "
            "error as such.\n",
            tables.matrix(fits, subjective, "accuracy", 3),
        ]
    return "\n".join([*parts, *_sections(rows, default), bp_mf])


def left_out() -> str:
    """The default with families left out, as its own page's Parquet file has it; nothing where there is none."""
    kept = {f"{registry.DEFAULT}, the default": "default", "committee": "committee"}
    kept = {name: stem for name, stem in kept.items() if halves.rows_of(stem).exists()}
    if not kept:
        return ""
    own = {name: halves.read(stem) for name, stem in kept.items()}
    return (
        "\n## The default on families of sets left out\n" + halves.WORDS + "\n\n"
        + halves.beside(own, halves.fits()) + "\n\nMore of it on [its own page](default.md).\n"
    )  # fmt: skip


def _by_set(fits: pl.DataFrame, names: tuple[str, ...]) -> list[str]:
    """Every score of every method, the first sets and the others in tables of their own."""
    parts = []
    for column, title, digits in PARTS:
        for about, some in (("the first sets", [n for n in names if n in FIRST]),
                            ("the other sets", [n for n in names if n not in FIRST])):  # fmt: skip
            if some:
                parts += [f"\n### {title}, {about}\n", tables.matrix(fits, tuple(some), column, digits)]
    return parts


def _ranks(ranks: dict) -> str:
    found = ranks["accuracy"]
    return (
        f"\nMean ranks over {found.n_sets} sets, {len(found.rank)} methods. Friedman: p = {found.friedman:.1e}; two "
        f"mean ranks of accuracy differ at the 5 % level, all pairs at once, when they are {found.critical:.1f} apart "
        "(Nemenyi's critical difference). With so many methods that is a blunt tool: the paired test of the last "
        "column asks less.\n"
    )


def _sections(rows: dict[str, pl.DataFrame], default: str) -> list[str]:
    parts = []
    if len(rows["redundancy"]):
        own = rows["redundancy"]
        names = ", ".join(own["set"].unique(maintain_order=True))
        parts += [
            f"\n## Fewer labels per task\nMean accuracy / log-loss over {names} "
            f"with at most so many labels of every task, {own['seed'].n_unique()} random choices each.\n",
            tables.curves(own, resample.KEPT),
        ]
    for kind, title, about in (
        ("tasks", "Other tasks", "tasks drawn with replacement (a task drawn twice becomes two)"),
        ("workers", "Other workers", "four fifths of the workers, without replacement: a worker drawn twice would be a "
         "perfect copy, which no crowd has"),
    ):  # fmt: skip
        if len(rows[kind]):
            n = rows[kind]["set"].n_unique()
            parts += [
                f"\n## {title}\nMean over the {n} sets of at most {resample.LARGEST:,} labels, {about}; mean ± "
                f"standard deviation over {rows[kind]['seed'].n_unique()} draws, and how often the default is ahead.\n",
                tables.steadiness(rows[kind], default),
            ]
    parts += ["\n## Planted crowds where the model is right\n" + _planted(rows["planted"])]
    return parts


def _planted(rows: pl.DataFrame) -> str:
    lines = []
    for (labels, method), part in rows.group_by("labels", "method", maintain_order=True):
        cells = [f"{part[c].mean():.3f} ± {part[c].std():.3f}" for c in ("accuracy", "log_loss", "ece", "coverage")]
        lines.append([str(labels), str(method), *cells])
    return (
        "1,000 tasks, 60 workers of accuracy .2 + .75 · Beta(4, 2.5) with uniform errors, four classes; mean ± "
        f"standard deviation over {rows['seed'].n_unique()} seeds. Coverage: share of the 95 % skill intervals that "
        "hold the worker's true accuracy.\n\n"
        + figures(["labels per task", "method", "accuracy", "log-loss", "ECE", "coverage"], lines)
        + "\n"
    )
