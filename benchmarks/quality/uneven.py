"""Uneven planted classes: one-coin workers, few labels a task; the committee against the vote and hierarchical."""

from __future__ import annotations

from tests.crowds.uneven import SEEDS, accuracies

from ..markdown import figures


def uneven() -> str:
    """The table: accuracies in means over seeds."""
    rows = []
    for prior in ([0.9, 0.1], [0.95, 0.05]):
        for labels in (3, 5):
            means = accuracies(prior, labels)
            best = max(means["majority_vote"], means["hierarchical"])
            verdict = "PASS" if means["committee"] >= best - 0.005 else "MISSED"
            rows.append(
                [f"{prior[0]:.0%} : {prior[1]:.0%}, {labels} labels", *(f"{v:.3f}" for v in means.values()), verdict]
            )
    head = ["classes", "vote", "hierarchical", "committee", "committee at least the best less .005"]
    return f"1,000 tasks, 40 workers, accuracies .55 to .95, mean of {SEEDS} seeds.\n\n" + figures(head, rows)
