"""crowdwise judge: an LLM as a worker, on a project of a server or a file of tasks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.errors import ParameterError
from ..options import Force, Json, option
from ..progress import count_progress
from ..renamed import check_project_kind
from ..terminal import clean, info, print_json
from .inputs import read_text, split_names

if TYPE_CHECKING:
    from ...client.judging.judge import Judge
    from ...client.judging.live import JudgingCounts
    from ...client.judging.prompt import Brief

Target = Annotated[
    str,
    typer.Argument(
        help="Address of a project on a server, or a file of tasks (.jsonl, .csv, ...) with a column of ids.",
        metavar="URL|TASKS",
    ),
]
Model = Annotated[str, option("Model", "--model", "Name of the model at the endpoint.", metavar="NAME")]
Token = Annotated[
    str | None,
    option("Server", "--token", "Token of the worker on the server.", envvar="CROWDWISE_TOKEN", metavar="TOKEN"),
]
Prompt = Annotated[
    Path | None,
    option(
        "Model",
        "--prompt",
        "Prompt template with $question, $guidelines, $instruct and $task, where a line --- separates the system "
        "prompt from the user prompt.",
        metavar="FILE",
    ),
]
Rate = Annotated[str | None, option("Model", "--rate", "Maximum request rate, such as 2/s or 30/min.", metavar="N/s")]
Given = Annotated[
    str | None, option("Tasks", "--classes", "Classes of a file of tasks, separated by commas.", metavar="A,B,..")
]
Output = Annotated[
    Path | None,
    option(
        "Output",
        "-o, --output",
        "JSONL file of verdicts, which crowdwise judges reads; an interrupted run continues it.",
        metavar="FILE",
    ),
]
# Questions of a file without --question; all other kinds ask "Which class is it?".
DEFAULT_QUESTIONS = {"rankings": "Which item is better?", "spans": "What is to be marked in the text?"}


def judge(
    target: Target,
    model: Model,
    token: Token = None,
    prompt: Prompt = None,
    rate: Rate = None,
    limit: Annotated[int | None, option("Tasks", "--limit", "Maximum number of tasks.", min=1, metavar="N")] = None,
    parallel: Annotated[int, option("Model", "--parallel", "Number of concurrent requests.", min=1, max=64)] = 1,
    swap: Annotated[bool, option("Tasks", "--swap", "Show pairs in both orders.")] = False,
    flip: Annotated[str, option("Tasks", "--flip", "Verdict where the two orders disagree: tie or null.")] = "tie",
    classes: Given = None,
    kind: Annotated[
        str,
        option(
            "Tasks",
            "--kind",
            "Kind of a file of tasks: classes, ordered, sets, numbers, comparisons, similarities, rankings or spans.",
        ),
    ] = "classes",
    question: Annotated[str, option("Tasks", "--question", "Question of a file of tasks.")] = "",
    guidelines: Annotated[
        Path | None, option("Tasks", "--guidelines", "Guidelines of a file of tasks.", metavar="FILE")
    ] = None,
    task_column: Annotated[str | None, option("Tasks", "--task-column", "Column of ids in a file of tasks.")] = None,
    price_in: Annotated[float, option("Budget", "--price-in", "Price of a million input tokens.", min=0)] = 0.0,
    price_out: Annotated[float, option("Budget", "--price-out", "Price of a million output tokens.", min=0)] = 0.0,
    temperature: Annotated[float, option("Model", "--temperature", "Sampling temperature.", min=0)] = 0.0,
    max_tokens: Annotated[int, option("Model", "--max-tokens", "Maximum number of tokens in an answer.", min=1)] = 512,
    tries: Annotated[int, option("Model", "--tries", "Number of attempts per request.", min=1, max=20)] = 6,
    timeout: Annotated[float, option("Model", "--timeout", "Seconds to wait for an answer.", min=0.1)] = 120.0,
    wait: Annotated[float, option("Server", "--wait", "Seconds to wait for new tasks of a project.", min=0)] = 0.0,
    output: Output = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Let a language model label tasks through a chat-completions endpoint.

    The address of the endpoint is read from CROWDWISE_JUDGE_URL or OPENAI_BASE_URL, its key from OPENAI_API_KEY. A
    verdict is JSON or the name of one class; any other output is rejected and reported with the reason.
    """
    from ...client.judging.endpoint import Endpoint, Pace, Prices
    from ...client.judging.judge import Judge as ModelJudge
    from ...client.retry import Retry

    check_project_kind(kind)
    endpoint = Endpoint.from_environment(pace=Pace(_per_second(rate)), retry=Retry(tries=tries), timeout=timeout)

    def build_judge(brief: Brief, load_image: Any) -> Judge:
        settings = {"temperature": temperature, "max_tokens": max_tokens}
        return ModelJudge(endpoint, model, brief, Prices(price_in, price_out), settings, swap, flip, load_image)

    template = read_text(prompt)
    limits = {"limit": limit, "parallel": parallel}
    if "://" in target:
        tally = _live(target, token, build_judge, template, output, force, wait, limits)
    else:
        task_settings = question, kind, split_names(classes), read_text(guidelines)
        tally = _file(target, task_column, build_judge, template, task_settings, output, force, limits)
    _print_summary(tally, model, json)


