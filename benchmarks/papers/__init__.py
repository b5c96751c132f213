"""The papers' experiments, one small module each, run by `python -m benchmarks.papers NAME`."""
