"""CROWDLAB against its formulas written out in loops, cleanlab's conventions, and cleanlab 2.9's frozen answers."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import crowdwise as cw
from crowdwise.compat.cleanlab.active import get_active_learning_scores, get_active_learning_scores_ensemble
from crowdwise.compat.cleanlab.internal.multiannotator_utils import (
    assert_valid_inputs_multiannotator,
    format_multiannotator_labels,
)
from crowdwise.compat.cleanlab.multiannotator import (
    convert_long_to_wide_dataset,
    get_label_quality_multiannotator,
    get_label_quality_multiannotator_ensemble,
    get_majority_vote_label,
)
from crowdwise.core.errors import CrowdwiseWarning

# Six examples, four annotators, three classes.
_ = np.nan
LABELS = np.array([[0, 0, 1, _], [1, _, 1, 1], [2, 2, _, 0], [_, 1, 2, 2], [0, 1, _, _], [2, 2, 2, 2.0]])
PROBS = np.array([[6, 3, 1], [2, 7, 1], [3, 1, 6], [1, 5, 4], [4, 5, 1], [1, 2, 7]]) / 10


def reference(labels, probs):
    """Sections 3.1 to 3.3 of the paper, one loop per sum, with cleanlab's two rounds."""
    n, m = labels.shape
    k = probs.shape[1]
    count = (~np.isnan(labels)).sum(axis=1)

    def posterior(consensus):
        several = count > 1
        agree = np.array(
            [np.nanmean(np.where(np.isnan(row), np.nan, row == c)) for row, c in zip(labels, consensus, strict=True)]
        )
        sure = agree[several].mean()
        common = np.bincount(consensus[several], minlength=k).argmax()
        error = max(np.mean(consensus[several] != common), 1e-6)
        weight = np.empty(m)
        for j in range(m):
            same = others = 0
            for i in range(n):
                for other in range(m):
                    if other != j and not np.isnan(labels[i, j]) and not np.isnan(labels[i, other]):
                        same += labels[i, j] == labels[i, other]
                        others += 1
            weight[j] = max(1 - (1 - same / others) / error, 1e-6)
        wrong = np.mean(probs[several].argmax(axis=1) != consensus[several])
        model = max(1 - wrong / error, 1e-6) * np.sqrt(count.mean())
        out = model * probs
        for i in range(n):
            total = model
            for j in range(m):
                if not np.isnan(labels[i, j]):
                    likelihood = np.full(k, (1 - sure) / (k - 1))
                    likelihood[int(labels[i, j])] = sure
                    out[i] += weight[j] * likelihood
                    total += weight[j]
            out[i] /= total
        return out, model, weight

    first, _, _ = posterior(get_majority_vote_label(labels, probs))
    return posterior(first.argmax(axis=1))


def test_crowdlab_is_the_papers_sum():
    posterior, model, weight = reference(LABELS, PROBS)
    found = get_label_quality_multiannotator(LABELS, PROBS, return_weights=True)
    assert found["model_weight"] == pytest.approx(model)
    assert found["annotator_weight"] == pytest.approx(weight)
    table = found["label_quality"]
    score = posterior[np.arange(6), table["consensus_label"]]
    assert table["consensus_quality_score"].to_numpy() == pytest.approx(score)
    result = cw.classes.crowdlab(cw.Annotations.from_matrix(LABELS), PROBS)
    assert result.posterior == pytest.approx(posterior)
    assert result.posterior.sum(axis=1) == pytest.approx(np.ones(6))
    assert result.extra["model_weight"] == pytest.approx(model)


def test_cleanlab_said_the_same():
    # Printed by cleanlab 2.9.0's function of the same name on the same two arrays.
    found = get_label_quality_multiannotator(LABELS, PROBS, return_weights=True)
    assert found["label_quality"]["consensus_label"].tolist() == [0, 1, 2, 2, 0, 2]
    score = [0.52497571, 0.73244087, 0.52497571, 0.58756406, 0.54324402, 0.73244088]
    assert found["label_quality"]["consensus_quality_score"].tolist() == pytest.approx(score, abs=1e-7)
    quality = {1: 0.55204268, 2: 0.68853672, 3: 0.68853672, 0: 0.83719914}
    assert found["annotator_stats"]["annotator_quality"].to_dict() == pytest.approx(quality, abs=1e-7)
    assert found["annotator_weight"].tolist() == pytest.approx([0.4, 1e-6, 1 / 3, 1 / 3], abs=1e-7)


