"""What a file of votes holds, for people: sizes, what was said, and what to watch out for."""

from __future__ import annotations

from typing import Any

from .scored import Table

Row = list[str]


def inspect_classes(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:
    """Rows for the table of sizes, tables, and advice."""
    agreement, several = facts["pairwise_agreement"], facts["tasks_with_several_labels"]
    rows = [
        ["classes", f"{facts['classes']:,}"],
        ["tasks with several labels", f"{several:,} ({facts['tasks_unanimous'] or 0:,} unanimous)"],
        ["two labels of a task agree", "–" if agreement is None else f"{agreement:.1%}"],
    ]
    counts = sorted(facts["class_counts"].items(), key=lambda item: -item[1])
    total = max(facts["annotations"], 1)
    said = [[str(name), f"{n:,}", f"{n / total:.1%}"] for name, n in counts[:limit]]
    if len(counts) > limit:
        said.append([f"… {len(counts) - limit:,} more", "", ""])
    advice = []
    if facts["classes"] == 1:
        advice.append("there is only one class: is the label column the right one?")
    if facts["classes"] > 100 and facts["classes"] > facts["annotations"] / 20:
        advice.append("there are almost as many classes as labels: is the label column the right one?")
    return rows, [Table("Classes", ["class", "labels", "share"], said)], advice


def inspect_numbers(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:  # noqa: ARG001
    """The same for numbers."""
    parts = [name for name in facts if name == "value" or name.startswith("value_")]
    rows = [["tasks with several answers", f"{facts['tasks_with_several_labels']:,}"]]
    header = ["", "lowest", "median", "mean", "highest", "spread", "within tasks", "different"]
    keys = ("min", "median", "mean", "max", "sd", "sd_within_tasks")
    table = [
        [name, *(f"{facts[name][key]:.4g}" for key in keys), f"{facts[name]['different_values']:,}"] for name in parts
    ]
    advice = []
    for name in parts:
        if facts[name]["different_values"] == 1:
            advice.append(f"{name} is the same in every row: is it the right column?")
        elif facts[name]["sd_within_tasks"] >= facts[name]["sd"] * 0.999:
            advice.append(f"{name} differs within tasks as much as between them: do the task ids match?")
    return rows, [Table("Numbers", header, table)], advice
