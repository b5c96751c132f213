"""An annotator in a real browser: keyboard, mouse, double clicks, undo, no connection, no scripts."""

from __future__ import annotations

import re

import httpx
import pytest

from .site import texts

HERE = "/p/main/annotate"
# Longer than the page takes a click for the second half of a double click.
READ = 380


def shown(page):
    return page.locator(".task").get_attribute("data-task")


def sent(page):
    """Until the outbox is empty."""
    page.wait_for_function("() => Object.keys(localStorage).every((k) => !k.startsWith('crowdwise:waiting:'))")


def answer(page, how):
    """Answer the task that is shown, as a reader would, and wait for another one; its name."""
    page.locator(".task").wait_for()
    page.wait_for_timeout(READ)
    task = shown(page)
    how()
    page.wait_for_function("(was) => document.querySelector('.task')?.dataset.task !== was", arg=task)
    return task


def press(page, name):
    """A button that sends a form, where there are no scripts: until the answer is there."""
    with page.expect_navigation():
        page.get_by_role("button", name=name).click()


def test_twenty_tasks_by_keyboard_and_mouse(site, visit):
    here = site(texts(40))
    page, watch = visit(here, HERE, here.worker("Ann"))
    said = {}
    for i in range(20):
        if i % 2:
            said[answer(page, lambda key=str(1 + i % 3): page.keyboard.press(key))] = ("cat", "dog", "bird")[i % 3]
        elif i % 4:
            said[answer(page, lambda: page.get_by_role("button", name="dog").click())] = "dog"
        else:  # arrows go to a button, Enter presses it
            page.keyboard.press("ArrowRight")
            page.keyboard.press("ArrowRight")
            page.keyboard.press("ArrowRight")
            said[answer(page, lambda: page.keyboard.press("Enter"))] = "bird"
    sent(page)
    assert len(said) == 20
    assert {task: label for (task, _), label in here.labels().items()} == said
    assert page.locator("[data-today]").inner_text() == "20"
    assert here.events("label") == 20
    assert watch.complaints == []
    assert watch.strangers == []


def test_a_double_click_is_one_answer(site, visit):
    here = site(texts(12))
    page, _ = visit(here, HERE, here.worker("Ann"))
    for _ in range(3):
        answer(page, lambda: page.get_by_role("button", name="cat").dblclick(delay=20))
    sent(page)
    assert here.events("label") == 3
    page.wait_for_timeout(READ)
    page.evaluate("() => { for (let i = 0; i < 5; i++) document.querySelector('.choice').click(); }")
    sent(page)
    assert here.events("label") == 4


def test_undo_takes_back_and_shows_the_task_again(site, visit):
    here = site(texts(10))
    token = here.worker("Ann")
    page, _ = visit(here, HERE, token)
    first = answer(page, lambda: page.keyboard.press("1"))
    second = answer(page, lambda: page.keyboard.press("1"))
    page.keyboard.press("u")
    page.locator(f'.task[data-task="{second}"]').wait_for()
    sent(page)
    assert here.labels() == {(first, "Ann"): "cat"}
    answer(page, lambda: page.keyboard.press("2"))
    sent(page)
    assert here.labels() == {(first, "Ann"): "cat", (second, "Ann"): "dog"}
    page.reload()  # the page's memory is gone; the server knows what was last
    page.wait_for_timeout(READ)
    page.get_by_role("button", name="Undo last").click()
    page.locator(f'.task[data-task="{second}"]').wait_for()
    answer(page, lambda: page.keyboard.press("3"))
    sent(page)
    assert here.labels() == {(first, "Ann"): "cat", (second, "Ann"): "bird"}


def test_skipped_tasks_do_not_come_back(site, visit):
    here = site(texts(4))
    page, _ = visit(here, HERE, here.worker("Ann"))
    skipped = answer(page, lambda: page.keyboard.press("s"))
    sent(page)
    assert here.events("skip") == 1
    seen = {answer(page, lambda: page.keyboard.press("1")) for _ in range(2)}
    assert skipped not in seen
    page.wait_for_timeout(READ)
    page.keyboard.press("1")
    page.get_by_text("Look again").wait_for()
    assert len(here.labels()) == 3


def test_offline_and_back(site, visit):
    here = site(texts(20))
    page, _ = visit(here, HERE, here.worker("Ann"))
    done = [answer(page, lambda: page.keyboard.press("1"))]
    sent(page)
    page.wait_for_function("() => document.querySelector('[data-tell]').textContent !== ''")
    page.wait_for_timeout(300)  # the next tasks are fetched ahead
    page.context.set_offline(True)
    done.append(answer(page, lambda: page.keyboard.press("2")))
    page.wait_for_timeout(READ)
    done.append(shown(page))
    page.keyboard.press("3")
    banner = page.locator("[data-offline]")
    banner.get_by_text("2 answers wait here").wait_for()
    assert here.events("label") == 1
    page.context.set_offline(False)
    sent(page)
    banner.wait_for(state="hidden")
    assert here.labels() == {(t, "Ann"): c for t, c in zip(done, ("cat", "dog", "bird"), strict=True)}
    answer(page, lambda: page.keyboard.press("1"))  # it goes on


