"""python -m tests.laws.odd [KIND ...] [--shapes N]: small odd files of every kind, through the library and the command.

One task, one worker, crowds that do not hang together, everything tied, empty sets and texts, one class and twenty,
unicode, boxes without area, spans within spans, missing cells, huge numbers, NaN. Each must give a result whose figures
are finite and whose chances add up to 1, or one line that says what is wrong; never a traceback, never a warning of
numpy's. Prints what did not; exits with 1 where anything did not.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import crowdwise as cw
from crowdwise.cli import main as command
from crowdwise.core import kind as kinds
from crowdwise.core import method_registry as registry
from crowdwise.workers import study

Rng = np.random.Generator
SHAPES, COMMAND_EVERY = 200, 4
MOODS = ("plain", "tied", "odd", "huge", "plain")
WORDS = ("a", "b", "zwölf", "日本", "🐈", "é", "a b", "ﬁ", "0", "x" * 40)


def _number(rng: Rng, mood: str) -> str:
    if mood == "tied":
        return "3"
    if mood == "huge":
        return repr(float(rng.normal() * 10.0 ** rng.integers(-300, 300)))
    if mood == "odd":
        return str(rng.choice(["0", "-0", "1e308", "-1e308", "nan", "inf", "1e-320", "", "5", "7.5"]))
    return f"{rng.normal():.3f}"


def _share(rng: Rng, mood: str) -> str:
    if mood == "tied":
        return "0.5"
    return str(
        rng.choice(["0", "1", "0.5", "1e-300", "nan", "", "0.999999999999"] if mood != "plain" else ["0.2", "0.9"])
    )


def _label(rng: Rng, mood: str) -> str:
    if mood == "tied":
        return "a"
    return WORDS[rng.integers(len(WORDS))] if mood == "odd" else f"k{rng.integers(20 if mood == 'huge' else 3)}"


def _set(rng: Rng, mood: str) -> str:
    if mood == "tied":
        return "[]"
    return json.dumps(sorted({_label(rng, mood) for _ in range(rng.integers(0, 4))}))


def _order(rng: Rng, mood: str) -> str:
    items = rng.permutation(20 if mood == "huge" else 4)[: rng.integers(1, 20 if mood == "huge" else 5)]
    sign = "=" if mood == "tied" else ">"
    names = [WORDS[i % len(WORDS)].strip() if mood == "odd" else f"i{i}" for i in items.tolist()]
    return sign.join(dict.fromkeys(name.replace(" ", "_") for name in names)) or "i0"


def _pair(rng: Rng, mood: str) -> tuple[str, str]:
    a, b = rng.choice(8 if mood == "huge" else 4, 2, replace=False).tolist()
    name = (lambda i: WORDS[i]) if mood == "odd" else (lambda i: f"i{i}")
    return name(a), name(b)


def _winner(rng: Rng, mood: str) -> tuple[str, ...]:
    return (*_pair(rng, mood), "tie" if mood == "tied" else str(rng.choice(["left", "right", "tie"])))


def _same(rng: Rng, mood: str) -> tuple[str, ...]:
    return (*_pair(rng, mood), "1" if mood == "tied" else str(rng.integers(2)))


def _closer(rng: Rng, mood: str) -> tuple[str, ...]:
    head, left, right = rng.choice(6 if mood == "huge" else 4, 3, replace=False).tolist()
    return f"i{head}", f"i{left}", f"i{right}", "left" if mood == "tied" else str(rng.choice(["left", "right"]))


def _spans(rng: Rng, mood: str) -> str:
    if mood == "tied":
        return "[]"
    out = []
    for _ in range(rng.integers(0, 4)):
        begin = int(rng.integers(0, 10**6 if mood == "huge" else 12))
        end = begin + int(rng.integers(0 if mood == "odd" else 1, 8))
        out.append([begin, end, _label(rng, "odd" if mood == "odd" else "plain")])
    return json.dumps(out, ensure_ascii=False)


def _corner(rng: Rng, mood: str) -> float:
    return float(rng.choice([0, -5, 1e9, 1e-9, 3])) if mood in ("odd", "huge") else float(rng.integers(0, 30))


def _boxes(rng: Rng, mood: str) -> str:
    if mood == "tied":
        return json.dumps([[0, 0, 2, 2]])
    return json.dumps([[_corner(rng, mood) for _ in range(4)] for _ in range(rng.integers(0, 4))])


def _outlines(rng: Rng, mood: str) -> str:
    if mood == "tied":
        return "[]"
    points = [
        [[_corner(rng, mood), _corner(rng, mood)] for _ in range(rng.integers(3, 6))] for _ in range(rng.integers(0, 3))
    ]
    return json.dumps(points)


def _text(rng: Rng, mood: str) -> str:
    if mood == "tied":
        return "same words"
    words = WORDS if mood == "odd" else [f"w{i}" for i in range(6)]
    return " ".join(words[rng.integers(len(words))] for _ in range(rng.integers(0, 200 if mood == "huge" else 6)))


ANSWERS: dict[str, tuple[tuple[str, ...], Callable[[Rng, str], str | tuple[str, ...]]]] = {
    "classes": (("label",), _label),
    "numbers": (("value",), _number),
    "probabilities": (("probability",), _share),
    "sets": (("labels",), _set),
    "comparisons": (("left", "right", "winner"), _winner),
    "rankings": (("ranking",), _order),
    "similarities": (("left", "right", "same"), _same),
    "triplets": (("head", "left", "right", "closer"), _closer),
    "spans": (("spans",), _spans),
    "boxes": (("boxes",), _boxes),
    "outlines": (("outlines",), _outlines),
    "texts": (("output",), _text),
}


def rows(kind: str, seed: int) -> list[list[str]]:
    """The file of a seed: a header and rows."""
    rng = np.random.default_rng([seed, list(ANSWERS).index(kind)])
    columns, answer = ANSWERS[kind]
    tasks, workers = (int(n) for n in rng.choice([1, 1, 2, 3, 6, 12], 2))
    mood, apart, share = MOODS[seed % len(MOODS)], rng.random() < 0.25, rng.choice([0.3, 0.7, 1.0])
    out = [["task", "worker", *columns]]
    alone = len(columns) > 1  # a pair or a triplet is a task by itself
    for t in range(tasks):
        for w in range(workers):
            if (apart and t % 2 != w % 2) or (rng.random() > share and len(out) > 1):
                continue
            cells = answer(rng, mood)
            cells = [cells] if isinstance(cells, str) else list(cells)
            if rng.random() < 0.03:
                cells[-1] = ""
            out.append([f"t{t}", f"w{w}", *cells])
    return [row[1:] for row in out] if alone else out


def faults(kind: str, seed: int, folder: Path) -> list[str]:
    """What is wrong with what the library, and now and then the command, make of a shape."""
    path = folder / "votes.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows(kind, seed))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", cw.CrowdwiseWarning)
        try:
            found = _by_library(kind, path)
        except cw.CrowdwiseError as error:
            found = [] if "\n" not in str(error) else [f"an error of several lines: {error}"]
        except Exception:
            found = [traceback.format_exc(limit=-3)]
    return found + (_by_command(kind, path, folder) if seed % COMMAND_EVERY == 0 else [])


def _by_library(kind: str, path: Path) -> list[str]:
    votes = cw.read(path, kind=kind, duplicates="keep")
    result = registry.method(kinds.get(kind).default).fit(votes)
    look = study(votes, result)
    tables = {"tasks": result.to_table(), "workers": result.worker_table(), "quality": look.quality}
    out = []
    for name, table in tables.items():
        for column, dtype in table.schema.items():
            if dtype.is_float() and bool(np.isinf(table[column].drop_nulls().to_numpy()).any()):
                out.append(f"infinite figures in {column} of {name}")
    posterior = getattr(result.estimate, "posterior", None)
    if posterior is not None and kind == "classes" and not np.allclose(np.asarray(posterior).sum(axis=1), 1):
        out.append("a posterior that does not add up to 1")
    own = {name: value for name, value in vars(result.estimate).items() if isinstance(value, np.ndarray)}
    out += [f"estimate.{n} is not finite" for n, v in own.items() if v.dtype.kind == "f" and np.isinf(v).any()]
    return out


def _by_command(kind: str, path: Path, folder: Path) -> list[str]:
    said, told, code = io.StringIO(), io.StringIO(), None
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told), warnings.catch_warnings():
            command(["aggregate", str(path), "--kind", kind, "-o", str(folder / "run")])
    except SystemExit as stop:
        code = stop.code
    except Exception:
        return [traceback.format_exc(limit=-3)]
    words = told.getvalue()
    lines = [line for line in words.splitlines() if line.startswith("crowdwise:")]
    if code not in (0, 2, None) or "Traceback" in words or "RuntimeWarning" in words or (code == 2 and len(lines) != 1):
        return [f"crowdwise aggregate: exit code {code}: {words.strip()}"]
    return []


def main() -> None:
    """All kinds, or those named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(ANSWERS))
    parser.add_argument("--shapes", type=int, default=SHAPES)
    options = parser.parse_args()
    wrong = 0
    for kind in options.kinds or ANSWERS:
        bad = 0
        for seed in range(options.shapes):
            with tempfile.TemporaryDirectory() as folder:
                found = faults(kind, seed, Path(folder))
            bad += bool(found)
            for fault in found[: 1 if bad < 6 else 0]:
                print(f"{kind} {seed}: {fault}")
        wrong += bad
        print(f"{kind}: {options.shapes} shapes, {bad} wrong", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
