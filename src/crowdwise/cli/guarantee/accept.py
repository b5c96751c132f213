"""crowdwise accept: which labels need no person, and what is promised about them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.errors import DataError, ParameterError
from ..options import Force, Gold, GoldColumns, Json, Method, Params, Seed
from ..terminal import naming, print_json, say
from ..vote_options import USUAL, Asked, reads_votes
from .given import CERTIFICATE, DRAW, FitShare, Given, Taken, drawn, takes
from .shown import planned, shown, shown_cascade

if TYPE_CHECKING:
    from ...evaluation.guarantee.certificate import Certificate

FILES = ("accepted.csv", "ask.csv", CERTIFICATE)


class Of(StrEnum):
    """What the error is a share of."""

    accepted = "accepted"
    all = "all"


class Guarantee(StrEnum):
    """How sure the promise is."""

    high = "high"
    mean = "mean"


class Surest(StrEnum):
    """What the surest tasks are found by."""

    auto = "auto"
    confidence = "confidence"
    places = "places"


class Design(StrEnum):
    """How --draw draws."""

    random = "random"
    unsure = "unsure"


@reads_votes
def accept(
    votes: Given,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    error: Annotated[
        float | None,
        typer.Option(
            "--error",
            help="Share of wrong labels that is let pass. By default that of the run, or .05.",
            metavar="X",
            show_default=False,
        ),
    ] = None,
    risk: Annotated[float, typer.Option("--risk", help="Probability that the promise fails.", metavar="X")] = 0.1,
    of: Annotated[Of, typer.Option("--of", help="Errors among accepted tasks, or among all tasks.")] = Of.accepted,
    guarantee: Annotated[
        Guarantee, typer.Option("--guarantee", help="With high probability, or (of all tasks) in the mean only.")
    ] = Guarantee.high,
    per: Annotated[
        str | None,
        typer.Option(
            "--per",
            help="class, or a column about the tasks: a promise for each.",
            metavar="class|COL",
            show_default=False,
        ),
    ] = None,
    looks: Annotated[
        int, typer.Option("--looks", help="How often the gold will be looked at while it grows.", min=1, metavar="N")
    ] = 1,
    fit_share: FitShare = None,
    draw: Annotated[
        int | None,
        typer.Option(
            "--draw", help="Draw and record so many tasks for people to label.", min=1, metavar="N", show_default=False
        ),
    ] = None,
    design: Annotated[
        Design,
        typer.Option("--design", help="With --draw: all tasks alike, or unsure ones more often (estimate only)."),
    ] = Design.random,
    plan: Annotated[bool, typer.Option("--plan", help="Say how many gold labels are needed.")] = False,
    sets: Annotated[bool, typer.Option("--sets", help="Write label sets that hold the truth instead.")] = False,
    then: Annotated[
        str | None,
        typer.Option(
            "--then",
            help="A stronger judge's votes or run, asked where the first is unsure; with --prices.",
            metavar="VOTES|DIR",
            show_default=False,
        ),
    ] = None,
    prices: Annotated[
        str | None,
        typer.Option(
            "--prices",
            help="With --then: cheap,strong,person. With --plan: judge=X,person=Y.",
            metavar="PRICES",
            show_default=False,
        ),
    ] = None,
    surest: Annotated[
        Surest,
        typer.Option("--surest", help="By what the surest tasks are found; auto: places for adaptive and committee."),
    ] = Surest.auto,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            help="Use an earlier certificate on this batch, if it is like the certified one.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    method: Method = None,
    param: Params = None,
    asked: Asked = USUAL,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for the files; by default the run's.", show_default=False),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Accept as many labels as can do without a person: at most --error of them wrong, with probability 1 - --risk.

    First --draw gold, let people label it, then --gold FILE. Writes accepted.csv, ask.csv and certificate.json.
    """
    from ...evaluation.statement import error_of

    given = takes(votes, method, param, gold, gold_columns, asked, seed)
    folder = output if output is not None else Path(votes) if Path(votes).is_dir() else None
    error = error_of(given.result, error)
    told: dict[str, Any] = {"error": error, "risk": risk}
    with naming(votes, gold):
        if plan:
            planned(given, told, prices, json)
        elif draw is not None:
            _draw(given, draw, seed, design.value, folder, force)
        elif certificate is not None:
            _again(given, certificate, folder, force, json)
        elif then is not None:
            strong = takes(then, method, param, None, None, asked, seed)
            shown_cascade(given, strong, told, prices, drawn(votes, gold, given, None), seed, folder, force, json)
        elif given.gold is None:
            raise ParameterError("accept needs --gold FILE; --draw N draws tasks to label, --plan says how many")
        elif sets:
            _sets(given, error, per, drawn(votes, gold, given, "random"), seed, folder, force, json)
        else:
            told |= {"of": of.value, "guarantee": guarantee.value, "per": per, "looks": looks, "surest": surest.value}
            _certify(given, told, fit_share, drawn(votes, gold, given, "random"), seed, folder, force, json)


