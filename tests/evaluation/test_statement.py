"""How far labels can be trusted: one statement, with gold and without, the same on every page."""

from __future__ import annotations

import html
import re

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.evaluation.statement import ACCEPT, ESTIMATE, OWN, UNKNOWN, at_error, statement, trust
from crowdwise.kinds.classes.scoring.recommendations import recommend


def crowd(name="one_coin", seed=1, tasks=400, workers=30, classes=3, labels=5):
    return simulate.scenario(name, tasks=tasks, workers=workers, classes=classes, labels=labels, seed=seed)


def gold_of(made, n, seed=0):
    truth = made.truth_table()
    return truth[np.random.default_rng(seed).permutation(len(truth))[:n].tolist()]


def test_without_gold_nothing_is_measured():
    made = crowd()
    level = trust(cw.Adaptive().fit(made.annotations))
    assert not level.measured
    assert level.rule == OWN
    assert re.match(
        r"no task has been checked: similar crowds were \d+-\d+ % right; label 60 tasks at random", level.sentence()
    )
    assert "label these 60 to know (check.csv)" in level.sentence("check.csv")


def test_gold_measures_and_replaces_the_belief():
    made = crowd(tasks=1000)
    gold = gold_of(made, 100)
    result = cw.Adaptive().fit(made.annotations, gold=gold)
    level = trust(result)
    assert level.n_checked == 100
    assert level.sentence().startswith("about ")
    assert "measured on 100 checked tasks" in level.sentence()
    assert "similar crowds" not in level.sentence()
    others = ~np.asarray(result.gold)
    right = (result.labels == made.truth)[others]
    mean, low, high = level.share
    assert low <= right.mean() <= high
    assert abs(result.confidence[others].mean() - right.mean()) < 0.06
    assert mean == pytest.approx(result.confidence[others].mean())


@pytest.mark.slow
@pytest.mark.parametrize("method", ["adaptive", "committee", "dawid_skene", "majority_vote"])
def test_gold_calibrates_every_method_on_request_and_ensembles_by_default(method):
    made = crowd("dirichlet", tasks=600)
    gold = gold_of(made, 80)
    chosen = cw.method(method)
    by_default = "gold_check" in chosen.fit(made.annotations, gold=gold).extra
    assert by_default == (method in ("adaptive", "committee"))
    plain = chosen.fit(made.annotations, gold=gold, calibrate=False)
    asked = chosen.fit(made.annotations, gold=gold, calibrate=True)
    assert "gold_check" not in plain.extra
    np.testing.assert_array_equal(asked.labels, plain.labels)
    others = ~np.asarray(asked.gold)
    right = (plain.labels == made.truth)[others].mean()
    assert abs(asked.confidence[others].mean() - right) < 0.1


def test_few_or_chosen_gold_is_not_used_and_says_why():
    made = crowd(tasks=600)
    few = trust(cw.Adaptive().fit(made.annotations, gold=gold_of(made, 5)))
    assert few.sentence().startswith("5 checked tasks are too few")
    blind = cw.Adaptive().fit(made.annotations)
    least_sure = np.argsort(blind.confidence)[:80]
    truth = made.truth_table()
    picked = truth.filter(pl.col("task").is_in(blind.tasks.gather(least_sure).implode()))
    level = trust(cw.Adaptive().fit(made.annotations, gold=picked))
    assert not level.measured
    assert "not a random sample" in level.sentence()


@pytest.mark.slow
def test_shipped_labels_keep_their_error():
    wrong, counts = [], []
    for seed in range(8):
        made = crowd("hammer_spammer", seed=seed, tasks=800)
        result = cw.Adaptive().fit(made.annotations, gold=gold_of(made, 120, seed))
        level = trust(result, 0.05)
        assert level.rule in (ACCEPT, ESTIMATE)
        ships = level.ships & ~np.asarray(result.gold)
        wrong.append((result.labels != made.truth)[ships].mean() if ships.any() else 0.0)
        counts.append(ships.mean())
    assert np.mean(np.array(wrong) > 0.05) <= 0.25
    assert np.mean(counts) > 0.3
    loose = trust(result, 0.2)
    assert loose.n_ship >= level.n_ship


