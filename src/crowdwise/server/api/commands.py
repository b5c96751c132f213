"""Commands of the two requests that make up most of the load: the next tasks, and an answer.

The routes of `annotate.py` put them into the queue of the desk. Keys of a batch are looked up together, and so is what
tasks show; the response is put together from texts of JSON that are there already.
"""

from __future__ import annotations

from json.encoder import encode_basestring

from ..auth import Principal
from ..batch import Batch
from ..commands import annotate as commands
from ..problems import Problem
from ..store.log import Event
from . import forms


class Next:
    """Up to n tasks in the worker's hands."""

    __slots__ = ("n", "who", "worker")
    quick = True

    def __init__(self, who: Principal, worker: str | None, n: int) -> None:
        self.who, self.worker, self.n = who, worker, n

    def __call__(self, batch: Batch) -> commands.AssignedTasks:
        """The tasks; what they show is looked up for the whole batch at its end."""
        hand = commands.take(batch, worker_of(batch, self.who, self.worker), self.n)
        batch.shows.append(hand)
        return hand


class Answer:
    """An answer, and n tasks that are returned with its receipt."""

    __slots__ = ("key", "n", "said", "who", "worker")
    quick = True

    def __init__(self, who: Principal, form: forms.LabelIn, key: str, n: int) -> None:
        self.who, self.n, self.worker = who, n, form.worker
        self.said = said_of(who, form, key)
        # The number of a worker whom an admin names is not known before the command runs.
        self.key = None if who.worker is None or form.worker is not None else (who.worker, key)

    def __call__(self, batch: Batch) -> tuple[bool, Event, commands.AssignedTasks | None]:
        """Whether the answer is new, its event, and the next tasks."""
        worker = worker_of(batch, self.who, self.worker)
        new, event = commands.answer(batch, worker, self.said)
        if not self.n:
            return new, event, None
        hand = commands.take(batch, worker, self.n)
        batch.shows.append(hand)
        return new, event, hand

    def receipt(self, event: Event, hand: commands.AssignedTasks | None) -> str:
        """The receipt as JSON."""
        lead = self.who.may("admin")
        status, stopped = commands.status_for(event, lead=lead), commands.stopped_for(event, lead=lead)
        reason = "null" if stopped is None else encode_basestring(stopped)
        following = "" if hand is None else f',"next":{tasks_json(hand)}'
        task = encode_basestring(self.said.task)
        return f'{{"event":{event.id},"task":{task},"status":"{status}","stopped":{reason}{following}}}'


def worker_of(batch: Batch, who: Principal, name: str | None) -> int:
    """Whose answer it is: the token's worker, or whom an admin names."""
    if name is not None:
        if not who.may("admin"):
            raise Problem(403, "only an admin's token may name the worker")
        return batch.worker(name)
    if who.worker is None:
        raise Problem(422, "this token belongs to no worker; name one")
    return who.worker


def said_of(who: Principal, form: forms.LabelIn, key: str) -> commands.Submission:
    """An answer as the desk takes it."""
    trusted = who.may("admin")
    return commands.Submission(
        form.task, form.answer, key, forms.digest(form), form.lease, form.client_ms, trusted, form.about
    )


def tasks_json(hand: commands.AssignedTasks) -> str:
    """Tasks in a worker's hands as JSON."""
    tasks = ",".join(
        f'{{"id":{encode_basestring(name)},"payload":{text},"lease":{lease.id},"expires_at":{lease.expires_at!r}}}'
        for name, text, lease in zip(hand.names, hand.texts, hand.leases, strict=True)
    )
    stopped = "null"
    if hand.stopped is not None:
        final = "true" if hand.stopped["final"] else "false"
        stopped = f'{{"reason":{encode_basestring(hand.stopped["reason"])},"final":{final}}}'
    progress = ",".join(f'"{name}":{n}' for name, n in hand.progress.items())
    return f'{{"tasks":[{tasks}],"stopped":{stopped},"progress":{{{progress}}}}}'
