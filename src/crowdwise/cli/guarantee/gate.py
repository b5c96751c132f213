"""crowdwise gate: does the certificate of a judge still hold? For CI."""

from __future__ import annotations

import hashlib
import json as json_
from pathlib import Path
from typing import Annotated, Any

import typer

from ...core.options import ReadOptions
from ..options import Json, option
from ..terminal import error_context, info, print_json
from ..vote_options import DEFAULT_READ_OPTIONS, read_votes, reads_votes
from .certify import Judge, Prompt, read_prompt


@reads_votes
def gate(
    certificate: Annotated[Path, typer.Argument(help="File written by certify.", metavar="CERTIFICATE")],
    logs: Annotated[
        list[str],
        typer.Argument(help="Logs of the judge on the anchors since then, oldest first.", metavar="LOG..."),
    ],
    judge: Judge = None,
    prompt: Prompt = None,
    history: Annotated[
        Path | None,
        option(
            "Input",
            "--history",
            "File that keeps the anchors judged at earlier looks; this look is added to it.",
            metavar="FILE",
        ),
    ] = None,
    summary: Annotated[
        Path | None,
        option("Output", "--summary", "File to which a Markdown summary is appended.", metavar="FILE"),
    ] = None,
    read_options: ReadOptions = DEFAULT_READ_OPTIONS,
    json: Json = False,
) -> None:
    """Test whether a judge's certificate still holds, from anchors that it judged again.

    The tests may be repeated at every look: the certified probability of a false alarm is that of all looks together,
    if every look has the evidence of the earlier ones (all logs, or --history). Exit code 0: it holds; 3: it is
    broken; 4: it has expired, or the logs cannot tell.
    """
    from ...evaluation.guarantee.gate import gate as test
    from ...evaluation.guarantee.judge_certificate import JudgeCertificate

    given = JudgeCertificate.load(certificate)
    looks = _looks(given, logs, judge, read_options, history)
    with error_context(*logs):
        answer = test(given, [look["labels"] for look in looks], prompt=read_prompt(prompt), judge=judge)
    if history is not None:
        _append(history, "".join(_line(given, look) for look in looks if look["new"]))
    if summary is not None:
        _append(summary, answer.markdown())
    if answer.other_tasks:
        info(f"note: {answer.other_tasks:,} verdicts on tasks that are no anchors are not counted")
    if json:
        print_json(answer.to_dict())
    else:
        typer.echo(f"{answer.status}: {answer.reason}")
        info(
            f"evidence against the promise {answer.e_promise:.3g}, of a drop {answer.e_drift:.3g}; "
            f"broken at {answer.limit:g}"
        )
    raise typer.Exit(answer.exit_code)


def _looks(
    certificate: Any, logs: list[str], judge: str | None, read_options: ReadOptions, history: Path | None
) -> list[dict[str, Any]]:
    """Return the looks of the history and those of the logs; a log that is in the history already is not added."""
    from ...evaluation.guarantee.gate import log_labels

    looks = [] if history is None or not history.is_file() else _history(history, certificate.hash)
    stored = {look["log"] for look in looks}
    name = str(certificate.judge["worker"]) if judge is None else judge
    for log in logs:
        with error_context(log):
            labels = log_labels(read_votes(log, read_options).annotations, name)
        rows = sorted(labels.items())
        digest = hashlib.sha256(json_.dumps([certificate.hash, rows]).encode()).hexdigest()
        if history is not None and digest in stored:
            info(f"note: {log} is in {history} already; it is not counted again")
            continue
        looks.append({"certificate": certificate.hash, "log": digest, "labels": labels, "new": True})
    return looks


def _line(certificate: Any, look: dict[str, Any]) -> str:
    """Return a look as a line of the history: its labels of anchors."""
    anchors = {anchor.task for anchor in certificate.anchors}
    labels = {task: label for task, label in look["labels"].items() if task in anchors}
    return json_.dumps({**look, "labels": labels, "new": False}, ensure_ascii=False) + "\n"


def _history(path: Path, of: str) -> list[dict[str, Any]]:
    """Read the looks of a certificate."""
    from ...core.errors import DataError

    looks = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            look = json_.loads(line)
            if look["certificate"] == of:
                looks.append({"log": str(look["log"]), "labels": dict(look["labels"]), "new": False})
        except (ValueError, KeyError, TypeError):
            raise DataError(f"{path}, line {number}: not a look of crowdwise gate") from None
    return looks


def _append(path: Path, text: str) -> None:
    from ...core.errors import unwritable

    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise unwritable(path, error) from error
