"""Ensembles, hubs, counts and categories as forecast verifiers keep them."""

from __future__ import annotations

import numpy as np

from .shapes import FAIR, OTHER, SECOND, THREE, TWO, K, N, P, Q, Shape, Y, csv, lines, loss, named, parquet

_RNG = np.random.default_rng(5)
MEMBERS = _RNG.gamma(1.0, 1.0 + 5 * P[:, None], (N, 11)).round(1)
OBSERVED = _RNG.gamma(1.0, 1.0 + 5 * P).round(1)
TERCILES = ["below", "normal", "above"]
TABLE = np.round(np.linspace(0.1, 0.9, 9), 1)
CASES = np.array([31, 22, 18, 15, 14, 12, 11, 9, 8])
EVENTS = np.array([2, 4, 6, 6, 8, 7, 8, 7, 7])
COUNTED = float(-(EVENTS * np.log(TABLE) + (CASES - EVENTS) * np.log(1 - TABLE)).sum() / CASES.sum())


def shares(limit: float) -> float:
    """Return the log loss of (m + 1/3)/(M + 2/3) for m of M members above a limit."""
    return loss(((limit < MEMBERS).sum(axis=1) + 1 / 3) / (11 + 2 / 3), limit < OBSERVED)


_MEAN, _SEEN = np.array([0.1, 0.3, 0.5, 0.7, 0.9]), np.array([0.12, 0.28, 0.5, 0.66, 0.93])
RELIABILITY = float(np.average(-_SEEN * np.log(_MEAN) - (1 - _SEEN) * np.log(1 - _MEAN), weights=[50, 40, 30, 20, 10]))

