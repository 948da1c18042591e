"""The answer as text: terminal at any width, pipe, Markdown and CSV say the same, and nothing from the data runs."""

from __future__ import annotations

import csv
import io
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len

import veracity as vc
from veracity import PredictionTable, measures, plots, show, words
from veracity.estimate.comparison.compare import Dependence
from veracity.inputs import prepare
from veracity.measures import Measure, scores
from veracity.records import sections as r
from veracity.records.findings_of_input import OneOutcome, RescaledRows
from veracity.records.reading import Reading
from veracity.records.stability import Difference, Drift, GroupCalibration, GroupShift, PValue
from veracity.records.verdict import CurvatureTest, ShapeTest
from veracity.results.assess import Assessments
from veracity.results.compare import compared
from veracity.show import markdown, terminal
from veracity.show.blocks import Cards, Chart, Details, Heading, Sentence, walk
from veracity.show.cells import Table
from veracity.state.plan import Plan

ESCAPE = "\x1b[2Jred\x07\u202e"
CARELESS = ["over", "under", "calibrated", "biased"]


def worse(result: Any) -> Any:
    """The same with a log loss above that of the baseline."""
    return replace(result, skill=replace(result.skill, log=Reading(-0.2, -0.3, -0.1)))


def first_sentence(result: Any) -> str:
    """What --quiet would say of the whole, not model by model."""
    return terminal.headline(show.first_screen(result))


def test_answer_begins_with_verdict_usefulness_fix_and_notes(filled: Callable[..., Any]) -> None:
    result = filled("over", k=5, findings=(RescaledRows(7, 600),))
    kinds = [type(block) for block in show.first_screen(result)]
    assert kinds[:4] == [Heading, Sentence, Cards, Chart]
    said = [block for block in show.first_screen(result) if isinstance(block, Sentence)]
    assert [s.title for s in said] == ["Over-confident", "Useful", "Fix", "Note"]
    assert [s.mark for s in said] == ["✗", "✓", "→", "!"]
    assert said[2].proposed == ["k = vc.calibrate(y_true, y_proba)", "k.predict(new_proba)"]


def test_worse_than_the_baseline_comes_first(filled: Callable[..., Any]) -> None:
    said = [block for block in show.first_screen(worse(filled("over"))) if isinstance(block, Sentence)]
    assert said[0].title == "Worse than the baseline"
    assert said[0].lead
    assert not any(s.title == "Useful" for s in said)


def test_nothing_to_fix_is_not_said_of_forecasts_that_ruled_out_outcomes(filled: Callable[..., Any]) -> None:
    result = filled("calibrated", k=5)
    assert "Nothing to fix" in [s.title for s in _sentences(result)]
    zeros = replace(result, verdict_detail=replace(result.verdict_detail, zero_rows=3))
    assert "Nothing to fix" not in [s.title for s in _sentences(zeros)]


def test_a_fix_is_called_as_firm_as_its_evidence(filled: Callable[..., Any]) -> None:
    over = filled("over", k=5)
    assert "Fix" in [s.title for s in _sentences(over)]
    weak = [s.title for s in _sentences(replace(over, advice=replace(over.advice, advice="possible fix")))]
    assert "Possible fix" in weak
    assert "Fix" not in weak


def _sentences(result: Any) -> list[Sentence]:
    return [block for block in show.first_screen(result) if isinstance(block, Sentence)]


def test_losses_of_one_cluster_are_unknown_and_have_no_table() -> None:
    y = np.array([0, 1, 2, 0, 1])
    result = vc.assess(y, np.where(np.eye(3)[y] == 1.0, 0.98, 0.01), clusters=np.zeros(5))
    assert "Parts of the loss" not in show.to_terminal(result, 80, details=True)