def test_the_tables_have_cleanlabs_columns():
    frame = pd.DataFrame(LABELS, index=[*"uvwxyz"], columns=["ann", "bob", "cal", "dan"])
    found = get_label_quality_multiannotator(frame, PROBS, consensus_method=["best_quality", "majority_vote"])
    quality = found["label_quality"]
    first = ["consensus_label", "consensus_quality_score", "annotator_agreement", "num_annotations"]
    assert list(quality.columns)[:4] == first
    assert list(quality.columns)[4:] == [f"{name}_majority_vote" for name in first[:3]]
    assert list(quality.index) == [*"uvwxyz"]
    detailed = found["detailed_label_quality"]
    assert list(detailed.columns) == [f"quality_annotator_{name}" for name in frame.columns]
    assert (detailed.isna().to_numpy() == np.isnan(LABELS)).all()
    stats = found["annotator_stats"]
    assert list(stats.columns) == [
        "annotator_quality",
        "agreement_with_consensus",
        "worst_class",
        "num_examples_labeled",
    ]
    assert stats["annotator_quality"].is_monotonic_increasing
    assert stats["num_examples_labeled"].sum() == quality["num_annotations"].sum()
    few = get_label_quality_multiannotator(frame, PROBS, return_detailed_quality=False, return_annotator_stats=False)
    assert list(few) == ["label_quality"]


def test_long_tables_and_annotations_are_the_same_data():
    votes = cw.Annotations.from_matrix(LABELS)
    long = votes.to_frame().to_pandas()
    wide = get_label_quality_multiannotator(LABELS, PROBS)["label_quality"]
    for other in (votes, long, long.rename(columns={"worker": "annotator"})):
        found = get_label_quality_multiannotator(other, PROBS)["label_quality"]
        pd.testing.assert_frame_equal(found, wide, check_index_type=False)
    named = long.assign(label=long["label"].map({0: "cat", 1: "dog", 2: "eel"}))
    found = get_label_quality_multiannotator(named, PROBS)["label_quality"]
    assert found["consensus_label"].tolist() == [["cat", "dog", "eel"][c] for c in wide["consensus_label"]]


def test_label_counts_are_filed_under_their_own_class():
    # cleanlab 2.9 counts [2, 2] as class 0; then example 5, where all say 2, has agreement 0.
    found = get_label_quality_multiannotator(LABELS, PROBS, quality_method="agreement")["label_quality"]
    assert found["consensus_label"][5] == 2
    assert found["consensus_quality_score"][5] == 1.0


def test_majority_ties_go_to_the_classifier_then_the_rarer_class():
    tied = np.array([[0, 1], [0, 0], [0, 0]], dtype=float)
    assert get_majority_vote_label(tied, np.array([[0.9, 0.1], [0.5, 0.5], [0.5, 0.5]]), verbose=False).tolist() == [
        0,
        0,
        0,
    ]
    assert get_majority_vote_label(tied, verbose=False).tolist() == [1, 0, 0]


def test_active_learning_scores_rank_the_unsure_first():
    labelled, unlabelled = get_active_learning_scores(LABELS, PROBS, np.array([[0.34, 0.33, 0.33], [0.98, 0.01, 0.01]]))
    assert labelled[5] > labelled[0] > 1 / 3
    assert unlabelled[0] < unlabelled[1]
    only = get_active_learning_scores(pred_probs_unlabeled=PROBS)[1]
    assert only == pytest.approx((PROBS.max(axis=1) + 1 / 3) / 2)


def test_calibration_finds_the_temperature_that_was_planted():
    from crowdwise.compat.cleanlab.temperature import best_temperature, scaled

    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.ones(4), 2_000)
    drawn = (truth.cumsum(axis=1)[:, None] < rng.random((2_000, 6, 1))).sum(axis=2)
    votes = cw.Annotations.from_matrix(drawn)
    assert best_temperature(votes, scaled(truth, 0.5)) == pytest.approx(2.0)
    assert best_temperature(votes, truth) == pytest.approx(1.0, abs=0.06)


@pytest.mark.parametrize(
    ("labels", "probs", "words"),
    [
        (LABELS, PROBS[:4], "one row per example"),
        (LABELS, PROBS[:, :2], "at least 3 columns"),
        (LABELS + 0.5, PROBS, "whole numbers"),
        (np.where(np.arange(6)[:, None] == 2, np.nan, LABELS), PROBS, r"Examples \[2\] do not have any"),
        (LABELS[:, :1], PROBS, r"Examples \[3\]"),
        (np.array([[0, _], [1, _], [_, 2]]), PROBS[:3], "only has one label"),
        ([[0, 1]], PROBS, "must be a 2D array"),
        (LABELS, PROBS - 0.5, "no probabilities"),
    ],
)
def test_bad_input_is_one_sentence(labels, probs, words):
    with pytest.raises(cw.DataError, match=words):
        get_label_quality_multiannotator(labels, probs)


