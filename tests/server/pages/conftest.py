"""A browser, sites to look at, and a watch on what pages do that they should not."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass, field

import pytest

from .site import served

BLOCKED = "Service Worker registration blocked"  # by us, below
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="package")
def browser():
    if CHROMIUM is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=quiet)
        yield chromium
        chromium.close()


@pytest.fixture
def site(tmp_path):
    """site(tasks, **config) -> a Site, closed after the test."""
    with contextlib.ExitStack() as stack:
        yield lambda tasks, **config: stack.enter_context(served(tmp_path / "project", tasks, **config))


@dataclass
class Watch:
    """What a page said on its console, which dialogs it opened, what it asked other servers for."""

    complaints: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)


@pytest.fixture
def visit(browser):
    """visit(site, path, token, width=..., **context options) -> (page, watch); one browser profile a call."""
    with contextlib.ExitStack() as stack:

        def go(site, path, token="", width=1280, **options):
            # Requests that pass a service worker cannot be held back by a test: only those that are about it have one.
            given = {"viewport": {"width": width, "height": 900}, "service_workers": "block", **options}
            context = browser.new_context(**given)
            context.set_default_timeout(30_000)
            stack.callback(context.close)
            if token:
                context.add_cookies([{"name": "crowdwise", "value": token, "url": site.url, "sameSite": "Strict"}])
            page, watch = context.new_page(), Watch()
            page.on(
                "console", lambda message: None if BLOCKED in message.text else watch.complaints.append(message.text)
            )
            page.on("pageerror", lambda error: watch.complaints.append(str(error)))
            page.on("request", lambda request: _note(watch, site, request.url))

            def refuse(dialog):
                watch.dialogs.append(dialog.message)
                dialog.dismiss()

            page.on("dialog", refuse)
            page.goto(site.url + path)
            return page, watch

        yield go


def _hear(watch, text):
    if BLOCKED not in text:
        watch.complaints.append(text)


def _note(watch, site, url):
    if not url.startswith((site.url, "data:")):
        watch.strangers.append(url)
