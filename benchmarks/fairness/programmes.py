"""Linear programmes: what closing a gap costs on planted tasks, and CPU seconds."""

from __future__ import annotations

import time

import numpy as np

from crowdwise.evaluation.fairness.maths import fair_assignment, fair_labels


def planted(cells: int, k: int, groups: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cells of tasks whose classes are spread differently in each group."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), cells)
    tilt = rng.dirichlet(np.full(k, 3.0), groups)[group]
    p = rng.dirichlet(np.full(k, 0.25), groups * cells) * tilt
    return rng.integers(20, 200, groups * cells).astype(float), p / p.sum(axis=1, keepdims=True), group


def rates(size: np.ndarray, p: np.ndarray, group: np.ndarray, x: np.ndarray, kind: str) -> float:
    """The largest gap of positive rates or recalls."""
    weight = size[:, None] * (np.ones_like(p) if kind == "positive" else p)
    rate = [(weight * x)[group == z].sum(axis=0) / weight[group == z].sum(axis=0) for z in range(group.max() + 1)]
    return float(np.ptp(np.array(rate), axis=0).max())


def label_rows() -> list[list[str]]:
    size, p, group = planted(36, 3, 3)
    out = []
    for target, within in (("parity", 1.0), ("parity", 0.05), ("opportunity", 0.05), ("odds", 0.05)):
        found = fair_labels(size, p, group, target, within)
        name = "no limit" if within == 1 else f"{target} within {within:g}"
        split = int(((found.x > 1e-9) & (found.x < 1 - 1e-9)).any(axis=1).sum())
        gaps = [rates(size, p, group, found.x, kind) for kind in ("positive", "recall")]
        out.append([name, f"{found.accuracy:.3f}", *(f"{gap:.3f}" for gap in gaps), f"{split} of {len(size)}"])
        print(*out[-1], flush=True)
    return out


def speed_rows() -> list[list[str]]:
    out = []
    for cells, k, groups in ((36, 3, 3), (60, 10, 5)):
        size, p, group = planted(cells, k, groups)
        for target in ("parity", "odds"):
            best = min(_timed(size, p, group, target) for _ in range(3))
            out.append([f"{target}, {k} classes, {groups} groups, {cells * groups} cells", f"{best:.3f}"])
            print(*out[-1], flush=True)
    return out


def _timed(size: np.ndarray, p: np.ndarray, group: np.ndarray, target: str) -> float:
    began = time.process_time()
    fair_labels(size, p, group, target, 0.02)
    return time.process_time() - began


def assignment_rows() -> list[list[str]]:
    rng = np.random.default_rng(71)
    accuracy = np.clip(rng.normal(0.75, 0.08, (30, 2)) + np.array([0.06, -0.06]), 0.5, 0.98)
    tasks, load, out = np.array([600.0, 600.0]), np.full(30, 200.0), []
    for within in (1.0, 0.05, 0.0):
        found = fair_assignment(accuracy, tasks, 3, load, within)
        mean = float((found.labels * accuracy).sum() / found.labels.sum())
        out.append([f"{within:g}", f"{mean:.4f}", f"{np.ptp(found.accuracy):.3f}"])
        print(*out[-1], flush=True)
    return out
