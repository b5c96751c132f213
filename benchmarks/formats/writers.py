"""`python -m benchmarks.formats.writers [--only NAMES] [--freeze FOLDER]`: the tools write and we read, and back.

Writes docs/benchmarks/formats.md. `--freeze` keeps what the tools wrote, with what it holds, for the tests.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import crowdwise as cw

from .. import DOCS
from ..environments import Environment
from .ours import GIVEN
from .page import page
from .running import JobError, answer_of

PAGE = DOCS / "formats.md"


@dataclass(frozen=True)
class Tool:
    """A package, the job that drives it, and the environment it is in."""

    name: str
    job: str
    environment: Environment


TOOLS = (
    Tool("label-studio-sdk", "label_studio",
         Environment("label-studio", ("label-studio-sdk==2.1.2",), module="label_studio_sdk.converter")),
    Tool("argilla", "argilla", Environment("argilla", ("argilla==2.8.0", "requests"), module="argilla")),
    Tool("datasets", "datasets", Environment("datasets", ("datasets==5.2.0",), module="datasets")),
    Tool("datumaro (CVAT's format)", "datumaro", Environment("datumaro", ("datumaro==1.13.12",), module="datumaro")),
    Tool("turkle (Mechanical Turk's format)", "turkle", Environment("turkle", ("turkle==3.1.0",), module="turkle")),
    Tool("toloka-kit", "toloka",
         Environment("toloka-kit", ("toloka-kit==1.2.3", "httpx<0.28", "cattrs<23", "pandas", "setuptools<80"),
                     module="toloka.client")),
    Tool("doccano", "doccano",
         Environment("doccano", ("Django<5", "django-polymorphic<4", "setuptools", "pandas"), ("doccano==1.8.4",),
                     module="backend, polymorphic, pandas")),
    Tool("potato-annotation", "potato",
         Environment("potato", ("potato-annotation==2.12.1",), module="potato.user_state_management")),
    Tool("cleanlab", "cleanlab", Environment("cleanlab", ("cleanlab==2.9.0",), module="cleanlab.multiannotator")),
    # Its labelling functions need no PyTorch, which it would bring along.
    Tool("snorkel", "snorkel",
         Environment("snorkel", ("numpy", "pandas", "scipy", "scikit-learn", "tqdm"), ("snorkel==0.10.0",),
                     module="snorkel.labeling")),
    Tool("by hand", "by_hand", Environment("none")),
)  # fmt: skip


def read(folder: Path, file: dict[str, Any]) -> tuple[int, bool]:
    """How many rows crowdwise finds, and whether format and rows are what was written and the ledger adds up."""
    reading = cw.read_all(folder / file["name"], **file["options"])
    table, ledger = reading.annotations.to_frame().select("task", "worker", "label"), reading.annotations.ledger
    found = sorted(tuple(map(str, row)) for row in table.iter_rows())
    whole = ledger.rows_in == ledger.rows_used + sum(ledger.dropped.values())
    return len(found), whole and reading.format == file["format"] and found == sorted(map(tuple, file["rows"]))


def written(tool: Tool, folder: Path) -> list[dict[str, Any]]:
    """One line a file that the tool wrote."""
    answer = answer_of(tool.environment.python, tool.job, "write", folder)
    lines = []
    for file in answer["files"]:
        try:
            rows, equal = read(folder, file)
        except cw.errors.CrowdwiseError as error:
            print(f"{tool.name}: {error}", file=sys.stderr)
            rows, equal = 0, False
        lines.append({"tool": tool.name, "version": answer["version"], **file, "found": rows, "equal": equal})
    return lines


def accepted(tool: Tool, folder: Path) -> dict[str, Any] | None:
    """What the tool makes of what we wrote for it."""
    if tool.job not in GIVEN:
        return None
    what, give = GIVEN[tool.job]
    rows = give(folder)
    answer = answer_of(tool.environment.python, tool.job, "accept", folder)
    equal = answer["valid"] and sorted(map(tuple, answer["rows"])) == sorted(rows)
    return {"tool": tool.name, "what": what, "rows": len(rows), "equal": equal}


def freeze(lines: list[dict[str, Any]], source: Path, target: Path) -> None:
    """The files of one tool under target, and what they hold in its manifest.json."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    kept = [{key: line[key] for key in ("name", "format", "options", "rows", "version")} for line in lines]
    (target / "manifest.json").write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    options = _parse()
    lines, given, missing = [], [], []
    for tool in TOOLS:
        if options.only and tool.job not in options.only.split(","):
            continue
        if not tool.environment.ready():
            missing.append(tool.name)
            continue
        with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as ours, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                mine = written(tool, Path(made))
                if options.freeze:
                    freeze(mine, Path(made), options.freeze / tool.job)
                lines += mine
                back = accepted(tool, Path(ours))
                given += [back] if back else []
            except JobError as error:
                print(error, file=sys.stderr)
                missing.append(tool.name)
    text = page(lines, given, missing)
    print(text)
    if not options.only:
        PAGE.write_text(text, encoding="utf-8")
    if missing or not all(line["equal"] for line in [*lines, *given]):
        sys.exit(1)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.formats.writers", description=__doc__)
    parser.add_argument("--only", metavar="NAMES", help=f"of {', '.join(tool.job for tool in TOOLS)}; no page then")
    parser.add_argument("--freeze", type=Path, metavar="FOLDER", help="keep the files: tests/written")
    return parser.parse_args()


if __name__ == "__main__":
    main()
