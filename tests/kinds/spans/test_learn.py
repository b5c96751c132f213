"""The sequence crowd layer: planted tags found in new sentences, taggings that are some, masks, files, errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import crowdwise as cw
from crowdwise.kinds.spans.learn import Sentences, SequenceCrowd, SequenceData, SequenceLayer
from crowdwise.learn import CrowdTagger
from crowdwise.learn.method import Output

TAGS = ("LOC", "PER")


def spans_of(path):
    found, at = [], 0
    while at < len(path):
        end = at + 1
        if path[at] % 2 == 1:
            while end < len(path) and path[end] == path[at] + 1:
                end += 1
            found.append([at, end, TAGS[path[at] // 2]])
        at = end
    return found


def sentence(rng, n):
    path = np.zeros(n, dtype=np.int64)
    at = 0
    while at < n:
        if rng.random() < 0.4:
            tag, end = rng.integers(0, 2), min(n, at + rng.integers(1, 4))
            path[at], path[at + 1 : end] = 1 + 2 * tag, 2 + 2 * tag
            at = end
        at += 1
    return path


def planted(seed=0, train=120, test=80, workers=9, spammers=4, each=3):
    """Features around a point of each tag; spammers mark nothing (who want to be done soon) or anything."""
    rng = np.random.default_rng(seed)
    paths = [sentence(rng, int(rng.integers(3, 12))) for _ in range(train + test)]
    middle = 2.0 * rng.normal(size=(5, 8))
    x = [(middle[path] + rng.normal(size=(len(path), 8))).astype(np.float32) for path in paths]
    task, worker, said = [], [], []
    for i in range(train):
        for w in rng.permutation(workers)[:each]:
            path = paths[i]
            if w < spammers and w % 2:
                path = sentence(rng, len(path))
            elif w < spammers:
                path = 0 * path
            task.append(i), worker.append(int(w)), said.append(spans_of(path))
    truth = [np.array(["O", "B-LOC", "I-LOC", "B-PER", "I-PER"])[path] for path in paths]
    return x, truth, cw.spans.span_votes(task, worker, said, tasks=range(train)), train


def test_new_sentences_are_tagged_better_than_by_the_majority():
    x, truth, votes, n = planted(1)
    how = {"epochs": 25, "lr": 0.02, "seed": 1}
    ours = CrowdTagger("linear", **how).fit(x[:n], votes)
    base = CrowdTagger("linear", "majority_tags", **how).fit(x[:n], votes)
    assert ours.score(x[n:], truth[n:]) > base.score(x[n:], truth[n:]) + 0.02
    table = ours.worker_table()
    found = table["recall"].to_numpy()
    assert found[:4].max() < 0.5 < found[4:].min()
    assert table["n_labels"].sum() == len(votes)


SWAPPED = np.array([0, 3, 4, 1, 2])


def swapped(seed, train=120, test=80, workers=9, each=3):
    """Two of nine workers swap the two tags, three tag at random."""
    rng = np.random.default_rng(seed)
    paths = [sentence(rng, int(rng.integers(3, 12))) for _ in range(train + test)]
    middle = 2.0 * rng.normal(size=(5, 8))
    x = [(middle[path] + rng.normal(size=(len(path), 8))).astype(np.float32) for path in paths]
    task, worker, said = [], [], []
    for i in range(train):
        for w in rng.permutation(workers)[:each]:
            path = SWAPPED[paths[i]] if w < 2 else sentence(rng, len(paths[i])) if w < 5 else paths[i]
            task.append(i), worker.append(int(w)), said.append(spans_of(path))
    truth = [np.array(["O", "B-LOC", "I-LOC", "B-PER", "I-PER"])[path] for path in paths]
    return x, truth, cw.spans.span_votes(task, worker, said, tasks=range(train)), train


@pytest.mark.parametrize("method", ["sequence_confusion", "sequence_layer"])
def test_workers_who_swap_tags_are_understood(method):
    x, truth, votes, n = swapped(101)
    how = {"epochs": 20, "lr": 0.02, "seed": 101}
    ours = CrowdTagger("linear", method, **how).fit(x[:n], votes)
    base = CrowdTagger("linear", "majority_tags", **how).fit(x[:n], votes)
    assert ours.score(x[n:], truth[n:]) > max(0.95, base.score(x[n:], truth[n:]) + 0.01)
    with torch.no_grad():
        confusion = ours.model_.method.confusion().numpy()
    assert (confusion[:2, 1, 3] > 0.3).all()  # of a B-LOC they say B-PER
    assert confusion[5:, 1, 3].max() < 0.1
    # With their answers, the training's sentences are known better than from the features alone.
    together = ours.result_.estimate.spans
    right = [
        set(spans) == {tuple(s) for s in spans_of_tags(tags)} for spans, tags in zip(together, truth, strict=False)
    ]
    assert np.mean(right) > 0.9


def spans_of_tags(tags):
    code = {"O": 0, "B-LOC": 1, "I-LOC": 2, "B-PER": 3, "I-PER": 4}
    return [tuple(each) for each in spans_of(np.array([code[tag] for tag in tags]))]


def test_tokens_may_stand_in_characters():
    x, _, votes, n = planted(6, train=30, test=10)
    width = 5  # every token has four characters and a blank
    places = [np.stack([width * np.arange(len(t)), width * np.arange(len(t)) + 4], axis=1) for t in x]
    far = [[[width * a, width * b - 1, tag] for a, b, tag in spans] for spans in _lists(votes)]
    by_characters = cw.spans.span_votes(votes.task, votes.worker, far, tasks=range(n))
    how = {"epochs": 3, "validation": 0}
    one = CrowdTagger("linear", **how).fit(x[:n], votes)
    two = CrowdTagger("linear", **how).fit(x[:n], by_characters, places=places[:n])
    tokens, characters = one.predict_spans(x[n:]), two.predict_spans(x[n:], places=places[n:])
    assert [[(width * a, width * b - 1, tag) for a, b, tag in each] for each in tokens] == characters
    with pytest.raises(cw.DataError, match="marks no token"):
        CrowdTagger("linear").fit(
            x[:n], cw.spans.span_votes([0], ["a"], [[[4, 5, "PER"]]]), tasks=range(n), places=places[:n]
        )
    turned = [each[::-1] for each in places]
    with pytest.raises(cw.DataError, match="in text order"):
        CrowdTagger("linear").fit(x[:n], by_characters, places=turned[:n])


def _lists(votes):
    rows, tags = votes.answers.rows, votes.answers.tags.to_list()
    return [
        [(rows.start[i], rows.end[i], tags[rows.tag[i]]) for i in range(*rows.offsets[r : r + 2])]
        for r in range(len(votes))
    ]


def test_overlapping_tags_are_said():
    votes = cw.spans.span_votes([0, 1], ["a", "a"], [[[0, 2, "A"], [1, 3, "B"]], []])
    with pytest.warns(cw.CrowdwiseWarning, match="in 1 of 2 answers spans of different tags overlap"):
        CrowdTagger("linear", epochs=1, validation=0).fit([np.eye(3), np.eye(3)], votes)


def test_what_is_decoded_is_always_a_tagging():
    x, _, votes, n = planted(2, train=40, test=10)
    fitted = CrowdTagger("linear", epochs=1, validation=0).fit(x[:n], votes)
    with torch.no_grad():
        for p in fitted.model_.net.parameters():
            p.normal_(0, 3)  # a net that says anything
    rng = np.random.default_rng(0)
    new = [rng.normal(size=(int(m), 8)) for m in rng.integers(1, 15, 200)]
    raw_breaks = 0
    for tags, proba, spans in zip(
        fitted.predict(new), fitted.predict_proba(new), fitted.predict_spans(new), strict=True
    ):
        for path, counts in ((tags, True), (fitted.tags_[proba.argmax(1)], False)):
            for before, tag in zip(["O", *path[:-1]], path, strict=True):
                wrong = tag[0] == "I" and before[1:] != tag[1:]
                assert not (wrong and counts)
                raw_breaks += bool(wrong)
        assert sum(b - a for a, b, _ in spans) == (tags != "O").sum()
        assert all(tags[a] == f"B-{name}" for a, _, name in spans)
    assert raw_breaks > 50  # token by token it would not have been


def test_padding_and_missing_labels_are_two_things():
    rng = np.random.default_rng(0)
    x = [rng.normal(size=(m, 2)).astype(np.float32) for m in (2, 4)]
    votes = cw.spans.span_votes([0, 1, 1], ["a", "a", "b"], [[[0, 1, "T"]], [], [[1, 3, "T"]]])
    sentences = Sentences.of(x)
    crowd = SequenceCrowd.of(votes, np.arange(2), sentences)
    data = SequenceData(sentences, crowd)
    batch = data.batch(torch.tensor([1, 0]))
    assert batch.x.shape == (2, 4, 3)
    assert batch.x[1, 2:].abs().sum() == 0
    method = SequenceLayer(crowd, start="eye")
    logits = torch.from_numpy(rng.normal(size=(6, 3)).astype(np.float32))
    proba = torch.softmax(logits, 1)
    said = torch.log_softmax(proba, 1)  # the identity
    expected = -(said[:4, 0].sum() + said[[0, 1, 2, 3], [0, 1, 2, 0]].sum() + said[4, 1] + said[5, 0]) / 10
    found = method.loss(Output(logits), batch)["cross_entropy"]
    torch.testing.assert_close(found, expected)
    quiet = data.batch(torch.tensor([1, 0])).only(batch.worker == 1)  # a's labels are missing: fewer rows, same tokens
    assert len(method.log_likelihood(Output(logits), quiet)) == 4


class Reader(nn.Module):
    """A net that reads whole sentences."""

    sentences = True

    def __init__(self, shape, outputs):
        super().__init__()
        self.layer = nn.Conv1d(shape[0], outputs, 3, padding=1)

    def forward(self, x, mask):
        assert x.shape[:2] == mask.shape
        return self.layer(x.transpose(1, 2)).transpose(1, 2)


def test_a_net_may_read_whole_sentences():
    x, truth, votes, n = planted(3, train=60, test=20, spammers=0)
    fitted = CrowdTagger(Reader, epochs=15, lr=0.02, validation=0).fit(x[:n], votes)
    assert fitted.score(x[n:], truth[n:]) > 0.75
    long, short = np.concatenate([x[n], x[n]]), x[n]
    alone, beside = fitted.predict_proba([short])[0], fitted.predict_proba([short, long])[0]
    np.testing.assert_allclose(alone, beside, atol=1e-5)


def test_saved_and_resumed(tmp_path):
    x, _, votes, n = planted(4, train=30, test=10)
    fitted = CrowdTagger("linear", epochs=4, folder=tmp_path / "c").fit(x[:n], votes)
    fitted.save(tmp_path / "r")
    again = CrowdTagger.load(tmp_path / "r")
    for one, two in zip(again.predict_proba(x), fitted.predict_proba(x), strict=True):
        np.testing.assert_array_equal(one, two)
    assert again.worker_table().equals(fitted.worker_table())
    CrowdTagger("linear", epochs=2, folder=tmp_path / "d").fit(x[:n], votes)
    longer = CrowdTagger("linear", epochs=4, folder=tmp_path / "d", resume=True).fit(x[:n], votes)
    np.testing.assert_array_equal(longer.predict_proba(x)[0], fitted.predict_proba(x)[0])


def test_errors_in_one_line():
    x, _, votes, n = planted(5, train=20, test=5)
    with pytest.raises(cw.DataError, match="spans must count tokens"):
        CrowdTagger("linear").fit([each[:1] for each in x[:n]], votes)
    with pytest.raises(cw.DataError, match="rows of features for 20"):
        CrowdTagger("linear").fit(x, votes)
    with pytest.raises(cw.DataError, match="list of arrays"):
        CrowdTagger("linear").fit(np.zeros((3, 2)), votes)
    with pytest.raises(cw.DataError, match="same columns"):
        CrowdTagger("linear").fit([*x[: n - 1], x[0][:, :2]], votes)
    with pytest.raises(cw.DataError, match="learns from spans"):
        CrowdTagger("linear").fit(x[:1], cw.numbers.number_votes([0], [0], [1.0]))
    fitted = CrowdTagger("linear", epochs=1).fit(x[:n], votes)
    with pytest.raises(cw.DataError, match="is expecting"):
        fitted.predict([np.zeros((2, 3))])
    with pytest.raises(cw.DataError, match="one true tag per token"):
        fitted.score(x[:1], [["O"]])
