"""The page of an experiment: what was done, tables, pictures, claims, command, versions, time."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np
import polars as pl

from .. import markdown
from .experiment import Experiment, Plot, Scale
from .store import PAGES


def write(experiment: Experiment, scale: Scale, seeds: int, rows: pl.DataFrame, folder: Path = PAGES) -> Path:
    """Parquet, pictures and page; the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    rows.write_parquet(folder / f"{experiment.name}.parquet")
    parts = [f"# {experiment.paper}: {experiment.title}", experiment.about.strip()]
    found = experiment.claims(rows)
    if found:
        parts.append(
            "## Claims\n\n" + markdown.table(["claim", "published", "ours", "verdict"], [c.cells() for c in found])
        )
    for number, plot in enumerate(experiment.plots()):
        name = f"{experiment.name}-{number + 1}.svg"
        draw(plot, rows, folder / name)
        parts.append(f"![{plot.title}]({name})")
    for title, table in experiment.tables(rows):
        cells = [["" if v is None else str(v) for v in row] for row in table.rows()]
        parts.append(f"## {title}\n\n{markdown.table(table.columns, cells)}")
    parts.append("## How\n\n" + _how(experiment, scale, seeds, rows))
    path = folder / f"{experiment.name}.md"
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def _how(experiment: Experiment, scale: Scale, seeds: int, rows: pl.DataFrame) -> str:
    hours = float(rows["seconds"].sum()) / 3600
    return (
        f"`python -m benchmarks.papers {experiment.name} --scale {scale} --seeds {seeds}`: {len(rows):,} runs, "
        f"{hours:.2f} hours of one core. {markdown.versions()}, {platform.machine()}. Rows: "
        f"[{experiment.name}.parquet]({experiment.name}.parquet)."
    )


def draw(plot: Plot, rows: pl.DataFrame, path: Path) -> None:
    """An SVG of means with intervals over seeds."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    from scipy.stats import t as student

    plt.rcParams.update({"svg.hashsalt": "crowdwise", "font.size": 9, "axes.spines.top": False})
    for name, value in plot.where.items():
        rows = rows.filter(pl.col(name) == value)
    if plot.across:
        rows = rows.unpivot(list(plot.across), index=[plot.line, *filter(None, [plot.panel])], value_name=plot.y)
        rows = rows.with_columns(pl.col("variable").replace_strict(plot.across).alias(plot.x))
    rows = rows.drop_nulls([plot.x, plot.y])
    share = bool(rows[plot.y].is_between(0, 1).all())  # then no interval reaches beyond
    panels = rows[plot.panel].unique(maintain_order=True).to_list() if plot.panel else [None]
    figure, axes = plt.subplots(1, len(panels), figsize=(4.2 * len(panels), 3.2), squeeze=False, sharey=True)
    for axis, panel in zip(axes[0], panels, strict=True):
        part = rows if panel is None else rows.filter(pl.col(plot.panel) == panel)
        for line in part[plot.line].unique(maintain_order=True).to_list():
            groups = part.filter(pl.col(plot.line) == line).group_by(plot.x).agg(pl.col(plot.y)).sort(plot.x)
            x = groups[plot.x].to_list()
            values = [np.asarray(v, dtype=float) for v in groups[plot.y].to_list()]
            mean = np.array([v.mean() for v in values])
            wide = np.array([
                student.ppf((1 + plot.level) / 2, len(v) - 1) * v.std(ddof=1) / len(v) ** 0.5 if len(v) > 1 else 0.0
                for v in values
            ])  # fmt: skip
            low, high = (np.clip(end, 0, 1) if share else end for end in (mean - wide, mean + wide))
            drawn = axis.plot(x, mean, marker="o", markersize=3, linewidth=1.2, label=str(line))
            if not isinstance(x[0], str):
                axis.fill_between(x, low, high, alpha=0.15, color=drawn[0].get_color())
        axis.set_xlabel(plot.x.replace("_", " "))
        if plot.log:
            axis.set_yscale("log")
        axis.set_title(plot.title if panel is None else str(panel), fontsize=9)
    axes[0][0].set_ylabel(plot.y.replace("_", " "))
    axes[0][-1].legend(fontsize=7, frameon=False, title="" if plot.line == "method" else plot.line, title_fontsize=7)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
