"""cw.judges: tables, the effective number, biases, whom to pay, on planted judges."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from tests.crowds import judges as planted

pytestmark = pytest.mark.filterwarnings("ignore::crowdwise.core.errors.IdentifiabilityWarning")
FAMILIES = {j: f"f{planted.FAMILY[j]}" for j in range(9)}


@pytest.fixture(scope="module")
def crowd():
    truth, label = planted.family(600, np.random.default_rng(0))
    return truth, planted.as_votes(label)


@pytest.fixture(scope="module")
def studied(crowd):
    truth, votes = crowd
    return cw.judges(votes, gold={t: int(truth[t]) for t in range(300)}, families=FAMILIES)


def test_the_room_can_be_called_and_entered():
    import crowdwise.judges.bias

    assert callable(cw.judges)
    assert crowdwise.judges.bias.LEVEL == 0.05


def test_the_effective_number_with_gold_and_without(crowd, studied):
    assert studied.n_eff.low < studied.n_eff.value < studied.n_eff.high
    assert 2.5 < studied.n_eff.value < 5
    assert studied.n_eff.sentence().startswith("9 judges count as ")
    blind = cw.judges(crowd[1], families=FAMILIES)
    assert blind.n_eff.value is None
    assert blind.n_eff.at_most > studied.n_eff.value
    assert "at most" in blind.n_eff.sentence()
    assert "gold needed" in blind.n_eff.sentence()
    assert blind.stack.method == "family_vote"
    assert blind.notes[-1] == (
        "9 judges and no gold: they may err together; confidence is the share of families and nothing is guaranteed"
    )


def test_relatives_err_together(studied):
    pairs = studied.pairs.filter(pl.col("known"))
    assert len(pairs) == 36
    same = pairs.filter(pl.col("same_family"))["error_correlation"].mean()
    assert same > pairs.filter(~pl.col("same_family"))["error_correlation"].mean() + 0.2


def test_families_are_looked_for_where_nobody_tells():
    _, label = planted.family(800, np.random.default_rng(1), report=0.98, hidden=0.77)
    found = cw.judges(planted.as_votes(label))
    assert not found.families_told
    assert len(set(found.family[:5].tolist())) == 1
    assert len(set(found.family.tolist())) > 1


def test_the_table_of_judges(crowd, studied):
    truth, votes = crowd
    row = studied.table.row(0, named=True)
    label = votes.label.reshape(600, 9)
    assert row["accuracy"] == pytest.approx((label[:300, 0] == truth[:300]).mean())
    assert row["accuracy_low"] < row["accuracy"] < row["accuracy_high"]
    assert {f"recall_{c}" for c in range(3)} <= set(studied.table.columns)
    assert studied.table["weight"].null_count() == 0
    assert studied.table["n_gold"].to_list() == [300] * 9


def test_few_gold_labels_are_refused(crowd):
    with pytest.raises(cw.DataError, match="too few to evaluate judges"):
        cw.judges(crowd[1], gold={0: 0, 1: 1})


def test_gold_of_models_is_refused():
    votes = cw.Annotations.from_arrays([1, 1, 2, 2], ["gpt", "ann"] * 2, [*"xyxy"])
    votes = votes.about(workers=pl.DataFrame({"worker": ["gpt", "ann"], "kind": ["model", "human"]}))
    gold = pl.DataFrame({"task": [1, 2], "label": ["x", "x"], "annotator": ["ann", "gpt"]})
    with pytest.raises(cw.DataError, match=r"gold was written by gpt \(kind model\); gold must come from people"):
        cw.judges(votes, gold=gold)
    with pytest.raises(cw.DataError, match="gold must come from people"):
        cw.judges(votes, gold=gold.select("task", "label", source=pl.lit("model")))


def test_families_of_strangers_are_refused(crowd):
    with pytest.raises(cw.DataError, match="do the ids match"):
        cw.judges(crowd[1], families={"nobody": "f"})


@pytest.mark.slow
def test_same_seed_same_bits(crowd):
    truth, votes = crowd
    gold = {t: int(truth[t]) for t in range(60)}
    one, other = (cw.judges(votes, gold=gold, families=FAMILIES, seed=3) for _ in range(2))
    assert one.n_eff == other.n_eff
    assert one.frontier().table.equals(other.frontier().table)
    np.testing.assert_array_equal(one.stack.posterior, other.stack.posterior)


# ---------------------------------------------------------------------------------------------- money
@pytest.mark.slow
def test_the_frontier_is_scored_on_gold_that_took_no_part(studied):
    offers = studied.frontier({j: 1.0 + j for j in range(9)})
    assert offers.table["cost"].is_sorted()
    assert offers.table["chosen"].sum() == 1
    assert "held out" in offers.note
    assert set(offers.chosen) <= {str(j) for j in range(9)}


def test_a_judge_of_a_new_family_adds_more_than_a_relative(studied):
    table = studied.marginal()
    assert len(table) == 9
    first = table.filter(pl.col("judge").is_in([str(j) for j in range(5)]))["adds_r2"].mean()
    assert table.filter(~pl.col("judge").is_in([str(j) for j in range(5)]))["adds_r2"].mean() > first
    assert (table["adds_r2_low"] <= table["adds_r2"]).all()


@pytest.mark.slow
def test_the_next_spend(studied):
    assert studied.next_spend() is None
    cheap = studied.next_spend({**dict.fromkeys(range(9), 0.001), "person": 1.0})
    assert cheap.saved < 1
    assert "next best spend" in cheap.sentence()
    costly = studied.next_spend({**dict.fromkeys(range(9), 5.0), "person": 1.0})
    assert "cost more than they save" in costly.sentence()


def test_prices_must_be_numbers(studied):
    with pytest.raises(cw.DataError, match="no price"):
        studied.frontier({0: 1.0})


def test_money_needs_gold(crowd):
    with pytest.raises(cw.DataError, match="the frontier needs gold"):
        cw.judges(crowd[1], families=FAMILIES).frontier()


# ---------------------------------------------------------------------------------------------- biases
def pairs_of(beta, n=200, seed=0, ties=False):
    """A judge with a pull to the first option, both orders."""
    rng = np.random.default_rng(seed)
    gap, rows = rng.standard_normal(n), []
    for order, sign in (("ab", 1), ("ba", -1)):
        first = rng.random(n) < 1 / (1 + np.exp(-(sign * gap + beta)))
        won = np.where(first == (order == "ab"), "A", "B")
        if ties:
            won = np.where(rng.random(n) < 0.2, "tie", won)
        rows.append(pl.DataFrame({"task": np.arange(n), "worker": "j", "label": won, "order": order}))
    return pl.concat(rows)


def test_position_bias_is_found_and_ties_are_dropped():
    for ties in (False, True):
        table = cw.judges(cw.Annotations.from_frame(pairs_of(0.8, ties=ties))).bias
        row = table.row(0, named=True)
        assert row["check"] == "position"
        assert row["low"] < 0.8 < row["high"]
        assert row["biased"]
        assert 0.2 < row["flips"] < 0.7
    fair = cw.judges(cw.Annotations.from_frame(pairs_of(0.0))).bias.row(0, named=True)
    assert not fair["biased"]
    assert fair["smallest_visible"] > 0.2


def test_prompts_of_one_pair_are_no_separate_pairs():
    table = pairs_of(0.8)
    twice = pl.concat([table.with_columns(prompt=pl.lit(p)) for p in ("p1", "p2")])
    one, two = (cw.judges(cw.Annotations.from_frame(t)).bias.row(0, named=True) for t in (table, twice))
    assert one["p"] == two["p"]
    assert one["n"] == two["n"] == 200


def test_one_order_can_say_something_only_where_it_is_random():
    table = pairs_of(1.5)
    mixed = table.filter((pl.col("task") % 2 == 0) == (pl.col("order") == "ab"))
    row = cw.judges(cw.Annotations.from_frame(mixed)).bias.row(0, named=True)
    assert row["biased"]
    fixed = cw.judges(cw.Annotations.from_frame(table.filter(pl.col("order") == "ab"))).bias.row(0, named=True)
    assert fixed["p"] is None
    assert "no estimate" in fixed["note"]


def test_an_order_that_is_none_is_refused():
    one = pairs_of(0.0).filter(pl.col("order") == "ab").with_columns(order=pl.lit("left"))
    votes = cw.Annotations.from_frame(one)
    with pytest.raises(cw.DataError, match="write ab or ba"):
        cw.judges(votes)


@pytest.fixture(scope="module")
def lengthy():
    """Quality depends on length; one judge of two is swayed by it beyond that."""
    rng = np.random.default_rng(1)
    length = rng.standard_normal(500)
    quality = 0.8 * length + rng.standard_normal(500)
    truth, fair, swayed = (
        (rng.random(500) < 1 / (1 + np.exp(-2 * (quality + pull * length)))).astype(int) for pull in (0, 0, 0.6)
    )
    votes = cw.Annotations.from_matrix(np.stack([fair, swayed], axis=1), workers=["fair", "swayed"])
    table = pl.DataFrame({"task": votes.tasks, "length": length, "topic": np.where(length > 0, "a", "b"),
                          "family": np.where(np.arange(500) % 2, "x", "y")})  # fmt: skip
    return votes, {votes.tasks[t]: votes.classes[int(truth[t])] for t in range(500)}, table


def test_length_bias_needs_gold(lengthy):
    votes, gold, table = lengthy
    found = cw.judges(votes, gold=gold, covariates=table).bias.filter(pl.col("check") == "length (per sd)")
    assert found["biased"].to_list() == [False, True]
    blind = cw.judges(votes, covariates=table).bias.filter(pl.col("check") == "length (per sd)")
    assert not blind["biased"].any()
    assert blind["p"].max() < 0.01  # quality alone does it
    assert "association" in blind["note"][0]


def test_groups_and_own_family_are_checked(lengthy):
    votes, gold, table = lengthy
    found = cw.judges(votes, gold=gold, covariates=table, families={"fair": "x", "swayed": "y"}).bias
    assert set(found["check"]) == {"length (per sd)", "topic = a", "topic = b", "own family"}
    assert not found.filter(pl.col("check") == "own family")["biased"].any()


def test_covariates_must_tell_something(lengthy):
    votes, gold, _ = lengthy
    with pytest.raises(cw.DataError, match="has nothing about these tasks"):
        cw.judges(votes, gold=gold, covariates=pl.DataFrame({"task": ["zz"], "length": [1.0]}))


# ---------------------------------------------------------------------------------------------- people and machines
def mixed(judge, n=400, seed=0):
    """Five people, one in ten tasks positive, and a judge."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.1).astype(int)
    people = np.where(rng.random((n, 5)) < 0.9, truth[:, None], 1 - truth[:, None])
    said = np.zeros(n, dtype=int) if judge == "constant" else np.where(rng.random(n) < 0.97, truth, 1 - truth)
    names = [*(f"p{i}" for i in range(5)), "llm"]
    votes = cw.Annotations.from_matrix(np.column_stack([people, said]), workers=names)
    return votes.about(workers=pl.DataFrame({"worker": names, "kind": ["human"] * 5 + ["model"]}))


