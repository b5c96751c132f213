"""Crowds whose reports the tests read."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdwise as cw

from .payloads import PAYLOADS


def hostile_crowd() -> tuple[cw.Annotations, dict[str, str]]:
    """Every payload is a worker and a task, eight are classes; a constant worker draws flags with evidence."""
    rng = np.random.default_rng(3)
    n = len(PAYLOADS)
    classes = PAYLOADS[::25]
    truth = rng.integers(len(classes), size=n)
    task = np.repeat(np.arange(n), 12)
    worker = (task * 5 + np.tile(np.arange(12), n)) % n
    worker[::6] = 5
    right = (rng.random(len(task)) < 0.7) & (worker != 5)
    label = np.where(right, truth[task], rng.integers(len(classes), size=len(task)))
    label[worker == 5] = 0
    names = np.array(PAYLOADS, dtype=object)
    votes = cw.Annotations.from_arrays(
        names[task].tolist(), names[worker].tolist(), [classes[c] for c in label], time=np.arange(len(task)) * 3.0,
        duplicates="first",
    )  # fmt: skip
    return votes, {PAYLOADS[t]: classes[truth[t]] for t in range(n)}


@pytest.fixture(scope="session")
def hostile_page() -> str:
    votes, truth = hostile_crowd()
    result = cw.DawidSkene(max_iter=20, tol=1e-2).fit(votes)
    return cw.report.render(votes, result, truth=truth, title=PAYLOADS[0])


@pytest.fixture(scope="session")
def plain_page(plain_crowd) -> str:
    votes, result, truth = plain_crowd
    return cw.report.render(votes, result, truth=truth, title="A crowd", made="2026-01-01")


@pytest.fixture(scope="session")
def number_page() -> str:
    """Numbers of two parts; every payload is a worker and a task, two are names of parts; one worker is constant."""
    rng = np.random.default_rng(3)
    n = len(PAYLOADS)
    task = np.repeat(np.arange(n), 8)
    worker = (task * 5 + np.tile(np.arange(8), n)) % n
    worker[::8] = 5
    truth = rng.normal(50, 15, n)
    value = truth[task] + rng.normal(0, 5, len(task))
    value[worker == 5] = 50
    names, parts = np.array(PAYLOADS, dtype=object), [PAYLOADS[0], PAYLOADS[2]]
    votes = cw.numbers.number_votes(
        names[task].tolist(), names[worker].tolist(), np.stack([value, value], axis=1), parts=parts, duplicates="first"
    )
    known = pl.DataFrame({"task": PAYLOADS, **{f"value_{part}": truth for part in parts}})
    return cw.report.render(votes, cw.numbers.Mean().fit(votes), truth=known, title=PAYLOADS[1])


@pytest.fixture(scope="session")
def promise_folder(tmp_path_factory):
    """(votes, result, folder): what estimate, accept and fair leave in a run, with payloads for classes and groups."""
    import json

    from crowdwise.io.csv.folder import write_tables

    rng = np.random.default_rng(5)
    n, classes, groups = 1200, PAYLOADS[:2], PAYLOADS[2:4]
    truth = rng.integers(2, size=n)
    tasks = [f"{PAYLOADS[i % 40]}{i}" for i in range(n)]
    worker = np.tile(np.arange(6), n)
    label = np.where(rng.random(6 * n) < 0.75, np.repeat(truth, 6), 1 - np.repeat(truth, 6))
    votes = cw.Annotations.from_arrays(
        np.repeat(np.array(tasks, dtype=object), 6).tolist(), [PAYLOADS[w] for w in worker], [classes[c] for c in label]
    )
    result = cw.DawidSkene(max_iter=20, tol=1e-2).fit(votes)
    gold = {tasks[i]: classes[truth[i]] for i in rng.permutation(n)[:300]}
    z = {task: groups[i % 2] for i, task in enumerate(tasks)}
    folder = tmp_path_factory.mktemp("promises")
    found = cw.accept(result, gold=gold, error=0.1, votes=votes, per="class", made="2026-01-01")
    found.certificate.save(folder / "certificate.json")
    write_tables(folder, {"accepted.csv": found.accepted, "ask.csv": found.ask})
    share = cw.estimate(result, gold=gold, metric=f"share:{classes[1]}", sampling="random", by=z)
    point = cw.estimate(result, gold=gold, metric="accuracy", sampling="unknown", force=True)
    (folder / "estimates.json").write_text(json.dumps([share.to_dict(), point.to_dict()]), encoding="utf-8")
    fair = cw.fairness(result, votes=votes, gold=gold, groups=z, target="odds")
    write_tables(folder, fair.files())
    return votes, result, folder


@pytest.fixture(scope="session")
def promise_page(promise_folder) -> str:
    votes, result, folder = promise_folder
    return cw.report.render(votes, result, folder=folder, title="Promises")


def judge_crowd() -> tuple[cw.Annotations, dict[int, int]]:
    """Four judges with stated confidences, families and prices, one with a hostile name; gold of 100 tasks."""
    from tests.crowds import judges as planted

    truth, label, stated = planted.confident(150, np.random.default_rng(0))
    names = ["judge-a", PAYLOADS[0], "judge-c", "judge-d"]
    task, worker = np.indices(label.shape).reshape(2, -1)
    votes = cw.Annotations.from_arrays(task, [names[w] for w in worker], label.ravel(), confidence=stated.ravel())
    about = {"worker": names, "kind": ["model"] * 4, "family": ["f", "f", "g", PAYLOADS[1]], "price": [1.0, 2, 3, 4]}
    return votes.about(workers=pl.DataFrame(about, strict=False)), {t: int(truth[t]) for t in range(100)}


@pytest.fixture(scope="session")
def judge_page() -> str:
    votes, truth = judge_crowd()
    return cw.report.render(votes, cw.MajorityVote().fit(votes), truth=truth, title="Judges")


def divided_crowd() -> cw.Annotations:
    """Raters of two ages who differ, with hostile names of tasks, classes and groups."""
    rng = np.random.default_rng(4)
    n, m = 80, 24
    task = np.repeat(np.arange(n), 8)
    worker = np.concatenate([rng.choice(m, 8, replace=False) for _ in range(n)])
    leaning = rng.random(n)[task] + np.where(worker < 10, 0.35, 0.0)
    label = (rng.random(len(task)) < leaning).astype(int)
    names = [PAYLOADS[0], "offensive"]
    votes = cw.Annotations.from_arrays(
        [f"{PAYLOADS[1]}{t}" if t < 3 else f"t{t}" for t in task], [f"w{w}" for w in worker], [names[c] for c in label]
    )
    age = {"worker": [f"w{w}" for w in range(m)], "age": [PAYLOADS[2] if w < 10 else "old" for w in range(m)]}
    return votes.about(workers=pl.DataFrame(age))


@pytest.fixture(scope="session")
def divided_page() -> str:
    votes = divided_crowd()
    return cw.report.render(votes, cw.classes.Subjective().fit(votes), title="Disagreement")
