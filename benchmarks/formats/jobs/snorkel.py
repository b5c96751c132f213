"""Snorkel: labelling functions applied by its own PandasLFApplier; its LFAnalysis takes our matrix."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .. import crowd

NUMBERS = ["0", "1", "2"]


def write(folder: Path) -> dict[str, Any]:
    import numpy as np
    import pandas as pd
    from snorkel.labeling import LabelingFunction, PandasLFApplier

    rows = crowd.rows(labels=NUMBERS)
    said = {(task, who): int(label) for task, who, label in rows}

    def function(who: str) -> LabelingFunction:
        return LabelingFunction(who, lambda x: said.get((x["text"], who), -1))

    matrix = PandasLFApplier([function(who) for who in crowd.WORKERS]).apply(
        pd.DataFrame({"text": crowd.TEXTS}), progress_bar=False
    )
    np.save(folder / "L.npy", matrix)
    place = {name: str(i) for names in (crowd.TEXTS, crowd.WORKERS) for i, name in enumerate(names)}
    mine = [(place[task], place[who], label) for task, who, label in rows]
    return crowd.tell(version("snorkel"), [crowd.File("L.npy", "snorkel", mine)])


def accept(folder: Path) -> dict[str, Any]:
    """Our matrix: coverage by labelling function as LFAnalysis counts it, and the answers in it."""
    import numpy as np
    from snorkel.labeling import LFAnalysis

    matrix = np.load(folder / "L.npy")
    coverage = LFAnalysis(matrix).lf_coverages()
    rows = [(str(i), str(j), str(matrix[i, j])) for i, j in zip(*np.nonzero(matrix >= 0), strict=True)]
    counted = [round(share * len(matrix)) for share in coverage]
    return {"valid": sum(counted) == len(rows), "rows": rows}


if __name__ == "__main__":
    crowd.run(sys.modules[__name__])