@pytest.mark.parametrize("stored", [True, False])
def test_a_lost_response_and_a_reload_neither_lose_nor_double(site, visit, stored):
    """The answer's response never arrives, whether it was stored or not; the page is loaded again."""
    here = site(texts(10))
    page, _ = visit(here, HERE, here.worker("Ann"))

    cut = [True]

    def lose(route):
        if not cut:
            return route.continue_()
        if stored:
            route.fetch()
        return route.abort()

    page.wait_for_timeout(READ)
    page.route("**/annotate/send", lose)
    task = shown(page)
    page.keyboard.press("2")
    page.get_by_text("1 answer waits here").wait_for()
    assert here.events("label") == int(stored)
    page.reload()
    page.locator(".task").wait_for()
    cut.clear()
    sent(page)
    assert here.events("label") == 1
    assert here.labels() == {(task, "Ann"): "dog"}
    page.wait_for_function("(was) => document.querySelector('.task')?.dataset.task !== was", arg=task)


def test_tasks_fetched_before_an_answer_was_stored_do_not_bring_its_task_back(site, visit):
    """The answer left over from before is stored while the list of next tasks, older than it, is under way."""
    here = site(texts(10))
    page, _ = visit(here, HERE, here.worker("Ann"))
    page.wait_for_timeout(READ)
    cut, held = [True], []
    page.route("**/annotate/send", lambda route: route.abort() if cut else route.continue_())
    task = shown(page)
    page.keyboard.press("2")
    page.get_by_text("1 answer waits here").wait_for()

    def hold(route):
        if held:
            route.continue_()
        else:
            held.append((route, route.fetch()))

    page.route("**/annotate/next*", hold)
    page.reload()
    while not held:
        page.wait_for_timeout(20)
    cut.clear()
    sent(page)
    route, old = held[0]
    assert task in old.text()
    route.fulfill(response=old)
    page.locator(".task").wait_for()
    assert shown(page) != task


def test_an_answer_that_is_refused_is_said(site, visit):
    here = site(texts(10))
    page, _ = visit(here, HERE, here.worker("Ann"))
    page.wait_for_timeout(READ)
    page.evaluate("document.querySelector('.choice').value = 'horse'")
    page.keyboard.press("1")
    page.get_by_text("One answer was not taken").wait_for()
    assert here.labels() == {}
    page.get_by_role("button", name="Understood").click()
    page.locator("[data-refused]").wait_for(state="hidden")


def test_without_scripts(site, visit):
    here = site(texts(10), guidelines="# Rules\n\nCats *meow*.")
    page, _ = visit(here, HERE, here.worker("Ann"), java_script_enabled=False)
    assert page.locator(".guidelines em").inner_text() == "meow"
    said = {}
    for name in ("cat", "dog", "bird"):
        said[shown(page), "Ann"] = name
        press(page, name)
    assert here.labels() == said
    last = list(said)[-1]
    press(page, "Undo last")
    assert page.get_by_text("taken back").is_visible()
    assert shown(page) == last[0]
    press(page, "cat")
    assert here.labels() == said | {last: "cat"}
    skipped = shown(page)
    press(page, "Skip")
    assert shown(page) != skipped
    assert page.locator("[data-today]").inner_text() == "3"


def test_the_same_form_sent_twice_without_scripts_is_one_answer(site):
    here = site(texts(10))
    with httpx.Client(base_url=here.url, cookies={"crowdwise": here.worker("Ann")}) as browser:
        html = browser.get(HERE, headers={"Accept": "text/html"}).text
        form = html[html.index("data-form") : html.index("</form>", html.index("data-form"))]
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
        for _ in range(2):
            assert browser.post(HERE, data=fields | {"answer": "cat"}).status_code == 303
        assert here.events("label") == 1
        assert here.labels() == {(fields["task"], "Ann"): "cat"}
        other = browser.post(HERE, data=fields | {"answer": "dog"}, headers={"Accept": "text/html"})
        assert other.status_code == 422
        assert 'role="alert"' in other.text
        assert here.events("label") == 1


def test_an_admin_answers_under_a_name(site, visit):
    here = site(texts(5))
    page, _ = visit(here, HERE, here.admin)
    page.get_by_label("The name under which").fill("Zoë")
    page.get_by_role("button", name="Begin").click()
    task = answer(page, lambda: page.keyboard.press("1"))
    sent(page)
    assert here.labels() == {(task, "Zoë"): "cat"}


def test_requests_of_scripts_that_are_no_json_are_refused(site):
    import re

    import httpx

    here = site(texts(3))
    with httpx.Client(base_url=here.url, cookies={"crowdwise": here.worker("Ann")}) as ann:
        page = ann.get("/p/main/annotate", headers={"Accept": "text/html"}).text
        token = re.search(r'name="csrf" value="(\w+)"', page)[1]
        entry = b'{"action": "answer", "task": "t000", "key": "k", "fields": [["answer", "cat"]], "client_ms": %b}'
        odd = (b"1e400", b"-1e400", b"NaN", b"1" + b"0" * 400, b"[" * 300 + b"]" * 300)
        surrogate = entry.replace(b'"cat"', b'"\\ud800"') % b"1"
        for body in (b"", b"{", b"\xff", b"[" * 30_000, surrogate, *(entry % value for value in odd)):
            got = ann.post("/p/main/annotate/send", content=body, headers={"X-Form-Token": token})
            assert got.status_code == 400, body[:80]
            assert got.headers["content-type"] == "application/problem+json"
        for body in (b"[]", b'"text"', b"{}"):
            got = ann.post("/p/main/annotate/send", content=body, headers={"X-Form-Token": token})
            assert got.status_code == 422
        assert (
            ann.post("/p/main/annotate/send", content=entry % b"7", headers={"X-Form-Token": token}).status_code == 200
        )
    assert here.events("label") == 1
