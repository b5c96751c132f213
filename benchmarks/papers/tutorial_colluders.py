"""Tutorial: colluding workers, in a synthetic crowd and injected into real ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

import crowdwise as cw
from crowdwise import simulate

from .experiment import Cell, Claim, Experiment, Plot, Scale, mean_table
from .tutorial_spammers import accuracy
from .verdict import judged, mean_of, percents

P_CORR = 0.9
ON_ALL = {"MV": "majority_vote", "DS": "dawid_skene", "PGD": "pgd", "MMSR": "mmsr", "group-aware": "group_aware"}
REMOVERS = ("Alg. 1 H + DS", "Alg. 1 TA + DS", "same wrong answers + DS")
CEILING = "honest only + DS"


@dataclass(frozen=True)
class Attacked:
    """Votes with a ring among them, who is in it, the truth (task, label), and a worker to be trusted."""

    votes: cw.Annotations
    ring: npt.NDArray[np.bool_]
    truth: pl.DataFrame
    trusted: Any


def fuse(method: str, crowd: Attacked) -> dict[str, float]:
    """Accuracy of one method; for removers also how many of the ring and of the honest they take out."""
    votes = crowd.votes
    if method in ON_ALL:
        return {"accuracy": accuracy(cw.method(ON_ALL[method]).fit(votes), crowd.truth)}
    if method == CEILING:
        left = votes.take(~crowd.ring[votes.worker])
        return {"accuracy": accuracy(cw.DawidSkene().fit(left), crowd.truth)}
    look: dict[str, Callable[[], Any]] = {
        "Alg. 1 H + DS": lambda: cw.workers.agreement_outliers(votes),
        "Alg. 1 TA + DS": lambda: cw.workers.agreement_outliers(votes, trusted=crowd.trusted),
        "same wrong answers + DS": lambda: cw.workers.collusion_flags(votes, cw.classes.Hierarchical().fit(votes)),
    }
    flags = look[method]()
    out = cw.workers.drop_flagged(votes, flags, names=("outlier", "colluding", "copying"))
    hit = np.isin(votes.workers.to_numpy(), list(out.workers))
    figures = {"honest_flagged": float(hit[~crowd.ring].mean())}
    figures |= {"caught": float(hit[crowd.ring].mean())} if crowd.ring.any() else {}
    return {"accuracy": accuracy(cw.DawidSkene().fit(out.annotations), crowd.truth), **figures}


class Synthetic(Experiment):
    """5,000 tasks, 60 workers, three classes."""

    name = "tutorial_colluders"
    paper = "Tutorial"
    title = "The effect of colluders, with the oracle"
    about = """
5,000 tasks, three classes, 60 workers who label everything; a share α of them agree on one wrong answer per task and
give it with probability .9, else the truth. Honest workers are right with probability .4 to .7 (the tutorial does not
say). The oracle knows who is honest and how they err. *Alg. 1 H* and *TA* are the agreement-matrix detectors of
Traganitis & Giannakis 2021 (`workers.agreement_outliers`), without and with one trusted worker; *same wrong answers*
is `workers.collusion_flags`; both leave the flagged out and fit Dawid-Skene. For comparison as many spammers instead
of colluders: MV and DS at the same shares."""
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 3, "paper": 20}

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """Share × method; spammers for comparison."""
        if scale == "smoke":
            for method in ("DS", "Alg. 1 H + DS", "oracle"):
                yield {"adversaries": "colluders", "share": 0.2, "method": method}
            return
        for share in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5):
            for method in (*ON_ALL, *REMOVERS, CEILING, "oracle"):
                yield {"adversaries": "colluders", "share": share, "method": method}
            for method in ("MV", "DS"):
                yield {"adversaries": "spammers", "share": share, "method": method}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """One method on one crowd."""
        bad = round(60 * cell["share"])
        groups: list[simulate.Group] = [simulate.OneCoin(60 - bad, low=0.4, high=0.7)]
        if bad:
            ring = cell["adversaries"] == "colluders"
            groups.append(simulate.Colluder(bad, p_corr=P_CORR) if ring else simulate.Guesser(bad))
        n = 400 if scale == "smoke" else 5000
        made = simulate.crowd(n, 3, groups, simulate.Dense(), seed=cell["seed"])
        votes = made.annotations
        crowd = Attacked(votes, np.arange(60) >= 60 - bad, made.truth_table(), votes.workers[0])
        if cell["method"] != "oracle":
            return fuse(cell["method"], crowd)
        assert made.confusion is not None
        left = votes.take(~crowd.ring[votes.worker])
        return {"accuracy": accuracy(cw.classes.oracle(left, made.confusion, made.class_prior), crowd.truth)}

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """Accuracy, and what the removers took out."""
        out = [(f"Accuracy in per cent: {kind}",
                mean_table(rows.filter(pl.col("adversaries") == kind), ["method"], "share", "accuracy"))
               for kind in rows["adversaries"].unique(maintain_order=True)]  # fmt: skip
        return [*out, *flag_tables(rows, ["method"])]

    def plots(self) -> list[Plot]:
        """The slide."""
        return [Plot("Accuracy of the labels", "share", "accuracy", where={"adversaries": "colluders"})]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """Worse than spammers, and removable."""
        ring = rows.filter(pl.col("adversaries") == "colluders") if len(rows) else rows
        worse = {f"{m}, {kind}": mean_of(rows, "accuracy", {"adversaries": kind, "share": 0.4, "method": m})
                 for m in ("MV", "DS") for kind in ("spammers", "colluders")}  # fmt: skip
        holds = all(worse[f"{m}, colluders"] < worse[f"{m}, spammers"] for m in ("MV", "DS"))
        return [
            judged("colluders harm more than spammers (40 %)", "figure only", percents(worse), list(worse.values()),
                   holds),
            *(removal_claim(ring, {}, 0.4, variant) for variant in ("H", "TA")),
        ]  # fmt: skip


class Injected(Experiment):
    """A share of the workers of real crowds turned into a ring."""

    name = "tutorial_colluders_real"
    paper = "Tutorial"
    title = "Colluders injected into bluebird, sp, dog, web"
    about = """
