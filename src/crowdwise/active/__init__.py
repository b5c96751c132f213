"""Active labelling: which task to give to which worker next, and when to stop.

This package has no network access, clock or names; tasks, workers and classes are codes.

>>> from crowdwise import active
>>> session = active.Session(active.OnlineModel(3, n_tasks=10, n_workers=4), "information", seed=0)
>>> asked = session.ask(worker=2)
>>> session.tell(asked.task, asked.worker, label=1)
''
"""

from .online import OnlineModel
from .plan import Plan, plan
from .records import NextTask, Settings, Stopped
from .rules import POLICIES, Policy
from .session import Session
from .stochastic import StochasticModel
from .stopping import Stopping
from .trials import Trial, replay, simulate

__all__ = [
    "POLICIES",
    "NextTask",
    "OnlineModel",
    "Plan",
    "Policy",
    "Session",
    "Settings",
    "StochasticModel",
    "Stopped",
    "Stopping",
    "Trial",
    "plan",
    "replay",
    "simulate",
]
