"""Every public set is read as a person would read it, and scores what was computed independently."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veracity.inputs import Forecasts
from veracity.read import ReadOptions, read, recognise

pytestmark = pytest.mark.shared

POP = {"proba": "{model}_cat*", "cut": "0.2,4.4", "missing": "drop"}
GAMES = {"soft": "omit", "positive": "prob1"}
COVID = ("EuroCOVIDhub-baseline", "EuroCOVIDhub-ensemble", "UMass-MechBayes", "epiforecasts-EpiNow2")

# file, options, {model: name in reference.json}
SETS: list[tuple[str, dict[str, str], dict[str, str]]] = [
    ("pop_tampere/pop_daily.csv", POP, {m: f"pop_tampere/3class_{m}" for m in ("p24", "p48")}),
    ("pop_tampere/pop_daily.csv", POP | {"versus_rest": "1,2"}, {m: f"pop_tampere/rain_{m}" for m in ("p24", "p48")}),
    ("pop_tampere/pop_daily.csv", POP | {"versus_rest": "2"}, {m: f"pop_tampere/heavy_{m}" for m in ("p24", "p48")}),
    ("pop_tampere/hughes_topp_table1.csv", {}, {"hughes_topp_table1": "pop_tampere/hughes_topp_table1"}),
    ("verification_misc/prob_frcs_dat.csv", {}, {"prob_frcs_dat": "verification_misc/prob_frcs_dat"}),
    (
        "niamey_precip_2016/niamey.csv",
        {},
        {m: f"niamey_precip_2016/{m}" for m in ("Logistic", "EMOS", "ENS", "EPC")},
    ),
    ("eurotemp_ensemble/eurotemp.csv", {"positive_proba": "p_bin"}, {"eurotemp": "eurotemp_ensemble/bin"}),
    ("eurotemp_ensemble/eurotemp.csv", {"label": "obs_cat"}, {"eurotemp": "eurotemp_ensemble/cat"}),
    ("yardstick/hpc_cv.csv", {}, {"hpc_cv": "yardstick/hpc_cv"}),
    (
        "yardstick/two_class_example.csv",
        {"positive": "Class1"},
        {"two_class_example": "yardstick/two_class_example(Class1)"},
    ),
    ("tidymodels_probably/segment_logistic.csv", {}, {"segment_logistic": "tidymodels_probably/segment_logistic"}),
    # the reference reads one of the two columns: 1 - p is exactly 0 where the other column still holds 1e-40
    (
        "tidymodels_probably/segment_naive_bayes.csv",
        {"positive_proba": ".pred_good", "positive": "good"},
        {"segment_naive_bayes": "tidymodels_probably/segment_naive_bayes"},
    ),
    ("tidymodels_probably/species_probs.csv", {}, {"species_probs": "tidymodels_probably/species_probs"}),
    (
        "recession_spf_probit/recession.csv",
        {"label": "recession"},
        {m: f"recession_spf_probit/{m}" for m in ("spf", "probit")},
    ),
    ("covid_hub_scoringutils/example_binary.csv", {}, {m: f"covid_hub_scoringutils/binary/{m}" for m in COVID}),
    (
        "covid_hub_scoringutils/example_binary.csv",
        {"model": "none"},
        {"example_binary": "covid_hub_scoringutils/binary/all"},
    ),
    (
        "covid_hub_scoringutils/example_nominal.csv",
        {"model": "none", "order": "low,medium,high"},  # the first of equal maxima is the pick
        {"example_nominal": "covid_hub_scoringutils/nominal/all"},
    ),
    (
        "covid_hub_scoringutils/example_ordinal.csv",
        {"model": "none", "order": "low,medium,high"},
        {"example_ordinal": "covid_hub_scoringutils/ordinal/all"},
    ),
    *[
        (f"cifar_netcal/{m}.parquet", {}, {m: f"cifar_netcal/{m}"})
        for m in (
            *("densenet-bc-100-cifar-100", "lenet-5-cifar-10", "lenet-5-cifar-100"),
            *("wideresnet-16-4-cifar-10", "wideresnet-16-4-cifar-100"),
        )
    ],
    ("cifar10_vgg_verified_calibration/vgg16.parquet", {}, {"vgg16": "cifar10_vgg_verified_calibration"}),
    *[
        (f"fivethirtyeight_checking/{m}_games.csv", GAMES, {f"{m}_games": f"fivethirtyeight_checking/{m}_games"})
        for m in ("mlb", "nba", "nfl", "nhl", "wnba")
    ],
    *[
        (
            f"fivethirtyeight_checking/world_cup_matches_{m}.csv",
            {},
            {f"world_cup_matches_{m}": f"fivethirtyeight_checking/world_cup_matches_{m} (win1,tie,win2)"},
        )
        for m in ("men", "women")
    ],
    (
        "presence_absence/spdata.txt",
        {},
        {m: f"presence_absence/spdata/{m} (13 species pooled)" for m in ("GAM", "See5", "SGB")},
    ),
]


def scores(f: Forecasts) -> dict[str, float]:
    """The numbers of reference.json, by plain NumPy."""
    share = f.mass / f.mass.sum()
    true, p, y = f.realised, f.matrix, f.outcomes
    assert y is not None
    with np.errstate(divide="ignore"):
        log_loss = -float(share @ np.log(true))
        m23 = float(share @ true ** (-2 / 3)) ** -1.5
    pick = (p[:, 1] > 0.5).astype(int) if f.k == 2 else p.argmax(axis=1)
    found = {
        "n": float(f.mass.sum()),
        "log_loss": log_loss,
        "geom_mean": float(np.exp(-log_loss)),
        "arith_mean": float(share @ true),
        "m23_mean": m23,
        "min_true_p": float(true.min()),
        "n_zero_true_p": float(((true == 0) * f.mass).sum()),
        "K": float(f.k),
        "brier_multi": float(share @ ((p - np.eye(f.k)[y]) ** 2).sum(axis=1)),
        "accuracy": float(share @ (pick == y)),
    }
    return found | ({"base_rate": float(f.prior[1]), "brier_half": found["brier_multi"] / 2} if f.k == 2 else {})


@pytest.fixture(scope="module")
def reference(shared: Path) -> dict[str, Any]:
    held: dict[str, Any] = json.loads((shared / "reference.json").read_text())
    return held


@pytest.mark.parametrize(("file", "options", "models"), SETS, ids=[f"{f} {' '.join(o.values())}" for f, o, _ in SETS])
def test_scores_of_public_sets(
    shared: Path, reference: dict[str, Any], file: str, options: dict[str, Any], models: dict[str, str]
) -> None:
    found = read(shared / file, ReadOptions(**options))
    assert set(found) == set(models)
    for model, key in models.items():
        ours = scores(found[model])
        for name, value in ours.items():
            if name in reference[key]:
                assert value == pytest.approx(reference[key][name], rel=1e-9, abs=1e-9), (model, name)


def test_every_reference_set_is_covered(reference: dict[str, Any]) -> None:
    covered = {key for _, _, models in SETS for key in models.values()}
    assert set(reference) - covered == {"wilks_pop_table"}


def test_shares_of_cases_are_weights(shared: Path, reference: dict[str, Any]) -> None:
    (f,) = read(shared / "wilks_pop_table/wilks_table.csv", ReadOptions(weight="p_y_corrected")).values()
    want = reference["wilks_pop_table"]
    found = scores(f)
    assert found["brier_half"] == pytest.approx(want["BS"], abs=1e-9)
    assert found["base_rate"] == pytest.approx(want["obar"], abs=1e-9)
    assert "no_number_of_cases" in {finding.code for finding in f.findings}


def test_weights_of_a_file(shared: Path, reference: dict[str, Any]) -> None:
    folder = shared / "yardstick"
    (f,) = read(folder / "hpc_cv.csv", ReadOptions(weight=str(folder / "weights-hpc-cv.csv"))).values()
    # scikit-learn clips at machine precision; the weighted loss of the published test does too
    clipped = np.maximum(f.realised, np.finfo(float).eps)
    want = reference["yardstick/hpc_cv"]["weighted_sk_log_loss"]
    assert -float(f.mass @ np.log(clipped) / f.mass.sum()) == pytest.approx(want, abs=1e-9)


REFUSED = {
    "eurotemp_ensemble/eurotemp.csv": (
        "eurotemp.csv: two readings: classes p_cat1 p_cat2 p_cat3 with outcome `obs_cat`, "
        "or `p_bin` with outcome `obs_bin`.\n"
        "  choose:  --label obs_cat   or   --positive-proba p_bin"
    ),
    "pop_tampere/pop_daily.csv": (
        "pop_daily.csv: two sets of class columns: p24_cat0…p24_cat2 and p48_cat0…p48_cat2.\n"
        "  as two models:  veracity assess pop_daily.csv --proba '{model}_cat*' --cut LOW,HIGH --missing drop      "
        "one of them:  --proba 'p24_cat*' --cut LOW,HIGH --missing drop"
    ),
    "wilks_pop_table/wilks_table.csv": (
        "wilks_table.csv: `obs_freq` is a frequency: the share of cases of each row is needed.\n"
        "  choose:  --weight p_y_as_in_R_docs   or   --weight p_y_corrected"
    ),
    "verification_misc/disc_dat.csv": (
        "disc_dat.csv: one probability column `frcst`, but `group.id` has three values (0, 1, 2). "
        "An outcome for one probability has two values.\n"
        "  if one value is the event:  --label group.id --versus-rest 1"
    ),
    "verification_misc/finley_1884.csv": (
        "finley_1884.csv: forecast categories by outcomes with their number `n`: a table, not single forecasts.\n"
        "  veracity table finley_1884.csv"
    ),
    "verification_misc/precip_ensemble.parquet": (
        "precip_ensemble.parquet: not clear which column is the outcome and which the forecast.\n"
        "  columns:  numbers `effective_time`, `lead_time`, `observation`, "
        "`ensemble.forecast.1`…`ensemble.forecast.51` (51 columns)\n"
        "  if 51 members forecast `observation`, above which limit is the event?  "
        "veracity assess precip_ensemble.parquet --label observation --members 'ensemble.forecast.*' --exceeds LIMIT"
    ),
    "recession_spf_probit/recession.csv": (
        "recession.csv: not clear which column is the outcome and which the forecast.\n"
        "  columns:  probabilities `probit`, `spf`; two values `recession`; text `dt`\n"
        "  as 2 models:  veracity compare recession.csv --label recession      "
        "one of them:  --label recession --positive-proba spf"
    ),
    "spf_recession_long/spf_long.parquet": (
        "spf_long.parquet: two columns could be the outcome: `gdp.last.recess`, `gdp.first.recess` "
        "(they differ in 5,560 of 38,239 rows).\n"
        "  choose:  --label gdp.first.recess   or   --label gdp.last.recess"
    ),
    "yardstick/weights-hpc-cv.csv": (
        "nothing to assess in weights-hpc-cv.csv: one column `weight`, no outcome and no probability.   "
        "weights for another file:  veracity assess hpc_cv.csv --weight weights-hpc-cv.csv"
    ),
}


@pytest.mark.parametrize("file", REFUSED)
def test_two_readings_are_refused_with_a_ready_command(shared: Path, file: str) -> None:
    with pytest.raises(ValueError) as error:
        recognise(shared / file)
    assert str(error.value).replace(f"{(shared / file).parent}/", "") == REFUSED[file]


BLOCKS = {
    "yardstick/hpc_cv.csv": (
        'read hpc_cv.csv: 3,467 rows, delimiter ","\n'
        "  outcome  obs            4 classes: F L M VF\n"
        "  forecast VF F M L       columns named like the classes (rule 5); rows sum to one\n"
        "  not used pred (looks like a predicted label), Resample"
    ),
    "verification_misc/prob_frcs_dat.csv": (
        'read prob_frcs_dat.csv: 1,242 rows, delimiter ","\n'
        "  outcome  obs            event = 1 (425 of 1,242)\n"
        "  forecast p\n"
        "  not used frcst (looks like `p` in percent)"
    ),
    "presence_absence/sim3data.txt": (
        "read sim3data.txt: 1,000 rows, delimiter blanks\n"
        "  outcome  Observed       event = 1 (201 of 1,000)\n"
        "  forecast Predicted1 · Predicted2 · Predicted3  one model per column (rule 7)\n"
        "  models   3              Predicted1, Predicted2, Predicted3\n"
        "  not used plotID"
    ),
}


@pytest.mark.parametrize("file", BLOCKS)
def test_reading_is_described_as_documented(shared: Path, file: str) -> None:
    assert recognise(shared / file).describe() == BLOCKS[file]


def test_reading_fits_one_line(shared: Path) -> None:
    assert recognise(shared / "yardstick/two_class_example.csv").one_line() == (
        "read two_class_example.csv: 500 rows · outcome truth (Class1 258, Class2 242) · forecast Class1 Class2 "
        "· not used predicted · event = Class2 (--positive Class1 for the other)"
    )
    assert recognise(shared / "cifar_netcal/wideresnet-16-4-cifar-10.parquet").one_line() == (
        "read wideresnet-16-4-cifar-10.parquet: 10,000 rows · outcome label · 10 classes p0…p9"
    )


@pytest.mark.parametrize(
    ("file", "decided", "events"),
    [
        ("march_madness_men.csv", 0.71, 7),
        ("march_madness_women.csv", 0.78, 7),
        ("college_football_playoff.parquet", 0.66, 6),
    ],
)
def test_forecasts_after_the_event_are_found(shared: Path, file: str, decided: float, events: int) -> None:
    (f,) = read(shared / "fivethirtyeight_checking" / file).values()
    finding = next(x for x in f.findings if x.code == "already_decided")
    assert finding.count / finding.total == pytest.approx(decided, abs=0.005)
    assert len(set(f.groups["event"])) == events
    assert f.case is not None
    assert len(f) == events * len(set(f.case))
