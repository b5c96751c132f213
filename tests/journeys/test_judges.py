"""Five LLM judges compare two systems, people judged some of the prompts: three commands from the log to an answer.

The log is as tools write it: one JSON line for a verdict, each prompt in both orders with the columns of the systems
exchanged, the winner as A, B, [[A]] or a tie, some replies that could not be read, and columns that nobody needs. The
truth is what people would say of every prompt; the commands see it for 100 of 500.
"""

import json

import numpy as np
import polars as pl
import pytest

OURS, THEIRS = "ours-v2", "theirs"
SYSTEMS = (OURS, THEIRS)
N, N_PEOPLE = 500, 100


def other(system):
    return THEIRS if system == OURS else OURS


class Team:
    """The truth of every prompt, the verdicts of the judges, and the files."""

    def __init__(self, folder, seed):
        rng = np.random.default_rng(seed)
        self.truth = rng.choice([OURS, THEIRS, "tie"], N, p=[0.52, 0.33, 0.15])
        self.rows = [row for i in range(N) for first in SYSTEMS for row in self._verdicts(i, first, rng)]
        self.verdicts, self.people = folder / "verdicts.jsonl", folder / "people.csv"
        lines = [json.dumps(self._line(*row, rng)) for row in self.rows]
        self.verdicts.write_text("\n".join([*lines, ""]))
        self.asked = rng.choice(N, N_PEOPLE, replace=False)
        flipped = rng.random(N_PEOPLE) < 0.5
        sides = [SYSTEMS[::-1] if flip else SYSTEMS for flip in flipped]
        answers = [self._side(self.truth[i], left) for i, (left, _) in zip(self.asked, sides, strict=True)]
        columns = {"prompt_id": [f"prompt-{i:03}" for i in self.asked], "annotator": ["kim"] * N_PEOPLE}
        columns |= {"model_a": [a for a, _ in sides], "model_b": [b for _, b in sides], "winner": answers}
        pl.DataFrame(columns).write_csv(self.people)

    def _verdicts(self, i, first, rng):
        def reads(right):
            wrong = [label for label in (*SYSTEMS, "tie") if label != self.truth[i]]
            return str(self.truth[i]) if rng.random() < right else str(rng.choice(wrong))

        large, small = reads(0.84), reads(0.72)
        twin = small if rng.random() < 0.97 else reads(0.72)
        place = first if rng.random() < 0.45 else reads(0.8)
        labels = {"large": large, "small": small, "small-tuned": twin, "place": place, "coin": str(rng.choice(SYSTEMS))}
        return [(i, judge, first, label) for judge, label in labels.items()]

    @staticmethod
    def _side(label, first):
        return "tie" if label == "tie" else "A" if label == first else "B"

    def _line(self, i, judge, first, label, rng):
        word = self._side(label, first)
        spelt = {"large": f"[[{'C' if word == 'tie' else word}]]", "small": word.lower()}.get(judge, word)
        lost = rng.random() < 0.01
        return {
            "prompt_id": f"prompt-{i:03}", "judge": judge, "judge_prompt": "pairwise-v2", "model_a": first,
            "model_b": other(first), "winner": ("error" if rng.random() < 0.5 else None) if lost else spelt,
            "judgment": f"Assistant {word} gives more detail.", "usage": {"prompt_tokens": 812, "cost": 0.0012},
            "created_at": f"2026-11-{1 + i % 28:02}T10:00:00Z",
        }  # fmt: skip

    def accuracy(self, judge):
        """Share of right verdicts on all prompts."""
        return np.mean([label == self.truth[i] for i, name, _, label in self.rows if name == judge])


@pytest.fixture
def team(tmp_path):
    return Team(tmp_path, seed=11)


@pytest.mark.slow
def test_three_commands_answer_the_team(team, crowdwise_cli, tmp_path):
    code, out, _ = crowdwise_cli("judges", team.verdicts, "--gold", team.people, "-o", tmp_path / "judged", "--json")
    assert code == 0
    _check_judges(team, json.loads(out))

    command = ["estimate", team.verdicts, "--gold", team.people, "--sampling", "random"]
    code, out, _ = crowdwise_cli(*command, "--metric", f"winrate:{OURS}", "--at-least", ".5", "--json")
    figure = json.loads(out)
    true_rate = np.mean(team.truth == OURS) + np.mean(team.truth == "tie") / 2
    assert figure["low"] <= true_rate <= figure["high"]
    assert figure["high"] - figure["low"] < 0.8 * (figure["gold_only"][2] - figure["gold_only"][1])
    assert code == (0 if figure["low"] >= 0.5 else 3)

    kept = tmp_path / "kept"
    code, _, _ = crowdwise_cli("accept", team.verdicts, "--gold", team.people, "--error", ".15", "-o", kept)
    assert code == 0
    accepted = pl.read_csv(kept / "accepted.csv").filter(pl.col("by") == "verdict")
    right = [label == team.truth[int(task[-3:])] for task, label in accepted.select("task", "label").iter_rows()]
    assert len(right) > 100
    assert np.mean(right) >= 0.85


def _check_judges(team, study):
    """The output against the truth: who is right how often, who is biased, who errs with whom, whom to drop."""
    table = {row["judge"]: row for row in study["judges"]}
    assert study["n_gold"] == N_PEOPLE
    for judge, row in table.items():
        assert row["accuracy_low"] <= team.accuracy(judge) <= row["accuracy_high"]
        assert 0 < row["unusable"] < 30
    assert {judge for judge, row in table.items() if row["position_biased"]} == {"place"}
    together = [(row["judge"], row["other"]) for row in study["pairs"] if row["together"]]
    assert together == [("small", "small-tuned")]
    panel = study["panel"]
    assert (panel["basis"], panel["trusted_for"]) == ("human labels", "rates")
    assert "coin" in panel["drop"]
    assert len(panel["drop"]) == 2
    assert set(panel["drop"]) - {"coin"} <= {"small", "small-tuned"}
    assert panel["after"]["n_judges"] == 3
    assert panel["quality"]["low"] < panel["after"]["accuracy"]
    assert study["n_eff"] < 4.5


@pytest.mark.slow
def test_the_output_says_what_reliability_was_measured_on(team, crowdwise_cli):
    _, _, with_people = crowdwise_cli("judges", team.verdicts, "--gold", team.people)
    assert "Panel: measured on 100 human labels" in with_people
    _, _, alone = crowdwise_cli("judges", team.verdicts)
    assert "judged by copies with swapped order only" in alone
    assert "trust it for nothing yet" in alone
    assert "drop coin" in alone
