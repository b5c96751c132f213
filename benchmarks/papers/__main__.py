"""python -m benchmarks.papers NAME... [--scale small|paper] [--seeds N] [--list] [--page]."""

from __future__ import annotations

import argparse
import os
import time
import warnings
from importlib import import_module

from crowdwise.core.errors import CrowdwiseError

from . import catalogue
from .experiment import Cell, Experiment, Scale
from .page import write
from .store import Store
from .summary import write_summary


def main() -> None:
    """Run what is missing, then write the pages and the summary."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers", description="Rebuild the papers' experiments.")
    parser.add_argument("names", nargs="*", help="experiments; `all` for all of them")
    parser.add_argument("--scale", choices=["smoke", "small", "paper"], default="small")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--list", action="store_true", help="list the experiments")
    parser.add_argument("--page", action="store_true", help="only write the pages from finished cells")
    args = parser.parse_args()
    if args.list or not args.names:
        for name, where in catalogue.EXPERIMENTS.items():
            print(f"{name:28s} {load(where).title}")
        return
    names = list(catalogue.EXPERIMENTS) if args.names == ["all"] else args.names
    for name in names:
        if name not in catalogue.EXPERIMENTS:
            parser.error(f"there is no experiment {name!r}; --list shows them")
    try:
        for name in names:
            run(load(catalogue.EXPERIMENTS[name]), args.scale, args.seeds, only_page=args.page)
    except CrowdwiseError as error:
        parser.error(str(error))
    write_summary()


def load(where: str) -> Experiment:
    """An experiment from its import string."""
    module, _, cls = where.partition(":")
    made: Experiment = getattr(import_module(f"benchmarks.papers.{module}"), cls)()
    return made


def run(experiment: Experiment, scale: Scale, seeds: int | None = None, *, only_page: bool = False) -> None:
    """All cells that are not finished, then the page."""
    count = experiment.seeds[scale] if seeds is None else seeds
    cells = all_cells(experiment, scale, count)
    store = Store(experiment, scale)
    missing = [] if only_page else [cell for cell in cells if cell not in store]
    print(f"{experiment.name}: {len(cells)} runs, {len(missing)} to do", flush=True)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    begun = time.time()
    for number, cell in enumerate(missing):
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            figures = experiment.run(cell, scale)
        store.add(cell, figures, time.process_time() - started)
        if (number + 1) % 10 == 0 or number + 1 == len(missing):
            left = (time.time() - begun) / (number + 1) * (len(missing) - number - 1)
            print(f"  {number + 1}/{len(missing)}, about {left / 60:.0f} minutes left", flush=True)
    rows = store.table(cells)
    if len(rows):
        print(write(experiment, scale, count, rows).name)


def all_cells(experiment: Experiment, scale: Scale, seeds: int) -> list[Cell]:
    """Seeds outermost, so that an interrupted run has every condition."""
    return [{**condition, "seed": seed} for seed in range(seeds) for condition in experiment.conditions(scale)]


if __name__ == "__main__":
    main()
