"""What is guessed from names and values: never against the user's word, never a time stamp, an id or a decision."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import veracity as vc
from tests.inputs.corpus.shapes import FAIR, OTHER, K, N, P, Q, Y, altered, loss, named, words
from veracity import read
from veracity.cli import run
from veracity.options import ReadOptions
from veracity.records.layout import Layout

TIMES = 1_600_000_000_000 + 86_400_000 * (np.arange(N) // 9)
LATER = np.where(FAIR == 1, TIMES, TIMES[::-1])
KEYS = [f"{i * 7919:08x}-4f2a-4c0d-9b1e-{i:012x}" for i in range(N)]
SENTENCES = [f"Will the event of number {i} happen by June?" for i in range(N)]
DECIDED = (P > 0.5).astype(int)
LETTERS = named("ABC")
SAID = altered(LETTERS, "A", 4)
SAID_AGAIN = altered(LETTERS, "B", 5)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def wrote(**columns: Any) -> str:
    pl.DataFrame({name: list(values) for name, values in columns.items()}, strict=False).write_csv("x.csv")
    return "x.csv"


def opened(file: str, **options: Any) -> Layout:
    return read.open([file], ReadOptions(**options)).layout


def log_losses(file: str, **options: Any) -> list[float]:
    held = read.open([file], ReadOptions(**options)).read().values()
    return [float(-np.average(np.log(f.realised), weights=f.mass)) for f in held]


def refusal(file: str, **options: Any) -> str:
    with pytest.raises(ValueError) as error:
        read.open([file], ReadOptions(**options)).read()
    return str(error.value)


# -- the user's word --------------------------------------------------------------------------------------------------

MARKETS = {
    "id": KEYS,
    "createdTime": TIMES - 1000,
    "closeTime": TIMES,
    "probability": P,
    "resolution": altered(words("NO", "YES"), "MKT"),
    "resolutionTime": LATER,
}


def test_a_market_dump_is_read_with_its_resolution_and_never_with_its_times() -> None:
    file = wrote(**MARKETS | {"resolution": words("NO", "YES")})
    for options in ({}, {"label": "resolution"}):
        assert (opened(file, **options).outcome, opened(file, **options).layout) == ("resolution", "binary")
        assert log_losses(file, **options) == [pytest.approx(loss(P, Y))]


def test_the_times_of_a_market_dump_are_no_label_and_pick_where_the_resolution_has_three_values() -> None:
    file = wrote(**MARKETS)
    for options in ({}, {"label": "resolution"}):
        said = refusal(file, **options)
        assert "`resolution` has three values (MKT, NO, YES)" in said
        assert "Time" not in said
    assert opened(file, label="resolution", where=("resolution!=MKT",)).outcome == "resolution"


def test_columns_of_two_labels_take_no_part_where_the_outcome_is_named() -> None:
    file = wrote(first=LETTERS, second=SAID, p=P, won=words("no", "yes"))
    assert opened(file).layout == "top"  # the guess
    assert (opened(file, label="won").layout, opened(file, label="won").outcome) == ("binary", "won")
    assert log_losses(file, label="won") == [pytest.approx(loss(P, Y))]


COUNTED = {"p": [0.2, 0.4, 0.6, 0.8], "n": [5, 6, 7, 8], "events": [1, 2, 4, 6], "y": [0, 1, 0, 1]}
CELLS = {"p": [0.2, 0.2, 0.8, 0.8], "y": [0, 1, 0, 1], "n": [8, 2, 2, 8]}
PAIRS = {"rain": P, "rain_outcome": Y, "snow": OTHER, "snow_outcome": FAIR}
LONG = {
    "case": np.repeat(range(N), 3),
    "predicted_label": list("ABC") * N,
    "predicted": Q.reshape(-1),
    "observed": np.repeat(LETTERS, 3),
    "truth": np.repeat(SAID, 3),
}


@pytest.mark.parametrize(
    ("columns", "options", "layout", "outcome"),
    [
        (COUNTED, {"label": "y"}, "binary", "y"),
        (COUNTED, {"label": "events"}, "counts", "events"),
        (COUNTED, {"id": "events"}, "counts", "y"),
        (CELLS, {"label": "y"}, "counts", "y"),
        (LONG, {"label": "truth"}, "long", "truth"),
        (LONG, {"label": "observed"}, "long", "observed"),
        (LONG, {"cluster": "truth"}, "long", "observed"),
        (PAIRS, {"label": "rain_outcome"}, "pairs", "rain_outcome"),
        ({"gold": LETTERS, "said": SAID, "p_correct": P, "correct": Y}, {"label": "correct"}, "binary", "correct"),
        ({"truth": LETTERS, "a": SAID, "b": SAID_AGAIN, "conf": P}, {"label": "truth", "pick": "b"}, "top", "truth"),
        ({"truth": LETTERS, "a": SAID, "conf": P}, {"pick": "a", "positive_proba": "conf"}, "top", "truth"),
        ({"user_id": FAIR, "score": P}, {"label": "user_id"}, "binary", "user_id"),
        ({"year": 2023 + FAIR, "p_2023": 1 - P, "p_2024": P}, {"label": "year"}, "wide", "year"),
    ],
)  # fmt: skip
def test_a_column_that_is_named_has_exactly_this_role(
    columns: dict[str, Any], options: dict[str, Any], layout: str, outcome: str
) -> None:
    found = opened(wrote(**columns), **options)
    assert (found.layout, found.outcome) == (layout, outcome)


def test_the_forecast_that_is_named_as_weight_is_no_forecast() -> None:
    assert "`predicted` was given another role" in refusal(wrote(**LONG), weight="predicted")


def test_a_pattern_takes_no_column_that_another_option_names() -> None:
    members = {f"m{i}": np.round(10 * OTHER + i, 2) for i in range(4)}
    found = opened(wrote(mass=1 + FAIR, obs=10 * P, **members), members="m*", exceeds="6", weight="mass", label="obs")
    assert found.forecasts == tuple(members)


def test_counted_rows_stay_counted_when_their_outcome_is_named() -> None:
    file = wrote(**CELLS)
    assert log_losses(file, label="y") == log_losses(file) == [pytest.approx(-0.8 * np.log(0.8) - 0.2 * np.log(0.2))]


def test_the_named_key_of_json_lines_is_the_right_answer() -> None:
    logs = [dict(zip("ABC", np.log(q).tolist(), strict=True)) for q in Q]
    rows = [{"options": o, "answer": s, "gold": g} for o, s, g in zip(logs, SAID, LETTERS, strict=True)]
    Path("x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert opened("x.jsonl").outcome == "gold"  # `answer` may be that of the model
    assert log_losses("x.jsonl") == log_losses("x.jsonl", label="gold") == [pytest.approx(loss(Q, K))]
    assert opened("x.jsonl", label="answer").outcome == "answer"


# -- never a time stamp, an id or free text ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column",
    [
        {"closeTime": np.where(FAIR == 1, 1_600_000_000_000, 1_700_000_000_000)},
        {"at": np.where(FAIR == 1, 1_600_000_000, 1_700_000_000)},
        {"at": np.where(FAIR == 1, 1.6e9 + 0.5, 1.7e9)},
        {"season": 2023 + FAIR},
        {"day": 20240105 + FAIR},
        {"end": words("2024-01-05", "2024-01-06T10:00:00Z", FAIR)},
        {"user_id": FAIR},
        {"id": words("a", "b", FAIR)},
        {"uuid": words("x", "y", FAIR)},
        {"title": words("Will it rain before the end of May?", "Will it snow before the end of June?", FAIR)},
    ],
    ids=lambda column: next(iter(column)),
)  # fmt: skip
def test_is_neither_taken_nor_proposed_as_the_outcome(column: dict[str, Any]) -> None:
    (name,) = column
    assert opened(wrote(**column, p=P, happened=Y)).outcome == "happened"
    assert f"--label {name}" not in refusal(wrote(**column, p=P))


@pytest.mark.parametrize("column", [{"on_time": Y}, {"case": Y}, {"class_id": Y}, {"first_time": words("no", "yes")}])
def test_names_with_such_words_may_be_outcomes_all_the_same(column: dict[str, Any]) -> None:
    assert opened(wrote(**column, p=P)).outcome == next(iter(column))


def test_years_and_seasons_are_no_label_and_pick() -> None:
    year = 2015 + np.arange(N) % 5
    file = wrote(year=year, season=np.where(FAIR == 1, year, 2015), p=P, won=Y)
    assert (opened(file).layout, opened(file).outcome) == ("binary", "won")


# -- decisions made from the forecast ---------------------------------------------------------------------------------


@pytest.mark.parametrize("decided", [DECIDED, 1 - DECIDED, np.where(DECIDED == 1, "high", "low")])
@pytest.mark.parametrize("name", ["approved", "status", "pred_default"])
def test_a_threshold_of_the_forecast_is_not_the_outcome_where_another_column_may_be(name: str, decided: Any) -> None:
    found = opened(wrote(**{name: decided}, p_default=P, defaulted=Y))
    assert found.outcome == "defaulted"
    assert f"the forecast separates {name} perfectly: not taken for the outcome" in found.one_line()


def test_an_outcome_by_name_that_is_a_threshold_is_asked_about() -> None:
    assert refusal(wrote(label=DECIDED, p_default=P, defaulted=Y)) == (
        f"x.csv: two columns could be the outcome: `label`, `defaulted` (they differ in {(DECIDED != Y).sum()} of 120 "
        "rows); the forecast separates `label` perfectly: is it a prediction?\n  choose:  --label defaulted"
    )


def test_the_likeliest_class_by_an_outcomes_name_is_asked_about_beside_a_truth() -> None:
    said = refusal(
        wrote(label=named("abc", Q.argmax(axis=1)), species=named("abc"), p_a=Q[:, 0], p_b=Q[:, 1], p_c=Q[:, 2])
    )
    assert said.endswith("is it a prediction?\n  choose:  --label species")


@pytest.mark.parametrize("columns", [{"decision": DECIDED}, {"y": DECIDED, "fold": FAIR}])
@pytest.mark.parametrize("options", [{}, {"label": True}])
def test_a_sole_or_named_outcome_that_the_forecast_separates_is_read_with_a_finding(
    columns: dict[str, Any], options: dict[str, Any]
) -> None:
    name = next(iter(columns))
    file = wrote(**columns, score=P)
    found = opened(file, **({"label": name} if options else {}))
    (finding,) = (f for f in found.findings if f.code == "perfect_separation")
    below, above = P[P <= 0.5].max(), P[P > 0.5].min()
    assert found.outcome == name
    assert (finding.column, finding.forecast, finding.low, finding.high) == (name, "score", below, above)
    assert (finding.count, finding.total) == (N, N)


def test_the_finding_is_shown_on_the_terminal_and_in_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    file = wrote(decision=DECIDED, score=P)
    assert run(["assess", file, "--json", "a.json"]) == 0
    shown = capsys.readouterr()
    for text in (shown.out, shown.err):
        assert "separates this outcome perfectly: is it a prediction?" in " ".join(text.split())
    assert '"perfect_separation"' in Path("a.json").read_text()
    assert "perfect_separation" in {f.code for f in vc.assess(pl.read_csv(file)).findings}


def test_few_rows_or_one_exception_are_no_threshold() -> None:
    few = wrote(decision=DECIDED[:40], score=P[:40])
    assert not [f for f in opened(few).findings if f.code == "perfect_separation"]
    but_one = DECIDED.copy()
    but_one[np.argmax(P)] = 0
    assert not [f for f in opened(wrote(decision=but_one, score=P)).findings if f.code == "perfect_separation"]


def test_a_truth_by_its_name_is_proposed_before_a_prediction() -> None:
    seen = np.where(np.arange(N) % 8 == 0, 1 - Y, Y)  # goes less well with the forecasts than what follows
    for truth in ("real", "result_2024", "correct_side", "final_outcome", "game_resolution", "truth_value"):
        for guess in ("decision", "pred_side", "model_prediction"):
            said = refusal(wrote(**{guess: Y, truth: seen}, score=P))
            assert said.endswith(f"choose:  --label {truth}   or   --label {guess}")


def test_a_status_beside_another_outcome_is_not_taken_unasked() -> None:
    said = refusal(wrote(status=words("open", "closed", FAIR), risk=P, readmitted=Y))
    assert "could be the outcome: `status`, `readmitted`" in said
    assert "choose:  --label readmitted   or" in said


# -- picks ------------------------------------------------------------------------------------------------------------


def test_an_answer_is_no_truth_beside_one() -> None:
    for truth in ("correct_answer", "target", "gold"):
        said = refusal(wrote(answer=LETTERS, Answer=SAID, **{truth: SENTENCES}, confidence=P))
        assert "answer" not in said.splitlines()[-1].replace(truth, "")
        said = refusal(wrote(answer=SAID, Answer=SAID_AGAIN, **{truth: LETTERS}, confidence=P))
        assert said.endswith(f"choose:  --label {truth} --pick answer   or   --label {truth} --pick Answer")


def test_the_pick_that_was_guessed_is_said_in_the_line_of_the_reading() -> None:
    assert "event = gold is answer" in opened(wrote(answer=SAID, gold=LETTERS, confidence=P)).one_line()


@pytest.mark.parametrize("extra", [{}, {"correct": (DECIDED == Y).astype(int)}])
def test_a_confidence_in_one_of_two_labels_is_rarely_below_one_half(extra: dict[str, Any]) -> None:
    columns = {"predicted": words("affirm", "reverse", FAIR), "outcome": words("affirm", "reverse"), **extra}
    said = refusal(wrote(**columns, confidence=P))
    assert f"below ½ in {(P < 0.5).sum()} of 120 rows" in said
    assert "--pick" not in said
    sure = np.maximum(P, 1 - P)
    sure[:2] = 0.4  # two of 120
    assert opened(wrote(**columns, confidence=sure)).picks_only


def test_the_probability_of_a_label_under_the_name_of_a_confidence_is_that_of_the_label() -> None:
    file = wrote(y_true=Y, y_pred=DECIDED, confidence=P)
    assert (opened(file).layout, opened(file).outcome) == ("binary", "y_true")
    assert log_losses(file) == [pytest.approx(loss(P, Y))]


def test_the_probability_of_one_side_is_not_proposed_as_that_of_being_right() -> None:
    right = (DECIDED == Y).astype(int)
    said = refusal(wrote(prediction=DECIDED, decision=Y, prob_reverse=P, correct=right))
    assert said.endswith("no confidence in a pick.\n  of a label:  --label decision --positive-proba prob_reverse")


def test_of_two_answers_the_one_that_the_confidence_decides_is_the_prediction() -> None:
    found = opened(wrote(Answer=words("no", "yes", DECIDED), answer=words("no", "yes"), confidence=P))
    assert (found.layout, found.outcome) == ("binary", "answer")


def test_a_refusal_whose_proposals_all_fail_still_says_what_to_do() -> None:
    said = refusal(wrote(gold=[f"it is {i}" for i in range(N)], answer=LETTERS, prediction=SAID, prob=P))
    assert said.endswith("\n  name the outcome:  --label COL")


@pytest.mark.parametrize(
    ("p", "right"), [("p_correct", "correct"), ("prob_correct", "is_correct"), ("P.Right", "right")]
)
def test_the_probability_of_being_correct_is_that_of_the_outcome(p: str, right: str) -> None:
    found = opened(wrote(**{p: P, right: Y}, label=FAIR, gold=LETTERS, answer=SAID))
    assert (found.layout, found.outcome, found.forecasts) == ("binary", right, (p,))
    assert not found.picks_only


# -- proposals --------------------------------------------------------------------------------------------------------


def test_limits_are_asked_for_and_never_invented() -> None:
    millimetres = np.round(10 * OTHER, 1)
    for columns, asked in (
        ({"obs": millimetres, "p_0": Q[:, 0], "p_1": Q[:, 1], "p_2": Q[:, 2]}, "--cut LOW,HIGH"),
        ({"obs": millimetres, "p_0": 1 - P, "p_1": P}, "--cut LIMIT"),
        ({"rain_mm": millimetres, "pop": P}, "--label rain_mm --cut LIMIT"),
        ({"obs": millimetres, **{f"m{i}": 0.9 * millimetres + i for i in range(8)}}, "--members 'm*' --exceeds LIMIT"),
    ):
        said = refusal(wrote(**columns))
        assert "?  " in said
        assert asked in said
        options = said[said.index(asked) :].split("  ")[0]
        assert not any(character.isdigit() for character in options)


def test_the_other_options_beside_a_placeholder_have_been_tried() -> None:
    said = refusal(wrote(obs=np.round(10 * OTHER, 1), **{f"{m}_{i}": Q[:, i] for m in ("a", "b") for i in range(3)}))
    command = said.splitlines()[1].partition(":  ")[2].split("      ")[0]
    assert command == "veracity assess x.csv --proba '{model}_*' --cut LOW,HIGH"
    assert run([*shlex.split(command.replace("LOW,HIGH", "2,5"))[1:], "--quiet"]) == 0


def test_rows_of_an_outcome_are_never_proposed_to_be_left_out() -> None:
    for label, columns in (
        (np.where(FAIR == 1, 0, K + 1), {"p_1": Q[:, 0], "p_2": Q[:, 1], "p_3": Q[:, 2]}),
        (altered(named("abc"), "d"), {"p_a": Q[:, 0], "p_b": Q[:, 1], "p_c": Q[:, 2]}),
        (altered(named("abc"), "d", 60), {"p_a": Q[:, 0], "p_b": Q[:, 1], "p_c": Q[:, 2]}),
        (K, {"p": P}),
        (K - 1, {"p": P}),
        (altered(words("no", "yes"), "draw"), {"p": P}),
    ):
        for options in ({}, {"label": "label"}):
            said = refusal(wrote(label=label, **columns), **options)
            assert "--where" not in said.replace("--where 'label!=VALUE'", "")


def test_a_code_for_no_outcome_may_be_left_out() -> None:
    said = refusal(wrote(label=altered(named("abc"), "unknown", 60), p_a=Q[:, 0], p_b=Q[:, 1], p_c=Q[:, 2]))
    assert said.endswith("if the outcome is not known there:  --where 'label!=unknown'")


@pytest.mark.parametrize("columns", [2, 3])
def test_numbers_in_the_first_line_propose_no_header(columns: int) -> None:
    pl.DataFrame([P, Y, OTHER][:columns]).write_csv("x.csv", include_header=False)
    said = refusal("x.csv")
    assert "the first line holds numbers" in said
    assert run([*shlex.split(said.splitlines()[1].partition(":  ")[2])[1:], "--quiet"]) == 0
    assert "--no-header" in said


def test_numbers_in_the_first_line_propose_no_header_where_only_the_user_knows_the_columns() -> None:
    pl.DataFrame([K, *Q.T]).write_csv("x.csv", include_header=False)
    assert "--no-header --label COL" in refusal("x.csv")


@pytest.mark.parametrize(
    ("forecasts", "outcomes"),
    [("y_prob.npy", "y_true.npy"), ("test_probs.npy", "test_labels.npy"), ("preds.npy", "targets.npy")],
)
def test_the_outcomes_in_the_file_beside_are_proposed(forecasts: str, outcomes: str) -> None:
    for array in (P, np.column_stack([1 - P, P])):
        np.save(forecasts, array)
        np.save(outcomes, Y)
        said = refusal(forecasts)
        assert said.endswith(f"if {outcomes} holds the outcomes:  --label-file {outcomes}")
        assert log_losses(forecasts, label_file=outcomes) == [pytest.approx(loss(P, Y))]
        np.save(outcomes, Y[:-1])  # as many outcomes as forecasts are needed
        assert outcomes not in refusal(forecasts)


def test_counts_are_not_proposed_as_percentages() -> None:
    for counts in (
        {"clicks": (40 * P).astype(int)},
        {"goals": (8 * P).astype(int)},
        {"age": (60 * P + 20).astype(int)},
    ):
        said = refusal(wrote(**counts, bought=Y))
        assert "--scale percent" not in said.replace("percentages need --scale percent", "")
    said = refusal(wrote(seen=(8 * P).astype(int), bought=Y), label="bought", positive_proba="seen")
    assert "--scale percent" not in said
    assert "--scale percent" in refusal(wrote(pop=(100 * P).round().astype(int), rained=Y))
