"""Tutorial: COINNet's outlier scores, on planted instance-dependent noise and on the images of CIFAR-10N."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.stats import rankdata

import crowdwise as cw
from crowdwise.learn import CrowdClassifier

from .cifar import raw
from .dependent import coins, draw
from .experiment import Cell, Claim, Experiment, Scale, device, mean_table
from .experts import votes
from .machines import digits
from .store import CACHE
from .tutorial_cifar10n import images_and_labels, net_for
from .tutorial_machines import small_net, worker_rate
from .verdict import judged, mean_of, percents

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
SCORES = ("COINNet score", "ccem, -log likelihood", "vanilla, -log likelihood", "entropy of the votes")


class Planted(Experiment):
    """Who finds the planted outliers?"""

    name = "tutorial_coin_planted"
    paper = "Tutorial"
    title = "COINNet finds planted instance-dependent outliers"
    about = """
MNIST, five workers of accuracy .6 to .9 with even errors who label everything; on a share of the images (the outliers)
every worker says, with probability .8, one wrong class that is a function of the image (the wrong class to which a
random linear map of the image gives most), so that no confusion matrix explains it and the votes may even agree.
Scores of the training images: COINNet's sum of squared corrections; the negative log-likelihood of an image's labels
under the classifier and confusions of ccem, or under a classifier trained on the vote; the entropy of the votes. AUC:
outlier above ordinary image. Scaled: 6,000 images as 50 principal components, 128 ReLUs, 40 epochs of Adam, 1e-3
for nets and for COINNet's matrices and corrections (its paper's rate), 1e-2 for ccem's matrices; all images are trained
on, no epoch is chosen. COINNet was first tried with 1e-2 on one seed, with the planted truth in view: its corrections
learn the labels by heart then (AUC .92, classifier 80 %), so that its rate is chosen in its favour."""
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 3, "paper": 5}

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """Share × score."""
        for share in (0.1,) if scale == "smoke" else (0.05, 0.1, 0.2):
            for method in SCORES:
                yield {"share": share, "method": method}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """AUC, precision among as many as there are, and test accuracy of the classifier."""
        n, tests = {"smoke": (300, 200), "small": (6000, 5000), "paper": (50_000, 10_000)}[scale]
        data = digits(n, tests)
        said, out = planted(data.x, data.y, cell["share"], cell["seed"])
        figures: dict[str, float] = {}
        if cell["method"] == "entropy of the votes":
            share = votes(said, 10).votes / said.shape[1]
            score = -(share * np.log(np.maximum(share, 1e-12))).sum(1)
        else:
            method = {"C": "coin_net", "c": "ccem", "v": "vanilla"}[cell["method"][0]]
            fitted = CrowdClassifier(
                small_net, method, epochs=2 if scale == "smoke" else 40, batch_size=100, lr=1e-3,
                worker_lr=worker_rate(method), validation=0, seed=cell["seed"],
            ).fit(data.x, votes(said, 10))  # fmt: skip
            hit = fitted.predict_proba(data.test_x).argmax(1) == data.test_y
            figures = {"accuracy": float(hit.mean())}
            score = outlier_score(fitted, said)
        top = np.argsort(-score, kind="stable")[: int(out.sum())]
        return {"auc": auc(score, out), "precision": float(out[top].mean()), **figures}

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """By share of outliers."""
        titles = {"auc": "AUC × 100", "precision": "Precision at the true number, per cent",
                  "accuracy": "Test accuracy of the classifier, per cent"}  # fmt: skip
        return [(title, mean_table(rows, ["method"], "share", what)) for what, title in titles.items()]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """Detection, and robustness."""
        at = {m: mean_of(rows, "auc", {"share": 0.1, "method": m}) for m in SCORES}
        hit = {m: mean_of(rows, "accuracy", {"share": 0.2, "method": m}) for m in SCORES[:3]}
        found = at["COINNet score"] > 0.95
        # The theorem wants a penalty that leaves corrections at outliers only, and a net that has found the truth.
        why = "most are found, not all: where misled workers agree with the net nothing is to be seen"
        return [
            judged("outliers are found (AUC × 100, 10 % outliers; exact detection in the theorem)", "theorem",
                   percents(at), list(at.values()), found, why),
            judged("COINNet's score tells more than a likelihood under ccem or the votes", "not shown", percents(at),
                   list(at.values()), at["COINNet score"] > max(v for m, v in at.items() if m != "COINNet score")),
            judged("COINNet's classifier suffers less than ccem's from 20 % outliers", "figure only", percents(hit),
                   list(hit.values()), hit["COINNet score"] > hit["ccem, -log likelihood"]),
        ]  # fmt: skip


def planted(x: Any, y: I8, share: float, seed: int, workers: int = 5) -> tuple[I8, npt.NDArray[np.bool_]]:
    """Labels [image, worker] and which images are outliers."""
    rng = np.random.default_rng([seed, 41])
    own = coins(rng.uniform(0.6, 0.9, workers), 10)
    said = np.stack([draw(own[w], y, rng) for w in range(workers)], axis=1)
    pull = np.asarray(x, dtype=float) @ rng.normal(size=(x.shape[1], 10))
    pull[np.arange(len(y)), y] = -np.inf
    out = rng.random(len(y)) < share
    misled = out[:, None] & (rng.random(said.shape) < 0.8)
    return np.where(misled, pull.argmax(1)[:, None], said), out


def outlier_score(fitted: CrowdClassifier, said: I8) -> F8:
    """COINNet's own score, or the negative log-likelihood of each image's labels under classifier and confusions."""
    extra = fitted.result_.extra
    if "outlier" in extra:
        return np.asarray(extra["outlier"])
    p, confusion = np.asarray(extra["classifier"]), np.asarray(fitted.confusion_)
    each = [np.log(np.maximum((p @ confusion[w])[np.arange(len(p)), said[:, w]], 1e-12)) for w in range(said.shape[1])]
    return np.asarray(-np.sum(each, axis=0))


def auc(score: F8, positive: npt.NDArray[np.bool_]) -> float:
    """Area under the ROC curve, by ranks."""
    n = positive.sum()
    return float((rankdata(score)[positive].sum() - n * (n + 1) / 2) / (n * (len(score) - n)))


SHOWN = 24
ENDS = ("high", "low")


class Sheet(Experiment):
    """The images with the highest and the lowest scores."""

    name = "tutorial_coin_images"
    paper = "Tutorial"
    title = "COINNet's outlier scores on CIFAR-10N, as pictures"
    about = """
