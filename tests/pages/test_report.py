"""The page in a real browser: every chart draws, nothing is asked of the network, data stay data."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veracity as vc
from veracity import PredictionTable, plots, show
from veracity.inputs import Forecasts
from veracity.measures import scores
from veracity.plots._offline import inline_json
from veracity.records import sections as r
from veracity.records.findings_of_input import MissingRows
from veracity.records.papers import Papers
from veracity.records.reading import Reading, unknown
from veracity.records.stability import Group
from veracity.results.assess import Assessments
from veracity.show import html
from veracity.show.models import ends

NASTY = "<img src=x onerror=window.hit=1>"
SCRIPT = "</script><script>window.hit=2</script>"
LIMIT = 1_600_000  # bytes, for any number of cases, classes and models
PRINTED = 1_047  # CSS pixels of an A4 page between margins of 1 cm
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]


@pytest.fixture(scope="module")
def two(filled: Callable[..., Any]) -> Any:
    """Two classes, groups, and names that would run if they were taken as HTML."""
    sites = {NASTY: np.array([SCRIPT, "north", NASTY])[np.arange(600) % 3]}
    return filled("over", classes=["no & never", NASTY], groups=sites)


@pytest.fixture(scope="module")
def several(filled: Callable[..., Any], two: Any) -> Any:
    return Assessments({NASTY: two, "second": filled("under", seed=4), SCRIPT: filled("calibrated", seed=5)})


@pytest.fixture(scope="module")
def ten(filled: Callable[..., Any]) -> Any:
    return filled("under", n=800, k=10)


@pytest.fixture(scope="module")
def thousand(filled: Callable[..., Any]) -> Any:
    return filled("over", n=400, k=1000)


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield opened
        opened.close()


class Opened:
    """A page opened from disk, with everything it complained of and everything it asked for."""

    def __init__(self, browser: Any, path: Path, unfold: bool = False, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
        self._wait()
        if unfold:
            self.eval("document.querySelectorAll('details.part').forEach(d => { d.open = true; })")
            self.page.wait_for_timeout(200)
            self._wait()

    def _wait(self) -> None:
        self.page.wait_for_selector("body[data-drawn]", state="attached", timeout=60_000)

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: Any) -> None:
        self.context.close()

    @property
    def outside(self) -> list[str]:
        return [url for url in self.asked[1:] if not url.startswith(("data:", "blob:"))]

    def eval(self, script: str) -> Any:
        return self.page.evaluate(script)


def _written(result: Any, folder: Path, name: str = "page.html") -> Path:
    path = folder / name
    show.write(result, path)
    return path


def _body(result: Any) -> str:
    return show.to_html(result).partition("<main>")[2].partition("</main>")[0]


@pytest.mark.browser
@pytest.mark.parametrize("which", ["two", "several", "ten", "thousand"])
def test_every_chart_draws_without_errors_or_requests(
    which: str, browser: Any, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    path = _written(request.getfixturevalue(which), tmp_path)
    assert path.stat().st_size <= LIMIT
    with Opened(browser, path, unfold=True) as opened:
        assert opened.errors == []
        assert opened.outside == []
        drawn = opened.eval(
            "[...document.querySelectorAll('[data-chart]')].map(c => [c.dataset.chart,"
            " c.querySelectorAll('svg [class*=mark-] path, svg [class*=mark-] line, svg [class*=mark-] text').length])"
        )
        assert len(drawn) >= 8
        assert all(marks > 2 for _, marks in drawn), drawn
        assert opened.eval("window.hit") is None, "a name from the data was run"


@pytest.mark.browser
def test_only_the_scripts_of_the_page_run_and_nothing_reaches_the_network(
    browser: Any, two: Any, tmp_path: Path
) -> None:
    with socket.create_server(("localhost", 0)) as listener:
        listener.settimeout(0.2)
        address = f"http://localhost:{listener.getsockname()[1]}/x.png"
        put = f"<script>window.hit = 3</script><img src=x onerror='window.hit = 4'><img src='{address}'>"
        (tmp_path / "page.html").write_text(show.to_html(two).replace("<main>", f"<main>{put}"), encoding="utf-8")
        with Opened(browser, tmp_path / "page.html") as opened:
            assert opened.eval("window.hit") is None
            assert opened.errors, "the policy says what it refused"
            assert all("Content Security Policy" in error for error in opened.errors), opened.errors
            assert opened.eval(f"fetch('{address}').then(() => 'sent', () => 'refused')") == "refused"
        with pytest.raises(TimeoutError):
            listener.accept()


@pytest.mark.browser
def test_interpreted_pictures_are_those_that_run_as_programs(browser: Any, ten: Any, tmp_path: Path) -> None:
    marks = "[...document.querySelectorAll('.chart svg.marks')].map(s => s.outerHTML)"
    page = show.to_html(ten)
    run = re.sub("<meta http-equiv=.Content-Security-Policy.*?>", "", page).replace("ast: true,", "")
    assert run.count("ast: true") == page.count("ast: true") - 1
    drawn = []
    for name, text in (("interpreted.html", page), ("run.html", run)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        with Opened(browser, tmp_path / name, unfold=True) as opened:
            assert opened.errors == []
            drawn.append([re.sub(r"(clip|gradient_)\d+", r"\1", svg) for svg in opened.eval(marks)])
    assert len(drawn[0]) >= 8
    assert drawn[0] == drawn[1]


@pytest.mark.browser
def test_the_page_of_a_table_draws_too(browser: Any, tmp_path: Path) -> None:
    table = PredictionTable([[83, 56], [2, 12]], rows=["low", NASTY], columns=["no", SCRIPT])
    with Opened(browser, _written(table, tmp_path)) as opened:
        assert opened.errors == []
        assert opened.outside == []
        assert opened.eval("window.hit") is None
        assert opened.eval("document.querySelectorAll('.chart svg.marks').length") >= 3
        first = opened.eval("document.querySelector('.first').innerText")
        assert first.index("83") < first.index("Sensitivity") < first.index("PPV") < first.index("LR+")
        opened.page.set_viewport_size({"width": 400, "height": 800})
        assert opened.eval("document.scrollingElement.scrollWidth") <= 400


@pytest.mark.browser
def test_first_screen_is_in_order_and_holds_the_numbers(browser: Any, two: Any, tmp_path: Path) -> None:
    with Opened(browser, _written(two, tmp_path)) as opened:
        order = opened.eval("[...document.querySelectorAll('.first > *')].map(e => e.className || e.tagName)")
        assert order == ["H1", "about", "verdict", "cards", "figure", "sentences"]
        assert opened.eval("document.querySelectorAll('.card').length") == 4
        shown = opened.eval("[...document.querySelectorAll('main data')].map(d => Number(d.value))")
        wanted = [
            float(held) for name, held in two.scores.readings().items() if name not in ("spherical", "perplexity")
        ]
        sides = (two.reported, two.expected, two.measured)
        wanted += [float(held) for side in sides for held in side.readings().values()]
        wanted.append(two.baseline.log_loss)
        assert set(wanted) <= set(shown)
        text = opened.eval("document.querySelector('.verdict').innerText").replace("\xa0", " ")
        assert "Over-confident" in text
        contents = opened.eval("[...document.querySelectorAll('.contents a')].map(a => a.getAttribute('href'))")
        assert len(contents) >= 8
        assert all(opened.eval(f"document.querySelector('{anchor}') !== null") for anchor in contents)


@pytest.mark.browser
def test_tables_under_figures_and_tooltips_hold_the_numbers(browser: Any, two: Any, tmp_path: Path) -> None:
    with Opened(browser, _written(two, tmp_path), unfold=True) as opened:
        page = opened.page
        curve = two.curves.classwise[NASTY]
        figure = ".figure[data-name=reliability]"
        page.locator(f"{figure} details.numbers summary").press("Enter")  # by keyboard
        cells = page.locator(f"{figure} details.numbers tbody tr").all_inner_texts()
        assert len(cells) == len(curve)
        assert [float(row.split("\t")[0]) for row in cells] == pytest.approx([q.forecast for q in curve], rel=1e-4)
        figures = opened.eval("document.querySelectorAll('.figure').length")
        assert (
            opened.eval("document.querySelectorAll('.figure details.numbers tbody tr:first-child').length") == figures
        )
        largest = max(curve, key=lambda point: point.count)
        points = page.locator(f"{figure} svg [class*=mark-symbol] path")
        points.nth(curve.index(largest)).hover()
        tooltip = page.locator("#vg-tooltip-element.visible").inner_text()
        assert f"{largest.observed:.4g}"[:6] in tooltip
        assert f"{largest.count:,}" in tooltip


@pytest.mark.browser
def test_dark_mode_follows_the_reader(browser: Any, two: Any, tmp_path: Path) -> None:
    light_of = "(c => c.match(/[\\d.]+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0) / 3)"
    paper = f"{light_of}(getComputedStyle(document.body).backgroundColor)"
    label = f"{light_of}(getComputedStyle(document.querySelector('.role-axis-label text')).fill)"
    path = _written(two, tmp_path)
    with Opened(browser, path, color_scheme="dark") as opened:
        assert opened.eval(paper) < 60
        assert opened.eval(label) > 180
        opened.page.emulate_media(color_scheme="light")
        opened.page.wait_for_function(f"() => {label} < 90")
        assert opened.eval(paper) > 240
        assert opened.errors == []


@pytest.mark.browser
@pytest.mark.parametrize("which", ["two", "several"])
def test_nothing_overflows_at_400_pixels(
    which: str, browser: Any, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    path = _written(request.getfixturevalue(which), tmp_path)
    with Opened(browser, path, unfold=True, viewport={"width": 400, "height": 800}) as opened:
        assert opened.eval("document.scrollingElement.scrollWidth") <= 400
        widths = opened.eval("[...document.querySelectorAll('.chart svg.marks')].map(s => s.scrollWidth)")
        assert widths
        assert max(widths) <= 400
        sizes = opened.eval(
            "[...document.querySelectorAll('.role-axis-label text')].map(t => t.getBoundingClientRect().height)"
            ".filter(h => h > 0)"
        )
        assert min(sizes) >= 8  # legible: the pictures are drawn anew, not shrunk


@pytest.mark.browser
def test_prints_dark_on_white_with_a_first_page_of_its_own(browser: Any, two: Any, tmp_path: Path) -> None:
    with Opened(browser, _written(two, tmp_path), color_scheme="dark") as opened:
        opened.page.set_viewport_size({"width": 718, "height": 1000})  # A4 between the margins
        opened.page.wait_for_timeout(600)
        opened.page.emulate_media(media="print", color_scheme="dark")
        assert opened.eval("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert opened.eval("getComputedStyle(document.querySelector('.chart svg text')).fill") == "rgb(34, 34, 34)"
        assert opened.eval("getComputedStyle(document.querySelector('.vega-embed details')).display") == "none"
        assert opened.eval("getComputedStyle(document.querySelector('.first')).breakAfter") == "page"
        assert opened.eval("document.querySelector('.first').getBoundingClientRect().height") <= PRINTED
        pdf = opened.page.pdf(format="A4")
        assert pdf.startswith(b"%PDF")
        pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
        assert 3 <= pages <= 25


@pytest.mark.browser
@pytest.mark.parametrize("train", [False, True])
def test_the_first_printed_page_of_a_table_is_one_sheet(train: bool, browser: Any, tmp_path: Path) -> None:
    names = {"rows": ["not at risk", "at risk"], "columns": ["no disease", "disease"]}
    table = PredictionTable([[9, 3], [3, 14]], **names)
    if train:
        table = table.scored_with(PredictionTable([[98, 6], [18, 28]], **names))
    with Opened(browser, _written(table, tmp_path), viewport={"width": 718, "height": 1000}) as opened:
        opened.page.emulate_media(media="print")
        opened.page.wait_for_timeout(300)
        assert opened.eval("document.querySelectorAll('.first .chart svg.marks').length") == 1
        assert opened.eval("document.querySelector('.first').getBoundingClientRect().height") <= PRINTED


@pytest.mark.browser
def test_a_report_named_pdf_is_printed(browser: Any, two: Any, tmp_path: Path) -> None:
    show.write(two, tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def test_a_pdf_without_a_browser_says_what_to_do(two: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match=r"chromium .*write the page as \.html"):
        show.write(two, tmp_path / "page.pdf")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.browser
def test_prints_to_a_small_file_whatever_the_misses(browser: Any, ten: Any, tmp_path: Path) -> None:
    """A few misses make the loss thousands of times the baseline's; its lines leave the picture."""
    profile = ten.decomposed_profile
    raised = tuple(x * 10 ** (5 - i) if i < 4 else x for i, x in enumerate(profile.post_calibration))
    result = replace(ten, decomposed_profile=replace(profile, post_calibration=raised))
    with Opened(browser, _written(result, tmp_path), unfold=True) as opened:
        assert len(opened.page.pdf(format="A4")) < 1_000_000
        far = "[...document.querySelectorAll('.chart path')].map(p => p.getBoundingClientRect().height)"
        assert max(opened.eval(far)) < 1_500  # lines end at twice the height of the picture, 600 pixels here