def _live(
    url: str,
    token: str | None,
    build_judge: Any,
    template: str,
    output: Path | None,
    force: bool,
    wait: float,
    limits: Any,
) -> JudgingCounts:
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
        judge = build_judge(brief, of_project(project))
        with Log(output, force=force) if output else nullcontext() as log, count_progress("judging") as show:
            return judge_project(
                project, judge, log=log, patience=wait, progress=lambda t: show(t.asked, t.asked, "work"), **limits
            )


def _file(
    path: str,
    column: str | None,
    build_judge: Any,
    template: str,
    task_settings: Any,
    output: Path | None,
    force: bool,
    limits: Any,
) -> JudgingCounts:
    from ...client.judging.files import judge_file, tasks_of
    from ...client.judging.forms import form_of
    from ...client.judging.log import Log
    from ...client.judging.pictures import of_folder
    from ...client.judging.prompt import Brief

    question, kind, classes, guidelines = task_settings
    if output is None:
        raise ParameterError("judging a file needs -o FILE for the verdicts, e.g. -o verdicts.jsonl")
    brief = Brief(
        question or DEFAULT_QUESTIONS.get(kind, "Which class is it?"), form_of(kind, classes), guidelines, template
    )
    judge = build_judge(brief, of_folder(Path(path).parent))
    tasks, hidden = tasks_of(path, column)
    if hidden:
        info("note: the judge does not see", ", ".join(clean(column_name) for column_name in hidden))
    with Log(output, force=force) as log, count_progress("judging") as show:
        n_done = sum(log.has(task, judge) for task, _ in tasks)
        if n_done:
            info(f"{n_done:,} of {len(tasks):,} tasks were judged before and are skipped")
        return judge_file(tasks, judge, log, progress=lambda t: show(n_done + t.asked, len(tasks), "work"), **limits)


def _print_summary(tally: JudgingCounts, model: str, as_json: bool) -> None:
    if as_json:
        counts = {"model": model, "verdicts": tally.verdicts, "nulls": tally.nulls, "refused": tally.refused}
        print_json({**counts, "cost": tally.cost, "reasons": tally.reasons, "why": tally.why})
        return
    cost = f" for {tally.cost:.4f}" if tally.cost else ""
    info(f"{clean(model)}: {tally.verdicts:,} verdicts{cost}; {clean(tally.why)}")
    for reason, n in sorted(tally.reasons.items(), key=lambda entry: (-entry[1], entry[0]))[:8]:
        info(f"no verdict on {n:,}: {clean(reason)}")


def _per_second(text: str | None) -> float:
    """Convert 2, 2/s, 30/min or 100/h to requests per second; 0 for no limit."""
    if text is None:
        return 0.0
    number, _, unit = text.partition("/")
    per = {"": 1, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hour": 3600}.get(unit.strip())
    try:
        rate = float(number)
    except ValueError:
        rate = 0.0
    if per is None or not 0 < rate < 1e6:
        raise ParameterError(f"--rate {text!r}: write it like 2/s or 30/min")
    return rate / per
