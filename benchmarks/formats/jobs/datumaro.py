"""datumaro: tags of images in CVAT's format, one dataset a worker; it reads our archive back."""

from __future__ import annotations

import sys
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .. import crowd

LABELS = ["pos", "=neg", "né,🙂", "0"]
IMAGES = ["a", "b c", "größe", "007", "d&e", "last"]


def write(folder: Path) -> dict[str, Any]:
    import datumaro as dm
    import numpy as np

    rows = crowd.rows(IMAGES, LABELS)
    for who in crowd.WORKERS:
        said = {task: label for task, w, label in rows if w == who}
        items = [
            dm.DatasetItem(
                id=task,
                media=dm.Image.from_numpy(data=np.zeros((4, 4, 3), dtype=np.uint8)),
                annotations=[dm.Label(LABELS.index(said[task]))] if task in said else [],
                attributes={"frame": i},
            )
            for i, task in enumerate(IMAGES)
        ]
        dm.Dataset.from_iterable(items, categories=LABELS).export(str(folder / "made" / who), "cvat", save_media=False)
    with zipfile.ZipFile(folder / "jobs.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((folder / "made").rglob("*.xml")):
            # CVAT has a file of its own for each job; here it is named after the one who did the job
            archive.write(path, f"{path.relative_to(folder / 'made').parts[0]}.xml")
    _remove(folder / "made")
    mine = [(f"{task}.jpg", who, label) for task, who, label in rows]  # datumaro gives every image a file name
    return crowd.tell(version("datumaro"), [crowd.File("jobs.zip", "cvat", mine)])


def accept(folder: Path) -> dict[str, Any]:
    """Our votes.zip: every job opened by datumaro, beside images of these names, without which it opens nothing."""
    import datumaro as dm

    rows = []
    (folder / "images").mkdir()
    for name in IMAGES:
        (folder / "images" / f"{name}.jpg").touch()
    with zipfile.ZipFile(folder / "votes.zip") as archive:
        for name in archive.namelist():
            (folder / "one.xml").write_bytes(archive.read(name))
            found = dm.Dataset.import_from(str(folder / "one.xml"), "cvat")
            names = [label.name for label in found.categories()[dm.AnnotationType.label]]
            for item in found:
                rows += [(f"{item.id}.jpg", name.removesuffix(".xml"), names[each.label]) for each in item.annotations]
    return {"valid": True, "rows": rows}


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


if __name__ == "__main__":
    crowd.run(sys.modules[__name__])
