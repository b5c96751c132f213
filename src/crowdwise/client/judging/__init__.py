"""judging: LLM judges as workers, through any endpoint that speaks the chat-completions protocol.

A judge gets the question, the guidelines and the task, and must answer in a form that leaves nothing to guess. What it
says otherwise is no verdict: the reason is kept, the task is given back.
"""

from __future__ import annotations

from .endpoint import Endpoint, Prices, Reply
from .files import judge_file
from .form import Form
from .forms import FORMS, form_of
from .judge import Judge, Verdict
from .live import judge_project
from .prompt import Brief, text_of

__all__ = [
    "FORMS",
    "Brief",
    "Endpoint",
    "Form",
    "Judge",
    "Prices",
    "Reply",
    "Verdict",
    "form_of",
    "judge_file",
    "judge_project",
    "text_of",
]
