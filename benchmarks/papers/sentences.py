"""Film-review sentences with real votes (sentpol_text), described by TF-IDF reduced to its leading directions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import polars as pl

from crowdwise import Annotations, datasets

F4 = npt.NDArray[np.float32]
I8 = npt.NDArray[np.int64]
DIRECTIONS = 100


@dataclass(frozen=True)
class Sentences:
    """Votes as arrays of codes; x and truth by task code. Class 1 is positive."""

    task: I8
    worker: I8
    label: I8
    x: F4
    truth: I8

    def votes(self, keep: npt.NDArray[np.bool_] | I8, tasks: I8) -> Annotations:
        """These annotations, of these tasks, coded 0, 1, ... in the order given; tasks without labels stay."""
        code = np.full(len(self.truth), -1)
        code[tasks] = np.arange(len(tasks))
        at = code[self.task[keep]]
        inside = at >= 0
        parts = (at[inside], self.worker[keep][inside], self.label[keep][inside])
        return Annotations.from_arrays(*parts, tasks=range(len(tasks)), classes=[0, 1])


@lru_cache(maxsize=1)
def sentences() -> Sentences:
    """The 4,999 sentences with votes. No label touches the features; workers keep their codes."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    found = datasets.load("sentpol_text")
    votes = found.annotations
    text = pl.read_csv(found.folder / "text.csv", schema_overrides={"task": pl.String})
    assert found.truth is not None
    table = pl.DataFrame({"task": votes.tasks.cast(pl.String)}).join(text, on="task", how="left")
    truth = table.join(found.truth.with_columns(pl.col("task").cast(pl.String)), on="task", how="left")["label"]
    words = TfidfVectorizer(sublinear_tf=True, min_df=3, ngram_range=(1, 2)).fit_transform(table["text"].to_list())
    x = TruncatedSVD(DIRECTIONS, random_state=0).fit_transform(words)
    x = ((x - x.mean(0)) / x.std(0)).astype(np.float32)
    code = {str(c): i for i, c in enumerate(votes.classes.to_list())}
    arrays = (np.asarray(v, dtype=np.int64) for v in (votes.task, votes.worker, votes.label))
    return Sentences(*arrays, x, np.array([code[str(v)] for v in truth.to_list()]))
