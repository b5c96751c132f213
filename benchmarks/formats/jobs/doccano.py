"""doccano: a project in a database in memory, exported user by user by its own pipeline, packed as its task does."""

from __future__ import annotations

import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import crowd

APPS = ["django.contrib.auth", "django.contrib.contenttypes", "polymorphic"]
OWN = ["roles", "projects", "examples", "label_types", "labels", "data_export"]


def write(folder: Path) -> dict[str, Any]:
    _set_up()
    from django.contrib.auth.models import User
    from examples.models import Example
    from label_types.models import CategoryType
    from labels.models import Category
    from projects.models import Member, ProjectType, TextClassificationProject
    from roles.models import Role

    users = {who: User.objects.create(username=who) for who in crowd.WORKERS}
    project = TextClassificationProject.objects.create(
        name="mood", project_type=ProjectType.DOCUMENT_CLASSIFICATION, created_by=users["ann"]
    )
    role = Role.objects.create(name="annotator")
    for user in users.values():
        Member.objects.create(user=user, project=project, role=role)
    types = {label: CategoryType.objects.create(project=project, text=label) for label in crowd.LABELS}
    examples = {text: Example.objects.create(project=project, text=text) for text in crowd.TEXTS}
    rows = crowd.rows()
    for task, who, label in rows:
        Category.objects.create(example=examples[task], user=users[who], label=types[label])
    files = []
    mine = [(str(examples[task].id), who, label) for task, who, label in rows]
    _export(project, folder / "export")
    files.append(crowd.File("export.zip", "doccano", mine))
    files.append(crowd.File("export.zip", "doccano", rows, {"columns": {"task": "text"}}))
    return crowd.tell(version("doccano"), files)


def _export(project: Any, target: Path) -> None:
    """What doccano's task for its workers does, without the queue around it."""
    from data_export.models import ExportedExample
    from data_export.pipeline.dataset import Dataset
    from data_export.pipeline.factories import create_comment, create_formatter, create_labels, create_writer
    from data_export.pipeline.services import ExportApplicationService
    from projects.models import Member

    target.mkdir()
    writer, formatters = create_writer("JSONL"), create_formatter(project, "JSONL")
    for member in Member.objects.filter(project=project):
        examples = ExportedExample.objects.filter(project=project)
        labels, comments = create_labels(project, examples, member.user), create_comment(examples, member.user)
        dataset = Dataset(examples, labels, comments, True)
        ExportApplicationService(dataset, formatters, writer).export(str(target / f"{member.username}.jsonl"))
    shutil.make_archive(str(target), "zip", target)
    shutil.rmtree(target)


def _set_up() -> None:
    import backend

    sys.path.insert(0, next(iter(backend.__path__)))
    # Models of file uploads, which no export touches, import this; it would bring a web server along.
    for name in ("django_drf_filepond", "django_drf_filepond.models"):
        sys.modules[name] = ModuleType(name)
    sys.modules["django_drf_filepond.models"].DrfFilePondStoredStorage = object  # type: ignore[attr-defined]
    import django
    from django.conf import settings

    settings.configure(
        INSTALLED_APPS=[*APPS, *OWN],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        MIGRATION_MODULES=dict.fromkeys(OWN),  # tables straight from the models
        USE_TZ=True,
    )
    django.setup()
    from django.core.management import call_command

    call_command("migrate", run_syncdb=True, verbosity=0)


if __name__ == "__main__":
    crowd.run(sys.modules[__name__])
