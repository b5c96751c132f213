"""Potato: its own InMemoryUserState, saved by itself, one folder a user; it loads our folders back."""

from __future__ import annotations

import sys
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .. import crowd


def write(folder: Path) -> dict[str, Any]:
    from potato.item_state_management import Label
    from potato.phase import UserPhase
    from potato.user_state_management import InMemoryUserState

    rows = crowd.rows()
    for who in crowd.WORKERS:
        state = InMemoryUserState(who)
        state.advance_to_phase(UserPhase.ANNOTATION, "annotation")
        for task, label in [(task, label) for task, w, label in rows if w == who]:
            state.add_label_annotation(task, Label("mood", label), "true")
            state.add_label_annotation(task, Label("sure", "scale_3"), "3")
        state.save(str(folder / "annotation_output" / who))
    with zipfile.ZipFile(folder / "output.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((folder / "annotation_output").rglob("*.json")):
            archive.write(path, path.relative_to(folder).as_posix())
    sure = [(task, who, "3") for task, who, _ in rows]
    files = [
        crowd.File("output.zip", "potato", rows, {"question": "mood"}),
        crowd.File("annotation_output", "potato", sure, {"question": "sure"}),
    ]
    return crowd.tell(version("potato-annotation"), files)


def accept(folder: Path) -> dict[str, Any]:
    """Our votes.zip, unpacked: every user's state loaded by Potato."""
    from potato.user_state_management import InMemoryUserState

    with zipfile.ZipFile(folder / "votes.zip") as archive:
        archive.extractall(folder / "ours")
    rows = []
    for path in sorted((folder / "ours").iterdir()):
        state = InMemoryUserState.load(str(path))
        for task, labels in state.get_all_annotations().items():
            rows += [(task, state.get_user_id(), label.get_name()) for label in labels["labels"]]
    return {"valid": True, "rows": rows}


if __name__ == "__main__":
    crowd.run(sys.modules[__name__])
