"""Speed and memory, against crowd-kit, scipy.sparse, polars, pandas and a bare C loop: `python -m benchmarks.speed`."""