def test_drift_of_calibration_replaces_the_tick(filled: Callable[..., Any]) -> None:
    fine = filled("calibrated")
    moved = replace(fine, drift=Drift(PValue(0.0001), PValue(0.4), 0.0002, "cosines"))
    assert fine.verdict_detail.state in ("calibrated", "none found")
    said = [block for block in show.first_screen(moved) if isinstance(block, Sentence)]
    assert [(s.title, s.text) for s in said if s.lead] == [("Calibrated on average", "But not over time (p < 0.001).")]
    assert not any(s.mark == "✓" for s in said if s.lead)
    assert "Nothing to fix" not in [s.title for s in said]
    cards = next(block for block in show.first_screen(moved) if isinstance(block, Cards)).cards
    assert next(card.answer for card in cards if card.question == "Calibrated?") == "On average"
    still = replace(fine, drift=Drift(PValue(0.02), PValue(0.4), 0.04, "cosines"))  # only in the table
    assert show.first_screen(still)[1] == show.first_screen(fine)[1]
    assert "Calibration seems to change over time (p = 0.040; level p = 0.020" in words.stability.drift_note(
        still.drift
    )


def test_a_skill_whose_interval_holds_zero_is_not_called_useful(filled: Callable[..., Any]) -> None:
    result = filled("calibrated")
    unclear = replace(result, skill=replace(result.skill, log=Reading(0.01, -0.02, 0.04)))
    said = [block.title for block in show.first_screen(unclear) if isinstance(block, Sentence)]
    assert "Not clearly useful" in said
    assert "Useful" not in said


def test_an_infinite_log_loss_is_judged_by_the_brier_score(filled: Callable[..., Any]) -> None:
    y, p = np.array([0, 1] * 60), np.tile([[0.8, 0.2], [0.1, 0.9]], (60, 1))
    p[1] = [1.0, 0.0]
    text = show.to_terminal(filled(given=(y, p)))
    lines = text.splitlines()
    assert "ruled out" in lines[2]
    assert "∞" in text
    useful = next(line for line in lines if "against" in line)
    assert "Brier score" in useful
    assert "cuts the log loss" not in text


@pytest.mark.parametrize("kind", CARELESS)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_terminal_fits_its_width(kind: str, width: int, filled: Callable[..., Any]) -> None:
    result = filled(kind, k=3, groups=True)
    for details in (False, True):
        lines = show.to_terminal(result, width, details=details).splitlines()
        commands = [line for line in lines if "veracity " in line]
        too_wide = [line for line in lines if cell_len(line) > width and line not in commands]
        assert too_wide == []
        assert all(line == line.rstrip() for line in lines)


def test_summary_is_about_twenty_lines_at_80_columns(filled: Callable[..., Any]) -> None:
    assert len(show.to_terminal(filled("over", k=5), 80).splitlines()) <= 24


def test_a_pipe_has_no_colour_and_no_box(filled: Callable[..., Any]) -> None:
    piped = show.to_terminal(filled("over", groups=True), 100)
    assert "\x1b" not in piped
    assert not re.search("[─│┌┐└┘━┃]", piped)
    coloured = show.to_terminal(filled("over", groups=True), 100, colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured).split() == piped.split()
    (verdict,) = [line for line in coloured.splitlines() if "✗" in line]
    assert verdict.startswith("\x1b[31m✗ \x1b[0m\x1b[1mOver-confident   \x1b[0mWhen")  # the mark alone has a colour


def test_a_terminal_without_unicode_gets_words_for_marks(filled: Callable[..., Any]) -> None:
    text = show.to_terminal(filled("over"), 80, unicode=False)
    assert text.isascii()
    assert re.search("^no Over-confident", text, re.MULTILINE)
    assert re.search("^-> Fix", text, re.MULTILINE)


def test_quiet_is_the_verdict_on_one_line_per_model(filled: Callable[..., Any]) -> None:
    one, other = filled("over"), filled("under")
    assert show.headline(one).startswith("Over-confident. When it says")
    assert "\n" not in show.headline(one)
    lines = show.headline(Assessments({"a": one, "b": other})).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["a", "b"]
    assert "Under-confident." in lines[1]


