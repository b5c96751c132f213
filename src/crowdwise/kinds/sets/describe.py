"""What is in votes of label sets, as plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.votes import Votes
from ..describe import common
from .answers import Sets

# Pairs of answers to one task that are looked at.
PAIRS = 200_000


def describe_sets(votes: Votes[Sets]) -> dict[str, Any]:
    """Of sets also: how often each class was said, how large answers are, how often two of them are the same."""
    answers = votes.answers
    sizes = answers.sizes
    counts = np.bincount(answers.code, minlength=len(answers.classes))
    i, j = _pairs(votes)
    apart = answers.distance(i, j)
    offered = None if answers.menus is None or answers.menu is None else answers.menus[answers.menu].sum(axis=1)
    return {
        **common(votes),
        "classes": len(answers.classes),
        "class_counts": dict(zip(answers.classes.to_list(), counts.tolist(), strict=True)),
        "classes_per_answer": float(sizes.mean()) if len(sizes) else 0.0,
        "largest_answer": int(sizes.max()) if len(sizes) else 0,
        "empty_answers": int((sizes == 0).sum()),
        "offered": None if offered is None or not len(offered) else float(offered.mean()),
        "equal_pairs": float((apart == 0).mean()) if len(apart) else None,
        "mean_masi_distance": float(apart.mean()) if len(apart) else None,
    }


def _pairs(votes: Votes[Sets]) -> tuple[Any, Any]:
    """Every answer with the next one of its task, and the next but one, as far as PAIRS go."""
    rows = np.arange(len(votes))
    out: list[Any] = []
    for step in (1, 2):
        near = rows[:-step][votes.task[:-step] == votes.task[step:]] if len(rows) > step else rows[:0]
        out.append((near, near + step))
    i, j = (np.concatenate(side)[:PAIRS] for side in zip(*out, strict=True))
    return i, j
