"""crowdwise compare: several methods on one file, with or without the truth, or on several sets with known truth."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..core.errors import ParameterError
from ..core.options import ReadOptions
from .guarantee.fairness import read_groups
from .loading import load
from .options import Force, Gold, GoldColumns, Json, Seed, Truth, TruthColumns, load_method, load_methods, option
from .progress import count_progress
from .sets import SeveralSets, StudyTest, compare_several, is_set, write_texts
from .terminal import error_context, info, print_blocks, print_json, print_ledger
from .vote_options import DEFAULT_READ_OPTIONS, read_known_labels, reads_votes

if TYPE_CHECKING:
    from ..kinds.classes.annotations import Annotations

# Below this number of annotations × methods, starting processes takes longer than it saves.
_SMALL = 200_000
# Up to this number of methods, agreement is printed for every pair.
_FEW = 8


@reads_votes
def compare(
    votes: Annotated[
        list[str],
        typer.Argument(
            help="File of votes (as for aggregate); or several sets, each a folder with labels.csv and truth.csv.",
            metavar="VOTES...",
        ),
    ],
    method: Annotated[
        list[str] | None,
        option(
            "Method",
            "-m, --method",
            "Method to run, or module:Class for one of your own; repeat for more (all by default).",
            callback=load_methods,
            metavar="NAME",
        ),
    ] = None,
    truth: Truth = None,
    truth_columns: TruthColumns = None,
    gold: Gold = None,
    gold_columns: GoldColumns = None,
    cluster: Annotated[
        str | None,
        option(
            "Input",
            "--cluster",
            "Column about the tasks, or table task,cluster, of tasks that belong together.",
            metavar="COL|FILE",
        ),
    ] = None,
    read_options: ReadOptions = DEFAULT_READ_OPTIONS,
    seed: Seed = 0,
    folds: Annotated[
        int, option("Method", "--folds", "Number of folds for the held-out score; 0 for no score.", min=0, metavar="N")
    ] = 5,
    jobs: Annotated[
        int | None, option("Scale", "--jobs", "Number of processes; all cores by default.", min=1, metavar="N")
    ] = None,
    disputed: Annotated[
        int, option("Output", "--disputed", "Number of disputed tasks to show.", min=0, metavar="N")
    ] = 5,
    seeds: Annotated[
        int | None,
        option("Several sets", "--seeds", "Run every method with this many seeds.", min=1, metavar="N"),
    ] = None,
    against: Annotated[
        str | None,
        option(
            "Several sets",
            "--against",
            "Compare the others with this method only.",
            metavar="NAME",
            callback=load_method,
        ),
    ] = None,
    test: Annotated[
        StudyTest, option("Several sets", "--test", "Test behind the bars of the picture of ranks.")
    ] = StudyTest.wilcoxon,
    latex: Annotated[
        Path | None, option("Output", "--latex", "File for the table of the methods in LaTeX.", metavar="FILE")
    ] = None,
    markdown: Annotated[
        Path | None, option("Output", "--markdown", "File for the table of the methods in Markdown.", metavar="FILE")
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "Output",
            "-o, --output",
            "Folder for the tables; over several sets also for finished runs, from which the command continues.",
        ),
    ] = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Run several methods on one file, or on several sets with known truth, and compare them.

    On one file the held-out score is the mean log-likelihood of held-out annotations; it needs no truth. Over several
    sets, methods are compared by paired differences and by mean ranks.
    """
    from ..core import method_registry as registry
    from ..evaluation.compare import compare as compare_methods
    from ..io.atomic import refuse_to_overwrite
    from ..kinds.classes.scoring.compare import FILES

    for name in method or ():
        registry.card(name)
    if len(votes) > 1 or seeds is not None or is_set(votes[0]):
        if gold is not None or cluster is not None:
            raise ParameterError("--gold and --cluster are for one file of votes, not for several sets")
        study = SeveralSets(votes, method, truth, truth_columns, read_options, seeds or 1, against, test.value)
        compare_several(study, output, (latex, markdown), force, json)
        return
    file = votes[0]
    if output is not None:
        refuse_to_overwrite(output, FILES, force)
    annotations, gold_labels = load(file, read_options, gold, gold_columns, method[0] if method else None)
    names = method or registry.names(annotations.kind.name)
    print_ledger(annotations.ledger)
    answers = read_known_labels(read_options, truth, truth_columns, annotations.kind)
    with error_context(file, gold, truth), count_progress("compare") as on_progress:
        comparison = compare_methods(
            annotations,
            method or None,  # None: all except those that would cost too much
            truth=answers,
            gold=gold_labels,
            seed=seed,
            folds=folds,
            jobs=jobs or _jobs(annotations, names),
            watch=on_progress,
            **({} if cluster is None else {"cluster": read_groups(cluster, None, "task")}),
        )
    if output is not None:
        comparison.save(output, force=force)
    write_texts(comparison.methods, (latex, markdown), force)
    if json:
        print_json(comparison.to_dict(disputed))
        return
    print_blocks(comparison.tables(disputed, annotations))
    info(comparison.legend())
    if comparison.n_gold_left_out:
        info(f"{comparison.n_gold_left_out:,} tasks in the truth were gold in the fits and are not scored")
    for note in comparison.notes:
        info("note:", note)
    if output is not None:
        info(f"written to {output}")


def _jobs(annotations: Annotations, names: list[str]) -> int:
    if len(annotations) * len(names) < _SMALL:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