@pytest.mark.parametrize("which", ["two", "several"])
def test_names_from_the_data_are_text(which: str, request: pytest.FixtureRequest) -> None:
    result = request.getfixturevalue(which)
    page = show.to_html(result)
    body = page.partition("<main>")[2].partition("</main>")[0]
    assert "<img" not in body
    assert page.count("</script>") == 4  # the four that the page has itself
    assert "http://" not in body
    cell = show.to_notebook(result)
    assert "<script" not in cell
    assert re.findall("<img (?!alt=)", cell) == []


def test_every_score_of_the_registry_is_on_the_page_and_defined(two: Any) -> None:
    body = _body(two)
    definitions = body.partition(">Definitions<")[2]
    for measure in scores():
        assert measure.titled in body
        assert f"<td>scores.{measure.name}</td>" in definitions
    assert "HB17" in definitions
    assert two.provenance.version in body


def test_findings_that_change_the_meaning_are_on_the_first_screen(two: Any) -> None:
    finding = MissingRows(12, 300)
    first = show.to_html(replace(two, findings=(finding,))).partition('class="first"')[2].partition("<nav")[0]
    assert "12 of 300 rows have missing values and are left out." in first


def test_infinite_and_undefined_numbers_have_a_word(filled: Callable[..., Any]) -> None:
    result = filled("over", findings=())
    zero = replace(result, scores=replace(result.scores, log_loss=Reading(np.inf, reason="infinite: no interval")))
    page = show.to_html(zero)
    assert "∞" in page.partition("<main>")[2]
    assert "NaN" not in page.partition('id="charts">')[2].partition("</script>")[0]