def test_control_characters_never_reach_the_terminal(filled: Callable[..., Any]) -> None:
    names = {ESCAPE: np.array([ESCAPE, "b"])[np.arange(600) % 2]}
    result = filled("over", classes=["no", ESCAPE], groups=names, model=ESCAPE)
    bad = replace(result, findings=(OneOutcome(outcome=f"column {ESCAPE}"),))
    for text in (show.to_terminal(bad, 100, details=True), show.to_markdown(bad), show.headline(bad)):
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "\u202e" not in text
    table = PredictionTable([[8, 2], [1, 9]], rows=[ESCAPE, "b"], columns=["no", "yes"])
    assert "\x1b" not in str(table)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("`a` and `b", "\\`a\\` and \\`b"),
        ("\\*not bold\\*", "\\\\\\*not bold\\\\\\*"),
        ("see https://example.org/x", "see https<!-- -->://example.org/x"),
        ("www.example.org", "www<!-- -->.example.org"),
        ("@team fixes #12", "@<!-- -->team fixes #<!-- -->12"),
        ("# title", "\\# title"),
        ("$$\\frac{1}{2}$$", "\\$\\$\\\\frac{1}{2}\\$\\$"),
        ("from $5 to $10", "from \\$5 to \\$10"),
        ("a\x00b\u202ec\ud800", "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_markdown_makes_no_code_link_mention_or_heading_of_names(given: str, shown: str) -> None:
    assert markdown.safe(given) == shown


def test_spreadsheets_compute_no_cell(filled: Callable[..., Any]) -> None:
    names = ("=1+1", "@SUM(A1)", "-2+3", "\t=1", "\n=1", " +1", "＝1", "'=1")
    models = Assessments({name: filled("over") for name in names})
    cells = [row[0] for row in csv.reader(io.StringIO(show.to_csv(models)))][1:]
    assert {cell[0] for cell in cells} == {"'"}


def test_pictures_and_pages_of_names_with_control_characters_are_made_without_them(filled: Callable[..., Any]) -> None:
    bad = "\x00\x01\x1b[31m\x7f\x9b\u2028\ufffe\ud800\u202e"
    result = filled("over", classes=["no", f"yes{bad}"], model=f"m{bad}")
    drawn = plots.rendered(plots.chart("reliability", result), "svg").decode()
    shown = show.to_html(result).partition("</main>")[0]
    assert not {*bad} - {*"[31m"} & {*drawn, *shown}


def test_folders_of_models_are_their_own_and_inside() -> None:
    names = ["..", ".", "", "a b", "a/b", "A_b", "a_b_2", "/etc/passwd", "-rf", "x\x1b[2J", "é", "e\u0301", "y" * 300]
    held = show.safe_names(names, taken={"compare"})
    assert list(held) == names
    assert len({name.casefold() for name in held.values()}) == len(names)
    assert all(re.fullmatch(r"[\w+][\w.+-]{0,70}", name) for name in held.values()), held
    assert show.safe_names(["compare"], taken={"compare"}) == {"compare": "compare_2"}


def test_markdown_takes_names_as_text(filled: Callable[..., Any]) -> None:
    nasty = "a|b*c*_d_[x](y)<img>`"
    groups = {nasty: np.array([nasty, "b"])[np.arange(600) % 2]}
    text = show.to_markdown(filled("over", classes=["no", nasty], groups=groups))
    assert "<img>" not in text
    assert "](y)" not in text.replace("\\](y)", "")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows
    assert all(len(re.split(r"(?<!\\)\|", row)) == len(re.split(r"(?<!\\)\|", rows[0])) for row in rows[:2])


def test_markdown_has_sentences_scores_means_groups_and_remedies(filled: Callable[..., Any]) -> None:
    text = show.to_markdown(filled("over", groups=True, floor=0.01))
    for wanted in (
        "**Over-confident.**",
        "| Log loss ↓ |",
        "it expected",
        "| By site |",
        "| Recalibration |",
        "labelled cases",
        "below 0.01",
    ):
        assert wanted in text


def test_csv_is_inert_in_a_spreadsheet(filled: Callable[..., Any]) -> None:
    names = {"=1+1": filled("over"), "+b": filled("under"), "@c": filled("over")}
    rows = list(csv.DictReader(io.StringIO(show.to_csv(Assessments(names)))))
    assert {row["model"] for row in rows} == {"'=1+1", "'+b", "'@c"}
    table = PredictionTable([[8, 2], [1, 9]], rows=["=1+1", "b"], columns=["no", "yes"])
    assert "'=1+1" in {row["value"] for row in csv.DictReader(io.StringIO(table.to_csv()))}
    found = {row["name"]: float(row["value"]) for row in rows if row["model"] == "'=1+1" and row["value"]}
    assert found["scores.log_loss"] == float(names["=1+1"].scores.log_loss)


SCIENTIFIC = re.compile(r"\de[−+-]?\d")


@pytest.mark.parametrize("kind", CARELESS)
def test_no_sentence_has_scientific_notation_or_a_false_zero(kind: str, filled: Callable[..., Any]) -> None:
    tiny = (r.Surprise(3, "yes", 1e-12), r.Surprise(4, "yes", 3e-7))
    result = filled(kind, groups=True, surprises=tiny)
    gains = tuple(replace(remedy, log=r.Gain(2e-5, 1e-5, 3e-5, 1e-5)) for remedy in result.remedies)
    for one in (result, replace(result, remedies=gains)):
        said = [block.text for block in walk(show.blocks(one)) if isinstance(block, Sentence)]
        said += [note for block in walk(show.blocks(one)) if isinstance(block, Table) for note in block.notes]
        assert not [text for text in said if SCIENTIFIC.search(text) or "0.000 " in text]


def test_details_hold_every_measure_and_the_summary_only_the_main_ones(filled: Callable[..., Any]) -> None:
    result = filled("over")
    short, long = show.to_terminal(result, 100), show.to_terminal(result, 100, details=True)
    for measure in scores():
        assert (measure.label in short) == measure.first
        assert measure.label in long


def test_the_summary_asks_for_no_section_that_it_does_not_show(filled: Callable[..., Any]) -> None:
    """Curves, losses and profiles cost time after the pass; a terminal does not need them."""
    held = filled("over")
    asked: set[str] = set()

    class Watched(type(held)):  # type: ignore[misc]
        def __getattribute__(self, name: str) -> Any:
            asked.add(name)
            return super().__getattribute__(name)

    show.to_terminal(Watched(**vars(held)), 80)
    assert "verdict_detail" in asked
    assert (
        asked & {"curves", "losses", "decomposition", "corp", "decomposed_profile", "risk_profile", "bins", "decisions"}
        == set()
    )


@pytest.fixture
def surprisal() -> Any:
    """A measure that is registered from outside, in one place."""
    added = measures.register(
        Measure(
            name="bits", label="Surprise in bits", gloss="Log loss in base 2.", formula="−(1/n) Σ log₂ pᵢ",
            cite="Shannon 1948", better="lower", bounds=(0.0, np.inf), proper=True, needs="realised",
            rows=lambda f: -np.log2(f.realised)[:, None],
        )
    )  # fmt: skip
    yield added
    measures.MEASURES.remove(added)


def test_a_measure_from_outside_appears_in_every_medium(surprisal: Measure, filled: Callable[..., Any]) -> None:
    from veracity import Forecasts

    f = Forecasts.of([0, 1, 1], [0.2, 0.7, 0.9])
    assert surprisal(f) == pytest.approx(measures.LOG_LOSS(f) / np.log(2), rel=1e-12)
    result = filled("over")
    held = replace(result, scores=replace(result.scores, others={"bits": Reading(0.7137, 0.70, 0.73)}))
    both = Assessments({"a": held, "b": held})
    renderings = [
        show.to_terminal(held, 100), show.to_markdown(held), show.to_html(held), show.to_notebook(held),
        show.to_terminal(held, 100, details=True), show.to_html(both), show.to_markdown(both),
    ]  # fmt: skip
    for text in renderings:
        assert re.search("surprise in bits", text, re.IGNORECASE)
    assert "scores.bits" in show.to_csv(held)
    assert "<td>scores.bits</td>" in show.to_html(held)
    with pytest.raises(ValueError, match="'bits' is registered already"):
        measures.register(surprisal)


def test_a_picture_from_outside_appears_on_the_page(
    filled: Callable[..., Any], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from veracity import plots

    (tmp_path / "extra_picture.py").write_text(
        "from veracity.plots import floors\n"
        'OF, ORDER, TITLE = "assessment", 33, "An extra picture"\n'
        "COLUMNS, rows, chart = floors.COLUMNS, floors.rows, floors.chart\n"
        'def caption(result): return "As given."\n'
    )
    monkeypatch.setattr(plots, "__path__", [*plots.__path__, str(tmp_path)])
    page = show.to_html(filled("over"))
    assert ">An extra picture</h2>" in page
    assert "extra_picture" in plots.names("assessment")


def test_every_class_has_a_row_and_of_many_the_worst_ten(filled: Callable[..., Any]) -> None:
    def rows(result: Any) -> Any:
        tables = [b for b in walk(show.blocks(result)) if isinstance(b, Table) and b.title == "Classes"]
        return tables[0] if tables else None

    assert rows(filled("over")) is None
    assert len(rows(filled("over", k=5)).rows) == 5
    many = filled("over", n=400, k=60)
    wrong = {**many.per_class, "class 7": replace(many.per_class["class 7"], p=0.001)}
    table = rows(replace(many, per_class=wrong))
    assert len(table.rows) == 10
    assert table.rows[0][0].name == "class 7"
    assert not any("No class" in note for note in table.notes)
    assert any("No class" in note for note in rows(many).notes)


def test_harder_groups_are_said_in_the_table_and_never_in_the_headline(filled: Callable[..., Any]) -> None:
    result = filled("calibrated", groups=True)
    same = GroupCalibration(PValue(0.3), PValue(0.5), 0.6, (), "draws")
    harder = replace(result.groups["site"], differ=Difference(0.004, "labels"), calibration=same, worst="north")
    said = show.first_screen(replace(result, groups={"site": harder}))
    assert [b for b in said if isinstance(b, Sentence)] == [
        b for b in show.first_screen(result) if isinstance(b, Sentence)
    ]
    (table,) = (b for b in said if isinstance(b, Table) and b.title == "By site")
    assert any(note.startswith("Cases of site = north are harder") for note in table.notes)
    assert any(note.startswith("Calibration does not clearly differ by site (p = 0.60") for note in table.notes)


@pytest.mark.parametrize(("p", "columns", "said"), [(0.009, 1, True), (0.009, 2, False), (0.002, 5, True)])
def test_groups_replace_the_tick_at_one_percent_shared_by_their_columns(
    filled: Callable[..., Any], p: float, columns: int, said: bool
) -> None:
    result = filled("calibrated", groups=True)
    off = GroupShift("west", "level", 4.0, "too low")
    held = GroupCalibration(PValue(p / 2), PValue(0.5), p, ("west",), "draws", (off,))
    group = replace(result.groups["site"], calibration=held)
    level = group.levels["west"].level
    fine = replace(group, calibration=replace(held, p=1.0, names=(), off=()))
    several = {"site": group, **{f"column {i}": fine for i in range(columns - 1)}}
    found = [b for b in show.first_screen(replace(result, groups=several)) if isinstance(b, Sentence)]
    shares = "predicted {}, observed {}".format(*words.verdict.two_percents(level.predicted, level.observed))
    expected = ("!", "Calibrated on average", f"But not in site = west ({shares}).")
    assert (expected in [(s.mark, s.title, s.text) for s in found if s.lead]) == said
    assert ("Nothing to fix" in [s.title for s in found]) != said
    assert any(b.title == "Nothing to fix" for b in show.first_screen(result) if isinstance(b, Sentence))


def test_groups_are_a_note_beside_a_fault_of_all_cases(filled: Callable[..., Any]) -> None:
    result = filled("over", groups=True)
    off = GroupShift("west", "slope", -4.0, "too extreme")
    held = GroupCalibration(PValue(0.5), PValue(0.001), 0.002, ("west",), "draws", (off,))
    group = replace(result.groups["site"], calibration=held)
    found = [b for b in show.first_screen(replace(result, groups={"site": group})) if isinstance(b, Sentence)]
    assert [s.title for s in found if s.lead] == [
        s.title for s in show.first_screen(result) if isinstance(s, Sentence) and s.lead
    ]
    text = "Calibration is not the same in site = west (too extreme beside all cases together)."
    (note,) = (s for s in found if s.title == "Differs by group")
    assert note.text.startswith(text)
    assert note.proposed == ["rows = site == 'west'", "k = vc.calibrate(y_true[rows], y_proba[rows])"]


def test_models_are_ranked_by_log_loss_with_the_worst_ones_named(filled: Callable[..., Any]) -> None:
    models = {"sharp": worse(filled("over")), "good": filled("calibrated"), "dull": filled("under")}
    text = show.to_terminal(Assessments(models), 100)
    assert re.search(r"! Lowest log loss +good has 0\.\d+ \(.*\), next is dull with 0\.\d+", text)
    assert "Best" not in text
    table = text[text.index("Model ") :]
    assert table.index("good") < table.index("dull")
    assert re.search("Worse than the baseline +sharp", text)


def test_nothing_is_folded_on_the_first_screen(filled: Callable[..., Any]) -> None:
    assert not any(isinstance(block, Details) for block in show.first_screen(filled("over", groups=True)))


def test_clean_keeps_letters_of_every_script() -> None:
    assert words.clean("naïve 模型 مرحبا") == "naïve 模型 مرحبا"


def test_a_summary_does_not_import_the_libraries_of_the_pictures(filled: Callable[..., Any]) -> None:
    code = (
        "import sys; from veracity import show; from veracity.show.answer import summary;"
        "sys.exit(any(name in sys.modules for name in ('altair', 'jinja2', 'vl_convert')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_details_print_the_numbers_of_small_pictures(filled: Callable[..., Any]) -> None:
    text = show.to_terminal(filled("over", k=3), 100, details=True)
    assert "LEAST EXPECTED OUTCOMES" in text
    assert re.search(r"^\d+ +class \d", text, re.MULTILINE)
    assert "RISK PROFILE" not in text  # too many numbers: --json has them


def test_emphasis_does_not_shorten_lines_and_numbers_keep_their_percent_sign(filled: Callable[..., Any]) -> None:
    result = filled("over")
    rows = tuple(r.Surprise(row, "yes", 0.0) for row in (0, 5, 6, 9, 13, 17))
    zeros = {"zero_rows": 27, "cases": 100, "ruled_out": rows, "floor": 0.001, "floored_loss": 0.21}
    detail = replace(result.verdict_detail, **zeros)
    lines = show.to_terminal(replace(result, verdict_detail=detail), 80).splitlines()
    assert lines[2] == "✗ It ruled out what happened in 27 of 100 cases (rows 0, 5, 6, 9, 13, …), so its"
    for width in range(60, 100):
        text = show.to_terminal(replace(result, verdict_detail=detail), width)
        assert not [line for line in text.splitlines() if line.strip().startswith("%")]


def test_classes_over_and_under_predicted_have_the_verdict_as_title(filled: Callable[..., Any]) -> None:
    result = filled("biased", k=3)
    wrong = {"cat": r.ClassLevel(0.14, 0.10, 4.0), "dog": r.ClassLevel(0.08, 0.10, -4.0)}
    detail = replace(
        result.verdict_detail,
        state="found",
        word="biased",
        class_count=3,
        level=replace(result.verdict_detail.level, classes=wrong),
        confidence=replace(result.verdict_detail.confidence, direction=None, where=None),
        shape=replace(result.verdict_detail.shape, where=None),
        curvature=None,
    )
    biased = replace(result, verdict="biased", verdict_detail=detail)
    lead = show.first_screen(biased)[1]
    said = "**Over-predicts** cat (14 %, was 10 %) and **under-predicts** dog (8 %, was 10 %)."
    assert (lead.title, lead.text) == ("Biased", said)
    assert show.headline(biased) == "Biased. Over-predicts cat (14 %, was 10 %) and under-predicts dog (8 %, was 10 %)."


def test_models_with_infinite_log_losses_are_ranked_by_brier_score(filled: Callable[..., Any]) -> None:
    def infinite(result: Any) -> Any:
        return replace(result, scores=replace(result.scores, log_loss=Reading(np.inf)))

    good, dull, sharp = filled("calibrated"), filled("under"), filled("over")
    one = first_sentence(Assessments({"a": infinite(sharp), "b": good, "c": infinite(dull)}))
    assert re.match("Lowest Brier score. b has .*, next is .* with .* Ranked by Brier score, as a log loss is", one)
    none = first_sentence(Assessments({"a": infinite(sharp), "b": infinite(good)}))
    assert re.match("Lowest Brier score. b has .*, next is a with", none)


def test_a_sentence_without_title_goes_on_with_the_one_before(filled: Callable[..., Any]) -> None:
    result = filled("over")
    curved = CurvatureTest(0.001, "too low at both ends")
    detail = replace(result.verdict_detail, state="found", curvature=curved, shape=ShapeTest(0.5))
    lead = [b for b in show.first_screen(replace(result, verdict_detail=detail)) if isinstance(b, Sentence) and b.lead]
    assert lead[0].title == "Over-confident"
    assert lead[-1].text.endswith("Besides, its probabilities are too low at both ends of the scale.")


def test_without_libraries_for_screens_results_still_print(
    filled: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = filled("over")
    for name in list(sys.modules):
        if name.partition(".")[0] in ("rich", "jinja2", "altair", "vl_convert") or name == "veracity.show.html":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(show, "html", raising=False)
    for name in ("rich", "jinja2", "altair", "vl_convert"):
        monkeypatch.setitem(sys.modules, name, None)
    assert show.to_terminal(result).startswith("### Forecast quality")
    assert show.to_notebook(result).startswith("<pre>### Forecast quality")


def test_a_wrong_level_shows_in_the_calibration_error_and_its_card(filled: Callable[..., Any]) -> None:
    """The error is that of the event, not of the pick: a level that is wrong everywhere cannot hide in the middle."""
    result = filled("biased", n=2000)
    assert result.verdict == "biased"
    blocks = list(show.first_screen(result))
    error = result.calibration_error.classwise
    (line,) = [line for line in terminal.render(blocks, 100).splitlines() if line.startswith("Calibration error")]
    assert f"{error.value:.3f}" in line
    (level,) = result.verdict_detail.level.classes.values()
    said = words.verdict.two_percents(level.predicted, level.observed)
    (held,) = [block for block in blocks if isinstance(block, Cards)]
    assert "{} predicted, {} observed".format(*said) in [card.detail for card in held.cards]


def test_columns_of_groups_that_say_the_same_everywhere_are_left_out(filled: Callable[..., Any]) -> None:
    result = filled("over", groups=True)
    site = result.groups["site"]
    shifts = {name: 0.1 * i for i, name in enumerate(site.levels)}

    def titles(drawn: float, times: float) -> list[str]:
        levels = {name: replace(one, shrunk=Reading(0.5 + drawn * shifts[name])) for name, one in site.levels.items()}
        off = {name: times * shift for name, shift in shifts.items()}
        group = replace(site, levels=levels, calibration=replace(site.calibration, shifts=off))
        said = show.first_screen(replace(result, groups={"site": group}))
        (table,) = (b for b in said if isinstance(b, Table) and b.title == "By site")
        return [c.title for c in table.columns if c.title in ("shrunk", "off by")]

    assert titles(0.0, 0.0) == []
    assert titles(1.0, 0.0) == ["shrunk"]
    assert titles(0.0, 1.0) == ["off by"]


def test_findings_of_a_comparison_have_marks_and_no_names_of_severity() -> None:
    rng = np.random.default_rng(4)
    p = rng.uniform(0.3, 0.9, 200)
    picks = {name: replace(prepare((rng.random(200) < p).astype(int), p), picks_only=True) for name in "ab"}
    screen = show.first_screen(compared(picks, Plan(), Dependence()))
    text = terminal.render(screen, 100)
    assert "! Note " in text
    assert "critical" not in text
    (losses,) = ([row[1].reading for row in b.rows] for b in screen if isinstance(b, Table) and b.title == "Models")
    assert losses == sorted(losses)  # though the picks of one are right more often
