"""Terminal output of accept: the guarantee and its ladder, plans of gold, and the costs of two judges."""

from __future__ import annotations

from typing import Any

import typer

from ...core.errors import ParameterError
from ..terminal import info, print_json, print_table
from .inputs import GuaranteeInputs, OutputOptions, gold_sampling

# Approximate number of rungs shown.
MAX_RUNGS = 10


def print_acceptance(acceptance: Any, out: OutputOptions, earlier: bool = False) -> None:
    """Print the guarantee, what was accepted, and rungs of the ladder.

    `earlier`: the certificate, and so the ladder, is that of another batch.
    """
    certificate = acceptance.certificate
    if out.json:
        unseen = int((acceptance.accepted["by"] == "verdict").sum())
        counts = {"n_ask": len(acceptance.ask), "n_unseen": unseen, "n_done": len(acceptance.accepted)}
        print_json(certificate.to_dict() | counts)
        return
    for note in certificate.notes:
        info("note:", note)
    typer.echo(_acceptance_sentence(acceptance, earlier))
    measure = "place" if certificate.surest == "places" else "confidence"
    for part in certificate.parts[:20]:
        title = "" if part.name is None else str(part.name)
        if len(certificate.parts) <= 3:
            header = [measure, "tasks", "wrong in the gold", "error at most", "p", ""]
            print_table(
                f"{title} (as certified)".strip() if earlier else title, header, _ladder_rows(part), stderr=False
            )
        else:
            info(f"{title}: {part.accepted:,} accepted")
    n_gold = int((acceptance.accepted["by"] != "verdict").sum())
    if n_gold and certificate.n_accepted:
        info(f"with the {n_gold:,} gold tasks, {len(acceptance.accepted):,} need no human review")
    info("void if: " + "; ".join(certificate.voids))
    if out.folder is not None:
        info(f"accepted.csv, ask.csv ({len(acceptance.ask):,} tasks for people) in {out.folder}")


def _acceptance_sentence(acceptance: Any, earlier: bool) -> str:
    """Return a sentence about what is accepted."""
    certificate = acceptance.certificate
    if not certificate.n_accepted:
        return f"nothing can be accepted: {_reason_for_none(certificate)}"
    n = int((acceptance.accepted["by"] == "verdict").sum()) if len(acceptance.accepted) else 0
    text = f"{n:,} of {len(acceptance.accepted) + len(acceptance.ask):,} tasks are accepted unseen"
    if not earlier:
        return f"{text}. {certificate.promise}"
    drift = ", ".join(f"{name} p = {p:.2g}" for name, p in certificate.checks.items())
    text += f" by the certificate of {certificate.made}; this batch looks like the certified one ({drift})"
    return f"{text}. Its guarantee: {certificate.promise}"


