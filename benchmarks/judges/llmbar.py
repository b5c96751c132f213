"""judges_llmbar: 25 open models in both orders and with four prompts."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import polars as pl

import crowdwise as cw

from .. import data_folder


def folder():
    return data_folder() / "judges_llmbar"


@cache
def rows():
    """task, worker, prompt, order, label of all prompts."""
    parts = [
        pl.read_csv(folder() / "labels.csv").with_columns(prompt=pl.lit("base"), order=pl.lit("ab")),
        pl.read_csv(folder() / "labels_swapped.csv").with_columns(prompt=pl.lit("base"), order=pl.lit("ba")),
        pl.read_csv(folder() / "labels_protocols.csv.gz").rename({"protocol": "prompt"}),
    ]
    return pl.concat([part.select("task", "worker", "prompt", "order", "label") for part in parts])


@cache
def judges():
    """The 23 judges with (nearly) all pairs in both orders."""
    base = rows().filter(pl.col("prompt") == "base").group_by("worker").len()
    return sorted(base.filter(pl.col("len") > 800)["worker"])


def family_of(judge):
    return re.split(r"[-\d]", judge)[0]


def families():
    return {judge: family_of(judge) for judge in judges()}


def groups():
    """Judges of each family with several."""
    by: dict[str, list[str]] = {}
    for judge in judges():
        by.setdefault(family_of(judge), []).append(judge)
    return tuple(tuple(members) for members in by.values() if len(members) > 1)


def _votes(frame):
    votes = cw.Annotations.from_frame(frame)
    known = pl.DataFrame({"worker": votes.workers, "family": [family_of(w) for w in votes.workers]})
    return votes.about(workers=known.with_columns(kind=pl.lit("model")))


@cache
def one_order():
    return _votes(rows().filter(_base() & (pl.col("order") == "ab")).select("task", "worker", "label"))


@cache
def base():
    """One prompt, both orders, 23 judges."""
    return _votes(rows().filter(_base()))


@cache
def pooled():
    """All prompts and orders of all 25 judges: one voice each."""
    return _votes(rows())


def _base():
    return (pl.col("prompt") == "base") & pl.col("worker").is_in(judges())


@cache
def truth():
    return pl.read_csv(folder() / "truth.csv")


def codes(votes, known):
    """The true class of each task of the votes."""
    by = dict(known.iter_rows())
    place = {label: i for i, label in enumerate(votes.classes)}
    return np.array([place[by[task]] for task in votes.tasks])


@cache
def lengths():
    """How much longer the second answer is, as a difference of logarithms."""
    text = pl.read_csv(folder() / "text.csv")
    size = [(pl.col(name).str.len_chars() + 1).log() for name in ("output_2", "output_1")]
    return text.select("task", length=size[0] - size[1])
