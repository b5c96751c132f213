"""Planted outlines of many shapes: which way of making one mask of several holds, without looking at a real set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

import crowdwise as cw
from crowdwise.compat.crowdkit import aggregation
from crowdwise.core import kind as kinds
from crowdwise.kinds.outlines.maths import fill_even_odd

WIDTH, HEIGHT, POINTS, PICTURES, WORKERS = 160, 120, 40, 12, 15
SEEDS = (31, 32, 33)
OBJECTS = ("round", "long", "small", "three")
TROUBLE = ("honest", "anything", "nothing", "a rectangle", "too wide", "one of three", "always the same")
OURS = ("outline_vote", "pixel_rasa", "staple", "pixel_vote")
LOOKS = (3, 5, 9)
CROWDS = len(SEEDS) * len(OBJECTS) * len(TROUBLE) * len(LOOKS)
Polygon = np.ndarray[Any, np.dtype[np.float64]]


def thing(of: str, rng: np.random.Generator, third: int = 1) -> Polygon:
    """(middle, middle, width, height, turn, waves ...) of one object; of three each has a third of the picture."""
    wide, high = {
        "round": (rng.uniform(15, 30),) * 2, "long": (rng.uniform(35, 55), rng.uniform(4, 8)),
        "small": (rng.uniform(3, 6),) * 2, "three": (rng.uniform(7, 12),) * 2,
    }[of]  # fmt: skip
    place = rng.uniform(0.3, 0.7, 2) * (WIDTH, HEIGHT)
    if of == "three":
        place[0] = (third + rng.uniform(0.4, 0.6)) * WIDTH / 3
    return np.array([*place, wide, high, rng.uniform(0, 3.14), *rng.normal(0, 0.1, 3), *rng.uniform(0, 6.3, 3)])


def outline(given: Polygon, noise: float, rng: np.random.Generator) -> Polygon:
    """The object as somebody draws it."""
    x, y, wide, high, turn, *rest = given.tolist()
    angle = np.linspace(0, 2 * np.pi, POINTS, endpoint=False)
    waves = sum(a * np.sin(k * angle + b) for k, a, b in zip((2, 3, 4), rest[:3], rest[3:], strict=True))
    own = noise * np.convolve(rng.normal(size=POINTS + 4), np.ones(5) / 5, "valid") + rng.normal(0, noise)
    far = np.maximum(1 + waves + own, 0.2)
    u, v = wide * far * np.cos(angle), high * far * np.sin(angle)
    shift = rng.normal(0, noise * min(wide, high), 2)
    turned = np.column_stack([u * np.cos(turn) - v * np.sin(turn), u * np.sin(turn) + v * np.cos(turn)])
    return np.clip(turned + np.array([x, y]) + shift, 0, (WIDTH, HEIGHT))


def drawn(things: list[Polygon], of: str, bad: str, noise: float, rng: np.random.Generator) -> list[Polygon]:
    """What a worker draws of a picture."""
    if bad == "nothing":
        return []
    if bad == "always the same":
        return [np.array([(50.0, 40.0), (110.0, 40.0), (110.0, 80.0), (50.0, 80.0)])]
    if bad == "anything":
        things = [thing(of, rng, i) for i in range(len(things))]
    if bad == "one of three" and rng.random() < 2 / 3:
        things = things[1:] if len(things) > 1 else [thing(of, rng)]
    if bad == "too wide":
        things = [np.concatenate([t[:2], t[2:4] * 1.4, t[4:]]) for t in things]
    found = [outline(t, noise, rng) for t in things]
    if bad == "a rectangle":
        corners = [(p.min(axis=0), p.max(axis=0)) for p in found]
        found = [np.array([low, (high[0], low[1]), high, (low[0], high[1])]) for low, high in corners]
    return found


def crowds() -> Iterator[tuple[str, str, int, Any, Any]]:
    """(objects, trouble, looks, votes, true masks): three in ten workers, or with odd seeds four in ten, are bad."""
    for seed in SEEDS:
        for k, of in enumerate(OBJECTS):
            for j, bad in enumerate(TROUBLE):
                for looks in LOOKS:
                    rng = np.random.default_rng([seed, k, j, looks])
                    noise = 0.08 * np.exp(rng.normal(0, 0.5, WORKERS))
                    worse = rng.permutation(WORKERS)[: round((0.3 + 0.1 * (seed % 2)) * WORKERS)]
                    pictures = [[thing(of, rng, i) for i in range(3 if of == "three" else 1)] for _ in range(PICTURES)]
                    task, worker, said = [], [], []
                    for t, things in enumerate(pictures):
                        for w in rng.permutation(WORKERS)[:looks].tolist():
                            how = bad if w in worse else "honest"
                            marks = drawn(things, of, how, float(noise[w]), rng)
                            task.append(t), worker.append(w), said.append([p.round(2).tolist() for p in marks])
                    truth = np.stack([mask([outline(t, 0.0, rng) for t in things]) for things in pictures])
                    yield of, bad, looks, cw.outlines.outline_votes(task, worker, said, tasks=range(PICTURES)), truth


def mask(polygons: list[Any]) -> Any:
    """On the grid of the picture."""
    return fill_even_odd(polygons, np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5)


def found(votes: Any) -> dict[str, Any]:
    """The masks that each method makes."""
    out = {}
    for name in OURS:
        answers = kinds.get("outlines").hooks.estimated_answers(votes, cw.method(name).fit(votes))
        out[name] = np.stack([mask(answers.of_row(row)) for row in range(len(answers))])
    frame = pd.DataFrame({
        "task": votes.task, "worker": votes.worker,
        "segmentation": [mask(votes.answers.of_row(row)) for row in range(len(votes))],
    })  # fmt: skip
    said = aggregation.SegmentationEM().fit_predict(frame)
    out["SegmentationEM"] = np.stack([said.loc[t] for t in range(PICTURES)])
    return out


def rows() -> tuple[list[str], list[list[str]]]:
    """A row a method: mean IoU by trouble and over all, and the worst crowd beside the majority."""
    scores: dict[str, list[float]] = {}
    of = []
    for objects, bad, looks, votes, truth in crowds():
        of.append((objects, bad, looks))
        for name, made in found(votes).items():
            both, either = (made & truth).sum(axis=(1, 2)), (made | truth).sum(axis=(1, 2))
            scores.setdefault(name, []).append(float((both / np.maximum(either, 1)).mean()))
    every = np.array(list(scores.values()))
    plain = np.array(scores["pixel_vote"])
    groups = [*((1, bad) for bad in TROUBLE), *((0, each) for each in OBJECTS), *((2, n) for n in LOOKS)]
    lines = []
    for name, own in zip(scores, every, strict=True):
        cells = [f"{np.mean([s for s, at in zip(own, of, strict=True) if at[k] == v]):.3f}" for k, v in groups]
        gap = every.max(axis=0) - own
        lines.append([f"`{name}`", *cells, f"{own.mean():.3f}", f"{(own - plain).min():+.3f}", f"{gap.mean():.3f}"])
    header = [f"{v} looks" if k == 2 else v for k, v in groups]
    return ["mean IoU", *header, "all", "worst beside the vote", "mean gap to the best"], lines
