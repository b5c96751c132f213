"""crowdwise project simulate: a planted crowd at the real server, to compare policies or to fill a running one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ...core.errors import DataError, MissingDependencyError, ParameterError
from ..options import Json, Seed
from ..terminal import clean, counting, print_json, print_table, say

Where = Annotated[
    str,
    typer.Argument(
        help="A project's folder, whose settings and tasks are tried in projects of their own (it is not changed), or "
        "the address of a running server, whose project gets answers of simulated workers.",
        metavar="DIR|URL",
        show_default=False,
    ),
]


def simulate(
    where: Where,
    crowd: Annotated[str, typer.Option("--crowd", help="A scenario of crowdwise simulate, of classes.")] = "one_coin",
    workers: Annotated[int, typer.Option("--workers", min=1, max=500, help="Simulated workers.")] = 30,
    tasks: Annotated[
        int | None, typer.Option("--tasks", min=1, help="The first so many tasks of DIR.", show_default=False)
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy", help="Policies to compare, the project's unless said; repeat for more.", metavar="NAME"
        ),
    ] = None,
    accuracy: Annotated[
        float | None,
        typer.Option("--accuracy", help="What is to be reached, the target unless said.", show_default=False),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option("--token", envvar="CROWDWISE_TOKEN", help="Of a server: an admin's token.", show_default=False),
    ] = None,
    truth: Annotated[
        Path | None, typer.Option("--truth", help="A table task,label; drawn unless given.", show_default=False)
    ] = None,
    answers: Annotated[
        int | None, typer.Option("--answers", min=1, help="Of a server: answers at most.", show_default=False)
    ] = None,
    pace: Annotated[float, typer.Option("--pace", min=0, help="Of a server: answers a second; 0 for no pause.")] = 0.0,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Try a project before anybody is paid: labels that each policy needs, beside fixed overlap."""
    known = None if truth is None else _truth(truth)
    planted = {"crowd": crowd, "workers": workers, "truth": known, "seed": seed}
    if "://" in where:
        if policy or tasks:
            raise ParameterError("--policy and --tasks are for a folder; a running server has its own")
        _running(where, token, planted, answers, pace, seed, json)
    else:
        _compare(Path(where), policy, tasks, accuracy, planted, seed, json)


def _compare(
    folder: Path, policies: list[str] | None, n: int | None, accuracy: float | None, planted: Any, seed: int, json: bool
) -> None:
    try:
        from ...server.project import Project
        from ...server.rehearsal import compare
        from ...server.rehearsal.crowd import plant
    except ImportError as error:
        raise MissingDependencyError(f"this needs more packages ({error}): pip install 'crowdwise[serve]'") from error

    with Project(folder) as opened:
        config, names = opened.desk.live.config, list(opened.desk.live.crowd.tasks)[:n]
    if not config.sure:
        raise ParameterError(f"simulated workers say classes; this project asks for {config.kind}")
    if not names:
        raise DataError(f"{folder} has no task; import some first")
    made = plant(names, config.classes, **planted)
    most = len(names) * min(len(made.workers), config.cap or len(made.workers))
    with counting("simulating") as show:
        found = compare(config, made, policies or [config.policy], accuracy=accuracy, seed=seed,
                        told=lambda name, k: show(k, most, name))  # fmt: skip
    if json:
        print_json([vars(each) for each in found])
        return
    goal = config.target if accuracy is None else accuracy
    fixed = found[0].needed
    rows = [
        [each.policy, _whole(each.needed), f"{each.needed / fixed:.2f}" if fixed and each.needed else "",
         f"{each.answers:,}", f"{each.accuracy:.1%}", "" if each.expected is None else f"{each.expected:.1%}",
         clean(each.why)]
        for each in found
    ]  # fmt: skip
    header = [
        "policy",
        f"answers to {goal:.0%}",
        "share of fixed",
        "answers",
        "right then",
        "expected",
        "ended because",
    ]
    print_table(f"{len(names):,} tasks, {len(made.workers)} simulated workers", header, rows, stderr=False)


def _whole(n: int | None) -> str:
    return "never" if n is None else f"{n:,}"


def _running(
    url: str, token: str | None, planted: Any, answers: int | None, pace: float, seed: int, json: bool
) -> None:
    from ...client.problems import ServerProblem
    from ...client.project import Project
    from ...server.rehearsal import drive
    from ...server.rehearsal.crowd import plant

    with Project(url, token) as lead:
        about = lead.about()
        if about["kind"] not in ("classes", "ordered"):
            raise ParameterError(f"simulated workers say classes; this project asks for {about['kind']}")
        made = plant([row["id"] for row in lead.tasks()], about["classes"], **planted)
        people = []
        for name in made.workers:
            try:
                found = lead.add_worker(name)
            except ServerProblem as problem:
                if problem.status != 409:
                    raise
                found = lead.worker(name, "tokens")
            people.append(Project(url, found["token"]))
        with counting("simulating") as show:
            n, why = drive(
                people, made, answers=answers, pace=pace, seed=seed, told=lambda k: bool(show(k, answers or k, "work"))
            )
        labels = {row["id"]: row["live"]["label"] for row in lead.tasks() if row["answers"] and row["live"]}
        right = made.right(labels)
    if json:
        print_json({"answers": n, "why": why, "right": right})
    else:
        say(f"{n:,} answers of {len(people)} simulated workers; {right:.1%} of the labels are right; {clean(why)}")


def _truth(path: Path) -> dict[str, str]:
    from ...io.tables import open_table

    table = open_table(path)
    lacking = [name for name in ("task", "label") if name not in table.header]
    if lacking:
        raise DataError(f"{path.name} has no column {lacking[0]!r}; a table task,label is needed")
    frame = table.read(["task", "label"])
    return dict(zip(frame["task"].to_list(), frame["label"].to_list(), strict=True))
