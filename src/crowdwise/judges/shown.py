"""A study of judges as files, as JSON, and as tables for a terminal."""

from __future__ import annotations

from typing import Any

import polars as pl

from ..evaluation.scores import Table
from .frontier import Frontier
from .study import Judges

Block = Table | str
SHOWN = 30
OFFERS = 12
FILES = ("judges.csv", "pairs.csv", "frontier.csv", "bias.csv", "marginal.csv", "alternative.csv")


def files(found: Judges, prices: Any = None) -> dict[str, pl.DataFrame]:
    """The tables by the names of their files; without gold there are no frontier and no marginal values."""
    out = {"judges.csv": found.table, "pairs.csv": found.pairs, "bias.csv": found.bias}
    if found.gold is not None:
        out |= {"frontier.csv": found.frontier(prices).table, "marginal.csv": found.marginal(prices)}
    if len(found.alternative):
        out["alternative.csv"] = found.alternative
    return out


def to_dict(found: Judges, prices: Any = None) -> dict[str, Any]:
    """Plain values."""
    out: dict[str, Any] = {
        "n_judges": found.n_eff.n_judges,
        "n_gold": found.n_eff.n_gold,
        "n_eff": found.n_eff.value,
        "n_eff_low": found.n_eff.low,
        "n_eff_high": found.n_eff.high,
        "n_eff_at_most": found.n_eff.at_most,
        "families_told": found.families_told,
        "method": found.stack.method,
        "judges": found.table.to_dicts(),
        "pairs": found.pairs.to_dicts(),
        "bias": found.bias.to_dicts(),
        "alternative": found.alternative.to_dicts(),
        "notes": list(found.notes),
    }
    if found.gold is not None:
        offers = found.frontier(prices)
        spend = found.next_spend(prices)
        out |= {"frontier": offers.table.to_dicts(), "chosen": list(offers.chosen), "frontier_note": offers.note}
        out |= {"marginal": found.marginal(prices).to_dicts()}
        out |= {"next_spend": None if spend is None else {"better": spend.better, "r2": spend.r2}}
    return out


def blocks(found: Judges, prices: Any = None) -> list[Block]:
    """For a terminal: the big number, the judges, who errs together, biases, whom to pay."""
    out: list[Block] = [*found.notes, _judges(found), found.n_eff.sentence()]
    if not found.families_told:
        out.append("families are not told (--families FILE), so relatives were looked for among the verdicts")
    out += _pairs(found) + _bias(found) + _alternative(found)
    if found.gold is not None:
        out += _money(found, found.frontier(prices), prices)
    return out


def number(value: float | None, digits: int = 2) -> str:
    """A number, or a dash."""
    return "–" if value is None else f"{value:.{digits}f}"


def _judges(found: Judges) -> Table:
    table = found.table
    by = "accuracy" if found.gold is not None else "tasks"
    rows = []
    for row in table.sort(by, descending=True, nulls_last=True).head(SHOWN).iter_rows(named=True):
        span = "" if row["accuracy"] is None else f"[{row['accuracy_low']:.2f}, {row['accuracy_high']:.2f}]"
        rows.append(
            [
                row["judge"], row["family"], str(row["tasks"]), f"{row['unusable_share']:.1%}", number(row["accuracy"]),
                span, number(row["own_agreement"]), number(row.get("flips")), number(row.get("position")),
                number(row["weight"]), number(row["price"], 4),
            ]
        )  # fmt: skip
    head = ["judge", "family", "tasks", "unusable", "accuracy", "95 %", "agrees with itself", "flips", "position"]
    more = f", {SHOWN} of {len(table)}" if len(table) > SHOWN else ""
    return Table(f"Judges{more}", [*head, "weight", "price"], rows)


def _pairs(found: Judges) -> list[Block]:
    known = found.pairs.filter(pl.col("known")).sort("error_correlation", descending=True)
    if not len(known):
        return []
    rows = [
        [row["judge"], row["other"], "yes" if row["same_family"] else "no", number(row["error_correlation"])]
        for row in known.head(8).iter_rows(named=True)
    ]
    return [Table("Who errs together (correlation of errors on gold)", ["judge", "other", "family", "r"], rows)]


def _bias(found: Judges) -> list[Block]:
    if not len(found.bias):
        return []
    rows = []
    for (check,), part in found.bias.group_by("check", maintain_order=True):
        seen = part.filter(pl.col("p").is_not_null())
        hit = seen.filter(pl.col("biased"))
        worst = seen.sort(pl.col("effect").abs(), descending=True).head(1).to_dicts()
        told = f"{worst[0]['judge']} {worst[0]['effect']:+.2f}" if worst else "–"
        said = next(iter(seen["note"].unique())) if len(seen) and "association" in seen["note"][0] else ""
        rows.append([str(check), f"{len(hit)} of {len(seen)}", told, said])
    return [Table("Biases (Benjamini-Hochberg .05 over judges)", ["check", "biased", "largest", ""], rows)]


def _alternative(found: Judges) -> list[Block]:
    if not len(found.alternative):
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
        for row in found.alternative.head(SHOWN).iter_rows(named=True)
    ]
    head = ["judge", "class", "people", "matched", "passes", "recall"]
    return [Table("May a judge replace a person? (in every class, not only over all tasks)", head, rows)]


def _some(table: pl.DataFrame) -> list[dict[str, Any]]:
    """The cheapest offers, and the one that is chosen."""
    return table.with_row_index("i").filter((pl.col("i") < OFFERS) | pl.col("chosen")).to_dicts()


def _yes(value: bool | None) -> str:
    return "–" if value is None else "yes" if value else "no"


def _money(found: Judges, offers: Frontier, prices: Any) -> list[Block]:
    if not len(offers.table):
        return [offers.note]
    rows = [
        [row["judges"], f"{row['cost']:g}", number(row["accuracy"], 3),
         f"[{row['accuracy_low']:.2f}, {row['accuracy_high']:.2f}]", number(row["log_loss"], 3), "*" * row["chosen"]]
        for row in _some(offers.table)
    ]  # fmt: skip
    out: list[Block] = [
        Table("Whom to pay", ["judges", "price a task", "accuracy", "95 %", "log-loss", ""], rows),
        f"* the cheapest that is as good as the best, within one standard error; {offers.note}",
    ]
    spend = found.next_spend(prices)
    return out + ([] if spend is None else [spend.sentence()])