def _ladder_rows(part: Any) -> list[list[str]]:
    """Return rows of some rungs; those above the first tested rung have no p-value."""
    step = max(len(part.ladder) // MAX_RUNGS, 1)
    rows = []
    for i, rung in enumerate(part.ladder):
        if i % step == step - 1 or rung.threshold == part.threshold:
            is_accepted = part.threshold is not None and rung.threshold >= part.threshold
            p = "–" if i < part.start else f"{rung.p:.3g}"
            cells = [f"{rung.threshold:.4f}", f"{rung.size:,}", f"{rung.wrong} of {rung.checked}"]
            rows.append([*cells, f"{100 * rung.bound:.1f} %", p, "accepted" if is_accepted else ""])
    return rows


def _reason_for_none(certificate: Any) -> str:
    part = certificate.parts[0] if certificate.parts else None
    if part is None or part.start < 0:
        return "there is too little gold among the most confident tasks"
    first = part.ladder[part.start]
    return (
        f"of {first.checked} gold labels among the {first.size:,} most confident tasks {first.wrong} are wrong, which "
        f"does not show an error below {100 * certificate.error:g} %"
    )


def print_plan(inputs: GuaranteeInputs, terms: dict[str, Any], prices: str | None, json: bool) -> None:
    """Print how much gold is needed."""
    from ...evaluation.guarantee.plan import plan

    price_of = None if prices is None else parse_prices(prices)
    gold_plan = plan(inputs.result, votes=inputs.votes, prices=price_of, **terms)
    if json:
        print_json(gold_plan.to_dict())
        return
    rows = [
        [step.guess, f"{step.needed:,}", "–" if step.share is None else f"{100 * step.share:.0f} %",
         "–" if step.draw is None else f"{step.draw:,}"]
        for step in gold_plan.steps
    ]  # fmt: skip
    title = (
        f"Gold for accept: error {100 * gold_plan.error:g} %, risk {100 * gold_plan.risk:g} %, "
        f"{gold_plan.n_tasks:,} tasks"
    )
    header = ["if accepted tasks have", "gold among them", "tasks so confident", "gold to draw"]
    print_table(title, header, rows, stderr=False)
    info("confidence is as the verdicts claim it, which is often too high; this much gold suffices in 4 of 5 cases")
    widths = [[f"± {row['half_width']:g}", *(f"{int(n):,}" for key, n in row.items() if key != "half_width")]
              for row in gold_plan.half_widths]  # fmt: skip
    names = [f"R² {key.removeprefix('r2_')}" for key in gold_plan.half_widths[0] if key != "half_width"]
    print_table("Gold for estimate: a share about one half", ["interval", *names], widths, stderr=False)
    if gold_plan.spending:
        s = gold_plan.spending
        info(
            f"at {s['judge']:g} per verdict and {s['person']:g} per human label, R² {s['r2']:g}: "
            f"{s['gold_per_verdict']:.3f} gold labels per verdict; a verdict is worth paying below "
            f"{s['worth_paying_below']:.3g}"
        )


def parse_prices(text: str) -> dict[str, float]:
    """Parse prices such as judge=.5,person=20."""
    try:
        return {name.strip(): float(value) for name, value in (part.split("=") for part in text.split(","))}
    except ValueError:
        raise ParameterError(f"--prices takes judge=X,person=Y, got {text!r}") from None


def print_cascade(
    inputs: GuaranteeInputs, strong: GuaranteeInputs, terms: dict[str, Any], prices: str | None, out: OutputOptions
) -> None:
    """Print the costs of labelling with the cheap judge, the strong judge, or a cascade of both."""
    from ...evaluation.guarantee.cascade import cascade
    from ...evaluation.guarantee.verdicts import as_verdicts
    from ...io.csv.folder import write_tables

    try:
        costs = tuple(float(part) for part in (prices or "").split(","))
    except ValueError:
        costs = ()
    if len(costs) != 3:
        raise ParameterError(
            "--then needs --prices CHEAP,STRONG,PERSON: the price of a verdict of each judge and of a human label"
        )
    judges = [as_verdicts(source.result, source.votes) for source in (inputs, strong)]
    sampling = gold_sampling(inputs, None) or "random"
    comparison = cascade(*judges, gold=inputs.gold, prices=costs, sampling=sampling, seed=inputs.seed, **terms)
    if out.folder is not None:
        write_tables(out.folder, {"cascade.csv": comparison.table}, force=out.force)
    if out.json:
        strategies = [{k: v for k, v in vars(strategy).items() if k != "ladder"} for strategy in comparison.strategies]
        print_json({"promise": comparison.promise, "best": comparison.best.name, "ways": strategies})
        return
    rows = []
    for strategy in sorted(comparison.strategies, key=lambda strategy: strategy.cost):
        shares = (f"{100 * share:.1f} %" for share in (strategy.cheap, strategy.strong, strategy.person))
        rows.append([strategy.name, *shares, f"{strategy.cost:.2f}"])
    print_table("", ["strategy", "cheap judge", "strong judge", "person", "cost per task"], rows, stderr=False)
    typer.echo(f"{comparison.best.name} costs least. {comparison.promise}")
