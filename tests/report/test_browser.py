"""The page in a real browser (chromium): no request, no console error, no dialog; click-through, keyboard, axe."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass, field

import pytest

import crowdwise as cw
from crowdwise import report

from .payloads import PAYLOADS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory, plain_page, hostile_page, number_page, promise_page, judge_page, divided_page):
    folder = tmp_path_factory.mktemp("pages")
    pages = {"plain": plain_page, "hostile": hostile_page, "numbers": number_page, "promises": promise_page}
    for name, page in (pages | {"judges": judge_page, "divided": divided_page}).items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return folder


@dataclass
class Watch:
    """What a page did that it should not have done."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


@pytest.fixture
def visit(browser, files):
    """visit("plain", width=..., **context options) -> (page, watch)."""
    with contextlib.ExitStack() as stack:

        def go(name, width=1400, **options):
            context = browser.new_context(viewport={"width": width, "height": 900}, **options)
            stack.callback(context.close)
            page, watch = context.new_page(), Watch()
            page.on("request", lambda request: watch.requests.append(request.url))
            page.on("console", lambda message: watch.complaints.append(message.text))
            page.on("pageerror", lambda error: watch.complaints.append(str(error)))

            def refuse(dialog):
                watch.dialogs.append(dialog.message)
                dialog.dismiss()

            page.on("dialog", refuse)
            page.goto((files / f"{name}.html").as_uri())
            return page, watch

        yield go


def pick_every_pair(page, at_most=40):
    """Click on cells of the map, open everything, sort, filter: all that puts text into the document."""
    for cell in page.locator("rect[data-i]").all()[:at_most]:
        cell.dispatch_event("click")
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    for button in page.locator("th button").all():
        button.dispatch_event("click")
    page.fill("input[data-filter]", "<script>")
    page.fill("input[data-filter]", "")


@pytest.mark.parametrize("name", ["plain", "hostile", "numbers", "promises", "judges", "divided"])
def test_no_request_no_complaint_no_dialog(visit, name):
    page, watch = visit(name)
    pick_every_pair(page)
    page.mouse.move(600, 400)
    page.wait_for_timeout(200)
    assert watch.dialogs == []
    assert watch.complaints == []
    assert len(watch.requests) == 1
    titles = {"hostile": PAYLOADS[0], "plain": "A crowd", "numbers": PAYLOADS[1], "promises": "Promises"}
    assert page.title() == (titles | {"judges": "Judges", "divided": "Disagreement"})[name]


def test_the_hostile_names_are_all_there_as_text(visit):
    from crowdwise.report.text import shown

    page, _ = visit("hostile")
    workers = page.locator('table[data-table="workers"] tbody th').all_text_contents()
    assert set(workers) == {shown(p) for p in PAYLOADS}
    assert page.locator("script").count() == 2
    assert page.locator("img, iframe, object, embed, link, form").count() == 0


def test_a_click_on_a_cell_shows_the_tasks_on_which_they_differ(visit, plain_crowd):
    votes, _, _ = plain_crowd
    page, _ = visit("plain")
    cell = page.locator("rect[data-i]").nth(5)
    cell.click()
    first, second = (
        page.locator(f'[data-pick="{which}"] option:checked').text_content() for which in ("first", "second")
    )
    said = {(w, t): c for t, w, c in votes.to_frame().select("task", "worker", "label").iter_rows()}
    rows = page.locator("[data-pair] tbody tr").all()
    assert rows
    for row in rows:
        task = row.locator("th").text_content()
        assert row.locator("td").nth(0).text_content() == said[first, task]
        assert row.locator("td").nth(1).text_content() == said[second, task]
        assert said[first, task] != said[second, task]
    assert "chosen" in cell.get_attribute("class")


def test_pairs_sorting_and_filter_by_keyboard_alone(visit):
    page, _ = visit("plain")
    page.locator('[data-pick="first"]').focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.locator("[data-pair]").text_content().strip()
    heading = page.locator('table[data-table="workers"] th', has_text="Skill").locator("button")
    heading.focus()
    page.keyboard.press("Enter")
    column = page.locator('table[data-table="workers"] tbody td:nth-child(3)')
    falling = [float(v) for v in column.all_text_contents()]
    assert falling == sorted(falling, reverse=True)
    page.keyboard.press("Enter")
    rising = [float(v) for v in column.all_text_contents()]
    assert rising == sorted(rising) != falling
    page.fill("input[data-filter]", "constant")
    assert page.locator('table[data-table="workers"] tbody tr:visible').count() == 1
    summary = page.locator(".least summary").first
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator(".least table").first.is_visible()


def test_everything_is_there_with_scripts_off(visit):
    page, _ = visit("plain", java_script_enabled=False)
    text = page.locator("main").inner_text()
    for word in (
        "known truth are right",
        "another vote",
        "Krippendorff",
        "Confusion matrices",
        "Contested tasks",
        "Accuracy",
        "Ledger",
    ):
        assert word in text
    assert page.locator("svg").count() > 60
    assert page.locator(".script-only").first.is_hidden()
    assert page.locator("a[download]").first.get_attribute("href").startswith("data:application/gzip")


def test_a_download_is_plain_csv_with_scripts_on(visit):
    page, _ = visit("plain")
    with page.expect_download() as waiting:
        page.locator('a[data-name="quality.csv"]').click()
    assert waiting.value.suggested_filename == "quality.csv"
    assert waiting.value.path().read_text(encoding="utf-8").startswith("worker,n_labels,skill")


@pytest.mark.parametrize("name", ["plain", "hostile", "numbers", "promises", "judges", "divided"])
@pytest.mark.parametrize("width", [360, 768, 1400])
def test_the_page_never_scrolls_sideways(visit, name, width):
    page, _ = visit(name, width=width)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("plain", "light"),
        ("plain", "dark"),
        ("hostile", "light"),
        ("numbers", "light"),
        ("numbers", "dark"),
        ("promises", "light"),
        ("promises", "dark"),
        ("judges", "light"),
        ("judges", "dark"),
    ],
)
def test_axe_finds_nothing_serious(visit, name, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page, _ = visit(name, color_scheme=scheme)
    for cell in page.locator("rect[data-i]").all()[:1]:
        cell.dispatch_event("click")
    # The dark page differs from the light one in its colours only.
    options = {"runOnly": ["color-contrast"]} if scheme == "dark" else None
    found = Axe().run(page, options=options).response["violations"]
    grave = [(v["id"], v["nodes"][0]["html"][:200]) for v in found if v["impact"] in ("serious", "critical")]
    assert grave == []


def test_dark_mode_is_dark_and_print_shows_all_rows(visit):
    page, _ = visit("plain", color_scheme="dark")
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(","))) < 150
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    assert page.evaluate("getComputedStyle(document.querySelector('.tall')).maxHeight") == "none"


@pytest.mark.parametrize("name", ["boxes_classes", "outlines_plain", "triplets_plain"])
def test_drawings_fit_a_phone(name, browser, tmp_path):
    crowd = cw.simulate.scenario(name, tasks=6, workers=6, labels=3, seed=1)
    found = cw.method(crowd.votes.kind.default).fit(crowd.votes)
    report.write(crowd.votes, found, tmp_path / "page.html")
    page = browser.new_page(viewport={"width": 360, "height": 800})
    page.goto((tmp_path / "page.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.close()
