"""The page printed by a browser, if there is one."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking")
UNCONFINED = "--no-sandbox"
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
        flags = ["--virtual-time-budget=20000", "--no-pdf-header-footer", f"--print-to-pdf={target}", source.as_uri()]
        confined = _run(browser, folder, ["--dump-dom", "about:blank"]) == 0
        code = _run(browser, folder, flags if confined else [UNCONFINED, *flags])
        if not target.is_file():
            raise ValueError(f"{Path(browser).name} printed no PDF (exit {code}); write the page as .html")
        return target.read_bytes()


def _run(browser: str, folder: str, flags: list[str]) -> int:
    """Run the browser and return its exit code.

    Its sandbox cannot be had as root and in some containers: there an empty page fails too, so that no page of data
    decides whether it is printed without one.
    """
    command = [browser, *FLAGS, f"--user-data-dir={folder}/profile", *flags]
    return subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False).returncode
