"""crowdwise aggregate over votes in many files, or in more than memory: plan, fit in parts, say how it goes."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.errors import ParameterError
from ...core.result import Result
from ..sampling import Sampling, refuse_check, stated, tell_assumed, write_check
from ..terminal import TOLD, clean, print_json, print_table, say, tell_choice, tell_ledger
from ..vote_options import Asked, parse_order
from .progress import going

if TYPE_CHECKING:
    from ...evaluation.statement import Trust

OutOfCore = Annotated[
    bool,
    typer.Option(
        "--out-of-core", help="Work in parts on disk; by itself where the votes would take half of the free memory."
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        help="Work in parts on a Dask cluster: the scheduler's address (tcp://...), or local[:N] for N processes here.",
        metavar="ADDRESS",
        show_default=False,
    ),
]
WorkDir = Annotated[
    Path | None,
    typer.Option(
        "--work-dir",
        help="Where the parts are kept for the next run; by default beside -o, until the run is written.",
        metavar="DIR",
        show_default=False,
    ),
]
Grouped = Annotated[
    bool, typer.Option("--grouped", help="All rows of a task follow each other in one file: no shuffle is needed.")
]
# What cannot be said of a fit in parts.
NOT_IN_PARTS = ("question", "predictions", "multiple", "offered", "about_tasks", "about_workers", "links")


@dataclass(frozen=True)
class Far:
    """What was said about working in parts."""

    out_of_core: bool = False
    dask: str | None = None
    work_dir: Path | None = None
    grouped: bool = False

    def wanted(self, votes: str, asked: Asked) -> bool:
        """Whether the votes are to be worked on in parts: somebody says so, or they would fill the memory."""
        from ...out_of_core.files import TABLES, expand, is_many, is_table
        from ...out_of_core.memory import too_large

        if self.out_of_core or self.dask is not None or self.grouped:
            return True
        named = asked.format is not None and asked.format not in TABLES
        if votes == "-" or named or not (is_many(votes) or is_table(Path(votes))):
            return False
        why = too_large(expand(votes, asked.format))
        if why is not None:
            say(f"note: {why}: working in parts on disk (--out-of-core)")
        return why is not None


@dataclass(frozen=True)
class Measured:
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
        return stated(self.sampling, self.gold if records else None, gold, plan)


def aggregate_parts(
    votes: str,
    method: Any,
    asked: Asked,
    far: Far,
    gold: Any,
    prior: Any,
    output: Path | None,
    force: bool,
    json: bool,
    measured: Measured = Measured(),  # noqa: B008
) -> None:
    """Plan the votes, fit the method and write the run folder."""
    from ...em.cluster import hired
    from ...evaluation.statement import ERROR, mark_parts
    from ...io.beside import refuse_to_overwrite
    from ...out_of_core.fitting import Told, calibrates, check_method, fit_plan, work_place
    from ...out_of_core.output import NAMES
    from ...out_of_core.planning import plan

    if output is None:
        raise ParameterError("votes in parts need -o DIR: their labels are written as Parquet, a part each")
    refuse_to_overwrite(output, NAMES, force)
    refuse_check(measured.check, force)
    calibrates(gold, measured.calibrate, None if measured.sampling is None else measured.sampling.value)
    check_method(method.name)
    place = work_place(output, far.work_dir)
    with going() as tell, nullcontext() if far.dask is None else hired(far.dask) as hire:
        found = plan(votes, place, wish_of(asked, far, gold), tell.planning)
        tell_ledger(found.ledger)
        say(f"{found.n_rows:,} annotations of {found.n_tasks:,} tasks in {len(found.parts)} parts")
        told = Told(say, tell.planning, tell.fitting(found.n_rows))
        error = ERROR if measured.error is None else measured.error
        how: dict[str, Any] = {"calibrate": measured.calibrate, "sampling": measured.drawn(gold, found)}
        levels: list[Trust] = []
        how |= {"extra": {"error": error}, "finish": lambda made: levels.append(mark_parts(made, error))}
        facts = fit_plan(found, method, output, gold=gold, prior=prior, hire=hire, force=force, told=told, **how)
    if far.work_dir is None:
        shutil.rmtree(place, ignore_errors=True)
    result = Result.load(output)
    written = write_check(result, measured.check, method.seed)
    _tell(result, levels[0], found, facts, output, json, written)


def refuse_in_parts(**wishes: bool) -> None:
    """Refuse what needs all votes at once."""
    for name, wished in wishes.items():
        if wished:
            raise ParameterError(f"--{name.replace('_', '-')} needs all votes at once and does not go in parts")


def wish_of(asked: Asked, far: Far, gold: Any) -> Any:
    """The options of reading, as a plan takes them; those that do not go in parts are refused."""
    from ...core.intake.columns import parse_columns
    from ...io.kind_of_columns import answer_roles
    from ...out_of_core.wish import Wish

    usual = Asked()
    for name in NOT_IN_PARTS:
        if getattr(asked, name) != getattr(usual, name):
            raise ParameterError(f"--{name.replace('_', '-')} does not go with votes in parts; read them into memory")
    order = parse_order(asked.order)
    return Wish(
        parse_columns(asked.columns, answer=answer_roles()),
        asked.duplicates.value,
        asked.format,
        tuple(asked.missing or ()),
        asked.kind,
        None if order is None else tuple(order),
        () if gold is None else tuple(gold["label"].unique().sort().to_list()),
        far.grouped,
    )


def _tell(
    result: Result, level: Trust, plan: Any, facts: dict[str, Any], output: Path, json: bool, written: str
) -> None:
    from ...kinds.classes.scoring.shown import err_together
    from ...workers.tables import worker_rows

    tell_assumed(result)
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
                **{name: result.extra[name] for name in TOLD if name in result.extra},
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
    say(
        f"{plan.n_rows:,} annotations of {facts['n_tasks']:,} tasks by {len(result.workers):,} workers, "
        f"{len(result.classes)} classes; {result.method}, {result.n_iter} iterations; mean confidence "
        f"{facts['mean_confidence']:.3f}"
    )
    tell_choice(result)
    for sentence in (level.sentence(written), *err_together(result)):
        say(clean(sentence))
    if facts["silent"]:
        say(f"{facts['silent']:,} tasks have no label at all; their rows show the class prior")
    print_table("Workers, best and worst", *worker_rows(result))
    say(f"written to {output}")
