"""crowdwise aggregate: from a file of votes to labels, workers and confusions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .loading import checked_method, chosen_method, load, load_prior
from .options import Force, Gold, GoldColumns, Json, Method, Params, Prior, Seed, Votes
from .scale.parts import Dask, Far, Grouped, OutOfCore, WorkDir, aggregate_parts, refuse_in_parts
from .terminal import clean, naming, print_json, print_table, progress, say, tell_ledger
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
    prior: Prior = None,
    asked: Asked = USUAL,
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Soften overconfident probabilities; no label changes.")
    ] = False,
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
    from ..io.beside import refuse_to_overwrite
    from ..io.csv.cells import to_csv
    from ..io.run_folder import OWN, Run

    method = _asked_method(method, subjective)
    far = Far(out_of_core, dask, work_dir, grouped)
    if far.wanted(votes, asked):
        refuse_in_parts(drop_flagged=drop_flagged, calibrate=calibrate)
        _in_parts(votes, method, param, seed, asked, far, (gold, gold_columns), prior, (output, force, json))
        return
    if output is not None:
        refuse_to_overwrite(output, OWN, force)
    annotations, known = load(votes, asked, gold, gold_columns, method)
    method = method or _for_judges(annotations, known)
    chosen = chosen_method(method, annotations, seed, param)
    tell_ledger(annotations.ledger)
    history = None if prior is None else load_prior(prior)
    with progress(chosen.name) as callback, naming(votes, gold, prior):
        how = {"gold": known, "prior": history, "callback": callback}
        result, annotations = _fit(chosen, annotations, how, drop_flagged, calibrate)
    if output is not None:
        Run(result, annotations).save(output, force=force)
    if json:
        print_json(summary(result, annotations, output))
    elif output is None:
        sys.stdout.write(to_csv(result.to_table()))
    if not json:
        tell(result, annotations, output)


def _in_parts(
    votes: str,
    method: str | None,
    param: list[str] | None,
    seed: int,
    asked: Asked,
    far: Far,
    gold: tuple[Path | None, str | None],
    prior: Path | None,
    out: tuple[Path | None, bool, bool],
) -> None:
    """The same over votes that lie in parts on disk."""
    from ..aggregate import registry
    from .options import parse_params

    name = registry.DEFAULT if method is None else method
    chosen = registry.method(name, **{"seed": seed, **parse_params(name, param)})
    history = None if prior is None else load_prior(prior)
    aggregate_parts(votes, chosen, asked, far, asked.truth(*gold), history, *out)


def _asked_method(method: str | None, subjective: bool) -> str | None:
    """The method that was asked for; --subjective is one."""
    from ..core.errors import ParameterError

    checked_method(method)
    if subjective and method not in (None, "subjective"):
        raise ParameterError(f"--subjective is the method subjective, got -m {method}; leave one of them out")
    return "subjective" if subjective else method


def _for_judges(annotations: Any, known: Any) -> str | None:
    """Judges that are all models err together: their families' vote without gold, their stack with enough of it."""
    from ..aggregate.judges.about import all_models
    from ..aggregate.judges.judge_stack import ENOUGH

    if not annotations.kind.can("judges") or not all_models(annotations):
        return None
    if known is None:
        return "family_vote"
    return "judge_stack" if len(known) >= ENOUGH else None


def _fit(chosen: Any, annotations: Any, how: dict[str, Any], drop_flagged: bool, calibrate: bool) -> tuple[Result, Any]:
    """The result, and the votes that it rests on."""
    from ..audit.removal import fit_without_flagged

    for wish, door in ((drop_flagged, "flags"), (calibrate, "calibrate")):
        if wish:
            annotations.kind.door(door)  # says that it does not know these
    if drop_flagged:
        found = fit_without_flagged(chosen, annotations, **how)
        for sentence in found.sentences():
            say(clean(sentence))
        result, annotations = found.result, found.annotations
    else:
        result = chosen.fit(annotations, **how)
    if calibrate:
        result = annotations.kind.door("calibrate")(result, annotations, gold=how["gold"], prior=how["prior"])
    return result, annotations


# What a method says of its own outcome, where it does.
TOLD = ("expected_accuracy", "chosen", "reason", "scores", "temperature", "warning", "subjective", "strength")


def summary(result: Result, annotations: Any, output: Path | None) -> dict[str, Any]:
    """What --json prints."""
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
        "ledger": annotations.ledger.to_dict(),
        "output": None if output is None else str(output),
        "labels": None if output is not None else result.to_table().to_dicts(),
    }


def tell(result: Result, annotations: Any, output: Path | None) -> None:
    """The short summary for people."""
    kind = result.kind
    say(
        f"{len(annotations):,} {kind.answers_word} of {annotations.n_tasks:,} tasks by {annotations.n_workers:,} "
        f"workers{result.estimate.size()}; {result.method}, {result.n_iter} iterations"
    )
    tell_choice(result)
    for sentence in kind.door("sentences")(annotations, result):
        say(sentence)
    none = int((annotations.labels_per_task == 0).sum())
    if none:
        who, rows = ("1 task has", "its row shows") if none == 1 else (f"{none:,} tasks have", "their rows show")
        say(f"{who} no label at all; {rows} the {result.estimate.without_labels}")
    if output is not None:
        print_table("Workers, best and worst", *kind.door("worker_rows")(result))
        say(f"written to {output}")


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
    if "warning" in result.extra:
        say(clean(str(result.extra["warning"])))
    if "temperature" in result.extra:
        say(f"calibrated at temperature {result.extra['temperature']:.2f}")
