"""The record of the kind: which of two items is more like a third."""

from __future__ import annotations

from ...core.kind import Kind
from .answers import TripletCoder, complete, told_by

KIND = Kind(
    name="triplets",
    people="triplets",
    columns={"head": "head", "left": "left", "right": "right", "closer": "closer"},
    coder=TripletCoder,
    default="crowd_embedding",
    answers_word="triplets",
    told_by=told_by,
    complete=complete,
    may_lack=("task", "worker"),
    doors={
        "describe": "crowdwise.scoring.triplets.shown:describe",
        "html": "crowdwise.plots.notebook:votes_html",
        "estimate": "crowdwise.kinds.triplets.estimate:TripletEstimate",
        "picture": "crowdwise.kinds.triplets.estimate:TripletWorkers",
        "infer": "crowdwise.aggregate.triplets.infer:infer",
        "evaluate": "crowdwise.scoring.triplets.evaluate:evaluate",
        "distance": "crowdwise.kinds.triplets.distance:distance",
        "said": "crowdwise.aggregate.triplets.infer:said",
        "known": "crowdwise.aggregate.triplets.infer:known",
        "truth": "crowdwise.aggregate.triplets.gold:read_truth",
        "decisions": "crowdwise.aggregate.triplets.decisions:decided",
        "calibrate": "crowdwise.aggregate.decisions.checked:calibrate",
        "trust": "crowdwise.scoring.decisions:trust",
        "sentences": "crowdwise.scoring.triplets.shown:sentences",
        "worker_rows": "crowdwise.workers.triplets.study:worker_rows",
        "show": "crowdwise.scoring.triplets.shown:show",
        "inspect": "crowdwise.scoring.triplets.shown:inspect",
        "study": "crowdwise.workers.triplets.study:study_triplets",
        "flags": "crowdwise.workers.triplets.study:flag_triplets",
        "compare": "crowdwise.scoring.alike.compare:compare_alike",
        "plots": "crowdwise.plots.shapes:TripletPlots",
        "page": "crowdwise.report.triplets.page:triplet_page",
    },
)
