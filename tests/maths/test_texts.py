"""Maths of texts: edits and GLEU against plain code, the vote on words, weights."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from crowdwise.kinds.texts.answers import join_words, letter_runs, plain_words, word_runs, written_words
from crowdwise.kinds.texts.maths import (
    Runs,
    edit_counts,
    edit_distance,
    gleu,
    medoid_rows,
    pairs_within,
    voted_words,
    weights_of,
)

TEXTS = ["the cat sat", "a cat sat down", "", "the the the", "cat", "sat the cat down on a mat today", "…"]


def edits(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], min(diagonal + (x != y), row[j] + 1, row[j - 1] + 1)
    return row[-1]


def grams(words):
    return Counter(tuple(words[i : i + n]) for n in range(1, 5) for i in range(len(words) - n + 1))


def test_edits_and_gleu_against_plain_code():
    rng = np.random.default_rng(0)
    texts = TEXTS + [" ".join(rng.choice(list("abcd"), size=rng.integers(0, 9))) for _ in range(40)]
    i, j = (each.ravel() for each in np.indices((len(texts),) * 2))
    words, letters = word_runs(texts), letter_runs(texts)
    split = [plain_words(text) for text in texts]
    assert edit_counts(words, i, j).tolist() == [edits(split[a], split[b]) for a, b in zip(i, j, strict=True)]
    joined = [" ".join(each) for each in split]
    assert edit_counts(letters, i, j).tolist() == [edits(joined[a], joined[b]) for a, b in zip(i, j, strict=True)]
    counted = [grams(each) for each in split]
    want = []
    for a, b in zip(i, j, strict=True):
        most = max(counted[a].total(), counted[b].total())
        want.append((counted[a] & counted[b]).total() / most if most else 1.0)
    np.testing.assert_allclose(gleu(words, i, j), want)
    assert (edit_distance(words, i, j) <= 1).all()


def test_words_as_written_come_back():
    text = "  «Well-known», said Ann: it's 3.5!"
    assert len(written_words(text)) == len(plain_words(text))
    assert join_words(written_words(text)).replace(" ", "") == text.replace(" ", "")
    assert written_words("…") == []


def test_pairs_and_the_middle():
    offsets = np.array([0, 3, 3, 4])
    i, j = pairs_within(offsets)
    assert sorted(zip(i.tolist(), j.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    assert medoid_rows(offsets, np.array([2.0, 1.0, 1.0, 0.0]), np.ones(4), np.array([5, 7, 6, 1])).tolist() == [
        2,
        -1,
        3,
    ]


@pytest.mark.parametrize("plain", [False, True])
def test_a_vote_on_words(plain):
    words = [[1, 2, 3], [1, 9, 3], [1, 2, 3, 4], [2, 3]]
    size = np.cumsum([0, *map(len, words)])
    runs = Runs(size, np.concatenate(words))
    at, row, place, share = voted_words(np.array([0, 4, 4]), np.arange(4), runs, np.ones(4), plain)
    assert at.tolist() == [0, 3, 3]
    assert [words[r][p] for r, p in zip(row, place, strict=True)] == [1, 2, 3]
    np.testing.assert_allclose(share, [0.75, 0.75, 1.0])


def test_weights_fall_with_errors():
    weight = weights_of(np.array([0.1, 0.2, 0.4, 0.0]), 1.0)
    assert weight[3] >= weight[0] > weight[1] > weight[2] > 0
    assert weight.mean() == pytest.approx(1)
