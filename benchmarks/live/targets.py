"""The servers that are put under load, each with what an annotator sends: start, prepare, and one submit + next.

Everything listens on 127.0.0.1 and ends with the run.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from .. import ROOT
from .wire import Wire

CLASSES = ("a", "b", "c", "d")
SKILL = 0.7
# Label Studio calls nobody outside.
QUIET = {"COLLECT_ANALYTICS": "false", "LATEST_VERSION_CHECK": "false", "SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": ""}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def says(task: str, dice: random.Random) -> str:
    """What a simulated annotator says: the truth of a task, a function of its name, or something else."""
    truth = CLASSES[hash_of(task) % len(CLASSES)]
    return truth if dice.random() < SKILL else dice.choice(CLASSES)


def hash_of(text: str) -> int:
    return sum(31**i * ord(c) for i, c in enumerate(text)) % 1_000_003


class Target:
    """`step` submits the answer to a task and brings the next; it raises where the server did not acknowledge."""

    name = ""
    tasks = 100_000

    def __init__(self, folder: Path, annotators: int) -> None:
        self.folder, self.annotators, self.port = folder, annotators, free_port()
        self.process: subprocess.Popen[bytes] | None = None

    def run(self, *command: str, **environment: str) -> None:
        env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1", **environment}
        extra = os.environ.get("CROWDWISE_LOAD_PATH")
        if extra:
            env["PYTHONPATH"] += os.pathsep + extra
        log = (self.folder / "server.log").open("wb")
        self.process = subprocess.Popen(
            command, env=env, stdout=log, stderr=log, cwd=self.folder, start_new_session=True
        )

    def wait(self, path: str, seconds: float = 180) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                    if answer.status == 200:
                        return
            except OSError:
                time.sleep(0.3)
        raise RuntimeError(f"{self.name} does not answer: {(self.folder / 'server.log').read_text()[-500:]}")

    def stop(self) -> None:
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)

    def wire(self, **headers: str) -> Wire:
        return Wire("127.0.0.1", self.port, {name.replace("_", "-"): value for name, value in headers.items()})

    def start(self) -> None:
        raise NotImplementedError

    async def first(self, i: int) -> tuple[Wire, Any]:
        """An annotator's connection and their first task."""
        raise NotImplementedError

    async def step(self, wire: Wire, i: int, task: Any, dice: random.Random) -> Any:
        raise NotImplementedError


class Crowdwise(Target):
    """Ours: an answer and the next task in one request, as the annotator's page sends it."""

    name = "crowdwise"
    tasks = 400_000  # enough for five minutes: a task closes after some five answers

    def start(self) -> None:
        project, python = self.folder / "project", sys.executable
        with (self.folder / "tasks.jsonl").open("w") as file:
            for i in range(self.tasks):
                file.write(json.dumps({"id": f"t{i}", "text": f"text number {i}"}) + "\n")
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        made = [python, "-m", "crowdwise.cli", "project", "create", str(project), "--question", "Which?", "--classes",
                ",".join(CLASSES), "--tasks", str(self.folder / "tasks.jsonl"), "--cap", "7"]  # fmt: skip
        self.admin = subprocess.run(made, env=env, check=True, capture_output=True, text=True).stdout.split()[-1]
        self.run(python, "-m", "crowdwise.cli", "serve", str(project), "--port", str(self.port), "--rate", "100000")
        self.wait("/healthz")

    async def first(self, i: int) -> tuple[Wire, Any]:
        lead = self.wire(Authorization=f"Bearer {self.admin}")
        made = await lead.post("/projects/main/workers", {"name": f"w{i}"})
        wire = self.wire(Authorization=f"Bearer {made.json()['token']}")
        return wire, (await wire.send("GET", "/projects/main/next")).json()["tasks"][0]

    async def step(self, wire: Wire, i: int, task: Any, dice: random.Random) -> Any:
        body = {"task": task["id"], "answer": says(task["id"], dice), "lease": task["lease"]}
        key = f"{i}-{task['lease']}"
        got = await wire.post("/projects/main/labels?next=1", body, idempotency_key=key)
        if got.status != 201:
            raise RuntimeError(f"{got.status} {got.body[:200]!r}")
        return (got.json()["next"]["tasks"] or [None])[0]


