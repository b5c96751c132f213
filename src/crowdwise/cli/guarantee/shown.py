"""What accept shows people: the promise and its ladder, plans, three ways with two judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from ...core.errors import ParameterError
from ..terminal import print_json, print_table, say
from .given import Taken

# Rungs that are shown: about so many.
RUNGS = 10


def shown(found: Any, folder: Path | None, json: bool, old: bool = False) -> None:
    """The promise, what was accepted, and the ladder around where the walk ended; of an `old` certificate, whose ladder
    is that of another batch."""
    certificate = found.certificate
    if json:
        unseen = int((found.accepted["by"] == "verdict").sum())
        print_json(certificate.to_dict() | {"n_ask": len(found.ask), "n_unseen": unseen, "n_done": len(found.accepted)})
        return
    for note in certificate.notes:
        say("note:", note)
    typer.echo(_said(found, old))
    what = "place" if certificate.surest == "places" else "confidence"
    for part in certificate.parts[:20]:
        title = "" if part.name is None else str(part.name)
        if len(certificate.parts) <= 3:
            header = [what, "tasks", "wrong in the gold", "error at most", "p", ""]
            print_table(f"{title} (as certified)".strip() if old else title, header, _rungs(part), stderr=False)
        else:
            say(f"{title}: {part.accepted:,} accepted")
    known = int((found.accepted["by"] != "verdict").sum())
    if known and certificate.n_accepted:
        say(f"with the {known:,} tasks whose truth is known, {len(found.accepted):,} need no person")
    say("void if: " + "; ".join(certificate.voids))
    if folder is not None:
        say(f"accepted.csv, ask.csv ({len(found.ask):,} tasks for people) in {folder}")


def _said(found: Any, old: bool) -> str:
    """One sentence about what is accepted."""
    certificate = found.certificate
    if not certificate.n_accepted:
        return f"nothing can be accepted: {_why(certificate)}"
    n = int((found.accepted["by"] == "verdict").sum()) if len(found.accepted) else 0
    text = f"{n:,} of {len(found.accepted) + len(found.ask):,} tasks are accepted unseen"
    if not old:
        return f"{text}. {certificate.promise}"
    drift = ", ".join(f"{name} p = {p:.2g}" for name, p in certificate.checks.items())
    text += f" by the certificate of {certificate.made}; this batch looks like the certified one ({drift})"
    return f"{text}. It promised: {certificate.promise}"


def _rungs(part: Any) -> list[list[str]]:
    """Some rungs; those above the first that was tested have no test of their own."""
    step = max(len(part.ladder) // RUNGS, 1)
    out = []
    for i, rung in enumerate(part.ladder):
        if i % step == step - 1 or rung.threshold == part.threshold:
            taken = part.threshold is not None and rung.threshold >= part.threshold
            p = "–" if i < part.start else f"{rung.p:.3g}"
            cells = [f"{rung.threshold:.4f}", f"{rung.size:,}", f"{rung.wrong} of {rung.checked}"]
            out.append([*cells, f"{100 * rung.bound:.1f} %", p, "accepted" if taken else ""])
    return out


def _why(certificate: Any) -> str:
    part = certificate.parts[0] if certificate.parts else None
    if part is None or part.start < 0:
        return "there is too little gold among the most confident tasks"
    first = part.ladder[part.start]
    return (
        f"of {first.checked} gold labels among the {first.size:,} most confident tasks {first.wrong} are wrong, which "
        f"does not show an error below {100 * certificate.error:g} %"
    )


def planned(given: Taken, told: dict[str, Any], prices: str | None, json: bool) -> None:
    """The gold that is needed."""
    from ...evaluation.guarantee.plan import plan

    found = plan(given.result, votes=given.votes, prices=None if prices is None else parsed(prices), **told)
    if json:
        print_json(found.to_dict())
        return
    rows = [
        [step.guess, f"{step.needed:,}", "–" if step.share is None else f"{100 * step.share:.0f} %",
         "–" if step.draw is None else f"{step.draw:,}"]
        for step in found.steps
    ]  # fmt: skip
    title = f"Gold for accept: error {100 * found.error:g} %, risk {100 * found.risk:g} %, {found.n_tasks:,} tasks"
    header = ["if accepted tasks have", "gold among them", "tasks so sure, they say", "gold to draw"]
    print_table(title, header, rows, stderr=False)
    say("how sure tasks are is the verdicts' own claim, often too high; so much gold passes in 4 of 5 cases")
    widths = [[f"± {row['half_width']:g}", *(f"{int(n):,}" for key, n in row.items() if key != "half_width")]
              for row in found.half_widths]  # fmt: skip
    names = [f"R² {key.removeprefix('r2_')}" for key in found.half_widths[0] if key != "half_width"]
    print_table("Gold for estimate: a share about one half", ["interval", *names], widths, stderr=False)
    if found.spending:
        s = found.spending
        say(
            f"at {s['judge']:g} a verdict and {s['person']:g} a person's label, R² {s['r2']:g}: "
            f"{s['gold_per_verdict']:.3f} gold labels per verdict; a verdict is worth paying below "
            f"{s['worth_paying_below']:.3g}"
        )


def parsed(text: str) -> dict[str, float]:
    """judge=.5,person=20."""
    try:
        return {name.strip(): float(value) for name, value in (part.split("=") for part in text.split(","))}
    except ValueError:
        raise ParameterError(f"--prices wants judge=X,person=Y, got {text!r}") from None


def shown_cascade(
    given: Taken, strong: Taken, told: dict[str, Any], prices: str | None, draw: Any, seed: int, folder: Path | None,
    force: bool, json: bool,
) -> None:  # fmt: skip
    """Three ways to label everything, priced."""
    from ...evaluation.guarantee.cascade import cascade
    from ...evaluation.guarantee.verdicts import verdicts
    from ...io.csv.folder import write_tables

    try:
        three = tuple(float(part) for part in (prices or "").split(","))
    except ValueError:
        three = ()
    if len(three) != 3:
        raise ParameterError(
            "--then needs --prices CHEAP,STRONG,PERSON: what a verdict of each and a person's label cost"
        )
    both = [verdicts(each.result, each.votes) for each in (given, strong)]
    found = cascade(*both, gold=given.gold, prices=three, sampling=draw or "random", seed=seed, **told)
    if folder is not None:
        write_tables(folder, {"cascade.csv": found.table}, force=force)
    if json:
        ways = [{k: v for k, v in vars(way).items() if k != "ladder"} for way in found.ways]
        print_json({"promise": found.promise, "best": found.best.name, "ways": ways})
        return
    rows = [
        [way.name, *(f"{100 * share:.1f} %" for share in (way.cheap, way.strong, way.person)), f"{way.cost:.2f}"]
        for way in sorted(found.ways, key=lambda way: way.cost)
    ]
    print_table("", ["way", "cheap judge", "strong judge", "person", "cost a task"], rows, stderr=False)
    typer.echo(f"{found.best.name} costs least. {found.promise}")
