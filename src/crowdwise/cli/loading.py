"""What the commands read: votes with the gold they bring along, and what earlier projects say of the workers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.kind import KindHooks
from .terminal import say
from .vote_options import Asked

if TYPE_CHECKING:
    import polars as pl


def is_run(votes: str, asked: Asked) -> bool:
    """Whether this is a folder that aggregate or train wrote; a folder that some tool exported is votes."""
    from ..io.formats.detect import detect

    folder = Path(votes)
    if not folder.is_dir():
        return False
    if (folder / "result.json").is_file():
        return True
    return asked.format is None and detect(folder, folder.name, votes)[0] is None


def load(
    votes: str, asked: Asked, gold: Path | None, columns: str | None = None, method: str | None = None
) -> tuple[Any, Any]:
    """Votes and gold (the file's own when none is given); classes that only gold knows are added to the votes'.

    A method that was asked for tells what the answers are, where nothing else does.
    """
    from ..core import method_registry as registry
    from ..out_of_core.files import is_many

    if is_many(votes):
        return load_many(votes, asked, asked.truth(gold, columns))
    reading = asked.read(votes, None if method is None else registry.card(method).takes)
    annotations = reading.annotations
    if gold is None:
        known, note = reading.usable_gold()
        if note is not None:
            say(f"note: {note}")
    else:
        known = asked.truth(gold, columns, annotations.kind)
    if known is None or not hasattr(annotations, "with_classes"):
        return annotations, known
    before = annotations.n_classes
    annotations = with_classes_of(annotations, known)
    if annotations.n_classes > before:
        say(f"note: {annotations.n_classes - before} classes occur in the gold labels only")
    return annotations, known


def load_many(votes: str, asked: Asked, known: Any) -> tuple[Any, Any]:
    """Votes of several files or objects, read into memory one after the other."""
    from tempfile import TemporaryDirectory

    from ..out_of_core.gather import in_memory
    from ..out_of_core.planning import plan
    from .scale.parts import Far, wish_of

    with TemporaryDirectory(prefix="crowdwise-") as folder:
        return in_memory(plan(votes, folder, wish_of(asked, Far(), known))), known


def with_classes_of(annotations: Any, known: pl.DataFrame) -> Any:
    """The votes with the classes that only the known labels have; 3.0 there and 3 here are one class."""
    from ..core.vocabulary import spelt_like

    if not hasattr(annotations, "with_classes"):
        return annotations
    return annotations.with_classes(spelt_like(known["label"], annotations.classes))


def chosen_method(method: str | None, votes: Any, seed: int, param: list[str] | None, gold: Any = None) -> Any:
    """The method that was asked for, or the default for these votes and gold.

    Refused where it takes another kind of answers.
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
            f"{name} is for {kinds.get(takes).people}, these are {votes.kind.people}; take one of {some}, ..., or say "
            "--kind"
        )
    return registry.method(name, **{"seed": seed, **parse_params(name, param)})


def checked_method(method: str | None) -> None:
    """Refuse a name that nobody knows before a large file is read."""
    from ..core import method_registry as registry

    if method is not None:
        registry.card(method)


def checked_grades(votes: Any, grades: dict[str, Any]) -> None:
    """Refuse --level and --order where they do not suit the answers, before a long fit."""
    from ..core.errors import ParameterError

    if not grades:
        return
    if not votes.kind.hooks.supports(KindHooks.check_grades):
        raise ParameterError(f"--level and --order grade the agreement of classes; these are {votes.kind.people}")
    votes.kind.hooks.check_grades(votes, **grades)


def load_prior(prior: Path) -> Any:
    """The Result in a folder, or a table whose counts are numbers and whose names are text."""
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
