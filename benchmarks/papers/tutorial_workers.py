"""Tutorial: what more workers bring. Errors of MAP fusion fall exponentially; confusions become identifiable."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

import crowdwise as cw
from crowdwise import simulate

from .experiment import Cell, Claim, Experiment, Plot, Scale, mean_table
from .verdict import judged, mean_of

F8 = npt.NDArray[np.float64]
FUSED = {"MV": "majority_vote", "DS": "dawid_skene"}
LOW, HIGH = 0.55, 0.85


class Fusion(Experiment):
    """Log error against the number of workers."""

    name = "tutorial_map_fusion"
    paper = "Tutorial"
    title = "The error of MAP fusion falls exponentially with the number of workers"
    about = f"""
10,000 tasks a seed, two classes, M one-coin workers of accuracy {LOW} to {HIGH} who label everything. The oracle is
MAP fusion: it knows the confusions. Theory (Chernoff): error ≤ exp(-C M), where C = E[-log 2√(p(1-p))] is the Chernoff
information of an average worker; the slope of log error over M is fitted by least squares to the points with at least
20 errors."""
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 10, "paper": 100}

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """Workers × method."""
        for workers in (3, 7) if scale == "smoke" else (3, 5, 7, 11, 15, 21, 31, 41):
            for method in (*FUSED, "oracle"):
                yield {"workers": workers, "method": method}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """Share of wrong labels."""
        n = 500 if scale == "smoke" else 10_000
        groups = [simulate.OneCoin(cell["workers"], low=LOW, high=HIGH)]
        made = simulate.crowd(n, 2, groups, simulate.Dense(), seed=cell["seed"])
        votes = made.annotations
        if cell["method"] == "oracle":
            found = cw.classes.oracle(votes, made.confusion, made.class_prior)
        else:
            found = cw.method(FUSED[cell["method"]]).fit(votes)
        return {"error": float((found.labels != made.truth).mean()), "tasks": float(n)}

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """Errors, slopes."""
        lines = [{"method": m, "slope of log error": f"{s:.4f}", "R²": f"{r:.3f}"}
                 for m in rows["method"].unique(maintain_order=True) for s, r in [slope(rows, m)]]  # fmt: skip
        lines.append({"method": "-C (Chernoff)", "slope of log error": f"{-chernoff():.4f}", "R²": ""})
        return [("Errors in per cent", mean_table(rows, ["method"], "workers", "error", digits=2)),
                ("Slopes", pl.DataFrame(lines))]  # fmt: skip

    def plots(self) -> list[Plot]:
        """Error on a logarithmic axis."""
        return [Plot("Share of wrong labels", "workers", "error", log=True)]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """A straight line on a logarithmic axis, for the oracle and for Dawid-Skene."""
        out = []
        for method in ("oracle", "DS"):
            found, fit = slope(rows, method)
            said = f"slope {found:.3f}, R² {fit:.3f}; -C is {-chernoff():.3f}"
            holds = fit > 0.98 and found <= -chernoff()
            text = f"log error of {method} falls in a straight line with M, at least as fast as exp(-C M)"
            out.append(judged(text, "theorem", said, [found, fit], holds))
        return out


def chernoff() -> float:
    """Mean Chernoff information of a worker, by quadrature."""
    p = np.linspace(LOW, HIGH, 2001)
    return float(np.mean(-np.log(2 * np.sqrt(p * (1 - p)))))


def slope(rows: pl.DataFrame, method: str) -> tuple[float, float]:
    """Slope and R² of log error over M, from points with at least 20 errors."""
    by = rows.filter(pl.col("method") == method).group_by("workers").agg(
        pl.col("error").mean(), (pl.col("error") * pl.col("tasks")).sum().alias("count")
    ).filter(pl.col("count") >= 20).sort("workers")  # fmt: skip
    if len(by) < 3:
        return float("nan"), float("nan")
    x, y = by["workers"].to_numpy().astype(float), np.log(by["error"].to_numpy())
    a, b = np.polyfit(x, y, 1)
    return float(a), float(1 - ((y - a * x - b) ** 2).sum() / ((y - y.mean()) ** 2).sum())


MOMENTS: dict[str, Any] = {
    "MultiSPA": cw.classes.MultiSPA(), "CNMF": cw.classes.CNMF(), "DS": cw.DawidSkene(),
    "MultiSPA → DS": cw.DawidSkene(init="multi_spa"),
}  # fmt: skip
WORKERS = (5, 10, 20, 40, 80)


class MoreWorkers(Experiment):
    """Error of the confusions against the number of workers, at fixed labels per worker."""

    name = "tutorial_more_workers"
    paper = "Tutorial"
    title = "Proposition 1: more workers help identifiability"
    about = """
