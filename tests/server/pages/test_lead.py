"""A lead in a real browser: watches an annotator live, pauses a spammer, invites, steers, takes the labels home."""

from __future__ import annotations

import csv
import random

import httpx

from .site import texts

CLASSES = ("cat", "dog", "bird")


def crowd(here, workers, n, seed=0, wild=("Spam",)):
    """Answers of some workers through the API: right nine times in ten, or as the die falls."""
    rng = random.Random(seed)
    for name, token in workers.items():
        with here.api(token) as api:
            for j, task in enumerate(api.get("/projects/main/next", params={"n": n}).json()["tasks"]):
                right = rng.random() < 0.9 and name not in wild
                answer = CLASSES[int(task["id"][1:]) % 3 if right else rng.randrange(3)]
                said = api.post(
                    "/projects/main/labels",
                    json={"task": task["id"], "answer": answer},
                    headers={"Idempotency-Key": f"{name}-{seed}-{j}"},
                )
                assert said.status_code == 201


def figure(page, name):
    return page.locator(f'[data-n="{name}"]').first.inner_text().split("\n")[0]


def until(page, name, value):
    page.wait_for_function(
        '([name, value]) => document.querySelector(`[data-n="${name}"]`).firstChild.textContent.trim() === value',
        arg=[name, value],
    )


def test_the_lead_watches_pauses_and_exports(site, visit):
    here = site(texts(30), cap=5, gold_rate=0.0)
    workers = {name: here.worker(name) for name in ("Ann", "Bob", "Cy", "Spam")}
    crowd(here, workers, 12)
    page, watch = visit(here, "/p/main/lead", here.admin)
    page.locator(".live.on").wait_for()
    assert figure(page, "labels") == "48"
    row = page.locator('[data-part="workers"] tr[data-worker="Spam"]')
    assert row.locator("svg.interval").count() == 1

    annotator, _ = visit(here, "/p/main/annotate", workers["Ann"])  # and somebody works meanwhile
    annotator.wait_for_timeout(400)
    annotator.keyboard.press("1")
    until(page, "labels", "49")

    row.get_by_role("button", name="Pause Spam").click()
    page.get_by_text("The worker is paused").wait_for()
    row.get_by_text("paused by the lead").wait_for()
    with here.api(workers["Spam"]) as api:
        found = api.get("/projects/main/next").json()
        assert found["tasks"] == []
    row.get_by_role("button", name="Resume Spam").click()
    page.get_by_text("gets tasks again").wait_for()

    page.locator(".contested summary").first.click()
    answers = page.locator(".contested > li").first.locator(".voices li")
    assert answers.count() >= 2
    assert any(name in answers.first.inner_text() for name in workers)

    with page.expect_download() as waiting:
        page.get_by_role("link", name="votes as csv").click()
    rows = list(csv.DictReader(waiting.value.path().read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 49
    assert {each["worker"] for each in rows} == set(workers)
    page.get_by_role("link", name="The full report").click()
    page.locator("#verdict").wait_for()
    assert watch.complaints == []
    assert watch.strangers == []


def test_the_lead_steers_without_scripts(site, visit):
    here = site(texts(9), cap=5)
    page, _ = visit(here, "/p/main/lead", here.admin, java_script_enabled=False)
    page.get_by_label("Sure at (%)").fill("90")
    page.get_by_label("At most answers a task").fill("3")
    page.get_by_label("Budget").fill("20")
    page.get_by_role("button", name="Change").click()
    page.get_by_text("The settings are changed").wait_for()
    config = here.project.queue.live.config
    assert (config.target, config.cap, config.budget) == (0.9, 3, 20.0)
    page.get_by_label("Budget").fill("")
    with page.expect_navigation():
        page.get_by_role("button", name="Change").click()
    page.get_by_text("The settings are changed").wait_for()
    assert here.project.queue.live.config.budget is None
    page.get_by_label("Task", exact=True).fill("t004")
    page.get_by_label("Its answer").select_option("dog")
    page.get_by_role("button", name="Keep").click()
    page.get_by_text("The gold answer is kept").wait_for()
    assert list(here.project.queue.live.gold.values()) == ["dog"]
    page.get_by_label("Task", exact=True).fill("t999")
    page.get_by_role("button", name="Keep").click()
    assert "there is no task" in page.get_by_role("alert").inner_text()
    page.get_by_role("button", name="Pause everybody").click()
    page.get_by_text("nobody gets tasks").wait_for()
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("button", name="Make a link").click()
    link = page.get_by_role("textbox", name="Invite link").input_value()
    assert link.startswith(f"{here.url}/join/cwi_")
    assert httpx.get(link, headers={"Accept": "text/html"}).status_code == 200
    page.get_by_role("link", name="Report").first.wait_for()
    page.goto(here.url + "/p/main/lead?refresh=1")
    here.worker("Newcomer")
    page.locator('tr[data-worker="Newcomer"]').wait_for()  # the page reloads by itself


def test_the_pace_is_that_of_the_time_in_which_there_were_answers():
    from crowdwise.server.pages.lead_view import hours, pace

    assert pace([0] * 58 + [10, 20]) == 900
    assert pace([5] * 60) == 300
    assert hours(30 / pace([0] * 59 + [10])) == "about 3 min"


def test_a_session_that_ended_says_so(site, visit):
    here = site(texts(4))
    page, _ = visit(here, "/p/main/lead", here.admin)
    page.context.clear_cookies()
    page.reload()
    assert page.get_by_label("Token").is_visible()


def test_workers_who_copy_stand_on_the_page(site, visit):
    from crowdwise.server.pages import lead

    here = site(texts(3))
    page, _ = visit(here, "/p/main/lead", here.admin)
    assert page.locator("[data-group]").count() == 0
    here.worker("Ann")
    asked = []

    class Api(lead.Api):
        async def get(self, path, **params):
            asked.append(path)
            found = await super().get(path, **params)
            return found | {"groups": [["Ann", "<b>Bob"]]} if path.endswith("/status") else found

    lead.Api, kept = Api, lead.Api
    try:
        page.reload()
        assert "Ann, <b>Bob give the same answers" in page.locator("[data-group]").inner_text()
    finally:
        lead.Api = kept
    assert not [each for each in asked if "/tasks/" in each]
