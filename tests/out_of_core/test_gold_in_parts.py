"""Gold in parts: confidence, statement, labels that can ship and tasks to check are those of a fit in memory."""

from __future__ import annotations

import json
import re

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.evaluation.statement import at_error, trust
from crowdwise.out_of_core import calibrated, planning
from crowdwise.out_of_core.fitting import ProgressCallbacks
from crowdwise.out_of_core.shipping import mark_parts

TASKS, PARTS = 1000, 4
NAMES = np.array(["ant", "bee", "cat"])
TRUTH = NAMES[np.random.default_rng(0).integers(3, size=TASKS)]
ERRORS = (0.02, 0.1, 0.3)


def votes_of(seed: int = 1) -> pl.DataFrame:
    """Four to six labels a task of workers who err on the same tasks; two tasks have no label."""
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(TASKS), rng.integers(4, 7, size=TASKS))
    worker = rng.integers(40, size=len(task))
    hard = rng.random(TASKS) < 0.2
    right = rng.random(len(task)) < np.where(hard[task], 0.3, 0.6 + 0.3 * (worker % 3 > 0))
    label = np.where(right, TRUTH[task], NAMES[rng.integers(3, size=len(task))])
    frame = pl.DataFrame({"task": [f"t{i}" for i in task], "worker": [f"w{j}" for j in worker], "label": label})
    silent = pl.DataFrame({"task": ["open1", "open2"], "worker": ["w1", "w2"], "label": [None, None]})
    return pl.concat([frame, silent.cast(frame.schema)]).sample(fraction=1, shuffle=True, seed=seed)


def gold_of(n: int, seed: int = 4) -> pl.DataFrame:
    """The truth of n tasks drawn at random."""
    tasks = np.random.default_rng(seed).permutation(TASKS)[:n]
    return pl.DataFrame({"task": [f"t{i}" for i in tasks], "label": TRUTH[tasks]})


@pytest.fixture(scope="module", autouse=True)
def few_parts():
    """Passes over four parts are faster than over 64."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, "USUAL", PARTS)
        yield


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A file of votes."""
    path = tmp_path_factory.mktemp("votes") / "votes.csv"
    votes_of().write_csv(path)
    return path


@pytest.fixture(scope="module")
def both(file, tmp_path_factory):
    """A function: results in memory and in parts of the same votes, fitted once for each method and number of gold."""
    made = {}
    votes = cw.read(file, duplicates="first")

    def fits(method, n_gold, **how):
        key = (method, n_gold, *how.items())
        if key not in made:
            gold = gold_of(n_gold) if n_gold else None
            folder = tmp_path_factory.mktemp("run") / "parts"
            far = cw.fit_files(file, method, folder, gold=gold, duplicates="first", **how).result
            assert len(list((folder / "labels.parquet").glob("part-*"))) == PARTS
            made[key] = cw.fit(votes, method, gold, **how), far
        return made[key]

    return fits


@pytest.mark.slow
@pytest.mark.parametrize("method", [None, "dawid_skene", "wawa"])
@pytest.mark.parametrize("n_gold", [80, 30])
def test_gold_calibrates_in_parts_as_in_memory(both, method, n_gold):
    memory, far = both(method, n_gold)
    some = far.for_tasks(memory.tasks)
    assert memory.extra["gold_check"]["n"] == far.extra["gold_check"]["n"] == n_gold
    np.testing.assert_allclose(some.posterior, memory.posterior, atol=1e-9)
    for name in ("slope", "shift", "centre"):
        assert far.extra["gold_check"][name] == pytest.approx(memory.extra["gold_check"][name], abs=1e-8)
    assert far.expected_accuracy == pytest.approx(memory.expected_accuracy, abs=1e-9)
    np.testing.assert_array_equal(some.gold, memory.gold)
    # Who wins a tie is drawn in each part.
    ties = np.sort(memory.posterior, axis=1)[:, -2] > memory.confidence - 1e-9
    for name in ("confidence", "label", "order", "same", "right", "hit"):
        one, other = (np.asarray(result.extra[f"blind_{name}"], dtype=float)[~ties] for result in (memory, some))
        np.testing.assert_allclose(other, one, atol=1e-7)
    plain = both(method, n_gold, calibrate=False)[1]
    assert "gold_check" not in plain.extra
    assert np.abs(plain.for_tasks(memory.tasks).posterior - memory.posterior).max() > 0.02


