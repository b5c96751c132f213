"""crowd-kit's faces for texts: what crowd-kit 1.4.2 (pandas 2.2) itself says of these answers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from crowdwise.compat.crowdkit.aggregation.embeddings import HRRASA, ClosestToAverage
from crowdwise.compat.crowdkit.aggregation.texts import ROVER, TextHRRASA, TextRASA

WORDS = ("a", "bb", "ccc", "the", "cat", "sat")
SAID = [
    ("the cat ccc", "cat cat a cat", "cat ccc cat cat", "a the a bb ccc"),
    ("cat cat a a bb", "cat cat bb ccc bb", "cat the bb a bb", "cat ccc bb a bb"),
    ("cat ccc ccc a a", "ccc ccc a sat", "cat a a", "cat ccc ccc a a"),
    ("the cat", "sat bb cat cat cat", "bb bb cat cat", "bb the cat cat"),
    ("ccc the the the ccc", "the the ccc", "the cat the bb ccc", "the the the ccc"),
    ("bb the the a sat", "a ccc the a sat", "the bb the sat", "a cat ccc sat"),
]


def data():
    rows = [(t, f"w{w}", text) for t, texts in enumerate(SAID) for w, text in enumerate(texts)]
    return pd.DataFrame(rows, columns=["task", "worker", "text"])


def encoder(text):
    return np.array([*(text.split().count(word) for word in WORDS), 1.0])


def test_rover():
    found = ROVER(str.split, " ".join).fit_predict(data())
    assert found.to_list() == ["the cat ccc", "cat cat bb a bb", "cat ccc ccc a a", "bb bb cat cat", "the the the ccc",
                               "a the the a sat"]  # fmt: skip
    assert (found.name, found.index.name) == ("agg_text", "task")


def test_text_rasa():
    aggregator = TextRASA(encoder)
    found = aggregator.fit_predict(data())
    assert found.to_list() == [texts[0] for texts in SAID]
    want = {"w0": 1444937.533545, "w1": 0.498269, "w2": 0.602074, "w3": 0.722491}
    assert aggregator.skills_.sort_index().to_dict() == pytest.approx(want, rel=1e-4)


def test_a_text_is_encoded_once_and_a_missing_one_by_the_encoder():
    seen = []
    rows = data()
    rows.loc[len(rows)] = [0, "w9", None]
    TextRASA(lambda text: seen.append(text) or encoder(text if isinstance(text, str) else "")).fit_predict(rows)
    assert len(seen) == len({text for texts in SAID for text in texts}) + 1
    assert sum(not isinstance(text, str) for text in seen) == 1


def test_closest_to_average():
    rows = data().rename(columns={"text": "output"}).assign(embedding=lambda d: [encoder(t) for t in d["output"]])
    found = ClosestToAverage(lambda a, b: float(np.abs(a - b).sum())).fit_predict(rows)
    assert found["output"].to_list() == ["the cat ccc", "cat ccc bb a bb", "cat ccc ccc a a", "bb the cat cat",
                                         "the the ccc", "bb the the a sat"]  # fmt: skip


def test_hrrasa_prefers_what_others_say():
    """No figures of crowd-kit's: its GLEU gets the second text uncut and compares words with letters."""
    aggregator = TextHRRASA(encoder, calculate_ranks=True)
    found = aggregator.fit_predict(data())
    assert set(found) <= {text for texts in SAID for text in texts}
    assert aggregator.ranks_.shape == (24, 3)
    alone = data().iloc[[0]]
    assert TextHRRASA(encoder).fit_predict(alone).to_list() == ["the cat ccc"]


def test_known_texts_and_missing_columns():
    known = pd.Series({0: "cat cat a cat"})
    assert TextRASA(encoder).fit_predict(data(), known).loc[0] == "cat cat a cat"
    with pytest.raises(KeyError, match="no column 'text'"):
        ROVER(str.split, " ".join).fit(data().drop(columns="text"))
    with pytest.raises(ValueError, match="a task twice"):
        HRRASA().fit(data().assign(output="x", embedding=[np.ones(1)] * 24), pd.Series([1, 2], index=[0, 0]))
