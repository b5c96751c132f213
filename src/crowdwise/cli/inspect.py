"""crowdwise inspect: describe a file of votes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from ..core.options import ALL, ReadOptions
from .options import Json, Votes, option
from .terminal import clean, info, print_blocks, print_json, print_table
from .vote_options import read_votes, reads_votes

if TYPE_CHECKING:
    from ..io.reading import Reading

# Contradictory votes and doubts about the votes are reported, so they are not an error.
KEEP_REPEATS = ReadOptions(duplicates="keep")
ANY_VOTES = ("all",)


@reads_votes
def inspect(
    votes: Votes,
    read_options: ReadOptions = KEEP_REPEATS,
    json: Json = False,
    classes: Annotated[int, option("Output", "--classes", "Number of classes to list.", min=1)] = 20,
) -> None:
    """Describe a file of votes: format, columns, classes, overlap, dropped rows, and warnings.

    Of an export with several questions, all are listed; --question NAME describes one.
    """
    from ..io.formats.records import SeveralQuestions
    from ..io.questions import questions_of

    read_options = replace(read_options, allow=ANY_VOTES)
    try:
        if read_options.question == ALL:
            _inspect_questions(votes, read_options, questions_of(votes, read_options), json)
            return
        reading = read_votes(votes, read_options)
    except SeveralQuestions as several:
        if votes == "-":
            raise
        _inspect_questions(votes, read_options, several.questions, json)
        return
    annotations = reading.annotations
    facts = _origin(reading) | annotations.describe()
    facts["repeats"] = _repeats(annotations)
    rows, tables, advice = annotations.kind.hooks.inspect(facts, classes)
    facts["advice"] = [*(doubt.sentence() for doubt in reading.doubts), *_advice(facts), *advice]
    if json:
        print_json(facts)
        return
    print_table("", ["", ""], [*_origin_rows(facts), *rows, *_more_rows(facts)], stderr=False)
    print_blocks(tables)
    for line in facts["ledger"]["notes"] + facts["advice"]:
        info("·", line)


def _inspect_questions(votes: str, read_options: ReadOptions, questions: tuple[str, ...], json: bool) -> None:
    """List the questions of an export, with kind, counts and agreement."""
    readings = {name: read_votes(votes, replace(read_options, question=name)) for name in questions}
    facts = {name: _question_facts(reading) for name, reading in readings.items()}
    first = next(iter(readings.values()))
    if json:
        print_json({"format": first.format, "why": first.why, "questions": facts})
        return
    info(f"{first.format} ({clean(first.why)}): {len(questions)} questions")
    rows = [
        [
            name,
            fact["kind"],
            f"{fact['answers']:,}",
            f"{fact['tasks_answered']:,} of {fact['tasks']:,}",
            f"{fact['workers']:,}",
            f"{fact['gold']:,}",
            "–" if fact["alpha"] is None else f"{fact['alpha']:.3f}",
        ]
        for name, fact in facts.items()
    ]
    header = ["question", "kind", "answers", "tasks answered", "workers", "gold", "Krippendorff's alpha"]
    print_table("Questions", header, rows, stderr=False)
    for name, reading in readings.items():
        dropped = "; ".join(f"{n:,} {reason}" for reason, n in reading.annotations.ledger.dropped.items())
        notes = [*([f"not used: {dropped}"] if dropped else []), *reading.annotations.ledger.notes]
        for line in notes:
            info("·", clean(f"{name}: {line}"))
    info(f"describe one: --question {clean(questions[0])}; aggregate all: crowdwise aggregate --question all -o FOLDER")


def _question_facts(reading: Reading) -> dict[str, Any]:
    votes = reading.annotations
    return {
        "kind": votes.kind.name,
        "answers": len(votes),
        "tasks": votes.n_tasks,
        "tasks_answered": int((votes.labels_per_task > 0).sum()),
        "workers": int((votes.labels_per_worker > 0).sum()),
        "gold": 0 if reading.gold is None else len(reading.gold),
        "alpha": votes.kind.hooks.alpha(votes),
        "ledger": votes.ledger.to_dict(),
    }


def _origin(reading: Reading) -> dict[str, Any]:
    """Return how the file was read, and what it contains besides votes."""
    has_source = reading.workers is not None and "source" in reading.workers.columns
    models = int((reading.workers["source"] == "model").sum()) if reading.workers is not None and has_source else 0
    return {
        "format": reading.format,
        "why": reading.why,
        "question": reading.question,
        "columns": dict(reading.columns),
        "gold_labels": 0 if reading.gold is None else len(reading.gold),
        "models_among_workers": models,
    }


def _repeats(annotations: Any) -> dict[str, int]:
    import numpy as np

    from ..core.intake.repeats import occasion_codes

    same = (np.diff(annotations.task) == 0) & (np.diff(annotations.worker) == 0)
    occasion, _ = occasion_codes(annotations.about_rows)
    if occasion is not None:
        same &= np.diff(occasion) == 0
    keys = annotations.answers.keys()
    exact = same & np.all([np.diff(key) == 0 for key in keys], axis=0)
    differ = same & ~exact
    pairs = annotations.task[1:][differ].astype(np.int64) * annotations.n_workers + annotations.worker[1:][differ]
    return {"exact": int(exact.sum()), "contradictory_pairs": len(np.unique(pairs))}


def _origin_rows(facts: dict[str, Any]) -> list[list[str]]:
    ledger, task, worker = facts["ledger"], facts["labels_per_task"], facts["labels_per_worker"]
    dropped = "; ".join(f"{n:,} {reason}" for reason, n in ledger["dropped"].items())
    models, columns = facts["models_among_workers"], facts["columns"]
    return [
        ["format", f"{facts['format']} ({facts['why']})"],
        *([["question", facts["question"]]] if facts["question"] else []),
        *([["columns", ", ".join(f"{role} = {column}" for role, column in columns.items())]] if columns else []),
        ["rows", f"{ledger['rows_in']:,} in, {ledger['rows_used']:,} used" + (f" ({dropped})" if dropped else "")],
        ["tasks", f"{facts['tasks']:,}"],
        ["workers", f"{facts['workers']:,}" + (f" ({models:,} models)" if models else "")],
        ["labels per task", f"{task['min']} to {task['max']}, median {task['median']:g}"],
        ["labels per worker", f"{worker['min']} to {worker['max']:,}, median {worker['median']:g}"],
    ]


def _more_rows(facts: dict[str, Any]) -> list[list[str]]:
    repeats = facts["repeats"]
    numbers = [name for name in ("time", "weight", "duration", "confidence") if facts[f"has_{name}"]]
    return [
        ["repeated rows", f"{repeats['exact']:,} exact, {repeats['contradictory_pairs']:,} contradictory pairs"],
        ["separate groups of tasks and workers", f"{facts['components']:,}"],
        ["gold labels in the file", f"{facts['gold_labels']:,}"],
        ["rows also carry", ", ".join(numbers) or "nothing else"],
    ]


def _advice(facts: dict[str, Any]) -> list[str]:
    advice = []
    if facts["tasks_with_several_labels"] == 0:
        advice.append("every task has at most one label, so errors cannot be distinguished from correct labels")
    if facts["repeats"]["contradictory_pairs"]:
        advice.append("some workers contradict themselves: choose --duplicates first, last or keep")
    if facts["components"] > 1:
        advice.append("separate groups of data share no worker: skills are hard to compare across groups")
    if facts["workers_with_under_5_labels"]:
        advice.append(
            f"{facts['workers_with_under_5_labels']:,} workers have fewer than 5 labels: their skill is very uncertain"
        )
    return advice
