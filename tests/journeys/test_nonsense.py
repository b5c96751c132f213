"""Input that looks plausible and is wrong: an error in one line and exit code 2, never a result."""

from __future__ import annotations

import csv
import random
import re
from dataclasses import dataclass

import pytest

import crowdwise as cw
from crowdwise.core.doubt import DOUBTS, OF_AGGREGATION
from tests.data import ROOT, found_data

CLASSES = ("apple", "pear", "plum")
VOTE, VALUE = ("task", "worker", "label"), ("task", "worker", "value")


def crowd(n_tasks: int = 80, per_task: int = 4, n_workers: int = 12, seed: int = 1) -> list[list[str]]:
    """Return rows (task, worker, label); eight labels of ten are right, and task i is of class i modulo 3."""
    rng = random.Random(seed)
    rows = []
    for i in range(n_tasks):
        for j in rng.sample(range(n_workers), per_task):
            label = CLASSES[i % 3] if rng.random() < 0.7 else rng.choice(CLASSES)
            rows.append([f"img{i:03}.jpg", f"worker{j:02}", label])
    return rows


ROWS = crowd()
TRUTH = [[f"img{i:03}.jpg", CLASSES[i % 3]] for i in range(80)]
NUMBERS = [[t, w, str(20 + 7 * int(t[3:6]) % 60 + 3 * int(w[6:]) % 5)] for t, w, _ in ROWS]


def relabelled(label, rows=ROWS):
    """Return the rows with the label `label(position, row)`."""
    return [[row[0], row[1], label(i, row)] for i, row in enumerate(rows)]


def renamed(names):
    """Return the rows with other names for the classes."""
    return relabelled(lambda _, row: names[CLASSES.index(row[2])])


def tasks(name, rows=ROWS):
    return [[name(i, row), *row[1:]] for i, row in enumerate(rows)]


def workers(name, rows=ROWS):
    return [[row[0], name(i), row[2]] for i, row in enumerate(rows)]


def gold(label, n=40):
    return [[task, label(i, true)] for i, (task, true) in enumerate(TRUTH[:n])]


def day(i: int) -> str:
    return f"2024-03-{1 + i % 28:02} {i % 24:02}:{i % 60:02}:{7 * i % 60:02}"


def number(i: int, row: list[str]) -> int:
    return int(row[0][3:6])


@dataclass
class Case:
    name: str
    rows: list[list[str]]
    words: str
    options: str = ""
    header: tuple[str, ...] = VOTE
    truth: list[list[str]] | None = None
    command: str = "aggregate"

    def arguments(self) -> list[str]:
        known = [] if self.truth is None else ["--truth" if self.command == "compare" else "--gold", "truth.csv"]
        return [self.command, "votes.csv", *known, *self.options.split()]


OTHER = "share no class"
MAJORITY, EXPERT = ([[t, name, x] for t, x in TRUTH] for name in ("majority", "ground_truth"))
TWO_QUESTIONS = relabelled(lambda i, row: row[2] if number(i, row) % 2 else ("yes", "no")[len(row[2]) % 2])
FRACTIONS = relabelled(lambda _, row: f"{int(row[2]) / 100:.2f}" if int(row[1][6:]) < 4 else row[2], NUMBERS)
SIGNS = relabelled(lambda i, row: f"{int(row[2]) / 100:.2f}" if i % 2 else f"{row[2]}%", NUMBERS)
WINNERS = [[worker, "m1", f"m{2 + i % 3}", "m7"] for i, (_, worker, _) in enumerate(ROWS)]

