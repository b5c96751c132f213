"""What estimate, accept and fair have in common: votes or a run, gold with how it was drawn, files beside a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.kind import KindHooks
from ..loading import checked_method, chosen_method, is_run, with_classes_of
from ..terminal import naming, progress, say, tell_ledger
from ..vote_options import Asked

if TYPE_CHECKING:
    from ...evaluation.guarantee.estimand import Figure

DRAW, CERTIFICATE, ESTIMATES = "draw.json", "certificate.json", "estimates.json"

Given = Annotated[
    str,
    typer.Argument(
        help="Votes (as for aggregate), or a folder that aggregate wrote.", metavar="VOTES|DIR", show_default=False
    ),
]
FitShare = Annotated[
    float | None,
    typer.Option(
        "--fit-share",
        help="Fit the run's method again on this share of the gold, use the rest: for methods that need gold.",
        metavar="X",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Taken:
    """A result, the votes behind it where they are known, and gold."""

    result: Any
    votes: Any
    gold: Any


def takes(
    votes: str, method: str | None, param: list[str] | None, gold: Path | None, columns: str | None, asked: Asked,
    seed: int,
) -> Taken:  # fmt: skip
    """From a run folder, or from a file: one judge's own verdicts, else the method fitted without gold."""
    from dataclasses import replace

    from ...io.about import with_about
    from ...io.run_folder import Run

    known = _gold(gold, columns, asked)
    if is_run(votes, asked):
        run = Run.load(votes)
        answers = run.votes
        if answers is not None and (asked.about_tasks or asked.about_workers):
            answers = with_about(answers, tasks=asked.about_tasks, workers=asked.about_workers)
        return Taken(run.result, answers, known)
    checked_method(method)
    reading = asked.read(votes)
    answers = reading.annotations
    if known is None:
        known, note = reading.usable_gold()
        if note is not None:
            say(f"note: {note}")
    if known is not None and "label" in known.columns:
        answers = with_classes_of(answers, known)
    tell_ledger(answers.ledger)
    if method is None and answers.n_workers == 1 and answers.kind.hooks.supports(KindHooks.one_worker):
        return Taken(answers.kind.hooks.one_worker().fit(answers), answers, known)
    chosen = chosen_method(method, answers, seed, param)
    with progress(chosen.name) as callback, naming(votes):
        fitted = chosen.fit(answers, callback=callback)
    return Taken(replace(fitted), answers, known)


def _gold(path: Path | None, columns: str | None, asked: Asked) -> Any:
    from ...core.intake.columns import TRUTH_OPTION, parse_columns
    from ...evaluation.guarantee.gold import read_gold

    if path is None:
        return None
    return read_gold(path, parse_columns(columns, TRUTH_OPTION), tuple(asked.missing or ()))


def recorded(votes: str) -> Any:
    """The draw that is recorded in a run folder, if there is one."""
    from ...evaluation.guarantee.sampling import Draw

    path = Path(votes) / DRAW
    return Draw.load(path) if path.is_file() else None


def drawn(votes: str, path: Path | None, given: Taken, otherwise: Any) -> Any:
    """How the gold was drawn, for `accept` and `estimate`: by a recorded draw (beside the file of gold, or in the run);
    as the run records it, where its fit was given this gold; else `otherwise`."""
    from ...core.errors import ParameterError
    from ...evaluation.fitting import ASSUMED
    from ...evaluation.guarantee.sampling import draw_beside
    from ..sampling import recorded_in

    if given.gold is None:
        return otherwise
    beside = None if path is None else draw_beside(path, given.gold, given.result.tasks, [Path(votes) / DRAW])
    if beside is not None:
        return beside[0]
    stated = recorded_in(given.result, given.gold)
    if stated is None:
        return recorded(votes) or otherwise
    if stated == ASSUMED:
        say("note: that the gold tasks are a random sample was only assumed when this run was made")
        return "random"
    if stated in ("random", "weights"):
        return stated
    raise ParameterError(
        f"the gold of this run is recorded as {stated}, not drawn at random; draw gold with --draw, or make the run "
        "again with the right --sampling"
    )


def saved_figure(folder: Path, figure: Figure, force: bool) -> None:
    """Add a figure to estimates.json; one of the same name is replaced only with --force."""
    import json

    from ...core.errors import DataError, unwritable

    path = folder / ESTIMATES
    try:
        have = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
        if not isinstance(have, list):
            raise ValueError("not a list")
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({error})") from None
    if any(each.get("of") == figure.of for each in have) and not force:
        raise DataError(f"{path} holds {figure.of} already; say --force to replace it")
    have = [each for each in have if each.get("of") != figure.of] + [figure.to_dict()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(have, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise unwritable(path, error) from error
