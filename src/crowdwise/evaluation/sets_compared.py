"""Compare methods over several sets of votes with known truth, as a paper does.

The score of a method on a set is the mean over the seeds; the sets are the sample. Differences of two methods are
paired by set, with Student's interval, Wilcoxon's signed-rank test and Holm's correction for the number of pairs
(Demsar 2006, jmlr v7/demsar06a; Benavoli, Corani & Mangili 2016, jmlr v17/benavoli16a). Ranks have Friedman's test and
Nemenyi's critical difference.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from inspect import getmodule, getsource
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from ..core import method_registry as registry
from ..core.arrays import F8
from ..core.errors import CrowdwiseError, CrowdwiseWarning, DataError, ParameterError
from ..core.kind import get
from ..core.result import versions
from ..io import table_text
from ..io.csv.folder import write_tables
from ..stats.sampled import holm
from .critical_difference import picture
from .evaluate import evaluate
from .scores import Table

Test = Literal["wilcoxon", "nemenyi"]
# A set: votes and truth, or a function that loads them when they are needed.
SetSource = tuple[Any, Any] | Callable[[], tuple[Any, Any]]
FILES = ("summary.csv", "differences.csv", "scores.csv", "runs.csv")
RUNS = "runs.jsonl"
SIGNIFICANT = 0.05
# With fewer sets, no result of Wilcoxon's test is below 5 %: 2 / 2^n is the smallest p-value of n differences.
FEWEST_SETS = 6
# Up to this many differences, some of them tied, the signed-rank test goes through all signs.
MAX_EXACT_TIES = 13


@dataclass(frozen=True, eq=False)
class SetComparison:
    """Result of `compare_sets`.

    Attributes:
        score: Name of the score; higher is better.
        runs: One row per run: set, method, seed, score, cpu_seconds, and the reason if it could not run.
        scores: Mean score over the seeds, a row per set and a column per method that ran on every set.
        summary: One row per method, best mean rank first: method, mean_rank, mean, sd (standard deviation over the
            sets), seed_sd (over the seeds of a set, mean of the sets), best (number of sets where it is first).
        differences: One row per pair of methods: first, second, difference (mean over the sets, first - second), low
            and high of its 95 % interval, wins, ties, losses of the first, p (Wilcoxon), p_holm.
        friedman_p: p-value of Friedman's test that all methods are alike; NaN with fewer than three methods or sets.
        critical_difference: Nemenyi's critical difference of mean ranks at 5 %.
        test: Test whose insignificant pairs `picture` joins.
        notes: What was left out, and what these sets cannot show.
    """

    score: str
    runs: pl.DataFrame
    scores: pl.DataFrame
    summary: pl.DataFrame
    differences: pl.DataFrame
    friedman_p: float
    critical_difference: float
    test: Test
    notes: tuple[str, ...] = ()

    def picture(self) -> str:
        """Return the critical-difference diagram as SVG: methods by mean rank, bars join those that do not differ."""
        ranks = dict(self.summary.select("method", "mean_rank").iter_rows())
        if self.test == "nemenyi":
            return picture(ranks, lambda a, b: abs(ranks[a] - ranks[b]) <= self.critical_difference,
                           self.critical_difference)  # fmt: skip
        alike = {
            frozenset((row["first"], row["second"])): not row["p_holm"] < SIGNIFICANT
            for row in self.differences.iter_rows(named=True)
        }
        return picture(ranks, lambda a, b: alike.get(frozenset((a, b)), False))

    def table(self) -> pl.DataFrame:
        """Return the table for a paper: a row per method with its mean rank, mean, and score on every set."""
        by_method = self.scores.transpose(include_header=True, header_name="method", column_names="set")
        return self.summary.select("method", "mean_rank", "mean").join(by_method, on="method", maintain_order="left")

    def latex(self) -> str:
        """Return `table` in LaTeX with its caption."""
        return table_text.latex(self.table(), caption=self.caption())

    def markdown(self) -> str:
        """Return `table` in Markdown, with its caption below."""
        return f"{table_text.markdown(self.table())}\n\n{self.caption()}"

    def caption(self) -> str:
        """Return what the table shows, in two sentences."""
        n_sets, n_seeds = len(self.scores), self.runs["seed"].n_unique()
        seeds = f", mean of {n_seeds} seeds" if n_seeds > 1 else ""
        friedman = "" if np.isnan(self.friedman_p) else f" Friedman's test: p = {self.friedman_p:.2g}."
        score = self.score.replace("_", " ").capitalize()
        return f"{score} on {n_sets} set{'s' * (n_sets != 1)}{seeds}; mean rank 1 is best.{friedman}"

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write the tables as CSV, the picture as SVG, and the table for a paper as LaTeX and Markdown."""
        tables = (self.summary, self.differences, self.scores, self.runs)
        write_tables(folder, dict(zip(FILES, tables, strict=True)), force=force)
        texts = {"ranks.svg": self.picture(), "table.tex": self.latex() + "\n", "table.md": self.markdown() + "\n"}
        for name, text in texts.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        tables = {name: getattr(self, name).to_dicts() for name in ("summary", "differences", "scores", "runs")}
        numbers = {"friedman_p": self.friedman_p, "critical_difference": self.critical_difference}
        return {"score": self.score, **tables, **numbers, "notes": list(self.notes)}

    def tables(self) -> list[Table]:
        """Return the methods and their differences as tables for display."""
        header = ["method", "mean rank", self.score, "sd of sets", "sd of seeds", "first on"]
        rows = [
            [row["method"], f"{row['mean_rank']:.2f}", f"{row['mean']:.4f}", _shown(row["sd"]), _shown(row["seed_sd"]),
             str(row["best"])]
            for row in self.summary.iter_rows(named=True)
        ]  # fmt: skip
        out = [Table("", header, rows)]
        pairs = [
            [f"{row['first']} - {row['second']}", f"{row['difference']:+.4f}", _ends(row),
             f"{row['wins']} / {row['ties']} / {row['losses']}", _shown(row["p"]), _shown(row["p_holm"])]
            for row in self.differences.iter_rows(named=True)
        ]  # fmt: skip
        if pairs:
            header = ["difference", "mean", "95 % interval", "wins / ties / losses", "p", "p (Holm)"]
            out.append(Table("Paired differences", header, pairs))
        return out


