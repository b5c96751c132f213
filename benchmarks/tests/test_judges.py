"""Judges: the bars that planted and real judges must reach."""

from __future__ import annotations

import pytest

import crowdwise as cw
from benchmarks.judges import bias, dependence, llmbar, others, repeats

RUNS = 3


@pytest.mark.parametrize("name", dependence.EXPECTED)
def test_errors_made_together(name):
    """Generators are told n_eff and the majority's accuracy; all else is found."""
    n_eff, found = dependence.measured(name, 0.0, RUNS)
    majority, dawid, group, tempered, few, many = found
    stated = dependence.EXPECTED[name]
    assert n_eff == pytest.approx(stated[0], rel=0.1)
    assert majority[0] == pytest.approx(stated[1][0], abs=0.015)
    assert dawid[1] > majority[1]  # sure of itself where judges err together
    assert tempered[1] < dawid[1]
    assert many[1] <= few[1] + 0.01
    assert many[1] < dawid[1]
    if name == "family":
        assert group[0] > dawid[0] + 0.03
        assert group[1] < majority[1]
    if name == "attractor":
        assert group[1] > 1.2  # no model without gold repairs it


def test_intervals_of_the_effective_number_cover():
    for row in dependence.pair_rows(runs=100):
        assert float(row[3]) >= 0.87, row  # 93 % less two standard errors and a bit
        assert float(row[2]) < 0.9 * float(row[1])


@pytest.mark.parametrize("way", ["opinion", "draws"])
def test_repeats_are_one_voice(way):
    found = {name: loss for name, (loss, _) in repeats.repeat_scores(way, RUNS).items()}
    assert found["one repeat"] == pytest.approx(0.434, rel=0.08)
    assert found["mode"] == pytest.approx(0.373, rel=0.08)
    assert found["15 workers"] > max(loss for name, loss in found.items() if name != "15 workers")
    assert found["judge_symbols"] < found["one repeat"] - 0.03
    assert found["judge_symbols"] < 1.06 * min(found.values())
    assert repeats.repeat_scores(way, RUNS)["judge_symbols"][1] < 0.035


def test_stated_confidences():
    found = repeats.confidence_scores(RUNS)
    assert found["dawid_skene"] == pytest.approx((0.823, 0.460), rel=0.05)
    for name in ("judge_symbols", "judge_stack, 200 gold"):
        assert found[name][0] > found["dawid_skene"][0] + 0.04
        assert found[name][1] < 0.75 * found["dawid_skene"][1]
    assert found["judge_stack, 200 gold"][1] < found["product of stated confidences"][1]


def test_platt_loses_what_two_free_numbers_lose_and_no_more():
    found = repeats.platt_scores(100)
    for i in range(1, len(repeats.SIZES)):
        assert found["Platt"][i] < found["temperature"][i] < found["raw"][i]
        assert found["Platt"][i] < 1.1 * found["best Platt map + 1/n"][i] + 5e-4


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