def test_page_stays_small_for_many_models_and_groups(two: Any) -> None:
    many = Assessments({f"model {i}": two for i in range(60)})
    assert len(show.to_html(many).encode()) <= LIMIT
    level = two.groups[NASTY].levels["north"]
    crowded = replace(two, groups={"site": Group({f"level {i}": level for i in range(3000)})})
    assert len(show.to_html(crowded).encode()) <= LIMIT


def test_only_realised_probabilities_give_a_page() -> None:
    body = _body(vc.assess(Forecasts(None, None, (), log_realised=np.log(np.linspace(0.05, 0.95, 300)))))
    assert "Not measurable" in body
    assert "Perplexity" in body
    assert "recalibrated" not in body.partition("<nav")[0]


def test_empty_sections_are_left_out_one_by_one(two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "pictures", lambda of, result: [])  # pictures without numbers: test_plots.py
    monkeypatch.setattr(html, "_figure", lambda *_: None)
    none = unknown("not known")
    empty = {"skill": r.Skill(), "baseline": r.Baseline(), "expected": r.ExpectedMeans(none, none, none)}
    empty |= {"measured": r.Means(none, none, none), "curves": r.Curves(), "corp": r.Corp(), "spread_ratio": none}
    empty |= {
        "calibration_error": r.CalibrationErrors(),
        "remedies": (),
        "groups": {},
        "surprises": (),
        "per_class": {},
    }
    for name, section in {**empty, "findings": (), "provenance": None, "papers": Papers()}.items():
        assert "<h1>" in _body(replace(two, **{name: section})), name


