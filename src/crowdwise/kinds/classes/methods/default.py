"""The default method for class labels."""

from __future__ import annotations

from typing import Any

from ....core import method_registry as registry
from ....core.truth import truth_table
from ....core.vocabulary import lookup
from ..annotations import Annotations
from .judges import ENOUGH, all_models


def class_default(votes: Annotations, gold: Any = None) -> str:
    """Return the default method for class labels.

    Judges that are all models err together: they get a vote by model family without gold, and a stack with enough of
    it. Ordered classes have a default of their own.
    """
    if all_models(votes):
        if gold is None:
            return "family_vote"
        if int(lookup(votes.tasks, truth_table(gold)["task"])[1].sum()) >= ENOUGH:
            return "judge_stack"
    return registry.DEFAULT if votes.answers.order is None else "ordinal_committee"
