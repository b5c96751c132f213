"""LLM judges as workers, through any endpoint with the chat-completions protocol.

A judge gets the question, the guidelines and the task, and must answer in a strict form. Any other output is no
verdict: the reason is recorded and the task is skipped.
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
