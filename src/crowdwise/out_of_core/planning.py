"""Make a plan: read every file once, merge the vocabularies, write the parts; or reuse an existing plan."""

from __future__ import annotations

import shutil
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError, unwritable
from ..core.faults import FAULTS
from ..core.intake.column import damaged, lost_note, missing_value_notes
from ..core.ledger import Ledger
from ..core.vocabulary import recode, sorted_vocabulary, spelt_like, union
from ..em.kernels import n_threads
from ..io.numerals import respell
from ..kinds.classes.answers import ClassCoder
from .chunks import RowChunk, read_chunks
from .files import File, expand
from .grouped import check_grouped, cut_by_task
from .options import PartitionOptions
from .parts import Codes, PartFacts, write_part
from .plan import MARKER, PER_WORKER, PartitionPlan
from .shuffle import FINEST, Written, merged, write_chunk

T = TypeVar("T")
# Called with (done, total, activity); `total` is 0 if unknown.
Progress = Callable[[int, int, str], None]
# Usual number of parts, most rows of a part, and fewest rows for more than one part.
USUAL, MOST_ROWS, ENOUGH = 64, 1 << 22, 4096
# Every part has a table of all workers, which is cleared and added up in each pass. For tables of more than LARGE
# cells, which exceed the cache, parts are fewer and larger: until a table is no larger than its part,
# but at least FEWEST.
LARGE, FEWEST = 1 << 16, 16


def n_parts(rows: int, cells: int = 0) -> int:
    """Return the number of parts for votes and tables of these sizes: a power of two, independent of the machine."""
    if rows < ENOUGH:
        return 1
    n = USUAL
    while n < FINEST and rows > n * MOST_ROWS:
        n *= 2
    while n > FEWEST and cells > LARGE and rows < n * cells and 2 * rows <= n * MOST_ROWS:
        n //= 2
    return n


def plan(
    votes: str | Path | Sequence[Any],
    folder: str | Path,
    options: PartitionOptions = PartitionOptions(),  # noqa: B008
    progress: Progress | None = None,
) -> PartitionPlan:
    """Return the plan of the votes in this folder; it is made only if none exists for the same files and options."""
    folder, files = Path(folder), expand(votes, options.format)
    if (folder / MARKER).is_file():
        with suppress(DataError):
            existing = PartitionPlan.load(folder)
            if existing.is_current(files, options):
                return existing
    with _empty_folder(folder):
        return _write_plan(files, folder, options, progress or (lambda *_: None))


@contextmanager
def _empty_folder(folder: Path) -> Iterator[None]:
    """Empty the folder for a plan; after a failure nothing is left that looks complete."""
    try:
        if folder.exists():
            _clear(folder)
        (folder / "pieces").mkdir(parents=True)
        yield
    except (*FAULTS, DataError) as error:
        _clear(folder)
        if isinstance(error, DataError):
            raise
        raise unwritable(folder, error if isinstance(error, OSError) else OSError(str(error))) from error
    except BaseException:
        _clear(folder)
        raise


def _clear(folder: Path) -> None:
    """Remove the files of a plan, its marker first; other files are kept."""
    with suppress(FileNotFoundError):
        (folder / MARKER).unlink()
    for path in [folder / "pieces", *folder.glob("part-*")]:
        shutil.rmtree(path, ignore_errors=True)


def _write_plan(files: list[File], folder: Path, options: PartitionOptions, progress: Progress) -> PartitionPlan:
    written = _shuffled(files, folder / "pieces", options, progress)
    codes, order, notes = _codes(written, options)
    if len(codes.workers) * len(codes.classes) >= 2**31:
        raise DataError(
            f"{len(codes.workers):,} workers × {len(codes.classes):,} classes are too many for one model; is the label "
            "column the right one?"
        )
    for names, name in ((codes.workers, "workers"), (codes.classes, "classes")):
        pl.DataFrame({"value": names}).write_parquet(folder / f"{name}.parquet")
    facts, labels, weight = _parts(written, codes, folder, options, progress)
    ledger = _ledger(written, facts, options, notes)
    if not ledger.rows_used:
        why = "; ".join(f"{n:,} {reason}" for reason, n in ledger.dropped.items())
        raise DataError(f"none of the {ledger.rows_in:,} rows can be used ({why}); are these the right columns?")
    unusable = np.zeros(len(codes.workers), dtype=np.int64)
    for chunk, worker_codes in zip(written, codes.worker_of, strict=True):
        np.add.at(unusable, worker_codes, chunk.unusable)
    np.savez(folder / PER_WORKER, labels=labels, weight=weight, unusable=unusable)
    if options.grouped:
        check_grouped(folder, len(facts))
    shutil.rmtree(folder / "pieces")
    new = PartitionPlan(folder, tuple(files), options.to_dict(), ledger, tuple(facts), order)
    new.save()
    return new


