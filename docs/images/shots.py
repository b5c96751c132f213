"""Takes the pictures of docs/report.md from the demo's report: python docs/images/shots.py demo/run/report.html"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).resolve().parent


def main(page: Path) -> None:
    """Verdict, map of pairs after a click, confusion matrices in the dark, and a phone."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])

        def visit(width: int, height: int, scheme: str):
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            tab = context.new_page()
            tab.goto(page.resolve().as_uri())
            return tab

        visit(1400, 900, "light").screenshot(path=HERE / "report-verdict.png")
        tab = visit(1400, 900, "light")
        tab.get_by_label("First").select_option("w16")
        tab.get_by_label("Second").select_option("w01")
        tab.locator(".pairs").screenshot(path=HERE / "report-pairs.png")
        visit(1400, 900, "dark").locator("#confusion").screenshot(path=HERE / "report-confusion-dark.png")
        visit(360, 760, "dark").screenshot(path=HERE / "report-phone-dark.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
