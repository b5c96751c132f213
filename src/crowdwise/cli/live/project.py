"""crowdwise project: make a project, fill it, hand out tokens and invitations, take it home."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.errors import DataError, MissingDependencyError, ParameterError
from ..terminal import print_json, print_table, say
from .demo import demo
from .simulate import simulate

if TYPE_CHECKING:
    from ...server.project import Project

project = typer.Typer(
    name="project",
    help="Make a labelling project, fill it with tasks, let people in, export and back up.",
    no_args_is_help=True,
    add_completion=False,
)
project.command("simulate")(simulate)
project.command("demo")(demo)
Dir = Annotated[Path, typer.Argument(help="The project's folder.", metavar="DIR", show_default=False)]


@project.command("create")
def create(
    folder: Dir,
    question: Annotated[str, typer.Option("--question", help="What people are asked.", show_default=False)],
    classes: Annotated[
        str, typer.Option("--classes", help="The classes, with commas between.", metavar="A,B,...", show_default=False)
    ] = "",
    kind: Annotated[
        str,
        typer.Option(
            "--kind", help="classes, ordered, sets, numbers, comparisons, same, ranking or spans.", metavar="KIND"
        ),
    ] = "classes",
    guidelines: Annotated[
        Path | None, typer.Option("--guidelines", help="A Markdown file.", metavar="FILE", show_default=False)
    ] = None,
    tasks: Annotated[
        Path | None, typer.Option("--tasks", help="Tasks, as for import.", metavar="FILE|FOLDER", show_default=False)
    ] = None,
    gold: Annotated[
        Path | None, typer.Option("--gold", help="A table task,label.", metavar="FILE", show_default=False)
    ] = None,
    target: Annotated[float, typer.Option("--target", help="A task stops when it is so sure.")] = 0.95,
    cap: Annotated[int, typer.Option("--cap", help="Answers that a task gets at most.")] = 7,
    budget: Annotated[
        float | None, typer.Option("--budget", help="What may be spent, in units of --cost.", show_default=False)
    ] = None,
    policy: Annotated[
        str, typer.Option("--policy", help="Which task comes next; see the docs of active.")
    ] = "information",
    database: Annotated[
        str | None,
        typer.Option("--database", help="postgresql://user@host/name; default: SQLite in DIR.", show_default=False),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("-s", "--set", help="Any other setting, as gold_rate=.1 or floor=.5.", metavar="NAME=VALUE"),
    ] = None,
    name: Annotated[str, typer.Option("--name", help="The project's id in addresses.")] = "main",
) -> None:
    """Make a project in a new folder and print the admin's token, which is shown this once."""
    server = _server()
    given: dict[str, Any] = {"kind": kind, "classes": tuple(c.strip() for c in classes.split(",") if c.strip())}
    given |= {"target": target, "cap": cap, "budget": budget, "policy": policy, **_settings(setting or [])}
    if guidelines is not None:
        given["guidelines"] = _text(guidelines)
    config = _tell(lambda: server.Config.of({"question": question} | given))
    token = server.create(folder, config, name=name, database=database)
    if tasks is not None or gold is not None:
        _fill(folder, tasks, gold)
    say("the admin's token, shown this once:")
    typer.echo(token)
    say(f"serve it with: crowdwise serve {folder}")


@project.command("import")
def import_(
    folder: Dir,
    tasks: Annotated[
        Path | None,
        typer.Argument(
            help="A table with a column id, or a folder of images.", metavar="FILE|FOLDER", show_default=False
        ),
    ] = None,
    gold: Annotated[
        Path | None, typer.Option("--gold", help="A table task,label.", metavar="FILE", show_default=False)
    ] = None,
    random_gold: Annotated[
        bool, typer.Option("--random-gold", help="The tasks of --gold were drawn at random among the labelled ones.")
    ] = False,
) -> None:
    """Add tasks (all columns but id are shown; gold is known truth), also while the server runs."""
    if tasks is None and gold is None:
        raise ParameterError("name a file of tasks, or --gold")
    if random_gold and gold is None:
        raise ParameterError("--random-gold says how the tasks of --gold were drawn; name the file")
    _fill(folder, tasks, gold, random=random_gold)


