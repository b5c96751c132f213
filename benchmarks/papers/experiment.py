"""Experiment: what a paper did, as data: cells to run, how to run one, what was published, how to lay it out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import polars as pl

Scale = Literal["smoke", "small", "paper"]
Cell = dict[str, Any]  # what is run: condition, method, seed; plain values
Row = dict[str, Any]  # what came out: the cell and its figures


def device(scale: Scale) -> str:
    """Where nets are trained: the papers' own settings want a GPU where there is one."""
    import torch

    return "cuda" if scale == "paper" and torch.cuda.is_available() else "cpu"


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, the published figure, ours, and whether it holds."""

    text: str
    published: str
    ours: str
    verdict: Literal["reproduced", "reproduced in direction", "undecided", "not reproduced", "not run"]
    why: str = ""

    def cells(self) -> list[str]:
        """For a table."""
        return [self.text, self.published, self.ours, self.verdict + (f": {self.why}" if self.why else "")]


@dataclass(frozen=True)
class Plot:
    """Lines with bands: one line per value of `line`, x against the mean of y, interval over seeds."""

    title: str
    x: str
    y: str
    line: str = "method"
    panel: str | None = None
    level: float = 0.95
    where: dict[str, Any] = field(default_factory=dict)
    log: bool = False  # logarithmic y
    across: dict[str, float] = field(default_factory=dict)  # columns that hold y at several x: column -> x


class Experiment(ABC):
    """One experiment. Subclasses are found by their `name`."""

    name: ClassVar[str]
    paper: ClassVar[str]  # short name: Max-MIG, deepBP, BayesDGC, Trace, Tutorial, ...
    title: ClassVar[str]
    about: ClassVar[str]  # what is done, what was scaled and why
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 10, "paper": 50}

    @abstractmethod
    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """All cells without their seed."""

    @abstractmethod
    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:
        """The figures of one cell (which holds `seed`)."""

    @abstractmethod
    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """Titled tables of means and spreads, with published figures beside them."""

    def claims(self, rows: pl.DataFrame) -> list[Claim]:  # noqa: ARG002
        """The paper's claims against these rows."""
        return []

    def plots(self) -> list[Plot]:
        """Pictures to draw."""
        return []


def mean_table(
    rows: pl.DataFrame, down: list[str], across: str, value: str, *, percent: bool = True, digits: int = 1
) -> pl.DataFrame:
    """Means ± standard deviations over seeds, `across` spread over the columns."""
    factor = 100.0 if percent else 1.0
    shown = (
        rows.drop_nulls(value)
        .group_by([*down, across], maintain_order=True)
        .agg(pl.col(value).mean().alias("mean"), pl.col(value).std().alias("spread"), pl.len().alias("n"))
        .with_columns(
            pl.struct("mean", "spread").map_elements(
                lambda s: f"{factor * s['mean']:.{digits}f}"
                + (f" ± {factor * s['spread']:.{digits}f}" if s["spread"] is not None else ""),
                return_dtype=pl.String,
            ).alias("shown")
        )
    )  # fmt: skip
    return shown.pivot(across, index=down, values="shown")
