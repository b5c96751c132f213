"""crowdwise project: create a project, add tasks, manage tokens and invitations, export and back up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.errors import DataError, ParameterError
from ..options import Force, Json, option
from ..renamed import check_project_kind
from ..terminal import info, print_json, print_table
from .demo import demo
from .inputs import needs_packages, read_text, split_names
from .simulate import simulate

if TYPE_CHECKING:
    from ...server.project import Project

project = typer.Typer(
    name="project",
    help="Create and manage labelling projects.",
    no_args_is_help=True,
    add_completion=False,
)
project.command("simulate")(simulate)
project.command("demo")(demo)
Gold = Annotated[
    Path | None,
    option("Input", "--gold", "Table of known labels, with the columns task and label.", metavar="FILE"),
]
Dir = Annotated[Path, typer.Argument(help="Folder of the project.", metavar="DIR")]


@project.command("create")
def create(
    folder: Dir,
    question: Annotated[str, option("Tasks", "--question", "Question that annotators answer.")],
    classes: Annotated[str, option("Tasks", "--classes", "Classes, separated by commas.", metavar="A,B,...")] = "",
    kind: Annotated[
        str,
        option(
            "Tasks",
            "--kind",
            "Kind of the answers: classes, ordered, sets, numbers, comparisons, similarities, rankings or spans.",
            metavar="KIND",
        ),
    ] = "classes",
    guidelines: Annotated[
        Path | None, option("Tasks", "--guidelines", "Markdown file with guidelines.", metavar="FILE")
    ] = None,
    tasks: Annotated[
        Path | None,
        option("Input", "--tasks", "File or folder of tasks, as for project import.", metavar="FILE|FOLDER"),
    ] = None,
    gold: Gold = None,
    target: Annotated[float, option("Budget", "--target", "Confidence at which a task is complete.")] = 0.95,
    cap: Annotated[int, option("Budget", "--cap", "Maximum number of answers per task.")] = 7,
    budget: Annotated[
        float | None, option("Budget", "--budget", "Amount to spend, in the unit of the workers' costs.")
    ] = None,
    policy: Annotated[
        str, option("Budget", "--policy", "Policy that chooses the next task, such as information.")
    ] = "information",
    database: Annotated[
        str | None,
        option(
            "Server", "--database", "Database address such as postgresql://user@host/name; SQLite in DIR by default."
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        option(
            "Server",
            "-s, --set",
            "Any other setting as name=value, such as gold_rate=.1; repeat for more.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    name: Annotated[str, option("Server", "--name", "Id of the project in addresses.")] = "main",
) -> None:
    """Create a project in a new folder and print the admin token, which is shown only once."""
    server = _server()
    check_project_kind(kind)
    settings: dict[str, Any] = {"kind": kind, "classes": split_names(classes)}
    settings |= {"target": target, "cap": cap, "budget": budget, "policy": policy, **_settings(setting or [])}
    if guidelines is not None:
        settings["guidelines"] = read_text(guidelines)
    config = _server_call(lambda: server.Config.of({"question": question} | settings))
    token = server.create(folder, config, name=name, database=database)
    if tasks is not None or gold is not None:
        _fill(folder, tasks, gold)
    info("the admin token, shown only once:")
    typer.echo(token)
    info(f"serve it with: crowdwise serve {folder}")


@project.command("import")
def import_(
    folder: Dir,
    tasks: Annotated[
        Path | None,
        typer.Argument(help="Table of tasks with a column id, or a folder of images.", metavar="FILE|FOLDER"),
    ] = None,
    gold: Gold = None,
    random_gold: Annotated[
        bool, option("Input", "--random-gold", "The --gold tasks were drawn at random from the labelled ones.")
    ] = False,
) -> None:
    """Add tasks (annotators see all columns but id) or known labels, also while the server runs."""
    if tasks is None and gold is None:
        raise ParameterError("give a file of tasks, or --gold")
    if random_gold and gold is None:
        raise ParameterError("--random-gold describes how the tasks of --gold were drawn; give --gold too")
    _fill(folder, tasks, gold, random=random_gold)


@project.command("export")
def export(
    folder: Dir,
    output: Annotated[Path, option("Output", "-o, --output", "Folder for the files.", metavar="OUT")],
    format: Annotated[str, option("Output", "--format", "Format of the files: csv, jsonl or parquet.")] = "csv",
    force: Force = False,
) -> None:
    """Export events, labels, workers and votes; crowdwise aggregate reads OUT/votes.csv."""
    server = _server()
    with server.Project(folder) as opened:
        for path in _server_call(lambda: server.export(opened, output, format, force=force)):
            info(f"written to {path}")
        sentence = server.sentence(opened)
        if sentence:
            info(sentence)


@project.command("backup")
def backup(
    folder: Dir,
    output: Annotated[Path, option("Output", "-o, --output", "New folder for the copy.", metavar="OUT")],
) -> None:
    """Copy a project, also while it is served, into a folder that can be served (PostgreSQL: a dump)."""
    server = _server()
    path = server.backup(server.Folder(folder), output)
    info(f"written to {path}")


@project.command("tokens")
def tokens(
    folder: Dir,
    worker: Annotated[
        str | None, option("Server", "--worker", "Make a token for this worker, new or existing, or for this reviewer.")
    ] = None,
    scope: Annotated[
        str, option("Server", "--scope", "Scope of the new token: annotate, read, check, review or admin.")
    ] = "annotate",
    kind: Annotated[str, option("Server", "--kind", "Kind of a new worker: human or model.")] = "human",
    cost: Annotated[float | None, option("Server", "--cost", "Cost of an answer of a new worker.")] = None,
    new: Annotated[
        bool, option("Server", "--new", "Make a token that belongs to no worker (read, check or admin).")
    ] = False,
    revoke: Annotated[str | None, option("Server", "--revoke", "Id of the token to revoke.")] = None,
    json: Json = False,
) -> None:
    """List the tokens, make one (--worker or --new), or revoke one."""
    server = _server()
    with server.Project(folder) as opened:
        if revoke is not None:
            if not opened.queue.do(lambda batch: server.auth.revoke(batch, token=revoke)):
                raise DataError(f"there is no token {revoke!r} to revoke")
            info(f"token {revoke} is revoked")
        elif worker is not None or new:
            typer.echo(_server_call(lambda: _token(opened, worker, scope, kind, cost)))
        else:
            _list(server.tokens(opened), json)


@project.command("invite")
def invite(
    folder: Dir,
    uses: Annotated[int, option("Server", "--uses", "Number of people who may use the link.", min=1)] = 1,
    hours: Annotated[float, option("Server", "--hours", "Hours until the link expires.", min=0.01)] = 24.0,
    url: Annotated[str, option("Server", "--url", "Address of the server for annotators.")] = "http://127.0.0.1:8000",
) -> None:
    """Print a link that lets people join as workers."""
    server = _server()
    with server.Project(folder) as opened:
        code = opened.queue.do(lambda batch: server.auth.invite(batch, uses, hours * 3600))
    typer.echo(f"{url.rstrip('/')}/join/{code}")


def _server() -> Any:
    with needs_packages("projects need"):
        from ...server import offline
    return offline


def _server_call(call: Any) -> Any:
    """Call a function of the server and raise its refusals as data errors."""
    from ...server.problems import Problem

    try:
        return call()
    except Problem as problem:
        raise DataError(problem.detail) from problem


def _fill(folder: Path, tasks: Path | None, gold: Path | None, *, random: bool = False) -> None:
    server = _server()
    with server.Project(folder) as opened:
        if tasks is not None:
            counts = _server_call(lambda: server.import_tasks(opened, tasks))
            info(f"{counts['added']} tasks added" + (f", {counts['there']} existed already" if counts["there"] else ""))
        if gold is not None:
            info(f"{_server_call(lambda: server.import_gold(opened, gold, random=random))} gold answers")


def _token(opened: Project, worker: str | None, scope: str, kind: str, cost: float | None) -> str:
    server = _server()
    return str(opened.queue.do(lambda batch: server.token_for(batch, worker, scope, kind, cost)))


def _list(rows: list[dict[str, Any]], json: bool) -> None:
    if json:
        print_json(rows)
        return
    header = ["id", "scope", "worker", "made", "revoked"]
    print_table("Tokens", header, [[str(row[name] or "") for name in header] for row in rows], stderr=False)


def _settings(pairs: list[str]) -> dict[str, Any]:
    """Parse NAME=VALUE settings; numbers and booleans are converted."""
    import json

    out: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ParameterError(f"--set takes NAME=VALUE, got {pair!r}")
        try:
            out[name.strip()] = json.loads(value if not value.startswith(".") else f"0{value}")
        except ValueError:
            out[name.strip()] = value
    return out
