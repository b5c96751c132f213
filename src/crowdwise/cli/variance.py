"""crowdwise variance: where the uncertainty of an evaluation comes from, and what to buy next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..core.errors import ParameterError
from .options import Json, Seed, option
from .terminal import error_context, info, print_json, print_table


def variance(
    log: Annotated[
        Path,
        typer.Argument(
            help="Table with one row per verdict: score, prompt, and any of system, answer, judge, judge_prompt, "
            "person.",
            metavar="LOG",
        ),
    ],
    score: Annotated[str, option("Input", "--score", "Column of the scores.", metavar="COL")] = "score",
    columns: Annotated[
        str | None,
        option("Input", "--columns", "Column names of the file, as prompt=A,judge=B.", metavar="PAIRS"),
    ] = None,
    prices: Annotated[
        str | None,
        option(
            "Budget",
            "--prices",
            "Prices of a prompt, an answer and a verdict, as prompt=2,answer=.1,verdict=.02; a verdict costs 1 by "
            "default.",
            metavar="PAIRS",
        ),
    ] = None,
    amount: Annotated[float, option("Budget", "--amount", "Amount to spend next.", metavar="X")] = 100.0,
    target: Annotated[
        float | None, option("Budget", "--target", "Half width of the interval to plan for.", metavar="X")
    ] = None,
    level: Annotated[float, option("Method", "--level", "Confidence level of the intervals.", metavar="P")] = 0.9,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Split the variance of scores into its sources, and say what narrows the interval most for the money."""
    from ..evaluation.variance import variance as study_variance
    from ..io.tables import open_table

    table = open_table(log)
    frame = table.read(table.header).rename(_renamed(columns, table.header))
    with error_context(log):
        study = study_variance(
            frame, score=score, prices=_prices(prices), amount=amount, target=target, level=level, seed=seed
        )
    for note in study.notes:
        info("note:", note)
    if json:
        print_json(study.to_dict())
        return
    _print(study, amount)


def _print(study: Any, amount: float) -> None:
    interval = f"{100 * study.level:g} % interval"
    rows = [
        [r["source"], f"{r['variance']:.4g}", f"{r['low']:.4g} – {r['high']:.4g}", f"{100 * r['share']:.0f} %"]
        for r in study.table.to_dicts()
    ]
    print_table("", ["source", "variance", interval, "share"], rows, stderr=False)
    typer.echo(f"{study.of}: ±{study.half_width:.4g} ({interval}) from {study.design}")
    rows = [
        [r["buy"], f"{r['units']:.3g} more", f"±{r['half_width']:.4g}", f"{100 * r['narrower']:.0f} %"]
        for r in study.next_best.to_dicts()
    ]
    print_table(f"The next {amount:g}", ["buy", "", "interval", "narrower"], rows, stderr=False)
    if study.plan is not None:
        design, cost, half = study.plan
        typer.echo(f"cheapest plan: {design}: ±{half:.4g} for {cost:,.6g}")


def _renamed(columns: str | None, header: list[str]) -> dict[str, str]:
    """Return our names by theirs."""
    pairs = _pairs(columns, "--columns")
    for name in pairs.values():
        if name not in header:
            raise ParameterError(f"--columns: there is no column {name!r}; there are {', '.join(header)}")
    return {theirs: ours for ours, theirs in pairs.items()}


def _prices(text: str | None) -> dict[str, float] | None:
    if text is None:
        return None
    try:
        return {name: float(value) for name, value in _pairs(text, "--prices").items()}
    except ValueError:
        raise ParameterError(f"--prices must be numbers, as prompt=2,answer=.1,verdict=.02, got {text!r}") from None


def _pairs(text: str | None, option_: str) -> dict[str, str]:
    out = {}
    for part in (text or "").split(","):
        name, equals, value = part.partition("=")
        if part.strip() and not (equals and name.strip() and value.strip()):
            raise ParameterError(f"{option_} takes NAME=VALUE pairs, got {part!r}")
        if part.strip():
            out[name.strip()] = value.strip()
    return out
