"""Run in ppi-python's own environment: intervals of the mean for the inputs in one file, written to another."""

import sys

import numpy as np
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate


def main(inputs, outputs):
    stored = np.load(inputs)
    found = []
    for i in range(int(stored["runs"])):
        y, f, more, lam = (stored[f"{name}{i}"] for name in ("y", "f", "more", "lam"))
        value = np.ravel(ppi_mean_pointestimate(y, f, more))[0]
        low, high = (np.ravel(end)[0] for end in ppi_mean_ci(y, f, more, alpha=0.05))
        one_sided = np.ravel(ppi_mean_ci(y, f, more, alpha=0.05, alternative="larger", lam=float(lam))[0])[0]
        found.append([value, low, high, one_sided])
    np.save(outputs, np.array(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