@pytest.mark.slow
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize(("method", "n_gold"), [(None, 80), (None, 30), (None, 0), ("dawid_skene", 80), ("wawa", 0)])
def test_the_statement_is_that_of_memory(both, method, n_gold, error):
    memory, far = both(method, n_gold)
    one, other = trust(memory, error), trust(far, error)
    assert other.sentence() == one.sentence()
    assert other.n_ship == one.n_ship
    assert other.to_dict() == pytest.approx(one.to_dict(), abs=1e-9)


@pytest.mark.slow
def test_the_statement_says_different_things_at_different_errors(both):
    for n_gold in (0, 80):
        counts = [trust(both(None, n_gold)[1], error).n_ship for error in ERRORS]
        assert counts == sorted(counts)
        assert len(set(counts)) > 1
    rules = {trust(both(None, 80)[1], error).rule for error in ERRORS}
    assert rules == {"accept", "an estimate"}


@pytest.mark.slow
@pytest.mark.parametrize(("method", "n_gold"), [(None, 80), ("dawid_skene", 0)])
def test_labels_that_can_ship_are_marked_as_in_memory(both, method, n_gold):
    memory, far = both(method, n_gold)
    table = at_error(memory, 0.1).to_table()
    mark_parts(far, 0.1)
    again = cw.Result.load(vars(far)["_folder"])
    marked = again.to_table().sort("task")
    assert marked.columns == table.columns
    assert marked["can_ship"].to_list() == table["can_ship"].to_list()
    assert again.for_tasks(memory.tasks[:9]).to_table()["can_ship"].to_list() == table["can_ship"][:9].to_list()
    assert again.scan().collect_schema().names()[-1] == ("gold" if n_gold else "can_ship")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gold", "how", "words"),
    [
        (lambda: gold_of(5), {}, "5 checked tasks are too few"),
        (lambda: gold_of(300).filter(pl.col("label") == "ant"), {}, "not a random sample"),
        (lambda: gold_of(80), {"sampling": "chosen"}, "were chosen, not drawn at random"),
    ],
)
def test_gold_that_calibrates_nothing_gives_the_reason_of_memory(file, tmp_path, gold, how, words):
    far = cw.fit_files(file, "dawid_skene", tmp_path / "run", gold=gold(), duplicates="first", **how).result
    memory = cw.fit(cw.read(file, duplicates="first"), "dawid_skene", gold(), **how)
    assert words in far.extra["gold_check"]["reason"]
    assert far.extra["gold_check"] == memory.extra["gold_check"]
    np.testing.assert_allclose(far.for_tasks(memory.tasks).posterior, memory.posterior, atol=1e-9)
    assert not (tmp_path / "run" / "blind.parquet").exists()


def test_what_is_asked_of_gold_is_checked(file, tmp_path):
    for how, words in (
        ({"calibrate": True}, "without gold needs all votes at once"),
        ({"sampling": "random"}, "is about gold"),
        ({"sampling": "chosen", "calibrate": True, "gold": gold_of(20)}, "needs gold drawn at random"),
    ):
        with pytest.raises(cw.ParameterError, match=words):
            cw.fit_files(file, "wawa", tmp_path / "run", duplicates="first", **how)


@pytest.mark.slow
def test_a_fit_that_was_killed_goes_on_with_the_fit_without_gold(file, tmp_path, monkeypatch):
    said = []
    how = {
        "gold": gold_of(80),
        "duplicates": "first",
        "work_dir": tmp_path / "work",
        "callbacks": ProgressCallbacks(say=said.append),
    }
    with monkeypatch.context() as patch:
        patch.setattr(calibrated, "learn", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            cw.fit_files(file, "dawid_skene", tmp_path / "run", **how)
    assert not (tmp_path / "run").exists()
    again = cw.fit_files(file, "dawid_skene", tmp_path / "run", **how).result
    whole = cw.fit_files(file, "dawid_skene", tmp_path / "other", gold=gold_of(80), duplicates="first").result
    assert int(said[-1].split()[0]) > again.n_iter  # those of both fits
    assert again.to_table().equals(whole.to_table())
    assert not (tmp_path / "work" / "blind").exists()


def sentence_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if re.search(r"can ship|checked tasks|has been checked", line)]


