"""How gold was drawn: stated designs, recorded draws, and tests of randomness."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import polars as pl

from ...core.errors import DataError, ParameterError, unwritable
from ...core.result import Result
from ...core.vocabulary import lookup
from ...io.csv.cells import to_csv
from ...stats.hashing import sampling_order
from ...stats.sampled import sample_tests
from .gold import SAMPLINGS, GoldSample, fingerprint, gold_tasks
from .verdicts import Verdicts, as_verdicts

if TYPE_CHECKING:
    from ...out_of_core.partitioned_result import PartitionedResult

LEVEL = 0.01
FORMAT = 1
DESIGNS = ("random", "unsure")
# Share of drawn tasks that may lack gold before the gold no longer counts as a random sample.
MISSING = 0.05
# The record of a draw is stored beside the file of tasks to label: check.csv, check.draw.json.
RECORD = ".draw.json"
AT_RANDOM = "a random draw; give --sampling random if it was one, or draw gold with --draw"


@dataclass(frozen=True)
class Draw:
    """A seeded sample of tasks in the order in which they are to be labelled; every prefix is a sample too.

    `probability` holds the sampling probabilities if they differ.
    """

    tasks: list[Any]
    seed: int
    n_tasks: int
    of: str
    design: str = "random"
    probability: list[float] = field(default_factory=list)

    def table(self) -> pl.DataFrame:
        """Return the table to fill in: task, label (empty) and, if they differ, probability."""
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
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            content.pop("format")
            if not isinstance(content["tasks"], list):
                raise TypeError("its tasks are not a list")
            return Draw(**content)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise DataError(f"{path} is not a record of a draw ({' '.join(str(error).split())[:80]})") from None


def draw(given: Any, n: int, *, seed: int = 0, design: str = "random") -> Draw:
    """Draw n tasks for people to label.

    Args:
        given: A result, or votes.
        n: Number of tasks.
        seed: Seed of the draw.
        design: "random", or "unsure", which draws tasks with low confidence more often; that narrows `estimate` but
            cannot be used by `accept`.

    Returns:
        The draw, whose `table` people fill in.

    Raises:
        ParameterError: If there are fewer than n tasks.
    """
    verdicts = as_verdicts(given)
    is_open = np.ones(len(verdicts), dtype=bool) if verdicts.used_to_fit is None else ~verdicts.used_to_fit
    candidates = np.flatnonzero(is_open)
    if design not in DESIGNS:
        raise ParameterError(f"design must be random or unsure, got {design!r}")
    if not 1 <= n <= len(candidates):
        raise ParameterError(f"{n:,} tasks cannot be drawn from {len(candidates):,}")
    rng = np.random.default_rng([seed, 0xD4A3])
    chances: list[float] = []
    if design == "random":
        picked = rng.permutation(candidates)[:n]
    else:
        spread = np.sqrt(np.clip(verdicts.confidence * (1 - verdicts.confidence), 0, None))[candidates]
        weight = spread + 0.1 * spread.mean() + 0.02
        probabilities = np.minimum(1.0, n * weight / weight.sum())
        selected = rng.permutation(np.flatnonzero(rng.random(len(candidates)) < probabilities))
        picked, chances = candidates[selected], probabilities[selected].tolist()
    tasks = verdicts.tasks.gather(picked).to_list()
    return Draw(tasks, seed, len(verdicts), fingerprint(verdicts.tasks), design, chances)


def to_check(result: Result, n: int, *, seed: int = 0) -> pl.DataFrame:
    """Return a table to fill in: up to `n` random tasks of any kind with answers and without gold."""
    if result.extra.get("subjective"):
        raise ParameterError("this run is subjective: its tasks have no single true label")
    if result.in_parts:
        result = cast("PartitionedResult", result).drawn(n, seed=seed)
    is_open = np.asarray(result.labels_per_task) > 0
    if result.gold is not None:
        is_open &= ~np.asarray(result.gold)
    candidates = np.flatnonzero(is_open)
    if not len(candidates):
        raise ParameterError("every task with answers has gold; none is left to check")
    picked = candidates[sampling_order(result.tasks.gather(candidates), seed)[:n]]
    return result.estimate.to_check(result.tasks, picked)


def save_check(result: Result, path: str | Path, n: int, *, seed: int = 0) -> pl.DataFrame:
    """Write a file to fill in (`to_check`), and beside it the record of the draw.

    The record identifies the file as a random sample when it comes back as gold.
    """
    path = Path(path)
    table = to_check(result, n, seed=seed)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(to_csv(table), encoding="utf-8")
        if "task" in table.columns:
            # The tasks of a partitioned result need not be in memory.
            of = cast("PartitionedResult", result).fingerprint() if result.in_parts else fingerprint(result.tasks)
            Draw(table["task"].to_list(), seed, result.n_tasks, of).save(record_of(path))
    except OSError as error:
        raise unwritable(path, error) from error
    return table


def record_of(path: Path) -> Path:
    """Return the path of the record of a draw: check.draw.json for check.csv."""
    return path.with_name(f"{path.stem}{RECORD}")


def draw_beside(path: Path, gold: Any, tasks: pl.Series, more: Sequence[Path] = ()) -> tuple[Draw, Path] | None:
    """Return the recorded draw of these tasks that a gold file is the labelled part of, and the path of its record.

    The record is searched in the folder of the file and among the paths `more`. None if there is none.
    """
    if not hasattr(gold, "columns") or "task" not in gold.columns:
        return None
    labelled, task_hash = set(gold_tasks(gold).to_list()), fingerprint(tasks)
    own_record = record_of(path)
    for record in dict.fromkeys([own_record, *sorted(path.parent.glob("*draw.json")), *more]):
        if not record.is_file():
            continue
        try:
            draw_ = Draw.load(record)
        except DataError:
            if record == own_record:
                raise
            continue
        if draw_.of == task_hash and _is_beginning(labelled, [str(name) for name in draw_.tasks]):
            return draw_, record
    return None


def _is_beginning(labelled: set[str], drawn: list[str]) -> bool:
    """Whether the labelled tasks are a prefix of the drawn ones, with few gaps."""
    places = [place for place, name in enumerate(drawn) if name in labelled]
    if not places or len(places) < len(labelled):
        return False
    n_reached = places[-1] + 1
    return n_reached - len(places) <= MISSING * n_reached


class RandomSample(NamedTuple):
    """Gold drawn at random: how, the labels that may be used, notes, and the p-values of `check_random`."""

    design: str
    gold: GoldSample
    notes: list[str]
    checks: dict[str, float]


def random_sample(
    sampling: Any, gold: GoldSample, verdicts: Verdicts, purpose: str, clusters: bool = False
) -> RandomSample:
    """Return gold that was drawn at random, which `purpose` needs; with `clusters` also gold of drawn clusters.

    Raises:
        ParameterError: If the sampling is not stated, or not random.
        DataError: If the gold cannot be a random sample.
    """
    if sampling is None:
        raise ParameterError(f"it is not stated how the gold was drawn, and {purpose} needs {AT_RANDOM}")
    design, used_gold, notes = resolve_design(sampling, gold, verdicts)
    if design not in ("random", "random, drawn") and not (clusters and design == "clusters"):
        raise ParameterError(f"{purpose} needs gold that was drawn at random, not {design}; draw it with --draw")
    checks = check_random(used_gold, verdicts, random_only=True) if design == "random" else {}
    return RandomSample(design, used_gold, notes, checks)


def resolve_design(
    sampling: Any, gold: GoldSample, verdicts: Verdicts, force: bool = False
) -> tuple[str, GoldSample, list[str]]:
    """Return (how the gold was drawn, the gold that may be used, notes).

    Raises:
        ParameterError: If the sampling is not stated.
    """
    if isinstance(sampling, Draw):
        return _drawn(sampling, gold, verdicts)
    stated = "unknown" if sampling is None else str(sampling).replace("-", " ").replace("_", " ")
    if stated not in SAMPLINGS:
        raise ParameterError(f"sampling must be one of {', '.join(SAMPLINGS)}, got {sampling!r}")
    if stated == "weights" and gold.chance is None:
        raise DataError("sampling by weights needs a column probability in the gold: the sampling probabilities")
    if stated == "unknown" and not force:
        raise ParameterError(
            "it is not stated how the gold was drawn; give --sampling random, clusters, within-verdict, weights or "
            "by-truth, draw gold with --draw, or use --sampling unknown --force for the point estimate alone"
        )
    return stated, gold, []


def _drawn(record: Draw, gold: GoldSample, verdicts: Verdicts) -> tuple[str, GoldSample, list[str]]:
    if record.of != fingerprint(verdicts.tasks):
        raise DataError("the recorded draw is from other tasks; draw again, or state the sampling")
    drawn, is_known = lookup(verdicts.tasks, pl.Series(record.tasks))
    order = np.full(len(verdicts), len(drawn), dtype=np.int64)
    order[drawn[is_known]] = np.flatnonzero(is_known)
    place = order[gold.task]
    is_drawn = place < len(drawn)
    if not is_drawn.any():
        raise DataError("none of the gold tasks is among those that were drawn; label these, or state the sampling")
    notes = []
    if not is_drawn.all():
        notes.append(f"{int((~is_drawn).sum()):,} gold labels of tasks that were not drawn are left out")
    used_gold, n_reached = gold.take(is_drawn), int(place[is_drawn].max()) + 1
    n_missing = n_reached - len(used_gold)
    if n_missing > MISSING * n_reached:
        raise DataError(
            f"of the first {n_reached:,} drawn tasks {n_missing:,} have no gold label; label them in their order, or "
            "state the sampling"
        )
    if n_missing:
        notes.append(f"{n_missing:,} of the first {n_reached:,} drawn tasks have no gold label")
    if record.design != "random":
        return "weights", replace(used_gold, chance=np.asarray(record.probability)[place[is_drawn]]), notes
    return "random, drawn", used_gold, notes


def check_random(
    gold: GoldSample, verdicts: Verdicts, *, within: bool = False, random_only: bool = False
) -> dict[str, float]:
    """Return p-values (Holm) for the gold tasks being like the others.

    Tasks whose gold was used in the fit do not count. `random_only`: no other sampling could be stated instead.

    Raises:
        DataError: If the tests reject a random sample (at 1 %).
    """
    if verdicts.used_to_fit is not None and verdicts.used_to_fit.any():
        gold, verdicts = gold.within(~verdicts.used_to_fit), verdicts.keep(~verdicts.used_to_fit)
    in_gold = np.zeros(len(verdicts), dtype=bool)
    in_gold[gold.task] = True
    if in_gold.all() or not in_gold.any():
        return {}
    columns = {"confidence": verdicts.confidence, "labels per task": verdicts.n_labels.astype(float)}
    if verdicts.value is not None:
        columns["verdict"] = verdicts.value
    label = verdicts.label if verdicts.value is None and not within else None
    p_values = sample_tests(in_gold, label, columns, verdicts.label if within else None)
    if "label" in p_values:
        p_values = {"verdict": p_values.pop("label"), **p_values}
    differing = min(p_values, key=p_values.__getitem__)
    if p_values[differing] <= LEVEL:
        k = len(verdicts.classes) + 1
        inside, outside = (np.bincount(verdicts.label[mask], minlength=k) for mask in (in_gold, ~in_gold))
        raise DataError(_refused(differing, p_values[differing], inside, outside, verdicts, in_gold, random_only))
    return p_values


def _refused(
    differing: str, p: float, inside: Any, outside: Any, verdicts: Verdicts, in_gold: Any, random_only: bool
) -> str:
    chance = f"p = {p:.0e}".replace("e-0", "e-")
    advice = "draw gold with --draw" if random_only else "give --sampling weights or by-truth, or draw gold with --draw"
    if differing == "verdict" and verdicts.value is None:
        share, all_share = inside / inside.sum(), (inside + outside) / (inside + outside).sum()
        k = int(np.argmax(share - all_share))  # the verdict that is over-represented
        name = verdicts.classes[k] if k < len(verdicts.classes) else "none"
        return (
            f'the gold sample is not random: it holds {100 * share[k]:.0f} % of verdict "{name}", the tasks '
            f"{100 * all_share[k]:.0f} % ({chance}); {advice}"
        )
    values = (
        verdicts.n_labels
        if differing == "labels per task"
        else verdicts.value
        if differing == "verdict"
        else verdicts.confidence
    )
    assert values is not None
    return (
        f"the gold sample is not random: its mean {differing} is {values[in_gold].mean():.3g}, that of the other tasks "
        f"{values[~in_gold].mean():.3g} ({chance}); {advice}"
    )
