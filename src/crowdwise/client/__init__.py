"""Client of a crowdwise server, for scripts, LLM judges, simulated workers and tests.

    from crowdwise.client import Project

    project = Project("http://127.0.0.1:8000", token)
    task = project.next().tasks[0]
    project.answer(task, "cat")

An answer without acknowledgement is sent again with the same key, and the server counts it once.
"""

from __future__ import annotations

from .problems import ServerProblem, Unreachable
from .project import Project
from .records import Batch, Receipt, Refused, Stop, Task

__all__ = ["Batch", "Project", "Receipt", "Refused", "ServerProblem", "Stop", "Task", "Unreachable"]
