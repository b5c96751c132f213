"""python -m benchmarks.live.load [ours|bare|potato|labelstudio]... [--seconds 300]: many annotators at once.

Each annotator submits an answer and gets the next task, again and again without a pause; one submit + next is what is
timed, acknowledged answers are what is counted. Servers run on this machine's loopback, one after the other, each in
its own process on SQLite or whatever it brings; the load comes from one other process. Writes docs/benchmarks/live.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from crowdwise.active.answer_lists import AnswerLists

from .. import DOCS, ROOT
from ..markdown import figures, write_section
from .targets import TARGETS, Target

PAGE, STORE = DOCS / "live.md", ROOT / "build" / "live-load.json"
HEAD = "# The live server, measured\n\nEvery figure was printed by the command above it.\n"
ANNOTATORS, SECONDS = 200, 300.0
# Rows of one call were taken one after the other on the same machine; and how much memory may grow and be called flat.
RUN, FLAT = time.time(), 0.05
FIT = "crowdwise.server.fitting"
FAULTS = (RuntimeError, OSError, TimeoutError, asyncio.IncompleteReadError, KeyError, ValueError)


async def annotator(
    target: Target, i: int, until: list[float], took: list[tuple[float, float]], odd: list[str]
) -> bool:
    """From the first task to the end of the time; faults are kept, and the annotator goes on with their task. Whether
    the tasks ran out before the time."""
    dice = random.Random(i)
    try:
        wire, task = await target.first(i)
    except FAULTS as error:  # they never got a task
        odd.append(f"{type(error).__name__} {error}"[:200])
        return False
    await ready(until)
    while task is not None and time.monotonic() < until[0]:
        begun = time.monotonic()
        try:
            following = await asyncio.wait_for(target.step(wire, i, task, dice), 60)
        except FAULTS as error:
            odd.append(f"{type(error).__name__} {error}"[:200])
            await wire.close()
            await asyncio.sleep(0.2)
            continue
        took.append((begun, time.monotonic() - begun))
        task = following
    await wire.close()
    return task is None and time.monotonic() < until[0]


async def ready(until: list[float]) -> None:
    while until[0] == 0:
        await asyncio.sleep(0.05)


async def under_load(target: Target, seconds: float) -> dict[str, Any]:
    until, took, odd, memory, most = [0.0], list[tuple[float, float]](), list[str](), list[float](), 0.0
    people = []
    for at in range(0, target.annotators, 20):  # they come in groups: not all at once at the door
        group = range(at, min(at + 20, target.annotators))
        people += [asyncio.create_task(annotator(target, i, until, took, odd)) for i in group]
        await asyncio.sleep(0.5)
    await asyncio.sleep(5)
    cpu, load = cpu_of(target), time.process_time()
    begun = time.monotonic()
    until[0] = begun + seconds
    while time.monotonic() < until[0]:
        memory.append(memory_of(target, FIT))
        most = max(most, memory_of(target))
        await asyncio.sleep(min(5.0, seconds / 10))
    await asyncio.wait(people, timeout=90)
    for each in people:
        each.cancel()
    spent = time.monotonic() - begun
    millis = sorted(1000 * each for _, each in took)
    left = sum(1 for each in people if each.done() and not each.cancelled() and each.result())
    at = {f"p{q}": millis[min(int(q / 100 * len(millis)), len(millis) - 1)] if millis else None for q in (50, 95, 99)}
    tenth, half = max(len(memory) // 10, 1), len(memory) // 2
    return {
        "name": target.name, "asked": seconds, "seconds": spent, "annotators": target.annotators, "labels": len(took),
        "per_second": len(took) / spent, **at, "faults": len(odd), "example": odd[0] if odd else "",
        "memory_early": median(memory[:tenth]), "memory_half": median(memory[half - tenth // 2 : half + tenth]),
        "memory_late": median(memory[-tenth:]), "memory_most": most, "server_cpu": cpu_of(target) - cpu,
        "load_cpu": time.process_time() - load, "tasks": target.tasks, "ran_out": left, "run": RUN,
    }  # fmt: skip


def family(target: Target) -> list[int]:
    """The server's process and its children."""
    assert target.process is not None
    group = target.process.pid
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                fields = (path / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[2]) == group:
                found.append(int(path.name))
    return found


