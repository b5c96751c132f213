"""crowdwise judge: an LLM as a worker, on a server's project or over a file of tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.errors import DataError, ParameterError
from ..options import Force, Json
from ..terminal import clean, counting, print_json, say

if TYPE_CHECKING:
    from ...client.judging.judge import Judge
    from ...client.judging.live import Tally
    from ...client.judging.prompt import Brief

Target = Annotated[
    str,
    typer.Argument(
        help="The address of a project on a server, or a file of tasks (.jsonl, .csv, ...) with a column of ids.",
        metavar="URL|TASKS",
        show_default=False,
    ),
]
Model = Annotated[
    str, typer.Option("--model", help="The model, as the endpoint calls it.", metavar="NAME", show_default=False)
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="CROWDWISE_TOKEN",
        help="The worker's token on the server.",
        show_default=False,
        metavar="TOKEN",
    ),
]
Prompt = Annotated[
    Path | None,
    typer.Option(
        "--prompt",
        help="A prompt of your own, with $question, $guidelines, $instruct and $task; a line --- parts the system's "
        "words from the user's.",
        metavar="FILE",
        show_default=False,
    ),
]
Rate = Annotated[
    str | None,
    typer.Option("--rate", help="Requests at most: 2/s, 30/min.", metavar="N/s", show_default=False),
]
Given = Annotated[
    str | None,
    typer.Option(
        "--classes", help="Of a file: the classes, with commas between.", metavar="A,B,..", show_default=False
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        help="Verdicts as JSONL, which `crowdwise judges` reads; a run that was cut off goes on where it was.",
        metavar="FILE",
        show_default=False,
    ),
]
# Of a file without --question; "Which class is it?" of all other kinds.
ASKED = {"ranking": "Which item is better?", "spans": "What is to be marked in the text?"}


def judge(
    target: Target,
    model: Model,
    token: Token = None,
    prompt: Prompt = None,
    rate: Rate = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="Tasks at most.", show_default=False)
    ] = None,
    parallel: Annotated[int, typer.Option("--parallel", min=1, max=64, help="Requests at a time.")] = 1,
    swap: Annotated[bool, typer.Option("--swap", help="Show pairs in both orders.")] = False,
    flip: Annotated[
        str, typer.Option("--flip", help="What the verdict is where the orders differ: tie or null.")
    ] = "tie",
    classes: Given = None,
    kind: Annotated[
        str,
        typer.Option("--kind", help="Of a file: classes, ordered, sets, numbers, comparisons, same, ranking, spans."),
    ] = "classes",
    question: Annotated[str, typer.Option("--question", help="Of a file: what is asked.", show_default=False)] = "",
    guidelines: Annotated[
        Path | None, typer.Option("--guidelines", help="Of a file: guidelines.", metavar="FILE", show_default=False)
    ] = None,
    task_column: Annotated[
        str | None, typer.Option("--task-column", help="Of a file: the ids.", show_default=False)
    ] = None,
    price_in: Annotated[float, typer.Option("--price-in", min=0, help="Of a million tokens read.")] = 0.0,
    price_out: Annotated[float, typer.Option("--price-out", min=0, help="Of a million tokens written.")] = 0.0,
    temperature: Annotated[float, typer.Option("--temperature", min=0)] = 0.0,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="Of an answer.")] = 512,
    tries: Annotated[int, typer.Option("--tries", min=1, max=20, help="How often a request is tried.")] = 6,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds for one answer.")] = 120.0,
    wait: Annotated[float, typer.Option("--wait", min=0, help="Seconds to wait for more tasks of a project.")] = 0.0,
    output: Output = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Let a model judge tasks, through an endpoint that speaks the chat-completions protocol.

    Its address stands in CROWDWISE_JUDGE_URL or OPENAI_BASE_URL, its key in OPENAI_API_KEY. A verdict is JSON or the
    name of one class; whatever else the model writes is no verdict: it is given back, with the reason.
    """
    from ...client.judging.endpoint import Endpoint, Pace, Prices
    from ...client.judging.judge import Judge as Made
    from ...client.retry import Retry

    endpoint = Endpoint.from_environment(pace=Pace(_per_second(rate)), retry=Retry(tries=tries), timeout=timeout)

    def made(brief: Brief, look: Any) -> Judge:
        settings = {"temperature": temperature, "max_tokens": max_tokens}
        return Made(endpoint, model, brief, Prices(price_in, price_out), settings, swap, flip, look)

    template = "" if prompt is None else _text(prompt)
    given = {"limit": limit, "parallel": parallel}
    if "://" in target:
        tally = _live(target, token, made, template, output, force, wait, given)
    else:
        asked = question, kind, _names(classes), "" if guidelines is None else _text(guidelines)
        tally = _file(target, task_column, made, template, asked, output, force, given)
    _tell(tally, model, json)