SHAPES = [
    Shape(
        "terciles of a season",
        {
            "f.csv": csv(
                year=range(1901, 1901 + N), category=named(TERCILES), p_below=Q[:, 0], p_normal=Q[:, 1], p_above=Q[:, 2]
            )
        },
        "wide",
        "category",
        "p_below p_normal p_above",
        (THREE,),
    ),
    Shape(
        "terciles in per cent",
        {"f.csv": csv(obs=named(["B", "N", "A"]), B=100 * Q[:, 0], N=100 * Q[:, 1], A=100 * Q[:, 2])},
        "wide",
        "obs",
        "B N A",
        (THREE,),
        says=(
            "f.csv: row 1, `B` = 58.4538: above 1 (all 360 values lie between 0.0418214 and "
            "93.8935).\n"
            "  if these are percentages:  --scale percent"
        ),
        remedy="--scale percent",
    ),
    Shape(
        "two leads with classes",
        {
            "f.csv": csv(
                obs=K,
                p24_cat0=Q[:, 0],
                p24_cat1=Q[:, 1],
                p24_cat2=Q[:, 2],
                p48_cat0=Q[:, 0],
                p48_cat1=Q[:, 1],
                p48_cat2=Q[:, 2],
            )
        },
        "wide",
        "obs",
        "p24_cat0 p24_cat1 p24_cat2 p48_cat0 p48_cat1 p48_cat2",
        (THREE, THREE),
        says=(
            "f.csv: two sets of class columns: p24_cat0…p24_cat2 and p48_cat0…p48_cat2.\n"
            "  as two models:  veracity assess f.csv --proba '{model}_cat*'      one of them:  "
            "--proba 'p24_cat*'"
        ),
        remedy="veracity assess f.csv --proba '{model}_cat*'",
    ),
    Shape(
        "members of an ensemble",
        {"ens.csv": csv(obs=OBSERVED, **{f"member_{i}": MEMBERS[:, i] for i in range(11)})},
        "ensemble",
        "obs",
        " ".join(f"member_{i}" for i in range(11)),
        (shares(5),),
        says=(
            "ens.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  numbers `obs`, `member_0`…`member_10` (11 columns)\n"
            "  if 11 members forecast `obs`, above which limit is the event?  veracity assess ens.csv "
            "--label obs --members 'member_*' --exceeds LIMIT"
        ),
        remedy="veracity assess ens.csv --label obs --members 'member_*' --exceeds 5",
        filled=("LIMIT", "5"),
    ),
    Shape(
        "members of an ensemble and a limit",
        {"ens.parquet": parquet(obs=OBSERVED, **{f"ens.{i}": MEMBERS[:, i] for i in range(11)})},
        "ensemble",
        "obs",
        " ".join(f"ens.{i}" for i in range(11)),
        (shares(4),),
        command="assess ens.parquet --label obs --members 'ens.*' --exceeds 4",
    ),
    Shape(
        "members of an ensemble with the control run beside",
        {
            "ens.csv": csv(
                year=range(N), control=MEMBERS[:, 0], obs=OBSERVED, **{f"m{i:02d}": MEMBERS[:, i] for i in range(11)}
            )
        },
        "ensemble",
        "obs",
        " ".join(f"m{i:02d}" for i in range(11)),
        (shares(5),),
        says=(
            "ens.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  numbers `year`, `control`, `obs`, `m00`…`m10` (11 columns)\n"
            "  if 11 members forecast `obs`, above which limit is the event?  veracity assess ens.csv "
            "--label obs --members 'm*' --exceeds LIMIT"
        ),
        remedy="veracity assess ens.csv --label obs --members 'm*' --exceeds 5",
        filled=("LIMIT", "5"),
    ),
    Shape(
        "counts by forecast probability",
        {"t.csv": csv(p=TABLE, n=CASES, events=EVENTS)},
        "counts",
        "events",
        "p",
        (COUNTED,),
    ),
    Shape(
        "counts by forecast percentage",
        {"t.csv": csv(forecast=(100 * TABLE).round().astype(int), cases=CASES, events=EVENTS)},
        "counts",
        "events",
        "forecast",
        (COUNTED,),
        says=(
            "t.csv: row 1, `forecast` = 10: above 1 (all 18 values lie between 10 and 90).\n"
            "  if these are percentages:  --scale percent"
        ),
        remedy="--scale percent",
    ),
    Shape(
        "observed frequencies without numbers of cases",
        {"t.csv": csv(p=TABLE, obs_freq=(EVENTS / CASES))},
        says=(
            "t.csv: `obs_freq` is a frequency: the share of cases of each row is needed.\n  give it with --weight COL"
        ),
    ),
    Shape(
        "a table of forecast and outcome categories",
        {"t.csv": "forecast,observed,n\nyes,yes,28\nyes,no,72\nno,yes,23\nno,no,2680\n"},
        "table",
        says=(
            "t.csv: forecast categories by outcomes with their number `n`: a table, not single "
            "forecasts.\n"
            "  veracity table t.csv"
        ),
        remedy="veracity table t.csv",
    ),
    Shape(
        "species presence, models in columns, tab",
        {"sp.txt": lines("SPECIES,OBSERVED,GAM,SGB", ["a", "b"] * 60, Y, P, OTHER, sep="\t")},
        "binary",
        "OBSERVED",
        "GAM SGB",
        (TWO, SECOND),
    ),
    Shape(
        "species presence with runs of blanks",
        {
            "sp.txt": "\n".join(
                [
                    "  plotID   Observed   Predicted1   Predicted2",
                    *(
                        f"  {i:>6}   {y:>8}   {p:>10}   {q:>10}"
                        for i, (y, p, q) in enumerate(zip(Y, P, OTHER, strict=True))
                    ),
                ]
            )
        },
        "binary",
        "Observed",
        "Predicted1 Predicted2",
        (TWO, SECOND),
    ),
    Shape(
        "hubverse: one row per case and class",
        {
            "hub.csv": csv(
                location=np.repeat(range(N), 3),
                output_type=["pmf"] * 3 * N,
                output_type_id=TERCILES * N,
                value=Q.ravel(),
                observed=np.repeat(named(TERCILES), 3),
            )
        },
        "long",
        "observed",
        "value",
        (THREE,),
    ),
    Shape(
        "hubverse without outcomes",
        {
            "hub.csv": csv(
                location=np.repeat(range(N), 3),
                output_type=["pmf"] * 3 * N,
                output_type_id=TERCILES * N,
                value=Q.ravel(),
            )
        },
        says=(
            "hub.csv: one row per case and class in `output_type_id`, but no column of what "
            "happened.\n"
            "  add one called observed, or name it:  --label COL"
        ),
    ),
    Shape(
        "hubverse of several models",
        {
            "hub.csv": csv(
                model_id=["a"] * 3 * N + ["b"] * 3 * N,
                location=[*np.repeat(range(N), 3)] * 2,
                output_type_id=TERCILES * 2 * N,
                value=[*Q.ravel()] * 2,
                observed=[*np.repeat(named(TERCILES), 3)] * 2,
            )
        },
        "long",
        "observed",
        "value",
        (THREE, THREE),
    ),
    Shape(
        "hubverse of quantiles",
        {
            "hub.csv": csv(
                location=range(N),
                output_type=["quantile"] * N,
                output_type_id=[0.1, 0.5, 0.9] * 40,
                value=P,
                observed=[33] * N,
            )
        },
        says=(
            "hub.csv: `output_type_id` does not hold the classes of `observed` (fractions).\n"
            "  quantiles and means are no probabilities of classes: give the rows of output_type "
            "pmf"
        ),
    ),
    Shape(
        "scoringutils: predicted, predicted_label and observed",
        {
            "n.csv": csv(
                case=np.repeat(range(N), 3),
                observed=np.repeat(named(TERCILES), 3),
                predicted_label=TERCILES * N,
                predicted=Q.ravel(),
            )
        },
        "long",
        "observed",
        "predicted",
        (THREE,),
    ),
    Shape(
        "wind and rain, two events of one table",
        {"f.csv": csv(rain=Y, rain_prob=P, wind=FAIR, wind_prob=OTHER)},
        "binary",
        "rain",
        "rain_prob",
        (TWO,),
        says=(
            "f.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  probabilities `rain_prob`, `wind_prob`; two values `rain`, `wind`\n"
            "  one of them:  veracity assess f.csv --label rain --positive-proba rain_prob   "
            "or   veracity assess f.csv --label wind --positive-proba wind_prob"
        ),
        remedy="veracity assess f.csv --label rain --positive-proba rain_prob",
    ),
    Shape(
        "a reliability table with rounded frequencies",
        {
            "t.csv": csv(
                bin_mean=[0.1, 0.3, 0.5, 0.7, 0.9],
                observed_freq=[0.12, 0.28, 0.5, 0.66, 0.93],
                count=[50, 40, 30, 20, 10],
            )
        },
        "counts",
        "observed_freq",
        "bin_mean",
        (RELIABILITY,),
        says=(
            "t.csv: `observed_freq` is a frequency: the number of cases of each row is needed.\n"
            "  as shares:  --weight count"
        ),
        remedy="--weight count",
    ),
]
