"""docs/benchmarks/formats.md."""

from __future__ import annotations

import platform
from datetime import date
from typing import Any

import crowdwise as cw

from ..markdown import table

HEAD = """\
# Formats
`python -m benchmarks.formats.writers` ({date}, crowdwise {crowdwise}, Python {python}). It makes an environment of its
own for every tool, lets the tool's own package write its exports of a made-up crowd (twelve tasks, four workers, names
like `007`, `=1+1`, `NA`, `a,b;c⇥d`, one with a line break, other alphabets), and reads them; then crowdwise writes and
the tool reads.

## The tool writes, crowdwise reads
Equal: the format is recognised (or as asked), the set of (task, worker, label) is the one that was written, and the
ledger adds up. `by hand`: no package is public, so the file is made with Python's csv and json modules from the
documented fields, with columns in another order, quotes everywhere, Windows' line ends, a byte order mark.

"""
SECOND = """

## crowdwise writes, the tool reads

"""
END = """

What stands where: Turkle is the self-hosted server that writes Mechanical Turk's results; CVAT itself is a server of
many parts, its format is written by datumaro; toloka-kit has only the client, so the server's answer is made by hand
with the fields that the client names, goes through `get_assignments_df` and is saved by pandas; of doccano the export
pipeline runs on a database in memory, not the web server around it. Prodigy is not public. The files of one run are
kept in `tests/written`, and the tests read them.
"""


def page(lines: list[dict[str, Any]], given: list[dict[str, Any]], missing: list[str]) -> str:
    """The whole page."""
    text = HEAD.format(date=date.today().isoformat(), crowdwise=cw.__version__, python=platform.python_version())
    text += table(
        ["tool", "version", "file", "read as", "rows", "equal"],
        [[x["tool"], x["version"], f"`{x['name']}`", x["format"], str(x["found"]), _word(x["equal"])] for x in lines],
    )
    text += SECOND
    text += table(
        ["tool", "what it is given", "rows", "equal"],
        [[x["tool"], x["what"], str(x["rows"]), _word(x["equal"])] for x in given],
    )
    if missing:
        text += f"\n\nNot run, the package could not be installed or did not work: {', '.join(missing)}."
    return text + END


def _word(equal: bool) -> str:
    return "yes" if equal else "**no**"
