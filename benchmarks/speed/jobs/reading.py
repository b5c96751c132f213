"""Reading string ids from a file into integer codes: ours, polars alone, pandas. Each imports only its own library."""

from __future__ import annotations

import time
from pathlib import Path

COLUMNS = ("task", "worker", "label")


def make(folder: str, tasks: int, per_task: int, workers: int, classes: int) -> dict[str, int]:
    """votes.parquet and votes.csv with shuffled rows."""
    import numpy as np
    import polars as pl

    from ..data import Size, planted

    codes = dict(zip(COLUMNS, planted(Size(tasks, per_task, workers, classes)), strict=True))
    shuffle = np.random.default_rng(1).permutation(tasks * per_task)
    names = {"task": ("task-", 7, tasks), "worker": ("worker-", 5, workers), "label": ("class-", 1, classes)}
    columns = {}
    for column, (prefix, width, n) in names.items():
        known = pl.Series([f"{prefix}{i:0{width}d}" for i in range(n)])
        columns[column] = known.gather(codes.pop(column)[shuffle])
    frame = pl.DataFrame(columns)
    frame.write_parquet(Path(folder) / "votes.parquet")
    frame.write_csv(Path(folder) / "votes.csv")
    return {"rows": len(frame)}


def crowdwise(path: str) -> dict[str, float]:
    """cw.read: sorted vocabularies, rows sorted by task, duplicates checked."""
    import crowdwise as cw

    start = time.perf_counter()
    votes = cw.read(path)
    took = time.perf_counter() - start
    return {"wall": took, "rows": len(votes)}


def polars(path: str) -> dict[str, float]:
    """polars' own read and categorical coding, neither sorted nor checked: the floor."""
    import polars as pl

    start = time.perf_counter()
    types = {name: pl.Categorical(pl.Categories.random()) for name in COLUMNS}
    if path.endswith(".csv"):
        frame = pl.read_csv(path, columns=list(COLUMNS), schema_overrides=types, infer_schema=False)
    else:
        frame = pl.scan_parquet(path).select(pl.col(name).cast(kind) for name, kind in types.items()).collect()
    codes = [frame[name].to_physical().to_numpy() for name in COLUMNS]
    return {"wall": time.perf_counter() - start, "rows": len(codes[0])}


def pandas(path: str, engine: str | None = None) -> dict[str, float]:
    """pandas' read and factorize(sort=True)."""
    import pandas as pd

    start = time.perf_counter()
    if path.endswith(".csv"):
        frame = pd.read_csv(path, dtype=str, engine=engine)
    else:
        frame = pd.read_parquet(path)
    codes = [pd.factorize(frame[name], sort=True)[0] for name in COLUMNS]
    return {"wall": time.perf_counter() - start, "rows": len(codes[0])}