def compare_sets(
    sets: Mapping[str, SetSource],
    methods: Sequence[str],
    *,
    seeds: int = 1,
    against: str | None = None,
    test: Test = "wilcoxon",
    folder: str | Path | None = None,
    watch: Callable[[int, int, str], None] | None = None,
) -> SetComparison:
    """Run methods on several sets and seeds, and compare them by paired differences and ranks.

    Args:
        sets: Votes and truth of each set, by name: a pair, or a function that returns the pair.
        methods: Names of at least two methods.
        seeds: Number of seeds; the methods are run with the seeds 0, 1, ....
        against: Compare the others with this method only; Holm's correction is then for these pairs.
        test: Test behind the bars of the picture: "wilcoxon" (with Holm) or "nemenyi".
        folder: Folder that keeps every finished run; a comparison that is started again with it continues.
        watch: Progress callback, called as `watch(done, of, activity)`.

    Returns:
        Scores, ranks, differences and their tests.

    Raises:
        DataError: No method ran on every set, or the folder holds runs of other data.
    """
    names = list(dict.fromkeys(methods))
    _check(sets, names, seeds, against, test)
    journal = None if folder is None else FinishedRuns(Path(folder) / RUNS)
    runs = list(_run_all(sets, names, seeds, journal, watch))
    scores = {run["score_name"] for run in runs if run["reason"] is None}
    failed = {run["method"]: f"{run['set']}: {run['reason']}" for run in reversed(runs) if run["reason"] is not None}
    ranked = [name for name in names if name not in failed]
    if len(ranked) < 2:
        reasons = "; ".join(f"{name} on {why}" for name, why in failed.items())
        raise DataError(f"fewer than two methods ran on every set ({reasons})")
    if against in failed:
        raise DataError(f"{against} did not run on every set ({failed[against]}); name another method to compare with")
    notes = [f"{name} is not ranked: it did not run on {why}" for name, why in failed.items()]
    if len(sets) < FEWEST_SETS:
        notes.append(
            f"with {len(sets)} set{'s' * (len(sets) != 1)} no difference can be significant at 5 % by Wilcoxon's test; "
            f"at least {FEWEST_SETS} sets are needed"
        )
    frame = pl.DataFrame(runs, infer_schema_length=None).drop("score_name", "key", "code")
    return _compared(frame, list(sets), ranked, next(iter(scores)), against, test, tuple(notes))


def _check(sets: Mapping[str, SetSource], names: list[str], seeds: int, against: str | None, test: str) -> None:
    for name in names:
        registry.card(name)
    if not sets:
        raise ParameterError("there are no sets to compare on")
    if len(names) < 2:
        raise ParameterError("name at least two methods to compare (-m), such as majority_vote and dawid_skene")
    if seeds < 1:
        raise ParameterError(f"seeds must be at least 1, got {seeds}")
    if against is not None and against not in names:
        raise ParameterError(f"against (--against) must be one of the methods {', '.join(names)}, got {against!r}")
    if test not in ("wilcoxon", "nemenyi"):
        raise ParameterError(f"test must be wilcoxon or nemenyi, got {test!r}")