A random share α of the workers of a real crowd is turned into a ring: on the tasks that they labelled they give one
wrong answer per task with probability .9, else the truth. *TA* trusts the honest worker with the most labels among
those who are right more often than not. *honest only* is what Dawid-Skene makes of the others' labels: the ceiling of
all removal, but not of all methods: with two classes a ring that lies nine times in ten tells the truth backwards, and
Dawid-Skene turns it round. Nothing is scaled; the tutorial's dog has five classes on this slide, the data have four.
Labels of tasks without a truth stay as they are."""
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 3, "paper": 20}

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """Set × share × method."""
        sets = ("bluebird",) if scale == "smoke" else ("bluebird", "sp", "dog", "web")
        shares = (0.2,) if scale == "smoke" else (0.0, 0.1, 0.2, 0.3, 0.4)
        for data in sets:
            for share in shares:
                for method in (*ON_ALL, *REMOVERS, CEILING):
                    yield {"set": data, "share": share, "method": method}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:  # noqa: ARG002
        """One method on one attacked crowd."""
        return fuse(cell["method"], injected(cell["set"], cell["share"], cell["seed"]))

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """Accuracy by set, and what the removers took out."""
        out = [(f"Accuracy in per cent: {name}",
                mean_table(rows.filter(pl.col("set") == name), ["method"], "share", "accuracy"))
               for name in rows["set"].unique(maintain_order=True)]  # fmt: skip
        return [*out, *flag_tables(rows, ["set", "method"])]

    def plots(self) -> list[Plot]:
        """The slide."""
        return [Plot("Accuracy of the labels", "share", "accuracy", panel="set")]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """On every set, removal beats MMSR and plain Dawid-Skene under attack."""
        return [removal_claim(rows, {"set": name}, 0.3, variant)
                for name in ("bluebird", "sp", "dog", "web") for variant in ("H", "TA")]  # fmt: skip


def removal_claim(rows: pl.DataFrame, where: dict[str, Any], share: float, variant: str) -> Claim:
    """Alg. 1, H or TA, at least as good as MMSR and plain Dawid-Skene; each variant has a verdict of its own."""
    at = {m: mean_of(rows, "accuracy", {**where, "share": share, "method": m})
          for m in ("MV", "DS", "MMSR", *REMOVERS, CEILING)}  # fmt: skip
    mine = at[f"Alg. 1 {variant} + DS"]
    # Where everything is wrong, being as wrong as the others reproduces nothing.
    holds = mine >= max(at["MMSR"], at["DS"]) - 1e-9 and mine > 0.5
    place = f"{where['set']}: " if where else ""
    text = f"{place}Alg. 1 {variant} + DS at least as good as MMSR and DS under {share:.0%} colluders"
    return judged(text, "figure only", percents(at), list(at.values()), holds, _why(at, mine))


def _why(at: dict[str, float], mine: float) -> str:
    behind = 100 * (max(at["MMSR"], at["DS"]) - mine)
    if mine < 0.5:
        return "the ring agrees more than the honest do and is taken for them"
    if max(at["MMSR"], at["DS"]) > at[CEILING]:
        return (
            f"{behind:.1f} points behind the better of them, which beats the honest workers alone: lies that are told "
            "together tell something, and removal throws it away"
        )
    return f"{behind:.1f} points behind the better of them"


def flag_tables(rows: pl.DataFrame, down: list[str]) -> list[tuple[str, pl.DataFrame]]:
    """Shares of the ring and of the honest workers that were left out."""
    if not {"caught", "honest_flagged"} <= set(rows.columns):
        return []
    part = rows.filter(pl.col("method").is_in(REMOVERS))
    return [("Of the ring left out, per cent", mean_table(part, down, "share", "caught")),
            ("Of the honest left out, per cent", mean_table(part, down, "share", "honest_flagged"))]  # fmt: skip


@lru_cache(maxsize=1)
def injected(name: str, share: float, seed: int) -> Attacked:
    """A real crowd with a ring among its workers."""
    data = cw.datasets.load(name)
    votes, rng = data.annotations, np.random.default_rng([seed, 17])
    assert data.truth is not None
    named = dict(zip(data.truth["task"].to_list(), data.truth["label"].to_list(), strict=True))
    codes = {label: code for code, label in enumerate(votes.classes.to_list())}
    truth = np.array([codes.get(named.get(task), -1) for task in votes.tasks.to_list()])
    ring = np.zeros(votes.n_workers, dtype=bool)
    ring[rng.choice(votes.n_workers, round(votes.n_workers * share), replace=False)] = True
    agreed = (truth + rng.integers(1, votes.n_classes, votes.n_tasks)) % votes.n_classes
    rows = np.flatnonzero(ring[votes.worker] & (truth[votes.task] >= 0))
    lie = rng.random(len(rows)) < P_CORR
    label = votes.label.copy()
    label[rows] = np.where(lie, agreed[votes.task[rows]], truth[votes.task[rows]])
    right = np.bincount(votes.worker, weights=votes.label == truth[votes.task], minlength=votes.n_workers)
    good = ~ring & (right > 0.5 * votes.labels_per_worker)
    trusted = votes.workers[int(np.where(good, votes.labels_per_worker, -1).argmax())]
    return Attacked(replace(votes, label=label), ring, data.truth, trusted)
