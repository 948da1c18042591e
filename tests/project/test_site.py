"""The documentation builds without a warning and loads nothing from elsewhere; its numbers are ours."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import veracity as vc

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it, from nothing."""
    folder = tmp_path_factory.mktemp("site")
    command = ["-m", "sphinx", "--fail-on-warning", "--quiet", "-d", str(folder / "trees"), "-b", "html"]
    built = subprocess.run(
        [sys.executable, *command, str(root / "docs"), str(folder / "html")], capture_output=True, text=True, cwd=root
    )
    assert built.returncode == 0, built.stdout[-3000:] + built.stderr[-5000:]
    return folder / "html"


class Links(HTMLParser):
    """Collects what a page links to and loads."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))
        if tag in ("script", "img", "iframe", "source") and given.get("src"):
            self.loaded.append(str(given["src"]))
        if tag == "link" and given.get("href"):
            self.loaded.append(str(given["href"]))


def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    dead, foreign = [], []
    for page in site.rglob("*.html"):
        links = Links()
        links.feed(page.read_text(encoding="utf-8"))
        foreign += [f"{page.name}: {url}" for url in links.loaded if urlsplit(url).netloc]
        for url in links.links:
            parts = urlsplit(url)
            if not parts.scheme and parts.path and not (page.parent / unquote(parts.path)).exists():
                dead.append(f"{page.relative_to(site)}: {url}")
    assert (dead, foreign) == ([], [])


def test_every_page_is_there_as_markdown_and_listed(site: Path) -> None:
    listed = (site / "llms.txt").read_text()
    for name in ("index", "tutorials/binary", "howto/deploy", "understand/risk", "reference/api", "_generated/charts"):
        assert (site / f"{name}.md").is_file()
        assert f"({name}.md)" in listed


def test_the_interactive_page_tells_the_numbers_of_the_rule_without_network(site: Path, chromium: str) -> None:
    from playwright.sync_api import sync_playwright

    given = [0.95, 0.9, 0.8, 0.7, 0.6, 0.3, 0.05]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(offline=True).new_page()
        problems: list[str] = []
        page.on("pageerror", lambda problem: problems.append(str(problem)))
        page.goto((site / "understand" / "risk.html").as_uri())
        for r in (-0.9, -0.5, 0.0, 0.35, 1.0, 2.0):
            page.evaluate(
                "r => { const s = document.getElementById('r'); s.value = r; s.dispatchEvent(new Event('input')); }", r
            )
            cells = page.eval_on_selector_all(
                "#risk-numbers td[data-p]", "tds => tds.map(td => [+td.dataset.p, +td.dataset.score])"
            )
            assert len(cells) == 7
            for p, score in cells:
                assert score == pytest.approx(float(vc.rule(r).score([p, 1 - p], 0)), abs=1e-9)
            mean = page.eval_on_selector("#risk-numbers td[data-mean]", "td => +td.dataset.mean")
            assert mean == pytest.approx(float(vc.generalized_mean(given, r)), abs=1e-9)
        browser.close()
    assert problems == []
