"""Published prediction–realization tables: terms, scores and limits as printed."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest

from tests.results.test_table import A
from veracity import PredictionTable


def tampere(shared: Path, lead: str, heavy: bool) -> PredictionTable:
    with (shared / "pop_tampere" / "pop_daily.csv").open(encoding="utf-8") as file:
        days = list(csv.DictReader(file))
    limit = 4.4 if heavy else 0.2
    columns = ["cat2"] if heavy else ["cat1", "cat2"]
    whole = [d for d in days if d["obs"] not in ("", "NA") and all(d[f"{lead}_{c}"] not in ("", "NA") for c in columns)]
    # probabilities are tenths; their sums are not exactly
    p = [round(sum(float(day[f"{lead}_{column}"]) for column in columns), 10) for day in whole]
    return PredictionTable.from_rows([int(float(day["obs"]) > limit) for day in whole], y_proba=p)


@pytest.mark.parametrize(
    ("lead", "heavy", "published", "reference"),
    [
        ("p24", False, (0.144, 0.025, 0.060, 0.179, 0.194), "rain_p24"),
        ("p24", True, (0.037, 0.003, 0.020, 0.054, 0.312), "heavy_p24"),
        ("p48", False, (0.178, 0.027, 0.036, 0.187, 0.047), "rain_p48"),
        ("p48", True, (0.044, 0.003, 0.011, 0.052, 0.146), "heavy_p48"),
    ],
)
def test_tampere_tables_have_the_published_terms(shared, lead, heavy, published, reference):
    table = tampere(shared, lead, heavy)
    terms = table.terms("half_brier")
    found = (terms.score, terms.reliability, terms.resolution, terms.uncertainty, terms.skill)
    assert found == pytest.approx(published, abs=5e-4)
    listed = json.loads((shared / "reference.json").read_text())[f"pop_tampere/{reference}"]
    assert table.n == listed["n"]
    assert terms.score == pytest.approx(listed["brier_half"], abs=1e-12)
    murphy = listed["murphy_unique"]
    assert (terms.reliability, terms.resolution, terms.uncertainty) == pytest.approx(
        (murphy["REL"], murphy["RES"], murphy["UNC"]), abs=1e-12
    )
    assert table.divergence_score == math.inf  # days that had been ruled out
    assert any(finding["code"] == "ruled_out" for finding in table.document()["findings"])


@pytest.mark.parametrize("lead", ["p24", "p48"])
def test_tampere_in_three_classes_has_the_published_brier_score(shared, lead):
    with (shared / "pop_tampere" / "pop_daily.csv").open(encoding="utf-8") as file:
        days = [day for day in csv.DictReader(file) if "" not in (day["obs"], day[f"{lead}_cat0"])]
    outcomes = [int(float(day["obs"]) > 0.2) + int(float(day["obs"]) > 4.4) for day in days]
    p = [[float(day[f"{lead}_cat{j}"]) for j in range(3)] for day in days]
    table = PredictionTable.from_rows(outcomes, y_proba=p)
    listed = json.loads((shared / "reference.json").read_text())[f"pop_tampere/3class_{lead}"]
    assert table.n == listed["n"]
    assert table.brier == pytest.approx(listed["brier_multi"], abs=1e-12)
    terms = table.terms("brier")
    assert terms.score == pytest.approx(terms.uncertainty - terms.resolution + terms.reliability, abs=1e-12)


def test_hughes_and_topp_have_the_published_terms(shared):
    table = PredictionTable.read(shared / "pop_tampere" / "hughes_topp_table1.csv")
    listed = json.loads((shared / "reference.json").read_text())["pop_tampere/hughes_topp_table1"]
    log, brier = table.terms("log"), table.terms("half_brier")
    assert log.score == pytest.approx(listed["log_loss"], abs=1e-12)
    assert brier.score == pytest.approx(listed["brier_half"], abs=1e-12)
    for terms, name in ((log, "log_decomp_nats"), (brier, "murphy_unique")):
        assert (terms.reliability, terms.resolution, terms.uncertainty) == pytest.approx(
            (listed[name]["REL"], listed[name]["RES"], listed[name]["UNC"]), abs=1e-12
        )
    appendix = {  # rows k = 1 … 8 of their appendix, weighted by the cases of the row
        ("half_brier", "reliability"): (0.0367, 0.3682, 0.7837, 1.2998, 0.6821, 0.4091, 2.3564, 1.7894),
        ("half_brier", "resolution"): (2.0745, 2.5642, 1.3162, 0.5157, 0.0106, 0.3691, 0.0328, 1.9014),
        ("log", "reliability"): (0.4862, 2.9939, 2.9746, 3.6576, 1.5491, 0.8286, 4.8346, 3.8702),
        ("log", "resolution"): (8.6362, 10.8561, 4.5399, 1.6589, 0.0302, 0.9292, 0.0883, 4.5244),
    }
    for (name, part), rows in appendix.items():
        weighted = [getattr(c, part) * c.cases for c in table.terms(name).per_category[:8]]
        assert weighted == pytest.approx(rows, abs=5e-5)


def test_wilks_table_has_the_published_terms(shared):
    table = PredictionTable.read(shared / "wilks_pop_table" / "wilks_table.csv", weight="p_y_corrected")
    listed = json.loads((shared / "reference.json").read_text())["wilks_pop_table"]
    terms = table.terms("half_brier")
    assert len(table.rows) == 12
    assert table.prior[1] == pytest.approx(listed["obar"], abs=1e-12)
    found = (terms.score, terms.reliability, terms.resolution, terms.uncertainty, terms.skill)
    assert found == pytest.approx([listed[name] for name in ("BS", "REL", "RES", "UNC", "BSS")], abs=1e-12)
    assert table.n is None
    assert table.document()["g2"] is None
    assert "number of cases is not known" in table.document()["reasons"]["g2"]
    known = PredictionTable.read(shared / "wilks_pop_table" / "wilks_table.csv", weight="p_y_corrected", n=12402)
    assert known.g2 == pytest.approx(2 * 12402 * table.mutual_information, rel=1e-12)


def test_finley_table_is_read_in_the_right_order(shared):
    table = PredictionTable.read(shared / "verification_misc" / "finley_1884.csv")
    assert table.rows == ("no", "yes")
    assert table.counts.tolist() == [[2680, 23], [72, 28]]
    assert table.sensitivity == pytest.approx(28 / 51)


def test_intervals_equal_published_limits():
    limits = PredictionTable(A).intervals
    assert limits.sensitivity.exact == pytest.approx([0.0947, 0.2879], abs=5e-4)
    assert limits.predictive_values[1].wilson == pytest.approx([0.6006, 0.9599], abs=5e-5)
    low, high = limits.psep.newcombe
    assert low < PredictionTable(A).psep < high
    assert PredictionTable.from_rates(0.8, 0.8, 0.5).intervals is None
