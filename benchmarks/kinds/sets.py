"""The open sets, the best figures on their own page, and what our default makes of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

import crowdwise as cw
from crowdwise.core import kind as kinds
from crowdwise.core import method_registry as registry
from tests.open_sets.comparisons import item_truth, kendall, pair_truth
from tests.open_sets.comparisons import load as pairs
from tests.open_sets.rankings import load as rankings
from tests.open_sets.rankings import truth as orders
from tests.open_sets.sets import f1, known
from tests.open_sets.sets import votes as medrel
from tests.open_sets.spans import scored as spans
from tests.open_sets.texts import scored as texts

from .. import data_folder

# A figure with half the width of its 95 % interval over tasks (NaN: there is none).
Found = tuple[float, float]
DRAWS = 500


@dataclass(frozen=True)
class Row:
    """A set, a measure, the best figure that came with the set and who made it, and how to make ours."""

    name: str
    measure: str
    best: float
    by: str
    ours: Callable[[], Found]
    lower: bool = False
    why: str = ""


def default(kind: str) -> str:
    """The method that is taken where nobody names one."""
    return str(kinds.get(kind).default)


def fit(votes: Any) -> Any:
    """By the default of its kind."""
    return registry.method(default(votes.kind.name)).fit(votes)


def half(found: Any, key: str) -> Found:
    """A figure of an evaluation."""
    held = {**(getattr(found, "found", None) or {}), **(getattr(found, "intervals", None) or {})}
    low, high = held.get(key, (np.nan, np.nan))[-2:]
    return float(getattr(found, key)), (high - low) / 2


def read(name: str, kind: str | None = None, **told: Any) -> Any:
    """The votes of a set."""
    folder = data_folder() / name
    path = folder / "labels.csv"
    return cw.read(path if path.is_file() else folder / "labels.csv.gz", kind=kind, **{"duplicates": "first", **told})


def scored(name: str, key: str, kind: str | None = None, method: str | None = None, **told: Any) -> Found:
    """By `cw.evaluate`."""
    votes = read(name, kind, **told)
    result = fit(votes) if method is None else cw.method(method).fit(votes)
    truth = cw.read_truth(data_folder() / name / "truth.csv")
    return half(cw.evaluate(result, truth, resamples=DRAWS), key)


def compared(name: str, what: str) -> Found:
    """Kendall with the items' truth, or gold pairs right."""
    result = fit(pairs(name))
    if what == "kendall":
        return kendall(result, item_truth(name)), np.nan
    return half(cw.evaluate(result, pair_truth(name), resamples=DRAWS), "accuracy")


def ranked(name: str) -> Found:
    """Kendall of the lists."""
    return half(cw.evaluate(fit(rankings(name)), orders(name), resamples=DRAWS), "kendall")


def related(label: str) -> Found:
    """F1 of one class of ml_medrel."""
    at, true, j = known(label)
    said = fit(medrel()).member[at, j]
    rng = np.random.default_rng(0)
    drawn = [f1(said[d], true[d]) for d in rng.integers(len(at), size=(DRAWS, len(at)))]
    return f1(said, true), 1.96 * float(np.std(drawn))


def grouped() -> Found:
    """ARI of same_dogs, pairs and partitions together."""
    folder = data_folder() / "same_dogs"
    votes = cw.read(folder / "labels.csv").append(cw.read(folder / "partitions.csv"), duplicates="keep")
    return float(cw.evaluate(fit(votes), cw.read_truth(folder / "truth.csv")).ari), np.nan


def drawn() -> Found:
    """One person against what the others make of the picture."""
    votes = read("polygons_cats", "outlines", duplicates="last")
    votes = votes.take(np.flatnonzero(votes.answers.size > 0))
    own, n = fit(votes).worker_summary.iou, votes.labels_per_worker
    there = np.isfinite(own)
    return float(np.average(own[there], weights=n[there])), np.nan


def error(name: str) -> Found:
    """RMSE of a set of numbers."""
    truth = cw.read_truth(data_folder() / name / "truth.csv").rename({"label": "true"}).cast({"true": pl.Float64})
    both = fit(read(name, "numbers")).to_table().join(truth, on="task")
    square = ((both["value"] - both["true"]) ** 2).to_numpy()
    drawn = square[np.random.default_rng(0).integers(len(square), size=(DRAWS, len(square)))]
    return float(np.sqrt(square.mean())), 1.96 * float(np.std(np.sqrt(drawn.mean(axis=1))))