NONSENSE = [
    # gold and truth
    Case("gold of other classes", ROWS, f"{OTHER} | 'cat' | 'apple'", truth=gold(lambda *_: "cat")),
    Case("codes instead of names", ROWS, OTHER, truth=gold(lambda i, _: str(i % 3))),
    Case("gold in capitals", ROWS, f"{OTHER} | differ in case", truth=gold(lambda _, true: true.upper())),
    Case("truth of other classes", ROWS, OTHER, truth=gold(lambda *_: "cat"), command="compare"),
    Case("judges with gold of other classes", ROWS, OTHER, truth=gold(lambda *_: "no"), command="judges"),
    Case("accept with gold of other classes", ROWS, OTHER, truth=gold(lambda *_: "no"), command="accept"),
    Case(
        "estimate with gold of other classes",
        ROWS,
        OTHER,
        "--metric accuracy",
        truth=gold(lambda *_: "no"),
        command="estimate",
    ),
    Case("truth of other tasks", ROWS, "none of the 80 gold", truth=[[f"photo{i}.png", x] for i, (_,
         x) in enumerate(TRUTH)]),
    Case("gold about the workers", ROWS, "none of the 12 gold", truth=[[f"worker{i:02}",
         CLASSES[i % 3]] for i in range(12)]),
    Case("the columns of gold swapped", ROWS, "two different true", truth=[[x, t] for t, x in TRUTH[:30]]),
    Case("votes as gold", ROWS, "two different true", truth=[[t, x] for t, _, x in ROWS]),
    # the wrong column
    Case("task and worker swapped", ROWS, "swapped | task=worker,worker=task", header=("worker", "task", "label")),
    Case("swapped by an option", ROWS, "swapped", "--columns task=worker,worker=task"),
    Case("ids as labels", relabelled(lambda i, _: f"{i:05x}"), "320 different labels in 320 rows"),
    Case("the tasks as labels", relabelled(lambda _, row: row[0]), "labels are names of the tasks"),
    Case("the workers as labels", relabelled(lambda _, row: row[1]), "labels are names of the workers"),
    Case("times as labels", relabelled(lambda i, _: day(i // 20)), "dates or times"),
    Case("seconds since 1970 as labels", relabelled(lambda i, _: str(1_700_000_000 + i // 5)), "dates or times"),
    Case("one worker for all rows", workers(lambda _: "worker00", ROWS[::4]), "one worker"),
    Case("the row's id as worker", workers(lambda i: f"A{i:04}"), "a worker of its own"),
    Case("the row's id as task", tasks(lambda i, _: f"A{i:04}"), "a task of its own"),
    Case("a constant column as label", relabelled(lambda *_: "submitted"), "every label is 'submitted'"),
    Case("a column of remarks", relabelled(lambda i, row: row[2] if i % 12 == 0 else ""),
         "293 of 320 rows have no label"),
    Case("two questions in one column", TWO_QUESTIONS, "two questions | 'yes'"),
    # what programs do to tables
    Case("the header in the middle", [*ROWS[:100], list(VOTE), *ROWS[100:]], "line 102 | header"),
    Case("errors of a spreadsheet", relabelled(lambda i, row: row[2] if i % 9 else "#REF!"), "'#REF!' | --missing"),
    Case("ids that were rounded", tasks(lambda i, row: f"{1 + number(i, row) / 100:.2f}E+17"), "'1.00E+17' | rounded"),
    Case("two spellings", relabelled(lambda i, row: row[2] if i % 3 else row[2].title()), "'Apple', 'apple' | case"),
    Case("abstentions as a class", relabelled(lambda i, row: "-1" if i % 5 == 0 else row[2], renamed("012")),
         "'-1' | --missing"),
    Case("no answer as a class", relabelled(lambda i, row: "99" if i % 8 == 0 else row[2], renamed("123")),
         "'99' | --missing"),
    Case("the majority as a worker", ROWS + MAJORITY, "'majority'"),
    Case("the truth as a worker", ROWS + EXPERT, "'ground_truth'"),
    # policies
    Case("a policy that drops most", tasks(lambda i, row: f"batch{number(i, row) // 60}", crowd(240)),
         "912 of 960", "--duplicates last"),
    Case("a missing value that is most", renamed(("no", "no", "yes")), "--missing no drops", "--missing no"),
    # numbers, probabilities, comparisons
    Case("percentages and fractions", FRACTIONS, "fractions from 0 to 1 | 'worker00'", header=VALUE),
    Case("percent signs and fractions", SIGNS, "units", header=VALUE),
    Case("two units", relabelled(lambda i, row: row[2] + (" kg" if i % 3 else " lb"), NUMBERS), "'kg', 'lb'",
         header=VALUE),
    Case("no answer as a number", relabelled(lambda i, row: row[2] if i % 7 else "-999", NUMBERS),
         "--missing -999", header=VALUE),
    Case("dates as numbers", relabelled(lambda i, _: day(i), NUMBERS), "dates or times", header=VALUE),
    Case("probabilities in percent", NUMBERS, "percentages", header=("task", "worker", "probability")),
    Case("winners that were not compared", WINNERS, "m7", header=("worker", "left", "right", "winner")),
]  # fmt: skip


def write(path, header, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", NONSENSE, ids=lambda case: case.name)
def test_nonsense_is_refused(case, folder, fails):
    write(folder / "votes.csv", case.header, case.rows)
    if case.truth is not None:
        write(folder / "truth.csv", ("task", "label"), case.truth)
    fails(*case.arguments(), words=case.words)


@pytest.mark.parametrize(("header", "rows"), [(VOTE, ROWS), (VALUE, NUMBERS)], ids=["classes", "numbers"])
def test_the_same_crowd_without_mistakes_is_accepted(header, rows, folder, crowdwise_cli):
    write(folder / "votes.csv", header, rows)
    write(folder / "truth.csv", ("task", "label"), TRUTH[:30])
    known = ["--gold", "truth.csv"] if header is VOTE else []
    assert crowdwise_cli("aggregate", "votes.csv", *known)[0] == 0


@pytest.mark.slow
def test_a_doubt_is_answered_by_its_name(folder, crowdwise_cli):
    """`inspect` shows every doubt and does not fail, and the names that it gives read the file as it is."""
    names = set()
    for case in NONSENSE:
        write(folder / "votes.csv", case.header, case.rows)
        code, _, shown = crowdwise_cli("inspect", "votes.csv", *case.options.split())
        allow = re.findall(r"--allow ([a-z-]+)", shown)
        if set(allow) <= names:
            continue
        assert code == 0
        names |= set(allow)
        read = {"columns": {"task": "worker", "worker": "task"}} if "--columns" in case.options else {}
        read |= {"missing": ["no"]} if "--missing" in case.options else {}
        read |= {"duplicates": "last"} if "--duplicates" in case.options else {}
        if set(allow) - set(OF_AGGREGATION):
            with pytest.raises(cw.DataError, match="--allow"):
                cw.read("votes.csv", **read)
        assert len(cw.read("votes.csv", **read, allow=allow)) > 0
    assert names == set(DOUBTS)


@pytest.mark.slow
def test_every_simulated_crowd_is_accepted(tmp_path):
    for name in cw.simulate.EVERY:
        cw.simulate.scenario(name, tasks=60, seed=1).save(tmp_path / name)
        file = next(path for path in (tmp_path / name).iterdir() if path.name in ("labels.csv", "votes.csv"))
        assert cw.read_all(file).doubts == (), name


@pytest.mark.slow
@pytest.mark.data
def test_every_real_set_is_accepted():
    sets = 0
    for file in sorted(found_data().glob("*/labels.csv")):
        try:
            reading = cw.read_all(file, allow=["all"])
        except cw.DataError:  # repeats that need a policy, columns that need a name
            continue
        assert reading.doubts == (), file
        sets += 1
    assert sets > 50


def test_an_unknown_doubt_is_refused(folder, fails):
    write(folder / "votes.csv", VOTE, ROWS)
    fails("aggregate", "votes.csv", "--allow", "anything", words="swapped, ids | 'anything'")


def test_the_order_of_rows_is_stated_where_there_is_no_time(folder, crowdwise_cli):
    write(folder / "votes.csv", VOTE, [*ROWS, *relabelled(lambda *_: "plum", ROWS[::3])])
    assert "no column of times" in crowdwise_cli("aggregate", "votes.csv", "--duplicates", "last")[2]
    timed = [[*row, day(i)] for i, row in enumerate([*ROWS, *relabelled(lambda *_: "plum", ROWS[::3])])]
    write(folder / "votes.csv", (*VOTE, "ts"), timed)
    code, _, error = crowdwise_cli("aggregate", "votes.csv", "--duplicates", "last")
    assert (code, "no column of times" in error) == (0, False)


def test_the_docs_list_every_doubt():
    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    for name, meaning in DOUBTS.items():
        assert f"| `{name}` | {meaning} |" in page