def test_a_document_without_a_section_is_refused_by_its_name() -> None:
    document = vc.assess([0, 1, 1, 0] * 10, [0.2, 0.7, 0.9, 0.4] * 10).document()
    del document["skill"]
    with pytest.raises(ValueError, match="a document without skill; give all that to_json"):
        vc.Assessment.from_document(document)


def test_written_whole_or_not_at_all(two: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "page.html"
    target.write_text("before")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)  # a disk that is really full: tests/prove/test_faults.py
    with pytest.raises(OSError, match="No space"):
        show.write(two, target)
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
    assert target.read_bytes() == b"before"


def test_notebook_cell_is_the_first_screen_with_its_chart(two: Any) -> None:
    cell = show.to_notebook(two)
    assert "Over-confident" in cell
    assert "data:image/svg+xml" in cell
    assert "Better than the baseline?" in cell
    assert "it expected" in cell


def test_best_and_worst_of_many_models_are_shown() -> None:
    ranked = [(str(i), i) for i in range(50)]
    assert [name for name, _ in ends(ranked, 4)] == ["0", "1", "48", "49"]


def test_inline_json_is_json() -> None:
    held = {"name": SCRIPT, "value": 1.5, "nothing": float("nan")}
    assert json.loads(inline_json(held)) == {"name": SCRIPT, "value": 1.5, "nothing": None}


@pytest.mark.browser
def test_the_decision_curve_turns_into_the_murphy_curve(browser: Any, two: Any, tmp_path: Path) -> None:
    figure = "[data-name='decision_curve']"
    drawn = f"document.querySelector(\"{figure} svg .mark-line path\").getAttribute('d')"
    with Opened(browser, _written(two, tmp_path), unfold=True) as opened:
        before = opened.eval(drawn)
        opened.page.click(f"{figure} input[type=radio][value='Murphy curve']")
        opened.page.wait_for_timeout(200)
        assert opened.eval(drawn) != before
        opened.page.fill(f"{figure} input[type=range]", "2")
        opened.page.wait_for_timeout(200)
        assert opened.errors == []