def numbers(name: str, best: float, by: str, why: str = "") -> Row:
    """A set of numbers."""
    return Row(name, "RMSE", best, by, partial(error, name), True, why)


def quietly(row: Row) -> Found:
    """Its figure, without notes about duplicates and the like."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return row.ours()


LONE = "over the eight sets Gaussian EM has the larger mean error ([numbers](numbers.md))"
ALONE = "the average of four gives away what one of them gains here, and holds where that one breaks (relevance4)"
SHARE = "predictions of others are not used; `surprisingly_popular` and `truth_serum` do ([judges](judges.md))"
ROWS = (
    numbers("affect_anger", 11.9, "Gaussian EM", LONE),
    numbers("affect_disgust", 13.33, "Gaussian EM", LONE),
    numbers("affect_fear", 16.24, "mean"),
    numbers("affect_surprise", 16.3, "mean"),
    numbers("affect_valence", 26.1, "mean"),
    numbers("moviereviews", 0.04824, "Gaussian EM with bias", ALONE),
    numbers("num_calories", 419.3, "mean"),
    numbers("num_dots", 12.2, "median"),
    Row("boxes_street", "F1 at IoU .5", 0.890, "fused", partial(scored, "boxes_street", "f1", "boxes")),
    Row("convarg", "Kendall", 0.764, "Bradley-Terry", partial(compared, "convarg", "kendall")),
    Row("convarg", "gold pairs right", 0.886, "Bradley-Terry", partial(compared, "convarg", "pairs")),
    Row("fair_recid", "accuracy", 0.616, "Dawid-Skene", partial(scored, "fair_recid", "accuracy", "classes")),
    Row("judges_llmbar", "accuracy", 0.675, "Dawid-Skene", partial(scored, "judges_llmbar", "accuracy", "classes")),
    Row("ml_medrel, CAUSES", "F1", 0.477, "Dawid-Skene", partial(related, "CAUSES")),
    Row("ml_medrel, TREATS", "F1", 0.925, "Dawid-Skene", partial(related, "TREATS")),
    Row("pair_reading", "Kendall", 0.335, "Bradley-Terry", partial(compared, "pair_reading", "kendall")),
    Row("polygons_cats", "IoU of one person with the others' result", 0.754, "pixel majority", drawn),
    Row("prob_knowledge", "Brier", 0.1710, "mean", partial(scored, "prob_knowledge", "brier", "probabilities"), True),
    Row("rank_dots", "Kendall", 1.0, "Borda", partial(ranked, "rank_dots")),
    Row("rank_facts", "Kendall", 0.632, "Borda", partial(ranked, "rank_facts")),
    Row("rank_puzzle", "Kendall", 1.0, "Borda", partial(ranked, "rank_puzzle")),
    Row("same_dogs", "ARI", 0.696, "spectral", grouped),
    Row("sp_states", "accuracy", 0.860, "surprisingly popular",
        partial(scored, "sp_states", "accuracy", "classes"), why=SHARE),
    Row("sp_states", "accuracy of `surprisingly_popular`", 0.860, "surprisingly popular",
        partial(scored, "sp_states", "accuracy", "classes", "surprisingly_popular")),
    Row("sp_trivia", "accuracy", 0.625, "surprisingly popular",
        partial(scored, "sp_trivia", "accuracy", "classes"), why=SHARE),
    Row("sp_trivia", "accuracy of `surprisingly_popular`", 0.625, "surprisingly popular",
        partial(scored, "sp_trivia", "accuracy", "classes", "surprisingly_popular")),
    Row("spans_pico", "F1 of the text", 0.718, "at least 40 % of people",
        lambda: half(spans(default("spans"), resamples=DRAWS), "f1")),
    Row("text_speech", "word error rate", 0.0594, "medoid",
        lambda: half(texts(default("texts"), "text_speech", DRAWS), "wer"), True),
    Row("text_translate", "GLEU", 0.3899, "medoid",
        lambda: half(texts(default("texts"), "text_translate", DRAWS), "gleu")),
    Row("time_dogs", "accuracy", 0.972, "Dawid-Skene", partial(scored, "time_dogs", "accuracy", "classes")),
    Row("trip_eggs", "Kendall of the first axis", 0.963, "2-d embedding",
        partial(scored, "trip_eggs", "kendall", duplicates="error")),
)  # fmt: skip
