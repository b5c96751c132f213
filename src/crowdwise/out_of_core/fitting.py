"""Fit votes in files part by part: plan, fit, write the run folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ..core.callback import Callback
from ..core.errors import ParameterError
from ..core.method_registry import card, default_method
from ..core.method_registry import method as made
from ..core.truth import truth_table
from ..em.drivers import Executor, InProcess, Threads
from ..em.journal import Journal
from ..em.kernels import n_threads
from ..evaluation.fitting import Sampling, allowed, recorded
from ..io.atomic import refuse_to_overwrite
from ..io.run_folder import Run
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.methods.parts import PartsFit, PartsSurvey, fit_parts
from ..kinds.classes.methods.requirements import keeps_confusion_matrices
from .calibrated import calibrated_in_parts
from .gather import gold_by_part
from .memory import check_cost
from .options import PartitionOptions
from .output import NAMES, Finish, save, without_tasks
from .plan import PartitionPlan
from .planning import Progress, plan

# Folder, in the work folder, of the columns from the fit without gold.
BLIND = "blind"


@dataclass(frozen=True)
class ProgressCallbacks:
    """Callbacks for progress.

    Args:
        say: Called with sentences for the user.
        progress: Called with (done, total, activity) while parts are planned and written.
        callback: Called with (iteration, objective) after each pass.
    """

    say: Callable[[str], None] = lambda _: None
    progress: Progress = lambda *_: None
    callback: Callback | None = None


def fit_files(
    votes: str | Path | Sequence[Any],
    method: Any,
    output: str | Path,
    *,
    gold: Any = None,
    prior: Any = None,
    calibrate: bool | None = None,
    sampling: Sampling | None = None,
    work_dir: str | Path | None = None,
    executor: Executor | None = None,
    force: bool = False,
    callbacks: ProgressCallbacks = ProgressCallbacks(),  # noqa: B008
    **options: Any,
) -> Run:
    """Fit a method to votes in files that need not fit into memory, and write the run folder `output`.

    A fit that was interrupted continues from its last pass when it is called again.

    Args:
        votes: A path, a pattern, a folder, a list of these, or an address of an object store (s3://, gs://, az://,
            hf://).
        method: A name, a method, or None for the default; it must work in parts (its card lists shard).
        output: Folder of the run.
        gold: True labels of some tasks, as in `cw.fit`; ten or more calibrate the confidence.
        prior: Earlier counts or result of the workers, as in `cw.fit`.
        calibrate: As in `cw.fit`; calibration without gold needs all votes at once.
        sampling: How gold was drawn, as in `cw.fit`.
        work_dir: Folder that keeps the parts for another fit of the same files. By default they are kept beside
            `output` until the run is written.
        executor: Runs the work on the parts: threads of this process by default, or a cluster.
        force: Whether to replace an existing run.
        callbacks: Callbacks for progress.
        **options: Options of `read` (columns, duplicates, missing, order), and `grouped=True` if all rows of a task
            follow each other in one file.

    Returns:
        The run, whose tasks stay on disk.
    """
    output = Path(output)
    refuse_to_overwrite(output, NAMES, force)
    if method is None:
        method = default_partition_method(options.get("order"))
    aggregator = made(method) if isinstance(method, str) else method
    check_method(aggregator.name)
    gold_table = None if gold is None else truth_table(gold)
    if gold_table is not None and not options.get("classes"):
        options["classes"] = tuple(gold_table["label"].unique().sort().to_list())
    check_calibration(gold_table, calibrate, sampling)
    work_folder = work_folder_of(output, work_dir)
    made_plan = plan(votes, work_folder, PartitionOptions(**options), callbacks.progress)
    calibration: dict[str, Any] = {"calibrate": calibrate, "sampling": sampling}
    fit_plan(
        made_plan,
        aggregator,
        output,
        gold=gold_table,
        prior=prior,
        executor=executor,
        force=force,
        callbacks=callbacks,
        **calibration,
    )
    if work_dir is None:
        shutil.rmtree(work_folder, ignore_errors=True)
    return Run.load(output)


def work_folder_of(output: Path, work_dir: str | Path | None) -> Path:
    """Return the folder of the parts: the named one, or one beside the output."""
    real = output.resolve()
    return real.with_name(f".{real.name}.parts") if work_dir is None else Path(work_dir)


def default_partition_method(order: Sequence[Any] | None = None) -> str:
    """Return the default method for class labels in files: that of a fit in memory, even if it is refused in parts."""
    nothing = Annotations.from_arrays([], [], [], classes=order, order=order)
    return default_method(nothing)


def check_method(name: str) -> None:
    """Refuse a method that cannot work in parts."""
    if "shard" not in card(name).can:
        raise ParameterError(
            f"{name} needs all votes at once and cannot work in parts; name another one (-m, method=): crowdwise "
            "methods shows which can, such as dawid_skene, hierarchical and wawa"
        )


def check_calibration(gold: Any, calibrate: bool | None, sampling: Sampling | None) -> bool | None:
    """Return `calibrate`, or False for gold that was not drawn at random; refuse options that do not work in parts."""
    calibrate = allowed(gold, calibrate, sampling)
    if calibrate and gold is None:
        raise ParameterError(
            "calibrate=True (--calibrate) without gold needs all votes at once and does not go in parts; give gold"
        )
    return calibrate


def fit_plan(
    votes: PartitionPlan,
    method: Any,
    output: Path,
    *,
    gold: Any = None,
    prior: Any = None,
    executor: Executor | None = None,
    calibrate: bool | None = None,
    sampling: Sampling | None = None,
    force: bool = False,
    callbacks: ProgressCallbacks = ProgressCallbacks(),  # noqa: B008
    extra: Mapping[str, Any] = MappingProxyType({}),
    finish: Finish | None = None,
) -> dict[str, Any]:
    """Fit a method to a plan and write the run folder; a fit that was interrupted continues from its last pass.

    `extra` is added to that of the result, and `finish` may change the result before the folder takes its place.
    Returns counts over all tasks (see `save`).
    """
    calibrate = check_calibration(gold, calibrate, sampling)
    cost = check_cost(votes, keeps_confusion_matrices(method.name))
    if cost is not None:
        callbacks.say(cost)
    placed_gold = gold_by_part(votes, gold)
    description = {
        "method": method.name,
        "params": method.params(),
        "files": [vars(file) for file in votes.files],
        "wish": dict(votes.options),
        "gold": None if gold is None else truth_table(gold).rows(),
        "prior": None if prior is None else repr(_counted(prior)),
        "calibrate": calibrate,
    }
    journal = Journal(votes.folder / "fit", description)
    with journal.open():
        fit = in_parts(
            votes, method, placed_gold, prior=prior, executor=executor, callback=callbacks.callback, calibrate=calibrate
        )
        fit = _recorded(fit, votes, placed_gold, sampling, calibrate)
        fit = replace(fit, extra={**fit.extra, **extra})
        if journal.resumed:
            callbacks.say(f"{journal.resumed} passes were made before and are taken from {journal.folder}")
        facts = save(fit, votes, output, force=force, progress=callbacks.progress, finish=finish)
    shutil.rmtree(votes.folder / BLIND, ignore_errors=True)
    return facts


def _recorded(
    fit: PartsFit, votes: PartitionPlan, gold: Any, sampling: Sampling | None, calibrate: bool | None
) -> PartsFit:
    """Return the fit with a record of how its gold was drawn."""
    if gold is None:
        return fit
    is_gold = np.ones(sum(len(at) for at, _ in gold), dtype=bool)
    result = replace(without_tasks(fit, votes), gold=is_gold)
    return replace(fit, extra=recorded(result, sampling, calibrate).extra)


def _counted(prior: Any) -> Any:
    """Return what distinguishes one prior from another, for the journal."""
    counts = getattr(prior, "counts", None)
    if isinstance(counts, np.ndarray):
        return counts.sum(axis=(1, 2)).tolist()
    return prior.rows() if hasattr(prior, "rows") else prior


def in_parts(
    votes: PartitionPlan,
    method: Any,
    gold: Any = None,
    *,
    prior: Any = None,
    executor: Executor | None = None,
    callback: Callback | None = None,
    calibrate: bool | None = None,
) -> PartsFit:
    """Fit a method to a plan; `gold` is placed in the parts. With gold, confidence is calibrated unless `calibrate` is
    False.
    """
    check_method(method.name)
    source = replace(votes.source, gold=gold)
    threads = min(n_threads(), len(votes.parts))
    default: Executor = partial(Threads, threads=threads) if threads > 1 else InProcess
    chosen, surveyed_parts = executor or default, surveyed(votes, gold)
    fit = fit_parts(method, source, chosen, prior=prior, callback=callback, surveyed=surveyed_parts)
    if not fit.has_gold or calibrate is False or "gold" in card(method.name).needs:
        return fit
    fit_options: dict[str, Any] = {"prior": prior, "callback": callback, "survey": surveyed_parts}
    return calibrated_in_parts(fit, method, source, chosen, votes.folder / BLIND, **fit_options)


def surveyed(votes: PartitionPlan, gold: Any) -> PartsSurvey:
    """Return the survey of all parts from the plan, without opening them."""
    per: Mapping[str, Any] = votes.per_worker
    return PartsSurvey(
        n_classes=len(votes.classes),
        labels_per_worker=per["labels"],
        weight=per["weight"],
        tasks=tuple(part.labelled for part in votes.parts),
        rows=tuple(part.labelled_rows for part in votes.parts),
        max_labels_per_task=max(part.most for part in votes.parts),
        has_gold=gold is not None and any(len(at) for at, _ in gold),
        has_empty_tasks=any(part.labelled < part.tasks for part in votes.parts),
    )
