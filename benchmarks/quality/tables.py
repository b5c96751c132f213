"""From rows of cells to the tables of the page."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ..markdown import figures
from . import rank
from .score import SCORES


def label(side: str, method: str) -> str:
    return method if side == "crowdwise" else f"crowd-kit {method}"


def by_set(fits: pl.DataFrame) -> pl.DataFrame:
    """One row per method and set: the mean over seeds, the error where no seed went through."""
    return (
        fits.group_by("side", "method", "set", maintain_order=True)
        .agg(pl.col("cpu", *SCORES).mean(), pl.col("error").first(), pl.len().alias("seeds"))
        .with_columns(pl.struct("side", "method").map_elements(lambda r: label(**r), pl.String).alias("name"))
    )


def complete(table_: pl.DataFrame, names: tuple[str, ...], column: str) -> dict[str, np.ndarray]:
    """score[set] of every method that has it on all sets."""
    found = {}
    for name, part in table_.filter(pl.col("set").is_in(names)).group_by("name", maintain_order=True):
        values = dict(part.select("set", column).iter_rows())
        if all(values.get(each) is not None for each in names):
            found[str(name[0])] = np.array([values[each] for each in names])
    return found


def means(table_: pl.DataFrame, names: tuple[str, ...], default: str) -> tuple[str, dict[str, rank.Ranking]]:
    """Mean scores, ranks and paired tests of the methods that ran on every set, best accuracy first."""
    accuracy = complete(table_, names, "accuracy")
    ranks = {"accuracy": rank.ranking(accuracy, higher_is_better=True)}
    loss, ece, cpu = (complete(table_, names, column) for column in ("log_loss", "ece", "cpu"))
    if len(loss) > 2:
        ranks["log_loss"] = rank.ranking(loss, higher_is_better=False)
    vote = accuracy["majority_vote"]
    tests = rank.against(accuracy, default)
    rows = []
    for name in sorted(accuracy, key=lambda each: -accuracy[each].mean()):
        gain, p = tests.get(name, (np.nan, np.nan))
        rows.append(
            [
                f"**{name}**" if name == default else name,
                f"{accuracy[name].mean():.4f}",
                f"{loss[name].mean():.3f}" if name in loss else "–",
                f"{ece[name].mean():.3f}" if name in ece else "–",
                f"{cpu[name].sum():.1f}",
                f"{ranks['accuracy'].rank[name]:.1f}",
                f"{ranks['log_loss'].rank[name]:.1f}" if name in loss and "log_loss" in ranks else "–",
                str(int((accuracy[name] < vote - 0.01).sum())),
                "" if np.isnan(gain) else f"{gain:+.4f} (p = {p:.2f})",
            ]
        )
    header = ["method", "accuracy", "log-loss", "ECE", "CPU s", "rank, accuracy", "rank, log-loss"]
    header += ["sets > 1 point below the vote", f"{default} is ahead by"]
    return figures(header, rows), ranks


def partial(table_: pl.DataFrame, names: tuple[str, ...]) -> str:
    """The methods that did not run everywhere: their mean beside majority vote's on the sets where they ran."""
    full = complete(table_, names, "accuracy")
    part = table_.filter(pl.col("set").is_in(names) & ~pl.col("name").is_in(list(full)))
    vote = dict(table_.filter(pl.col("name") == "majority_vote").select("set", "accuracy").iter_rows())
    rows = []
    for (name,), own in part.group_by("name", maintain_order=True):
        ran = own.filter(pl.col("accuracy").is_not_null())
        beside = np.mean([vote[each] for each in ran["set"]]) if len(ran) else np.nan
        mean = f"{ran['accuracy'].mean():.4f} ({beside:.4f})" if len(ran) else "–"
        loss = ran["log_loss"].mean()
        rows.append([str(name), str(len(ran)), mean, "–" if loss is None else f"{loss:.3f}", _reasons(own)])
    return figures(["method", "sets", "accuracy (the vote's there)", "log-loss", "elsewhere"], rows)


def _reasons(own: pl.DataFrame) -> str:
    failed = own.filter(pl.col("error").is_not_null())
    found = []
    for (error,), part in failed.group_by("error", maintain_order=True):
        where = part["set"].to_list()
        shown = ", ".join(where) if len(where) <= 4 else f"{', '.join(where[:3])} and {len(where) - 3} more"
        found.append(f"{shown}: {str(error).replace('|', '/')}")
    return "; ".join(found)


def matrix(table_: pl.DataFrame, names: tuple[str, ...], column: str, digits: int) -> str:
    """Every method on every set."""
    rows = []
    for (name,), own in table_.filter(pl.col("set").is_in(names)).group_by("name", maintain_order=True):
        values: dict[str, Any] = dict(own.select("set", column).iter_rows())
        shown = (values.get(each) for each in names)
        rows.append([str(name), *("–" if value is None else f"{value:.{digits}f}" for value in shown)])
    return figures(["method", *names], rows)


def curves(rows: pl.DataFrame, kept: tuple[int, ...]) -> str:
    """Mean accuracy / log-loss over the sets and seeds by labels kept per task."""
    lines = []
    for (method,), own in rows.group_by("method", maintain_order=True):
        found = {k: part for (k,), part in own.group_by("kept")}
        cells = [f"{found[k]['accuracy'].mean():.3f} / {found[k]['log_loss'].mean():.2f}" for k in kept]
        lines.append([str(method), *cells])
    return figures(["method", *(f"{k} label{'s' * (k > 1)}" for k in kept)], lines)


def steadiness(rows: pl.DataFrame, default: str) -> str:
    """Mean accuracy over sets, its spread over draws, and the paired lead of the default in each draw."""
    draws = rows.group_by("method", "seed", maintain_order=True).agg(pl.col("accuracy", "log_loss").mean())
    own = draws.filter(pl.col("method") == default).sort("seed")
    lines = []
    for (method,), part in draws.group_by("method", maintain_order=True):
        part = part.sort("seed")
        lead = own["accuracy"].to_numpy() - part["accuracy"].to_numpy()
        ahead = (
            ""
            if method == default
            else f"{lead.mean():+.4f} ± {lead.std(ddof=1):.4f}, {int((lead > 0).sum())} of {len(lead)}"
        )
        cells = [f"{part[c].mean():.4f} ± {part[c].std():.4f}" for c in ("accuracy", "log_loss")]
        lines.append([str(method), *cells, ahead])
    return figures(["method", "accuracy", "log-loss", f"{default} is ahead by, in draws"], lines)
