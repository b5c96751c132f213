"""crowdwise project simulate: simulated workers at a real server, to compare policies or fill a running project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ...core.errors import DataError, ParameterError
from ..options import Json, Seed, option
from ..progress import count_progress
from ..terminal import clean, info, print_json, print_table
from .inputs import needs_packages, read_columns

Where = Annotated[
    str,
    typer.Argument(
        help="Project folder whose settings and tasks are tried in copies, or the address of a server whose "
        "project receives simulated answers.",
        metavar="DIR|URL",
    ),
]


def simulate(
    where: Where,
    crowd: Annotated[str, option("Simulation", "--crowd", "Scenario of crowdwise simulate, of classes.")] = "one_coin",
    workers: Annotated[int, option("Simulation", "--workers", "Number of simulated workers.", min=1, max=500)] = 30,
    tasks: Annotated[
        int | None,
        option("Simulation", "--tasks", "Number of tasks of DIR to use, from the first on; all by default.", min=1),
    ] = None,
    policy: Annotated[
        list[str] | None,
        option(
            "Simulation", "--policy", "Policy to compare; repeat for more (the project's by default).", metavar="NAME"
        ),
    ] = None,
    accuracy: Annotated[
        float | None, option("Simulation", "--accuracy", "Accuracy to reach; the project's target by default.")
    ] = None,
    token: Annotated[
        str | None, option("Server", "--token", "Admin token of the server.", envvar="CROWDWISE_TOKEN")
    ] = None,
    truth: Annotated[
        Path | None,
        option(
            "Simulation",
            "--truth",
            "Table of true labels, with the columns task and label; drawn at random by default.",
        ),
    ] = None,
    answers: Annotated[
        int | None, option("Server", "--answers", "Maximum number of answers to a server.", min=1)
    ] = None,
    pace: Annotated[float, option("Server", "--pace", "Answers per second to a server; 0 for no pause.", min=0)] = 0.0,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Compare how many labels each policy needs for a project, relative to fixed overlap, with simulated workers."""
    true_labels = None if truth is None else dict(read_columns(truth, ("task", "label")).iter_rows())
    crowd_options = {"crowd": crowd, "workers": workers, "truth": true_labels, "seed": seed}
    if "://" in where:
        if policy or tasks:
            raise ParameterError("--policy and --tasks apply to a folder only; a running server has its own")
        _running(where, token, crowd_options, answers, pace, seed, json)
    else:
        _compare(Path(where), policy, tasks, accuracy, crowd_options, seed, json)


def _compare(
    folder: Path,
    policies: list[str] | None,
    n: int | None,
    accuracy: float | None,
    crowd_options: Any,
    seed: int,
    json: bool,
) -> None:
    with needs_packages("this needs"):
        from ...server.project import Project
        from ...server.simulated_clients import compare
        from ...server.simulated_clients.crowd import plant
    with Project(folder) as opened:
        config, names = opened.queue.live.config, list(opened.queue.live.crowd.tasks)[:n]
    if not config.sure:
        raise ParameterError(f"simulated workers answer with classes; this project asks for {config.kind}")
    if not names:
        raise DataError(f"{folder} has no task; import some first")
    simulated = plant(names, config.classes, **crowd_options)
    max_answers = len(names) * min(len(simulated.workers), config.cap or len(simulated.workers))
    with count_progress("simulating") as show:
        outcomes = compare(config, simulated, policies or [config.policy], accuracy=accuracy, seed=seed,
                        progress=lambda name, k: show(k, max_answers, name))  # fmt: skip
    if json:
        print_json([vars(outcome) for outcome in outcomes])
        return
    goal = config.target if accuracy is None else accuracy
    fixed = outcomes[0].needed
    rows = [
        [
            outcome.policy,
            "never" if outcome.needed is None else f"{outcome.needed:,}",
            f"{outcome.needed / fixed:.2f}" if fixed and outcome.needed else "",
            f"{outcome.answers:,}",
            f"{outcome.accuracy:.1%}",
            "" if outcome.expected is None else f"{outcome.expected:.1%}",
            clean(outcome.why),
        ]
        for outcome in outcomes
    ]
    header = [
        "policy",
        f"answers to {goal:.0%}",
        "share of fixed",
        "answers",
        "right then",
        "expected",
        "ended because",
    ]
    print_table(f"{len(names):,} tasks, {len(simulated.workers)} simulated workers", header, rows, stderr=False)


def _running(
    url: str, token: str | None, crowd_options: Any, answers: int | None, pace: float, seed: int, json: bool
) -> None:
    from ...client.problems import ServerProblem
    from ...client.project import Project
    from ...server.simulated_clients import drive
    from ...server.simulated_clients.crowd import plant

    with Project(url, token) as lead:
        about = lead.about()
        if about["kind"] not in ("classes", "ordered"):
            raise ParameterError(f"simulated workers answer with classes; this project asks for {about['kind']}")
        simulated = plant([row["id"] for row in lead.tasks()], about["classes"], **crowd_options)
        clients = []
        for name in simulated.workers:
            try:
                reply = lead.add_worker(name)
            except ServerProblem as problem:
                if problem.status != 409:
                    raise
                reply = lead.worker(name, "tokens")
            clients.append(Project(url, reply["token"]))
        with count_progress("simulating") as show:
            n, why = drive(
                clients, simulated, answers=answers, pace=pace, seed=seed,
                progress=lambda k: bool(show(k, answers or k, "work")),
            )  # fmt: skip
        labels = {row["id"]: row["live"]["label"] for row in lead.tasks() if row["answers"] and row["live"]}
        right = simulated.accuracy(labels)
    if json:
        print_json({"answers": n, "why": why, "right": right})
    else:
        info(f"{n:,} answers of {len(clients)} simulated workers; {right:.1%} of the labels are right; {clean(why)}")
