"""What a run is told: sizes, repeats, and the folder for its data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .data import Size, store


@dataclass(frozen=True)
class Plan:
    """Full sizes, or with `quick` small ones, whose figures show that the benchmark works and nothing else."""

    folder: Path
    quick: bool = False

    @property
    def judged(self) -> bool:
        return not self.quick

    @property
    def rounds(self) -> int:
        """How often each contender gets a fresh process; the best counts."""
        return 1 if self.quick else 3

    @property
    def small(self) -> Size:
        return Size(5_000, 5, 200, 10) if self.quick else Size(100_000, 5, 2_000, 10)

    @property
    def large(self) -> Size:
        return Size(20_000, 5, 500, 10) if self.quick else Size(1_000_000, 5, 10_000, 10)

    @property
    def wide(self) -> Size:
        return Size(20_000, 10, 1_000, 5) if self.quick else Size(2_000_000, 10, 50_000, 5)

    @property
    def ladder(self) -> list[Size]:
        """1 M to 20 M labels."""
        if self.quick:
            return [Size(10_000, 5, 500, 5), Size(40_000, 5, 1_000, 5)]
        steps = ((200_000, 10_000), (400_000, 10_000), (1_000_000, 20_000), (2_000_000, 50_000), (4_000_000, 50_000))
        return [Size(tasks, 5, workers, 5) for tasks, workers in steps]

    @property
    def file(self) -> Size:
        return Size(20_000, 5, 500, 10) if self.quick else Size(2_000_000, 5, 50_000, 10)

    def crowd(self, size: Size, seed: int = 0) -> str:
        """The path of the stored crowd of this size."""
        return str(store(size, self.folder, seed))
