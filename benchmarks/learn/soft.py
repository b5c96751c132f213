"""Soft against hard labels: test accuracy and log-loss of one classifier that is trained on both.

python -m benchmarks.learn.soft [--seeds 10] [--sets digits music sentpol_text] [-o docs/soft-labels.md]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import crowdwise as cw
from crowdwise import datasets

from ..markdown import figures, write_section

TEST = 0.2
CROWD = {"workers": 30, "per_task": 3}


@dataclass(frozen=True)
class Problem:
    """Features, truth and crowd labels of the same tasks: position of the task, worker, code of the class."""

    name: str
    features: Any
    truth: np.ndarray[Any, Any]
    labels: pl.DataFrame
    model: Callable[[], Any]


def linear(scale: bool) -> Any:
    """A logistic regression, on standardised features if `scale`."""
    regression = LogisticRegression(max_iter=2000, C=0.1 if scale else 1.0)
    return make_pipeline(StandardScaler(), regression) if scale else regression


def digits(seed: int) -> Problem:
    """Handwritten digits with labels of a simulated crowd: a third is right in 35 %, the others in 50 to 95 %."""
    x, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    n, m, r = len(y), CROWD["workers"], CROWD["per_task"]
    skill = np.where(np.arange(m) < m // 3, 0.35, rng.uniform(0.5, 0.95, m))
    task, worker = np.repeat(np.arange(n), r), np.concatenate([rng.choice(m, r, replace=False) for _ in range(n)])
    is_right = rng.random(n * r) < skill[worker]
    label = np.where(is_right, y[task], rng.integers(0, 10, n * r))
    frame = pl.DataFrame({"task": task, "worker": worker, "label": label})
    return Problem("digits, simulated crowd", x, y, frame, lambda: linear(True))


def real(name: str) -> Problem:
    """A real crowd: its labels, its truth, and features or the words of its texts."""
    data = datasets.load(name)
    truth = data.truth.with_columns(pl.all().cast(pl.String))
    votes = data.annotations
    features = data.features
    if features is not None:
        order, x = pl.Series("task", features["train_task"].astype(str)), features["train_x"].astype(float)
    else:
        text = pl.read_csv(Path(data.folder) / "text.csv", infer_schema=False)
        order = text["task"]
        x = TfidfVectorizer(min_df=2, ngram_range=(1, 2), sublinear_tf=True).fit_transform(text["text"].fill_null(""))
    position = pl.DataFrame({"task": order, "row": np.arange(len(order))})
    joined = position.join(truth, on="task", how="left", maintain_order="left")
    rows = joined.filter(pl.col("label").is_not_null())
    names = rows["label"].unique().sort()
    code = {value: i for i, value in enumerate(names)}
    at = rows["row"].to_numpy()
    of_task = {task: i for i, task in enumerate(rows["task"])}
    table = votes.to_frame().with_columns(pl.all().cast(pl.String)).filter(pl.col("task").is_in(list(of_task)))
    table = table.filter(pl.col("label").is_in(names.implode()))
    labels = table.select(
        pl.col("task").replace_strict(of_task, return_dtype=pl.Int64),
        pl.col("worker"),
        pl.col("label").replace_strict(code, return_dtype=pl.Int64),
    )
    truth_codes = np.array([code[value] for value in rows["label"]])
    return Problem(name, x[at], truth_codes, labels, lambda: linear(features is not None))


def trained(problem: Problem, seed: int) -> dict[str, tuple[float, float]]:
    """Return accuracy and log-loss on the tasks kept aside, by what the classifier was trained on."""
    n = len(problem.truth)
    order = np.random.default_rng(seed).permutation(n)
    test, train = np.sort(order[: int(TEST * n)]), np.sort(order[int(TEST * n) :])
    frame = problem.labels.filter(pl.col("task").is_in(train))
    classes = np.arange(int(problem.truth.max()) + 1)
    votes = cw.Annotations.from_frame(frame, classes=classes)
    out = {}
    for name, method in (("vote", "majority_vote"), ("default", None)):
        soft = cw.fit(votes, method, seed=seed).soft_labels()
        x = problem.features[soft.tasks.to_numpy()]
        rows, label, weight = soft.expand()
        out[f"hard, {name}"] = _score(problem, test, x, soft.names, None)
        out[f"hard weighted, {name}"] = _score(problem, test, x, soft.names, soft.weight)
        out[f"soft, {name}"] = _score(problem, test, x[rows], label, weight)
    out["truth"] = _score(problem, test, problem.features[train], problem.truth[train], None)
    return out


def _score(problem: Problem, test: Any, x: Any, y: Any, weight: Any) -> tuple[float, float]:
    model, true = problem.model(), problem.truth[test]
    last = model.steps[-1][0] + "__" if hasattr(model, "steps") else ""
    model.fit(x, y, **({} if weight is None else {f"{last}sample_weight": weight}))
    p = np.full((len(test), int(problem.truth.max()) + 1), 1e-6)
    p[:, model.classes_.astype(int)] = np.clip(model.predict_proba(problem.features[test]), 1e-6, None)
    p /= p.sum(axis=1, keepdims=True)
    return float((p.argmax(axis=1) == true).mean()), float(log_loss(true, p, labels=np.arange(p.shape[1])))


def rows_of(name: str, seeds: int) -> list[list[str]]:
    """Return one row of the table per kind of target: mean and standard deviation over the seeds."""
    runs: list[dict[str, tuple[float, float]]] = []
    title = name
    for seed in range(seeds):
        problem = digits(seed) if name == "digits" else real(name)
        title = problem.name
        runs.append(trained(problem, seed))
    base = np.array([run["hard, vote"] for run in runs])
    out = []
    for target in runs[0]:
        values = np.array([run[target] for run in runs])
        gain = (values - base) * (100, 1)
        cells = [_spread(values[:, 0], ".1%"), _spread(gain[:, 0], "+.1f"), _spread(values[:, 1], ".3f")]
        out.append([title, target, *cells, _spread(gain[:, 1], "+.3f")])
    return out


def _spread(values: Any, spec: str) -> str:
    """Format mean and standard deviation."""
    return f"{values.mean():{spec}} ± {values.std(ddof=1):{spec.lstrip('+')}}"


def main() -> None:
    """Run all sets and print the table, or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--sets", nargs="+", default=["digits", "music", "sentpol_text"])
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    header = ["set", "trained on", "accuracy", "gain in points", "log-loss", "difference"]
    body = figures(header, [row for name in options.sets for row in rows_of(name, options.seeds)])
    about = (
        f"Logistic regression on four fifths of the tasks, scored against the truth of the others; mean and standard "
        f"deviation over {options.seeds} seeds (seeds 0 to {options.seeds - 1} draw the split, and the crowd of the "
        "digits). Gain and difference are paired with the hard labels of the vote.\n\n"
    )
    print(about + body)
    if options.output is not None:
        write_section(options.output, "soft", "Measured", "python -m benchmarks.learn.soft", about + body)


if __name__ == "__main__":
    main()
