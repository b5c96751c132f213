"""crowd-kit's pairwise faces: the maximum of the likelihood, and gradients that are those of the model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import crowdwise as cw
from crowdwise.compat.crowdkit.aggregation.pairwise import BradleyTerry, NoisyBradleyTerry


@pytest.fixture(scope="module")
def crowd():
    own = cw.simulate.scenario("comparisons_random", tasks=400, workers=15, labels=6, seed=1)
    frame = own.votes.to_frame()
    label = np.where(frame["winner"] == "left", frame["left"], frame["right"])
    return own, pd.DataFrame(
        {"worker": frame["worker"], "left": frame["left"], "right": frame["right"], "label": label}
    )


def test_bradley_terry_reaches_the_maximum(crowd):
    own, data = crowd
    scores = BradleyTerry(n_iter=20_000, tol=1e-12).fit_predict(data)
    assert scores.sum() == pytest.approx(1)
    ours = cw.comparisons.BradleyTerry(strength=1e-9).fit(own.votes)
    log = np.log(scores[ours.items.to_list()].to_numpy())
    np.testing.assert_allclose(log - log.mean(), ours.score - ours.score.mean(), atol=1e-4)


def test_noisy_bradley_terry_tells_who_guesses(crowd):
    own, data = crowd
    face = NoisyBradleyTerry(n_iter=300).fit(data)
    kind = pd.Series(own.kind, index=own.votes.workers.to_list())[face.skills_.index]
    assert face.skills_[kind == "random"].max() < face.skills_[kind == "honest"].min()
    truth = pd.Series(own.truth, index=own.items.to_list())[face.scores_.index]
    assert np.corrcoef(face.scores_.rank(), truth.rank())[0, 1] > 0.9
    assert face.scores_.between(0, 1).all()


def test_bad_frames(crowd):
    with pytest.raises(KeyError, match="left"):
        BradleyTerry(10).fit(pd.DataFrame({"right": ["a"], "label": ["a"]}))
    with pytest.raises(ValueError, match="neither its left nor its right"):
        BradleyTerry(10).fit(pd.DataFrame({"left": ["a"], "right": ["b"], "label": ["c"]}))
    assert len(BradleyTerry(10).fit_predict(pd.DataFrame({"left": [], "right": [], "label": []}))) == 0
