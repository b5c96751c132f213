"""The documentation site: built without a warning; links, images and anchors lead somewhere; it opens from disk."""

from __future__ import annotations

import fcntl
import inspect
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from tests.data import ROOT
from tests.report.test_browser import CHROMIUM

pytestmark = pytest.mark.slow
LIMIT = 25_000_000  # bytes


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The site, built once for all processes that run tests."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "site"
    with (folder.parent / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "llms.txt").exists():
            words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
            env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "NO_MKDOCS_2_WARNING": "1"}
            ran = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True)
            assert ran.returncode == 0, ran.stderr[-3000:]
    return folder


class Page(HTMLParser):
    """What a page points to, the names that can be pointed to, and images without a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.names: set[str] = set()
        self.unnamed: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.names |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag in ("script", "img", "iframe", "source", "link"):
            target = values.get("src") or values.get("href")
            self.loaded += [target] if target and values.get("rel") != "canonical" else []
            if tag == "img" and not values.get("alt"):
                self.unnamed.append(target)


@pytest.fixture(scope="session")
def pages(site) -> dict[Path, Page]:
    """The pages by path, without that of a missing page, whose links begin at the root of the server."""
    paths = sorted(set(site.rglob("*.html")) - {site / "404.html"})
    return {path: Page(path.read_text(encoding="utf-8")) for path in paths}


def outside(link: str) -> bool:
    return re.match(r"[a-z][a-z0-9+.-]*:|//", link) is not None


def test_links_images_and_anchors_lead_somewhere(pages):
    broken = []
    for path, page in pages.items():
        for link in [*page.links, *page.loaded]:
            target, anchor = urldefrag(link)
            if outside(link):
                continue
            there = (path.parent / unquote(target)).resolve() if target else path
            if not there.is_file() or (anchor and there in pages and unquote(anchor) not in pages[there].names):
                broken.append((path.name, link))
    assert len(pages) > 400
    assert broken == []


def test_every_image_has_a_text(pages):
    assert [(path.name, page.unnamed) for path, page in pages.items() if page.unnamed] == []


def test_every_page_is_within_three_clicks(site, pages):
    reached = front = {site / "index.html"}
    for _ in range(3):
        steps = {(path.parent / unquote(urldefrag(link)[0])).resolve() for path in front for link in pages[path].links}
        front = {path for path in steps if path in pages} - reached
        reached = reached | front
    assert sorted(path.relative_to(site).as_posix() for path in set(pages) - reached) == []


def test_the_site_is_small_and_loads_nothing_from_outside(site, pages):
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) < LIMIT
    assert [(path.name, link) for path, page in pages.items() for link in page.loaded if outside(link)] == []
    sheets = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    assert sheets
    assert not [sheet for sheet in sheets if re.search(r"@import|url\(\s*['\"]?(https?:)?//", sheet)]


def test_models_find_a_list_of_the_pages_and_their_text(site, pages):
    listed = re.findall(r"^- \[.+\]\((\S+)\): ", (site / "llms.txt").read_text(encoding="utf-8"), re.M)
    assert {site / page for page in listed} == set(pages) - standalone(site)
    text = (site / "llms-full.txt").read_text(encoding="utf-8")
    assert "# Getting started" in text
    assert "cw.accept(" in text


def standalone(site: Path) -> set[Path]:
    """Pages that are shown as they are: the reports of the gallery."""
    return set((site / "gallery" / "reports").glob("*.html"))


def test_every_public_name_has_a_page(site):
    from website import api

    for entry in api.entries():
        page = (site / entry.page).with_suffix(".html")
        assert page.is_file(), entry.shown
        assert entry.name in page.read_text(encoding="utf-8"), entry.shown


def test_every_parameter_of_a_method_is_described():
    from website import api, docstrings

    for cls in api.method_names():
        if not cls.__module__.startswith("crowdwise."):  # registered by another test
            continue
        assert set(docstrings.inherited(cls)) == set(inspect.signature(cls).parameters), cls


def test_doctests_become_code():
    from website.docstrings import fenced

    text = "Add.\n\n>>> 1 + 1\n2\n\nMore."
    assert fenced(text) == "Add.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."
    assert fenced("No code.") == "No code."


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


LOOKED_AT = ("index.html", "methods/dawid_skene.html", "api/cw/fit.html", "commands/aggregate.html",
             "notebooks/workers.html")  # fmt: skip


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_pages_from_disk_are_accessible_and_fit(site, browser, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    for name in LOOKED_AT:
        page.goto((site / name).as_uri())
        page.wait_for_load_state("load")
        found = Axe().run(page).response["violations"]
        serious = [
            (rule["id"], rule["nodes"][0]["target"]) for rule in found if rule["impact"] in ("serious", "critical")
        ]
        assert serious == [], name
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    assert [url for url in requests if not url.startswith(("file:", "data:", "about:", "blob:"))] == []
    page.close()


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")
def test_the_search_works_from_disk(site, browser):
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    page.click("input.md-search__input")
    page.keyboard.type("krippendorff")
    page.wait_for_selector(".md-search-result__item a[href*='workers']")
    page.close()


NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.py"))


@pytest.mark.parametrize("source", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_outputs_pictures_and_a_download(site, source):
    """The site was built by running the notebooks: an error in a cell fails the build."""
    page = (site / "notebooks" / f"{source.stem}.html").read_text(encoding="utf-8")
    assert page.count('<div class="language-text highlight">') >= 3
    assert (site / "notebooks" / f"{source.stem}.ipynb").is_file()
    pictures = source.read_text(encoding="utf-8").count("# %% alt=")
    assert len(list((site / "notebooks").glob(f"{source.stem}-*.png"))) == pictures


def test_there_are_eight_notebooks():
    assert len(NOTEBOOKS) == 8


def test_what_is_slow_to_make_is_kept_while_nothing_changes(tmp_path):
    from website.store import kept

    made = []

    def make():
        made.append(1)
        return str(len(made))

    texts = [kept(tmp_path / "a" / "page.html", source, make) for source in ("first", "first", "second", "first")]
    assert texts == ["1", "1", "2", "3"]
