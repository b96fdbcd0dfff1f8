"""Make the README's picture: the top of the example's packet, as Chromium shows it.

python tools/picture.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

TOP = Path(__file__).resolve().parents[1]


def main() -> None:
    browser_path = subprocess.run(
        [sys.executable, str(TOP / "tools" / "chromium.py")], capture_output=True, text=True, check=True
    ).stdout.strip()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        command = [str(Path(sys.executable).parent / "afterload"), "report", "--example", "--quiet", "-o", folder]
        packet = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1100, "height": 1560})
        page.goto(Path(packet).resolve().as_uri())
        page.wait_for_function("document.documentElement.dataset.chartsDrawn !== undefined")
        page.screenshot(path=TOP / "docs" / "packet.png")
        browser.close()
    print(TOP / "docs" / "packet.png")


if __name__ == "__main__":
    main()
