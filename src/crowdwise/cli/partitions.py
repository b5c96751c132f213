"""crowdwise aggregate over votes in many files, or in more than memory: plan, fit in parts, say how it goes."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.errors import ParameterError
from ..core.options import ReadOptions
from ..core.result import Result
from .progress import partition_progress
from .sampling import Sampling, print_assumed_sampling, refuse_check_overwrite, resolve_sampling, write_check
from .terminal import REPORTED_EXTRAS, clean, info, print_choice, print_json, print_ledger, print_table

if TYPE_CHECKING:
    from ..evaluation.statement import Trust

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
# What cannot be said of a fit in parts.
NOT_IN_PARTS = ("question", "predictions", "multiple", "offered", "about_tasks", "about_workers", "links")


@dataclass(frozen=True)
class ScaleOptions:
    """What was said about working in parts."""

    out_of_core: bool = False
    dask: str | None = None
    work_dir: Path | None = None
    grouped: bool = False

    def is_needed(self, votes: str, read_options: ReadOptions) -> bool:
        """Whether the votes are to be worked on in parts: somebody says so, or they would fill the memory."""
        from ..out_of_core.files import TABLES, expand, is_many, is_table
        from ..out_of_core.memory import too_large

        if self.out_of_core or self.dask is not None or self.grouped:
            return True
        named = read_options.format is not None and read_options.format not in TABLES
        if votes == "-" or named or not (is_many(votes) or is_table(Path(votes))):
            return False
        why = too_large(expand(votes, read_options.format))
        if why is not None:
            info(f"note: {why}: working in parts on disk (--out-of-core)")
        return why is not None


@dataclass(frozen=True)
class GoldOptions:
    """What was said about gold and about labels that can ship: the file of gold and how it was drawn, whether it is to
    calibrate confidence, the share of wrong labels that may ship, and the file of tasks to check."""

    gold: Path | None = None
    sampling: Sampling | None = None
    calibrate: bool | None = None
    error: float | None = None
    check: Path | None = None

    def drawn(self, gold: Any, plan: Any) -> Any:
        """How gold was drawn; not asked for where nothing rests on it."""
        if self.sampling is None and self.calibrate is False:
            return None
        # Only where a draw is recorded the names of all tasks are read, to see that it is one of these tasks.
        records = self.gold is not None and any(self.gold.parent.glob("*draw.json"))
        return resolve_sampling(self.sampling, self.gold if records else None, gold, plan)


def aggregate_partitions(
    votes: str,
    method: Any,
    read_options: ReadOptions,
    scale: ScaleOptions,
    gold: Any,
    prior: Any,
    output: Path | None,
    force: bool,
    json: bool,
    gold_options: GoldOptions = GoldOptions(),  # noqa: B008
) -> None:
    """Plan the votes, fit the method and write the run folder."""
    from ..em.cluster import dask_executor
    from ..evaluation.statement import ERROR, mark_parts
    from ..io.atomic import refuse_to_overwrite
    from ..out_of_core.fitting import ProgressCallbacks, check_calibration, check_method, fit_plan, work_folder_of
    from ..out_of_core.output import NAMES
    from ..out_of_core.planning import plan

    if output is None:
        raise ParameterError("votes in parts need -o DIR: their labels are written as Parquet, a part each")
    refuse_to_overwrite(output, NAMES, force)
    refuse_check_overwrite(gold_options.check, force)
    check_calibration(
        gold, gold_options.calibrate, None if gold_options.sampling is None else gold_options.sampling.value
    )
    check_method(method.name)
    work_folder = work_folder_of(output, scale.work_dir)
    with (
        partition_progress() as progress,
        nullcontext() if scale.dask is None else dask_executor(scale.dask) as executor,
    ):
        planned = plan(votes, work_folder, partition_options(read_options, scale, gold), progress.planning)
        print_ledger(planned.ledger)
        info(f"{planned.n_rows:,} annotations of {planned.n_tasks:,} tasks in {len(planned.parts)} parts")
        callbacks = ProgressCallbacks(info, progress.planning, progress.fitting(planned.n_rows))
        error = ERROR if gold_options.error is None else gold_options.error
        fit_options: dict[str, Any] = {
            "calibrate": gold_options.calibrate,
            "sampling": gold_options.drawn(gold, planned),
        }
        levels: list[Trust] = []
        fit_options |= {
            "extra": {"error": error},
            "finish": lambda result_in_parts: levels.append(mark_parts(result_in_parts, error)),
        }
        facts = fit_plan(
            planned,
            method,
            output,
            gold=gold,
            prior=prior,
            executor=executor,
            force=force,
            callbacks=callbacks,
            **fit_options,
        )
    if scale.work_dir is None:
        shutil.rmtree(work_folder, ignore_errors=True)
    result = Result.load(output)
    written = write_check(result, gold_options.check, method.seed)
    _print_summary(result, levels[0], planned, facts, output, json, written)


def refuse_in_parts(**options: bool) -> None:
    """Refuse what needs all votes at once."""
    for name, is_set in options.items():
        if is_set:
            raise ParameterError(f"--{name.replace('_', '-')} needs all votes at once and does not go in parts")


def partition_options(read_options: ReadOptions, scale: ScaleOptions, gold: Any) -> Any:
    """The options of reading, as a plan takes them; those that do not go in parts are refused."""
    from ..out_of_core.options import PartitionOptions

    defaults = ReadOptions()
    for name in NOT_IN_PARTS:
        if getattr(read_options, name) != getattr(defaults, name):
            raise ParameterError(f"--{name.replace('_', '-')} does not go with votes in parts; read them into memory")
    classes = () if gold is None else tuple(gold["label"].unique().sort().to_list())
    given = {field.name: getattr(read_options, field.name) for field in fields(ReadOptions)}
    return PartitionOptions(**given | {"classes": classes, "grouped": scale.grouped})


def _print_summary(
    result: Result, level: Trust, plan: Any, facts: dict[str, Any], output: Path, json: bool, written: str
) -> None:
    from ..kinds.classes.scoring.summaries import dependence_sentences
    from ..workers.tables import worker_rows

    print_assumed_sampling(result)
    if json:
        print_json(
            {
                "method": result.method,
                "kind": "classes",
                "params": dict(result.params),
                "annotations": plan.n_rows,
                "workers": len(result.workers),
                "classes": result.classes.to_list(),
                "class_prior": result.class_prior.tolist(),
                "iterations": result.n_iter,
                "converged": result.converged,
                **{name: result.extra[name] for name in REPORTED_EXTRAS if name in result.extra},
                "trust": level.to_dict(),
                **{
                    ("tasks" if name == "n_tasks" else name): value for name, value in facts.items() if name != "n_rows"
                },
                "ledger": plan.ledger.to_dict(),
                "output": str(output),
                "labels": None,
            }
        )
        return
    info(
        f"{plan.n_rows:,} annotations of {facts['n_tasks']:,} tasks by {len(result.workers):,} workers, "
        f"{len(result.classes)} classes; {result.method}, {result.n_iter} iterations; mean confidence "
        f"{facts['mean_confidence']:.3f}"
    )
    print_choice(result)
    for sentence in (level.sentence(written), *dependence_sentences(result)):
        info(clean(sentence))
    if facts["silent"]:
        info(f"{facts['silent']:,} tasks have no label at all; their rows show the class prior")
    print_table("Workers, best and worst", *worker_rows(result))
    info(f"written to {output}")
