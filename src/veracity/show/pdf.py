"""The page printed by a browser, if there is one."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
PATIENCE = 120  # seconds


def printed(page: str) -> bytes:
    """Return the page as PDF; ValueError where no browser is found on the PATH."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        raise ValueError(
            "a PDF needs chromium or google-chrome on the PATH; write the page as .html, open it and print it"
        )
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_text(page, encoding="utf-8")
        flags = [*FLAGS, f"--user-data-dir={folder}/profile", "--virtual-time-budget=20000", "--no-pdf-header-footer"]
        done = subprocess.run(
            [browser, *flags, f"--print-to-pdf={target}", source.as_uri()],
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        if not target.is_file():
            raise ValueError(f"{Path(browser).name} printed no PDF (exit {done.returncode}); write the page as .html")
        return target.read_bytes()