def test_wrong_wishes_and_lost_classes():
    with pytest.raises(cw.ParameterError, match="consensus_method"):
        get_label_quality_multiannotator(LABELS, PROBS, consensus_method="best")
    with pytest.raises(cw.DataError, match="only applicable to the crowdlab"):
        get_label_quality_multiannotator(LABELS, PROBS, quality_method="agreement", return_weights=True)
    with pytest.raises(cw.DataError, match="only `method`"):
        get_label_quality_multiannotator(LABELS, PROBS, label_quality_score_kwargs={"adjust_pred_probs": True})
    with pytest.warns(CrowdwiseWarning, match=r"1 classes .* \[1\]"):
        get_label_quality_multiannotator(np.array([[0, 0, 1.0], [0, 0, 0]]), np.array([[0.9, 0.1], [0.8, 0.2]]))


def test_an_annotator_without_labels_is_no_error():
    wider = np.column_stack([LABELS, np.full(6, np.nan)])
    found = get_label_quality_multiannotator(wider, PROBS)
    assert np.isnan(found["annotator_stats"].loc[4, "annotator_quality"])


def test_pandas_na_is_no_label():
    frame = pd.DataFrame(LABELS, columns=[*"abcd"])
    wanted = get_label_quality_multiannotator(frame, PROBS)
    objects = frame.astype(object).where(frame.notna(), pd.NA)
    mixed = frame.assign(d=objects["d"])
    for other in (objects, mixed, frame.astype("Int64")):
        found = get_label_quality_multiannotator(other, PROBS)
        pd.testing.assert_frame_equal(found["label_quality"], wanted["label_quality"])
    array = objects.to_numpy()
    assert get_majority_vote_label(array, PROBS, verbose=False).tolist() == [0, 1, 2, 2, 1, 2]
    silent = get_label_quality_multiannotator(frame.assign(e=pd.NA), PROBS)["annotator_stats"]
    assert silent.loc["e", "num_examples_labeled"] == 0


NO_PROBABILITIES = [
    PROBS * 3,  # logits, say
    np.where(PROBS == 0.1, -0.1, PROBS),
    np.where(PROBS == 0.1, np.nan, PROBS),
]


@pytest.mark.parametrize("probs", NO_PROBABILITIES)
def test_what_is_no_probability_is_refused_everywhere(probs):
    votes = cw.Annotations.from_matrix(LABELS)
    with pytest.raises(cw.DataError, match="no probabilities"):
        cw.classes.crowdlab(votes, probs)
    both = np.stack([PROBS, probs])
    calls = [
        lambda: get_label_quality_multiannotator(LABELS, probs),
        lambda: get_majority_vote_label(LABELS, probs),
        lambda: get_active_learning_scores(LABELS, probs),
        lambda: get_active_learning_scores(pred_probs_unlabeled=probs),
        lambda: get_label_quality_multiannotator_ensemble(LABELS, both),
        lambda: get_active_learning_scores_ensemble(LABELS, PROBS[None], probs[None]),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="no probabilities") as caught:
            call()
        assert isinstance(caught.value, cw.DataError)


def test_rows_that_lack_a_class_make_no_posterior():
    votes = cw.Annotations.from_matrix(LABELS)
    with pytest.raises(cw.DataError, match=r"sum to 1; 6 do not, the first is row 0 with 0\.9: is a class missing"):
        cw.classes.crowdlab(votes, np.where(np.arange(3) == 2, 0.0, PROBS))
    rounded = cw.classes.crowdlab(votes, PROBS.astype(np.float16))
    assert rounded.posterior.sum(axis=1) == pytest.approx(np.ones(6), abs=1e-12)
    long = pd.DataFrame({"task": [1, 1, 2, 2], "annotator": [*"abab"], "label": [0, 2, 2, 2]})
    with pytest.raises(ValueError, match="at least 3 columns, as labels name class 2; it has 2"):
        get_label_quality_multiannotator(long, PROBS[:2, :2])
    with pytest.raises(ValueError, match="at least 3 columns"):
        get_majority_vote_label(long, PROBS[:2, :2])


def test_every_error_is_a_value_error():
    twice = pd.DataFrame({"task": [1, 1], "worker": ["a", "a"], "label": [0, 1]})
    weighted = cw.Annotations.from_arrays([1, 1], [*"ab"], [0, 1], weight=[1.0, 2.0])
    calls = [
        lambda: get_label_quality_multiannotator(LABELS, PROBS, consensus_method="best"),
        lambda: get_label_quality_multiannotator(LABELS, PROBS, quality_method="best"),
        lambda: get_label_quality_multiannotator(LABELS, PROBS[:4]),
        lambda: get_label_quality_multiannotator(LABELS, np.stack([PROBS, PROBS])),
        lambda: get_label_quality_multiannotator_ensemble(LABELS, PROBS),
        lambda: get_label_quality_multiannotator(twice, PROBS[:1]),
        lambda: get_label_quality_multiannotator(weighted, PROBS[:1, :2]),
        lambda: get_label_quality_multiannotator(np.array([["1", "0"], ["0", "0"]]), PROBS[:2]),
        lambda: get_label_quality_multiannotator(LABELS, "cat"),
        lambda: get_active_learning_scores(LABELS, PROBS, PROBS[:, :2]),
        lambda: get_active_learning_scores(None, PROBS),
        lambda: get_active_learning_scores(),
        lambda: get_active_learning_scores_ensemble(LABELS, PROBS[None], np.stack([PROBS, PROBS])),
        lambda: convert_long_to_wide_dataset(twice.rename(columns={"worker": "annotator"})),
        lambda: format_multiannotator_labels("labels"),
    ]
    for call in calls:
        with pytest.raises(ValueError) as caught:
            call()
        assert isinstance(caught.value, cw.errors.CrowdwiseError)
    with pytest.raises(KeyError, match="no column 'annotator'"):
        convert_long_to_wide_dataset(twice)