def test_a_judge_who_always_says_the_common_class_passes_overall_and_fails_in_the_other():
    found = cw.judges(mixed("constant")).alternative
    rows = {row["class"]: row for row in found.iter_rows(named=True)}
    assert rows["all"]["passes"]
    assert not rows["1"]["passes"]
    assert rows["1"]["recall"] == 0


def test_a_good_judge_passes_in_every_class():
    found = cw.judges(mixed("good", n=1_500)).alternative
    assert found["passes"].to_list() == [True] * 3


def test_stated_confidence_is_calibrated_or_says_why_not():
    truth, label, stated = planted.confident(300, np.random.default_rng(2))
    votes = planted.as_votes(label, stated)
    with_gold = cw.judges(votes, gold={t: int(truth[t]) for t in range(200)})
    assert with_gold.table["confidence_slope"].null_count() == 0
    assert len(with_gold.stated[0].curve) > 2
    few = cw.judges(votes, gold={t: int(truth[t]) for t in range(12)})
    assert "only 12 gold tasks" in few.table["confidence_note"][0]
    assert "symbols" in cw.judges(votes).table["confidence_note"][0]


def test_one_judge_is_a_judge():
    votes = cw.Annotations.from_arrays(range(40), ["j"] * 40, [0, 1] * 20)
    found = cw.judges(votes, gold={t: t % 2 for t in range(40)})
    assert found.n_eff.value == pytest.approx(1)
    assert found.table["accuracy"].to_list() == [1.0]
    assert found.frontier().table.height <= 1


def test_the_version_of_a_judge_is_told():
    rows = {"task": [1, 1, 1], "worker": [*"aab"], "label": [*"xyx"], "version": ["1", "2", "7"]}
    found = cw.judges(cw.Annotations.from_frame(pl.DataFrame(rows)))
    assert dict(found.table.select("judge", "version").iter_rows()) == {"a@1": "1", "a@2": "2", "b": "7"}
