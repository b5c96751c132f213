"""deepBP, Figures 4 and 8: how sure mean field is, how badly it can end, and sampled against exact messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import polars as pl

import crowdwise as cw

from .deepbp_inference import infer
from .experiment import Cell, Claim, Experiment, Plot, Scale, mean_table
from .regular import regular_crowd
from .verdict import judged, mean_of

FAILED = 0.6  # a crowd that votes at 70 % has nothing to do below
MANY = "MF two-coin, 10 starts"


class WorstCases(Experiment):
    """Figure 4."""

    name = "deepbp_fig4"
    paper = "deepBP"
    title = "Figure 4: overconfidence, worst cases, what becomes of the spammer"
    about = """
The crowd of Figure 3 a: Beta(2, 1) on the (3, 4)-regular graph and one spammer who labels all 1,000 tasks by a coin;
models believe in Beta(2, α2). *sure*: share of tasks with a posterior above .95; *excess*: mean confidence less
accuracy; *spammer*: accuracy as the model sees it (truth: .5), the mean diagonal of the confusion matrix. MF starts
from the votes; *10 starts* adds nine random ones and keeps the best bound, so a failure there is no bad luck of the
start: the bound itself prefers it. 100 seeds, as in the paper."""
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 100, "paper": 100}
    methods = ("MF two-coin", "MF one-coin", "BP one-coin", MANY)

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """The true prior and two that are wrong."""
        for a in (1.4,) if scale == "smoke" else (1.0, 1.2, 1.4):
            for method in self.methods:
                yield {"alpha2": a, "method": method}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """What one method believes of tasks and spammer."""
        n = 200 if scale == "smoke" else 1000
        votes, truth = regular_crowd(cell["seed"], (2.0, 1.0), spammers=1, n=n)
        if cell["method"] == MANY:
            model = cw.classes.MeanField(
                coin="two", prior_diagonal=2, prior_off=cell["alpha2"], n_init=10, seed=cell["seed"]
            )
            result = model.fit(votes)
        else:
            result = infer(cell["method"], votes, (2.0, cell["alpha2"]))
        accuracy, top = float((result.labels == truth).mean()), result.posterior.max(1)
        assert result.confusion is not None
        return {
            "accuracy": accuracy, "sure": float((top > 0.95).mean()), "excess": float(top.mean()) - accuracy,
            "spammer": float(np.diag(np.asarray(result.confusion)[-1]).mean()),
        }  # fmt: skip

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """Means, worst cases, spammers in failed runs."""
        worst = rows.group_by("method", "alpha2", maintain_order=True).agg(
            (100 * pl.col("accuracy").min()).round(1).alias("worst"),
            (100 * pl.col("accuracy").quantile(0.1)).round(1).alias("10 %"),
            (100 * pl.col("accuracy").median()).round(1).alias("median"),
            (pl.col("accuracy") < FAILED).sum().alias("failed"),
            ((pl.col("accuracy") < FAILED) & (pl.col("spammer") < 0.3)).sum().alias("of these: an adversary"),
            ((pl.col("accuracy") < FAILED) & (pl.col("spammer") > 0.7)).sum().alias("of these: an expert"),
        )
        return [
            ("Accuracy over the seeds, and what a failed run takes the spammer for", worst),
            ("Share of tasks that the method is sure of, in per cent", mean_table(rows, ["method"], "alpha2", "sure")),
            ("Confidence less accuracy, in points", mean_table(rows, ["method"], "alpha2", "excess")),
            ("The spammer's accuracy as seen (truth 50)", mean_table(rows, ["method"], "alpha2", "spammer")),
        ]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """Overconfident, far worse at worst, and wrong about the spammer."""
        alphas = sorted(rows["alpha2"].unique().to_list())
        low = rows.group_by("method", "alpha2").agg(
            pl.col("accuracy").min().alias("worst"), pl.col("accuracy").median().alias("typical")
        )
        failed = rows.filter(pl.col("accuracy") < FAILED).with_columns(adversary=pl.col("spammer") < 0.3)

        def at(value: str, method: str, table: pl.DataFrame = rows) -> list[float]:
            return [100 * mean_of(table, value, {"method": method, "alpha2": a}) for a in alphas]

        mf, bp = ({v: at(v, m, t) for v, t in (("excess", rows), ("accuracy", rows), ("worst", low), ("typical", low))}
                  for m in ("MF two-coin", "BP one-coin"))  # fmt: skip
        sure, worst = (
            "; ".join(
                f"α2 {a}: MF {x:{sign}.1f}, BP {y:{sign}.1f}" for a, x, y in zip(alphas, mf[v], bp[v], strict=True)
            )
            for v, sign in (("excess", "+"), ("worst", ""))
        )
        gaps = [[b - m for m, b in zip(mf[v], bp[v], strict=True)] for v in ("worst", "typical")]
        place = next((i for i, (far, near) in enumerate(zip(*gaps, strict=True)) if far > 10 and near < 5), None)
        if place is not None:
            worst += (
                f"; at α2 {alphas[place]} the medians are {mf['typical'][place]:.1f} and {bp['typical'][place]:.1f}"
            )
        taken = at("adversary", "MF two-coin", failed)[-1]
        surer = all(m > b + 5 for m, b in zip(mf["excess"], bp["excess"], strict=True))
        why = (
            "started from votes that include the spammer's, it takes them for an expert, whose coin decides every task"
        )
        return [
            judged("MF is surer than it is right, BP is not (confidence less accuracy, points)", "figure only", sure,
                   mf["excess"] + bp["excess"], surer),
            judged("in the worst run MF is far below BP, in the typical one it is not", "figure only", worst,
                   mf["worst"] + bp["worst"], place is not None),
            judged("where MF fails it takes the spammer for an adversary", "figure only",
                   f"{taken:.0f} % of the failures", [taken], taken > 50, why),
        ]  # fmt: skip


class Samples(Experiment):
    """Figure 8."""

    name = "deepbp_fig8"
    paper = "deepBP"
    title = "Figure 8: sampled messages against exact ones"
    about = """
