"""Judges and Frontier: how many voices they are, how good, how biased, whom to pay. Where some workers are judges."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ...aggregate.gold import as_gold
from ...aggregate.judges.about import kinds_of
from ...core.intake.occasions import OCCASION
from ...judges.study import LEAST_GOLD, Judges, judges
from ...kinds.classes.annotations import Annotations
from .. import svg
from ..page import fragment
from ..sheet import Section
from ..text import number, percent, shown, span
from .drawings import confidence_curves, correlation_map, price_chart

Tables = list[tuple[str, str, pl.DataFrame]]
# Judges beyond so many are in the download only.
ROWS = 60
_JUDGED = (
    "Accuracy and recall are shares of a judge's verdicts on gold tasks; all repeats, prompts and orders of a judge "
    "are one voice. Assumption: gold came from people and is like the other tasks."
)
_BLIND = (
    "Assumption: none that could be checked. Without gold nobody can tell common errors from common sense: give labels "
    "of people (30 or more) to see accuracies, errors made together and whom to pay."
)


def is_about_judges(votes: Annotations) -> bool:
    """Whether several workers are said to be models, or rows say their prompt, order or repeat."""
    models = sum(kind == "model" for kind in kinds_of(votes))
    occasions = votes.about_rows is not None and any(name in votes.about_rows.columns for name in OCCASION)
    return votes.n_workers >= 2 and (models >= 2 or occasions)


def judge_sections(votes: Annotations, truth: Any) -> tuple[list[Section], Tables]:
    """The sections, and their tables for download; none where nobody here is a judge."""
    if not is_about_judges(votes):
        return [], []
    gold = as_gold(truth, votes)
    found = judges(votes, truth if gold is not None and len(gold.known) >= LEAST_GOLD else None)
    out = [Section("judges", "Judges", "Judges", fragment("judges/judges.html.j2", **_view(found)))]
    tables: Tables = [
        ("judges.csv", "every judge", found.table),
        ("judge_pairs.csv", "which judges err together", found.pairs),
        ("judge_bias.csv", "bias checks", found.bias),
    ]
    if found.gold is None:
        return out, tables
    offers = found.frontier()
    if len(offers.table):
        view: dict[str, Any] = {"rows": [_offer(row) for row in offers.table.to_dicts()], "note": offers.note}
        spend = found.next_spend()
        view |= {"drawing": price_chart(offers.table), "spend": "" if spend is None else spend.sentence()}
        view |= {"priced": "price" in found.table.columns and found.table["price"].null_count() < len(found.table)}
        out.append(Section("frontier", "Frontier", "Whom to pay", fragment("judges/frontier.html.j2", **view)))
        tables.append(("frontier.csv", "sets of judges that nobody beats", offers.table))
    return out, tables


def _view(found: Judges) -> dict[str, Any]:
    table = found.table.sort("accuracy" if found.gold is not None else "tasks", descending=True, nulls_last=True)
    recalls = [name for name in table.columns if name.startswith("recall_")][:8]
    rows = []
    for row in table.head(ROWS).to_dicts():
        row["judge"], row["family"] = shown(row["judge"], 60), shown(row["family"], 40)
        row["bar"] = svg.interval(row["accuracy"], row["accuracy_low"], row["accuracy_high"])
        row["between"] = span(row["accuracy_low"], row["accuracy_high"])
        row["recalls"] = [number(row[name]) for name in recalls]
        row["flips"] = percent(row.get("flips"))
        row["position"], row["biased"] = number(row.get("position")), bool(row.get("position_biased"))
        rows.append(row)
    covariates = [
        {"check": shown(check, 60), "n": int(part["biased"].sum()), "of": int(part["p"].is_not_null().sum()),
         "mean": number(_mean(part)), "note": next((n for n in part["note"] if "association" in n), "")}
        for (check,), part in found.bias.group_by("check", maintain_order=True)
    ]  # fmt: skip
    return {
        "big": found.n_eff.sentence(), "notes": found.notes, "rows": rows, "more": len(table) - len(rows),
        "recalls": [shown(name.removeprefix("recall_"), 30) for name in recalls], "checks": covariates,
        "gold": found.gold is not None, "assumption": _JUDGED if found.gold is not None else _BLIND,
        "told": found.families_told, "map": correlation_map(found), "curves": confidence_curves(found),
    }  # fmt: skip


def _mean(part: pl.DataFrame) -> float | None:
    values = part["effect"].drop_nulls().drop_nans().to_numpy()
    return float(np.mean(values)) if len(values) else None


def _offer(row: dict[str, Any]) -> dict[str, Any]:
    return row | {
        "judges": shown(row["judges"], 300),
        "between": span(row["accuracy_low"], row["accuracy_high"]),
        "cost": f"{row['cost']:g}",
    }
