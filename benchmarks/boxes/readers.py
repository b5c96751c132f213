"""How well readers are measured: agreement with the majority, the latent-class model, and gold on some images."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from scipy.stats import spearmanr

import crowdwise as cw
from crowdwise.kinds.boxes.estimate import BoxWorkers
from crowdwise.kinds.boxes.maths import rate
from crowdwise.kinds.boxes.simulate import PlantedBoxes, box_crowd

from .. import data_folder
from ..markdown import figures

GOLD_IMAGES = 100
DRAWS = 30
CROWDS = 8
# Readers with fewer objects than this on the checked images are left out: their truth is not expert.
FEWEST = 30


def summary(method: cw.core.method.Method, votes: cw.Votes, gold: object = None) -> BoxWorkers:
    workers = method.fit(votes, gold=gold).worker_summary
    assert isinstance(workers, BoxWorkers)
    return workers


def readers_section() -> str:
    folder = data_folder() / "boxes_street"
    votes, truth = cw.read(folder / "labels.csv", kind="boxes"), cw.read_truth(folder / "truth.csv")
    expert = summary(cw.boxes.BoxClusters(), votes, truth)
    good = expert.gold_there >= FEWEST
    majority, model = summary(cw.boxes.BoxClusters(), votes), summary(cw.boxes.BoxLatentClass(), votes)
    rows = [
        _errors("agreement with the majority", majority.majority_recall, expert.recall, good),
        _errors("`box_latent_class`: sensitivity", model.sensitivity, expert.recall, good),
    ]
    cases_ = []
    for seed in range(DRAWS):
        gold = truth.sample(GOLD_IMAGES, seed=seed, shuffle=True)
        cases_.append(_numbers(summary(cw.boxes.BoxClusters(), votes, gold).recall, expert.recall, good))
    mean, sd = np.mean(cases_, axis=0), np.std(cases_, axis=0, ddof=1)
    gold_row = [f"{m:.3f} ± {s:.3f}" for m, s in zip(mean, sd, strict=True)]
    rows.append([f"gold on {GOLD_IMAGES} images (mean ± sd of {DRAWS} draws)", *gold_row])
    text = (
        f"boxes_street: {int(good.sum())} readers with at least {FEWEST} objects; the truth is a reader's recall "
        "against the experts' boxes of all 469 images.\n\n"
    )
    return text + figures(
        ["recall of a reader estimated by", "root mean square error", "bias", "rank correlation"], rows
    )


def _numbers(value: np.ndarray, truth: np.ndarray, good: np.ndarray) -> tuple[float, float, float]:
    good = good & np.isfinite(value)
    error = (value - truth)[good]
    return float(np.sqrt(np.mean(error**2))), float(error.mean()), float(spearmanr(value[good], truth[good])[0])


def _errors(name: str, value: np.ndarray, truth: np.ndarray, good: np.ndarray) -> list[str]:
    return [name, *(f"{number:.3f}" for number in _numbers(value, truth, good))]


def coverage_section() -> str:
    rows = []
    for title, cases in (
        ("boxes_street", _street()),
        ("simulated, images alike", _simulated(0.0)),
        ("simulated, images of different difficulty", _simulated(1.5)),
    ):
        cases_ = np.array(list(cases))
        rows.append(
            [title, *(f"{100 * share:.1f} %" for share in cases_[:, :-1].mean(axis=0)), f"{cases_[:, -1].mean():.3f}"]
        )
    text = (
        f"Share of 95 % intervals of readers' recall and precision that hold the truth, with gold on {GOLD_IMAGES} "
        f"images ({GOLD_IMAGES // 2} in simulated crowds), over {DRAWS} draws of gold (boxes_street: the truth is the "
        f"value against all experts' boxes) or {CROWDS} crowds of 12 readers (the truth is the value on 600 images). "
        "Independent: Jeffreys' interval, which treats the objects of an image as independent.\n\n"
    )
    head = [
        "",
        "recall",
        "precision",
        "recall, independent",
        "sensitivity of `box_latent_class`",
        "half width of recall",
    ]
    return text + figures(head, rows)


Case = tuple[float, float, float, float, float]


def _street() -> Iterator[Case]:
    folder = data_folder() / "boxes_street"
    votes, truth = cw.read(folder / "labels.csv", kind="boxes"), cw.read_truth(folder / "truth.csv")
    expert = summary(cw.boxes.BoxClusters(), votes, truth)
    model = summary(cw.boxes.BoxLatentClass(), votes)
    for seed in range(DRAWS):
        gold = truth.sample(GOLD_IMAGES, seed=seed, shuffle=True)
        workers = summary(cw.boxes.BoxClusters(), votes, gold)
        yield _case(
            workers, model, expert.recall, expert.precision, (expert.gold_there >= FEWEST) & (workers.gold_there > 0)
        )


def _simulated(hard: float) -> Iterator[Case]:
    for seed in range(CROWDS):
        crowd = PlantedBoxes(box_crowd(600, 12, per_task=5, objects=3.0, recall=0.8, extra=0.3, hard=hard, seed=seed))
        frame, truth = crowd.votes.to_frame(), crowd.truth_table()
        names = truth["task"].to_list()[:200]
        few = frame.filter(pl.col("task").is_in(names))
        votes = cw.boxes.box_votes(few["task"], few["worker"], few["boxes"], workers=crowd.votes.workers)
        expert = summary(cw.boxes.BoxClusters(), crowd.votes, truth)
        workers = summary(cw.boxes.BoxClusters(), votes, truth.head(GOLD_IMAGES // 2))
        model = summary(cw.boxes.BoxLatentClass(), votes)
        yield _case(workers, model, expert.recall, expert.precision, workers.gold_there > 0)


def _case(workers: BoxWorkers, model: BoxWorkers, recall: np.ndarray, precision: np.ndarray, good: np.ndarray) -> Case:
    def inside(low: np.ndarray, high: np.ndarray, truth: np.ndarray) -> float:
        return float(((low <= truth) & (truth <= high))[good].mean())

    _, low, high = rate(workers.gold_there - workers.gold_missed, workers.gold_there)
    return (
        inside(workers.recall_low, workers.recall_high, recall),
        inside(workers.precision_low, workers.precision_high, precision),
        inside(low, high, recall),
        inside(model.sensitivity_low, model.sensitivity_high, recall),
        float(((workers.recall_high - workers.recall_low) / 2)[good].mean()),
    )