Belief propagation on the (3, 4)-regular graph under the true prior: confusion matrices drawn from it (the paper's way,
rows independent; drawn once, where the authors' code draws again in every round), and integrals that are exact, for the
same two-coin prior and for the one-coin prior that made the crowd (Liu et al. 2012). 50 seeds instead of 100."""
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 50, "paper": 100}
    priors = ((2.0, 1.0), (1.0, 0.5), (0.5, 0.25))
    sizes = (10, 25, 50, 100, 200, 400)

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """Three priors, six sizes and two exact ones."""
        for a, b in self.priors[:1] if scale == "smoke" else self.priors:
            for size in self.sizes[:1] if scale == "smoke" else self.sizes:
                yield {"prior": f"Beta({a:g}, {b:g})", "truth": [a, b], "samples": size, "method": "samples"}
            for method in ("two_coin", "one_coin"):
                yield {"prior": f"Beta({a:g}, {b:g})", "truth": [a, b], "samples": 0, "method": method}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """Accuracy."""
        n, (a, b) = (200 if scale == "smoke" else 1000), cell["truth"]
        votes, truth = regular_crowd(cell["seed"], (a, b), n=n)
        if cell["method"] == "samples":
            model = cw.classes.BeliefPropagation(
                prior="dirichlet", prior_right=a, prior_wrong=b, n_samples=cell["samples"], seed=cell["seed"]
            )
        else:
            model = cw.classes.BeliefPropagation(prior=cell["method"], prior_right=a, prior_wrong=b)
        return {"accuracy": float((model.fit(votes).labels == truth).mean())}

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """By prior and size."""
        named = rows.with_columns(
            what=pl.when(pl.col("samples") > 0).then(pl.format("{} samples", "samples"))
            .otherwise(pl.format("exact {}", "method"))
        )  # fmt: skip
        return [("Accuracy in per cent", mean_table(named, ["prior"], "what", "accuracy"))]

    def plots(self) -> list[Plot]:
        """Accuracy against the number of samples."""
        where = {"method": "samples"}
        return [Plot("Samples", "samples", "accuracy", line="prior", level=0.99, where=where)]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """More samples are better, and 400 are nearly exact."""
        out = []
        for prior in rows["prior"].unique(maintain_order=True):
            part = rows.filter(pl.col("prior") == prior)
            sizes = (10, 400)
            few, many = (100 * mean_of(part, "accuracy", {"method": "samples", "samples": s}) for s in sizes)
            exact, tied = (100 * mean_of(part, "accuracy", {"method": m}) for m in ("two_coin", "one_coin"))
            out.append(judged(
                f"{prior}: accuracy grows with the samples and comes near the exact messages", "figure only",
                f"10 samples {few:.1f}, 400 {many:.1f}; exact two-coin {exact:.1f}, one-coin {tied:.1f}",
                [few, many, exact, tied], many > few and abs(exact - many) < 1,
                remark="" if abs(tied - many) < 1 else
                "near the exact two-coin messages; the one-coin ones, which fit the crowd, stay ahead",
            ))  # fmt: skip
        return out
