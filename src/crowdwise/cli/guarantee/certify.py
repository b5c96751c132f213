"""crowdwise certify: a dated certificate of how often a judge agrees with people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ...core.options import ReadOptions
from ..options import Force, Gold, GoldColumns, Json, Seed, Votes, option
from ..terminal import error_context, info, print_json, print_ledger
from ..vote_options import DEFAULT_READ_OPTIONS, read_votes, reads_votes
from .estimate import GoldDesign

CERTIFICATE = Path("certificate.json")
Judge = Annotated[
    str | None, option("Input", "--judge", "Name of the judge, if the file has several workers.", metavar="NAME")
]
Prompt = Annotated[
    Path | None, option("Input", "--prompt", "File with the judge's prompt; only its hash is stored.", metavar="FILE")
]


@reads_votes
def certify(
    votes: Votes,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    judge: Judge = None,
    prompt: Prompt = None,
    sampling: Annotated[
        GoldDesign | None,
        option(
            "Gold and truth",
            "--sampling",
            "How the gold tasks were drawn; a certificate needs a random sample. Not needed for a recorded draw.",
        ),
    ] = None,
    at_least: Annotated[
        float | None,
        option(
            "Method",
            "--at-least",
            "Agreement with people to promise; by default the low end of its interval.",
            metavar="SHARE",
        ),
    ] = None,
    drop: Annotated[
        float, option("Method", "--drop", "Drop in agreement that the gate should find.", metavar="SHARE")
    ] = 0.05,
    alpha: Annotated[
        float, option("Method", "--alpha", "Probability of a false alarm over all looks together.", metavar="P")
    ] = 0.05,
    level: Annotated[float, option("Method", "--level", "Confidence level of the interval.", metavar="P")] = 0.95,
    days: Annotated[
        int, option("Method", "--days", "Days after which the certificate expires.", min=1, metavar="N")
    ] = 90,
    read_options: ReadOptions = DEFAULT_READ_OPTIONS,
    seed: Seed = 0,
    output: Annotated[Path, option("Output", "-o, --output", "File for the certificate.")] = CERTIFICATE,
    force: Force = False,
    json: Json = False,
) -> None:
    """Certify how often a judge agrees with people, so that `gate` can test it in CI.

    The tasks that people labelled become anchors, which the judge judges again later. Exit code 3: the agreement
    asked for by --at-least cannot be promised, and no file is written.
    """
    from ...core.errors import DataError
    from ...evaluation.guarantee.judge_certificate import NotCertified
    from ...evaluation.guarantee.judge_certificate import certify as certify_judge

    if output.exists() and not force:
        raise DataError(f"{output} exists; use --force to replace it")
    one_judge, labels, drawn = _inputs(votes, gold, gold_columns, judge, read_options)
    design = drawn if sampling is None else sampling.value
    with error_context(votes, gold):
        try:
            certificate = certify_judge(
                one_judge, gold=labels, sampling=design, at_least=at_least, drop=drop, alpha=alpha, level=level,
                days=days, prompt=read_prompt(prompt), seed=seed,
            )  # fmt: skip
        except NotCertified as reason:
            info(f"not certified: {reason}")
            raise typer.Exit(3) from None
    certificate.save(output)
    for note in certificate.notes:
        info("note:", note)
    if json:
        print_json({k: v for k, v in certificate.to_dict().items() if k != "anchors"})
        return
    typer.echo(
        f"{certificate.promise} (measured {certificate.agreement:.3f} [{certificate.low:.3f}, {certificate.high:.3f}] "
        f"on {len(certificate.anchors):,} anchors); expires {certificate.expires}"
    )
    info(f"written to {output}; test it with: crowdwise gate {output} NEW_LOG")


def _inputs(
    votes: str, gold: Path | None, gold_columns: str | None, judge: str | None, read_options: ReadOptions
) -> tuple[Any, Any, Any]:
    """Return the votes of the judge, the gold, and a recorded draw beside it, if any."""
    from ...core.intake.columns import TRUTH_OPTION, parse_columns
    from ...evaluation.guarantee.gold import read_gold
    from ...evaluation.guarantee.sampling import draw_beside
    from ..loading import add_classes

    reading = read_votes(votes, read_options)
    one_judge = only_judge(reading.annotations, judge)
    print_ledger(one_judge.ledger)
    if gold is None:
        return one_judge, reading.usable_gold()[0], None
    labels = read_gold(gold, parse_columns(gold_columns, TRUTH_OPTION), tuple(read_options.missing))
    if "label" in labels.columns:
        one_judge = add_classes(one_judge, labels)
    drawn = draw_beside(gold, labels, one_judge.tasks)
    return one_judge, labels, None if drawn is None else drawn[0]


def only_judge(votes: Any, judge: str | None) -> Any:
    """Return the votes of one worker."""
    from ...core.errors import ParameterError

    if judge is None:
        return votes
    names = [str(name) for name in votes.workers.to_list()]
    if judge not in names:
        raise ParameterError(f"there is no judge {judge!r}; there are {', '.join(names[:8])}")
    return votes.select(workers=[votes.workers[names.index(judge)]])


def read_prompt(path: Path | None) -> str | None:
    """Read a prompt."""
    from ...core.errors import DataError

    if path is None:
        return None
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read ({getattr(error, 'strerror', None) or 'it is not UTF-8'})") from None
