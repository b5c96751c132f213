"""Tutorial: unfair annotators yield unfair models. Classifiers trained on a crowd's labels against the truth's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

import crowdwise as cw

from .. import data_folder
from .experiment import Cell, Claim, Experiment, Scale, mean_table
from .verdict import judged, mean_of

F8 = npt.NDArray[np.float64]
FUSED: dict[str, Callable[[], Any]] = {
    "majority vote": cw.MajorityVote,
    "Dawid-Skene": cw.DawidSkene,
    "learning from crowds": lambda: cw.classes.IBCC(),
}
PUBLISHED = {
    ("random forest", "majority vote"): (6.04, 0.06), ("random forest", "Dawid-Skene"): (7.63, 0.04),
    ("random forest", "learning from crowds"): (7.54, 0.04), ("logistic", "majority vote"): (2.55, 0.04),
    ("logistic", "Dawid-Skene"): (2.77, 0.05), ("logistic", "learning from crowds"): (2.86, 0.05),
}  # fmt: skip


@cache
def data() -> tuple[Any, F8, npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """(votes, features, truth, whether the defendant is black), in the order of the votes' tasks."""
    folder = data_folder() / "fair_recid"
    votes = cw.read(folder / "labels.csv", duplicates="last")
    order = pl.DataFrame({"task": votes.tasks.cast(pl.String)})
    about = order.join(pl.read_csv(folder / "tasks.csv"), on="task", how="left", maintain_order="left")
    truth = order.join(pl.read_csv(folder / "truth.csv"), on="task", how="left", maintain_order="left")["label"]
    black = (about["race"] == "black").to_numpy()
    x = np.column_stack([
        about["age"].to_numpy(), np.log1p(about["priors"].to_numpy()), (about["sex"] == "male").to_numpy(),
        (about["charge"] == "felony").to_numpy(), black,
    ]).astype(float)  # fmt: skip
    return votes, (x - x.mean(axis=0)) / x.std(axis=0), truth.to_numpy().astype(np.int64), black


@cache
def labels(method: str) -> npt.NDArray[np.int64]:
    """The crowd's labels as this method sees them, or the truth."""
    votes, _, truth, _ = data()
    if method == "truth":
        return truth
    found = FUSED[method]().fit(votes)
    return votes.classes.cast(pl.Int64).to_numpy()[found.labels]


class Fairness(Experiment):
    """Accuracy lost and demographic parity moved by training on the crowd's labels."""

    name = "tutorial_fairness"
    paper = "Tutorial"
    title = "Unfair annotators yield unfair models"
    about = """
The slide does not name its data. Here: fair_recid (966 respondents, black and white, judge 1,000 defendants, balanced
by race and outcome; for testing measures only), features age, priors, sex, degree of the charge and race. A classifier
is trained on 700 defendants with the labels of a method of truth discovery, and once with the truth; both are judged on
the other 300 against the truth. *Accuracy lost* is in points; *parity moved* is |ΔDP|, the change of the difference in
positive rates between groups. Learning from crowds, without features, is Dawid-Skene with priors: `ibcc`. Splits are
the seeds."""
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 2, "small": 30, "paper": 200}

    def conditions(self, scale: Scale) -> Iterator[Cell]:  # noqa: ARG002
        """Classifier × labels."""
        for classifier in ("random forest", "logistic"):
            for method in FUSED:
                yield {"classifier": classifier, "method": method}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """Accuracy and parity with the crowd's labels and with the truth."""
        _, x, truth, black = data()
        order = np.random.default_rng([97, cell["seed"]]).permutation(len(truth))
        train, test = order[:700], order[700:]
        out = {}
        for name in ("truth", cell["method"]):
            model = _model(cell["classifier"], cell["seed"], 20 if scale == "smoke" else 200)
            said = model.fit(x[train], labels(name)[train]).predict(x[test])
            parity = said[black[test]].mean() - said[~black[test]].mean()
            out[name] = float((said == truth[test]).mean()), float(parity)
        (full, fair), (less, moved) = out["truth"], out[cell["method"]]
        return {"lost": full - less, "moved": abs(moved - fair), "parity": moved, "parity_truth": fair}

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """Losses, movements, and the published figures."""
        said = pl.DataFrame([{"classifier": c, "method": m, "accuracy lost": f"{a:g}", "parity moved": f"{d:g}"}
                             for (c, m), (a, d) in PUBLISHED.items()])  # fmt: skip
        return [
            ("Accuracy lost, points", mean_table(rows, ["classifier"], "method", "lost")),
            ("Parity moved", mean_table(rows, ["classifier"], "method", "moved", percent=False, digits=3)),
            ("Positive rate, black less white",
             mean_table(rows, ["classifier"], "method", "parity", percent=False, digits=3)),
            ("The slide", said),
        ]  # fmt: skip

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """Training on the crowd costs accuracy and moves parity; better label integration does not repair it."""
        out = []
        why = "another crowd and other features; the slide names neither"
        for classifier in ("random forest", "logistic"):
            lost, moved = ([mean_of(rows, value, {"classifier": classifier, "method": m}) for m in FUSED]
                           for value in ("lost", "moved"))  # fmt: skip
            said = " / ".join(f"{100 * a:.1f}, {d:.2f}" for a, d in zip(lost, moved, strict=True))
            told = " / ".join(f"{a:g}, {d:g}" for (c, _), (a, d) in PUBLISHED.items() if c == classifier)
            text = f"{classifier}: the crowd's labels cost accuracy and move parity (MV / DS / LFC: points, ΔDP)"
            out.append(judged(text, told, said, [*lost, *moved], min(lost) > 0 and min(moved) > 0.02, why, only=True))
            text = f"{classifier}: label integration does not optimise for fairness (ΔDP of DS less that of MV)"
            gain = moved[1] - moved[0]
            slide = PUBLISHED[classifier, "Dawid-Skene"][1] - PUBLISHED[classifier, "majority vote"][1]
            out.append(judged(text, f"{slide:+.2f}", f"{gain:+.3f}", [gain], gain > -0.03, why, only=True))
        return out


def _model(name: str, seed: int, trees: int) -> Any:
    if name == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression()
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(trees, min_samples_leaf=5, random_state=seed)
