"""crowdwise aggregate: from a file of votes to labels, workers and confusions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..aggregate.registry import DEFAULT
from ..scoring.outlook import outlook
from .loading import load, load_prior
from .options import Force, Gold, GoldColumns, Json, Params, Prior, Seed, Votes, parse_params
from .terminal import clean, naming, print_json, print_table, progress, say, tell_ledger, worker_rows
from .vote_options import USUAL, Asked, reads_votes

if TYPE_CHECKING:
    from ..aggregate.base import Aggregator
    from ..core.result import Result
    from ..kinds.classes import Annotations


@reads_votes
def aggregate(
    votes: Votes,
    method: Annotated[str, typer.Option("-m", "--method", help="See: crowdwise methods")] = DEFAULT,
    param: Params = None,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    prior: Prior = None,
    asked: Asked = USUAL,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Soften overconfident probabilities; no label changes.")
    ] = False,
    drop_flagged: Annotated[
        bool,
        typer.Option("--drop-flagged", help="Fit again without workers flagged as guessing or colluding; say who."),
    ] = False,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for all tables and the saved result.", show_default=False),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Turn votes into labels with honest confidence.

    Without -o the labels go to stdout as CSV: task, label, confidence, entropy, n_labels, p_<class>...
    """
    from ..aggregate import registry
    from ..io.csv.cells import to_csv
    from ..io.store import FILES, refuse_to_overwrite
    from ..io.votes import save_votes
    from ..io.write import TABLES, write_run

    chosen = registry.method(method, **{"seed": seed, **parse_params(method, param)})
    if output is not None:
        refuse_to_overwrite(output, TABLES + FILES, force)
    annotations, known = load(votes, asked, gold, gold_columns)
    tell_ledger(annotations.ledger)
    history = None if prior is None else load_prior(prior)
    with progress(method) as callback, naming(votes, gold, prior):
        how = {"gold": known, "prior": history, "callback": callback}
        result, annotations = _fit(chosen, annotations, how, drop_flagged, calibrate)
    if output is not None:
        write_run(result, annotations.ledger, output, force=force)
        save_votes(annotations, output)
    if json:
        print_json(summary(result, annotations, output))
    elif output is None:
        sys.stdout.write(to_csv(result.to_table()))
    if not json:
        tell(result, annotations, output)


def _fit(
    chosen: Aggregator, annotations: Annotations, how: dict[str, Any], drop_flagged: bool, calibrate: bool
) -> tuple[Result, Annotations]:
    """The result, and the annotations that it rests on."""
    from ..scoring.calibrate import calibrate as temper

    result = chosen.fit(annotations, **how)
    if drop_flagged:
        annotations, before = without_flagged(annotations, result), result
        result = chosen.fit(annotations, **how)
        say(f"{int((result.labels != before.labels).sum()):,} labels differ from those with everybody's votes")
    if calibrate:
        result = temper(result, annotations, gold=how["gold"], prior=how["prior"])
    return result, annotations


def without_flagged(annotations: Annotations, result: Result) -> Annotations:
    """The votes without those of workers who guess or collude, and what that takes away, said."""
    from ..audit.removal import drop_flagged
    from ..workers.judgement import Judgement
    from ..workers.study import flags_of

    flags = flags_of(Judgement(annotations, result))
    out = drop_flagged(annotations, flags)
    for flag in flags:
        if flag.worker in out.reasons and flag.name in out.reasons[flag.worker]:
            say(clean(f"left out: {flag.worker} ({flag.name}): {flag.evidence}"))
    for sentence in out.sentences():
        say(sentence)
    return out.annotations


# What a method says of its own outcome, where it does.
TOLD = ("expected_accuracy", "chosen", "reason", "scores", "temperature")


def summary(result: Result, annotations: Annotations, output: Path | None) -> dict[str, Any]:
    """What --json prints."""
    return {
        "method": result.method,
        "params": dict(result.params),
        "annotations": len(annotations),
        "tasks": annotations.n_tasks,
        "workers": annotations.n_workers,
        "classes": annotations.classes.to_list(),
        "class_prior": result.class_prior.tolist(),
        "mean_confidence": result.mean_confidence,
        "iterations": result.n_iter,
        "converged": result.converged,
        **{
            name: result.extra[name]
            for name in ("expected_accuracy", "chosen", "reason", "scores", "temperature")
            if name in result.extra
        },
        "ledger": annotations.ledger.to_dict(),
        "output": None if output is None else str(output),
        "labels": None if output is not None else result.to_table().to_dicts(),
    }


def tell(result: Result, annotations: Annotations, output: Path | None) -> None:
    """The short summary for people."""
    say(
        f"{len(annotations):,} annotations of {annotations.n_tasks:,} tasks by {annotations.n_workers:,} workers, "
        f"{annotations.n_classes} classes; {result.method}, {result.n_iter} iterations"
    )
    tell_choice(result)
    say(f"{outlook(result)}; {tell_needs(annotations, result)}")
    none = int((annotations.labels_per_task == 0).sum())
    if none:
        say(f"{none:,} tasks have no label at all; their rows show the class prior")
    if output is not None:
        print_table("Workers, best and worst", ["worker", "labels", "skill", "95 % interval", ""], worker_rows(result))
        say(f"written to {output}")


def tell_needs(annotations: Annotations, result: Result) -> str:
    """How many labels are not safe, and what would settle them."""
    from ..scoring.needs import needs

    need = needs(annotations, result)
    unsure = need.n_vote + need.n_expert
    if not unsure:
        return "all are at least 90 % sure"
    start, futile = f"{unsure:,} tasks are less than 90 % sure", "more votes of this crowd would not settle them"
    if not need.n_expert:
        return f"{start} and need another vote"
    if not need.n_vote:
        return f"{start} and need an expert: {futile}"
    return f"{start}: {need.n_vote:,} need another vote, {need.n_expert:,} an expert, as {futile}"


def tell_choice(result: Result) -> None:
    """Which model was chosen among which, and why; at which temperature. Silence where there was no choice."""
    rows = [
        [row["method"], f"{row['score']:.4f}", f"{row['standard_error']:.4f}", "*" * (row["method"] == chosen)]
        for chosen in [result.extra.get("chosen")]
        for row in result.extra.get("scores", [])
    ]
    if rows:
        print_table("Held-out labels, mean log-likelihood", ["model", "score", "error", ""], rows)
    if "reason" in result.extra:
        say(f"chosen: {result.extra['reason']}")
    if "temperature" in result.extra:
        say(f"calibrated at temperature {result.extra['temperature']:.2f}")
