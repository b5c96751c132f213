"""crowdwise aggregate: labels, worker quality and confusion matrices from a file of votes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..core.kind import KindHooks
from ..core.options import ReadOptions
from .loading import below, check_method_name, for_each_question, load, load_prior, resolve_method
from .options import Force, Gold, GoldColumns, Json, Method, Params, Prior, Seed, Votes, parse_params
from .partitions import (
    Dask,
    GoldOptions,
    Grouped,
    OutOfCore,
    PartitionedFit,
    ScaleOptions,
    WorkDir,
    fit_partitions,
    refuse_in_parts,
)
from .progress import iteration_progress
from .sampling import (
    CheckOption,
    ErrorOption,
    Sampling,
    SamplingOption,
    print_assumed_sampling,
    refuse_check_overwrite,
    resolve_sampling,
    write_check,
)
from .terminal import REPORTED_EXTRAS, clean, error_context, info, print_choice, print_json, print_ledger, print_table
from .vote_options import DEFAULT_READ_OPTIONS, reads_votes

if TYPE_CHECKING:
    from ..core.ledger import Ledger
    from ..core.result import Result


@reads_votes
@for_each_question(below, "gold", "check", "prior", "json")
def aggregate(
    votes: Votes,
    method: Method = None,
    param: Params = None,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    sampling: SamplingOption = None,
    prior: Prior = None,
    read_options: ReadOptions = DEFAULT_READ_OPTIONS,
    calibrate: Annotated[
        bool | None,
        typer.Option(
            "--calibrate/--no-calibrate",
            help="Calibrate confidence without changing labels; on by default with --gold, and without "
            "gold based on held-out labels.",
            show_default=False,
            rich_help_panel="Gold and truth",
        ),
    ] = None,
    error: ErrorOption = None,
    check: CheckOption = None,
    drop_flagged: Annotated[
        bool,
        typer.Option(
            "--drop-flagged",
            help="Fit again without the workers flagged as guessing or colluding, and list them.",
            rich_help_panel="Method",
        ),
    ] = False,
    subjective: Annotated[
        bool,
        typer.Option(
            "--subjective",
            help="Assume no single truth and estimate the distribution of answers of each task.",
            rich_help_panel="Method",
        ),
    ] = False,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Folder for all tables and the saved result.",
            show_default=False,
            rich_help_panel="Output",
        ),
    ] = None,
    force: Force = False,
    json: Json = False,
    out_of_core: OutOfCore = False,
    dask: Dask = None,
    work_dir: WorkDir = None,
    grouped: Grouped = False,
) -> None:
    """Aggregate votes into labels with calibrated confidence.

    Without -o the labels are printed as CSV: task, label, confidence, entropy, n_labels, p_<class>... VOTES may be a
    pattern ('votes/*.parquet') or an address (s3://bucket/votes/*.parquet); see docs/scale.md for votes that do not fit
    into memory.
    """
    from ..evaluation.statement import at_error, error_of, statement
    from ..io.csv.cells import to_csv

    method = _requested_method(method, subjective)
    scale = ScaleOptions(out_of_core, dask, work_dir, grouped)
    if scale.is_needed(votes, read_options):
        refuse_in_parts(drop_flagged=drop_flagged)
        refuse_check_overwrite(check, force)
        gold_options = GoldOptions(gold, gold_columns, sampling, calibrate, error)
        aggregator = _partition_method(method, read_options, seed, param)
        history = None if prior is None else load_prior(prior)
        with fit_partitions(votes, aggregator, read_options, scale, gold_options, history, output, force) as fitted:
            _print_partitions(fitted, output, write_check(fitted.result, check, aggregator.seed), json)
        return
    if output is not None:
        from ..io.atomic import refuse_to_overwrite
        from ..io.run_folder import OWN

        refuse_to_overwrite(output, OWN, force)
    refuse_check_overwrite(check, force)
    annotations, gold_labels = load(votes, read_options, gold, gold_columns, method)
    aggregator = resolve_method(method, annotations, seed, param, gold_labels)
    print_ledger(annotations.ledger)
    fit_options = {
        "gold": gold_labels, "prior": None if prior is None else load_prior(prior), "calibrate": calibrate,
        "sampling": _sampling(sampling, gold, gold_labels, annotations, calibrate),
    }  # fmt: skip
    with iteration_progress(aggregator.name) as callback, error_context(votes, gold, prior):
        result, annotations = _fit(aggregator, annotations, {**fit_options, "callback": callback}, drop_flagged)
    print_assumed_sampling(result)
    result = at_error(result, error_of(result, error))
    if output is not None:
        from ..io.run_folder import Run

        Run(result, annotations, gold=gold_labels).save(output, force=force)
    written = write_check(result, check, seed)
    if json:
        counts = {"annotations": len(annotations), "tasks": annotations.n_tasks, "workers": annotations.n_workers}
        print_json(summary(result, counts, result.estimate.facts(), statement(result), annotations.ledger, output))
    elif output is None:
        sys.stdout.write(to_csv(result.to_table()))
    if not json:
        print_summary(result, annotations, output, written)


def _sampling(sampling: Sampling | None, path: Path | None, gold: Any, votes: Any, calibrate: bool | None) -> Any:
    """Return how gold was drawn, or None (without asking) where confidence is not calibrated on it."""
    return None if sampling is None and calibrate is False else resolve_sampling(sampling, path, gold, votes.tasks)


def _partition_method(name: str | None, read_options: ReadOptions, seed: int, param: list[str] | None) -> Any:
    """Return the requested method, or the default for votes in partitions."""
    from ..core import method_registry as registry
    from ..out_of_core.fitting import default_partition_method

    name = default_partition_method(read_options.order) if name is None else name
    return registry.method(name, **{"seed": seed, **parse_params(name, param)})


def _print_partitions(fitted: PartitionedFit, output: Path | None, check: str, json: bool) -> None:
    """Print the result of a fit in partitions; `check` names the file of tasks to check."""
    from ..kinds.classes.scoring.summaries import dependence_sentences
    from ..workers.tables import worker_rows

    result, plan, facts = fitted.result, fitted.plan, fitted.facts
    print_assumed_sampling(result)
    if json:
        counts = {"annotations": plan.n_rows, "tasks": facts["n_tasks"], "workers": len(result.workers)}
        in_parts = {"parts": facts["parts"], "silent": facts["silent"]}
        print_json(summary(result, counts, result.facts() | in_parts, fitted.trust, plan.ledger, output))
        return
    if output is None:
        fitted.print_labels()
    info(
        f"{plan.n_rows:,} annotations of {facts['n_tasks']:,} tasks by {len(result.workers):,} workers, "
        f"{len(result.classes)} classes; {result.method}, {result.n_iter} iterations; mean confidence "
        f"{facts['mean_confidence']:.3f}"
    )
    print_choice(result)
    for sentence in (fitted.trust.sentence(check), *dependence_sentences(result)):
        info(clean(sentence))
    if facts["silent"]:
        info(f"{facts['silent']:,} tasks have no label at all; their rows show the class prior")
    if output is not None:
        print_table("Workers, best and worst", *worker_rows(result))
        info(f"written to {output}")


def _requested_method(method: str | None, subjective: bool) -> str | None:
    """Return the name of the requested method; --subjective selects one."""
    from ..core.errors import ParameterError

    check_method_name(method)
    if subjective and method not in (None, "subjective"):
        raise ParameterError(
            f"--subjective selects the method subjective, but -m {method} was given; leave one of them out"
        )
    return "subjective" if subjective else method


def _fit(aggregator: Any, annotations: Any, fit_options: dict[str, Any], drop_flagged: bool) -> tuple[Result, Any]:
    """Return the result and the votes that it was fitted to."""
    if not drop_flagged:
        from ..evaluation.fitting import fit

        return fit(annotations, aggregator, **fit_options), annotations
    from ..kinds.classes.workers.removal import fit_without_flagged

    annotations.kind.hooks.require(KindHooks.flags)
    cleaned = fit_without_flagged(aggregator, annotations, **fit_options)
    for sentence in cleaned.sentences():
        info(clean(sentence))
    return cleaned.result, cleaned.annotations


def summary(
    result: Result, counts: dict[str, int], facts: dict[str, Any], trust: Any, ledger: Ledger, output: Path | None
) -> dict[str, Any]:
    """Return what --json prints."""
    return {
        "method": result.method,
        "kind": result.kind.name,
        "params": dict(result.params),
        **counts,
        **facts,
        "iterations": result.n_iter,
        "converged": result.converged,
        **{name: result.extra[name] for name in REPORTED_EXTRAS if name in result.extra},
        **({} if trust is None else {"trust": trust.to_dict()}),
        "ledger": ledger.to_dict(),
        "output": None if output is None else str(output),
        "labels": None if output is not None else result.to_table().to_dicts(),
    }


def print_summary(result: Result, annotations: Any, output: Path | None, check: str = "") -> None:
    """Print a short summary on stderr."""
    from ..evaluation.statement import outlook

    kind = result.kind
    info(
        f"{len(annotations):,} {kind.answers_word} of {annotations.n_tasks:,} tasks by {annotations.n_workers:,} "
        f"workers{result.estimate.size()}; {result.method}, {result.n_iter} iterations"
    )
    print_choice(result)
    info(clean(outlook(result, written=check)))
    for sentence in kind.hooks.sentences(annotations, result):
        info(clean(sentence))
    n_unlabelled = int((annotations.labels_per_task == 0).sum())
    if n_unlabelled:
        subject, rows = (
            ("1 task has", "its row shows")
            if n_unlabelled == 1
            else (f"{n_unlabelled:,} tasks have", "their rows show")
        )
        info(f"{subject} no label at all; {rows} the {result.estimate.without_labels}")
    if output is not None:
        print_table("Workers, best and worst", *kind.hooks.worker_rows(result))
        info(f"written to {output}")
