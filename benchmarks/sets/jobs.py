"""crowd-kit's BinaryRelevance on ml_medrel; runs in crowd-kit's own environment, which has no crowdwise."""

from __future__ import annotations

import json
import sys
import time


def main(path: str, out: str) -> None:
    """Fit with both base aggregators; CPU seconds and the sets go to a JSON file."""
    import pandas as pd
    from crowdkit.aggregation import BinaryRelevance, DawidSkene, MajorityVote

    frame = pd.read_json(path, orient="records", lines=True, dtype={"task": str, "worker": str})
    found = {}
    for name, base in (("MajorityVote", MajorityVote()), ("DawidSkene", DawidSkene(n_iter=100))):
        start = time.process_time()
        sets = BinaryRelevance(base).fit_predict(frame)
        found[name] = {"cpu": time.process_time() - start, "sets": {str(task): list(s) for task, s in sets.items()}}
    with open(out, "w", encoding="utf-8") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
