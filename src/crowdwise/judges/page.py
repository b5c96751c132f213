"""Report sections about judges, and about disagreement in runs without a single truth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from markupsafe import Markup, escape

from ..core.arrays import F8
from ..core.errors import CrowdwiseError
from ..core.intake.repeats import OCCASION_COLUMNS
from ..core.result import Result
from ..core.side_tables import column_by
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.methods.gold import as_gold
from ..kinds.classes.methods.judges import kinds_of
from ..report import svg
from ..report.page import fragment
from ..report.sheet import Section
from ..report.svg import NOTHING, Frame, curves, drawing, short, words
from ..report.text import number, percent, shown, span
from .soft import LEVEL, Soft, soft
from .study import LEAST_GOLD, Judges, judges

Tables = list[tuple[str, str, pl.DataFrame]]
# Largest numbers of tasks, columns about raters, groups of a column, and classes that are shown.
TASKS, COLUMNS, GROUPS, CLASSES = 20, 3, 12, 6
_ASSUMED = (
    "Assumption: there are no errors; raters are a sample of the population of interest, and the labels of a rater are "
    "dependent (raters are permuted, not rows)."
)


def disagreement_section(votes: Annotations, result: Result) -> tuple[list[Section], Tables]:
    """Build the section of a subjective run and its tables for download; nothing for other runs."""
    if not result.extra.get("subjective"):
        return [], []
    studies = [(column, _group_study(votes, column)) for column in _columns(votes)]
    groups = [(column, study) for column, study in studies if study is not None]
    plain = groups[0][1] if groups else soft(votes)
    view = {
        "assumed": _ASSUMED, "scores": plain.scores, "classes": [shown(c, 30) for c in result.classes[:CLASSES]],
        "rows": _most_disputed(result), "judges": plain.scores.judges.sort("log_loss").head(TASKS).to_dicts(),
        "groups": [_group(votes, column, study) for column, study in groups],
    }  # fmt: skip
    body = fragment("judges/disagreement.html.j2", **view)
    tables: Tables = []
    for column, study in groups:
        if study.groups is not None and study.tasks is not None:
            tables += [(f"groups_{column}.csv", f"groups of raters by {column}", study.groups),
                       (f"tasks_{column}.csv", f"tasks that divide groups by {column}", study.tasks)]  # fmt: skip
    return [Section("disagreement", "Disagreement", "Disagreement", body)], tables


def _columns(votes: Annotations) -> list[str]:
    """Columns about the workers that define a few groups."""
    table = votes.about_workers
    out = []
    for name in [] if table is None else table.columns[1:]:
        column = column_by(table, name, votes.workers)
        if name != "kind" and column is not None and 2 <= column.drop_nulls().n_unique() <= GROUPS:
            out.append(name)
    return out[:COLUMNS]


def _group_study(votes: Annotations, column: str) -> Soft | None:
    """Study the groups of a column; None where they are too small."""
    try:
        return soft(votes, column)
    except CrowdwiseError:
        return None


def _most_disputed(result: Result) -> list[dict[str, Any]]:
    """The tasks with the most disagreement."""
    p = np.maximum(result.posterior, 1e-300)
    entropy = np.where(result.labels_per_task > 1, -(p * np.log(p)).sum(axis=1), -1)
    top = [int(t) for t in np.argsort(-entropy, kind="stable")[:TASKS] if entropy[t] >= 0]
    return [
        {
            "task": shown(result.tasks[t], 80), "raters": int(result.labels_per_task[t]),
            "shares": [{"text": number(s), "bar": svg.interval(float(s), 0.0, float(s))}
                       for s in result.posterior[t, :CLASSES]],
        }
        for t in top
    ]  # fmt: skip


def _group(votes: Annotations, column: str, study: Soft) -> dict[str, Any]:
    assert study.groups is not None
    assert study.tasks is not None
    shares = _shares(votes, column)
    rows = study.groups.sort("group", "class").head(4 * TASKS).to_dicts()
    shown_rows = []
    for row in rows:
        share = shares.get((row["group"], row["class"]))  # none for the mean
        bar = "" if share is None else svg.interval(share, 0.0, share)
        names = {"group": shown(row["group"], 60), "class": shown(row["class"], 40)}
        shown_rows.append(row | names | {"share": share, "bar": bar})
    split = study.tasks.filter(pl.col("p_adjusted") <= LEVEL)["task"].unique()
    return {
        "column": shown(column, 60), "rows": shown_rows, "divide": len(split),
        "tasks": study.tasks["task"].n_unique(),
        "level": LEVEL,
    }  # fmt: skip


def _shares(votes: Annotations, column: str) -> dict[tuple[str, str], float]:
    """Share of each class in the labels of each group."""
    names = column_by(votes.about_workers, column, votes.workers)
    assert names is not None
    rows = pl.DataFrame({
        "group": names.cast(pl.String).gather(votes.worker), "class": votes.classes.cast(pl.String).gather(votes.label),
    }).drop_nulls()  # fmt: skip
    counted = (
        rows.group_by("group", "class").len().with_columns(share=pl.col("len") / pl.col("len").sum().over("group"))
    )
    return {(group, class_): share for group, class_, share in counted.select("group", "class", "share").iter_rows()}


# ----------------------------------------------------------------
# Charts: correlated errors by family, stated confidence, accuracy against price.


MAX_JUDGES = 40
CURVES = 4


def correlation_map(study: Judges) -> Markup:
    """Map of the correlations of errors, families side by side; empty where none is known."""
    pairs = study.pairs.filter(pl.col("known"))
    if not len(pairs):
        return NOTHING
    order = np.lexsort((-study.table["accuracy"].fill_null(0.0).to_numpy(), study.family))[:MAX_JUDGES]
    names = [str(study.votes.workers[int(i)]) for i in order]
    position = {name: i for i, name in enumerate(names)}
    values = np.full((len(names), len(names)), np.nan)
    for row in pairs.iter_rows(named=True):
        if row["judge"] in position and row["other"] in position:
            i, j = sorted((position[row["judge"]], position[row["other"]]), reverse=True)
            values[i, j] = row["error_correlation"]
    label = f"Map of {len(names)} judges: the stronger the colour, the more often two err on the same tasks"
    return _map(values, names, study.family[order], label)


def _map(values: F8, names: list[str], family: npt.NDArray[np.int64], label: str) -> Markup:
    m, cell, left = len(names), max(min(640.0 / max(len(names), 1), 30.0), 13.0), 110.0
    body = []
    for i in range(m):
        y = 4 + i * cell
        body.append(words(left - 6, y + cell / 2 + 3.5, shown(names[i], 15), "axis", "end"))
        body.append(words(left + i * cell + 3, y + cell / 2 + 3.5, shown(names[i], 15), "axis"))
        if i and family[i] != family[i - 1]:
            body.append(f'<path class="tick" d="M{short(left)} {short(y)}H{short(left + i * cell)}"/>')
        for j in range(i):
            v = float(values[i, j])
            if math.isfinite(v):
                at = f'x="{short(left + j * cell)}" y="{short(y)}" width="{short(cell - 1)}" height="{short(cell - 1)}"'
                tip = f"<title>{escape(f'{names[i]} and {names[j]}: {v:.2f}')}</title>"
                body.append(f'<rect class="right" {at} fill-opacity="{min(max(v, 0.0), 1.0):.2f}">{tip}</rect>')
    return drawing(left + m * cell + left, 6 + m * cell, body, "heatmap", label)


def confidence_curves(study: Judges) -> Markup:
    """Chart of accuracy against stated confidence, for the judges who state it on most gold tasks."""
    curves_of = [(i, s) for i, s in enumerate(study.stated) if s is not None and len(s.curve) > 1]
    curves_of = sorted(curves_of, key=lambda item: -item[1].n)[:CURVES]
    if not curves_of:
        return NOTHING
    series = [
        (str(study.votes.workers[i]), [x for x, _, _ in s.curve], [y for _, y, _ in s.curve]) for i, s in curves_of
    ]
    series.append(("as stated", [0.5, 1.0], [0.5, 1.0]))
    label = f"Share of right verdicts against stated confidence of {len(curves_of)} judges"
    return curves(series, "stated confidence", label, y_range=(0.0, 1.0))


def price_chart(table: pl.DataFrame) -> Markup:
    """Chart of accuracy on held-out gold against price per task; the chosen offer is a hollow dot."""
    cost, right = table["cost"].to_numpy(), table["accuracy"].to_numpy()
    low, high = float(cost.min()), float(cost.max())
    frame = Frame((min(low, 0.0), high or 1.0), (max(math.floor(10 * right.min()) / 10, 0.0), 1.0), width=420, top=22)
    body = frame.axes("price per task", "accuracy")
    for row in table.iter_rows(named=True):
        x, y = frame.x(row["cost"]), frame.y(row["accuracy"])
        foot, head = frame.y(max(row["accuracy_low"], frame.y_range[0])), frame.y(row["accuracy_high"])
        body.append(f'<path class="whisker" d="M{short(x)} {short(foot)}V{short(head)}"/>')
        tip = escape(f"{shown(row['judges'], 120)}: {row['accuracy']:.1%} for {row['cost']:g}")
        kind, size = ("mark", 7) if row["chosen"] else ("dot", 4)
        body.append(f'<circle class="{kind}" cx="{short(x)}" cy="{short(y)}" r="{size}"><title>{tip}</title></circle>')
    return drawing(frame.width, frame.height, body, "chart", "Accuracy against price of sets of judges")


# ----------------------------------------------------------------
# The sections Judges and Frontier, where some workers are judges.

# Largest number of judges in the table; the download has all.
ROWS = 60
_JUDGED = (
    "Accuracy and recall are shares of a judge's verdicts on gold tasks; all repeats, prompts and orders of a judge "
    "count as one verdict. Assumption: gold came from people and is a random sample of the tasks."
)
_BLIND = (
    "Without gold, agreement by shared errors cannot be distinguished from agreement on the truth: give labels of "
    "people (30 or more) for accuracies, correlated errors and the cost-quality frontier."
)


def is_about_judges(votes: Annotations) -> bool:
    """Whether several workers are models, or rows have a prompt, an order or a repeat."""
    models = sum(kind == "model" for kind in kinds_of(votes))
    occasions = votes.about_rows is not None and any(name in votes.about_rows.columns for name in OCCASION_COLUMNS)
    return votes.n_workers >= 2 and (models >= 2 or occasions)


def judge_sections(votes: Annotations, truth: Any) -> tuple[list[Section], Tables]:
    """Build the sections and their tables for download; none where no worker is a judge."""
    if not is_about_judges(votes):
        return [], []
    gold = as_gold(truth, votes)
    study = judges(votes, truth if gold is not None and len(gold.tasks) >= LEAST_GOLD else None)
    out = [Section("judges", "Judges", "Judges", fragment("judges/judges.html.j2", **_view(study)))]
    tables: Tables = [
        ("judges.csv", "every judge", study.table),
        ("judge_pairs.csv", "correlations of errors of judges", study.pairs),
        ("judge_bias.csv", "bias checks", study.bias),
    ]
    if study.gold is None:
        return out, tables
    offers = study.frontier()
    if len(offers.table):
        view: dict[str, Any] = {"rows": [_offer(row) for row in offers.table.to_dicts()], "note": offers.note}
        spend = study.next_spend()
        view |= {"drawing": price_chart(offers.table), "spend": "" if spend is None else spend.sentence()}
        view |= {"priced": "price" in study.table.columns and study.table["price"].null_count() < len(study.table)}
        out.append(Section("frontier", "Frontier", "Cost and quality", fragment("judges/frontier.html.j2", **view)))
        tables.append(("frontier.csv", "sets of judges on the frontier", offers.table))
    return out, tables


def _view(study: Judges) -> dict[str, Any]:
    table = study.table.sort("accuracy" if study.gold is not None else "tasks", descending=True, nulls_last=True)
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
        for (check,), part in study.bias.group_by("check", maintain_order=True)
    ]  # fmt: skip
    return {
        "big": study.n_eff.sentence(), "notes": (study.panel().sentence(), *study.notes), "rows": rows,
        "more": len(table) - len(rows),
        "recalls": [shown(name.removeprefix("recall_"), 30) for name in recalls], "checks": covariates,
        "gold": study.gold is not None, "assumption": _JUDGED if study.gold is not None else _BLIND,
        "families_given": study.families_told, "map": correlation_map(study), "curves": confidence_curves(study),
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
