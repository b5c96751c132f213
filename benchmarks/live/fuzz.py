"""python -m benchmarks.live.fuzz [--cases 1000]: schemathesis over the OpenAPI document; --write: docs/openapi.json.

Every operation gets so many requests, well-formed and malformed ones. What is held: no answer of 5xx, only statuses,
content types and bodies that the document names, refusals of what it forbids.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import tempfile
from pathlib import Path

from crowdwise.server.api.app import make_app
from crowdwise.server.auth import issue
from crowdwise.server.commands import manage
from crowdwise.server.config import Config
from crowdwise.server.project import Project, create, load_tasks
from tests.server.serving import wired

from .. import ROOT
from .kept import keep, section

# Streams never end; the report and tables of what strangers put in are read by other tests.
LEFT_OUT = ("/projects/main/events",)
AFTER = (
    "schemathesis, over every address but the stream of events, half of them malformed, the others with names of tasks "
    "and workers that there are, half of the time; held to 20,000 requests, none "
    "unexplained. Checked: no 5xx, statuses, content types and bodies as the document has them, malformed data refused."
)


def project_in(folder):
    create(folder, Config("Which?", classes=("a", "b"), cap=3))
    project = Project(folder)
    load_tasks(project, [{"id": f"t{i}", "payload": {"text": f"text {i}"}} for i in range(5)])
    secret = project.queue.do(lambda s: issue(s, "admin", manage.add_worker(s, "w0"))[1])
    for name in ("w1", "w2"):
        project.queue.do(lambda s, name=name: issue(s, "annotate", manage.add_worker(s, name)))
    return project, secret


def document():
    """The OpenAPI document, which is the same for every project."""
    with tempfile.TemporaryDirectory() as folder:
        project, _ = project_in(Path(folder) / "p")
        found = make_app(project).openapi()
        project.close()
    return json.loads(json.dumps(found))


def of_one(found):
    """The document of the project that there is: its name is written into the addresses, but for the first of them."""
    found, paths = json.loads(json.dumps(found)), {}
    for path, operations in found["paths"].items():
        if not path.startswith("/projects/{p}/"):
            paths[path] = operations
            continue
        for each in operations.values():
            each["parameters"] = [one for one in each.get("parameters", []) if one["name"] != "p"]
        paths[path.replace("{p}", "main")] = operations
    return found | {"paths": paths}


def fuzz(cases, seed=0):
    """So many requests an operation; how many there were, their statuses, and what failed."""
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from hypothesis.errors import Unsatisfiable

    out = {"cases": 0, "status": collections.Counter(), "failed": []}
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        project, secret = project_in(Path(folder) / "p")
        stack.callback(project.close)
        app = make_app(project, rate=1e9, burst=1e9)
        schema = schemathesis.openapi.from_dict(of_one(app.openapi()))
        _, port = stack.enter_context(wired(app))
        how = settings(max_examples=cases, deadline=None, database=None, phases=[Phase.generate],
                       suppress_health_check=list(HealthCheck))  # fmt: skip
        for found in schema.get_all_operations():
            operation = found.ok()
            if operation.path in LEFT_OUT:
                continue
            for mode in schemathesis.GenerationMode:
                strategy = operation.as_strategy(generation_mode=mode)
                try:
                    known = mode is schemathesis.GenerationMode.POSITIVE
                    ask = _once(operation, secret, out, known, f"http://127.0.0.1:{port}")
                    seeded(seed)(how(given(case=strategy)(ask)))()
                except (schemathesis.errors.SchemathesisError, Unsatisfiable) as error:
                    if mode is schemathesis.GenerationMode.POSITIVE:
                        raise AssertionError(f"{operation.path}: nothing can be asked of it") from error
    return out


# What there is: strangers' names would all be unknown ones.
KNOWN = {"task": ("t0", "t1", "t2", "t3", "t4"), "worker": ("w1", "w2"), "name": ("w1",), "answer": ("a", "b")}


def _known(found, n):
    """The same with some of the names that there are, by the bits of a number: every one of them half of the time."""
    if isinstance(found, dict):
        for place, name in enumerate(KNOWN):
            if name in found and n >> place & 1:
                found[name] = KNOWN[name][n % len(KNOWN[name])]
        if isinstance(found.get("labels"), list):
            found["labels"] = [_known(each, n + i) for i, each in enumerate(found["labels"])]
    return found


def _once(operation, secret, out, known, url):
    def once(case):
        if known:
            case.path_parameters = _known(case.path_parameters, out["cases"])
            case.body = _known(case.body, out["cases"])
        case.headers = {**(case.headers or {}), "Authorization": f"Bearer {secret}"}
        got = case.call(base_url=url)
        out["cases"] += 1
        out["status"][got.status_code] += 1
        complaint = judge(case, got)
        if complaint:
            out["failed"].append((operation.method, operation.path, complaint, str(case.body)[:200]))

    return once


def judge(case, got):
    """What is wrong with an answer; "" where nothing is."""
    from schemathesis import checks

    # What is too large is refused before it is read: as good a refusal as any, which schemathesis does not know.
    asked = [name for name in CHECKED if (name, got.status_code) != ("negative_data_rejection", 413)]
    try:
        case.validate_response(got, checks=[getattr(checks, name) for name in asked])
    except checks.FailureGroup as error:
        return " / ".join(str(each).splitlines()[0] for each in error.exceptions)
    except (AssertionError, checks.Failure) as error:
        return str(error)[:300]
    return ""


CHECKED = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
           "negative_data_rejection")  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if given.write:
        path = ROOT / "docs" / "openapi.json"
        path.write_text(json.dumps(document(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"written to {path}")
        return
    found = fuzz(given.cases, given.seed)
    print(found["cases"], dict(found["status"]), len(found["failed"]))
    for each in found["failed"][:20]:
        print(each)
    found["status"] = {str(k): v for k, v in found["status"].items()}
    kept = keep("fuzz", f"seed {given.seed}, {given.cases} an operation", found).values()
    total = collections.Counter()
    for each in kept:
        total.update(each["status"])
    by = ", ".join(f"{k}: {v:,}" for k, v in sorted(total.items()))
    n, failed = sum(each["cases"] for each in kept), sum(len(each["failed"]) for each in kept)
    header = ["requests", "answers by status", "unexplained"]
    command = "python -m benchmarks.live.fuzz --seed N"
    section("fuzz", "Strange requests", command, header, [[f"{n:,}", by, str(failed)]], AFTER, numbers=False)


if __name__ == "__main__":
    main()