COINNet on the three labels of CIFAR-10N (see tutorial_cifar10n), all 20,000 images trained on, 30 epochs. The command
draws the images of the first seed into `.cache/papers/tutorial_coin_images.png`, two rows with the highest scores above
two rows with the lowest; CIFAR-10 has no licence, so the sheet is not shown here. The slide says that high scores
go to images with background clutter and blur; what can be counted is how often people were wrong on them: the share of
wrong labels, and of images on which the vote is wrong, by tenths of the score."""
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 2, "paper": 3}

    def conditions(self, scale: Scale) -> Iterator[Cell]:  # noqa: ARG002
        """One fit a seed."""
        yield {"method": "coin_net"}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """Errors of people by tenths of the score; image numbers at both ends."""
        data, said, tasks = images_and_labels(scale)
        epochs = {"smoke": 2, "small": 30, "paper": 150}[scale]
        fitted = CrowdClassifier(
            net_for(scale),
            "coin_net",
            epochs=epochs,
            batch_size=128,
            lr=1e-3,
            worker_lr=1e-2,
            validation=0,
            seed=cell["seed"],
            device=device(scale),
        ).fit(data.x, said, tasks=tasks)
        place = np.asarray(fitted.result_.tasks.cast(pl.Int64).to_numpy())
        score = np.empty(len(place))
        score[place] = fitted.result_.extra["outlier"]
        image = np.asarray(said.tasks.cast(pl.Int64).to_numpy())[said.task]
        wrong = np.bincount(image, weights=said.label != data.y[image], minlength=len(score)) / 3
        lost = np.empty(len(score))
        lost[np.asarray(said.tasks.cast(pl.Int64).to_numpy())] = cw.MajorityVote().fit(said).labels
        order = np.argsort(score, kind="stable")
        figures = {"auc": auc(score, wrong > 0.5)}
        for tenth, part in enumerate(np.array_split(order, 10)):
            figures[f"wrong_{tenth}"] = float(wrong[part].mean())
            figures[f"vote_wrong_{tenth}"] = float((lost[part] != data.y[part]).mean())
        for number in range(min(SHOWN, len(order) // 2)):
            figures[f"high_{number}"], figures[f"low_{number}"] = float(order[-1 - number]), float(order[number])
        if cell["seed"] == 0 and scale != "smoke":
            contact_sheet([ends_of(figures, end) for end in ENDS], CACHE / f"{self.name}.png")
        return figures

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """Errors of people by tenths of the score."""
        lines = [
            {"what": what, "tenth": tenth, "value": row[f"{column}_{tenth}"]}
            for what, column in (("labels wrong", "wrong"), ("vote wrong", "vote_wrong"))
            for row in rows.iter_rows(named=True) for tenth in range(10)
        ]  # fmt: skip
        numbers = [{"end": end, "images": ", ".join(map(str, ends_of(rows.row(0, named=True), end)))} for end in ENDS]
        return [("Errors of people in per cent, by tenths of the score (9: highest)",
                 mean_table(pl.DataFrame(lines), ["what"], "tenth", "value")),
                ("Image numbers at both ends, first seed", pl.DataFrame(numbers))]  # fmt: skip

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """High scores go to images that people get wrong."""
        high, low = mean_of(rows, "wrong_9", {}), mean_of(rows, "wrong_0", {})
        said = f"labels wrong in the highest tenth {100 * high:.1f} %, in the lowest {100 * low:.1f} %"
        return [judged("high scores go to images that confuse people", "picture only", said, [high, low],
                       high > 3 * low, only=True)]  # fmt: skip


def ends_of(figures: Mapping[str, float | None], end: str) -> list[int]:
    """The image numbers at one end of the scores."""
    found = [figures.get(f"{end}_{i}") for i in range(SHOWN)]
    return [int(number) for number in found if number is not None]


def contact_sheet(ends: list[list[int]], path: Path, columns: int = 12, gap: int = 6) -> None:
    """Rows of images as a PNG, white space between the two ends."""
    import matplotlib.image

    images = raw().x
    blocks = []
    for numbers in ends:
        tiles = np.ones((-(-len(numbers) // columns), columns, 34, 34, 3))
        for i, number in enumerate(numbers):
            tiles[i // columns, i % columns, :32, :32] = images[number].transpose(1, 2, 0)
        blocks.append(tiles.transpose(0, 2, 1, 3, 4).reshape(-1, columns * 34, 3))
    sheet = np.concatenate([blocks[0], np.ones((gap, columns * 34, 3)), blocks[1]])
    matplotlib.image.imsave(path, np.clip(sheet, 0, 1))
