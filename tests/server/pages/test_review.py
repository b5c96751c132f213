"""The table of tasks, the page of one task, and the page of reviewers, in a real browser."""

from __future__ import annotations

from crowdwise.server.offline import token_for
from crowdwise.server.refitter import Refitter

from .site import texts
from .test_lead import crowd
from .test_safety import grave


def prepared(site):
    """A served project with answers and a fit, and the token of a reviewer."""
    here = site(texts(30), cap=3, review_below=0.99)
    crowd(here, {name: here.worker(name) for name in ("Ann", "Bob", "Spam")}, 30)
    assert Refitter(here.project, start=False).once(now=True)
    token = here.project.queue.do(lambda batch: token_for(batch, "Rita", "review", "human", None))
    return here, token


def test_the_lead_searches_filters_and_acts_on_a_task(site, visit):
    here, _ = prepared(site)
    page, watch = visit(here, "/p/main/tasks", here.admin)
    assert page.locator("tbody tr").count() == 30
    page.get_by_label("Words or id").fill("number 7")
    page.get_by_role("button", name="Show").click()
    assert page.locator("tbody tr").count() == 1
    page.get_by_role("link", name="t007").click()
    assert page.get_by_role("heading", name="t007").is_visible()
    assert page.get_by_text("Task number 7").is_visible()
    page.get_by_label("True answer").select_option("dog")
    page.get_by_role("button", name="Set", exact=True).click()
    page.get_by_text("The gold answer is kept").wait_for()
    assert here.project.queue.live.gold == {7: "dog"}
    page.get_by_label("Reason").fill("a duplicate")
    page.get_by_role("button", name="Leave out of all results").click()
    page.get_by_text("The task is excluded").wait_for()
    assert page.get_by_text("a duplicate").is_visible()
    page.goto(here.url + "/p/main/tasks?state=excluded")
    assert page.locator("tbody tr").count() == 1
    assert (watch.complaints, watch.strangers) == ([], [])
    page.goto(here.url + "/p/main/tasks?below=abc")
    assert page.get_by_text("is not a number").is_visible()


def test_a_reviewer_decides_by_keyboard(site, visit):
    here, token = prepared(site)
    page, watch = visit(here, "/p/main/review", token)
    assert "Spam" not in page.content()
    first = page.locator("[data-task]").get_attribute("data-task")
    page.keyboard.press("a")
    page.wait_for_function("task => document.querySelector('[data-task]').dataset.task !== task", arg=first)
    second = page.locator("[data-task]").get_attribute("data-task")
    page.keyboard.press("2")
    page.wait_for_function("task => document.querySelector('[data-task]').dataset.task !== task", arg=second)
    live = here.project.queue.live
    assert {live.crowd.tasks[task] for task in live.gold} == {first, second}
    assert live.gold[live.crowd.task_code[second]] == "dog"
    page.keyboard.press("u")
    page.wait_for_url("**/review?after=0")
    assert {live.crowd.tasks[task] for task in live.gold} == {first}
    page.keyboard.press("n")
    page.locator("[data-note]").fill("Look at the second line.")
    page.get_by_role("button", name="Send back").click()
    page.wait_for_load_state()
    assert next(iter(live.reviews.returned.values()))[0] == "Look at the second line."
    assert (watch.complaints, watch.strangers) == ([], [])


def test_a_reviewer_works_on_a_phone_without_scripts(site, visit):
    here, token = prepared(site)
    page, _ = visit(here, "/p/main/review", token, width=390, java_script_enabled=False)
    page.get_by_role("button", name="Accept the label").click()
    assert len(here.project.queue.live.gold) == 1
    page.get_by_role("button", name="Withdraw the last decision").click()
    assert not here.project.queue.live.gold


def test_the_pages_are_accessible_and_fit_a_phone(site, visit):
    here, token = prepared(site)
    for path, who in (("/p/main/tasks", here.admin), ("/p/main/task/t003", here.admin), ("/p/main/review", token)):
        page, _ = visit(here, path, who, width=390)
        assert grave(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
