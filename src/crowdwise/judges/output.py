"""The study of judges as files, as JSON, and as tables for the terminal."""

from __future__ import annotations

from typing import Any

import polars as pl

from ..evaluation.scores import Table
from ..report.text import number
from .frontier import Frontier
from .panel import HALF_WIDTH
from .study import Judges

Block = Table | str
SHOWN = 30
OFFERS = 12
FILES = ("judges.csv", "pairs.csv", "frontier.csv", "bias.csv", "marginal.csv", "alternative.csv")


def files(study: Judges, prices: Any = None) -> dict[str, pl.DataFrame]:
    """Return the tables by file name. Without gold there is no frontier and no table of marginal values."""
    out = {"judges.csv": study.table, "pairs.csv": study.pairs, "bias.csv": study.bias}
    if study.gold is not None:
        out |= {"frontier.csv": study.frontier(prices).table, "marginal.csv": study.marginal(prices)}
    if len(study.alternative):
        out["alternative.csv"] = study.alternative
    return out


def to_dict(study: Judges, prices: Any = None, half_width: float = HALF_WIDTH) -> dict[str, Any]:
    """Return plain values, for JSON."""
    out: dict[str, Any] = {
        "n_judges": study.n_eff.n_judges,
        "n_gold": study.n_eff.n_gold,
        "n_eff": study.n_eff.value,
        "n_eff_low": study.n_eff.low,
        "n_eff_high": study.n_eff.high,
        "n_eff_at_most": study.n_eff.at_most,
        "families_told": study.families_told,
        "method": study.stack.method,
        "judges": study.table.to_dicts(),
        "pairs": study.pairs.to_dicts(),
        "bias": study.bias.to_dicts(),
        "alternative": study.alternative.to_dicts(),
        "notes": list(study.notes),
        "panel": study.panel(half_width).to_dict(),
    }
    if study.gold is not None:
        offers = study.frontier(prices)
        spend = study.next_spend(prices)
        out |= {"frontier": offers.table.to_dicts(), "chosen": list(offers.chosen), "frontier_note": offers.note}
        out |= {"marginal": study.marginal(prices).to_dicts()}
        out |= {"next_spend": None if spend is None else {"better": spend.better, "r2": spend.r2}}
    return out


def blocks(study: Judges, prices: Any = None, half_width: float = HALF_WIDTH) -> list[Block]:
    """Texts and tables for the terminal: the verdict on the panel, judges, dependence, biases, frontier."""
    out: list[Block] = [study.panel(half_width).sentence(), *study.notes, _judges(study), study.n_eff.sentence()]
    if not study.families_told:
        out.append("no families given (--families FILE); they were estimated from the verdicts")
    out += _pairs(study) + _bias(study) + _alternative(study)
    if study.gold is not None:
        out += _frontier(study, study.frontier(prices), prices)
    return out


def _judges(study: Judges) -> Table:
    table = study.table
    sort_by = "accuracy" if study.gold is not None else "tasks"
    rows = []
    for row in table.sort(sort_by, descending=True, nulls_last=True).head(SHOWN).iter_rows(named=True):
        span = "" if row["accuracy"] is None else f"[{row['accuracy_low']:.2f}, {row['accuracy_high']:.2f}]"
        rows.append(
            [
                row["judge"], row["family"], str(row["tasks"]), f"{row['unusable_share']:.1%}", number(row["accuracy"]),
                span, number(row["own_agreement"]), number(row.get("flips")), number(row.get("position")),
                number(row["weight"]), number(row["price"], 4),
            ]
        )  # fmt: skip
    head = ["judge", "family", "tasks", "unusable", "accuracy", "95 %", "agrees with itself", "flips", "position"]
    suffix = f", {SHOWN} of {len(table)}" if len(table) > SHOWN else ""
    return Table(f"Judges{suffix}", [*head, "weight", "price"], rows)


def _pairs(study: Judges) -> list[Block]:
    tested = study.pairs.filter(pl.col("known"))
    pairs = tested.filter(pl.col("together")).sort("error_correlation", descending=True)
    if not len(tested):
        return []
    if not len(pairs):
        return [f"no pair of judges errs together more than chance explains ({len(tested):,} pairs tested)"]
    rows = [
        [row["judge"], row["other"], "yes" if row["same_family"] else "no", number(row["error_correlation"])]
        for row in pairs.head(8).iter_rows(named=True)
    ]
    title = f"Errors in common beyond chance ({len(pairs):,} of {len(tested):,} pairs)"
    return [Table(title, ["judge", "other", "family", "r"], rows)]


def _bias(study: Judges) -> list[Block]:
    if not len(study.bias):
        return []
    rows = []
    for (check,), part in study.bias.group_by("check", maintain_order=True):
        tested = part.filter(pl.col("p").is_not_null())
        biased = tested.filter(pl.col("biased"))
        worst = tested.sort(pl.col("effect").abs(), descending=True).head(1).to_dicts()
        largest = f"{worst[0]['judge']} {worst[0]['effect']:+.2f}" if worst else "–"
        note = next(iter(tested["note"].unique())) if len(tested) and "association" in tested["note"][0] else ""
        rows.append([str(check), f"{len(biased)} of {len(tested)}", largest, note])
    return [Table("Biases (Benjamini-Hochberg .05 over judges)", ["check", "biased", "largest", ""], rows)]


def _alternative(study: Judges) -> list[Block]:
    if not len(study.alternative):
        return []
    rows = [
        [
            row["judge"],
            row["class"],
            str(row["people"]),
            number(row["matched"]),
            _yes(row["passes"]),
            number(row["recall"]),
        ]
        for row in study.alternative.head(SHOWN).iter_rows(named=True)
    ]
    head = ["judge", "class", "people", "matched", "passes", "recall"]
    return [Table("May a judge replace a person? (over all tasks and in every class)", head, rows)]


def _cheapest_and_chosen(table: pl.DataFrame) -> list[dict[str, Any]]:
    """The cheapest offers and the chosen one."""
    return table.with_row_index("i").filter((pl.col("i") < OFFERS) | pl.col("chosen")).to_dicts()


def _yes(value: bool | None) -> str:
    return "–" if value is None else "yes" if value else "no"


def _frontier(study: Judges, offers: Frontier, prices: Any) -> list[Block]:
    if not len(offers.table):
        return [offers.note]
    rows = [
        [row["judges"], f"{row['cost']:g}", number(row["accuracy"], 3),
         f"[{row['accuracy_low']:.2f}, {row['accuracy_high']:.2f}]", number(row["log_loss"], 3), "*" * row["chosen"]]
        for row in _cheapest_and_chosen(offers.table)
    ]  # fmt: skip
    out: list[Block] = [
        Table(
            "Cost and quality of sets of judges", ["judges", "price per task", "accuracy", "95 %", "log-loss", ""], rows
        ),
        f"* the cheapest within one standard error of the best; {offers.note}",
    ]
    spend = study.next_spend(prices)
    return out + ([] if spend is None else [spend.sentence()])
