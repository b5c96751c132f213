"""The record of the kind: same or different."""

from __future__ import annotations

from ...core.kind import Kind
from .answers import SimilarityCoder
from .columns import complete, fits, told_by

KIND = Kind(
    name="similarities",
    people="same-or-different answers",
    columns={"left": "left", "right": "right", "same": "same"},
    coder=SimilarityCoder,
    default="clusters",
    answers_word="pairs",
    told_by=told_by,
    more_roles=("partition", "items"),
    fits_table=fits,
    complete=complete,
    may_lack=("task", "worker"),
    doors={
        "describe": "crowdwise.scoring.similarities.shown:describe",
        "html": "crowdwise.plots.notebook:votes_html",
        "estimate": "crowdwise.kinds.similarities.estimate:SimilarityEstimate",
        "picture": "crowdwise.kinds.similarities.estimate:SimilarityWorkers",
        "infer": "crowdwise.aggregate.similarities.infer:infer",
        "evaluate": "crowdwise.scoring.similarities.evaluate:evaluate",
        "distance": "crowdwise.kinds.similarities.distance:distance",
        "said": "crowdwise.aggregate.similarities.as_answers:said",
        "trust": "crowdwise.scoring.by_order:trust_clusters",
        "sentences": "crowdwise.scoring.similarities.shown:sentences",
        "worker_rows": "crowdwise.workers.similarities.rows:worker_rows",
        "show": "crowdwise.scoring.similarities.shown:show",
        "inspect": "crowdwise.scoring.similarities.shown:inspect",
        "study": "crowdwise.workers.similarities.study:study_similarities",
        "flags": "crowdwise.workers.similarities.study:flag_similarities",
        "compare": "crowdwise.scoring.alike.compare:compare_alike",
        "plots": "crowdwise.plots.shapes:ClusterPlots",
        "page": "crowdwise.report.similarities.page:similarity_page",
    },
)