# ---------------------------------------------------------------- Runs, one after the other, with a journal


class FinishedRuns:
    """The finished runs of a comparison, one line of JSON each; a line that was cut off by a crash is ignored."""

    def __init__(self, path: Path) -> None:
        self.path, self.runs = path, dict[tuple[str, str, int], dict[str, Any]]()
        path.parent.mkdir(parents=True, exist_ok=True)
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            try:
                run = json.loads(line)
                self.runs[run["set"], run["method"], run["seed"]] = run
            except (json.JSONDecodeError, KeyError, TypeError):
                continue

    def get(self, name: str, method: str, seed: int, key: str, code: str) -> dict[str, Any] | None:
        """Return a finished run of this method, with the same code, on these data; or None."""
        run = self.runs.get((name, method, seed))
        if run is not None and run.get("key") != key:
            raise DataError(
                f"{self.path} holds runs of other votes or another truth for the set {name}; name another folder or "
                "delete this file"
            )
        return run if run is not None and run.get("code") == code else None

    def add(self, run: dict[str, Any]) -> None:
        """Append a run."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(run) + "\n")


def _run_all(
    sets: Mapping[str, SetSource],
    names: list[str],
    seeds: int,
    journal: FinishedRuns | None,
    watch: Callable[[int, int, str], None] | None,
) -> Iterator[dict[str, Any]]:
    total, done = len(sets) * len(names) * seeds, 0
    code = {name: _code_of(name) for name in names}
    for set_name, source in sets.items():
        votes, truth = source() if callable(source) else source
        votes = get("classes").hooks.coerce(votes)
        key = _fingerprint(votes, truth) if journal is not None else ""
        for name in names:
            for seed in range(seeds):
                if watch is not None:
                    watch(done, total, f"{name} on {set_name}")
                run = None if journal is None else journal.get(set_name, name, seed, key, code[name])
                if run is None:
                    run = {"set": set_name, "method": name, "seed": seed, **_run(votes, truth, name, seed)}
                    run |= {"key": key, "code": code[name]}
                    if journal is not None:
                        journal.add(run)
                done += 1
                yield run


def _run(votes: Any, truth: Any, name: str, seed: int) -> dict[str, Any]:
    """Return the score and the time of one run, or the reason why there is none."""
    run: dict[str, Any] = {"score": None, "cpu_seconds": None, "score_name": None, "reason": None}
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CrowdwiseWarning)
        try:
            result = registry.method(name, seed=seed).fit(votes)
            seconds = time.process_time() - began
            score_name, score = _first_score(evaluate(result, truth, resamples=0))
        except CrowdwiseError as refusal:
            return run | {"reason": str(refusal)}
        except Exception as bug:  # a method of one's own that fails must not end the study
            return run | {"reason": f"failed: {type(bug).__name__}: {' '.join(str(bug).split())[:200]}"}
    return run | {"score": score, "cpu_seconds": seconds, "score_name": score_name}


def _first_score(scores: Any) -> tuple[str, float]:
    """Return the name and value of the score that ranks methods."""
    name, value = next(iter(scores.headline().items()), (None, None))
    if name is None or value is None or not np.isfinite(value):
        raise DataError("its result has no score for this truth")
    return name, float(value)


def _fingerprint(votes: Any, truth: Any) -> str:
    """Return a hash of the votes and the truth, so that a journal is not continued with other data."""
    is_table = isinstance(truth, pl.DataFrame)
    truth_text = truth.write_ndjson() if is_table else json.dumps(list(truth.items()), default=str)
    return _hash(votes.to_frame().write_ndjson() + truth_text)


def _code_of(name: str) -> str:
    """Return a hash of the version and, for a method from outside, of its source: edited code is run again."""
    cls = registry.get(name)
    if cls.__module__.startswith("crowdwise."):
        return versions()["crowdwise"]
    try:
        source = getsource(getmodule(cls) or cls)
    except (OSError, TypeError):  # typed into a console
        source = str(id(cls))
    return _hash(versions()["crowdwise"] + source)


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


# ---------------------------------------------------------------- Statistics over the sets


def _compared(
    runs: pl.DataFrame, sets: list[str], methods: list[str], score: str, against: str | None, test: Test,
    notes: tuple[str, ...],
) -> SetComparison:  # fmt: skip
    by_set = runs.filter(pl.col("method").is_in(methods)).group_by("set", "method", maintain_order=True)
    means = by_set.agg(pl.col("score").mean(), pl.col("score").std().alias("sd"))
    wide = means.pivot("method", index="set", values="score").select("set", *methods)
    table = wide.select(methods).to_numpy()
    ranks = mean_ranks(table)
    seed_sd = dict(means.group_by("method").agg(pl.col("sd").mean()).iter_rows())
    is_best = np.isclose(table, table.max(axis=1, keepdims=True), rtol=0, atol=1e-12)
    summary = pl.DataFrame(
        {
            "method": methods,
            "mean_rank": ranks,
            "mean": table.mean(axis=0),
            "sd": table.std(axis=0, ddof=1) if len(sets) > 1 else [None] * len(methods),
            "seed_sd": [seed_sd[name] for name in methods],
            "best": is_best.sum(axis=0),
        },
        schema_overrides={"sd": pl.Float64, "seed_sd": pl.Float64},
    ).sort("mean_rank", "mean", descending=[False, True], maintain_order=True)
    return SetComparison(
        score, runs, wide, summary, _differences(table, methods, summary["method"].to_list(), against),
        friedman(table), nemenyi(len(methods), len(sets)), test, notes,
    )  # fmt: skip


def mean_ranks(table: F8) -> F8:
    """Return the mean rank of each column over the rows; the highest score has rank 1, ties share their ranks."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(-np.round(table, 12), axis=1).mean(axis=0))