def _shuffled(files: list[File], folder: Path, options: PartitionOptions, progress: Progress) -> list[Written]:
    """Read every file once and write its rows by bucket."""

    def read() -> Iterator[RowChunk]:
        done = 0
        for number, file in enumerate(files):
            chunks = read_chunks(file, options)
            for chunk in cut_by_task(chunks) if options.grouped else chunks:
                progress(number, len(files), f"{file.where}, {done:,} rows read")
                yield chunk
                done += len(chunk.columns["task"])

    jobs = (partial(write_chunk, chunk, i, folder, options.missing, options.grouped) for i, chunk in enumerate(read()))
    return list(_in_threads(jobs))


def _in_threads(jobs: Iterable[Callable[[], T]]) -> Iterator[T]:
    """Yield the results of the jobs in order; at most as many run as there are threads."""
    threads = n_threads()
    with ThreadPoolExecutor(threads, thread_name_prefix="crowdwise-plan") as pool:
        running: deque[Future[T]] = deque()
        for job in jobs:
            if len(running) >= threads:
                yield running.popleft().result()
            running.append(pool.submit(job))
        while running:
            yield running.popleft().result()


def _codes(written: list[Written], options: PartitionOptions) -> tuple[Codes, tuple[int, ...] | None, tuple[str, ...]]:
    """Return the common vocabularies, the order of the classes, and notes."""
    workers, worker_of = merged([chunk.workers for chunk in written], "worker")
    labels, label_of = merged([chunk.labels for chunk in written], "label")
    comma = any(chunk.decimal_comma for chunk in written)
    coder = ClassCoder(
        {"label": labels},
        respell=partial(respell, decimal_comma=comma),
        order=options.order,
        asked=options.kind is not None,
    )
    coder.admit(np.ones(len(labels), dtype=bool), {})
    answers = coder.finish()
    classes, code, order = answers.classes, answers.label, answers.order
    if options.classes:
        wider = union(classes, spelt_like(sorted_vocabulary(list(options.classes), "label"), classes))
        if len(wider) > len(classes):
            classes, code, order = wider, recode(code, classes, wider), None
    label_of = [code[table] if len(code) else table for table in label_of]
    times = np.zeros(len(classes), dtype=np.int64)
    for chunk, label_codes in zip(written, label_of, strict=True):
        np.add.at(times, label_codes, chunk.times)
    common = tuple(name for name in written[0].numbers if all(name in chunk.numbers for chunk in written))
    some = {name for chunk in written for name in chunk.numbers} - set(common)
    notes = tuple(f"{name} is left aside: not all files have it, or can be read" for name in sorted(some))
    notes += coder.messages + missing_value_notes(classes, times)
    text = any(chunk.text for chunk in written)
    codes = Codes(workers, classes.rename("label"), worker_of, label_of, common, text)
    notes += lost_note("worker", damaged(workers)) + lost_note("label", damaged(classes))
    return codes, None if order is None else tuple(order.tolist()), notes


def _parts(
    written: list[Written], codes: Codes, folder: Path, options: PartitionOptions, progress: Progress
) -> tuple[list[PartFacts], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Write all parts; return their facts, and labels and weight of each worker, added up in the order of the parts."""
    if options.grouped:
        chosen = [[(i, chunk, 0, FINEST)] for i, chunk in enumerate(written)]
    else:
        n = n_parts(sum(chunk.n_rows for chunk in written), len(codes.workers) * len(codes.classes) ** 2)
        step = FINEST // n
        chosen = [[(i, p, at * step, (at + 1) * step) for i, p in enumerate(written)] for at in range(n)]
    jobs = (partial(write_part, i, folder, some, codes, options.duplicates) for i, some in enumerate(chosen))
    labels, weight = np.zeros(len(codes.workers), dtype=np.int64), np.zeros(len(codes.workers))
    facts: list[PartFacts] = []
    for part_facts, part_labels, part_weight in _in_threads(jobs):
        facts.append(part_facts)
        labels += part_labels
        weight += part_weight
        progress(len(facts), len(chosen), "parts")
    return facts, labels, weight


def _ledger(
    written: list[Written], facts: list[PartFacts], options: PartitionOptions, notes: tuple[str, ...]
) -> Ledger:
    dropped: Counter[str] = Counter()
    for reasons in [*(chunk.dropped for chunk in written), *(part.dropped for part in facts)]:
        dropped.update(reasons)
    occurring = set().union(*(chunk.missing_values for chunk in written))
    absent = [name for name in (name.strip() for name in options.missing) if name not in occurring]
    missing_notes = tuple(f"{name!r}, which counts as missing, does not occur" for name in absent)
    missing_notes += lost_note("task", pl.Series([name for part in facts for name in part.lost]))
    file_notes = tuple(note for chunk in written for note in chunk.notes)
    all_notes = tuple(dict.fromkeys(file_notes + missing_notes + notes))
    return Ledger(sum(p.rows_in for p in written), sum(part.rows for part in facts), dropped, all_notes)
