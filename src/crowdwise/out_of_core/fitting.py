"""From files to a run folder, in parts: plan, fit, write. What the command line does, for Python."""

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
from ..em.drivers import Hire, InProcess, Threads
from ..em.journal import Journal
from ..em.kernels import n_threads
from ..evaluation.fitting import Sampling, allowed, recorded
from ..io.beside import refuse_to_overwrite
from ..io.run_folder import Run
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.methods.needs import keeps_tables
from ..kinds.classes.methods.parts import PartsFit, Surveyed, fit_parts
from .calibrated import calibrated_in_parts
from .gather import placed
from .memory import check_cost
from .output import NAMES, Finish, save, without_tasks
from .plan import Plan
from .planning import Progress, plan
from .wish import Wish

# Where the work folder keeps what a fit without gold says of each task.
BLIND = "blind"
Say = Callable[[str], None]


@dataclass(frozen=True)
class Told:
    """Whom to tell what: sentences, how far planning and writing have come, and how the fit goes."""

    say: Say = lambda _: None
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
    hire: Hire | None = None,
    force: bool = False,
    told: Told = Told(),  # noqa: B008
    **wish: Any,
) -> Run:
    """Fit a method to votes in files that need not fit into memory, and write the run folder `output`.

    `votes` is a path, a pattern, a folder, a list of these, or an address of an object store (s3://, gs://, az://,
    hf://). `method` is a name, a method, or None for the default; it must work in parts (its card says shard).
    `gold`, `calibrate` and `sampling` are those of `cw.fit`: ten gold tasks or more calibrate the confidence, in parts
    too; calibration without gold needs all votes at once.
    `work_dir` keeps the parts, for another fit of the same files; without it they lie beside `output` until the run is
    written. A fit that was killed goes on from its last pass when it is called again. `hire` says who works on the
    parts: threads of this process, or a cluster. The other options are those of `read`: columns, duplicates, missing,
    order; `grouped=True` says that all rows of a task follow each other in one file.
    """
    output = Path(output)
    refuse_to_overwrite(output, NAMES, force)
    if method is None:
        method = default_in_parts(wish.get("order"))
    chosen = made(method) if isinstance(method, str) else method
    check_method(chosen.name)
    known = None if gold is None else truth_table(gold)
    if known is not None and not wish.get("classes"):
        wish["classes"] = tuple(known["label"].unique().sort().to_list())
    calibrates(known, calibrate, sampling)
    place = work_place(output, work_dir)
    made_plan = plan(votes, place, Wish(**wish), told.progress)
    how: dict[str, Any] = {"calibrate": calibrate, "sampling": sampling}
    fit_plan(made_plan, chosen, output, gold=known, prior=prior, hire=hire, force=force, told=told, **how)
    if work_dir is None:
        shutil.rmtree(place, ignore_errors=True)
    return Run.load(output)


def work_place(output: Path, work_dir: str | Path | None) -> Path:
    """Where the parts are put: where it was said, or beside the output."""
    real = output.resolve()
    return real.with_name(f".{real.name}.parts") if work_dir is None else Path(work_dir)


def default_in_parts(order: Sequence[Any] | None = None) -> str:
    """The default method for class labels in files: that of a fit in memory, even if it is refused in parts."""
    nothing = Annotations.from_arrays([], [], [], classes=order, order=order)
    return default_method(nothing)


def check_method(name: str) -> None:
    """Refuse a method that cannot work in parts, before anything is read."""
    if "shard" not in card(name).can:
        raise ParameterError(
            f"{name} needs all votes at once and cannot work in parts; name another one (-m, method=): crowdwise "
            "methods shows which can, such as dawid_skene, hierarchical and wawa"
        )


def calibrates(gold: Any, calibrate: bool | None, sampling: Sampling | None) -> bool | None:
    """`calibrate`, False for gold that was not drawn at random; refuses what does not go together, or not in parts."""
    calibrate = allowed(gold, calibrate, sampling)
    if calibrate and gold is None:
        raise ParameterError(
            "calibrate=True (--calibrate) without gold needs all votes at once and does not go in parts; give gold"
        )
    return calibrate


