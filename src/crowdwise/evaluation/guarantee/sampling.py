"""How gold was drawn: what somebody says, what a recorded draw proves, and what the data refute."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ...core.errors import DataError, ParameterError, unwritable
from ...core.result import Result
from ...core.vocabulary import lookup
from ...io.csv.cells import to_csv
from ...out_of_core.found import FoundInParts
from ...stats.hashing import sampling_order
from ...stats.sampled import sample_tests
from .gold import SAMPLINGS, Gold, fingerprint, gold_tasks
from .verdicts import Verdicts, verdicts

LEVEL = 0.01
FORMAT = 1
DESIGNS = ("random", "unsure")
# Of the drawn tasks so many may be missing in the middle before it is no random sample any more.
MISSING = 0.05
# A file of tasks to label has its record beside it: check.csv, check.draw.json.
RECORD = ".draw.json"
AT_RANDOM = "a random draw; give --sampling random if it was one, or draw gold with --draw"


@dataclass(frozen=True)
class Draw:
    """A seeded sample of tasks, in the order in which they are to be labelled; a beginning of it is a sample too.

    `probability` is how probable each was, where it was not the same for all.
    """

    tasks: list[Any]
    seed: int
    n_tasks: int
    of: str
    design: str = "random"
    probability: list[float] = field(default_factory=list)

    def table(self) -> pl.DataFrame:
        """What people are to label: task, label (empty) and, where it matters, probability."""
        columns: dict[str, Any] = {"task": pl.Series(self.tasks), "label": pl.Series([None] * len(self.tasks))}
        columns["label"] = columns["label"].cast(pl.String)
        return pl.DataFrame(columns | ({"probability": self.probability} if self.probability else {}))

    def save(self, path: str | Path) -> None:
        """Write the record."""
        text = json.dumps({"format": FORMAT, **vars(self)}, indent=2, ensure_ascii=False, default=str)
        Path(path).write_text(text + "\n", encoding="utf-8")

    @staticmethod
    def load(path: str | Path) -> Draw:
        """Read a record."""
        try:
            told = json.loads(Path(path).read_text(encoding="utf-8"))
            told.pop("format")
            if not isinstance(told["tasks"], list):
                raise TypeError("its tasks are no list")
            return Draw(**told)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise DataError(f"{path} is no record of a draw ({' '.join(str(error).split())[:80]})") from None


def draw(given: Any, n: int, *, seed: int = 0, design: str = "random") -> Draw:
    """n tasks for people to label. "unsure" draws those more often of which the verdict is unsure; that narrows
    `estimate`, and cannot be used by `accept`."""
    found = verdicts(given)
    free = np.ones(len(found), dtype=bool) if found.told is None else ~found.told
    places = np.flatnonzero(free)
    if design not in DESIGNS:
        raise ParameterError(f"design must be random or unsure, got {design!r}")
    if not 1 <= n <= len(places):
        raise ParameterError(f"{n:,} tasks cannot be drawn of {len(places):,}")
    rng = np.random.default_rng([seed, 0xD4A3])
    chance: list[float] = []
    if design == "random":
        picked = rng.permutation(places)[:n]
    else:
        spread = np.sqrt(np.clip(found.confidence * (1 - found.confidence), 0, None))[places]
        use = spread + 0.1 * spread.mean() + 0.02
        pi = np.minimum(1.0, n * use / use.sum())
        chosen = rng.permutation(np.flatnonzero(rng.random(len(places)) < pi))
        picked, chance = places[chosen], pi[chosen].tolist()
    tasks = found.tasks.gather(picked).to_list()
    return Draw(tasks, seed, len(found), fingerprint(found.tasks), design, chance)


def to_check(result: Result, n: int, *, seed: int = 0) -> pl.DataFrame:
    """A file to fill in: `n` tasks of any kind drawn at random among those with answers and without gold, or as many as
    there are; read as gold once it is filled in."""
    if result.extra.get("subjective"):
        raise ParameterError("this run is subjective: there is no one truth of a task to be right about")
    if isinstance(result, FoundInParts):
        result = result.drawn(n, seed=seed)
    free = np.asarray(result.labels_per_task) > 0
    if result.gold is not None:
        free &= ~np.asarray(result.gold)
    places = np.flatnonzero(free)
    if not len(places):
        raise ParameterError("every task with answers has gold; there is nothing left to check")
    picked = places[sampling_order(result.tasks.gather(places), seed)[:n]]
    return result.estimate.to_check(result.tasks, picked)


def save_check(result: Result, path: str | Path, n: int, *, seed: int = 0) -> pl.DataFrame:
    """Write a file to fill in (`to_check`) and beside it the record of the draw, by which the file is known as a random
    sample when it comes back as gold."""
    path = Path(path)
    table = to_check(result, n, seed=seed)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(to_csv(table), encoding="utf-8")
        if "task" in table.columns:
            made = Draw(table["task"].to_list(), seed, result.n_tasks, fingerprint_of_tasks(result))
            made.save(record_of(path))
    except OSError as error:
        raise unwritable(path, error) from error
    return table


def fingerprint_of_tasks(result: Result) -> str:
    """A hash of the names of a result's tasks, which need not be in memory."""
    return result.fingerprint() if isinstance(result, FoundInParts) else fingerprint(result.tasks)


