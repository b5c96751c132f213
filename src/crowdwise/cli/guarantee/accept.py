"""crowdwise accept: labels that need no human review, with a guarantee on their error."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.errors import DataError, ParameterError
from ...core.options import ReadOptions
from ..options import Force, Gold, GoldColumns, Json, Method, Params, Seed, Systems, VotesOrRun, option
from ..terminal import error_context, info, print_json
from ..vote_options import DEFAULT_READ_OPTIONS, reads_votes
from .inputs import CERTIFICATE, DRAW, FitShare, GuaranteeInputs, OutputOptions, gold_sampling, load_inputs
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
        int,
        option(
            "Guarantee",
            "--looks",
            "Number of times that the test will be repeated as gold is added.",
            min=1,
            metavar="N",
        ),
    ] = 1,
    min_score: Annotated[
        float | None,
        option(
            "Guarantee",
            "--min-score",
            "For spans, boxes, texts and the like: lowest score against gold that counts as right.",
            metavar="X",
        ),
    ] = None,
    within: Annotated[
        float | None,
        option("Guarantee", "--within", "For numbers: largest absolute error that counts as right.", metavar="X"),
    ] = None,
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
            "Sampling design of --draw: uniform, or uncertain tasks more often (for estimate only).",
        ),
    ] = Design.random,
    plan: Annotated[
        bool, option("Gold and truth", "--plan", "Print how many gold labels are needed, and stop.")
    ] = False,
    sets: Annotated[
        bool, option("Guarantee", "--sets", "Write label sets that contain the truth, instead of accepted labels.")
    ] = False,
    then: Annotated[
        str | None,
        option(
            "Budget",
            "--then",
            "Votes or run of a stronger judge for tasks where the first is uncertain; needs --prices.",
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
            "Order in which tasks are accepted; auto uses places for adaptive and committee.",
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
    systems: Systems = None,
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

    inputs = load_inputs(votes, method, param, gold, gold_columns, read_options, seed, systems)
    out = OutputOptions(output if output is not None else Path(votes) if Path(votes).is_dir() else None, force, json)
    error = error_of(inputs.result, error)
    terms: dict[str, Any] = {"error": error, "risk": risk}
    with error_context(votes, gold):
        if plan:
            print_plan(inputs, terms, prices, json)
        elif draw is not None:
            _draw(inputs, draw, design.value, out)
        elif certificate is not None:
            _apply_certificate(inputs, certificate, out)
        elif then is not None:
            strong = load_inputs(then, method, param, None, None, read_options, seed, systems)
            print_cascade(inputs, strong, terms, prices, out)
        elif inputs.gold is None:
            raise ParameterError(
                "accept needs --gold FILE; --draw N draws tasks to label, --plan prints how many are needed"
            )
        elif sets:
            _sets(inputs, error, per, out)
        else:
            terms |= {"of": of.value, "guarantee": guarantee.value, "per": per, "looks": looks, "surest": surest.value,
                      "min_score": min_score, "within": within}  # fmt: skip
            _certify(inputs, {**terms, "fit_share": fit_share}, out)


def _certify(inputs: GuaranteeInputs, options: dict[str, Any], out: OutputOptions) -> None:
    from ...evaluation.guarantee.accept import accept as accept_labels

    sampling = gold_sampling(inputs, "random")
    look, replaces = _next_look(inputs, options["looks"], out)
    acceptance = accept_labels(
        inputs.result, gold=inputs.gold, sampling=sampling, look=look, votes=inputs.votes, seed=inputs.seed, **options
    )
    _write(acceptance, out.folder, out.force or replaces)
    print_acceptance(acceptance, out)


def _next_look(inputs: GuaranteeInputs, looks: int, out: OutputOptions) -> tuple[int, bool]:
    """Return the number of this look at the gold, and whether it replaces an earlier certificate."""
    from ...evaluation.guarantee.certificate import Certificate
    from ...evaluation.guarantee.gold import fingerprint, gold_tasks

    path = None if out.folder is None else out.folder / CERTIFICATE
    if path is None or not path.is_file():
        return 1, False
    before: Certificate = Certificate.load(path)
    is_same_gold = before.gold_hash == fingerprint(gold_tasks(inputs.gold))
    if before.task_hash != fingerprint(inputs.result.tasks) or is_same_gold:
        return before.look if is_same_gold and before.look <= looks else 1, out.force
    if before.looks != looks:
        raise DataError(
            f"{path} was made for {before.looks} looks at growing gold, not {looks}; use --looks {before.looks}, or "
            "certify in another folder with gold that was never examined"
        )
    return before.look + 1, True


def _draw(inputs: GuaranteeInputs, n: int, design: str, out: OutputOptions) -> None:
    from ...evaluation.guarantee.sampling import draw
    from ...evaluation.guarantee.verdicts import as_verdicts
    from ...io.atomic import refuse_to_overwrite
    from ...io.csv.folder import write_tables

    if out.folder is None:
        raise ParameterError("--draw needs a folder to record the draw: give a run folder, or a folder with -o")
    refuse_to_overwrite(out.folder, (DRAW, "sample.csv"), out.force)
    sample = draw(as_verdicts(inputs.result, inputs.votes), n, seed=inputs.seed, design=design)
    write_tables(out.folder, {"sample.csv": sample.table()}, force=out.force)
    sample.save(out.folder / DRAW)
    file = out.folder / "sample.csv"
    info(f"{len(sample.tasks):,} tasks to label in {file}, from the top; the draw is recorded in {DRAW}")


def _apply_certificate(inputs: GuaranteeInputs, path: Path, out: OutputOptions) -> None:
    from ...evaluation.guarantee.accept import apply
    from ...evaluation.guarantee.certificate import Certificate

    earlier: Certificate = Certificate.load(path)
    acceptance = apply(earlier, inputs.result, inputs.votes)
    _write(acceptance, out.folder, out.force, certificate=False)
    print_acceptance(acceptance, out, earlier=True)


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


def _sets(inputs: GuaranteeInputs, error: float, per: str | None, out: OutputOptions) -> None:
    from ...evaluation.guarantee.sets import label_sets
    from ...io.csv.folder import write_tables

    sets = label_sets(
        inputs.result, gold=inputs.gold, error=error, per=per, sampling=gold_sampling(inputs, "random"),
        votes=inputs.votes, seed=inputs.seed,
    )  # fmt: skip
    if out.folder is not None:
        write_tables(out.folder, {"sets.csv": sets.to_table()}, force=out.force)
    sizes = sets.inside.sum(axis=1)
    n_single, n_empty = int((sizes == 1).sum()), int((sizes == 0).sum())
    if out.json:
        print_json({
            "promise": sets.promise, "error": error, "per": per, "n_gold": sets.n_gold, "mean_size": sets.mean_size,
            "one": n_single, "empty": n_empty, "limits": sets.limits,
        })  # fmt: skip
        return
    typer.echo(
        f"{sets.promise} {sets.mean_size:.2f} classes per task on average; {n_single:,} of {len(sizes):,} sets hold "
        f"one class, {n_empty:,} none (these need human review)"
    )
    if out.folder is not None:
        info(f"written to {out.folder / 'sets.csv'}")
