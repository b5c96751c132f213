"""Inputs of estimate, accept and fairness: votes or a run, gold and its sampling design, and files of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ...core.kind import KindHooks
from ...core.options import ReadOptions
from ..loading import add_classes, check_method_name, in_classes, is_run, resolve_method
from ..options import option
from ..progress import iteration_progress
from ..terminal import error_context, info, print_ledger
from ..vote_options import read_votes

if TYPE_CHECKING:
    from ...evaluation.guarantee.estimand import Figure

DRAW, CERTIFICATE, ESTIMATES = "draw.json", "certificate.json", "estimates.json"

FitShare = Annotated[
    float | None,
    option(
        "Gold and truth",
        "--fit-share",
        "Share of the gold for fitting a method that needs gold; the rest measures its labels.",
        metavar="X",
    ),
]


@dataclass(frozen=True)
class GuaranteeInputs:
    """A result, its votes where available, gold, and where both come from."""

    source: str
    gold_file: Path | None
    result: Any
    votes: Any
    gold: Any
    seed: int


@dataclass(frozen=True)
class OutputOptions:
    """Folder to write to, whether existing files may be overwritten, and whether JSON is printed."""

    folder: Path | None
    force: bool
    json: bool


def load_inputs(
    votes: str,
    method: str | None,
    param: list[str] | None,
    gold: Path | None,
    columns: str | None,
    read_options: ReadOptions,
    seed: int,
    systems: str | None = None,
) -> GuaranteeInputs:
    """Load a run folder, or fit a file without gold; the verdicts of a single judge are taken as they are."""
    from ...io.about import attach_tables
    from ...io.run_folder import Run

    gold_labels = _gold(gold, columns, read_options)
    if is_run(votes, read_options):
        run = Run.load(votes)
        annotations = run.votes
        if annotations is not None and (read_options.about_tasks or read_options.about_workers):
            annotations = attach_tables(annotations, tasks=read_options.about_tasks, workers=read_options.about_workers)
        if annotations is None or not annotations.kind.hooks.supports(KindHooks.as_classes):
            return GuaranteeInputs(votes, gold, run.result, annotations, gold_labels, seed)
        annotations, gold_labels = in_classes(annotations, gold_labels, systems)
        result = _fitted(votes, annotations, method, param, seed)
        return GuaranteeInputs(votes, gold, result, annotations, gold_labels, seed)
    check_method_name(method)
    reading = read_votes(votes, read_options)
    annotations = reading.annotations
    if gold_labels is None:
        gold_labels, note = reading.usable_gold()
        if note is not None:
            info(f"note: {note}")
    print_ledger(annotations.ledger)
    with error_context(votes, gold):
        annotations, gold_labels = in_classes(annotations, gold_labels, systems)
    if gold_labels is not None and "label" in gold_labels.columns:
        annotations = add_classes(annotations, gold_labels)
    result = _fitted(votes, annotations, method, param, seed)
    return GuaranteeInputs(votes, gold, result, annotations, gold_labels, seed)


def _fitted(source: str, annotations: Any, method: str | None, param: list[str] | None, seed: int) -> Any:
    """Fit votes without gold; the answers of a single judge are taken as they are."""
    if method is None and annotations.n_workers == 1 and annotations.kind.hooks.supports(KindHooks.one_worker):
        return annotations.kind.hooks.one_worker().fit(annotations)
    aggregator = resolve_method(method, annotations, seed, param)
    with iteration_progress(aggregator.name) as callback, error_context(source):
        return aggregator.fit(annotations, callback=callback)


def _gold(path: Path | None, columns: str | None, read_options: ReadOptions) -> Any:
    from ...core.intake.columns import TRUTH_OPTION, parse_columns
    from ...evaluation.guarantee.gold import read_gold

    if path is None:
        return None
    return read_gold(path, parse_columns(columns, TRUTH_OPTION), tuple(read_options.missing))


def recorded_draw(inputs: GuaranteeInputs) -> Any:
    """Return the draw recorded in a run folder, if any."""
    from ...evaluation.guarantee.sampling import Draw

    path = Path(inputs.source) / DRAW
    return Draw.load(path) if path.is_file() else None


def gold_sampling(inputs: GuaranteeInputs, default: Any) -> Any:
    """Return how the gold was drawn, for `accept` and `estimate`.

    That is a recorded draw beside the file of gold or in the run, else the record of a run that was fitted with this
    gold, else `default`.
    """
    from ...core.errors import ParameterError
    from ...evaluation.fitting import ASSUMED
    from ...evaluation.guarantee.sampling import draw_beside
    from ..sampling import recorded_sampling

    if inputs.gold is None:
        return default
    if inputs.gold_file is not None:
        places = [Path(inputs.source) / DRAW]
        draw_file = draw_beside(inputs.gold_file, inputs.gold, inputs.result.tasks, places)
        if draw_file is not None:
            return draw_file[0]
    design = recorded_sampling(inputs.result, inputs.gold)
    if design is None:
        return recorded_draw(inputs) or default
    if design == ASSUMED:
        info("note: when this run was made, the gold tasks were only assumed to be a random sample")
        return "random"
    if design in ("random", "weights"):
        return design
    raise ParameterError(
        f"the gold of this run is recorded as {design}, not drawn at random; draw gold with --draw, or make the run "
        "again with the right --sampling"
    )


def save_figure(folder: Path, figure: Figure, force: bool) -> None:
    """Add an estimate to estimates.json; one of the same quantity is replaced only with --force."""
    import json

    from ...core.errors import DataError, unwritable

    path = folder / ESTIMATES
    try:
        figures = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
        if not isinstance(figures, list):
            raise ValueError("not a list")
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read ({error})") from None
    if any(saved.get("of") == figure.metric for saved in figures) and not force:
        raise DataError(f"{path} holds {figure.metric} already; use --force to replace it")
    figures = [saved for saved in figures if saved.get("of") != figure.metric] + [figure.to_dict()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise unwritable(path, error) from error