def test_gold_that_only_judges_does_not_ship_wrong_labels():
    made = crowd(tasks=600)
    first, second = gold_of(made, 60, 1), gold_of(made, 90, 2)
    result = cw.calibrate(cw.DawidSkene().fit(made.annotations, gold=first), made.annotations, second)
    level = trust(result)
    assert level.n_checked == 90
    wrong = result.labels != made.truth
    judged = np.asarray(result.gold) & (result.confidence < 1)
    assert (judged & wrong).any()
    assert not (level.ships & judged & wrong).any()


@pytest.mark.parametrize("method", ["dawid_skene", "majority_vote", "hierarchical", "one_coin"])
def test_confidence_that_was_never_measured_calls_no_label_safe(method):
    """dawid_skene claims 99 % on tasks that mislead the crowd, where 80 % are right."""
    made = crowd("hard_tasks", tasks=400, labels=8)
    result = cw.method(method).fit(made.annotations)
    level = trust(result)
    assert level.rule == UNKNOWN
    assert not level.counted
    assert level.n_ship == 0
    assert level.sentence() == "no task has been checked; label 60 tasks at random to know"
    assert level.to_dict()["ship"] is None
    few = trust(cw.method(method).fit(made.annotations, gold=gold_of(made, 5), calibrate=True))
    assert few.sentence().endswith("; label 60 tasks at random to know")
    assert few.n_ship == 5
    table = at_error(result, 0.05).to_table()
    assert table["can_ship"].null_count() == 400


@pytest.mark.slow
@pytest.mark.parametrize("method", ["adaptive", "committee", "dawid_skene"])
@pytest.mark.parametrize("error", [0.05, 0.1])
def test_what_accept_promises_is_what_accept_gives(method, error, crowdwise_cli, tmp_path):
    made = crowd("dirichlet", tasks=600, labels=7)
    made.annotations.to_frame().write_csv(tmp_path / "votes.csv")
    gold_of(made, 150).write_csv(tmp_path / "gold.csv")
    run, gold = tmp_path / "run", ("--gold", tmp_path / "gold.csv")
    fit = ("-m", method, *gold, "--sampling", "random", "--error", str(error), "-o", run)
    assert crowdwise_cli("aggregate", tmp_path / "votes.csv", *fit)[0] == 0
    level = trust(cw.Result.load(run))
    assert level.rule == ACCEPT
    code, _, err = crowdwise_cli("accept", run, *gold, "--error", str(error), "-o", tmp_path / "accepted")
    assert code == 0, err
    accepted = pl.read_csv(tmp_path / "accepted" / "accepted.csv")
    assert len(accepted) == level.n_ship
    labels = pl.read_csv(run / "labels.csv")
    assert set(labels.filter(pl.col("can_ship"))["task"]) == set(accepted["task"])
    same = labels.join(accepted, on="task", suffix="_accepted")
    assert (same["label"] == same["label_accepted"]).all()
    if level.estimate != level.n_ship:
        assert f"(accept); about {level.estimate:,} by an estimate" in level.sentence()


def test_both_counts_grow_with_the_error():
    made = crowd("dirichlet", tasks=800)
    result = cw.Adaptive().fit(made.annotations, gold=gold_of(made, 120))
    levels = [trust(result, error) for error in (0.02, 0.03, 0.05, 0.08, 0.1, 0.2)]
    promised = [level.n_ship for level in levels if level.rule == ACCEPT]
    estimated = [level.n_ship if level.rule == ESTIMATE else level.estimate for level in levels]
    assert len(promised) >= 3
    assert promised == sorted(promised)
    assert estimated == sorted(estimated)


def test_other_kinds_count_nothing_by_unmeasured_confidence():
    votes = simulate.scenario("spans_plain", tasks=60, workers=8, labels=4, seed=1).votes
    level = statement(cw.fit(votes))
    assert level.rule == UNKNOWN
    assert "can ship" not in level.sentence()


def test_a_full_panel_is_not_asked_again():
    rng = np.random.default_rng(0)
    rows = [(t, w, int((t % 2) ^ (rng.random() < 0.25))) for t in range(150) for w in range(4)]
    votes = cw.Annotations.from_arrays(*zip(*rows, strict=True))
    assert recommend(votes, cw.Adaptive().fit(votes)).n_vote == 0


