"""deepBP, Figures 2 and 3 without features: voting, mean field and belief propagation on the regular graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

import polars as pl

import crowdwise as cw

from .experiment import Cell, Claim, Experiment, Plot, Scale, mean_table
from .regular import regular_crowd
from .verdict import judged, mean_of, percents

METHODS = ("MV", "MF two-coin", "MF one-coin", "BP one-coin")
Alpha = tuple[float, float]


def infer(name: str, votes: cw.Annotations, model: Alpha) -> cw.Result:
    """One of the four on these votes, under the model's prior."""
    if name == "MV":
        return cw.MajorityVote().fit(votes)
    if name == "BP one-coin":
        return cw.classes.BeliefPropagation(prior="one_coin", prior_right=model[0], prior_wrong=model[1]).fit(votes)
    coin: Literal["one", "two"] = "one" if "one" in name else "two"
    return cw.classes.MeanField(coin=coin, prior_diagonal=model[0], prior_off=model[1]).fit(votes)


class _Inference(Experiment):
    paper = "deepBP"
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 50, "paper": 50}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """Accuracy of one method on one crowd; all methods of a seed see the same crowd."""
        n = 200 if scale == "smoke" else 1000
        votes, truth = regular_crowd(cell["seed"], tuple(cell["truth"]), spammers=cell["spammers"], n=n)
        result = infer(cell["method"], votes, tuple(cell["model"]))
        return {"accuracy": float((result.labels == truth).mean())}


class TruePrior(_Inference):
    """Figure 2: the prior that made the crowd is known."""

    name = "deepbp_fig2_inference"
    title = "Figure 2, inference: the true prior from extreme to mild"
    about = """
1,000 tasks, 750 one-coin workers on a (3, 4)-regular graph, accuracy ~ Beta(α1, α1/2), the same prior given to the
models. No features: this is the inference half of the figure. Bands are 99 % intervals over seeds."""

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """α1 from .2 to 2."""
        for a in (0.2, 2.0) if scale == "smoke" else (0.2, 0.35, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0):
            for method in METHODS:
                yield {"alpha1": a, "truth": [a, a / 2], "model": [a, a / 2], "spammers": 0, "method": method}

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """Accuracy by α1."""
        return [("Accuracy in per cent", mean_table(rows, ["alpha1"], "method", "accuracy"))]

    def plots(self) -> list[Plot]:
        """The figure."""
        return [Plot("Accuracy of the labels", "alpha1", "accuracy", level=0.99)]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """BP ahead of MF everywhere."""
        return [ahead(rows, "alpha1", "MF two-coin"), ahead(rows, "alpha1", "MF one-coin")]


class Spammers(_Inference):
    """Figure 3: extreme spammers and a prior that is wrong."""

    name = "deepbp_fig3_inference"
    title = "Figure 3, inference: extreme spammers, mismatched prior"
    about = """
Workers ~ Beta(2, 1) on the (3, 4)-regular graph, and spammers who label every task by a coin. Left of the figure: one
spammer, models believe in Beta(2, α2), α2 from .8 to 1.6. Right: 0 to 4 spammers under Beta(2, 1.4). Bands are 99 %
intervals over seeds."""

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """The two panels."""
        alphas = (1.0, 1.4) if scale == "smoke" else (0.8, 1.0, 1.2, 1.4, 1.6)
        for panel, spammers, a2 in [("α2", 1, a) for a in alphas] + [("spammers", s, 1.4) for s in (0, 1, 2, 3, 4)]:
            for method in METHODS:
                x = a2 if panel == "α2" else float(spammers)
                yield {
                    "panel": panel, "x": x, "truth": [2.0, 1.0], "model": [2.0, a2], "spammers": spammers,
                    "method": method,
                }  # fmt: skip

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """Both panels."""
        titles = {"α2": "One spammer, model Beta(2, α2)", "spammers": "Spammers under Beta(2, 1.4)"}
        return [
            (title, mean_table(rows.filter(pl.col("panel") == panel), ["x"], "method", "accuracy"))
            for panel, title in titles.items()
        ]

    def plots(self) -> list[Plot]:
        """The figure."""
        return [Plot("Accuracy of the labels", "x", "accuracy", panel="panel", level=0.99)]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """MF collapses, BP does not."""
        mean = {m: mean_of(rows, "accuracy", {"panel": "α2", "x": 1.4, "method": m}) for m in METHODS}
        holds = mean["MF two-coin"] < mean["MV"] - 0.05 and mean["BP one-coin"] > mean["MV"]
        collapse = judged(
            "one extreme spammer and a mismatched prior make MF collapse, BP stays (Beta(2, 1.4))", "figure only",
            percents(mean), list(mean.values()), holds,
        )  # fmt: skip
        panel = rows.filter(pl.col("panel") == "α2")
        return [collapse, ahead(panel, "x", "MF one-coin"), ahead(panel, "x", "MF two-coin")]


def ahead(rows: pl.DataFrame, x: str, other: str, best: str = "BP one-coin") -> Claim:
    """`best` at or above `other` at every point, in the paired mean over seeds, within two standard errors."""
    text = f"{best} at least as good as {other} at every point (gap in points)"
    if not {best, other} <= set(rows["method"]):
        return judged(text, "figure only", "", [], False)
    wide = rows.filter(pl.col("method").is_in([best, other])).pivot("method", index=[x, "seed"], values="accuracy")
    gaps = wide.with_columns(gap=pl.col(best) - pl.col(other)).group_by(x).agg(
        pl.col("gap").mean(), (pl.col("gap").std() / pl.len().sqrt()).alias("error")
    ).sort(x)  # fmt: skip
    worst = gaps.with_columns(z=pl.col("gap") + 2 * pl.col("error").fill_null(0))
    holds = bool((worst["z"] >= 0).all())
    said = ", ".join(f"{r[x]:g}: {100 * r['gap']:+.1f}" for r in gaps.iter_rows(named=True))
    return judged(text, "figure only", said, gaps["gap"].to_list(), holds)
