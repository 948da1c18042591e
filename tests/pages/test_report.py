"""The page in a real browser: every chart draws, nothing is asked of the network, data stay data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veracity import assess
from veracity import show as report
from veracity.results.assess import Assessments
from veracity.show import _figures, _view
from veracity.words import number

NASTY = "<img src=x onerror=window.hit=1>"
SCRIPT = "</script><script>window.hit=2</script>"
LIMIT = 1_600_000  # bytes, for any number of cases, classes and models
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]


def _forecasts(seed: int, n: int = 500) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    truth = rng.beta(2, 2, n)
    return rng.random(n) < truth, truth**2 / (truth**2 + (1 - truth) ** 2)


def _two(seed: int = 3, groups: bool = True) -> Any:
    happened, stated = _forecasts(seed)
    sites = np.array([SCRIPT, "north", NASTY])[np.arange(len(happened)) % 3]
    made = assess(
        np.where(happened, NASTY, "no & never"),
        np.column_stack([1 - stated, stated]),
        labels=["no & never", NASTY],
        groups={NASTY: sites} if groups else None,
    )
    made.remedies()
    return made


@pytest.fixture(scope="module")
def two() -> Any:
    return _two().document()


@pytest.fixture(scope="module")
def several() -> Any:
    return Assessments({NASTY: _two(3), "second": _two(4, groups=False), SCRIPT: _two(5, groups=False)}).document()


@pytest.fixture(scope="module")
def ten() -> Any:
    rng = np.random.default_rng(9)
    p = rng.dirichlet(np.full(10, 0.2), 800)
    return assess([int(rng.choice(10, p=row)) for row in p], p).document()


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield opened
        opened.close()


class Opened:
    """A page opened from disk, with everything it complained of and everything it asked for."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
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


def _written(document: Any, folder: Path, name: str = "page.html") -> Path:
    path = folder / name
    report.write(document, path)
    return path


