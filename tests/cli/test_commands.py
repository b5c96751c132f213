"""Every command on the good path: what it prints, what it writes, and where."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import crowdwise as cw

from .made import parquet, zst

COMMANDS = [
    "demo",
    "inspect",
    "aggregate",
    "evaluate",
    "compare",
    "methods",
    "show",
    "next",
    "simulate",
    "workers",
    "report",
]
CONFUSION = {"confusion.csv", "confusion.parquet"}
TABLES = {"labels.csv", "labels.parquet", "workers.csv", "ledger.json"} | CONFUSION
STORE = {"result.json", "arrays.npz", "tasks.parquet", "workers.parquet", "classes.parquet", "votes.parquet"}


@pytest.fixture(scope="module")
def crowd():
    """60 tasks 001..060, 8 workers, classes a, b, c; the truth of every task."""
    rng = np.random.default_rng(7)
    tasks = [f"{i:03d}" for i in range(1, 61)]
    truth = rng.choice(["a", "b", "c"], len(tasks))
    rows = []
    for task, true in zip(tasks, truth, strict=True):
        for worker in rng.choice(8, 5, replace=False):
            right = rng.random() < 0.5 + 0.06 * worker
            rows.append((task, f"w{worker}", str(true) if right else str(rng.choice(["a", "b", "c"]))))
    return {"rows": rows, "truth": dict(zip(tasks, map(str, truth), strict=True))}


@pytest.fixture
def files(crowd, tmp_path):
    """votes.csv, truth.csv and gold.csv in a folder."""
    (tmp_path / "votes.csv").write_bytes(table(crowd["rows"]))
    (tmp_path / "truth.csv").write_bytes(table(crowd["truth"].items(), ("task", "label")))
    (tmp_path / "gold.csv").write_bytes(table(list(crowd["truth"].items())[:10], ("task", "label")))
    return tmp_path


def table(rows, header=("task", "worker", "label"), separator=",") -> bytes:
    file = io.StringIO()
    csv.writer(file, delimiter=separator, lineterminator="\n").writerows([header, *rows])
    return file.getvalue().encode()


def parsed(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def works(crowdwise_cli):
    """Run a command that must work; no escape sequence may reach a pipe."""

    def run(*arguments, stdin: bytes = b""):
        code, out, err = crowdwise_cli(*arguments, stdin=stdin)
        assert code == 0, err
        assert "\x1b" not in out + err
        assert "Traceback" not in err
        return out, err

    return run


# ------------------------------------------------------------------------------------------------ help, version
def test_version_and_help(works):
    assert works("--version") == (f"crowdwise {cw.__version__}\n", "")
    out, _ = works("--help")
    assert all(command in out for command in COMMANDS)


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("demo", ""),
        ("inspect", "VOTES --columns --format --json"),
        ("aggregate", "VOTES --method -m --param -p --gold --columns --duplicates --format --seed --json"),
        ("aggregate", "--output -o --force --prior"),
        ("evaluate", "DIR|LABELS --truth --json --resamples --seed"),
        ("compare", "VOTES --method -m --truth --gold --columns --duplicates --format --seed --json"),
        ("compare", "--folds --jobs --disputed --output -o --force"),
        ("methods", "NAME --json"),
        ("show", "DIR --json"),
        ("next", "VOTES|DIR --budget --workers --cost --load --method -m --gold --output -o --force --json"),
        ("simulate", "SCENARIO --tasks --workers --classes --labels --features --seed --output -o --force"),
    ],
)  # fmt: skip
def test_help_names_every_option(works, command, options):
    for flag in ("--help", "-h"):
        out, err = works(command, flag)
        assert err == ""
        assert all(option in out for option in options.split()), out


# ------------------------------------------------------------------------------------------------ inspect
def test_inspect(works, files):
    out, err = works("inspect", files / "votes.csv")
    assert "300 in, 300 used" in out
    assert "Classes" in out
    assert err == ""
    facts = json.loads(works("inspect", files / "votes.csv", "--json")[0])
    assert (facts["annotations"], facts["tasks"], facts["workers"], facts["classes"]) == (300, 60, 8, 3)
    assert sum(facts["class_counts"].values()) == 300
    assert facts["ledger"] == {"rows_in": 300, "rows_used": 300, "rows_dropped": 0, "dropped": {}, "notes": []}
    assert facts["components"] == 1


def test_inspect_shows_what_aggregate_would_refuse(works, files):
    rows = b"task,worker,label\nt1,a,x\nt1,a,y\nt1,a,y\nt2,a,x\n"
    (files / "votes.csv").write_bytes(rows)
    facts = json.loads(works("inspect", files / "votes.csv", "--json")[0])
    assert facts["repeats"] == {"exact": 1, "contradictory_pairs": 1}
    assert "--duplicates" in works("inspect", files / "votes.csv")[1]


# ------------------------------------------------------------------------------------------------ aggregate
def test_aggregate_prints_labels_on_stdout(works, files, crowd):
    out, err = works("aggregate", files / "votes.csv", "-m", "majority_vote")
    rows = parsed(out)
    assert list(rows[0]) == ["task", "label", "confidence", "entropy", "n_labels", "p_a", "p_b", "p_c", "can_ship"]
    assert [row["task"] for row in rows] == sorted(crowd["truth"])
    assert all(row["n_labels"] == "5" for row in rows)
    assert sum(float(row["p_a"]) + float(row["p_b"]) + float(row["p_c"]) for row in rows) == pytest.approx(60)
    assert "300 annotations of 60 tasks by 8 workers" in err


@pytest.mark.parametrize(("method", "confusion"), [("hierarchical", True), ("majority_vote", False)])
def test_aggregate_writes_a_folder(works, files, method, confusion):
    run = files / "new" / "run"
    out, err = works("aggregate", files / "votes.csv", "-m", method, "-o", run)
    assert out == ""
    assert f"written to {run}" in err
    expected = (TABLES if confusion else TABLES - CONFUSION) | STORE
    assert {path.name for path in run.iterdir()} == expected
    labels, workers = pl.read_csv(run / "labels.csv"), pl.read_csv(run / "workers.csv")
    assert labels.columns == ["task", "label", "confidence", "entropy", "n_labels", "p_a", "p_b", "p_c", "can_ship"]
    assert workers.columns[:5] == ["worker", "n_labels", "skill", "skill_low", "skill_high"]
    assert workers["n_labels"].sum() == 300
    if confusion:
        cells = pl.read_csv(run / "confusion.csv")
        assert cells.columns == ["worker", "true", "observed", "p", "n"]
        assert len(cells) == 8 * 3 * 3
        assert cells["n"].sum() == pytest.approx(300)
        assert cells.group_by("worker", "true").agg(pl.col("p").sum())["p"].to_list() == pytest.approx([1.0] * 24)
    ledger = json.loads((run / "ledger.json").read_text())
    assert ledger == {"rows_in": 300, "rows_used": 300, "rows_dropped": 0, "dropped": {}, "notes": []}
    result = cw.Result.load(run)
    assert result.method == method
    assert result.to_table().write_csv() == (run / "labels.csv").read_text()


def test_a_folder_and_stdout_say_the_same(works, files):
    run = files / "run"
    works("aggregate", files / "votes.csv", "-m", "dawid_skene", "-o", run)
    assert works("aggregate", files / "votes.csv", "-m", "dawid_skene")[0] == (run / "labels.csv").read_text()


def test_force_leaves_no_old_confusion_behind(works, files):
    run = files / "run"
    works("aggregate", files / "votes.csv", "-o", run)
    works("aggregate", files / "votes.csv", "-m", "majority_vote", "-o", run, "--force")
    assert not [name for name in CONFUSION if (run / name).exists()]


def test_aggregate_json(works, files):
    out, _ = works(
        "aggregate", files / "votes.csv", "-m", "dawid_skene", "-p", "smoothing=0.5", "-p", "max_iter=400", "--json"
    )
    found = json.loads(out)
    assert found["method"] == "dawid_skene"
    assert (found["params"]["smoothing"], found["params"]["max_iter"]) == (0.5, 400)
    assert found["classes"] == ["a", "b", "c"]
    assert sum(found["class_prior"]) == pytest.approx(1)
    assert len(found["labels"]) == 60
    assert found["labels"][6]["task"] == "007"
    out, _ = works("aggregate", files / "votes.csv", "-m", "majority_vote", "--json", "-o", files / "run")
    found = json.loads(out)
    assert found["labels"] is None
    assert found["output"] == str(files / "run")


def test_parameters_reach_the_method(works, files):
    one = works("aggregate", files / "votes.csv", "-m", "dawid_skene", "-p", "smoothing=0.01")[0]
    two = works("aggregate", files / "votes.csv", "-m", "dawid_skene", "-p", "smoothing=5")[0]
    assert one != two
    ties = b"task,worker,label\n" + b"".join(b"t%d,a,x\nt%d,b,y\n" % (i, i) for i in range(40))
    seeds = {works("aggregate", "-", "-m", "majority_vote", "--seed", s, stdin=ties)[0] for s in (0, 0, 1)}
    assert len(seeds) == 2


def test_gold_stays_put(works, files, crowd):
    out, _ = works("aggregate", files / "votes.csv", "--gold", files / "gold.csv")
    rows = {row["task"]: row for row in parsed(out)}
    for task in sorted(crowd["truth"])[:10]:
        assert rows[task]["label"] == crowd["truth"][task]
        assert float(rows[task]["confidence"]) == 1


@pytest.mark.filterwarnings("always::crowdwise.core.errors.CrowdwiseWarning")
def test_gold_that_is_odd_is_told(works, files, crowd):
    known = [("001", "a"), ("002", "zebra"), ("elsewhere", "a"), ("003", ""), ("", "b")]
    (files / "gold.csv").write_bytes(table(known, ("task", "label")))
    out, err = works("aggregate", files / "votes.csv", "-m", "majority_vote", "--gold", files / "gold.csv")
    assert "p_zebra" in out.splitlines()[0]
    assert parsed(out)[1]["label"] == "zebra"
    assert "1 classes occur in the gold labels only" in err
    assert "crowdwise: note: 1 gold tasks have no annotations and are left out: 'elsewhere'" in err
    assert "gold.csv: 2 rows without a task or a label are left out" in err


@pytest.mark.slow
def test_gold_in_other_formats(works, files, crowd):
    expected = works("aggregate", files / "votes.csv", "-m", "majority_vote", "--gold", files / "gold.csv")[0]
    known = list(crowd["truth"].items())[:10]
    tasks, labels = zip(*known, strict=True)
    (files / "gold.parquet").write_bytes(parquet(item=tasks, answer=labels))
    (files / "gold.tsv").write_bytes(table(known, ("task", "label"), "\t"))
    (files / "gold.jsonl").write_text("".join(json.dumps({"task": t, "label": c}) + "\n" for t, c in known))
    for name in ("gold.parquet", "gold.tsv", "gold.jsonl"):
        assert works("aggregate", files / "votes.csv", "-m", "majority_vote", "--gold", files / name)[0] == expected


@pytest.mark.parametrize(("policy", "label", "dropped"), [("first", "x", 2), ("last", "y", 2), ("keep", "y", 0)])
def test_duplicates(works, policy, label, dropped):
    votes = b"task,worker,label\nt1,a,x\nt1,a,y\nt1,a,y\n"
    found = json.loads(works("aggregate", "-", "-m", "majority_vote", "--duplicates", policy, "--json", stdin=votes)[0])
    assert found["labels"][0]["label"] == label
    assert found["ledger"]["rows_dropped"] == dropped


def test_the_last_is_told_by_time(works):
    votes = b"task,worker,label,when\nt1,a,x,2024-05-01T12:00:00Z\nt1,a,y,2024-05-01T09:00:00-02:00\n"
    for policy, label in (("first", "y"), ("last", "x")):
        arguments = ("-m", "majority_vote", "--duplicates", policy, "--columns", "time=when")
        assert parsed(works("aggregate", "-", *arguments, stdin=votes)[0])[0]["label"] == label


def test_the_ledger_is_told(works, files):
    votes = b"task,worker,label\nt1,a,x\nt1,a,x\nt1,b,\n,b,x\n\n"
    (files / "v.csv").write_bytes(votes)
    _, err = works("aggregate", files / "v.csv", "-m", "majority_vote", "-o", files / "run")
    assert "5 rows in, 1 used, 4 dropped" in err
    ledger = json.loads((files / "run" / "ledger.json").read_text())
    assert ledger["dropped"] == {
        "blank row": 1,
        "no task": 1,
        "no label": 1,
        "exact repeat of task, worker and label": 1,
    }


# ------------------------------------------------------------------------------------------------ formats
@pytest.mark.slow
def test_every_format_gives_the_same_labels(works, files, crowd):
    rows = crowd["rows"]
    plain = table(rows)
    lines = "".join(json.dumps(dict(zip(("task", "worker", "label"), r, strict=True))) + "\n" for r in rows).encode()
    task, worker, label = zip(*rows, strict=True)
    made = {
        "v.tsv": table(rows, separator="\t"),
        "v.tab": table(rows, separator="\t"),
        "v.csv.gz": gzip.compress(plain, mtime=0),
        "v.csv.zst": zst(plain),
        "v.tsv.gz": gzip.compress(table(rows, separator="\t"), mtime=0),
        "v.jsonl": lines,
        "v.ndjson": lines,
        "v.jsonl.gz": gzip.compress(lines, mtime=0),
        "v.jsonl.zst": zst(lines),
        "v.parquet": parquet(task=task, worker=worker, label=label),
        "V.CSV": plain,
        "shuffled.csv": table(rows[::-1]),
    }
    expected = works("aggregate", files / "votes.csv", "-m", "dawid_skene")[0]
    assert works("aggregate", "-", "-m", "dawid_skene", stdin=plain)[0] == expected
    assert works("aggregate", "-", "-m", "dawid_skene", "--format", "jsonl", stdin=lines)[0] == expected
    for name, content in made.items():
        (files / name).write_bytes(content)
        assert works("aggregate", files / name, "-m", "dawid_skene")[0] == expected, name
    (files / "votes.data").write_bytes(lines)
    assert works("aggregate", files / "votes.data", "--format", "jsonl", "-m", "dawid_skene")[0] == expected


def test_wide_and_renamed_tables_give_the_same_labels(works, files, crowd):
    expected = works("aggregate", files / "votes.csv", "-m", "dawid_skene")[0]
    workers = [f"w{w}" for w in range(8)]
    said = {(t, w): c for t, w, c in crowd["rows"]}
    wide = [(t, *(said.get((t, w), "") for w in workers)) for t in sorted(crowd["truth"])]
    (files / "wide.csv").write_bytes(table(wide, ("task", *workers)))
    assert works("aggregate", files / "wide.csv", "--format", "wide", "-m", "dawid_skene")[0] == expected
    moved = [(*row[1:], row[0]) for row in wide]
    (files / "wide.csv").write_bytes(table(moved, (*workers, "photo")))
    assert (
        works("aggregate", files / "wide.csv", "--format", "wide", "--columns", "task=photo", "-m", "dawid_skene")[0]
        == expected
    )
    (files / "names.csv").write_bytes(table(crowd["rows"], ("photo", "who", "what")))
    pairs = "task=photo,worker=who,label=what"
    out, err = works("aggregate", files / "names.csv", "--columns", pairs, "-m", "dawid_skene")
    assert out == expected
    assert "note: task is read from column 'photo'" in err


def test_numbers_as_classes_with_gold_in_text(works, files):
    votes = parquet(task=[1, 1, 2, 2], worker=[1, 2, 1, 2], label=[2, 2, 10, 10])
    (files / "v.parquet").write_bytes(votes)
    (files / "g.csv").write_bytes(b"task,label\n1,2\n")
    out, _ = works("aggregate", files / "v.parquet", "-m", "majority_vote", "--gold", files / "g.csv")
    assert [row["label"] for row in parsed(out)] == ["2", "10"]


# ------------------------------------------------------------------------------------------------ evaluate
def test_evaluate_a_folder_and_a_table_alike(works, files):
    run, truth = files / "run", files / "truth.csv"
    works("aggregate", files / "votes.csv", "-m", "dawid_skene", "-o", run)
    one = json.loads(works("evaluate", run, "--truth", truth, "--json")[0])
    two = json.loads(works("evaluate", run / "labels.csv", "--truth", truth, "--json")[0])
    assert one.keys() == two.keys()
    for key in ("n", "accuracy", "macro_f1", "confusion", "classes", "truths_without_labels"):
        assert one[key] == two[key], key
    for key in ("log_loss", "brier", "ece", "mean_confidence", "expected_accuracy"):
        assert one[key] == pytest.approx(two[key]), key
    assert one["n"] == 60
    assert one["accuracy"] > 0.6
    assert one["intervals"]["accuracy"][0] < one["accuracy"] < one["intervals"]["accuracy"][1]
    assert one["intervals"].keys() >= {"accuracy", "macro_f1", "log_loss", "brier", "ece"}
    assert np.array(one["confusion"]).sum() == 60
    out, err = works("evaluate", run, "--truth", truth)
    for words in ("accuracy", "macro F1", "log-loss", "Brier", "calibration", "95 % interval", "Confusion"):
        assert words in out
    assert err == ""


def test_evaluate_without_probabilities_and_with_strange_tasks(works, files):
    (files / "labels.csv").write_bytes(b"task,label\n001,a\n002,b\n")
    (files / "truth.csv").write_bytes(b"item,answer\n001,a\n002,a\n999,a\n")
    found = json.loads(works("evaluate", files / "labels.csv", "--truth", files / "truth.csv", "--json")[0])
    assert (found["n"], found["accuracy"], found["truths_without_labels"]) == (2, 0.5, 1)
    assert found["log_loss"] is None
    assert (
        "1 tasks in the truth have no label"
        in works("evaluate", files / "labels.csv", "--truth", files / "truth.csv")[1]
    )


# ---------------------------------------------------------------------------------------- methods, show, simulate
def test_methods(works):
    out, _ = works("methods")
    assert all(name in out for name in cw.methods("classes"))
    every = json.loads(works("methods", "--json")[0])
    assert [each["name"] for each in every] == [*cw.methods(None), *cw.registry.LEARNERS]
    assert sum(each["default"] for each in every) == len({each["kind"] for each in every})


@pytest.mark.parametrize("name", cw.methods("classes"))
def test_one_method(works, name):
    about = json.loads(works("methods", name, "--json")[0])
    assert about["name"] == name
    assert "seed" in about["parameters"]
    out, _ = works("methods", name)
    assert about["summary"] in " ".join(out.split())
    assert all(parameter in out for parameter in about["parameters"])
    assert set(about["takes"]) == set(about["parameters"])
    assert about["takes"]["seed"] == "whole number, at least 0"
    assert "whole number, at least 0" in out


def test_show(works, files):
    run = files / "run"
    works("aggregate", files / "votes.csv", "-o", run)
    out, err = works("show", run)
    assert err == ""
    for words in ("adaptive", "60 tasks, 8 workers", "Classes", "Workers", "Least certain tasks"):
        assert words in out
    found = json.loads(works("show", run, "--json")[0])
    assert found["classes"] == ["a", "b", "c"]
    assert [worker["worker"] for worker in found["workers"]] == [f"w{w}" for w in range(8)]
    assert found["versions"]["crowdwise"] == cw.__version__


def test_simulate(works, crowdwise_cli, tmp_path):
    from crowdwise import simulate

    out, _ = works("simulate")
    assert all(name in out for name in simulate.SCENARIOS)
    sizes = ("--tasks", 30, "--workers", 10, "--classes", 3, "--labels", 4, "--seed", 3)
    works("simulate", "one_coin", *sizes, "--features", 2, "-o", tmp_path / "sim")
    assert {path.name for path in (tmp_path / "sim").iterdir()} == {
        "labels.csv",
        "truth.csv",
        "workers.csv",
        "features.npz",
    }
    votes = cw.read(tmp_path / "sim" / "labels.csv")
    assert (len(votes), votes.n_tasks) == (120, 30)
    assert len(cw.read_truth(tmp_path / "sim" / "truth.csv")) == 30
    works("simulate", "one_coin", *sizes, "-o", tmp_path / "again")
    same = (tmp_path / "again" / "truth.csv").read_bytes()
    code, _, err = crowdwise_cli("simulate", "one_coin", "-o", tmp_path / "again")
    assert (code, "--force" in err) == (2, True)
    assert (tmp_path / "again" / "truth.csv").read_bytes() == same
    assert crowdwise_cli("simulate", "one_coin")[0] == 2
    assert crowdwise_cli("simulate", "nonsense", "-o", tmp_path / "x")[0] == 2
    out, _ = works("aggregate", tmp_path / "sim" / "labels.csv", "-m", "majority_vote")
    assert len(parsed(out)) == 30


# ------------------------------------------------------------------------------------------------ the terminal
def test_control_characters_do_not_reach_the_terminal(works, files):
    evil = "\x1b[31mred\x07"
    rows = [("t\x1b]0;title\x07", evil, "ca\x1b[2Jt"), ("t2", evil, "dog"), ("t2", "w", "[bold]dog[/bold]")]
    (files / "v.csv").write_bytes(table(rows))
    run = files / "run"
    printed = [works("aggregate", files / "v.csv", "-m", "majority_vote", "-o", run)[1]]
    printed += [works(command, where)[0] for command, where in (("inspect", files / "v.csv"), ("show", run))]
    for text in printed:
        assert all(c.isprintable() or c == "\n" for c in text)
        assert "[bold]" in text or "[31mred" in text
    found = {row["task"] for row in parsed((run / "labels.csv").read_text())}
    assert found == {"t\x1b]0;title\x07", "t2"}


# ------------------------------------------------------------------------------------------------ as a process
def command(*arguments, **kwargs):
    return subprocess.run(
        [sys.executable, "-m", "crowdwise", *map(str, arguments)], capture_output=True, timeout=120, **kwargs
    )


@pytest.mark.slow
def test_as_a_process(files):
    done = command("aggregate", "-", "-m", "majority_vote", input=(files / "votes.csv").read_bytes())
    assert done.returncode == 0
    assert done.stdout.startswith(b"task,label,confidence")
    assert b"\x1b" not in done.stdout + done.stderr
    done = command("aggregate", files / "none.csv")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"crowdwise: ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.slow
def test_a_closed_pipe_is_no_error(files):
    rows = [(f"task {i // 2}", "vw"[i % 2], "xy"[i % 3 > 0]) for i in range(40_000)]
    (files / "long.csv").write_bytes(table(rows))
    line = f"'{sys.executable}' -m crowdwise aggregate long.csv -m majority_vote | head -1"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {line}"], cwd=files, capture_output=True, timeout=120)
    assert done.returncode == 0
    assert done.stdout.startswith(b"task,label")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("module", ["crowdwise", "crowdwise.cli", "crowdwise.core.method_registry"])
def test_importing_is_light(module):
    heavy = ("torch", "numba", "pandas", "sklearn", "scipy", "pyarrow", "matplotlib")
    code = f"import sys, {module}; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr
