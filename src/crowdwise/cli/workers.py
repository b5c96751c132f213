"""crowdwise workers: quality, agreement, flags with evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..aggregate.registry import DEFAULT
from ..workers.short import bar
from .loading import is_run, load
from .options import Force, Gold, GoldColumns, Json, Level, Order, Params, Seed, parse_grades, parse_params
from .terminal import naming, print_json, print_table, progress, say, tell_ledger
from .vote_options import USUAL, Asked, reads_votes

if TYPE_CHECKING:
    from ..core.result import Result
    from ..kinds.classes import Annotations
    from ..workers.study import Study

FILES = ("quality.csv", "classes.csv", "confusions.csv", "agreement.csv", "flags.csv", "pairs.csv", "curve.csv",
         "contested.csv", "coachable.csv")  # fmt: skip
# Rows of each table shown on the terminal; of longer lists of workers so many of the best and of the worst.
SHOWN = 20
ENDS = 10


@reads_votes
def workers(
    votes: Annotated[
        str,
        typer.Argument(
            help="Votes (as for aggregate), or a folder that aggregate wrote.", metavar="VOTES|DIR", show_default=False
        ),
    ],
    method: Annotated[str, typer.Option("-m", "--method", help="See: crowdwise methods")] = DEFAULT,
    param: Params = None,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    asked: Asked = USUAL,
    level: Level = None,
    order: Order = None,
    idle: Annotated[
        float, typer.Option("--idle", help="A longer pause than so many seconds is a break.", metavar="S", min=0)
    ] = 600.0,
    seed: Seed = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder for the tables as CSV.", show_default=False)
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Who is good, who guesses, who copies whom, and is the agreement any good?

    Given a folder, the method's own result is used and -m, -p and --columns are not needed.
    """
    from ..io.beside import refuse_to_overwrite
    from ..workers.study import study

    if output is not None:
        refuse_to_overwrite(output, FILES, force)
    grades = parse_grades(level, order)
    annotations, result, known = obtain(votes, method, param, (gold, gold_columns), asked, seed, grades)
    with naming(votes, gold):
        look = study(annotations, result, gold=known, **grades, idle=idle)
    if output is not None:
        write(look, annotations, result, output)
    if json:
        print_json(summary(look, result))
    else:
        tell(look, annotations, result)
        if output is not None:
            say(f"written to {output}")


def obtain(
    votes: str,
    method: str,
    param: list[str] | None,
    gold: tuple[Path | None, str | None],
    asked: Asked,
    seed: int,
    grades: dict[str, Any],
) -> tuple[Annotations, Result, Any]:
    """Votes, their result and gold: from a run folder, or by fitting the method to a file."""
    from ..aggregate import registry
    from ..core.result import Result
    from ..io.run_folder import load_votes
    from ..workers.agreement import check_grades

    if is_run(votes, asked):
        result = Result.load(votes)
        annotations = load_votes(Path(votes), result)
        return annotations, result, asked.truth(*gold)
    chosen = registry.method(method, **{"seed": seed, **parse_params(method, param)})
    annotations, known = load(votes, asked, *gold)
    tell_ledger(annotations.ledger)
    with progress(method) as callback, naming(votes, gold[0]):
        check_grades(annotations, **grades)
        return annotations, chosen.fit(annotations, gold=known, callback=callback), known


def write(look: Study, annotations: Annotations, result: Result, folder: Path) -> None:
    """All tables as CSV."""
    from ..core.errors import unwritable
    from ..io.csv.cells import to_csv
    from ..scoring.tasks import contested
    from ..workers.agreement import agreement_table
    from ..workers.flags import flag_table
    from ..workers.pairs import pair_table

    tables = (look.quality, look.classes, look.confusion, agreement_table(look.agreement), flag_table(look.flags),
              pair_table(annotations), look.curve, contested(annotations, result),
              flag_table(look.coachable))  # fmt: skip
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in zip(FILES, tables, strict=True):
            to_csv(table, folder / name)
    except OSError as error:
        raise unwritable(folder, error) from error


def summary(look: Study, result: Result) -> dict[str, Any]:
    """What --json prints."""
    return {
        "method": result.method,
        "agreement": [c.to_dict() for c in look.agreement],
        "flags": [flag.to_dict() for flag in look.flags],
        "coachable": [flag.to_dict() for flag in look.coachable],
        "workers": look.quality.to_dicts(),
        "classes": look.classes.to_dicts(),
    }


def tell(look: Study, annotations: Annotations, result: Result) -> None:
    """The tables for people."""
    from ..workers.flags import false_alarms_in_words

    say(f"{len(annotations):,} annotations by {annotations.n_workers:,} workers; {result.method}")
    rows = [[c.name, _number(c.value), _range(c.low, c.high), c.reason or c.note or ""] for c in look.agreement]
    print_table("Agreement", ["", "value", "95 % interval", ""], rows, stderr=False)
    _tell_workers(look)
    flags = [flag for flag in look.flags if flag.name != "unknown"]
    rows = [[str(f.worker), f.name, _strength(f.probability, f.p_value), f.evidence] for f in flags[:SHOWN]]
    if flags:
        print_table(f"Flags{_of(len(flags))}", ["worker", "flag", "strength", "evidence"], rows, stderr=False)
        rates = [f"{name} {false_alarms_in_words(name)}" for name in sorted({f.name for f in flags})]
        say(f"false alarms, as measured in simulated crowds: {'; '.join(rates)}")
    if look.coachable:
        of = {row["worker"]: row for row in look.quality.to_dicts()}
        rows = [
            [str(f.worker), f"{of[f.worker]['n_labels']:,}", _number(of[f.worker]["skill"]), f.evidence]
            for f in look.coachable[:SHOWN]
        ]
        title = f"Coachable: a word may help{_of(len(look.coachable))}"
        print_table(title, ["worker", "labels", "skill", "what is seen"], rows, stderr=False)
    unknown = len(look.flags) - len(flags)
    say(
        f"{len({f.worker for f in flags})} workers are flagged"
        + f", {len(look.coachable)} coachable" * bool(look.coachable)
        + (f"; of {unknown} too little is known" * (unknown > 0))
    )


def _tell_workers(look: Study) -> None:
    """All workers, or the best and the worst of many."""
    from ..workers.ranking import best_and_worst

    best, worst = best_and_worst(look.quality, ENDS)
    n = int((look.quality["n_labels"] > 0).sum())
    header = ["worker", "labels", "skill", "95 % interval", "", "confirmed", "bits", "spammer?", "flags"]
    parts = {"Workers, best first": best}
    if len(worst):
        of = f"({ENDS} of {n:,}, by the {{}} end of the interval)"
        parts = {f"Workers, the best {of.format('lower')}": best, f"Workers, the worst {of.format('upper')}": worst}
    for title, table in parts.items():
        print_table(title, header, [_row(row, look) for row in table.to_dicts()], stderr=False)


def _row(row: dict[str, Any], look: Study) -> list[str]:
    names = ", ".join(flag.name for flag in look.flags if flag.worker == row["worker"])
    skill, low, high = row["skill"], row["skill_low"], row["skill_high"]
    return [
        str(row["worker"]),
        f"{row['n_labels']:,}",
        _number(skill),
        _range(low, high),
        bar(skill, low, high, 16),
        _number(row["consensus_agreement"]),
        _number(row["bits"]),
        _number(row["spammer_probability"]),
        names,
    ]


def _of(n: int) -> str:
    return f" ({SHOWN} of {n:,})" if n > SHOWN else ""


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.3f} – {high:.3f}"


def _strength(probability: float | None, p_value: float | None) -> str:
    if probability is not None:
        return f"probability {probability:.3f}"
    return "" if p_value is None else f"p = {p_value:.2g}"
