"""Write crowdkit_dawid_skene.npz: run by hand in an environment of its own with crowd-kit 1.4.2 installed.

    python tests/golden/freeze_crowdkit.py DATA_FOLDER

crowd-kit's Dawid-Skene, 10 iterations, no early stop; posterior rows in the order of the task ids as text.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from crowdkit.aggregation import DawidSkene

data = Path(sys.argv[1])
frozen = {}
for name in ("dog", "rte"):
    votes = pd.read_csv(data / name / "labels.csv", dtype=str)[["task", "worker", "label"]]
    found = DawidSkene(n_iter=10, tol=-1e9).fit(votes)
    frozen[name] = found.probas_.sort_index().sort_index(axis=1).to_numpy()
np.savez_compressed(Path(__file__).parent / "crowdkit_dawid_skene.npz", **frozen)
