"""Take a picture of the upper part of a report: ``python tools/docs/report_screenshot.py HTML PNG [--dark] …``.

The picture of the README is
``python tools/docs/report_screenshot.py headcount-demo/report.html docs/images/report.png``,
after ``headcount demo``.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

BROWSER = runpy.run_path(str(Path(__file__).parents[1] / "packaging" / "browser.py"))


def take(page_file: Path, picture: Path, *, width: int, height: int, dark: bool, full: bool) -> None:
    """Open the page without network, wait for its charts, and save what a window of that size shows."""
    chromium = BROWSER["find"]()
    if chromium is None:
        raise SystemExit(f"no Chromium was found; {BROWSER['REMEDY']}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=BROWSER["flags"]())
        page = browser.new_page(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        page.route(lambda url: not url.startswith("file:"), lambda route: route.abort())
        page.goto(page_file.resolve().as_uri())
        if page.locator("[data-chart]").count():
            page.wait_for_selector("html[data-charts=drawn]", state="attached")
        for place in page.locator("[data-explorer]").all():
            place.and_(page.locator("[data-explored]")).wait_for()
        picture.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=picture, full_page=full)
        browser.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("html", type=Path, help="the page, a file")
    parser.add_argument("png", type=Path, help="the picture to write")
    parser.add_argument("--width", type=int, default=1200)
    parser.add_argument("--height", type=int, default=1080)
    parser.add_argument("--dark", action="store_true", help="as a reader with a dark screen sees it")
    parser.add_argument("--full", action="store_true", help="the whole page, not only its upper part")
    given = parser.parse_args()
    take(given.html, given.png, width=given.width, height=given.height, dark=given.dark, full=given.full)
    print(f"{given.png}: {given.png.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
