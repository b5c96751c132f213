"""docs/benchmarks/aggregation.md from the rows."""

from __future__ import annotations

import polars as pl

from crowdwise.aggregate import registry

from ..markdown import figures, table
from . import ours, peer, resample, sets, tables

TUNED = """Some defaults were settled with these sets in view, so their figures are no independent check:
`strength_max` and `prior_class` of `hierarchical` (dog, web, labelme, music, imagenet15, cf, zencrowd_in),
whatever `committee` and `auto` fix ([committee](../methods/committee.md) says what, and gives the figures
with each set left out), `mace`'s smoothing (14 sets), `minimax_entropy`'s strengths (ten), `m3v`'s strength
and the EM steps of `multi_spa` and `sym_nmf` (bluebird, rte, dog, web), `raykar_yu`'s charge and `glad`'s
step cap. crowd-kit runs with its own defaults."""


def page(rows: dict[str, pl.DataFrame], names: tuple[str, ...], bp_mf: str, facts: list[tuple[str, str]]) -> str:
    """The whole page; `facts` say on what it was measured."""
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
        "in [aggregation.parquet](aggregation.parquet) (fits), from which `--page` writes this page anew.\n",
        table(["", "measured on"], [list(fact) for fact in facts]),
        f"\nEvery registered method that needs no gold and every classification aggregator of crowd-kit 1.4.2 that "
        f"needs none, default parameters, the same for all sets; truth is used to score only. {TUNED}\n\n"
        f"Methods that draw ({', '.join(seeds) or 'none'}) count as the mean of {ours.SEEDS} seeds on sets of at most "
        f"{ours.LARGE:,} labels, of one on larger ones; crowd-kit's draw with their default "
        f"seed. A fit of ours is ended after {ours.LIMIT} CPU s, one of crowd-kit after "
        f"{peer.LIMIT}, and larger sets are then not tried. CPU s: one fit on each set, one process, numba's "
        f"cache warm; all fits behind this page took {cpu.get('crowdwise', 0) / 60:.1f} CPU minutes for crowdwise and "
        f"{cpu.get('crowd-kit', 0) / 60:.1f} for crowd-kit (what was ended not counted).\n",
        f"## {len(names)} real data sets with independent truth\n"
        "Means over the sets of accuracy (ties shared), log-loss (nats, probabilities clipped at 1e-6), calibration "
        f"error (15 equal bins), and the sum of CPU seconds; on how many sets a method is more than a point below "
        f"majority vote; and the mean gain of the default, `{default}`, with the p-value of Wilcoxon's signed-rank "
        "test over sets after Holm's correction for all methods.\n",
        main,
        _ranks(ranks),
        "### Methods that did not run on every set\n",
        tables.partial(fits, names),
        "\n### Accuracy set by set\n",
        tables.matrix(fits, names, "accuracy", 3),
        "\n### Log-loss set by set\n",
        tables.matrix(fits, names, "log_loss", 2),
        "\n### Calibration error set by set\n",
        tables.matrix(fits, names, "ece", 3),
        "\n### CPU seconds set by set\n",
        tables.matrix(fits, names, "cpu", 2),
    ]
    if subjective:
        parts += [
            f"\n## {len(subjective)} sets with subjective truth\nThe truth is the source's own aggregate of the same "
            "labels, so accuracy says how far a method is from the majority, and overturning it is no "
            "error as such.\n",
            tables.matrix(fits, subjective, "accuracy", 3),
        ]
    return "\n".join([*parts, *_sections(rows, default), bp_mf])


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
