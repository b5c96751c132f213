"""Who guesses is seen while the work runs, whatever kind of answers a project has."""

from __future__ import annotations

import json

import numpy as np
import pytest

from crowdwise.server.config import Config
from crowdwise.server.live.fits import FitInput, fit_arrays
from crowdwise.server.live.flags import groups_of
from crowdwise.server.refitter import Refitter
from crowdwise.workers.flags import Flag

TASKS, HONEST = 80, 5
NAMES = tuple(f"w{i}" for i in range(HONEST + 1))
LETTERS = tuple("abcd")


def sets(rng):
    """Which of four letters: honest workers err in one of twelve."""
    true = rng.random((TASKS, 4)) < 0.4

    def say(t, guess):
        named = rng.random(4) < 0.4 if guess else true[t] ^ (rng.random(4) < 0.08)
        return [x for x, yes in zip(LETTERS, named, strict=True) if yes], {"text": "x"}

    return {"classes": LETTERS}, say


def numbers(rng):
    """A tenth of the tasks' spread is noise."""
    true = rng.normal(50, 10, TASKS)
    return {}, lambda t, guess: (float(rng.normal(50, 10) if guess else rng.normal(true[t], 1)), {"text": "x"})


def comparisons(rng):
    """Ten items on a line."""
    score, pair = np.linspace(0, 6, 10), [rng.choice(10, 2, replace=False) for _ in range(TASKS)]

    def say(t, guess):
        i, j = pair[t]
        p = 0.5 if guess else 1 / (1 + np.exp(score[j] - score[i]))
        return "left" if rng.random() < p else "right", {"left": f"item {i}", "right": f"item {j}"}

    return {}, say


def similarities(rng):
    """Twelve items in three clusters."""
    pair = [rng.choice(12, 2, replace=False) for _ in range(TASKS)]

    def say(t, guess):
        i, j = pair[t]
        alike = (i % 3 == j % 3) != (rng.random() < (0.5 if guess else 0.05))
        return "same" if alike else "different", {"left": f"item {i}", "right": f"item {j}"}

    return {}, say


def rankings(rng):
    """Five items a task, in the order of noisy scores."""
    items = [f"i{k}" for k in range(5)]
    true = rng.normal(0, 1, (TASKS, 5))

    def say(t, guess):
        seen = rng.normal(0, 1, 5) if guess else true[t] + rng.normal(0, 0.3, 5)
        return [items[k] for k in np.argsort(-seen)], {"items": items}

    return {}, say


def spans(rng):
    """Two words of twelve; who guesses marks any two."""
    words = " ".join(f"word{k:02d}" for k in range(12))
    true = [rng.choice(12, 2, replace=False) for _ in range(TASKS)]

    def say(t, guess):
        marked = rng.choice(12, 2, replace=False) if guess else true[t]
        return [{"start": int(7 * k), "end": int(7 * k + 6), "label": "a"} for k in marked], {"text": words}

    return {"classes": ("a",)}, say


def fitted(kind, tasks=TASKS, workers=HONEST + 1):
    more, say = globals()[kind](np.random.default_rng(3))
    config = Config("What?", kind=kind, **more)
    said = [(f"t{t}", NAMES[w], *say(t, w == HONEST), float(t), None, {}) for t in range(tasks) for w in range(workers)]
    none = np.empty(0, np.int64)
    return json.loads(fit_arrays(FitInput(config, tasks, none, none, none, {}, said, NAMES))["json"].tobytes())


KINDS = ("sets", "numbers", "comparisons", "similarities", "rankings", "spans")


@pytest.mark.parametrize("kind", KINDS)
def test_who_guesses_is_flagged_and_nobody_else(kind):
    found = fitted(kind)
    assert len(found["tasks"]) == TASKS
    assert set(found["flags"]) == {str(HONEST)}
    names = {each["flag"] for each in found["flags"][str(HONEST)]}
    assert "random" in names
    assert all(each["evidence"] for each in found["flags"][str(HONEST)])
    assert found["groups"] == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("tasks", "workers"), [(1, 1), (1, 2), (3, 2)])
def test_a_crowd_too_small_to_be_judged_is_accused_of_nothing(kind, tasks, workers):
    found = fitted(kind, tasks, workers)
    assert len(found["tasks"]) == tasks
    assert {each["flag"] for some in found.get("flags", {}).values() for each in some} <= {"unknown"}


def test_the_lead_sees_them(make):
    p = make(kind="numbers", classes=(), tasks=TASKS, workers=HONEST + 1, cap=HONEST + 1)
    _, say = numbers(np.random.default_rng(3))
    rows = [{"task": f"t{t}", "worker": NAMES[w], "answer": say(t, w == HONEST)[0], "key": f"{t} {w}"}
            for t in range(TASKS) for w in range(HONEST + 1)]  # fmt: skip
    assert p.post("/labels/bulk", {"labels": rows}).status_code == 200
    assert Refitter(p.project, start=False).once(now=True)
    flags = {row["name"]: [each["flag"] for each in row["flags"]] for row in p.get("/workers").json()["workers"]}
    assert flags.pop(NAMES[HONEST]) == ["random"]
    assert not any(flags.values())


def test_groups_that_share_a_member_are_one():
    flags = [Flag("a", "colluding", partners=("b",)), Flag("d", "copying", partners=("c",)), Flag("x", "random"),
             Flag("b", "colluding", partners=("a", "e"))]  # fmt: skip
    assert sorted(groups_of(flags)) == [["a", "b", "e"], ["c", "d"]]
