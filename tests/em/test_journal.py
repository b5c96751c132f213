"""A fit that is cut off goes on where it stood, to the same bits; a journal of another fit is not taken for its own."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.em.journal import Journal, LoopCheckpoint
from tests.conftest import planted


class Cut(Exception):
    pass


def cut_after(n):
    passes = 0

    def callback(iteration, objective):
        nonlocal passes
        passes += 1
        if passes == n:
            raise Cut

    return callback


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("dawid_skene", {}),
        ("dawid_skene", {"accelerate": True}),
        ("dawid_skene", {"n_init": 3}),
        ("hierarchical", {}),
        ("raykar_yu", {}),
        ("mace", {"n_init": 3}),
        ("ibcc", {}),
    ],
)
def test_a_fit_that_was_cut_off_goes_on_to_the_same_bits(tmp_path, name, params):
    votes, _, _ = planted(200, 12, 3, 4, seed=2)
    method = cw.method(name, **params)
    whole = method.fit(votes)
    for n in (1, 2, 3, 5, 8):
        with suppress(Cut), Journal(tmp_path / f"j{n}", name).open():
            method.fit(votes, callback=cut_after(n))
        with Journal(tmp_path / f"j{n}", name).open() as journal:
            found = method.fit(votes)
        assert journal.resumed >= (n - 1 if name == "dawid_skene" and not params else 0)
        assert np.array_equal(found.posterior, whole.posterior)
        assert np.array_equal(found.trace, whole.trace)
        assert found.n_iter == whole.n_iter


@pytest.mark.parametrize("name", ["glad", "zero_based_skill", "iwmv", "log_odds_vote"])
def test_loops_that_are_not_em_go_on_too(tmp_path, monkeypatch, name):
    votes, _, _ = planted(200, 30, 3, 3, seed=2)
    method, write = cw.method(name), LoopCheckpoint.write
    whole = method.fit(votes)
    for n in range(1, min(whole.n_iter, 7)):
        times = []

        def cut(notes, *given, stop=n, times=times, **arrays):
            write(notes, *given, **arrays)
            times.append(1)
            if len(times) == stop:
                raise Cut

        monkeypatch.setattr(LoopCheckpoint, "write", cut)
        with pytest.raises(Cut), Journal(tmp_path / f"j{n}", name).open():
            method.fit(votes)
        monkeypatch.setattr(LoopCheckpoint, "write", write)
        with Journal(tmp_path / f"j{n}", name).open() as journal:
            found = method.fit(votes)
        assert journal.resumed == n
        assert np.array_equal(found.posterior, whole.posterior)
        assert found.n_iter == whole.n_iter
    assert whole.n_iter > 1


def test_a_finished_fit_is_not_made_again(tmp_path):
    votes, _, _ = planted(100, 8, 3, 4, seed=2)
    seen: list[int] = []
    counts = []
    for _ in range(2):
        with Journal(tmp_path / "j", "it").open():
            cw.method("dawid_skene").fit(votes, callback=lambda i, _: seen.append(i))
        counts.append(len(seen))
    assert counts[0] == counts[1] > 2


def test_another_fit_begins_anew(tmp_path):
    votes, _, _ = planted(100, 8, 3, 4, seed=2)
    with Journal(tmp_path / "j", {"smoothing": 1}).open():
        cw.method("dawid_skene", smoothing=1).fit(votes)
    with Journal(tmp_path / "j", {"smoothing": 0.01}).open() as journal:
        found = cw.method("dawid_skene").fit(votes)
    assert journal.resumed == 0
    assert np.array_equal(found.posterior, cw.method("dawid_skene").fit(votes).posterior)