@pytest.mark.slow
@pytest.mark.parametrize("method", [(), ("-m", "dawid_skene")])
def test_the_command_line_says_and_writes_the_same(file, tmp_path, crowdwise_cli, method):
    gold_of(80).write_csv(tmp_path / "gold.csv")
    asked = [file, "--duplicates", "first", "--gold", tmp_path / "gold.csv", "--error", "0.1", *method]
    said, told, drawn = [], [], []
    for name, more in (("memory", ()), ("parts", ("--out-of-core",))):
        asked_here = [*asked, *more, "-o", tmp_path / name, "--sampling", "random", "--seed", "3"]
        code, _, err = crowdwise_cli("aggregate", *asked_here, "--check", tmp_path / f"{name}.csv")
        assert code == 0, err
        said.append(sentence_of(err))
        drawn.append([(tmp_path / f"{name}{end}").read_text(encoding="utf-8") for end in (".csv", ".draw.json")])
        code, out, err = crowdwise_cli("aggregate", *asked_here, "--json", "--force")
        assert code == 0, err
        told.append(json.loads(out))
    assert said[0] == said[1]
    assert re.search(r"measured on 80 checked tasks; \d+ of 1,002 can ship with at most 10 % wrong", said[0][0])
    assert drawn[0] == drawn[1]
    assert drawn[0][0].count("\n") == 61
    assert told[1]["trust"] == pytest.approx(told[0]["trust"], abs=1e-9)
    assert told[1]["expected_accuracy"] == pytest.approx(told[0]["expected_accuracy"], abs=1e-9)
    results = [cw.Result.load(tmp_path / name) for name in ("memory", "parts")]
    assert [result.extra["gold_check"]["sampling"] for result in results] == ["random", "random"]
    assert [result.extra["error"] for result in results] == [0.1, 0.1]
    tables = [pl.read_csv(tmp_path / name / "labels.csv") for name in ("memory", "parts")]
    assert tables[0].columns == tables[1].columns
    same = ["task", "n_labels", "can_ship"]
    assert tables[0].select(same).equals(tables[1].select(same))
    assert np.abs(tables[0]["confidence"] - tables[1]["confidence"]).max() < 1e-9
    assert np.abs(results[0].confidence - results[1].for_tasks(results[0].tasks).confidence).max() < 1e-9


@pytest.mark.slow
def test_checked_tasks_come_back_as_gold(file, tmp_path, crowdwise_cli):
    where = ["--duplicates", "first", "-m", "dawid_skene", "--out-of-core"]
    code, _, err = crowdwise_cli("aggregate", file, *where, "-o", tmp_path / "one", "--check", tmp_path / "check.csv")
    assert code == 0, err
    assert "label these 60 to know" in sentence_of(err)[0]
    truth = {f"t{i}": label for i, label in enumerate(TRUTH.tolist())}
    check = pl.read_csv(tmp_path / "check.csv", schema_overrides={"label": pl.String})
    check.with_columns(label=pl.col("task").replace_strict(truth)).write_csv(tmp_path / "check.csv")
    gold = ["--gold", tmp_path / "check.csv"]
    code, _, err = crowdwise_cli("aggregate", file, *where, *gold, "-o", tmp_path / "two")
    assert code == 0, err
    assert "the draw recorded in check.draw.json" in err
    assert "measured on 60 checked tasks" in err
    assert cw.Result.load(tmp_path / "two").extra["gold_check"]["sampling"] == "random"


@pytest.mark.slow
def test_no_gold_is_drawn_to_be_checked(both):
    _, far = both(None, 80)
    drawn = far.drawn(200, seed=1)
    assert len(drawn.tasks) == 200
    assert not drawn.gold.any()
    assert (drawn.labels_per_task > 0).all()
    other = far.drawn(200, seed=2)
    assert 15 < len(set(drawn.tasks) & set(other.tasks)) < 90  # of 920, by chance 43


@pytest.mark.slow
def test_a_report_on_it_can_be_made(both, tmp_path, crowdwise_cli):
    memory, far = both(None, 80)
    code, _, err = crowdwise_cli("report", vars(far)["_folder"], "-o", tmp_path / "page.html")
    assert code == 0, err
    words = trust(memory).sentence()[1:].replace("1,002", "1,000")  # a report shows tasks that have votes
    assert words in re.sub(r"\s+", " ", (tmp_path / "page.html").read_text(encoding="utf-8"))


def test_removing_workers_needs_all_votes(file, tmp_path, crowdwise_cli):
    code, _, err = crowdwise_cli("aggregate", file, "--out-of-core", "--drop-flagged", "-o", tmp_path / "run")
    assert code == 2
    assert "--drop-flagged needs all votes at once" in err
    assert err.count("\n") == 1
