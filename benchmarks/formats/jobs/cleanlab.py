"""cleanlab: its own long-to-wide helper, saved by pandas; its multiannotator functions take our wide table."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .. import crowd

NUMBERS = ["0", "1", "2"]


def write(folder: Path) -> dict[str, Any]:
    import pandas as pd
    from cleanlab.internal.multiannotator_utils import format_multiannotator_labels
    from cleanlab.multiannotator import convert_long_to_wide_dataset

    rows = crowd.rows(labels=NUMBERS)
    long = pd.DataFrame([(t, w, int(x)) for t, w, x in rows], columns=["task", "annotator", "label"])
    wide = convert_long_to_wide_dataset(long)
    wide.to_csv(folder / "wide.csv")
    format_multiannotator_labels(wide)  # cleanlab itself finds nothing wrong with it
    return crowd.tell(version("cleanlab"), [crowd.File("wide.csv", "cleanlab", rows)])


def accept(folder: Path) -> dict[str, Any]:
    """Our wide.csv: cleanlab's majority vote runs on it, and it holds the same answers."""
    import pandas as pd
    from cleanlab.multiannotator import get_majority_vote_label

    wide = pd.read_csv(folder / "wide.csv", index_col=0, dtype={0: str}, keep_default_na=False, na_values=[""])
    long = wide.stack().dropna()
    rows = [(str(task), str(who), str(int(label))) for (task, who), label in long.items()]
    labelled = wide.dropna(how="all").astype(float)
    return {"valid": len(get_majority_vote_label(labelled)) == len(labelled), "rows": rows}


if __name__ == "__main__":
    crowd.run(sys.modules[__name__])