Three classes, 2,000 tasks, every worker labels a random fifth of them, whatever the number of workers. *uniform rows*
is the proposition's assumption (each row of each confusion uniform in the simplex: workers no better than chance on
average, half of them worse); *fair workers* draw rows from a Dirichlet with 3 on the diagonal. *corner* is the
proposition itself: how far, at the class that does worst, the nearest normalised row of all workers' matrices is from
the corner e_k (no data involved). *CM error*: squared error summed over a row, averaged, after the best renaming of
classes; *failed* counts crowds on which a method refused (no workers who met often enough)."""
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 10, "paper": 50}

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """Crowd × workers × method."""
        for crowd in ("uniform rows", "fair workers"):
            for workers in (10,) if scale == "smoke" else WORKERS:
                for method in MOMENTS:
                    yield {"crowd": crowd, "workers": workers, "method": method}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """Corner and CM error."""
        n = 300 if scale == "smoke" else 2000
        group = simulate.DirichletConfusion(cell["workers"], diagonal=1.0 if "uniform" in cell["crowd"] else 3.0)
        made = simulate.crowd(n, 3, [group], simulate.MissingAtRandom(0.2), seed=cell["seed"])
        assert made.confusion is not None
        figures = {"corner": corner(made.confusion)}
        try:
            found = MOMENTS[cell["method"]].fit(made.annotations)
        except cw.CrowdwiseError:
            return {**figures, "failed": 1.0}
        assert found.confusion is not None
        return {**figures, "cm_error": aligned_error(found.confusion, made.confusion), "failed": 0.0}

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """CM errors and corners."""
        out = [(f"CM error × 100: {crowd}",
                mean_table(rows.filter(pl.col("crowd") == crowd), ["method"], "workers", "cm_error"))
               for crowd in rows["crowd"].unique(maintain_order=True)]  # fmt: skip
        one = rows.filter(pl.col("method") == "DS")
        corners = mean_table(one, ["crowd"], "workers", "corner", percent=False, digits=3)
        return [*out, ("Distance of the worst class from its corner", corners)]

    def plots(self) -> list[Plot]:
        """Errors by workers."""
        return [Plot("CM error", "workers", "cm_error", panel="crowd")]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """Rows come nearer to the corners, and errors fall."""
        uniform = rows.filter(pl.col("crowd") == "uniform rows")
        near = [mean_of(uniform, "corner", {"workers": m}) for m in WORKERS]
        rate = float(np.polyfit(np.log(WORKERS), np.log(near), 1)[0])
        out = [judged("with M workers some row is within ε of every corner, ε ≤ c M^(-1/4) for K = 3",
                      "-.25", f"{near[0]:.2f} → {near[-1]:.2f}, exponent {rate:.2f}", near, rate <= -0.25)]  # fmt: skip
        for crowd in ("uniform rows", "fair workers"):
            for method in ("MultiSPA", "CNMF"):
                errors = [mean_of(rows, "cm_error", {"crowd": crowd, "workers": m, "method": method}) for m in WORKERS]
                said = " → ".join(f"{100 * e:.1f}" for e in errors)
                text = f"{method}, {crowd}: CM error × 100 falls from 5 to 80 workers"
                out.append(judged(text, "takeaway of the slide", said, errors, errors[-1] < 0.7 * errors[0]))
        return out


def corner(confusion: F8) -> float:
    """The largest over classes of the smallest distance between a normalised row (worker, observed) and the corner."""
    rows = confusion.transpose(0, 2, 1).reshape(-1, confusion.shape[1])
    rows = rows / rows.sum(1, keepdims=True)
    far = np.linalg.norm(rows[:, None, :] - np.eye(rows.shape[1])[None], axis=2)
    return float(far.min(0).max())


def aligned_error(found: F8, true: F8) -> float:
    """Squared error per row after the renaming of true classes that makes it least."""
    k = true.shape[1]
    return float(min(((found[:, list(p)] - true) ** 2).sum(2).mean() for p in permutations(range(k))))