class CrowdwiseTwo(Crowdwise):
    """Ours, with submit and next as two requests."""

    name = "crowdwise, two requests"

    async def step(self, wire: Wire, i: int, task: Any, dice: random.Random) -> Any:
        body = {"task": task["id"], "answer": says(task["id"], dice), "lease": task["lease"]}
        got = await wire.post("/projects/main/labels", body, idempotency_key=f"{i}-{task['lease']}")
        if got.status != 201:
            raise RuntimeError(f"{got.status} {got.body[:200]!r}")
        return ((await wire.send("GET", "/projects/main/next")).json()["tasks"] or [None])[0]


class Bare(Target):
    """A FastAPI route that commits one row per request."""

    name = "bare route"

    def start(self) -> None:
        self.run(sys.executable, "-m", "uvicorn", "benchmarks.live.bare:app", "--port", str(self.port), "--log-level",
                 "warning", BARE_DB=str(self.folder / "bare.db"))  # fmt: skip
        self.wait("/next")

    async def first(self, i: int) -> tuple[Wire, Any]:  # noqa: ARG002
        return self.wire(), {"id": "t0", "n": 0}

    async def step(self, wire: Wire, i: int, task: Any, dice: random.Random) -> Any:
        n = task["n"]
        body = {"task": task["id"], "worker": f"w{i}", "answer": says(task["id"], dice), "key": f"{i}-{n}"}
        got = await wire.post("/labels", body)
        if got.status != 201:
            raise RuntimeError(f"{got.status} {got.body[:200]!r}")
        following = await wire.send("GET", f"/next?n={n + 1}")
        return {**following.json()["tasks"][0], "n": n + 1}


class Potato(Target):
    """Potato: the annotation is saved by /updateinstance, the next page brought by /annotate, as its own page does."""

    name = "Potato 2.12.1"
    tasks = 20_000

    def start(self) -> None:
        (self.folder / "data").mkdir()
        with (self.folder / "data" / "tasks.jsonl").open("w") as file:
            for i in range(self.tasks):
                file.write(json.dumps({"id": f"t{i}", "text": f"text number {i}"}) + "\n")
        scheme = {"annotation_type": "radio", "name": "mood", "description": "Which?", "labels": list(CLASSES)}
        config = {
            "annotation_task_name": "Load", "task_dir": ".", "output_annotation_dir": "out/",
            "output_annotation_format": "jsonl", "data_files": ["data/tasks.jsonl"],
            "item_properties": {"id_key": "id", "text_key": "text"}, "require_password": False,
            "user_config": {"allow_all_users": True, "users": []}, "annotation_schemes": [scheme],
            "assignment_strategy": "random", "max_annotations_per_item": 7, "max_annotations_per_user": 100_000,
            "site_dir": "default",
        }  # fmt: skip
        (self.folder / "config.yaml").write_text(json.dumps(config))
        peer = peers() / "potato" / "bin" / "potato"
        self.run(str(peer), "start", "config.yaml", "-p", str(self.port), "--host", "127.0.0.1")
        self.wait("/health", 300)

    async def first(self, i: int) -> tuple[Wire, Any]:
        wire = self.wire()
        form = urlencode({"email": f"w{i}", "pass": ""}).encode()
        await wire.send("POST", "/auth", form, content_type="application/x-www-form-urlencoded")
        await wire.send("GET", "/annotate")
        return wire, (await wire.send("GET", "/api/current_instance")).json()["instance_id"]

    async def step(self, wire: Wire, i: int, task: Any, dice: random.Random) -> Any:  # noqa: ARG002
        answer = says(task, dice)
        body = {"instance_id": task, "annotations": {f"mood:{answer}": answer}, "span_annotations": []}
        got = await wire.post("/updateinstance", body)
        if got.status != 200 or b'"error"' in got.body[:60]:
            raise RuntimeError(f"{got.status} {got.body[:200]!r}")
        page = await wire.post("/annotate", {"action": "next_instance", "instance_id": task})
        if page.status not in (200, 302):
            raise RuntimeError(f"{page.status} {page.body[:200]!r}")
        found = (await wire.send("GET", "/api/current_instance")).json().get("instance_id")
        return None if found == task else found