def record_of(path: Path) -> Path:
    """Where the record of the draw of this file lies: check.draw.json beside check.csv."""
    return path.with_name(f"{path.stem}{RECORD}")


def draw_beside(path: Path, gold: Any, tasks: pl.Series, more: Sequence[Path] = ()) -> tuple[Draw, Path] | None:
    """The recorded draw of `tasks` that a file of gold is the labelled part of, and its record, which lies in the same
    folder or is one of `more`; None where there is none."""
    if not hasattr(gold, "columns") or "task" not in gold.columns:
        return None
    labelled, of = set(gold_tasks(gold).to_list()), fingerprint(tasks)
    own = record_of(path)
    for record in dict.fromkeys([own, *sorted(path.parent.glob("*draw.json")), *more]):
        if not record.is_file():
            continue
        try:
            made = Draw.load(record)
        except DataError:
            if record == own:
                raise
            continue
        if made.of == of and _is_beginning(labelled, [str(name) for name in made.tasks]):
            return made, record
    return None


def _is_beginning(labelled: set[str], drawn: list[str]) -> bool:
    """Whether these are the drawn tasks, or the first of them, with few gaps."""
    places = [place for place, name in enumerate(drawn) if name in labelled]
    if not places or len(places) < len(labelled):
        return False
    reached = places[-1] + 1
    return reached - len(places) <= MISSING * reached


def settle(
    sampling: Any, gold: Gold, found: Verdicts, anyway: bool = False, *, what: str = ""
) -> tuple[str, Gold, list[str]]:
    """(how the gold was drawn, the gold that may be used, notes); an error where that is not known, or where `what` is
    asked for, which needs gold that was drawn at random, and it was not."""
    if what:
        if sampling is None:
            raise ParameterError(f"nobody says how the gold was drawn, and {what} needs {AT_RANDOM}")
        how, used, notes = settle(sampling, gold, found, anyway)
        if how not in ("random", "random, drawn"):
            raise ParameterError(f"{what} needs gold that was drawn at random, not {how}; draw it with --draw")
        return how, used, notes
    if isinstance(sampling, Draw):
        return _drawn(sampling, gold, found)
    stated = "unknown" if sampling is None else str(sampling).replace("-", " ").replace("_", " ")
    if stated not in SAMPLINGS:
        raise ParameterError(f"sampling must be one of {', '.join(SAMPLINGS)}, got {sampling!r}")
    if stated == "weights" and gold.chance is None:
        raise DataError("sampling by weights needs a column probability in the gold: how probable each draw was")
    if stated == "unknown" and not anyway:
        raise ParameterError(
            "nobody says how the gold was drawn; give --sampling random, within-verdict, weights or by-truth, draw "
            "gold with --draw, or see the point alone with --sampling unknown --anyway"
        )
    return stated, gold, []


