"""A lead in a real browser: invites, steers."""

from __future__ import annotations

import httpx

from .site import texts


def test_the_lead_steers_without_scripts(site, visit):
    here = site(texts(9), cap=5)
    page, _ = visit(here, "/p/main/lead", here.admin, java_script_enabled=False)
    page.get_by_label("Sure at (%)").fill("90")
    page.get_by_label("At most answers a task").fill("3")
    page.get_by_label("Budget").fill("20")
    page.get_by_role("button", name="Change").click()
    page.get_by_text("The settings are changed").wait_for()
    config = here.project.desk.live.config
    assert (config.target, config.cap, config.budget) == (0.9, 3, 20.0)
    page.get_by_label("Budget").fill("")
    with page.expect_navigation():
        page.get_by_role("button", name="Change").click()
    page.get_by_text("The settings are changed").wait_for()
    assert here.project.desk.live.config.budget is None
    page.get_by_label("Task", exact=True).fill("t004")
    page.get_by_label("Its answer").select_option("dog")
    page.get_by_role("button", name="Keep").click()
    page.get_by_text("The gold answer is kept").wait_for()
    assert list(here.project.desk.live.gold.values()) == ["dog"]
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


def test_a_session_that_ended_says_so(site, visit):
    here = site(texts(4))
    page, _ = visit(here, "/p/main/lead", here.admin)
    page.context.clear_cookies()
    page.reload()
    assert page.get_by_label("Token").is_visible()
