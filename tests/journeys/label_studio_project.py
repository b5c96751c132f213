"""A Label Studio project of three questions with its faults, and the truth behind it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

TOPICS = ["billing", "delivery", "price", "quality"]
N_TASKS, N_UNLABELLED = 240, 12
# The worker who answers yes or no at random, and how right the others are.
GUESSER = "gus@example.org"
SKILL = {f"ann{i}@example.org": skill for i, skill in enumerate([0.97, 0.95, 0.93, 0.92, 0.9, 0.88, 0.86, 0.84])}
# The seconds that everybody typically works on a task, by lead_time.
SECONDS = {name: 14.0 + 2 * i for i, name in enumerate(SKILL)} | {GUESSER: 12.0}


@dataclass
class Project:
    """The tasks of the export, and the truth of each question by task."""

    tasks: list[dict] = field(default_factory=list)
    complaint: dict[str, str] = field(default_factory=dict)
    topics: dict[str, frozenset[str]] = field(default_factory=dict)
    severity: dict[str, int] = field(default_factory=dict)
    unticked: int = 0  # answers without a tick
    skipped: int = 0
    gold: int = 0

    def write(self, path) -> None:
        path.write_text(json.dumps(self.tasks, ensure_ascii=False), encoding="utf-8")


def result(control: str, kind: str, key: str, value) -> dict:
    """One result of a control, as Label Studio exports it."""
    return {
        "id": f"r{control}",
        "from_name": control,
        "to_name": "body",
        "type": kind,
        "origin": "manual",
        "value": {key: value},
    }


def project(seed: int = 5) -> Project:
    """Draw the project: every text has up to seven answers, and some have none."""
    rng = np.random.default_rng(seed)
    made = Project()
    people = {name: {"id": 40 + i, "email": name, "first_name": "", "last_name": ""} for i, name in enumerate(SECONDS)}
    moment = datetime(2026, 3, 2, 9, tzinfo=UTC)
    for i in range(N_TASKS):
        name = str(9000 + i)
        made.complaint[name] = "yes" if rng.random() < 0.45 else "no"
        made.topics[name] = frozenset(t for t in TOPICS if rng.random() < (0.0 if i % 4 == 0 else 0.4))
        made.severity[name] = int(rng.integers(1, 6))
        data = {
            "body": f"Message {i}: the parcel “Nr. {i}” came late – please answer 😀",
            "customer": {"country": ["DE", "FR"][i % 2], "orders": int(rng.integers(1, 30))},
        }
        task = {"id": 9000 + i, "inner_id": i + 1, "data": data, "annotations": [], "predictions": []}
        made.tasks.append(task)
        if i >= N_TASKS - N_UNLABELLED:
            continue
        chosen = [str(n) for n in rng.choice(list(SKILL), size=6, replace=False)]
        for who in [*chosen, *([GUESSER] if i % 6 else [])]:
            # Saved in one batch at the end of each task: gaps of the timestamps are not working time.
            moment += timedelta(seconds=float(rng.integers(60, 400)))
            _annotate(made, task, name, who, people[who], moment, rng)
        if i % 9 == 2:
            _check(made, task, name, people["ann0@example.org"], moment)
        task["predictions"] = [
            {"model_version": "v1", "score": 0.5, "result": [result("complaint", "choices", "choices", ["no"])]}
        ]
    return made


def _annotate(made, task, name, who, person, moment, rng) -> None:
    skill = SKILL.get(who)
    results = []
    if skill is None:
        complaint = ["yes", "no"][rng.integers(2)]
    else:
        other = {"yes": "no", "no": "yes"}[made.complaint[name]]
        complaint = made.complaint[name] if rng.random() < skill else other
    results.append(result("complaint", "choices", "choices", [complaint]))
    flip = 0.5 if skill is None else (1 - skill) / 2
    ticked = [t for t in TOPICS if (t in made.topics[name]) != (rng.random() < flip)]
    if ticked:
        results.append(result("topics", "choices", "choices", ticked))
    stars = rng.integers(1, 6) if skill is None else made.severity[name] + rng.normal(0, 0.6)
    results.append(result("severity", "rating", "rating", int(np.clip(round(float(stars)), 1, 5))))
    annotation = {
        "id": 10 * task["id"] + len(task["annotations"]),
        "completed_by": person,
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": moment.isoformat().replace("+00:00", "Z"),
        "lead_time": round(SECONDS[who] * float(rng.lognormal(0, 0.2)), 3),
        "result": results,
    }
    if rng.random() < 0.03:
        annotation |= {"was_cancelled": True, "result": results[:1]}
        made.skipped += 1
    elif not ticked:
        made.unticked += 1
    task["annotations"].append(annotation)


def _check(made, task, name, person, moment) -> None:
    """The lead's own answer to a task drawn without regard to the votes."""
    truth = [
        result("complaint", "choices", "choices", [made.complaint[name]]),
        result("severity", "rating", "rating", made.severity[name]),
    ]
    if made.topics[name]:
        truth.append(result("topics", "choices", "choices", sorted(made.topics[name])))
    made.gold += 1
    task["annotations"].append(
        {
            "id": 10 * task["id"] + 9,
            "completed_by": person,
            "was_cancelled": False,
            "ground_truth": True,
            "created_at": moment.isoformat().replace("+00:00", "Z"),
            "lead_time": 30.0,
            "result": truth,
        }
    )
