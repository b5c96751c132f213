"""crowdwise accept: labels that need no human review, with a guarantee on their error."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.errors import DataError, ParameterError
from ...core.options import ReadOptions
from ..options import Force, Gold, GoldColumns, Json, Method, Params, Seed, option
from ..terminal import error_context, info, print_json
from ..vote_options import DEFAULT_READ_OPTIONS, reads_votes
from .inputs import CERTIFICATE, DRAW, FitShare, GuaranteeInputs, VotesOrRun, gold_sampling, load_inputs
from .printing import print_acceptance, print_cascade, print_plan

if TYPE_CHECKING:
    from ...evaluation.guarantee.certificate import Certificate

FILES = ("accepted.csv", "ask.csv", CERTIFICATE)


class ErrorBase(StrEnum):
    """What the error is a share of."""

    accepted = "accepted"
    all = "all"


class Guarantee(StrEnum):
    """Strength of the guarantee."""

    high = "high"
    mean = "mean"


class Order(StrEnum):
    """Ordering of the tasks."""

    auto = "auto"
    confidence = "confidence"
    places = "places"


class Design(StrEnum):
    """Sampling design of --draw."""

    random = "random"
    unsure = "unsure"


@reads_votes
def accept(
    votes: VotesOrRun,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    error: Annotated[
        float | None,
        option(
            "Guarantee", "--error", "Share of wrong labels to allow; by default that of the run, or .05.", metavar="X"
        ),
    ] = None,
    risk: Annotated[float, option("Guarantee", "--risk", "Probability that the guarantee fails.", metavar="X")] = 0.1,
    of: Annotated[
        ErrorBase, option("Guarantee", "--of", "Whether the error is a share of the accepted tasks or of all tasks.")
    ] = ErrorBase.accepted,
    guarantee: Annotated[
        Guarantee,
        option(
            "Guarantee",
            "--guarantee",
            "Whether the guarantee holds with high probability, or (with --of all) in the mean only.",
        ),
    ] = Guarantee.high,
    per: Annotated[
        str | None,
        option(
            "Guarantee",
            "--per",
            "Separate guarantee for each class, or for each group of a column about the tasks.",
            metavar="class|COL",
        ),
    ] = None,
    looks: Annotated[
        int, option("Guarantee", "--looks", "Number of times that growing gold will be examined.", min=1, metavar="N")
    ] = 1,
    fit_share: FitShare = None,
    draw: Annotated[
        int | None,
        option(
            "Gold and truth", "--draw", "Number of tasks to draw and record for people to label.", min=1, metavar="N"
        ),
    ] = None,
    design: Annotated[
        Design,
        option(
            "Gold and truth",
            "--design",
            "How --draw draws: all tasks with equal chance, or unsure ones more often (for estimate only).",
        ),
    ] = Design.random,
    plan: Annotated[bool, option("Gold and truth", "--plan", "Print how many gold labels are needed.")] = False,
    sets: Annotated[
        bool, option("Guarantee", "--sets", "Write label sets that contain the truth, instead of accepted labels.")
    ] = False,
    then: Annotated[
        str | None,
        option(
            "Budget",
            "--then",
            "Votes or run of a stronger judge to consult where the first is unsure; needs --prices.",
            metavar="VOTES|DIR",
        ),
    ] = None,
    prices: Annotated[
        str | None,
        option(
            "Budget",
            "--prices",
            "Prices: CHEAP,STRONG,PERSON with --then, or judge=X,person=Y with --plan.",
            metavar="PRICES",
        ),
    ] = None,
    surest: Annotated[
        Order,
        option(
            "Guarantee",
            "--surest",
            "Ordering of the tasks from the surest on; auto uses places for adaptive and committee.",
        ),
    ] = Order.auto,
    certificate: Annotated[
        Path | None,
        option(
            "Guarantee",
            "--certificate",
            "Earlier certificate to apply to this batch, if the batch resembles the certified one.",
            metavar="FILE",
        ),
    ] = None,
    method: Method = None,
    param: Params = None,
    read_options: ReadOptions = DEFAULT_READ_OPTIONS,
    seed: Seed = 0,
    output: Annotated[
        Path | None, option("Output", "-o, --output", "Folder for the files; the run folder by default.")
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Accept as many labels as possible without human review, with a guarantee on their error.

    At most --error of the accepted labels are wrong, with probability 1 - --risk.

    Draw tasks with --draw, let people label them, and pass the labels as --gold. Writes accepted.csv, ask.csv and
    certificate.json.
    """
    from ...evaluation.statement import error_of

    inputs = load_inputs(votes, method, param, gold, gold_columns, read_options, seed)
    folder = output if output is not None else Path(votes) if Path(votes).is_dir() else None
    error = error_of(inputs.result, error)
    promise: dict[str, Any] = {"error": error, "risk": risk}
    with error_context(votes, gold):
        if plan:
            print_plan(inputs, promise, prices, json)
        elif draw is not None:
            _draw(inputs, draw, seed, design.value, folder, force)
        elif certificate is not None:
            _apply_certificate(inputs, certificate, folder, force, json)
        elif then is not None:
            strong = load_inputs(then, method, param, None, None, read_options, seed)
            print_cascade(
                inputs, strong, promise, prices, gold_sampling(votes, gold, inputs, None), seed, folder, force, json
            )
        elif inputs.gold is None:
            raise ParameterError(
                "accept needs --gold FILE; --draw N draws tasks to label, --plan prints how many are needed"
            )
        elif sets:
            _sets(inputs, error, per, gold_sampling(votes, gold, inputs, "random"), seed, folder, force, json)
        else:
            promise |= {
                "of": of.value,
                "guarantee": guarantee.value,
                "per": per,
                "looks": looks,
                "surest": surest.value,
            }
            _certify(
                inputs, promise, fit_share, gold_sampling(votes, gold, inputs, "random"), seed, folder, force, json
            )