def test_new_tasks_are_judged_with_the_same_calibration():
    made = crowd(tasks=500)
    result = cw.DawidSkene().fit(made.annotations, gold=gold_of(made, 100), calibrate=True)
    plain = cw.DawidSkene().fit(made.annotations, gold=gold_of(made, 100))
    again = result.infer(made.annotations)
    assert again.mean_confidence < plain.infer(made.annotations).mean_confidence
    assert "gold_check" not in again.extra


CROWDS = {
    "clean": ("one_coin", {"labels": 8}, 0),
    "thin": ("one_coin", {"labels": 2}, 0),
    "adversaries": ("adversaries", {}, 0),
    "copiers": ("copiers", {"workers": 30, "labels": 6}, 0),
    "misleading tasks": ("hard_tasks", {"labels": 8}, 0),
    "gold 30": ("one_coin", {}, 30),
    "gold 100": ("dirichlet", {}, 100),
    "two classes": ("two_coin", {"classes": 2}, 0),
    "heavy": ("heavy_tailed", {}, 60),
    "full panel": ("one_coin", {"workers": 6, "labels": 6}, 0),
}
# With another method, another error, and a truth that only judges.
WAYS = [(name, {}) for name in CROWDS] + [
    ("clean", {"method": "dawid_skene"}),
    ("gold 100", {"method": "dawid_skene"}),
    ("thin", {"error": 0.1}),
    ("gold 100", {"error": 0.1}),
    ("gold 30", {"method": "majority_vote", "error": 0.2}),
    ("clean", {"truth": True}),
    ("misleading tasks", {"truth": True, "method": "dawid_skene"}),
]


def lead_page(made, gold, path, method=""):
    """What the lead's page of a live project shows after a fit of these votes and this gold, drawn at random."""
    server = pytest.importorskip("crowdwise.server.project")
    from starlette.testclient import TestClient

    from crowdwise.server.api.app import make_app
    from crowdwise.server.commands import manage
    from crowdwise.server.config import Config
    from crowdwise.server.refitter import Refitter

    classes = tuple(str(name) for name in made.annotations.classes)
    token = server.create(path, Config(question="Which?", classes=classes, cap=None, method=method))
    rows = made.annotations.to_frame().select("task", "worker", "label").cast(pl.String).rows()
    with server.Project(path) as project:
        names = sorted({row[0] for row in rows})
        server.load_tasks(project, [{"id": name, "payload": {"text": name}} for name in names])
        for worker in sorted({row[1] for row in rows}):
            project.queue.do(lambda batch, worker=worker: manage.add_worker(batch, worker))
        client = TestClient(make_app(project, rate=1e6, burst=1e6))
        head = {"Authorization": f"Bearer {token}"}
        votes = [{"task": t, "worker": w, "answer": a, "key": f"{t} {w}"} for t, w, a in rows]
        got = client.post("/projects/main/labels/bulk", json={"labels": votes}, headers=head).json()["results"]
        assert {row["status_code"] for row in got} == {201}
        for task, answer in [] if gold is None else gold.cast(pl.String).rows():
            body = {"task": task, "answer": answer, "drawn": "random"}
            assert client.post("/projects/main/gold", json=body, headers=head).status_code == 200
        assert Refitter(project, start=False).once(now=True)
        client.cookies.set("crowdwise", token)
        page = client.get("/p/main/lead").text
    return plain(page), tiles_of(page)


def plain(text):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def tiles_of(page):
    found = re.findall(r'data-number="(\w+)">([^<]+)<', page)
    return {name: value.replace(",", "") for name, value in found if name in ("safe", "more", "expert", "right")}


def capital(line):
    return f"{line[0].upper()}{line[1:]}."