def _certify(
    given: Taken, told: dict[str, Any], fit_share: float | None, sampling: Any, seed: int, folder: Path | None,
    force: bool, json: bool,
) -> None:  # fmt: skip
    from ...evaluation.guarantee.accept import accept as work_out

    look, known = _look(given, folder, told["looks"], force)
    found = work_out(
        given.result, gold=given.gold, sampling=sampling, look=look, fit_share=fit_share, votes=given.votes, seed=seed,
        **told,
    )  # fmt: skip
    _write(found, folder, force or known)
    shown(found, folder, json)


def _look(given: Taken, folder: Path | None, looks: int, force: bool) -> tuple[int, bool]:
    """(which look at the gold this is, whether an earlier certificate is replaced by it)."""
    from ...evaluation.guarantee.certificate import Certificate
    from ...evaluation.guarantee.gold import fingerprint, gold_tasks

    path = None if folder is None else folder / CERTIFICATE
    if path is None or not path.is_file():
        return 1, False
    before: Certificate = Certificate.load(path)
    same = before.gold_hash == fingerprint(gold_tasks(given.gold))
    if before.task_hash != fingerprint(given.result.tasks) or same:
        return before.look if same and before.look <= looks else 1, force
    if before.looks != looks:
        raise DataError(
            f"{path} was made for {before.looks} looks at growing gold, not {looks}; say --looks {before.looks}, or "
            "certify in another folder with gold that was never looked at"
        )
    return before.look + 1, True


def _draw(given: Taken, n: int, seed: int, design: str, folder: Path | None, force: bool) -> None:
    from ...evaluation.guarantee.sampling import draw
    from ...evaluation.guarantee.verdicts import verdicts
    from ...io.beside import refuse_to_overwrite
    from ...io.csv.folder import write_tables

    if folder is None:
        raise ParameterError("--draw records the draw: name a run folder, or a folder with -o")
    refuse_to_overwrite(folder, (DRAW, "sample.csv"), force)
    drawn = draw(verdicts(given.result, given.votes), n, seed=seed, design=design)
    write_tables(folder, {"sample.csv": drawn.table()}, force=force)
    drawn.save(folder / DRAW)
    say(f"{len(drawn.tasks):,} tasks to label in {folder / 'sample.csv'}, from the top; the draw is recorded in {DRAW}")


def _again(given: Taken, path: Path, folder: Path | None, force: bool, json: bool) -> None:
    from ...evaluation.guarantee.accept import apply
    from ...evaluation.guarantee.certificate import Certificate

    old: Certificate = Certificate.load(path)
    found = apply(old, given.result, given.votes)
    _write(found, folder, force, certificate=False)
    shown(found, folder, json, old=True)


def _write(found: Any, folder: Path | None, force: bool, certificate: bool = True) -> None:
    from ...core.errors import unwritable
    from ...io.beside import refuse_to_overwrite
    from ...io.csv.folder import write_tables

    if folder is None:
        return
    refuse_to_overwrite(folder, FILES if certificate else FILES[:2], force)
    write_tables(folder, {"accepted.csv": found.accepted, "ask.csv": found.ask}, force=True)
    if certificate:
        try:
            found.certificate.save(folder / CERTIFICATE)
        except OSError as error:
            raise unwritable(folder / CERTIFICATE, error) from error


def _sets(
    given: Taken, error: float, per: str | None, sampling: Any, seed: int, folder: Path | None, force: bool, json: bool
) -> None:
    from ...evaluation.guarantee.sets import label_sets
    from ...io.csv.folder import write_tables

    found = label_sets(
        given.result, gold=given.gold, error=error, per=per, sampling=sampling, votes=given.votes, seed=seed
    )
    if folder is not None:
        write_tables(folder, {"sets.csv": found.to_table()}, force=force)
    sizes = found.inside.sum(axis=1)
    if json:
        print_json({
            "promise": found.promise, "error": error, "per": per, "n_gold": found.n_gold, "mean_size": found.mean_size,
            "one": int((sizes == 1).sum()), "empty": int((sizes == 0).sum()), "limits": found.limits,
        })  # fmt: skip
        return
    typer.echo(
        f"{found.promise} {found.mean_size:.2f} classes a task on average; {int((sizes == 1).sum()):,} of "
        f"{len(sizes):,} sets hold one class, {int((sizes == 0).sum()):,} none (ask a person)"
    )
    if folder is not None:
        say(f"written to {folder / 'sets.csv'}")