def _certify(
    inputs: GuaranteeInputs,
    promise: dict[str, Any],
    fit_share: float | None,
    sampling: Any,
    seed: int,
    folder: Path | None,
    force: bool,
    json: bool,
) -> None:
    from ...evaluation.guarantee.accept import accept as accept_labels

    look, replaces = _next_look(inputs, folder, promise["looks"], force)
    acceptance = accept_labels(
        inputs.result,
        gold=inputs.gold,
        sampling=sampling,
        look=look,
        fit_share=fit_share,
        votes=inputs.votes,
        seed=seed,
        **promise,
    )
    _write(acceptance, folder, force or replaces)
    print_acceptance(acceptance, folder, json)


def _next_look(inputs: GuaranteeInputs, folder: Path | None, looks: int, force: bool) -> tuple[int, bool]:
    """Return the number of this look at the gold, and whether it replaces an earlier certificate."""
    from ...evaluation.guarantee.certificate import Certificate
    from ...evaluation.guarantee.gold import fingerprint, gold_tasks

    path = None if folder is None else folder / CERTIFICATE
    if path is None or not path.is_file():
        return 1, False
    before: Certificate = Certificate.load(path)
    is_same_gold = before.gold_hash == fingerprint(gold_tasks(inputs.gold))
    if before.task_hash != fingerprint(inputs.result.tasks) or is_same_gold:
        return before.look if is_same_gold and before.look <= looks else 1, force
    if before.looks != looks:
        raise DataError(
            f"{path} was made for {before.looks} looks at growing gold, not {looks}; use --looks {before.looks}, or "
            "certify in another folder with gold that was never examined"
        )
    return before.look + 1, True


def _draw(inputs: GuaranteeInputs, n: int, seed: int, design: str, folder: Path | None, force: bool) -> None:
    from ...evaluation.guarantee.sampling import draw
    from ...evaluation.guarantee.verdicts import as_verdicts
    from ...io.atomic import refuse_to_overwrite
    from ...io.csv.folder import write_tables

    if folder is None:
        raise ParameterError("--draw needs a folder to record the draw: give a run folder, or a folder with -o")
    refuse_to_overwrite(folder, (DRAW, "sample.csv"), force)
    sample = draw(as_verdicts(inputs.result, inputs.votes), n, seed=seed, design=design)
    write_tables(folder, {"sample.csv": sample.table()}, force=force)
    sample.save(folder / DRAW)
    info(
        f"{len(sample.tasks):,} tasks to label in {folder / 'sample.csv'}, from the top; the draw is recorded in {DRAW}"
    )


def _apply_certificate(inputs: GuaranteeInputs, path: Path, folder: Path | None, force: bool, json: bool) -> None:
    from ...evaluation.guarantee.accept import apply
    from ...evaluation.guarantee.certificate import Certificate

    earlier: Certificate = Certificate.load(path)
    acceptance = apply(earlier, inputs.result, inputs.votes)
    _write(acceptance, folder, force, certificate=False)
    print_acceptance(acceptance, folder, json, earlier=True)


def _write(acceptance: Any, folder: Path | None, force: bool, certificate: bool = True) -> None:
    from ...core.errors import unwritable
    from ...io.atomic import refuse_to_overwrite
    from ...io.csv.folder import write_tables

    if folder is None:
        return
    refuse_to_overwrite(folder, FILES if certificate else FILES[:2], force)
    write_tables(folder, {"accepted.csv": acceptance.accepted, "ask.csv": acceptance.ask}, force=True)
    if certificate:
        try:
            acceptance.certificate.save(folder / CERTIFICATE)
        except OSError as error:
            raise unwritable(folder / CERTIFICATE, error) from error


def _sets(
    inputs: GuaranteeInputs,
    error: float,
    per: str | None,
    sampling: Any,
    seed: int,
    folder: Path | None,
    force: bool,
    json: bool,
) -> None:
    from ...evaluation.guarantee.sets import label_sets
    from ...io.csv.folder import write_tables

    sets = label_sets(
        inputs.result, gold=inputs.gold, error=error, per=per, sampling=sampling, votes=inputs.votes, seed=seed
    )
    if folder is not None:
        write_tables(folder, {"sets.csv": sets.to_table()}, force=force)
    sizes = sets.inside.sum(axis=1)
    if json:
        print_json({
            "promise": sets.promise, "error": error, "per": per, "n_gold": sets.n_gold, "mean_size": sets.mean_size,
            "one": int((sizes == 1).sum()), "empty": int((sizes == 0).sum()), "limits": sets.limits,
        })  # fmt: skip
        return
    typer.echo(
        f"{sets.promise} {sets.mean_size:.2f} classes per task on average; {int((sizes == 1).sum()):,} of "
        f"{len(sizes):,} sets hold one class, {int((sizes == 0).sum()):,} none (these need human review)"
    )
    if folder is not None:
        info(f"written to {folder / 'sets.csv'}")