@pytest.mark.slow
@pytest.mark.parametrize(("name", "way"), WAYS, ids=[" ".join(map(str, (n, *w.values()))) for n, w in WAYS])
def test_terminal_report_next_and_lead_page_agree(name, way, crowdwise_cli, tmp_path):
    """The sentence on top, all counts and the forecast: of the terminal, the report of a file and of a run, the saved
    table, `next` of both, and the lead page."""
    scenario, size, n_gold = CROWDS[name]
    made = crowd(scenario, tasks=220, **size)
    votes, run = tmp_path / "votes.csv", tmp_path / "run"
    made.annotations.to_frame().write_csv(votes)
    options = ["--error", str(way["error"])] if "error" in way else []
    fit = [*options, *(["-m", way["method"]] if "method" in way else [])]
    if n_gold:
        gold_of(made, n_gold).write_csv(tmp_path / "gold.csv")
        fit += ["--gold", tmp_path / "gold.csv", "--sampling", "random"]
    truth = []
    if "truth" in way:
        made.truth_table().write_csv(tmp_path / "truth.csv")
        truth = ["--truth", tmp_path / "truth.csv"]

    def told(*words):
        code, _, err = crowdwise_cli(*words)
        assert code == 0, err
        return " ".join(err.split())

    terminal = told("aggregate", votes, *fit, "-o", run)
    told("report", votes, *fit, *truth, "-o", tmp_path / "file.html")
    told("report", run, *truth, "-o", tmp_path / "run.html")
    pages = [(tmp_path / f"{kind}.html").read_text(encoding="utf-8") for kind in ("file", "run")]
    result = cw.Result.load(run)
    level, need = trust(result), recommend(cw.read(votes), result)
    assert level.error == way.get("error", 0.05)
    sentence, counts = level.sentence(), f"{need.n_vote:,} task{'s' * (need.n_vote != 1)}"

    assert sentence in terminal
    ships = pl.read_csv(run / "labels.csv", schema_overrides={"can_ship": pl.Boolean})["can_ship"]
    assert ships.null_count() == (0 if level.counted else 220 - level.n_ship)
    assert ships.sum() == level.n_ship == pl.read_parquet(run / "labels.parquet")["can_ship"].sum()
    plan = [told("next", votes, *fit), told("next", run, *options)]
    assert all(sentence in line for line in plan)
    safe = f"{level.n_ship}" if level.counted else "unknown"
    expected = {"safe": safe, "more": str(need.n_vote), "expert": str(need.n_expert)}
    for page in pages:
        if truth:
            right = float((result.labels == made.truth).mean())
            share = f"{100 * right:.1f} %"
            assert tiles_of(page) == {"right": share} | {key: expected[key] for key in ("more", "expert")}
            assert f"Measured on 220 tasks whose truth is known, {share} of the labels are right" in plain(page)
            assert "similar crowds" not in plain(page)
            assert "unchecked" not in plain(page)
        else:
            assert tiles_of(page) == expected
            assert capital(sentence) in plain(page)
    lead = None
    if "error" not in way and not truth:
        text, tiles = lead_page(
            made, gold_of(made, n_gold) if n_gold else None, tmp_path / "project", way.get("method")
        )
        assert capital(sentence) in text
        assert tiles == expected
        lead = text
    if not need.n_vote:
        assert all("no further vote is worth its cost" in line for line in plan)
        return
    assert f"{counts} need{'s' * (need.n_vote == 1)} another vote" in terminal
    forecast = (
        r"([\d,]+ more votes? on ([\d,]+) tasks? at a cost of \d+: the forecast is a rise) (.*?) of the labels right"
    )
    first = re.search(forecast, plan[0])
    assert first[2] == f"{need.n_vote:,}"
    assert first[0] in plan[1]
    for page in pages:
        shown = re.search(forecast, plain(page))
        assert shown[1] == first[1]
        assert shown[3] == first[3] or (truth and f"from about {100 * right:.1f}%" in shown[3])
    if level.share is not None:
        assert f"from about {level.share[0]:.1%}" in first[3]
    assert lead is None or first[0] in lead


def test_a_check_file_is_a_random_sample_to_label(crowdwise_cli, tmp_path):
    made = crowd(tasks=100)
    made.annotations.to_frame().write_csv(tmp_path / "votes.csv")
    code, _, err = crowdwise_cli("aggregate", tmp_path / "votes.csv", "--check", tmp_path / "check.csv")
    assert code == 0
    assert "label these 60 to know" in " ".join(err.split())
    table = pl.read_csv(tmp_path / "check.csv")
    assert table.columns == ["task", "label"]
    assert table["task"].n_unique() == 60
    code, _, err = crowdwise_cli("aggregate", tmp_path / "votes.csv", "--check", tmp_path / "check.csv")
    assert code == 2
    assert "check.csv" in err