class LabelStudio(Target):
    """Label Studio Community on SQLite: POST of an annotation and GET of the project's next task, users with tokens."""

    name = "Label Studio 1.23.2"
    tasks = 20_000
    admin = "0123456789abcdef0123456789abcdef01234567"

    def start(self) -> None:
        bin_ = peers() / "labelstudio" / "bin"
        data = str(self.folder / "data")
        env = {**QUIET, "LABEL_STUDIO_BASE_DATA_DIR": data, "DJANGO_DB": "sqlite"}
        self.run(str(bin_ / "label-studio"), "start", "--no-browser", "--port", str(self.port), "--data-dir", data,
                 "--internal-host", "127.0.0.1", "--username", "admin@example.org", "--password", "admin-admin-1",
                 "--user-token", self.admin, **env)  # fmt: skip
        self.wait("/health", 300)
        users = [str(bin_ / "python"), str(Path(__file__).with_name("label_studio_users.py")), str(self.annotators)]
        made = subprocess.run(users, env={**os.environ, **env}, check=True, capture_output=True, text=True)
        self.tokens = [line.split()[1] for line in made.stdout.splitlines() if line.startswith("TOKEN ")]
        asyncio.run(self._fill())

    async def _fill(self) -> None:
        lead = self.wire(Authorization=f"Token {self.admin}")
        choices = "".join(f'<Choice value="{c}"/>' for c in CLASSES)
        view = f'<View><Text name="text" value="$text"/><Choices name="mood" toName="text">{choices}</Choices></View>'
        await lead.post("/api/projects", {"title": "load", "label_config": view, "maximum_annotations": 7})
        for at in range(0, self.tasks, 5_000):
            rows = [{"text": f"text number {i}"} for i in range(at, min(at + 5_000, self.tasks))]
            got = await lead.post("/api/projects/1/import", rows)
            if got.status not in (200, 201):
                raise RuntimeError(f"{got.status} {got.body[:200]!r}")

    async def first(self, i: int) -> tuple[Wire, Any]:
        wire = self.wire(Authorization=f"Token {self.tokens[i]}")
        return wire, (await wire.send("GET", "/api/projects/1/next")).json()["id"]

    async def step(self, wire: Wire, i: int, task: Any, dice: random.Random) -> Any:  # noqa: ARG002
        choice = {"choices": [says(f"t{task}", dice)]}
        result = [{"from_name": "mood", "to_name": "text", "type": "choices", "value": choice}]
        got = await wire.post(f"/api/tasks/{task}/annotations/", {"result": result, "lead_time": 2.0})
        if got.status != 201:
            raise RuntimeError(f"{got.status} {got.body[:200]!r}")
        following = await wire.send("GET", "/api/projects/1/next")
        if following.status != 200:
            raise RuntimeError(f"{following.status} {following.body[:200]!r}")
        return following.json()["id"]


def peers() -> Path:
    """Where the other tools have their own environments."""
    return Path(os.environ.get("CROWDWISE_PEERS", ROOT / ".venvs"))


TARGETS = {"ours": Crowdwise, "two": CrowdwiseTwo, "bare": Bare, "potato": Potato, "labelstudio": LabelStudio}
