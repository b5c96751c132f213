"""Where the pages stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI

if TYPE_CHECKING:
    from ..project import Project


def attach(app: FastAPI, project: Project) -> None:
    """Add the pages to the application."""
    app.state.project = project