@pytest.mark.browser
@pytest.mark.parametrize("which", ["two", "several", "ten"])
def test_every_chart_draws_without_errors_or_requests(
    which: str, browser: Any, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    path = _written(request.getfixturevalue(which), tmp_path)
    assert path.stat().st_size <= LIMIT
    with Opened(browser, path) as opened:
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
def test_the_page_of_a_table_draws_too(browser: Any, tmp_path: Path) -> None:
    from veracity import PredictionTable

    table = PredictionTable([[83, 56], [2, 12]], rows=["low", NASTY], columns=["no", SCRIPT])
    with Opened(browser, _written(table, tmp_path)) as opened:
        assert opened.errors == []
        assert opened.outside == []
        assert opened.eval("window.hit") is None
        assert opened.eval("document.querySelectorAll('.chart svg.marks').length") >= 3
        opened.page.set_viewport_size({"width": 400, "height": 800})
        assert opened.eval("document.scrollingElement.scrollWidth") <= 400


@pytest.mark.browser
def test_first_screen_is_in_order_and_holds_the_numbers(browser: Any, two: Any, tmp_path: Path) -> None:
    with Opened(browser, _written(two, tmp_path)) as opened:
        order = opened.eval(
            "[...document.querySelectorAll('article > *')].slice(0, 6).map(e => e.className || e.tagName)"
        )
        assert order == ["head", "verdict", "figure", "means", "scores", "remedies"]
        shown = opened.eval("[...document.querySelectorAll('.scores data, .means data')].map(d => Number(d.value))")
        wanted = [reading["value"] for reading in two["scores"].values()]
        wanted += [two[side][mean]["value"] for side in ("reported", "measured") for mean in two["reported"]]
        wanted.append(two["baseline"]["log_loss"])
        assert set(wanted) <= set(shown)
        text = opened.eval("document.querySelector('.verdict').innerText")
        for sentence in two["verdict_detail"]["sentences"]:
            assert sentence in text


@pytest.mark.browser
def test_tables_under_figures_and_tooltips_hold_the_numbers(browser: Any, two: Any, tmp_path: Path) -> None:
    with Opened(browser, _written(two, tmp_path)) as opened:
        page = opened.page
        curve = two["curves"]["classwise"][NASTY]
        page.locator("#figure-m1-reliability summary").first.focus()
        page.locator("#figure-m1-reliability details.numbers summary").press("Enter")  # by keyboard
        cells = page.locator("#figure-m1-reliability details.numbers tbody tr").all_inner_texts()
        assert len(cells) == len(curve)
        assert [float(row.split("\t")[0]) for row in cells] == pytest.approx([r["forecast"] for r in curve], rel=1e-4)
        figures = opened.eval("document.querySelectorAll('.figure').length")
        assert (
            opened.eval("document.querySelectorAll('.figure details.numbers tbody tr:first-child').length") == figures
        )
        largest = max(curve, key=lambda row: row["count"])
        points = page.locator("#figure-m1-reliability svg [class*=mark-symbol] path")
        points.nth(curve.index(largest)).hover()
        tooltip = page.locator("#vg-tooltip-element.visible").inner_text()
        assert f"{largest['observed']:.4g}"[:6] in tooltip
        assert f"{largest['count']:,}" in tooltip


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
    with Opened(browser, path, viewport={"width": 400, "height": 800}) as opened:
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
def test_prints_dark_on_white_without_controls(browser: Any, two: Any, tmp_path: Path) -> None:
    with Opened(browser, _written(two, tmp_path), color_scheme="dark") as opened:
        opened.page.emulate_media(media="print", color_scheme="dark")
        assert opened.eval("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert opened.eval("getComputedStyle(document.querySelector('.chart svg text')).fill") == "rgb(34, 34, 34)"
        assert opened.eval("getComputedStyle(document.querySelector('.vega-embed details')).display") == "none"
        pdf = opened.page.pdf(format="A4")
        assert pdf.startswith(b"%PDF")
        pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
        assert 3 <= pages <= 25


@pytest.mark.browser
def test_prints_to_a_small_file_whatever_the_surprises(browser: Any, ten: Any, tmp_path: Path) -> None:
    """A few surprises make the loss thousands of times the base rate's; its lines leave the picture."""
    profile = ten["decomposed_profile"]
    raised = [x * 10 ** (4 - i) if i < 4 else x for i, x in enumerate(profile["post_calibration"])]
    document = ten | {"decomposed_profile": profile | {"post_calibration": raised}}
    with Opened(browser, _written(document, tmp_path)) as opened:
        assert len(opened.page.pdf(format="A4")) < 1_000_000
        far = "[...document.querySelectorAll('.chart path')].map(p => p.getBoundingClientRect().height)"
        assert max(opened.eval(far)) < 1_000


@pytest.mark.parametrize("which", ["two", "several"])
def test_names_from_the_data_are_text(which: str, request: pytest.FixtureRequest) -> None:
    page = report.render(request.getfixturevalue(which))
    assert "<img" not in page.partition("<main>")[2].partition("</main>")[0]
    assert page.count("</script>") == 4  # the four that the page has itself
    assert "http://" not in page.partition("<main>")[2].partition("</main>")[0]


def test_the_bare_word_accuracy_is_nowhere(two: Any) -> None:
    body = report.render(two).partition("<main>")[2].partition("</main>")[0]
    text = re.sub(r"<code>.*?</code>|<[^>]+>", " ", body)
    assert re.findall(r"(?<!geometric )(?<!prediction )\baccuracy", text, flags=re.IGNORECASE) == []


def test_findings_that_change_the_meaning_stand_in_the_verdict(tmp_path: Path) -> None:
    document = assess([0, 1] * 80, [0.2, 0.0] * 80).document()
    box = report.render(document).partition('class="verdict"')[2].partition("</div>")[0]
    assert "ruled out" in box
    document["findings"] = [{"code": "x", "severity": "changes the meaning", "message": "12 rows left out", "rows": []}]
    box = report.render(document).partition('class="verdict"')[2].partition("</div>")[0]
    assert "12 rows left out" in box


def test_infinite_and_undefined_numbers_have_a_word() -> None:
    page = report.render(assess([0, 1] * 80, [0.2, 0.0] * 80).document())
    assert "∞" in page.partition("<main>")[2]
    assert "NaN" not in page.partition('id="charts">')[2].partition("</script>")[0]


def test_definitions_name_formula_and_reference_of_every_score(two: Any) -> None:
    page = report.render(two)
    definitions = page.partition('id="definitions"')[2].partition("</section>")[0]
    for name in two["scores"]:
        assert f"<code>scores.{name}</code>" in definitions
    assert "HB17" in definitions
    assert "provenance" in page.lower()
    assert two["provenance"]["version"] in page


def test_page_stays_small_for_many_models_and_groups(two: Any) -> None:
    many = {"models": {f"model {i}": two for i in range(60)}, "schema": "veracity/assessments/1"}
    assert len(report.render(many).encode()) <= LIMIT
    level = two["groups"][NASTY]["north"]
    crowded = {**two, "groups": {"site": {f"level {i}": level for i in range(3000)}}}
    assert len(report.render(crowded).encode()) <= LIMIT


def test_only_what_happened_known_gives_a_page() -> None:
    from veracity.data import Forecasts

    logs = np.log(np.random.default_rng(0).beta(3, 1, 300))
    document = assess(Forecasts(None, None, (), log_realised=logs)).document()
    page = report.render(document)
    assert number(document["reported"]["geometric_accuracy"]) in page
    assert "Not measurable" in page


def test_missing_sections_are_left_out_one_by_one(two: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_figures, "modules", lambda of: [])  # pictures without numbers: tests/test_plots.py
    kept = ("schema", "n", "classes", "reported", "verdict")
    for name in two:
        if name not in kept:
            assert "<main>" in report.render({**two, name: None}), name
    assert "<main>" in report.render({name: two[name] for name in kept})


def test_written_whole_or_not_at_all(two: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "page.html"
    target.write_text("before")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space"):
        report.write(two, target)
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
    assert target.read_bytes() == b"before"


def test_notebook_cell_shows_the_verdict() -> None:
    cell = _two()._repr_html_()
    assert "Probability given to what happened" in cell
    assert "<img" not in cell


def test_view_shows_best_and_worst_of_many() -> None:
    ranked = [(str(i), i) for i in range(50)]
    assert [name for name, _ in _view._ends(ranked, 4)] == ["0", "1", "48", "49"]


def test_inline_json_is_json() -> None:
    held = {"name": SCRIPT, "value": 1.5, "nothing": float("nan")}
    assert json.loads(report.inline_json(held)) == {"name": SCRIPT, "value": 1.5, "nothing": None}