def memory_of(target: Target, without: str = "") -> float:
    """Resident memory in MB, of processes whose command does not hold these words."""
    pages = 0
    for pid in family(target):
        try:
            if without and without in Path(f"/proc/{pid}/cmdline").read_text():
                continue
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except OSError:
            continue
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def cpu_of(target: Target) -> float:
    """Seconds of CPU so far."""
    ticks = 0
    for pid in family(target):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def come_first(pid: int | str) -> None:
    """Before other work on this machine, where the system lets us: load and server alike."""
    try:
        Path(f"/proc/{pid}/autogroup").write_text("-10")
    except OSError:
        print(f"process {pid} shares the machine with others as it is", flush=True)


def one(name: str, annotators: int, seconds: float, first: bool = False) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix=f"load-{name}-"))
    target = TARGETS[name](folder, annotators)
    try:
        target.start()
        if first and target.process is not None:
            come_first("self")
            come_first(target.process.pid)
        return asyncio.run(under_load(target, seconds))
    finally:
        target.stop()
        shutil.rmtree(folder, ignore_errors=True)


def section(found: dict[str, Any]) -> str:
    rows = []
    bare = found.get("bare", {}).get("per_second")
    for each in found.values():
        ratio = f"{each['per_second'] / bare:.1f}" if bare else ""
        times = [f"{each[p]:,.0f}" if each[p] is not None else "" for p in ("p50", "p95", "p99")]
        rows.append([each["name"], f"{each['seconds']:.0f}", f"{each['labels']:,}", f"{each['per_second']:,.1f}", ratio,
                     *times, f"{each['faults']:,}",
                     f"{each['memory_early']:,.0f} / {each['memory_half']:,.0f} / {each['memory_late']:,.0f}",
                     f"{each.get('memory_most', each['memory_late']):,.0f}",
                     f"{1000 * each['server_cpu'] / max(each['labels'], 1):.2f}"])  # fmt: skip
    header = ["server", "seconds", "labels", "labels/s", "× bare", "p50 ms", "p95 ms", "p99 ms", "faults",
              "memory MB early / half / end", "most", "CPU ms a label"]  # fmt: skip
    tasks = found["ours"]["tasks"] if "ours" in found else TARGETS["ours"].tasks
    n = max(each["annotators"] for each in found.values())
    return (
        f"{n} simulated annotators, each with a connection of their own, submit and ask for the next task without a "
        "pause. A label counts when the server has acknowledged it; the times are of submit + next together. The bare "
        "route is FastAPI with one commit per request (WAL, synchronous=FULL, as ours) and a `next` that does nothing. "
        f"Ours has {tasks:,} tasks, the live model, leases and idempotency keys, fits in the background, and takes the "
        "next task along with the answer, as its page does. Potato and Label Studio are run by their own start "
        "commands, with the requests of "
        "their own pages, 20,000 tasks and 200 users. A fault is an answer that was not acknowledged within 60 seconds "
        "or was refused; Potato is asked once more for the id of its new task, which stands in its page. The web "
        "servers of ours and of the bare route read requests by httptools and uvloop, which the extra `serve` brings. "
        "With `--first` load and server come before other work on the machine; a machine that others use at the same "
        "time is slower than an idle one: compare rows, not machines. Where the column of seconds has less, the "
        "server was measured for a shorter time. Memory is the median of the samples in the first, the middle and the "
        "last tenth of the time, without the process that fits in the background and ends with each fit, and the "
        "highest of all with it."
        "\n\n" + figures(header, rows) + verdict(found) + caveats(found)
    )