def _live(
    url: str, token: str | None, made: Any, template: str, output: Path | None, force: bool, wait: float, given: Any
) -> Tally:
    from contextlib import nullcontext

    from ...client.judging.forms import form_of
    from ...client.judging.live import judge_project
    from ...client.judging.log import Log
    from ...client.judging.pictures import of_project
    from ...client.judging.prompt import Brief
    from ...client.project import Project

    with Project(url, token) as project:
        about = project.about()
        controls = {**about, **(about.get("controls") or {})}
        form = form_of(about["kind"], about.get("classes") or (), controls)
        brief = Brief(about.get("question") or "", form, about.get("guidelines") or "", template)
        judge = made(brief, of_project(project))
        with Log(output, force=force) if output else nullcontext() as log, counting("judging") as show:
            return judge_project(
                project, judge, log=log, patience=wait, told=lambda t: show(t.asked, t.asked, "work"), **given
            )


def _file(
    path: str, column: str | None, made: Any, template: str, asked: Any, output: Path | None, force: bool, given: Any
) -> Tally:
    from ...client.judging.files import judge_file, tasks_of
    from ...client.judging.forms import form_of
    from ...client.judging.log import Log
    from ...client.judging.pictures import of_folder
    from ...client.judging.prompt import Brief

    question, kind, classes, guidelines = asked
    if output is None:
        raise ParameterError("judging a file needs -o FILE for the verdicts, e.g. -o verdicts.jsonl")
    brief = Brief(question or ASKED.get(kind, "Which class is it?"), form_of(kind, classes), guidelines, template)
    judge = made(brief, of_folder(Path(path).parent))
    tasks, hidden = tasks_of(path, column)
    if hidden:
        say("note: the judge does not see", ", ".join(clean(each) for each in hidden))
    with Log(output, force=force) as log, counting("judging") as show:
        before = sum(log.has(task, judge) for task, _ in tasks)
        if before:
            say(f"{before:,} of {len(tasks):,} tasks were judged before and are not asked again")
        return judge_file(tasks, judge, log, told=lambda t: show(before + t.asked, len(tasks), "work"), **given)


def _tell(tally: Tally, model: str, as_json: bool) -> None:
    if as_json:
        shown = {"model": model, "verdicts": tally.verdicts, "nulls": tally.nulls, "refused": tally.refused}
        print_json({**shown, "cost": tally.cost, "reasons": tally.reasons, "why": tally.why})
        return
    cost = f" for {tally.cost:.4f}" if tally.cost else ""
    say(f"{clean(model)}: {tally.verdicts:,} verdicts{cost}; {clean(tally.why)}")
    for reason, n in sorted(tally.reasons.items(), key=lambda each: (-each[1], each[0]))[:8]:
        say(f"no verdict on {n:,}: {clean(reason)}")


def _names(given: str | None) -> tuple[str, ...]:
    return tuple(each.strip() for each in (given or "").split(",") if each.strip())


def _per_second(given: str | None) -> float:
    """2, 2/s, 30/min, 100/h as requests a second; 0 for no limit."""
    if given is None:
        return 0.0
    number, _, unit = given.partition("/")
    per = {"": 1, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hour": 3600}.get(unit.strip())
    try:
        rate = float(number)
    except ValueError:
        rate = 0.0
    if per is None or not 0 < rate < 1e6:
        raise ParameterError(f"--rate {given!r}: write it like 2/s or 30/min")
    return rate / per


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise DataError(f"{path}: cannot be read ({why})") from None
