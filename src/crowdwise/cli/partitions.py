"""crowdwise aggregate over votes in partitions on disk: their options, and the fit."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import ParameterError
from ..core.options import ReadOptions
from .progress import partition_progress
from .sampling import Sampling, resolve_sampling
from .terminal import info, print_ledger
from .vote_options import read_known_labels

if TYPE_CHECKING:
    from ..evaluation.statement import Trust
    from ..out_of_core.partitioned_result import PartitionedResult
    from ..out_of_core.plan import PartitionPlan

OutOfCore = Annotated[
    bool,
    typer.Option(
        "--out-of-core",
        help="Work on partitions on disk; automatic if the votes would take more than half of the free memory.",
        rich_help_panel="Scale",
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        help="Work on partitions on a Dask cluster: the scheduler's address (tcp://...), or local[:N] "
        "for N local processes.",
        metavar="ADDRESS",
        show_default=False,
        rich_help_panel="Scale",
    ),
]
WorkDir = Annotated[
    Path | None,
    typer.Option(
        "--work-dir",
        help="Folder that keeps the partitions for the next run; by default a temporary one beside the output.",
        metavar="DIR",
        show_default=False,
        rich_help_panel="Scale",
    ),
]
Grouped = Annotated[
    bool,
    typer.Option(
        "--grouped",
        help="Skip the shuffle because all rows of a task are adjacent in one file.",
        rich_help_panel="Scale",
    ),
]


@dataclass(frozen=True)
class ScaleOptions:
    """The options of working on partitions."""

    out_of_core: bool = False
    dask: str | None = None
    work_dir: Path | None = None
    grouped: bool = False

    def is_needed(self, votes: str, read_options: ReadOptions) -> bool:
        """Whether to work on partitions: requested by an option, or the votes would take too much memory."""
        from ..out_of_core.files import TABLES, expand, is_many, is_table
        from ..out_of_core.memory import too_large

        if self.out_of_core or self.dask is not None or self.grouped:
            return True
        other_format = read_options.format is not None and read_options.format not in TABLES
        if votes == "-" or other_format or not (is_many(votes) or is_table(Path(votes))):
            return False
        why = too_large(expand(votes, read_options.format))
        if why is not None:
            info(f"note: {why}: working in parts on disk (--out-of-core)")
        return why is not None


@dataclass(frozen=True)
class GoldOptions:
    """The options about gold and about labels that can ship.

    Args:
        gold: File of gold labels.
        columns: Columns of that file.
        sampling: How gold was drawn.
        calibrate: Whether gold calibrates confidence.
        error: Share of wrong labels that may ship.
    """

    gold: Path | None = None
    columns: str | None = None
    sampling: Sampling | None = None
    calibrate: bool | None = None
    error: float | None = None

    def resolve_sampling(self, gold: Any, plan: Any) -> Any:
        """Return how gold was drawn, or None (without asking) where confidence is not calibrated on it."""
        if self.sampling is None and self.calibrate is False:
            return None
        # The names of all tasks are read only to compare them with a recorded draw.
        has_record = self.gold is not None and any(self.gold.parent.glob("*draw.json"))
        return resolve_sampling(self.sampling, self.gold if has_record else None, gold, plan)


@dataclass(frozen=True)
class PartitionedFit:
    """A fit in partitions, whose folder holds a run.

    `facts` are counts over all tasks (see `out_of_core.output.save`).
    """

    result: PartitionedResult
    plan: PartitionPlan
    trust: Trust
    facts: dict[str, Any]
    folder: Path

    def print_labels(self) -> None:
        """Print all labels as CSV, a block of rows at a time."""
        from ..io.run_folder import LABELS
        from ..out_of_core.output import csv_blocks

        for block in csv_blocks(self.folder / LABELS):
            sys.stdout.write(block)


@contextmanager
def fit_partitions(
    votes: str,
    method: Any,
    read_options: ReadOptions,
    scale: ScaleOptions,
    gold_options: GoldOptions,
    prior: Any,
    output: Path | None,
    force: bool,
) -> Iterator[PartitionedFit]:
    """Plan the votes, fit a method and write the run folder, which is a temporary one without `output`."""
    if output is None and scale.dask is not None:
        raise ParameterError("--dask needs -o DIR: the workers of the cluster write the labels there")
    gold = read_known_labels(read_options, gold_options.gold, gold_options.columns)
    with nullcontext() if output is not None else TemporaryDirectory(prefix="crowdwise-") as temporary:
        folder = output or Path(str(temporary)) / "run"
        yield _fit_into(folder, votes, method, read_options, scale, gold, gold_options, prior, force)


def _fit_into(
    folder: Path,
    votes: str,
    method: Any,
    read_options: ReadOptions,
    scale: ScaleOptions,
    gold: Any,
    gold_options: GoldOptions,
    prior: Any,
    force: bool,
) -> PartitionedFit:
    from ..core.result import Result
    from ..em.cluster import dask_executor
    from ..evaluation.statement import ERROR
    from ..io.atomic import refuse_to_overwrite
    from ..out_of_core.fitting import ProgressCallbacks, check_calibration, check_method, fit_plan, work_folder_of
    from ..out_of_core.output import NAMES
    from ..out_of_core.planning import plan
    from ..out_of_core.shipping import mark_parts

    refuse_to_overwrite(folder, NAMES, force)
    sampling: Any = None if gold_options.sampling is None else gold_options.sampling.value
    check_calibration(gold, gold_options.calibrate, sampling)
    check_method(method.name)
    work_folder = work_folder_of(folder, scale.work_dir)
    error = ERROR if gold_options.error is None else gold_options.error
    trust: list[Trust] = []
    with (
        partition_progress() as progress,
        nullcontext() if scale.dask is None else dask_executor(scale.dask) as executor,
    ):
        planned = plan(votes, work_folder, partition_options(read_options, scale, gold), progress.planning)
        print_ledger(planned.ledger)
        info(f"{planned.n_rows:,} annotations of {planned.n_tasks:,} tasks in {len(planned.parts)} parts")
        facts = fit_plan(
            planned,
            method,
            folder,
            gold=gold,
            prior=prior,
            executor=executor,
            calibrate=gold_options.calibrate,
            sampling=gold_options.resolve_sampling(gold, planned),
            force=force,
            callbacks=ProgressCallbacks(info, progress.planning, progress.fitting(planned.n_rows)),
            extra={"error": error},
            finish=lambda result: trust.append(mark_parts(result, error)),
        )
    if scale.work_dir is None:
        shutil.rmtree(work_folder, ignore_errors=True)
    result: Any = Result.load(folder)
    return PartitionedFit(result, planned, trust[0], facts, folder)


def refuse_in_parts(**options: bool) -> None:
    """Refuse options that need all votes at once."""
    for name, is_set in options.items():
        if is_set:
            raise ParameterError(f"--{name.replace('_', '-')} needs all votes at once and does not go in parts")


def partition_options(read_options: ReadOptions, scale: ScaleOptions, gold: Any) -> Any:
    """Return the options of reading as a plan takes them; those that need a whole file are refused."""
    from ..out_of_core.options import WHOLE_FILE, PartitionOptions

    defaults = ReadOptions()
    for name in WHOLE_FILE:
        if getattr(read_options, name) != getattr(defaults, name):
            raise ParameterError(f"--{name.replace('_', '-')} does not go with votes in parts; read them into memory")
    classes = () if gold is None else tuple(gold["label"].unique().sort().to_list())
    given = {field.name: getattr(read_options, field.name) for field in fields(ReadOptions)}
    return PartitionOptions(**given | {"classes": classes, "grouped": scale.grouped})