def test_long_to_wide_and_names_to_numbers():
    long = cw.Annotations.from_matrix(LABELS).to_frame().to_pandas().rename(columns={"worker": "annotator"})
    wide = convert_long_to_wide_dataset(long)
    pd.testing.assert_frame_equal(wide, pd.DataFrame(LABELS), check_index_type=False, check_column_type=False)
    assert (wide.index.name, wide.columns.name) == (None, None)
    words = np.array([["a", "b", "c"], ["b", "b", np.nan], ["z", np.nan, "c"]])
    for given in (words, pd.DataFrame(words).replace("nan", pd.NA)):
        numbers, names = format_multiannotator_labels(given)
        assert names == {0: "a", 1: "b", 2: "c", 3: "z"}
        np.testing.assert_array_equal(numbers, [[0, 1, 2], [1, 1, np.nan], [3, np.nan, 2]])
    numbers, names = format_multiannotator_labels(pd.DataFrame([[3, 2.0], [1, np.nan]]))
    assert (names, numbers.to_numpy()[0].tolist()) == ({0: 1, 1: 2, 2: 3}, [2, 1])


def test_annotators_who_never_agree_are_worth_a_warning():
    with pytest.warns(UserWarning, match="do not agree on any example"):
        assert_valid_inputs_multiannotator(np.array([[2, 1, np.nan, 0], [1, 0, 2, np.nan]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_valid_inputs_multiannotator(LABELS, PROBS)
        assert_valid_inputs_multiannotator(LABELS[:, :1][~np.isnan(LABELS[:, 0])], allow_single_label=True)


def test_an_ensemble_is_several_voters():
    # Printed by cleanlab 2.9.0's function of the same name on the same two arrays.
    labels = np.array([[0, 0, 1], [1, _, 1], [2, 2, 0], [_, 1, 2]])
    first = [[0.395, 0.593, 0.012], [0.001, 0.252, 0.747], [0.159, 0.178, 0.663], [0.648, 0.352, 0]]
    second = [[0.665, 0.021, 0.314], [0.195, 0.724, 0.081], [0.167, 0.813, 0.02], [0.07, 0.531, 0.399]]
    found = get_label_quality_multiannotator_ensemble(
        labels, np.array([first, second]), return_weights=True, verbose=False
    )
    score = [0.6649993, 0.7239993, 0.81299826, 0.53099964]
    assert found["label_quality"]["consensus_label"].tolist() == [0, 1, 1, 1]
    assert found["label_quality"]["consensus_quality_score"].tolist() == pytest.approx(score, abs=1e-7)
    assert found["model_weight"].tolist() == pytest.approx([1.58e-06, 1.58113883], abs=1e-7)
    quality = {2: 0.32774984, 1: 0.40533428, 0: 0.4696673}
    assert found["annotator_stats"]["annotator_quality"].to_dict() == pytest.approx(quality, abs=1e-7)


@pytest.mark.parametrize("calibrate", [False, True])
def test_an_ensemble_of_one_is_the_model_itself(calibrate):
    kept = PROBS[None].copy()
    one = get_label_quality_multiannotator(LABELS, PROBS, calibrate_probs=calibrate, return_weights=True)
    many = get_label_quality_multiannotator_ensemble(LABELS, kept, calibrate_probs=calibrate, return_weights=True)
    for name in ("label_quality", "detailed_label_quality", "annotator_stats"):
        pd.testing.assert_frame_equal(one[name], many[name])
    assert many["model_weight"].tolist() == [one["model_weight"]]
    few, more = get_active_learning_scores(LABELS, PROBS, PROBS[::-1])
    few_of_one, more_of_one = get_active_learning_scores_ensemble(LABELS, kept, kept[:, ::-1])
    assert few_of_one == pytest.approx(few)
    assert more_of_one == pytest.approx(more)
    assert (kept == PROBS).all()  # cleanlab writes into it
