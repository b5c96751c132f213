"""The made-up crowd that every tool is given to write, and how a job tells what it wrote. Standard library only."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

Row = tuple[str, str, str]

# Names that a careless reader or writer spoils: numbers, formulas, quotes, line breaks, other alphabets.
TEXTS = [
    "007",
    "1e5",
    "plain",
    "a,b;c\td",
    'say "no"',
    "two\nlines",
    "=1+1",
    "größe 🙂",
    "<b>&amp;</b>",
    "NA",
    "-3",
    "x",
]
WORKERS = ["ann", "bob", "eve", "zoë"]
LABELS = ["pos", "=neg", "né,🙂", "0"]


def rows(tasks: list[str] | None = None, labels: list[str] | None = None) -> list[Row]:
    """(task, worker, label): up to four answers a task, the last task has none."""
    rng = random.Random(7)
    tasks, labels = tasks or TEXTS, labels or LABELS
    found = []
    for task in tasks[:-1]:
        for worker in sorted(rng.sample(WORKERS, rng.randint(1, len(WORKERS)))):
            found.append((task, worker, rng.choice(labels)))
    return found


def numbered(n: int = len(TEXTS)) -> list[str]:
    """Ids as tools that count them have them: 1, 2, 3, ..."""
    return [str(i) for i in range(1, n + 1)]


def by_task(of: list[Row], tasks: list[str] | None = None) -> dict[str, list[tuple[str, str]]]:
    """task -> [(worker, label)], tasks without answers too."""
    found: dict[str, list[tuple[str, str]]] = {task: [] for task in tasks or TEXTS}
    for task, worker, label in of:
        found[task].append((worker, label))
    return found


@dataclass(frozen=True)
class File:
    """One file that was written: under `name`, to be read with `options`, holding `rows`."""

    name: str
    format: str
    rows: list[Row]
    options: dict[str, Any] = field(default_factory=dict)


def tell(version: str, files: list[File]) -> dict[str, Any]:
    """What `write` gives back."""
    return {"version": version, "files": [asdict(file) for file in files]}


def run(job: Any) -> None:
    """The main of a job: `python -m benchmarks.formats.jobs.NAME write|accept FOLDER`, the answer into answer.json."""
    verb, folder = sys.argv[1], Path(sys.argv[2])
    answer = getattr(job, verb)(folder)
    (folder / "answer.json").write_text(json.dumps(answer), encoding="utf-8")
