"""The documentation builds without a warning and loads nothing from elsewhere; its numbers are ours."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from myst_nb.core import render
from nbformat.v4 import new_code_cell, new_notebook, new_output

import veracity as vc
from docs import _examples
from docs._site import with_outputs

pytestmark = pytest.mark.slow
LOOKED_AT = ("index", "tutorials/clinic", "understand/risk", "reference/api", "_generated/charts")


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
    dead = []
    for page in site.rglob("*.md"):
        prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S)
        links = re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", prose)
        dead += [f"{page.relative_to(site)}: {link}" for link in links if not (page.parent / link).exists()]
    assert dead == []
    assert not any("\x1b" in page.read_text() for page in site.rglob("*.md"))
    for name in ("index", "tutorials/binary", "howto/deploy", "understand/risk", "reference/api", "_generated/charts"):
        assert (site / f"{name}.md").is_file()
        assert f"({name}.md)" in listed


def test_what_a_cell_prints_in_several_pieces_is_there_once_and_in_whole_lines(tmp_path: Path) -> None:
    pieces = ("read risk.csv\n2,", "\x1b[?25l\x1b[1m400 cases\x1b[0m\n")
    outputs = [new_output("stream", name="stdout", text=text) for text in pieces]
    outputs.insert(1, new_output("stream", name="stderr", text="a warning\n"))
    shown = render.coalesce_streams(outputs)  # what a page shows
    assert [output.text for output in shown] == ["".join(pieces), "a warning\n"]
    page = tmp_path / "page.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("!veracity assess risk.csv", outputs=outputs)]), page)
    assert "```text\nread risk.csv\n2,400 cases\na warning\n```" in with_outputs(page)


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_a_page_of_each_kind(site: Path, chromium: str, scheme: str) -> None:
    from playwright.sync_api import sync_playwright

    pytest.importorskip("axe_playwright_python", reason="axe-core absent: requirements/docs.txt")
    axe = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    serious = """axe.run(document.querySelector("dl.py") || document, {resultTypes: ["violations"]}).then(found =>
        found.violations.filter(v => ["serious", "critical"].includes(v.impact))
        .map(v => [v.id, v.nodes.map(node => node.html.slice(0, 200))]))"""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(offline=True, color_scheme="dark" if scheme == "dark" else "light")
        page = context.new_page()
        found = {}
        for name in (*LOOKED_AT, "tutorials/many_classes"):  # of the long list of names the first one
            page.goto((site / f"{name}.html").as_uri())
            page.evaluate(axe)
            if problems := page.evaluate(serious):
                found[name] = problems
        browser.close()
    assert found == {}


def test_no_page_is_wider_than_a_telephone(site: Path, chromium: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(offline=True, viewport={"width": 400, "height": 800}).new_page()
        widths = {}
        for name in LOOKED_AT:
            page.goto((site / f"{name}.html").as_uri())
            widths[name] = page.evaluate("document.documentElement.scrollWidth")
        browser.close()
    assert widths == dict.fromkeys(LOOKED_AT, 400)


def test_an_option_a_chart_or_a_command_without_a_good_example_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from sphinx.errors import ExtensionError

    lines = [line for line in (Path(_examples.__file__).with_name("commands.txt")).read_text().splitlines() if line]
    assert "--preset" in _examples.first_uses(lines)["assess"]
    with pytest.raises(ExtensionError, match=r"assess --preset, veracity check --preset, veracity compare --preset$"):
        _examples.first_uses([line for line in lines if "--preset" not in line])
    with pytest.raises(ExtensionError, match=r"exit code 2 of\n  veracity assess nothing\.csv"):
        _examples.answer("veracity assess nothing.csv")
    monkeypatch.delitem(_examples.KINDS, "picks")
    with pytest.raises(ExtensionError, match=r"without an example in docs/_examples\.py: risk_coverage$"):
        list(_examples.charts())


def test_a_public_name_without_an_example_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from sphinx.errors import ExtensionError

    from docs import _site

    _site.refuse_names_without_an_example()
    monkeypatch.setattr(vc.assess, "__doc__", "Assess.")
    monkeypatch.setattr(vc.sql.query, "__doc__", "Query.")
    with pytest.raises(ExtensionError, match=r"example in their docstring: assess, veracity\.sql\.query$"):
        _site.refuse_names_without_an_example()
