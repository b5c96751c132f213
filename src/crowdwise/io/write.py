"""Result to the files that people open: labels.csv, workers.csv, confusion.csv, ledger.json."""

from __future__ import annotations

import json
from pathlib import Path

from ..core.errors import unwritable
from ..core.ledger import Ledger
from ..core.result import Result
from .csv.cells import to_csv
from .store import FILES, refuse_to_overwrite

TABLES = ("labels.csv", "workers.csv", "confusion.csv", "ledger.json")


def write_run(result: Result, ledger: Ledger, folder: str | Path, *, force: bool = False) -> list[str]:
    """Everything about one run in one folder; returns the names of the files."""
    folder = Path(folder)
    refuse_to_overwrite(folder, TABLES + FILES, force)
    result.save(folder, force=force)
    written = list(TABLES)
    try:
        to_csv(result.to_table(), folder / "labels.csv")
        to_csv(result.worker_table(), folder / "workers.csv")
        if result.confusion is not None:
            to_csv(result.confusion_table(), folder / "confusion.csv")
        else:
            written.remove("confusion.csv")
            (folder / "confusion.csv").unlink(missing_ok=True)
        text = json.dumps(ledger.to_dict(), indent=2, ensure_ascii=False) + "\n"
        (folder / "ledger.json").write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritable(folder, error) from error
    return [*written, *FILES]