def _drawn(record: Draw, gold: Gold, found: Verdicts) -> tuple[str, Gold, list[str]]:
    if record.of != fingerprint(found.tasks):
        raise DataError("the recorded draw was made of other tasks; draw again, or state the sampling")
    drawn, known = lookup(found.tasks, pl.Series(record.tasks))
    order = np.full(len(found), len(drawn), dtype=np.int64)
    order[drawn[known]] = np.flatnonzero(known)
    place = order[gold.task]
    inside = place < len(drawn)
    if not inside.any():
        raise DataError("none of the gold tasks is among those that were drawn; label these, or state the sampling")
    notes = []
    if not inside.all():
        notes.append(f"{int((~inside).sum()):,} gold labels of tasks that were not drawn are left out")
    used, reached = gold.take(inside), int(place[inside].max()) + 1
    gaps = reached - len(used)
    if gaps > MISSING * reached:
        raise DataError(
            f"of the first {reached:,} drawn tasks {gaps:,} have no gold label; label them in their order, or state "
            "the sampling"
        )
    if gaps:
        notes.append(f"{gaps:,} of the first {reached:,} drawn tasks have no gold label")
    if record.design != "random":
        chance = np.asarray(record.probability)[place[inside]]
        return "weights", Gold(used.task, used.label, used.value, chance), notes
    return "random, drawn", used, notes


def check_random(gold: Gold, found: Verdicts, *, within: bool = False, only: bool = False) -> dict[str, float]:
    """p-values of the gold being like the rest; an error where they refute it (Holm, 1 %).

    Tasks whose gold made the verdicts are no part of the rest. `only`: no other sampling would do instead.
    """
    if found.told is not None and found.told.any():
        left = ~found.told
        gold, found = gold.take(left[gold.task]), found.keep(left)
        gold = Gold((np.cumsum(left) - 1)[gold.task], gold.label, gold.value, gold.chance)
    mine = np.zeros(len(found), dtype=bool)
    mine[gold.task] = True
    if mine.all() or not mine.any():
        return {}
    columns = {"confidence": found.confidence, "labels per task": found.n_labels.astype(float)}
    if found.value is not None:
        columns["verdict"] = found.value
    label = found.label if found.value is None and not within else None
    p = sample_tests(mine, label, columns, found.label if within else None)
    if "label" in p:
        p = {"verdict": p.pop("label"), **p}
    worst = min(p, key=p.__getitem__)
    if p[worst] <= LEVEL:
        k = len(found.classes) + 1
        inside, outside = (np.bincount(found.label[mask], minlength=k) for mask in (mine, ~mine))
        raise DataError(_refused(worst, p[worst], inside, outside, found, mine, only))
    return p


def _refused(worst: str, p: float, inside: Any, outside: Any, found: Verdicts, mine: Any, only: bool) -> str:
    chance = f"p = {p:.0e}".replace("e-0", "e-")
    todo = "draw gold with --draw" if only else "give --sampling weights or by-truth, or draw gold with --draw"
    if worst == "verdict" and found.value is None:
        share, all_share = inside / inside.sum(), (inside + outside) / (inside + outside).sum()
        k = int(np.argmax(share - all_share))  # what there is too much of
        name = found.classes[k] if k < len(found.classes) else "none"
        return (
            f'the gold sample is not random: it holds {100 * share[k]:.0f} % of verdict "{name}", the tasks '
            f"{100 * all_share[k]:.0f} % ({chance}); {todo}"
        )
    values = found.n_labels if worst == "labels per task" else found.value if worst == "verdict" else found.confidence
    assert values is not None
    return (
        f"the gold sample is not random: its mean {worst} is {values[mine].mean():.3g}, that of the other tasks "
        f"{values[~mine].mean():.3g} ({chance}); {todo}"
    )
