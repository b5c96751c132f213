"""A reload without a connection: the page, the tasks in hand and what waits are there; nothing of whom is gone."""

from __future__ import annotations

import pytest

from crowdwise.server.pages.frame import POLICY, _static, static

from .site import texts
from .test_annotate import HERE, READ, answer, sent, shown


def until(page, script, given=None):
    """Until an async function is true of the page (`wait_for_function` takes the promise itself for an answer)."""
    for _ in range(300):
        if page.evaluate(script, given):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never came: {script}")


def ready(page):
    """The service worker has the page and the tasks in hand."""
    until(
        page,
        """async () => navigator.serviceWorker.controller && Boolean(await caches.match(location.pathname))
        && Boolean(await caches.match(location.pathname + "/next"))""",
    )


def kept(page):
    return page.evaluate("async () => (await caches.keys()).filter((name) => name.startsWith('crowdwise-kept:'))")


@pytest.fixture
def come(visit):
    return lambda site, name: visit(site, HERE, site.worker(name), service_workers="allow")


def test_a_reload_without_a_connection(site, come):
    here = site(texts(20))
    page, watch = come(here, "Ann")
    ready(page)
    done = [answer(page, lambda: page.keyboard.press("1"))]
    sent(page)
    until(
        page,
        """async (gone) => { const kept = await caches.match(location.pathname + "/next");
        const tasks = kept ? (await kept.json()).tasks : [];
        return tasks.length >= 3 && tasks.every((task) => task.id !== gone); }""",
        done[0],
    )
    here.line.cut()
    done.append(answer(page, lambda: page.keyboard.press("2")))
    following = shown(page)
    page.get_by_text("1 answer waits here").wait_for()
    page.reload()
    page.get_by_text("1 answer waits here").wait_for()
    page.locator(".task").wait_for()
    assert shown(page) == following  # neither the one that was sent nor the one that waits
    assert page.locator("[data-today]").inner_text() == "2"
    done.append(answer(page, lambda: page.keyboard.press("3")))
    page.reload()
    page.get_by_text("2 answers wait here").wait_for()
    page.locator(".task").wait_for()
    assert shown(page) not in done
    assert here.events("label") == 1
    here.line.mend()
    page.evaluate("dispatchEvent(new Event('online'))")
    sent(page)
    assert here.labels() == {(t, "Ann"): c for t, c in zip(done, ("cat", "dog", "bird"), strict=True)}
    answer(page, lambda: page.keyboard.press("1"))  # it goes on
    assert not [each for each in watch.complaints if "net::ERR_" not in each]


def test_with_a_connection_nothing_old_is_shown(site, come):
    here = site(texts(8))
    page, _ = come(here, "Ann")
    ready(page)
    before = shown(page)
    with here.api() as api:
        api.post("/projects/main/labels", json={"task": before, "answer": "dog", "worker": "Ann"},
                 headers={"Idempotency-Key": "elsewhere"})  # fmt: skip
    page.reload()
    page.locator(".task").wait_for()
    assert shown(page) != before
    assert page.locator("main").get_attribute("data-kept") is None


def test_who_leaves_leaves_nothing(site, come):
    here = site(texts(8))
    page, _ = come(here, "Ann")
    ready(page)
    assert kept(page)
    page.get_by_role("button", name="Log out").click()
    page.get_by_text("I have a token").wait_for()
    assert kept(page) == []
    here.line.cut()
    with pytest.raises(Exception, match="ERR_"):
        page.goto(here.url + HERE)


@pytest.mark.parametrize("how", ["the page", "an answer"])
def test_whom_the_server_does_not_know_any_more(site, come, how):
    here = site(texts(8))
    page, _ = come(here, "Ann")
    ready(page)
    with here.api() as api:
        assert api.post("/projects/main/workers/Ann/revoke", json={}).status_code < 300
    if how == "the page":
        page.reload()
        page.get_by_label("Token").wait_for()
    else:
        page.wait_for_timeout(READ)
        page.keyboard.press("1")
        page.get_by_text("You are logged out.").wait_for()
    until(page, "async () => !(await caches.keys()).some((name) => name.startsWith('crowdwise-kept:'))")


def test_the_worker_knows_its_files_and_its_place():
    """Every file of the annotator's page is kept; the worker itself is served for pages of projects."""
    source = _static()["offline.js"].decode()
    names = set(source.partition("NAMES = [")[2].partition("]")[0].replace('"', "").split(", "))
    assert names == set(_static()) - {"offline.js", "lead.js", "check.js", "review.js"}
    assert static("offline.js").headers["service-worker-allowed"] == "/p/"
    assert "unsafe" not in POLICY
