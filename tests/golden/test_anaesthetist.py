"""The example of Dawid & Skene (1979): 45 patients graded 1 to 4 by five anaesthetists, the first of them three times.

Table 1 of doi:10.2307/2346806, typed in: one patient between bars, one word an anaesthetist, one digit a grade.
"""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw

TABLE = """
111 1 1 1 1 | 333 4 3 3 4 | 112 2 1 2 2 | 222 3 1 2 1 | 222 3 2 2 2
222 3 3 2 2 | 122 2 1 1 1 | 333 3 4 3 3 | 222 2 2 2 3 | 232 2 2 2 3
444 4 4 4 4 | 222 3 3 4 3 | 111 1 1 1 1 | 222 3 2 1 2 | 121 1 1 1 1
111 2 1 1 1 | 111 1 1 1 1 | 111 1 1 1 1 | 222 2 2 2 1 | 222 1 3 2 2
222 2 2 2 2 | 222 2 2 2 1 | 222 3 2 2 2 | 221 2 2 2 2 | 111 1 1 1 1
111 1 1 1 1 | 232 2 2 2 2 | 111 1 1 1 1 | 111 1 1 1 1 | 112 1 1 2 1
111 1 1 1 1 | 333 3 2 3 3 | 111 1 1 1 1 | 222 2 2 2 2 | 222 3 2 3 2
433 4 3 4 3 | 221 2 2 3 2 | 232 3 2 3 3 | 333 3 4 3 2 | 111 1 1 1 1
111 1 1 1 1 | 121 2 1 1 1 | 232 2 2 2 2 | 121 1 1 1 1 | 222 2 2 2 2
"""


@pytest.fixture(scope="module")
def votes():
    patients = TABLE.replace("\n", "|").strip("| ").split("|")
    rows = [
        (f"{i:02d}", str(j), grade)
        for i, patient in enumerate(patients, 1)
        for j, grades in enumerate(patient.split(), 1)
        for grade in grades
    ]
    return cw.Annotations.from_arrays(*zip(*rows, strict=True), duplicates="keep")


def test_the_table_has_its_315_grades(votes):
    assert (len(votes), votes.n_tasks, votes.n_workers, votes.n_classes) == (315, 45, 5, 4)
    assert votes.labels_per_worker.tolist() == [135, 45, 45, 45, 45]


def test_maximum_likelihood_finds_the_published_marginals_and_error_rates(votes):
    result = cw.DawidSkene(smoothing=0, tol=1e-12).fit(votes)
    np.testing.assert_allclose(result.class_prior, [0.40, 0.42, 0.11, 0.07], atol=0.005)
    # Anaesthetist 1, true grades 1 and 2.
    np.testing.assert_allclose(result.confusion[0, :2], [[0.89, 0.11, 0, 0], [0.07, 0.88, 0.05, 0]], atol=0.006)
    # Published: all but a handful of patients are classified with near certainty.
    assert (result.confidence > 0.9).sum() >= 40


def test_the_three_grades_of_one_anaesthetist_are_three_votes(votes):
    assert votes.votes.sum(axis=1).tolist() == [7] * 45


def test_without_a_policy_the_contradictions_are_refused(votes):
    frame = votes.to_frame()
    with pytest.raises(cw.DataError, match=r"contradictory labels.*--duplicates"):
        cw.Annotations.from_frame(frame)
