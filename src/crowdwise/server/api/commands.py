"""Commands of the two most frequent requests: the next tasks, and an answer.

The routes of `annotate.py` put them into the write queue. Keys and payloads of a batch are looked up together, and the
response is composed from stored JSON texts.
"""

from __future__ import annotations

from json.encoder import encode_basestring

from ..auth import Principal
from ..batch import WriteBatch
from ..commands import annotate as commands
from ..problems import Problem
from ..store.log import LogEvent
from . import forms


class Next:
    """Assign up to n tasks to the worker."""

    __slots__ = ("n", "who", "worker")
    quick = True

    def __init__(self, who: Principal, worker: str | None, n: int) -> None:
        self.who, self.worker, self.n = who, worker, n

    def __call__(self, batch: WriteBatch) -> commands.AssignedTasks:
        """Return the tasks; their payloads are looked up for the whole batch at its end."""
        assigned = commands.take(batch, worker_of(batch, self.who, self.worker), self.n)
        batch.shows.append(assigned)
        return assigned


class Answer:
    """Store an answer, and assign n tasks that are returned with its receipt."""

    __slots__ = ("key", "n", "submission", "who", "worker")
    quick = True

    def __init__(self, who: Principal, form: forms.LabelIn, key: str, n: int) -> None:
        self.who, self.n, self.worker = who, n, form.worker
        self.submission = submission_of(who, form, key)
        # The code of a worker named by an admin is known only when the command runs.
        self.key = None if who.worker is None or form.worker is not None else (who.worker, key)

    def __call__(self, batch: WriteBatch) -> tuple[bool, LogEvent, commands.AssignedTasks | None]:
        """Whether the answer is new, its event, and the next tasks."""
        worker = worker_of(batch, self.who, self.worker)
        new, event = commands.answer(batch, worker, self.submission)
        if not self.n:
            return new, event, None
        assigned = commands.take(batch, worker, self.n)
        batch.shows.append(assigned)
        return new, event, assigned

    def receipt(self, event: LogEvent, assigned: commands.AssignedTasks | None) -> str:
        """The receipt as JSON."""
        lead = self.who.may("admin")
        status, stopped = commands.status_for(event, lead=lead), commands.stopped_for(event, lead=lead)
        reason = "null" if stopped is None else encode_basestring(stopped)
        following = "" if assigned is None else f',"next":{tasks_json(assigned)}'
        task = encode_basestring(self.submission.task)
        return f'{{"event":{event.id},"task":{task},"status":"{status}","stopped":{reason}{following}}}'


def worker_of(batch: WriteBatch, who: Principal, name: str | None) -> int:
    """The worker of the answer: that of the token, or the one named by an admin."""
    if name is not None:
        if not who.may("admin"):
            raise Problem(403, "only an admin's token may name the worker")
        return batch.worker(name)
    if who.worker is None:
        raise Problem(422, "this token belongs to no worker; name one")
    return who.worker


def submission_of(who: Principal, form: forms.LabelIn, key: str) -> commands.Submission:
    """The answer of a form as a Submission."""
    trusted = who.may("admin")
    return commands.Submission(
        form.task, form.answer, key, forms.digest(form), form.lease, form.client_ms, trusted, form.about
    )


def _note(assigned: commands.AssignedTasks, task: int) -> str:
    """The note of a reviewer as a member of a JSON object, if there is one."""
    note = assigned.notes.get(task)
    return "" if note is None else f',"note":{encode_basestring(note)}'


def tasks_json(assigned: commands.AssignedTasks) -> str:
    """Assigned tasks as JSON."""
    tasks = ",".join(
        f'{{"id":{encode_basestring(name)},"payload":{text},"lease":{lease.id},"expires_at":{lease.expires_at!r}'
        f"{_note(assigned, lease.task)}}}"
        for name, text, lease in zip(assigned.names, assigned.texts, assigned.leases, strict=True)
    )
    stopped = "null"
    if assigned.stopped is not None:
        final = "true" if assigned.stopped["final"] else "false"
        stopped = f'{{"reason":{encode_basestring(assigned.stopped["reason"])},"final":{final}}}'
    progress = ",".join(f'"{name}":{n}' for name, n in assigned.progress.items())
    return f'{{"tasks":[{tasks}],"stopped":{stopped},"progress":{{{progress}}}}}'
