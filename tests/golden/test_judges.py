"""Judges: the bars that planted and real judges must reach."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.judges import bias, dependence, llmbar, others, repeats

import crowdwise as cw

RUNS = 5


@pytest.mark.parametrize("name", dependence.EXPECTED)
def test_errors_made_together(name):
    n_eff, found = dependence.measured(name)
    wanted = dependence.EXPECTED[name]
    assert n_eff == pytest.approx(wanted[0], rel=0.15)
    np.testing.assert_allclose(found[:, 0], [a for a, _ in wanted[1:]], atol=0.015)
    np.testing.assert_allclose(found[:, 1], [b for _, b in wanted[1:]], rtol=0.1)


def test_intervals_of_the_effective_number_cover():
    for row in dependence.pair_rows(runs=100):
        assert float(row[3]) >= 0.87, row  # 93 % less two standard errors and a bit
        assert float(row[2]) < 0.9 * float(row[1])


def test_repeats_are_one_voice():
    found = repeats.repeat_scores(RUNS)
    wanted = {"15 workers": 0.856, "one repeat": 0.434, "weight 1/R": 0.364, "judge_symbols": 0.356}
    for name, loss in wanted.items():
        assert found[name][0] == pytest.approx(loss, rel=0.05), name
    assert found["judge_symbols"][1] < 0.03


def test_stated_confidences():
    found = repeats.confidence_scores(RUNS)
    wanted = {"dawid_skene": (0.823, 0.460), "judge_symbols": (0.897, 0.281)}
    wanted |= {"product of stated confidences": (0.900, 0.337), "judge_stack, 200 gold": (0.906, 0.258)}
    for name, pair in wanted.items():
        assert found[name] == pytest.approx(pair, rel=0.05), name


def test_platt_beats_a_temperature_and_the_raw_confidence():
    found = repeats.platt_scores(40)
    for i in range(1, len(repeats.SIZES)):
        assert found["Platt"][i] < found["temperature"][i] < found["raw"][i]


def test_false_alarms_of_the_bias_checks():
    assert bias.position(0.0, runs=1_000)[0] <= 0.06
    assert bias.position(0.0, runs=1_000)[1] >= 0.93
    assert bias.position(0.5, runs=500)[0] >= 0.9
    assert bias.rectifier(0.0, runs=500) <= 0.07
    assert bias.rectifier(0.0, runs=100, people=False) >= 0.9


@pytest.mark.data
def test_real_judges_are_few_voices_and_biased():
    found, n_eff = bias.found_on_llmbar()
    assert n_eff.value == pytest.approx(2.5, abs=0.1)
    assert found["position"][:2] == (20, 23)
    assert found["length (per sd)"][:2] == (23, 23)
    assert found["length (per sd)"][3] == pytest.approx(0.29, abs=0.02)


@pytest.mark.data
def test_sixty_gold_labels_beat_every_method_without_gold():
    found = dependence.llmbar_scores(8)
    stack = found["judge_stack, 60 gold, 8 verdicts pooled"]
    assert stack[0] >= 0.86
    assert stack[0] >= max(a for name, (a, _) in found.items() if "stack" not in name) + 0.15
    assert found["family_vote, both orders"][1] < 0.8 < found["dawid_skene, one order"][1]


@pytest.mark.data
def test_one_voice_a_judge_halves_the_calibration_error():
    apart, together = repeats.llmbar_voices(runs=4).values()
    assert together[2] <= apart[2] / 2


@pytest.mark.data
def test_without_gold_the_number_of_voices_is_only_bounded():
    found = cw.judges(llmbar.base())
    assert found.n_eff.value is None
    assert found.n_eff.at_most > 2.6


@pytest.mark.data
def test_fake_groups_of_raters_are_rarely_called_different():
    by_rater, by_row = bias.raters(runs=60, draws=39, rows_too=20)
    assert by_rater <= 0.12  # .05 and two standard errors and a bit; the page has more runs
    assert by_row > by_rater


@pytest.mark.data
def test_the_chosen_strength_beats_pooled_and_raw_shares():
    for name, (_, shares, pooled, raw) in others.subjective_scores().items():
        assert shares < min(pooled, raw), name


@pytest.mark.data
def test_surprisingly_popular_answers():
    found = others.prediction_scores()
    assert found["sp_states"]["surprisingly_popular"][0] == pytest.approx(0.86)
    assert found["sp_trivia"]["surprisingly_popular"][0] == pytest.approx(0.625)
    assert found["sp_states"]["truth_serum"][0] >= 0.86
    assert found["sp_trivia"]["truth_serum"][0] >= 0.6
