"""client: talk to a crowdwise server from Python. Scripts, LLM judges, simulated workers and the tests go through it.

    from crowdwise.client import Project

    project = Project("http://127.0.0.1:8000", token)
    task = project.next().tasks[0]
    project.answer(task, "cat")

An answer whose acknowledgement was lost is sent again under the same key: the server counts it once.
"""

from __future__ import annotations

from .problems import ServerProblem, Unreachable
from .project import Project
from .records import Batch, Receipt, Refused, Stop, Task

__all__ = ["Batch", "Project", "Receipt", "Refused", "ServerProblem", "Stop", "Task", "Unreachable"]
