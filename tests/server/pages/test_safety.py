"""Strangers' texts stay text on every page; nothing serious for axe; 360 px are wide enough."""

from __future__ import annotations

import pytest

from tests.report.payloads import PAYLOADS

# What the server takes for a name: one line of up to 200 characters without control characters.
NAMES = [p for p in PAYLOADS if len(p.strip()) > 0 and len(p) <= 200 and p.isprintable()]
assert len(NAMES) > 150


def hostile_tasks(per=32):
    """All payloads as texts, names of fields and their values."""
    parts = [NAMES[i : i + per] for i in range(0, len(NAMES), per)]
    return [
        {
            "id": part[0],
            "payload": {"text": "\n".join(part), "image": f"javascript:alert({i})", **{p: p for p in part}},
        }
        for i, part in enumerate(parts)
    ]


def innocent(page, watch):
    assert watch.dialogs == []
    assert watch.complaints == []
    assert watch.strangers == []
    assert "pwned" not in page.title()
    assert page.locator("main script, main iframe, main object, main embed, main base, main meta").count() == 0


def open_all(page):
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")


def test_texts_of_strangers_stay_texts(site, visit):
    tasks = hostile_tasks()
    here = site(tasks, classes=tuple(NAMES[::20]), question=NAMES[0], guidelines="\n\n".join(NAMES), cap=50, target=1.0)
    workers = {name: here.worker(name) for name in NAMES[3:60:8]}
    for i, token in enumerate(workers.values()):
        with here.api(token) as api:
            for j, task in enumerate(api.get("/projects/main/next", params={"n": 20}).json()["tasks"]):
                body = {"task": task["id"], "answer": NAMES[::20][(i * 3 + j) % 5]}
                said = api.post("/projects/main/labels", json=body, headers={"Idempotency-Key": f"{i}-{j}"})
                assert said.status_code == 201
    page, watch = visit(here, "/p/main/annotate", here.worker(NAMES[1]))
    seen = set()
    for _ in tasks:
        page.locator(".task").wait_for()
        task = page.locator(".task").get_attribute("data-task")
        seen.add(page.locator(".text").inner_text())
        page.wait_for_timeout(380)
        page.keyboard.press("1")
        page.wait_for_function("(was) => document.querySelector('.task')?.dataset.task !== was", arg=task)
    assert seen == {task["payload"]["text"] for task in tasks}
    innocent(page, watch)
    page, watch = visit(here, "/p/main/lead", here.admin)
    page.locator(".live.on").wait_for()
    open_all(page)
    page.mouse.move(600, 500)
    page.wait_for_timeout(300)
    assert page.locator("[data-part=workers] tbody tr").count() == len(workers) + 1
    assert page.locator(".contested > li").count() >= 5
    innocent(page, watch)
    slashed = next(name for name in workers if "/" in name)
    row = page.locator("[data-part=workers] tbody tr", has=page.get_by_role("rowheader", name=slashed, exact=True))
    row.get_by_role("button", name="Pause").click()
    page.get_by_text("The worker is paused").wait_for()
    assert [w.name for w in here.project.queue.live.crowd.workers if w.paused] == [slashed]


@pytest.mark.parametrize("kind", ["spans", "rankings", "comparisons"])
def test_controls_made_by_scripts_keep_texts_texts(site, visit, kind):
    shown = {
        "spans": {"text": " ".join(NAMES[:60])},
        "rankings": {"items": NAMES[:12]},
        "comparisons": {"left": NAMES[0], "right": "\n".join(NAMES[:60])},
    }[kind]
    tags = tuple(NAMES[:8]) if kind == "spans" else ()
    here = site([{"id": NAMES[2], "payload": shown}], kind=kind, classes=tags)
    page, watch = visit(here, "/p/main/annotate", here.worker(NAMES[3]))
    if kind == "spans":
        for key in "12345678":
            page.locator("[data-spans]").focus()
            page.keyboard.press("ArrowRight")
            page.keyboard.press("Shift+ArrowRight")
            page.keyboard.press(key)
        assert page.locator("[data-found] li").count() == 8
    page.wait_for_timeout(380)
    if kind == "comparisons":
        page.keyboard.press("1")
    else:
        page.get_by_role("button", name="Send").click()
    page.get_by_text("Look again").wait_for()
    innocent(page, watch)


def grave(page):
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [(v["id"], v["nodes"][0]["html"][:200]) for v in found if v["impact"] in ("serious", "critical")]


KINDS = {
    "classes": ({"text": "A text", "image": "none.png", "link": "https://example.org"}, ("cat", "dog", "bird")),
    "sets": ({"text": "نص من اليمين"}, ("sport", "money")),
    "numbers": ({"text": "A text"}, ()),
    "comparisons": ({"left": "a poem " * 30, "right": "x" * 200}, ()),
    "rankings": ({"items": ["fig", "pear", "plum" * 40]}, ()),
    "spans": ({"text": "Ann met Bob. " * 20}, ("PER", "LOC")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_axe_and_a_phone(site, visit, kind):
    shown, classes = KINDS[kind]
    tasks = [{"id": f"t{i}" * 20, "payload": shown} for i in range(4)]
    ends = {"low": 0.0, "high": 5.0} if kind == "numbers" else {}
    here = site(tasks, kind=kind, classes=classes, guidelines="# Rules\n\n* one\n\n[more](https://example.org)", **ends)
    (here.project.folder.path / "media" / "none.png").write_bytes(b"")
    ann, bob = here.worker("Ann"), here.worker("B" * 90)
    doors = ["/", "/login", f"/join/{here.invite()}", "/nowhere"] if kind == "classes" else []
    visits = [("/p/main/annotate", ann), *((door, "") for door in doors)]
    visits += [("/p/main/lead", here.admin), ("/", bob), ("/p/main/annotate", here.admin)] if doors else []
    for scheme, width in (("light", 1280), ("dark", 360)):
        page, _ = visit(here, "/login", width=width, color_scheme=scheme)
        for path, token in visits:
            page.context.clear_cookies()
            if token:
                page.context.add_cookies([{"name": "crowdwise", "value": token, "url": here.url}])
            page.goto(here.url + path)
            open_all(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (path, scheme)
            assert grave(page) == [], (path, scheme)
            if scheme == "dark":
                colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
                assert sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(","))) < 150


def test_guidelines_are_markdown_without_markup():
    from crowdwise.server.pages.guidelines import rendered

    shown = str(rendered("# Rules\n\n* *one*\n\n<b onclick=x>two</b>\n\n[a](javascript:alert(1)) [b](https://x.test)"))
    assert "<h3>Rules</h3>" in shown
    assert "<em>one</em>" in shown
    assert "<b" not in shown
    assert 'href="javascript' not in shown
    assert 'rel="noopener noreferrer nofollow"' in shown
    for payload in PAYLOADS:
        assert "<script" not in str(rendered(payload)).lower()


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ("https://x.test/a.png", "https://x.test/a.png"),
        ("cats/a b.png", "/media/cats/a%20b.png"),
        ("/media/a.png", "/media/a.png"),
        ("data:image/png;base64,AAAA", "data:image/png;base64,AAAA"),
        ("javascript:alert(1)", ""),
        ("data:text/html,<script>", ""),
        ("//evil.test/a.png", ""),
        ("/etc/passwd", ""),
        ("", ""),
        (7, ""),
    ],
)
def test_where_pictures_may_come_from(value, where):
    from crowdwise.server.pages.task_view import picture

    assert picture(value) == where
