"""A comparison of methods for classes, for people and machines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from ..kinds.classes.annotations import Annotations
from .scored import Table

if TYPE_CHECKING:
    from .compare import Comparison

# Methods whose shares of equal labels still fit on a line.
_FEW = 8
LEGEND = (
    "conf.: mean confidence; agrees: mean share of labels shared with the other methods; held-out: mean "
    "log-likelihood of annotations not seen; differ: share of pairs of methods that differ"
)


def plain(found: Comparison, limit: int) -> dict[str, Any]:
    """Plain values."""
    names = found.agreement["method"].to_list()
    known = [name for name in found.tasks.columns if name not in names]
    tasks = [
        {**{name: row[name] for name in known}, "labels": {name: row[name] for name in names}}
        for row in found.disputed(limit).to_dicts()
    ]
    return {
        "methods": found.methods.to_dicts(),
        "agreement": {row.pop("method"): row for row in found.agreement.to_dicts()},
        "disputed": tasks,
        "n_gold_left_out": found.n_gold_left_out,
        "notes": list(found.notes),
    }


def tables(found: Comparison, limit: int, annotations: Annotations) -> list[Table]:
    """The methods, the best first; those that could not run; who agrees with whom; the most disputed tasks."""
    table = found.methods.filter(found.methods["reason"].is_null())
    with_truth = "accuracy" in table.columns
    if with_truth:
        table = table.sort("accuracy", "log_loss", descending=[True, False])
    elif table["held_out"].is_not_null().any():
        table = table.sort("held_out", descending=True, nulls_last=True)
    header = ["method", "CPU s", "steps", "conf.", "agrees", "held-out"]
    header += ["accuracy", "95 % interval", "log-loss", "ECE", "F1"] if with_truth else []
    out = [Table("", header, [_cells(row, with_truth) for row in table.to_dicts()])]
    refused = found.methods.filter(found.methods["reason"].is_not_null())
    if len(refused):
        rows = [list(row) for row in refused.select("method", "reason").rows()]
        out.append(Table("Could not run", ["method", "reason"], rows))
    if 2 <= len(found.agreement) <= _FEW:
        rows = [[row[0], *(f"{value:.3f}" for value in row[1:])] for row in found.agreement.rows()]
        out.append(Table("Share of equal labels", ["", *found.agreement["method"].to_list()], rows))
    disputes = found.disputed(limit)
    if len(disputes):
        names = found.agreement["method"].to_list()
        rows = [_dispute(row, names, annotations) for row in disputes.to_dicts()]
        header = ["task", "differ", *(["true"] if with_truth else []), "votes", "who says what"]
        out.append(Table("Most disputed tasks", header, rows))
    return out


def _cells(row: dict[str, Any], with_truth: bool) -> list[str]:
    agrees, score = row["agreement"], row["held_out"]
    cells = [row["method"], f"{row['cpu_seconds']:.2f}", str(row["iterations"]), f"{row['mean_confidence']:.3f}"]
    cells += ["–" if agrees is None else f"{agrees:.3f}"]
    cells += ["–" if score is None else f"{score:.4f} ± {row['held_out_error']:.4f}"]
    if with_truth:
        cells += [f"{row['accuracy']:.4f}", f"{row['accuracy_low']:.4f} – {row['accuracy_high']:.4f}"]
        cells += [f"{row[name]:.4f}" for name in ("log_loss", "ece", "macro_f1")]
    return cells


def _dispute(row: dict[str, Any], names: list[str], annotations: Annotations) -> list[str]:
    """One disputed task: what was voted, and which methods say what, the largest party first."""
    task = int((annotations.tasks == row["task"]).arg_max() or 0)
    votes = annotations.votes[task]
    ballots = ", ".join(f"{annotations.classes[int(k)]} {votes[k]:g}" for k in (-votes).argsort() if votes[k] > 0)
    parties = Counter(row[name] for name in names).most_common()
    sides = []
    for label, size in parties:
        members = [name for name in names if row[name] == label]
        sides.append(
            f"{label}: " + (", ".join(members) if size <= 3 else f"{', '.join(members[:2])} and {size - 2} more")
        )
    true = [str(row["true"] if row["true"] is not None else "–")] if "true" in row else []
    return [str(row["task"]), f"{row['disagreement']:.2f}", *true, ballots, "; ".join(sides)]
