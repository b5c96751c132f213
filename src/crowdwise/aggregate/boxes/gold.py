"""Known boxes of some pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import quote
from ...core.votes import Votes
from ...kinds.boxes.answers import BoxCoder, Boxes
from ...maths.boxes.objects import Truth


def box_truth(truth: Any) -> tuple[pl.Series, Boxes]:
    """Any way to write down the boxes of pictures: the tasks, and their boxes."""
    if isinstance(truth, dict):
        truth = pl.DataFrame({"task": pl.Series(list(truth)), "boxes": BoxCoder({"boxes": list(truth.values())}).texts})
    table = truth_table(truth, ("boxes",), like=("label",))
    try:
        boxes = BoxCoder({"boxes": table["boxes"]}).finish()
    except DataError as error:
        raise DataError(f"the truth: {error}") from None
    return table["task"], boxes


def box_gold(gold: Any, votes: Votes[Boxes]) -> tuple[Truth | None, pl.Series, npt.NDArray[np.bool_] | None]:
    """(the known boxes, all classes, which pictures are known). Codes of the votes' classes stay as they are: a class
    that only gold has comes last."""
    tags = votes.answers.tags
    if gold is None:
        return None, tags, None
    names, boxes = box_truth(gold)
    task, known = place_gold(names.to_frame("task"), votes.tasks)
    if len(boxes.corner) and tags.to_list() != [""] and boxes.tags.to_list() == [""]:
        raise DataError(f"the gold boxes have no classes, but those of the votes have ({quote(tags)})")
    more = [name for name in boxes.tags.to_list() if name not in set(tags.to_list())]
    own = [*tags.to_list(), *(more if len(boxes.corner) else [])]
    place = {name: i for i, name in enumerate(own)}
    rows = np.flatnonzero(known)[np.argsort(task[known], kind="stable")]
    sorted_boxes = boxes.take(rows)
    size = np.zeros(votes.n_tasks, dtype=np.int64)
    size[task[rows]] = sorted_boxes.size
    told = np.zeros(votes.n_tasks, dtype=bool)
    told[task[rows]] = True
    code = np.array([place.get(name, 0) for name in boxes.tags.to_list()], dtype=np.int64)
    truth = Truth(told, size, np.array(sorted_boxes.corner), code[sorted_boxes.tag])
    return truth, pl.Series("tag", own, dtype=pl.String), told
