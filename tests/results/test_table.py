"""PredictionTable: ways in, numbers against published tables, ways out."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from veracity import PredictionTable, assess, plots, rule
from veracity.formulas.rules import RULES
from veracity.options.deciding import Costs

A = [[83, 56], [2, 12]]
C1, C2 = [[98, 6], [18, 28]], [[9, 3], [3, 14]]


# -- ways in ------------------------------------------------------------------------------------------------------


def test_every_way_in_makes_the_same_table():
    names = {"rows": ("low", "high"), "columns": ("no", "yes")}
    whole = PredictionTable(A, **names)
    category = ["low"] * 139 + ["high"] * 14
    outcome = ["no"] * 83 + ["yes"] * 56 + ["no"] * 2 + ["yes"] * 12
    tidy = PredictionTable.from_tidy(["high", "low", "high", "low"], ["yes", "yes", "no", "no"], [12, 56, 2, 83])
    rates = PredictionTable.from_rates(12 / 68, 83 / 85, 68 / 153, 153, **names)
    shares = PredictionTable.from_shares(np.array(A) / 153, n=153, **names)
    for other in (tidy, PredictionTable.from_rows(outcome, category), rates, shares):
        assert other.rows == whole.rows
        assert other.columns == whole.columns
        assert other.counts == pytest.approx(whole.counts, abs=1e-12)
        assert other.g2 == pytest.approx(whole.g2, abs=1e-10)
        assert other.divergence_score == pytest.approx(whole.divergence_score, abs=1e-12)


def test_rows_are_ordered_by_the_event_share_with_a_finding():
    table = PredictionTable.from_tidy(["b", "a", "b", "a"], ["yes", "yes", "no", "no"], [1, 9, 9, 1])
    assert table.rows == ("b", "a")
    assert "ordered by the observed share of “yes”" in " ".join(table.notes)
    assert PredictionTable.from_tidy(["b", "a", "b", "a"], ["yes", "yes", "no", "no"], rows=["a", "b"]).rows == (
        "a",
        "b",
    )


def test_two_unknown_outcomes_ask_for_the_event():
    with pytest.raises(ValueError, match="which one is the event"):
        PredictionTable.from_rows(["good", "poor"], ["a", "b"])
    assert PredictionTable.from_rows(["good", "poor"], ["a", "b"], columns=["good", "poor"]).columns == ("good", "poor")


def test_probabilities_are_sorted_and_named():
    table = PredictionTable.from_probabilities([0.8, 0.1], [20, 50], [17, 4])
    assert table.rows == ("0.1", "0.8")
    assert table.counts.tolist() == [[46, 4], [3, 17]]


def test_row_data_and_their_table_are_identical():
    rng = np.random.default_rng(3)
    p = rng.integers(0, 11, 500) / 10
    y = (rng.random(500) < 0.1 + 0.8 * p).astype(int)
    table = PredictionTable.from_rows(y, y_proba=p)
    rows = np.column_stack([1 - p, p])
    for scoring in RULES:
        if scoring.name == "spherical" or scoring.bounds[1] < math.inf:
            assert table.terms(scoring).score == pytest.approx(np.mean(scoring.score(rows, y)), abs=1e-12)
    # a forecast of 0 that came true: both are infinite
    assert math.isinf(table.divergence_score) == math.isinf(np.mean(rule("log").score(rows, y)))
    inside = np.clip(p, 0.05, 0.95)
    table = PredictionTable.from_rows(y, y_proba=inside)
    for scoring in RULES:
        mean = np.mean(scoring.score(np.column_stack([1 - inside, inside]), y))
        assert table.terms(scoring).score == pytest.approx(mean, abs=1e-12)


def test_row_data_assessed_and_tabulated_agree():
    rng = np.random.default_rng(5)
    p = rng.integers(1, 10, 400) / 10
    y = (rng.random(400) < p).astype(int)
    table, assessed = PredictionTable.from_rows(y, y_proba=p), assess(y, p)
    assert table.divergence_score == pytest.approx(float(assessed.scores.log_loss), abs=1e-12)
    assert table.half_brier == pytest.approx(float(assessed.scores.half_brier), abs=1e-12)


def test_negative_zero_and_zero_are_one_forecast():
    assert len(PredictionTable.from_rows([0, 1, 0, 1], y_proba=[0.0, -0.0, 1.0, 1.0]).rows) == 2


# -- adding ---------------------------------------------------------------------------------------------------------


def test_tables_add_cell_by_cell():
    total = PredictionTable(A) + PredictionTable(C2)
    assert total.counts.tolist() == [[92, 59], [5, 26]]
    assert total.n == 182


def test_a_category_that_one_table_lacks_counts_as_no_cases():
    small = PredictionTable(A, rows=("low", "high"))
    large = PredictionTable([[5, 1], [3, 3], [1, 5]], rows=("low", "medium", "high"))
    assert (small + large).rows == (large + small).rows == ("low", "medium", "high")
    assert (small + large).counts.tolist() == [[88, 57], [3, 3], [3, 17]]


def test_probability_tables_add_by_probability():
    one = PredictionTable.from_probabilities([0.1, 0.5], [10, 10], [1, 5])
    two = PredictionTable.from_probabilities([0.1, 0.3, 0.9], [10, 10, 10], [1, 3, 9])
    assert (one + two).rows == ("0.1", "0.3", "0.5", "0.9")
    assert (one + two).forecasts[:, 1].tolist() == [0.1, 0.3, 0.5, 0.9]


@pytest.mark.parametrize(
    ("one", "two", "said"),
    [
        (PredictionTable(A), PredictionTable(A, columns=("no", "yes")), "different outcomes"),
        (PredictionTable(A), PredictionTable(A, rows=("a", "b")), "different categories"),
        (PredictionTable(A), PredictionTable(A, [0.4, 0.9]), "states forecast probabilities"),
        (PredictionTable(A, [0.3, 0.9]), PredictionTable(A, [0.4, 0.9]), "different probabilities"),
        (PredictionTable(A), PredictionTable.from_rates(0.8, 0.8, 0.5), "how many cases"),
    ],
)
def test_tables_that_do_not_add_are_refused_with_the_reason(one, two, said):
    with pytest.raises(ValueError, match=said):
        one + two


def test_strata_are_shown_with_the_pooled_line():
    parts = {"2021": PredictionTable(C1), "2022": PredictionTable(C2), "2023": "column 'event' is empty"}
    document = PredictionTable.pooled(parts).document()
    assert document["n"] == 179
    assert document["strata"]["2022"]["psep"] == pytest.approx(0.573529, abs=5e-7)
    assert document["strata"]["2023"] == "column 'event' is empty"
    page = str(PredictionTable.pooled(parts))
    assert re.search(r"2022 +29 .*\n2023 +– ", page)


# -- training against validation ------------------------------------------------------------------------------------


def test_training_against_validation_shows_both_decompositions():
    document = PredictionTable(C2).scored_with(PredictionTable(C1)).document()
    assert document["log_terms"]["score"] == pytest.approx(0.650263, abs=5e-7)
    assert document["log_terms"]["reliability"] == pytest.approx(0.144401, abs=5e-7)
    assert document["reliability_as_zero"]["log_terms"]["score"] == pytest.approx(0.505862, abs=5e-7)
    assert document["reliability_as_zero"]["log_terms"]["reliability"] == 0.0
    assert document["train"]["log_terms"]["score"] == pytest.approx(0.358189, abs=5e-7)
    assert document["psep"] == pytest.approx(0.573529, abs=5e-7)
    assert document["psep_forecasts"] == pytest.approx(0.551003, abs=5e-7)
    assert "is measured" in document["reliability_note"]
    assert "taken as zero" in PredictionTable(C2).document()["reliability_note"]


def test_training_needs_the_same_categories_and_outcomes():
    with pytest.raises(ValueError, match="no category 'forecast 3'"):
        PredictionTable([[5, 1], [3, 3], [1, 5]]).scored_with(PredictionTable(C1))
    with pytest.raises(ValueError, match="outcomes"):
        PredictionTable(C2).scored_with(PredictionTable(C1, columns=("no", "yes")))


# -- more categories, more outcomes -----------------------------------------------------------------------------------


def test_psep_beyond_two_categories_says_what_it_leaves_unused():
    table = PredictionTable([[50, 5], [30, 10], [5, 20]])
    assert table.psep == pytest.approx(20 / 25 - 5 / 55, abs=1e-15)
    assert table.psep_unused == 40
    assert "leaves 40 of 120 cases unused" in str(table)
    assert table.sensitivity is None
    assert [cut["sensitivity"] for cut in table.thresholds] == pytest.approx([30 / 35, 20 / 35])
    assert [cut["specificity"] for cut in table.thresholds] == pytest.approx([50 / 85, 80 / 85])


def test_more_than_two_outcomes_have_brier_terms_only():
    table = PredictionTable([[50, 5, 2], [10, 20, 5], [2, 8, 30]], columns=("none", "some", "much"))
    document = table.document()
    assert document["half_brier"] is None
    assert document["brier_terms"]["score"] == pytest.approx(table.brier, abs=1e-15)
    assert "half_brier_terms" not in document
    assert document["df"] == 4
    assert np.shape(document["logit"]["coefficients"]) == (3, 2)
    assert str(table)
    two = table.versus_rest("much")
    assert two.counts.tolist() == [[55, 2], [30, 5], [10, 30]]
    assert two.half_brier == pytest.approx(two.brier / 2, abs=1e-15)


# -- published tables -----------------------------------------------------------------------------------------------


# -- ways out -------------------------------------------------------------------------------------------------------


def test_document_has_the_names_of_the_interface():
    document = PredictionTable(A).document()
    names = """n psep half_brier divergence_score entropy conditional_entropy mutual_information
        normalized_mutual_information g2 df g2_p x2 mcfadden_r2 sensitivity specificity predictive_values
        likelihood_ratios logit half_brier_terms log_terms"""
    assert set(names.split()) <= set(document)
    for terms in ("half_brier_terms", "log_terms"):
        assert {"score", "uncertainty", "resolution", "reliability", "per_category"} <= set(document[terms])
    assert document["g2_p"] == pytest.approx(0.000770, abs=5e-6)
    assert document["likelihood_ratios"] == pytest.approx([(56 / 68) / (83 / 85), (12 / 68) / (2 / 85)])


@pytest.mark.parametrize(("best", "worst"), [([0.857, 0.143], [0.25, 0.75]), ([0.6, 0.3, 0.1], [0.2, 0.35, 0.45])])
def test_intervals_at_another_prevalence_hold_the_truth(best, worst):
    rng, held = np.random.default_rng(12), []
    likelihoods = np.stack([best, worst], 1)
    joint = likelihoods * [0.9, 0.1]
    true = joint[:, 1] / joint.sum(1)
    for _ in range(300):
        counts = np.stack([rng.multinomial(140, best), rng.multinomial(60, worst)], 1)
        (at,) = PredictionTable(counts, prevalences=(0.1,)).prevalence
        ends = [one.ends for one in (*at.limits, at.psep_limits)]
        held.append([a <= x <= b for x, (a, b) in zip([*true, true[-1] - true[0]], ends, strict=True)])
    assert (np.mean(held, axis=0) >= 0.92).all()  # 95 % less two standard errors


def test_information_at_the_own_prevalence_is_that_of_the_table_and_cells_may_be_empty():
    table = PredictionTable([[80, 5], [20, 0], [10, 25]])
    (at,) = replace(table, prevalences=(float(table.prior[1]),)).prevalence
    assert at.mutual_information == pytest.approx(table.mutual_information, abs=1e-12)
    assert at.psep == pytest.approx(table.psep, abs=1e-12)
    assert at.limits[1] is None
    assert at.psep_limits is not None
    shares = PredictionTable.from_rates(0.8, 0.9, 0.2, prevalences=(0.0, 0.5, 1.0))
    assert [at.limits for at in shares.prevalence] == [None] * 3
    assert [at.mutual_information > 0.0 for at in shares.prevalence] == [False, True, False]


def test_a_table_is_equal_after_json_and_back():
    table = PredictionTable(C2, prevalences=(0.1, 0.5)).scored_with(PredictionTable(C1))
    table = PredictionTable.pooled({"a": table, "b": table})
    text = table.to_json()
    assert PredictionTable.from_json(text).to_json() == text
    shares = PredictionTable.from_rates(0.8, 0.9, 0.2)
    assert PredictionTable.from_json(shares.to_json()).to_json() == shares.to_json()
    with pytest.raises(ValueError, match="schema"):
        PredictionTable.from_json("{}")


def test_infinities_are_strings_in_json():
    table = PredictionTable([[9, 1], [0, 8]], [0.0, 0.8])
    document = json.loads(table.to_json())
    assert document["divergence_score"] == "inf"
    assert document["log_terms"]["reliability"] == "inf"
    assert document["likelihood_ratios"][1] == "inf"
    assert document["logit"]["coefficients"][1] == "inf"
    assert math.isfinite(document["half_brier"])
    assert "infinite because of it, and stays so" in " ".join(str(table).split())
    assert PredictionTable.from_json(table.to_json()).to_json() == table.to_json()


def test_exact_p_is_fishers_or_by_permutation():
    fisher = PredictionTable(A).exact_p
    assert fisher.value == pytest.approx(0.0013615, abs=5e-8)
    assert fisher.method == "Fisher's exact test, two-sided"
    drawn = PredictionTable([[5, 1], [3, 3], [1, 5]]).exact_p
    assert 0 < drawn.value < 1
    assert "random tables" in drawn.method


def test_page_shows_the_table_before_any_number():
    page = str(PredictionTable(A, rows=("not at risk", "at risk"), columns=("no disease", "disease")))
    lines = page.splitlines()
    assert lines[0] == "153 cases"
    assert lines[2].split() == ["The", "table", "(cases)", "no", "disease", "disease", "all"]
    assert lines[4].split() == ["at", "risk", "2", "12", "14"]
    assert page.index("at risk") < page.index("PSEP")
    assert "accuracy" not in page
    assert max(map(len, lines)) <= 110


def test_markdown_html_and_csv_say_the_same():
    table = PredictionTable(A, rows=("a|b", "<c>"), prevalences=(0.05,))
    assert "a\\|b" in table.to_markdown()
    assert "&lt;c&gt;" in table._repr_html_()
    assert "<c>" not in table._repr_html_()
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(table.to_csv()))}
    assert float(rows["psep"]["value"]) == table.psep
    assert float(rows["log_terms.per_category.1.resolution"]["value"]) == table.terms("log").per_category[1].resolution
    exact = table.intervals.predictive_values[1].exact
    assert tuple(float(rows["predictive_values.1.1"][end]) for end in ("low", "high")) == exact
    assert rows["predictive_values.1.1"]["method"] == "Clopper-Pearson"


def test_the_whole_risk_axis():
    document = PredictionTable(C2).scored_with(PredictionTable(C1)).document()
    profile = document["decomposed_profile"]
    assert profile["r"][0] == pytest.approx(-2 / 3)
    assert profile["r"][-1] == 2
    at = profile["r"].index(0.0)
    assert profile["reliability"][at] == pytest.approx(0.144401, abs=5e-7)
    parts = np.array(profile["uncertainty"]) - profile["resolution"] + profile["reliability"]
    assert profile["score"] == pytest.approx(parts, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("table_mosaic", {}),
        ("predictive_values", {}),
        ("attributes", {}),
        ("bregman_tangents", {}),
        ("bregman_tangents", {"rule": "half_brier"}),
        ("bregman_tangents", {"rule": -2 / 3}),
        ("bregman_tangents", {"at": "prior"}),
    ],
)
def test_pictures_are_equal_after_json_and_back(name, options):
    table = PredictionTable(C2).scored_with(PredictionTable(C1))
    drawn = json.dumps(table.plot(name, **options).to_dict())
    assert "forecast 2" in drawn or name == "attributes"
    again = PredictionTable.from_json(table.to_json())
    assert json.dumps(again.plot(name, **options).to_dict()) == drawn


def test_the_caption_of_attributes_counts_one_as_one():
    caption = plots.Picture.of("attributes", PredictionTable([[60, 20], [25, 48]], [0.2, 0.8])).caption
    assert caption.endswith("1 was predicted higher than observed.")


def test_pictures_that_a_table_does_not_allow_say_why():
    with pytest.raises(ValueError, match="stated probabilities"):
        PredictionTable(A).plot("attributes")
    with pytest.raises(ValueError, match="two outcomes"):
        PredictionTable([[5, 1, 2], [1, 5, 2]]).plot("bregman_tangents", rule=0.5)
    assert PredictionTable([[5, 1, 2], [1, 5, 2]]).plot("table_mosaic")


def test_a_picture_with_an_upright_tangent_is_drawn():
    assert PredictionTable([[9, 1], [2, 8]], [0.0, 0.8]).plot("bregman_tangents")


@pytest.mark.parametrize("at", ["forecasts", "prior"])
def test_tangents_of_any_number_of_categories_are_labelled_beside_separation(at):
    table = PredictionTable([[60 - 5 * i, 1 + 5 * i] for i in range(12)], [0.05 + 0.08 * i for i in range(12)])
    drawn = table.plot("bregman_tangents", at=at).to_dict()
    held = [row for rows in drawn["datasets"].values() for row in rows if "text" in row]
    lines = table.tangents("log")
    tangents = lines.forecasts if at == "forecasts" else [lines.prior]
    (separation,) = (row for row in held if "end" in row)
    assert separation["text"] == f"PSEP {table.psep:.3f}"
    assert separation["end"] - separation["p"] == pytest.approx(table.psep, abs=1e-12)
    for place, end in ((0, "at_0"), (1, "at_1")):
        labels = [row for row in held if row["p"] == place and "at" in row]
        wanted = sorted((t[end] for t in tangents), reverse=True)
        assert [float(row["text"].replace("−", "-")) for row in labels] == pytest.approx(wanted, abs=5e-4)
        assert all(a["at"] - b["at"] > 0.1 for a, b in itertools.pairwise(labels))
    feet = [row for rows in drawn["datasets"].values() for row in rows if "bottom" in row]
    assert feet[1]["p"] - feet[0]["p"] == pytest.approx(table.psep, abs=1e-12)


# -- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: PredictionTable([[83, -1], [2, 12]]), "-1 in row 'forecast 1', column 'event'.*cannot be negative"),
        (lambda: PredictionTable([[83, 5.5], [2, 12]]), "5.5 .*is whole; if these are shares or weights"),
        (lambda: PredictionTable([[83, math.nan], [2, 12]]), "not a number"),
        (lambda: PredictionTable([[0, 0], [2, 12]]), "never forecast.*leave the row out"),
        (lambda: PredictionTable([[83, 0], [2, 0]]), "never happened"),
        (lambda: PredictionTable([[83, 56]]), "at least two forecast categories"),
        (lambda: PredictionTable([[83, 56], [2]]), "rows of different length"),
        (lambda: PredictionTable(A, rows=("a",)), "1 names .a. for 2 rows"),
        (lambda: PredictionTable(A, rows=("a", "a")), "occurs twice"),
        (lambda: PredictionTable(A, [0.4, 1.2]), "not a probability"),
        (lambda: PredictionTable(A, [40, 86]), "if it is a percentage, write 0.4"),
        (lambda: PredictionTable(A, [[0.5, 0.4], [0.2, 0.8]]), "sum to 0.9"),
        (lambda: PredictionTable(A, [0.5]), "1 forecasts for 2 categories"),
        (lambda: PredictionTable(A, level=95), "level"),
        (lambda: PredictionTable(A, prevalences=(5,)), "prevalence: 5 .*write 0.05"),
        (lambda: PredictionTable(A, unit="cases"), "neither"),
        (lambda: PredictionTable(A, cases=10), "cases"),
        (lambda: PredictionTable.from_rates(83, 0.8, 0.4), "sensitivity: 83 .*write 0.83"),
        (lambda: PredictionTable.from_rates(0.8, -0.1, 0.4), "specificity: -0.1"),
        (lambda: PredictionTable.from_rates(0.8, 0.8, math.nan), "prior: nan"),
        (lambda: PredictionTable.from_rates(0.8, 0.8, 0.4, 0), "n: 0"),
        (lambda: PredictionTable.from_rates(0.8, 0.8, 0.0), "never happened"),
        (lambda: PredictionTable.from_probabilities([0.1, 0.9], [10, 10], [1, 11]), "11 events among 10 cases"),
        (lambda: PredictionTable.from_probabilities([0.1, 0.1], [10, 10], [1, 1]), "is in two rows"),
        (lambda: PredictionTable.from_probabilities([0.1, 0.9], [10, 0], [1, 0]), "never forecast"),
        (lambda: PredictionTable.from_rows([0, 1], ["a"]), "different lengths: category 1, outcome 2"),
        (lambda: PredictionTable.from_rows([0, 1]), "either categories or y_proba"),
        (lambda: PredictionTable.from_rows([0, 1, None], ["a", "b", "b"]), r"outcome: nothing at index 2 \(None\)"),
        (lambda: PredictionTable.from_rows([0, 1, math.nan], ["a", "b", "b"]), "outcome: nothing at index 2"),
        (lambda: PredictionTable.from_rows([0, 1], ["a", ""]), "category: nothing at index 1"),
        (lambda: PredictionTable.from_rows([0, math.nan], y_proba=[0.1, 0.2]), "y_true: nothing at index 1"),
        (lambda: PredictionTable.from_tidy([], []), "category, outcome: no cases"),
        (lambda: PredictionTable(A, ["low", "high"]), "forecasts: .*not an array of numbers"),
        (lambda: PredictionTable.from_rates(0.8, 0.8, "rare"), "prior: 'rare'"),
        (lambda: PredictionTable.from_rows([0, 1], y_proba=[[0.1, 0.2, 0.7]] * 2), "3 columns for 2 outcomes"),
        (lambda: PredictionTable(A).versus_rest("x"), "not an outcome here"),
        (lambda: PredictionTable(A).terms("gini"), "gini"),
        (lambda: PredictionTable(A).at_prevalence(2.0), "prevalence"),
    ],
)
def test_bad_input_is_refused_in_plain_words(make, said):
    with pytest.raises(ValueError, match=said):
        make()


def test_a_table_turned_round_is_noticed():
    assert "is one reversed?" in str(PredictionTable(A[::-1]))


def test_costs_say_after_which_forecasts_to_act_and_what_that_saves_by_hand() -> None:
    table = PredictionTable([[88, 9], [21, 34]], errors=(Costs(60, 190),), prevalences=(0.5, 0.05))
    here, often, rare = table.costs
    assert here.threshold == 0.24
    assert (here.acts, often.acts, rare.acts) == ((False, True), (False, True), (False, False))
    assert here.cost == pytest.approx((60 * 21 + 190 * 9) / 152)
    assert (here.always, here.never) == pytest.approx((60 * 109 / 152, 190 * 43 / 152))
    assert here.saved == pytest.approx(here.always - here.cost)
    assert often.cost == pytest.approx(0.5 * 60 * 21 / 109 + 0.5 * 190 * 9 / 43)
    assert rare.cost == rare.never == 190 * 0.05
    assert rare.saved == 0.0
    assert PredictionTable.from_json(table.to_json()).costs == table.costs
    spared = np.repeat([60, -190, 0, 0], [88, 9, 21, 34])  # beside acting in all, in each of the 152 cases
    reach = 1.959964 * spared.std() / np.sqrt(152)
    assert (here.saved.low, here.saved.high) == pytest.approx((here.saved - reach, here.saved + reach))


def test_intervals_of_what_a_table_saves_hold_the_truth() -> None:
    rng, truth, held = np.random.default_rng(34), np.array([0.55, 0.08, 0.12, 0.25]), []
    spared = np.array([60, -190, 0, 0])
    for _ in range(400):
        table = PredictionTable(rng.multinomial(300, truth).reshape(2, 2), errors=(Costs(60, 190),))
        (paid,) = table.costs
        held.append(paid.saved.low <= truth @ spared <= paid.saved.high)
    assert 0.92 <= np.mean(held) <= 0.98


def test_costs_need_two_outcomes() -> None:
    with pytest.raises(ValueError, match="costs"):
        PredictionTable([[5, 6, 7], [8, 9, 10]], errors=(Costs(1, 2),))
