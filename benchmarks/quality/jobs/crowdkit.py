"""crowd-kit's classification aggregators on exported sets; runs in crowd-kit's own environment, one process for all.

`python -m benchmarks.quality.jobs.crowdkit LIMIT < cells` reads lines of JSON {"method", "path", "seed", "out"} and
writes one line of JSON for each: CPU seconds, or the error in one line. Probabilities go to `out` as .npy
[task, class], labels where the method has no probabilities as .npy [task].
"""

from __future__ import annotations

import json
import signal
import sys
import time
import warnings

import numpy as np
import pandas as pd
from crowdkit.aggregation import classification

METHODS = ("MajorityVote", "Wawa", "ZeroBasedSkill", "DawidSkene", "OneCoinDawidSkene", "GLAD", "MACE", "KOS", "MMSR")


class TooLongError(Exception):
    """The limit of CPU time is over."""


def fit(method: str, path: str, seed: int, out: str) -> float:
    """CPU seconds of fit_predict; what came out is stored."""
    task, worker, label = np.load(path)
    frame = pd.DataFrame({"task": task, "worker": worker, "label": label})
    model = getattr(classification, method)(**({"random_state": seed} if method in ("MACE", "KOS", "MMSR") else {}))
    start = time.process_time()
    labels = model.fit_predict(frame)
    took = time.process_time() - start
    n, k = task.max() + 1, label.max() + 1
    probabilities = getattr(model, "probas_", None)
    if probabilities is not None:
        stored = np.full((n, k), 1 / k)
        stored[np.ix_(probabilities.index, probabilities.columns)] = probabilities.to_numpy()
    else:
        stored = labels.reindex(range(n)).to_numpy()
    np.save(out, stored)
    return took


def _stop(*_: object) -> None:
    raise TooLongError


def main() -> None:
    warnings.simplefilter("ignore")
    limit = float(sys.argv[1])
    signal.signal(signal.SIGPROF, _stop)
    for line in sys.stdin:
        answer: dict[str, object] = {}
        signal.setitimer(signal.ITIMER_PROF, limit)
        try:
            answer["cpu"] = fit(**json.loads(line))
        except TooLongError:
            answer["error"] = f"over {limit:.0f} CPU s, ended"
        except Exception as error:  # what crashes is recorded, and nothing is patched
            answer["error"] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:160]
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        print("@@" + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