@project.command("export")
def export(
    folder: Dir,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="A folder for the files.", metavar="OUT", show_default=False)
    ],
    format: Annotated[str, typer.Option("--format", help="csv, jsonl or parquet.")] = "csv",
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
) -> None:
    """Write events, labels, workers and votes; `crowdwise aggregate OUT/votes.csv` goes on from there."""
    server = _server()
    with server.Project(folder) as opened:
        for path in _tell(lambda: server.export(opened, output, format, force=force)):
            say(f"written to {path}")
        sentence = server.sentence(opened)
        if sentence:
            say(sentence)


@project.command("backup")
def backup(
    folder: Dir,
    output: Annotated[Path, typer.Option("-o", "--output", help="A new folder.", metavar="OUT", show_default=False)],
) -> None:
    """Copy a project, also while it is served: a folder that can be served itself (PostgreSQL: a dump)."""
    server = _server()
    made = server.backup(server.Folder(folder), output)
    say(f"written to {made}")


@project.command("tokens")
def tokens(
    folder: Dir,
    worker: Annotated[
        str | None, typer.Option("--worker", help="A token for this worker, new or known.", show_default=False)
    ] = None,
    scope: Annotated[str, typer.Option("--scope", help="annotate, read, check or admin.")] = "annotate",
    kind: Annotated[str, typer.Option("--kind", help="Of a new worker: human or model.")] = "human",
    cost: Annotated[
        float | None, typer.Option("--cost", help="What an answer of a new worker costs.", show_default=False)
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="A token that belongs to no worker (read, check, admin).")] = False,
    revoke: Annotated[
        str | None, typer.Option("--revoke", help="The id of a token to take back.", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")] = False,
) -> None:
    """List the tokens, make one (--worker, --new) or take one back."""
    server = _server()
    with server.Project(folder) as opened:
        if revoke is not None:
            if not opened.desk.do(lambda shift: server.auth.revoke(shift, token=revoke)):
                raise DataError(f"there is no token {revoke!r} that could be taken back")
            say(f"token {revoke} is taken back")
        elif worker is not None or new:
            typer.echo(_tell(lambda: _token(opened, worker, scope, kind, cost)))
        else:
            _list(server.tokens(opened), json)


@project.command("invite")
def invite(
    folder: Dir,
    uses: Annotated[int, typer.Option("--uses", help="How many people may use it.", min=1)] = 1,
    hours: Annotated[float, typer.Option("--hours", help="How long it is good.", min=0.01)] = 24.0,
    url: Annotated[str, typer.Option("--url", help="Where people reach the server.")] = "http://127.0.0.1:8000",
) -> None:
    """Print a link by which people join as workers."""
    server = _server()
    with server.Project(folder) as opened:
        code = opened.desk.do(lambda shift: server.auth.invite(shift, uses, hours * 3600))
    typer.echo(f"{url.rstrip('/')}/join/{code}")


# ---------------------------------------------------------------- inside
def _server() -> Any:
    try:
        from ...server import offline
    except ImportError as error:
        raise MissingDependencyError(
            f"projects need more packages ({error}): pip install 'crowdwise[serve]'"
        ) from error
    return offline


def _tell(what: Any) -> Any:
    """Refusals of the server in one line."""
    from ...server.problems import Problem

    try:
        return what()
    except Problem as problem:
        raise DataError(problem.detail) from problem


def _fill(folder: Path, tasks: Path | None, gold: Path | None, *, random: bool = False) -> None:
    server = _server()
    with server.Project(folder) as opened:
        if tasks is not None:
            found = _tell(lambda: server.import_tasks(opened, tasks))
            say(f"{found['added']} tasks added" + (f", {found['there']} were there" if found["there"] else ""))
        if gold is not None:
            say(f"{_tell(lambda: server.import_gold(opened, gold, random=random))} gold answers")


def _token(opened: Project, worker: str | None, scope: str, kind: str, cost: float | None) -> str:
    server = _server()
    return str(opened.desk.do(lambda shift: server.token_for(shift, worker, scope, kind, cost)))


def _list(rows: list[dict[str, Any]], json: bool) -> None:
    if json:
        print_json(rows)
        return
    header = ["id", "scope", "worker", "made", "revoked"]
    print_table("Tokens", header, [[str(row[name] or "") for name in header] for row in rows], stderr=False)


def _settings(pairs: list[str]) -> dict[str, Any]:
    """NAME=VALUE, numbers and truth values read as such."""
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


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read ({error})") from error