def friedman(table: F8) -> float:
    """Return the p-value of Friedman's test for scores[set, method]; NaN with fewer than three methods or sets."""
    from scipy.stats import friedmanchisquare

    if min(table.shape) < 3:
        return float("nan")
    if (np.ptp(table, axis=1) == 0).all():
        return 1.0
    return float(friedmanchisquare(*np.round(table, 12).T).pvalue)


def nemenyi(n_methods: int, n_sets: int, level: float = SIGNIFICANT) -> float:
    """Return Nemenyi's critical difference of mean ranks.

    >>> round(nemenyi(5, 30), 2)  # Demsar (2006): q = 2.728
    1.11
    """
    from scipy.stats import studentized_range

    q = studentized_range.ppf(1 - level, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))


def _differences(table: F8, methods: list[str], by_rank: list[str], against: str | None) -> pl.DataFrame:
    """Return the paired differences of the better-ranked and the other method, or of `against` and every other."""
    pairs = list(combinations(by_rank, 2))
    if against is not None:
        pairs = [(against, name) for name in by_rank if name != against]
    rows: list[dict[str, Any]] = []
    for first, second in pairs:
        delta = np.round(table[:, methods.index(first)] - table[:, methods.index(second)], 12)
        low, high = student_interval(delta)
        rows.append(
            {
                "first": first, "second": second, "difference": float(delta.mean()), "low": low, "high": high,
                "wins": int((delta > 0).sum()), "ties": int((delta == 0).sum()), "losses": int((delta < 0).sum()),
                "p": signed_rank(delta),
            }
        )  # fmt: skip
    corrected = holm([row["p"] for row in rows])
    return pl.DataFrame(
        [{**row, "p_holm": p} for row, p in zip(rows, corrected, strict=True)], infer_schema_length=None
    )


def student_interval(delta: F8, level: float = 0.95) -> tuple[float | None, float | None]:
    """Return Student's interval of the mean of paired differences; None with fewer than two."""
    from scipy.stats import t

    n = len(delta)
    if n < 2:
        return None, None
    half = float(t.ppf((1 + level) / 2, n - 1) * delta.std(ddof=1) / np.sqrt(n))
    return float(delta.mean()) - half, float(delta.mean()) + half


def signed_rank(delta: F8) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test; differences of zero are dropped."""
    from scipy.stats import PermutationMethod, wilcoxon

    delta = delta[delta != 0]
    if not len(delta):
        return 1.0
    has_ties = len(np.unique(np.abs(delta))) < len(delta)
    if not has_ties or len(delta) > MAX_EXACT_TIES:
        return float(wilcoxon(delta, method="approx" if has_ties else "auto").pvalue)
    return float(wilcoxon(delta, method=PermutationMethod(n_resamples=2**MAX_EXACT_TIES)).pvalue)


def _shown(value: float | None) -> str:
    if value is None or np.isnan(value):
        return "–"
    return f"{value:.4f}" if value >= 1e-4 or value == 0 else f"{value:.1e}"


def _ends(row: Mapping[str, Any]) -> str:
    return "–" if row["low"] is None else f"{row['low']:+.4f} – {row['high']:+.4f}"
