"""The record of the kind: outlines drawn on pictures."""

from __future__ import annotations

import polars as pl

from ...core.kind import Kind
from .answers import NAMES, OutlineCoder, claims, fits, told_by

KIND = Kind(
    name="outlines",
    people="outlines",
    columns={"outlines": NAMES},
    coder=OutlineCoder,
    default="outline_vote",
    answers_word="answers with outlines",
    told_by=told_by,
    fits=fits,
    claims=claims,
    dtypes=(pl.String(),),
    blank="[]",
    doors={
        "describe": "crowdwise.scoring.outlines.shown:describe",
        "html": "crowdwise.plots.notebook:votes_html",
        "estimate": "crowdwise.kinds.outlines.estimate:OutlineEstimate",
        "picture": "crowdwise.kinds.outlines.estimate:OutlineWorkers",
        "infer": "crowdwise.aggregate.outlines.base:infer",
        "evaluate": "crowdwise.scoring.outlines.evaluate:evaluate",
        "distance": "crowdwise.kinds.outlines.distance:distance",
        "said": "crowdwise.aggregate.outlines.base:said",
        "known": "crowdwise.aggregate.outlines.gold:known",
        "decisions": "crowdwise.aggregate.outlines.decisions:decided",
        "calibrate": "crowdwise.aggregate.decisions.checked:calibrate",
        "trust": "crowdwise.scoring.decisions:trust",
        "sentences": "crowdwise.scoring.outlines.shown:sentences",
        "worker_rows": "crowdwise.scoring.outlines.shown:worker_rows",
        "show": "crowdwise.scoring.outlines.shown:show",
        "inspect": "crowdwise.scoring.outlines.shown:inspect",
        "study": "crowdwise.workers.alike.study:study_alike",
        "flags": "crowdwise.workers.alike.study:flag_alike",
        "compare": "crowdwise.scoring.alike.compare:compare_alike",
        "plots": "crowdwise.plots.shapes:OutlinePlots",
        "page": "crowdwise.report.outlines.page:outline_page",
    },
)