def fit_plan(
    votes: Plan,
    method: Any,
    output: Path,
    *,
    gold: Any = None,
    prior: Any = None,
    hire: Hire | None = None,
    calibrate: bool | None = None,
    sampling: Sampling | None = None,
    force: bool = False,
    told: Told = Told(),  # noqa: B008
    extra: Mapping[str, Any] = MappingProxyType({}),
    finish: Finish | None = None,
) -> dict[str, Any]:
    """Fit a method to a plan and write the run folder; a fit that was killed goes on where it stood. `extra` is added
    to that of the result, and `finish` may change the result before it takes its place."""
    calibrate = calibrates(gold, calibrate, sampling)
    said = check_cost(votes, keeps_tables(method.name))
    if said is not None:
        told.say(said)
    at = placed(votes, gold)
    what = {
        "method": method.name,
        "params": method.params(),
        "files": [vars(file) for file in votes.files],
        "wish": dict(votes.wish),
        "gold": None if gold is None else truth_table(gold).rows(),
        "prior": None if prior is None else repr(_counted(prior)),
        "calibrate": calibrate,
    }
    journal = Journal(votes.folder / "fit", what)
    with journal.open():
        fit = in_parts(votes, method, at, prior=prior, hire=hire, callback=told.callback, calibrate=calibrate)
        fit = _recorded(fit, votes, at, sampling, calibrate)
        fit = replace(fit, extra={**fit.extra, **extra})
        if journal.resumed:
            told.say(f"{journal.resumed} passes were made before and are taken from {journal.folder}")
        facts = save(fit, votes, output, force=force, progress=told.progress, finish=finish)
    shutil.rmtree(votes.folder / BLIND, ignore_errors=True)
    return facts


def _recorded(fit: PartsFit, votes: Plan, gold: Any, sampling: Sampling | None, calibrate: bool | None) -> PartsFit:
    """The fit with a record of how its gold was drawn."""
    if gold is None:
        return fit
    given = np.ones(sum(len(at) for at, _ in gold), dtype=bool)
    result = replace(without_tasks(fit, votes), gold=given)
    return replace(fit, extra=recorded(result, sampling, calibrate).extra)


def _counted(prior: Any) -> Any:
    """What tells one prior from another."""
    counts = getattr(prior, "counts", None)
    if isinstance(counts, np.ndarray):
        return counts.sum(axis=(1, 2)).tolist()
    return prior.rows() if hasattr(prior, "rows") else prior


def in_parts(
    votes: Plan,
    method: Any,
    gold: Any = None,
    *,
    prior: Any = None,
    hire: Hire | None = None,
    callback: Callback | None = None,
    calibrate: bool | None = None,
) -> PartsFit:
    """Fit a method to a plan, whose gold is placed in its parts already; with gold confidence is calibrated, unless
    `calibrate` is False."""
    check_method(method.name)
    source = replace(votes.source, gold=gold)
    threads = min(n_threads(), len(votes.parts))
    usual: Hire = partial(Threads, threads=threads) if threads > 1 else InProcess
    who, seen = hire or usual, surveyed(votes, gold)
    fit = fit_parts(method, source, who, prior=prior, callback=callback, seen=seen)
    if not fit.told or calibrate is False or "gold" in card(method.name).needs:
        return fit
    how: dict[str, Any] = {"prior": prior, "callback": callback, "seen": seen}
    return calibrated_in_parts(fit, method, source, who, votes.folder / BLIND, **how)


def surveyed(votes: Plan, gold: Any) -> Surveyed:
    """What a look at all parts would find: the plan has it."""
    per: Mapping[str, Any] = votes.per_worker
    return Surveyed(
        n_classes=len(votes.classes),
        labels_per_worker=per["labels"],
        weight=per["weight"],
        tasks=tuple(part.heard for part in votes.parts),
        rows=tuple(part.heard_rows for part in votes.parts),
        longest=max(part.most for part in votes.parts),
        told=gold is not None and any(len(at) for at, _ in gold),
        silent=any(part.heard < part.tasks for part in votes.parts),
    )
