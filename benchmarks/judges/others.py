"""Tasks without one truth, answers with predictions, whom to pay, speed."""

from __future__ import annotations

import time

import numpy as np
import polars as pl

import crowdwise as cw
from crowdwise.kinds.classes.maths.judges import choose_strength, held_out, learn_stack
from crowdwise.kinds.classes.methods.voting import rater_rows

from .. import data_folder
from . import llmbar

SUBJECTIVE = ("popquorn_offensive", "hs_brexit", "md_agreement", "convabuse")


def subjective_scores():
    """set -> (chosen strength, its log-loss on held-out raters, pooled, raw shares)."""
    out = {}
    for name in SUBJECTIVE:
        rows = rater_rows(cw.read(data_folder() / name / "labels.csv", kind="classes"))
        strength, losses = choose_strength(rows)
        out[name] = strength, losses[f"{strength:g}"], held_out(rows, np.inf), held_out(rows, 1e-2)
    return out


def prediction_scores():
    """set -> method -> (accuracy, log-loss)."""
    out = {}
    for name in ("sp_states", "sp_trivia"):
        votes = cw.read(data_folder() / name / "labels.csv")
        truth = cw.read_truth(data_folder() / name / "truth.csv")
        for method in ("majority_vote", "dawid_skene", "committee", "surprisingly_popular", "truth_serum"):
            found = cw.evaluate(cw.method(method).fit(votes), truth)
            out.setdefault(name, {})[method] = found.accuracy, found.log_loss
    return out


def prices():
    """A made-up price list: 0.01 for a billion parameters, 100 for a person's label."""
    import re

    size = {judge: float((re.findall(r"(\d+)b", judge) or ["10"])[-1]) for judge in llmbar.judges()}
    return {**{judge: value / 100 for judge, value in size.items()}, "person": 100.0}


def frontier_rows():
    found = cw.judges(llmbar.base(), gold=llmbar.truth(), prices=prices())
    offers, spend = found.frontier(), found.next_spend()
    return offers.table, offers.note, "" if spend is None else spend.sentence()


def speed_rows():
    """CPU seconds: the stack of 400 gold × 30 judges × 3 classes; a million verdicts of ten judges end to end."""
    rng = np.random.default_rng(0)
    voices, truth = np.eye(3)[rng.integers(3, size=(400, 30))] - 1 / 3, rng.integers(3, size=400)
    began = time.process_time()
    learn_stack(voices, truth, rng)
    stack = time.process_time() - began
    n, m = 100_000, 10
    truth = rng.integers(3, size=n)
    label = np.where(rng.random((n, m)) < 0.75, truth[:, None], rng.integers(3, size=(n, m)))
    frame = pl.DataFrame(
        {"task": np.repeat(np.arange(n), m), "worker": np.tile(np.arange(m), n), "label": label.ravel()}
    )
    began = time.process_time()
    votes = cw.Annotations.from_frame(frame)
    read = time.process_time() - began
    gold = {int(t): int(truth[t]) for t in range(1_000)}
    began = time.process_time()
    cw.classes.JudgeStack().fit(votes, gold=gold)
    fit = time.process_time() - began
    began = time.process_time()
    cw.judges(votes, gold=gold)
    return [
        ["stack: 400 gold × 30 judges × 3 classes", f"{stack:.2f}"],
        ["a million verdicts: coding", f"{read:.2f}"],
        ["a million verdicts, 1,000 gold: judge_stack", f"{fit:.2f}"],
        ["a million verdicts, 1,000 gold: cw.judges", f"{time.process_time() - began:.2f}"],
    ]
