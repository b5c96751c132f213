"""crowdwise aggregate: from a file of votes to labels, workers and confusions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.kind import KindHooks
from .loading import checked_method, chosen_method, load, load_prior
from .options import Force, Gold, GoldColumns, Json, Method, Params, Prior, Seed, Votes
from .sampling import (
    CheckOption,
    ErrorOption,
    Sampling,
    SamplingOption,
    refuse_check,
    stated,
    tell_assumed,
    write_check,
)
from .scale.parts import Dask, Far, Grouped, Measured, OutOfCore, WorkDir, aggregate_parts, refuse_in_parts
from .terminal import TOLD, clean, naming, print_json, print_table, progress, say, tell_choice, tell_ledger
from .vote_options import USUAL, Asked, reads_votes

if TYPE_CHECKING:
    from ..core.result import Result


@reads_votes
def aggregate(
    votes: Votes,
    method: Method = None,
    param: Params = None,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    sampling: SamplingOption = None,
    prior: Prior = None,
    asked: Asked = USUAL,
    calibrate: Annotated[
        bool | None,
        typer.Option(
            "--calibrate/--no-calibrate",
            help="Calibrate confidence; no label changes. By default with --gold; without gold, on held-out labels.",
            show_default=False,
        ),
    ] = None,
    error: ErrorOption = None,
    check: CheckOption = None,
    drop_flagged: Annotated[
        bool,
        typer.Option("--drop-flagged", help="Fit again without workers flagged as guessing or colluding; say who."),
    ] = False,
    subjective: Annotated[
        bool,
        typer.Option("--subjective", help="No single truth: give each task the distribution of what people say of it."),
    ] = False,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for all tables and the saved result.", show_default=False),
    ] = None,
    force: Force = False,
    json: Json = False,
    out_of_core: OutOfCore = False,
    dask: Dask = None,
    work_dir: WorkDir = None,
    grouped: Grouped = False,
) -> None:
    """Turn votes into labels with honest confidence.

    Without -o the labels go to stdout as CSV: task, label, confidence, entropy, n_labels, p_<class>... VOTES may be a
    pattern ('votes/*.parquet') or an address (s3://bucket/votes/*.parquet); see docs/scale.md for votes that do not fit
    into memory.
    """
    from ..evaluation.statement import at_error, error_of
    from ..io.beside import refuse_to_overwrite
    from ..io.csv.cells import to_csv
    from ..io.run_folder import OWN, Run

    method = _asked_method(method, subjective)
    far = Far(out_of_core, dask, work_dir, grouped)
    if far.wanted(votes, asked):
        refuse_in_parts(drop_flagged=drop_flagged)
        measured = Measured(gold, sampling, calibrate, error, check)
        _in_parts(votes, method, param, seed, asked, far, gold_columns, prior, (output, force, json), measured)
        return
    if output is not None:
        refuse_to_overwrite(output, OWN, force)
    refuse_check(check, force)
    annotations, known = load(votes, asked, gold, gold_columns, method)
    chosen = chosen_method(method, annotations, seed, param, known)
    tell_ledger(annotations.ledger)
    how = {
        "gold": known, "prior": None if prior is None else load_prior(prior), "calibrate": calibrate,
        "sampling": _sampling(sampling, gold, known, annotations, calibrate),
    }  # fmt: skip
    with progress(chosen.name) as callback, naming(votes, gold, prior):
        result, annotations = _fit(chosen, annotations, {**how, "callback": callback}, drop_flagged)
    tell_assumed(result)
    result = at_error(result, error_of(result, error))
    if output is not None:
        Run(result, annotations).save(output, force=force)
    written = write_check(result, check, seed)
    if json:
        print_json(summary(result, annotations, output))
    elif output is None:
        sys.stdout.write(to_csv(result.to_table()))
    if not json:
        tell(result, annotations, output, written)


def _sampling(sampling: Sampling | None, path: Path | None, gold: Any, votes: Any, calibrate: bool | None) -> Any:
    """How gold was drawn; not asked for where nothing rests on it."""
    return None if sampling is None and calibrate is False else stated(sampling, path, gold, votes.tasks)


def _in_parts(
    votes: str,
    method: str | None,
    param: list[str] | None,
    seed: int,
    asked: Asked,
    far: Far,
    gold_columns: str | None,
    prior: Path | None,
    out: tuple[Path | None, bool, bool],
    measured: Measured,
) -> None:
    """The same over votes that lie in parts on disk."""
    from ..core import method_registry as registry
    from ..out_of_core.fitting import default_in_parts
    from .options import parse_params
    from .vote_options import parse_order

    name = default_in_parts(parse_order(asked.order)) if method is None else method
    chosen = registry.method(name, **{"seed": seed, **parse_params(name, param)})
    history = None if prior is None else load_prior(prior)
    aggregate_parts(votes, chosen, asked, far, asked.truth(measured.gold, gold_columns), history, *out, measured)


def _asked_method(method: str | None, subjective: bool) -> str | None:
    """The method that was asked for; --subjective is one."""
    from ..core.errors import ParameterError

    checked_method(method)
    if subjective and method not in (None, "subjective"):
        raise ParameterError(f"--subjective is the method subjective, got -m {method}; leave one of them out")
    return "subjective" if subjective else method


def _fit(chosen: Any, annotations: Any, how: dict[str, Any], drop_flagged: bool) -> tuple[Result, Any]:
    """The result, and the votes that it rests on."""
    from ..evaluation.fitting import fit
    from ..kinds.classes.workers.removal import fit_without_flagged

    if not drop_flagged:
        return fit(annotations, chosen, **how), annotations
    annotations.kind.hooks.require(KindHooks.flags)  # one line where these votes have none
    found = fit_without_flagged(chosen, annotations, **how)
    for sentence in found.sentences():
        say(clean(sentence))
    return found.result, found.annotations


def summary(result: Result, annotations: Any, output: Path | None) -> dict[str, Any]:
    """What --json prints."""
    from ..evaluation.statement import statement

    made = statement(result)
    level = {} if made is None else {"trust": made.to_dict()}
    return {
        "method": result.method,
        "kind": result.kind.name,
        "params": dict(result.params),
        "annotations": len(annotations),
        "tasks": annotations.n_tasks,
        "workers": annotations.n_workers,
        **result.estimate.facts(),
        "iterations": result.n_iter,
        "converged": result.converged,
        **{name: result.extra[name] for name in TOLD if name in result.extra},
        **level,
        "ledger": annotations.ledger.to_dict(),
        "output": None if output is None else str(output),
        "labels": None if output is not None else result.to_table().to_dicts(),
    }


def tell(result: Result, annotations: Any, output: Path | None, check: str = "") -> None:
    """The short summary for people."""
    from ..evaluation.statement import outlook

    kind = result.kind
    say(
        f"{len(annotations):,} {kind.answers_word} of {annotations.n_tasks:,} tasks by {annotations.n_workers:,} "
        f"workers{result.estimate.size()}; {result.method}, {result.n_iter} iterations"
    )
    tell_choice(result)
    say(clean(outlook(result, written=check)))
    for sentence in kind.hooks.sentences(annotations, result):
        say(clean(sentence))
    none = int((annotations.labels_per_task == 0).sum())
    if none:
        who, rows = ("1 task has", "its row shows") if none == 1 else (f"{none:,} tasks have", "their rows show")
        say(f"{who} no label at all; {rows} the {result.estimate.without_labels}")
    if output is not None:
        print_table("Workers, best and worst", *kind.hooks.worker_rows(result))
        say(f"written to {output}")
