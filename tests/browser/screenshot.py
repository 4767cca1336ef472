"""Makes the README's picture, assets/screenshot.png, from the real app: `python tests/browser/screenshot.py`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

sys.path.insert(0, str(Path(__file__).parent))
from server import ROOT, SAMPLES, open_browser, running_app

PICTURE = ROOT / "assets" / "screenshot.png"


def main() -> None:
    """Transcribe a sample, select an unsure token, and take the picture."""
    with tempfile.TemporaryDirectory() as folder, running_app(Path(folder)) as address, sync_playwright() as playwright:
        browser = open_browser(playwright)
        page = browser.new_page(viewport={"width": 1440, "height": 1130})
        page.goto(f"{address}?__theme=light")
        page.set_input_files("input[type=file]", SAMPLES / "friday-meeting.flac")
        expect(page.locator("[data-ready]")).to_be_visible(timeout=60_000)
        page.locator(".ts-align").focus()
        for key in ("n", "n", "n", "n"):
            page.keyboard.press(key)
            page.wait_for_timeout(700)
        expect(page.locator("#ts-histogram .main-svg").first).to_be_visible()
        page.wait_for_timeout(800)
        page.screenshot(path=PICTURE)
        browser.close()
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
