"""Turkle, the self-hosted stand-in for Mechanical Turk: a batch in a database in memory, and its own results CSV."""

from __future__ import annotations

import io
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .. import crowd

APPS = ["django.contrib.auth", "django.contrib.contenttypes", "guardian", "turkle"]


def write(folder: Path) -> dict[str, Any]:
    import django
    from django.conf import settings

    settings.configure(
        INSTALLED_APPS=APPS,
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        USE_TZ=True,
    )
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    # crowd-classifier names its answer x.label, radio buttons of a plain form name it x
    files = [_batch(folder, "classifier.csv", "mood.label"), _batch(folder, "radio.csv", "mood")]
    return crowd.tell(version("turkle"), files)


def _batch(folder: Path, name: str, answer: str) -> crowd.File:
    from django.contrib.auth.models import User
    from turkle.models import Batch, Project, TaskAssignment

    project = Project.objects.create(name="mood", html_template="<input name='x'>${item}")
    batch = Batch.objects.create(name="b", project=project, filename="in.csv", assignments_per_task=5)
    rows, quoted = crowd.rows(), ['"' + task.replace('"', '""') + '"' for task in crowd.TEXTS]
    batch.create_tasks_from_csv(io.StringIO("\n".join(["item", *quoted]) + "\n"))
    found = {task.input_csv_fields["item"]: task for task in batch.task_set.all()}
    users = {who: User.objects.get_or_create(username=who)[0] for who in crowd.WORKERS}
    for task, who, label in rows:
        TaskAssignment.objects.create(
            task=found[task], assigned_to=users[who], answers={answer: label, "comment": ""}, completed=True
        )
    with (folder / name).open("w", encoding="utf-8", newline="") as file:
        batch.to_csv(file)
    columns = {"task": "Input.item", "worker": "Turkle.Username"}
    return crowd.File(name, "mturk", rows, {"columns": columns, "question": "mood"})


if __name__ == "__main__":
    crowd.run(sys.modules[__name__])
