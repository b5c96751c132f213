"""Workers left out: every row is accounted for, and ids keep their types."""

from __future__ import annotations

import crowdwise as cw
from crowdwise import workers
from crowdwise.kinds.classes.workers.removal import REASON
from crowdwise.workers.flags import Flag


def test_removal_accounts_for_every_row_and_lists_orphans():
    votes = cw.Annotations.from_arrays([1, 1, 2, 3, 3], [*"abacb"], [*"xyxyy"])
    flags = [Flag("a", "random", 0.99), Flag("b", "drift", None, 0.001), Flag("c", "unknown")]
    kept = workers.drop_flagged(votes, flags)
    assert kept.workers == ("a",)
    assert kept.orphans == (2,)
    assert kept.n_labels == 1
    assert len(kept.annotations) == 4
    assert kept.annotations.ledger.dropped[REASON] == 1
    assert kept.annotations.ledger.rows_in == 5
    gone = workers.drop_flagged(votes, flags, orphans="drop")
    assert len(gone.annotations) == 3
    assert gone.annotations.labels_per_task.tolist() == [1, 0, 2]
    assert "without any label" in " ".join(gone.sentences())
    named = workers.drop_flagged(votes, flags, names=("drift",))
    assert named.workers == ("b",)
    nobody = workers.drop_flagged(votes, [])
    assert len(nobody.annotations) == 5
    assert nobody.sentences() == ["no worker is left out, with 0 labels"]


def test_removal_keeps_ids_of_other_types():
    votes = cw.Annotations.from_arrays([1, 1, 2], [10, 20, 10], ["x", "y", "x"])
    out = workers.drop_flagged(votes, [Flag(20, "constant", 0.95)])
    assert out.workers == (20,)
    assert out.to_dict()["reasons"] == {"20": ["constant"]}
