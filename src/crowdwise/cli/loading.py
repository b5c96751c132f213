"""Input of the commands: votes with their gold, methods, and earlier results of the workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.doubt import OF_AGGREGATION, refuse
from ..core.kind import KindHooks
from ..core.options import ALL, ReadOptions
from .terminal import clean, info
from .vote_options import read_known_labels, read_votes

if TYPE_CHECKING:
    import polars as pl


def is_run(votes: str, read_options: ReadOptions) -> bool:
    """Return whether this is a folder written by aggregate or train; an exported folder of a tool is votes."""
    from ..io.formats.detect import detect

    folder = Path(votes)
    if not folder.is_dir():
        return False
    if (folder / "result.json").is_file():
        return True
    return read_options.format is None and detect(folder, folder.name, votes)[0] is None


def load(
    votes: str, read_options: ReadOptions, gold: Path | None, columns: str | None = None, method: str | None = None
) -> tuple[Any, Any]:
    """Load votes and gold (by default that in the file of votes); classes that occur only in gold are added.

    The kind of answers that a requested method takes is assumed where nothing else determines it.
    """
    from ..core import method_registry as registry
    from ..out_of_core.files import is_many

    if is_many(votes):
        return load_many(votes, read_options, read_known_labels(read_options, gold, columns))
    reading = read_votes(votes, read_options, None if method is None else registry.card(method).takes)
    annotations = reading.annotations
    refuse([doubt for doubt in reading.doubts if doubt.name in OF_AGGREGATION], read_options.allow, votes)
    if gold is None:
        gold_labels, note = reading.usable_gold()
        if note is not None:
            info(f"note: {note}")
    else:
        gold_labels = read_known_labels(read_options, gold, columns, annotations.kind)
    if gold_labels is None or not hasattr(annotations, "with_classes"):
        return annotations, gold_labels
    before = annotations.n_classes
    annotations = add_classes(annotations, gold_labels)
    if annotations.n_classes > before:
        info(f"note: {annotations.n_classes - before} classes occur in the gold labels only")
    return annotations, gold_labels


def in_classes(annotations: Any, gold_labels: Any, systems: str | None) -> tuple[Any, Any]:
    """Return votes and gold as classes, for commands that need them: the winners of comparisons are systems or ties."""
    from ..core.errors import ParameterError

    hooks = annotations.kind.hooks
    if not hooks.supports(KindHooks.as_classes):
        if systems is not None:
            raise ParameterError(f"--systems names two compared systems; these are {hooks.display_name}")
        return annotations, gold_labels
    pair = None if systems is None else [name.strip() for name in systems.split(",")]
    annotations, gold_labels = hooks.as_classes(annotations, gold_labels, pair)
    names = ", ".join(f'"{name}"' for name in annotations.classes.to_list())
    info(f"note: comparisons of systems; the label of a task is its winner: {names}")
    return annotations if gold_labels is None else add_classes(annotations, gold_labels), gold_labels


def load_many(votes: str, read_options: ReadOptions, gold_labels: Any) -> tuple[Any, Any]:
    """Read votes of several files or objects into memory, one after the other."""
    from tempfile import TemporaryDirectory

    from ..out_of_core.gather import in_memory
    from ..out_of_core.planning import plan
    from .partitions import ScaleOptions, partition_options

    with TemporaryDirectory(prefix="crowdwise-") as folder:
        return in_memory(plan(votes, folder, partition_options(read_options, ScaleOptions(), gold_labels))), gold_labels


def add_classes(annotations: Any, labels: pl.DataFrame) -> Any:
    """Add the classes that occur only in these labels; 3.0 and 3 are one class."""
    from ..core.vocabulary import refuse_other_classes, spelt_like

    if not hasattr(annotations, "with_classes"):
        return annotations
    refuse_other_classes(labels["label"], annotations.classes, "the known labels")
    return annotations.with_classes(spelt_like(labels["label"], annotations.classes))


def resolve_method(method: str | None, votes: Any, seed: int, param: list[str] | None, gold: Any = None) -> Any:
    """Return the requested method, or the default for these votes and gold.

    Raises:
        ParameterError: The method takes another kind of answers.
    """
    from ..core import kind as kinds
    from ..core import method_registry as registry
    from ..core.errors import ParameterError
    from .options import parse_params

    name = registry.default_method(votes, gold) if method is None else method
    takes = registry.card(name).takes
    if takes != votes.kind.name:
        some = ", ".join(registry.names(votes.kind.name)[:4])
        raise ParameterError(
            f"{name} is for {kinds.get(takes).display_name}, but these are {votes.kind.display_name}; use one of "
            f"{some}, ..., or set --kind"
        )
    return registry.method(name, **{"seed": seed, **parse_params(name, param)})


def check_method_name(method: str | None) -> None:
    """Refuse an unknown method before a large file is read."""
    from ..core import method_registry as registry

    if method is not None:
        registry.card(method)


def check_grades_of(votes: Any, grades: dict[str, Any]) -> None:
    """Refuse --level and --order that do not suit the answers, before a long fit."""
    from ..core.errors import ParameterError

    if not grades:
        return
    if not votes.kind.hooks.supports(KindHooks.check_grades):
        raise ParameterError(f"--level and --order grade the agreement of classes; these are {votes.kind.display_name}")
    votes.kind.hooks.check_grades(votes, **grades)


def load_prior(prior: Path) -> Any:
    """Load a Result from a folder, or a table of counts with text names."""
    import polars as pl

    from ..core.errors import DataError
    from ..core.result import Result
    from ..io.tables import open_table
    from ..kinds.classes.methods.gold import COLUMNS

    if prior.is_dir():
        return Result.load(prior)
    table = open_table(prior)
    missing = [name for name in COLUMNS if name not in table.header]
    if missing:
        raise DataError(f"{table.where} has no column {missing[0]!r}; a prior has {', '.join(COLUMNS)}")
    frame = table.read(list(COLUMNS)).with_columns(pl.all().cast(pl.String))
    try:
        return frame.with_columns(pl.col("n").cast(pl.Float64))
    except pl.exceptions.PolarsError:
        raise DataError(f"{table.where}: the column 'n' must hold numbers") from None


# ----------------------------------------------------------------
# --question all: a command runs once for each question of an export, or for each run that it led to.

# How to call the output of one question: a function of the output and of the question's folder name.
NameOutput = Callable[[Path, str], Path]


def for_each_question(name_output: NameOutput, *refused: str) -> Callable[..., Callable[..., None]]:
    """Make a command accept --question all, and a folder with one run per question.

    Args:
        name_output: How the output of one question is called.
        *refused: Parameters that are about one question.
    """

    def decorator(command: Callable[..., None]) -> Callable[..., None]:
        from ..core.errors import DataError

        @wraps(command)
        def run(**options: Any) -> None:
            calls = list(_calls(options, name_output, refused))
            if not calls:
                command(**options)
            for question, call in calls:
                info(f"question {clean(question)}:")
                try:
                    command(**call)
                except DataError as error:
                    raise DataError(f"question {question!r}: {error}") from error

        return run

    return decorator


def _calls(
    options: Mapping[str, Any], name_output: NameOutput, refused: tuple[str, ...]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the options of each question; nothing if the command is about one."""
    from ..core.errors import ParameterError

    votes, read_options, output = options["votes"], options["read_options"], options["output"]
    if read_options.question != ALL and not os.path.isdir(votes):  # false for too long a name
        return
    from ..io.questions import folder_names, questions_of, runs_in

    runs = runs_in(votes)
    if not runs and read_options.question != ALL:
        return
    for name in refused:
        if options[name]:
            raise ParameterError(f"--{name.replace('_', '-')} is for one question; name it with --question NAME")
    if output is None:
        raise ParameterError("--question all writes one folder per question: name a folder for them with -o")
    if runs:
        for run in runs:
            yield run.name, {**options, "votes": str(run), "output": name_output(output, run.name)}
        return
    for question, folder in folder_names(questions_of(votes, read_options)).items():
        one = {"read_options": replace(read_options, question=question), "output": name_output(output, folder)}
        yield question, {**options, **one}


def below(output: Path, name: str) -> Path:
    """Return FOLDER/NAME."""
    return output / name


def beside(output: Path, name: str) -> Path:
    """Return report-NAME.html for report.html."""
    return output.with_name(f"{output.stem}-{name}{output.suffix}")
