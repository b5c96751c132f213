"""The docs' tables of parameters, made from the declarations: `python -m tests.docs.parameters` writes them again."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from crowdwise.core import method_registry as registry
from crowdwise.core.params import Param, of
from crowdwise.core.paramtext import describe, shown
from tests.data import ROOT

HEAD = "| parameter | takes | default |\n|---|---|---|\n"
TABLE = re.compile(re.escape(HEAD) + r"(?:\|.*\n)*")
LEARN = ROOT / "docs" / "learn" / "methods.md"


def table(params: Iterable[Param]) -> str:
    """A row for each parameter; nothing for none."""
    rows = "".join(f"| `{each.name}` | {describe(each)} | {shown(each.default)} |\n" for each in params)
    return HEAD + rows if rows else ""


def page_of(name: str) -> Path:
    return ROOT / "docs" / "methods" / f"{name}.md"


def section_of(name: str) -> str:
    """What docs/learn/methods.md says of a training method."""
    return re.search(rf"^## {name}\n.*?(?=^## |\Z)", LEARN.read_text(encoding="utf-8"), re.S | re.M).group(0)


def of_learner(name: str) -> list[Param]:
    from crowdwise.learn.fitting import method_class, method_parameters

    return list(method_parameters(method_class(name)).values())


def write() -> None:
    for name in registry.METHODS:
        page = page_of(name)
        text = TABLE.sub("", page.read_text(encoding="utf-8"))
        paragraph = re.search(r"^\*\*Parameters\.\*\*(?:.+\n)+\n*", text, re.M)
        new = paragraph.group(0).rstrip("\n") + "\n\n" + table(of(registry.get(name)).values()) + "\n"
        page.write_text(text.replace(paragraph.group(0), new), encoding="utf-8")
    for name in registry.LEARNERS:
        old, text = section_of(name), LEARN.read_text(encoding="utf-8")
        rows = table(of_learner(name))
        plain = TABLE.sub("", old).rstrip("\n")
        LEARN.write_text(text.replace(old, f"{plain}\n\n{rows}\n" if rows else f"{plain}\n\n"), encoding="utf-8")
    LEARN.write_text(LEARN.read_text(encoding="utf-8").rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