def verdict(found: dict[str, Any]) -> str:
    """How it stands against the bare route and the others, and whether memory is flat."""
    if "ours" not in found or "bare" not in found:
        return ""
    ours, bare = found["ours"], found["bare"]
    ratio, cpu = ours["per_second"] / bare["per_second"], per_label(ours)
    out = f"\n\nOurs is {ratio:.1f} times the bare route. "
    out += (
        f"The bare route waits for the disk, one commit a label, and takes {per_label(bare):.2f} ms of CPU for the two "
        f"requests of a label; ours takes {cpu:.2f} ms for its one, fits in their own process not counted. "
    )
    for name in ("potato", "labelstudio"):
        if name in found:
            it = found[name]
            ahead = ours["per_second"] > it["per_second"] and all(
                it[p] is None or ours[p] < it[p] for p in ("p50", "p95", "p99")
            )
            out += f"It is {'ahead' if ahead else 'not ahead'} of {it['name']} in labels/s and in all times. "
    grown = ours["memory_late"] / ours["memory_half"] - 1
    each = (ours["memory_late"] - ours["memory_half"]) * 1e6 / max(ours["labels"] * 0.45, 1)
    out += f"Memory from the middle of the time to its end: {grown:+.1%}, {each:,.0f} bytes a label"
    return f"{out}; the answer itself takes {kept_of_an_answer()} bytes in the model's tables. It is {flat(grown)}."


def per_label(each: dict[str, Any]) -> float:
    """Milliseconds of the server's CPU."""
    return 1000 * float(each["server_cpu"]) / max(int(each["labels"]), 1)


def flat(grown: float) -> str:
    return "flat" if grown <= FLAT else "not flat: it grows with the answers"


def kept_of_an_answer() -> int:
    """Bytes of an answer in the model's tables."""
    lists = AnswerLists(2)
    return sum(getattr(lists, name).itemsize for name in ("after", "counted", "worker", "label", "weight", "p_right"))


def caveats(found: dict[str, Any]) -> str:
    """What a reader must know of single rows."""
    out = ""
    if len({each.get("run", 0) for each in found.values()}) > 1:
        out += " The rows were not all taken in one run: compare them with care."
    for each in found.values():
        if each["faults"] > each["labels"]:
            out += f" {each['name']} failed more often than it answered ({each['labels']} labels): that is not a rate."
        if each.get("ran_out"):
            out += f" {each['ran_out']} annotators of {each['name']} ran out of tasks before the end."
    return out


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live.load")
    parser.add_argument("names", nargs="*", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--annotators", type=int, default=ANNOTATORS)
    parser.add_argument("--first", action="store_true", help="server and load come before other work on the machine")
    parser.add_argument("--finished", action="store_true", help="only write the page from what was measured")
    parser.add_argument("--try", dest="trial", action="store_true", help="print only")
    asked = parser.parse_args()
    names = [] if asked.finished else asked.names or ["bare", "ours", "potato", "labelstudio"]
    for name in names:
        if name not in TARGETS:
            parser.error(f"there is no server {name!r}; there are {', '.join(TARGETS)}")
    kept = json.loads(STORE.read_text()) if STORE.is_file() else {}
    for name in names:
        kept[name] = found = one(name, asked.annotators, asked.seconds, asked.first) | {"first": asked.first}
        print(json.dumps(found), flush=True)
        if not asked.trial:
            STORE.parent.mkdir(exist_ok=True)
            STORE.write_text(json.dumps(kept))
    if not asked.trial:
        if not PAGE.is_file():
            PAGE.write_text(HEAD, encoding="utf-8")
        shown = {name: kept[name] for name in TARGETS if name in kept}
        long = max(each["asked"] for each in shown.values())
        first = " --first" if all(each.get("first") for each in shown.values()) else ""
        command = f"python -m benchmarks.live.load --seconds {long:g}{first}"
        write_section(PAGE, "load", "Load", command, section(shown))


if __name__ == "__main__":
    main()
