"""The record of the kind: boxes drawn on pictures."""

from __future__ import annotations

import polars as pl

from ...core.kind import Kind
from .answers import NAMES, BoxCoder, claims, fits, told_by

KIND = Kind(
    name="boxes",
    people="boxes",
    columns={"boxes": NAMES},
    coder=BoxCoder,
    default="box_clusters",
    answers_word="answers with boxes",
    told_by=told_by,
    fits=fits,
    claims=claims,
    dtypes=(pl.String(),),
    blank="[]",
    doors={
        "describe": "crowdwise.scoring.boxes.shown:describe",
        "html": "crowdwise.plots.notebook:votes_html",
        "estimate": "crowdwise.kinds.boxes.estimate:BoxEstimate",
        "picture": "crowdwise.kinds.boxes.estimate:BoxWorkers",
        "infer": "crowdwise.aggregate.boxes.infer:infer",
        "evaluate": "crowdwise.scoring.boxes.evaluate:evaluate",
        "distance": "crowdwise.kinds.boxes.distance:distance",
        "decisions": "crowdwise.aggregate.boxes.decisions:decided",
        "calibrate": "crowdwise.aggregate.decisions.checked:calibrate",
        "trust": "crowdwise.scoring.decisions:trust",
        "sentences": "crowdwise.scoring.boxes.shown:sentences",
        "worker_rows": "crowdwise.workers.boxes.rows:worker_rows",
        "show": "crowdwise.scoring.boxes.shown:show",
        "inspect": "crowdwise.scoring.boxes.shown:inspect",
        "said": "crowdwise.aggregate.boxes.as_answers:said",
        "known": "crowdwise.aggregate.boxes.as_answers:known",
        "study": "crowdwise.workers.boxes.study:study_boxes",
        "flags": "crowdwise.workers.boxes.study:flag_boxes",
        "compare": "crowdwise.scoring.alike.compare:compare_alike",
        "plots": "crowdwise.plots.shapes:BoxPlots",
        "page": "crowdwise.report.boxes.page:box_page",
    },
)
