"""Labels saved by adaptive overlap."""

from __future__ import annotations

from benchmarks.active import saving
from crowdwise import active
from crowdwise.active import Settings, Stopping


def test_adaptive_overlap_saves_labels_and_keeps_its_word():
    """The short form of `python -m benchmarks.active saving`: one crowd instead of twenty."""
    share, sure, right = [], 0, 0
    for seed in range(1):
        truth, table = saving.planted(seed)
        fixed = active.simulate(truth, table, "round_robin", stop=saving.FIXED, until=0.95, seed=seed).needed(0.95)
        stop, settings = Stopping(target=0.95, cap=40), Settings(load=160)
        trial = active.simulate(truth, table, "information", choose=True, stop=stop, settings=settings, seed=seed)
        share.append(trial.needed(0.95) / fixed)
        n, hit = trial.sure_and_right
        sure, right = sure + n, right + hit
    assert max(share) <= 0.6
    assert sure > 380
    assert right / sure >= 0.94
