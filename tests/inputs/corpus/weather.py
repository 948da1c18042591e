"""Forecasts as weather services, ecologists and forecast verifiers keep them."""

from __future__ import annotations

import numpy as np

from .shapes import OTHER, SECOND, TWO, K, N, P, Shape, Y, altered, csv, kept, loss, percent, words

DATES = [f"2024-{1 + i // 28:02d}-{1 + i % 28:02d}" for i in range(N)]
RAIN = np.where(Y == 1, 0.3 + 10 * OTHER, 0.0).round(1)

SHAPES = [
    Shape(
        "probability of precipitation with the date",
        {"pop.csv": csv(date=DATES, pop=P, rain=Y)},
        "binary",
        "rain",
        "pop",
        (TWO,),
    ),
    Shape(
        "probability of precipitation with the amount",
        {"pop.csv": csv(date=DATES, pop=P, rain_mm=RAIN)},
        "binary",
        "rain_mm",
        "pop",
        (TWO,),
        says=(
            "pop.csv: one probability column `pop`, but `rain_mm` has 39 values. An outcome for "
            "one probability has two values.\n"
            "  if it is a measurement, above which limit is the event?  --label rain_mm --cut LIMIT"
        ),
        remedy="--label rain_mm --cut 0",
        filled=("LIMIT", "0"),
    ),
    Shape(
        "the amount, cut at 0.2",
        {"pop.csv": csv(date=DATES, pop=P, rain_mm=RAIN)},
        "binary",
        "rain_mm",
        "pop",
        (TWO,),
        command="assess pop.csv --label rain_mm --cut 0.2",
    ),
    Shape(
        "probabilities in tenths of per cent signs",
        {"pop.csv": csv(date=DATES, pop=percent(P), rain=words("no", "yes"))},
        "binary",
        "rain",
        "pop",
        (TWO,),
    ),
    Shape(
        "percentages without a sign",
        {"pop.csv": csv(date=DATES, forecast=np.round(100 * P, 1), observed=Y)},
        "binary",
        "observed",
        "forecast",
        (TWO,),
        says=(
            "pop.csv: row 1, `forecast` = 49.2: above 1 (all 120 values lie between 1.2 and "
            "98.7).\n"
            "  if these are percentages:  --scale percent"
        ),
        remedy="--scale percent",
    ),
    Shape(
        "solar flares with a forecaster's own column of yes and no",
        {
            "flares.csv": csv(
                date=DATES, human_yes_no=words("N", "Y", OTHER > 0.6), M_class_prob=P, flare_observed=words("N", "Y")
            )
        },
        "binary",
        "flare_observed",
        "M_class_prob",
        (TWO,),
        says=(
            "flares.csv: two columns could be the outcome: `human_yes_no`, `flare_observed` "
            "(they differ in 31 of 120 rows).\n"
            "  choose:  --label flare_observed   or   --label human_yes_no"
        ),
        remedy="--label flare_observed",
    ),
    Shape(
        "a code for missing forecasts",
        {"f.csv": csv(obs=Y, fcst=altered(P, -999))},
        "binary",
        "obs",
        "fcst",
        (loss(P[kept()], Y[kept()]),),
        says=(
            "f.csv: `fcst` = -999 in 12 of 120 rows: no probability, and the only such value: a "
            "code for missing?\n"
            "  without these rows:  --where 'fcst!=-999'"
        ),
        remedy="--where 'fcst!=-999'",
    ),
    Shape(
        "a code for missing observations",
        {"f.csv": csv(fcst=P, obs=altered(Y, -9999))},
        "binary",
        "obs",
        "fcst",
        (loss(P[kept()], Y[kept()]),),
        says=(
            "f.csv: one probability column `fcst`, but `obs` has three values (-9999, 0, 1). An "
            "outcome for one probability has two values.\n"
            "  if -9999 is no outcome, without these rows:  --label obs --where 'obs!=-9999'"
        ),
        remedy="--label obs --where 'obs!=-9999'",
    ),
    Shape(
        "the code 9 for missing observations",
        {"f.csv": csv(fcst=P, obs=altered(Y, 9))},
        "binary",
        "obs",
        "fcst",
        (loss(P[kept()], Y[kept()]),),
        says=(
            "f.csv: one probability column `fcst`, but `obs` has three values (0, 1, 9). An "
            "outcome for one probability has two values.\n"
            "  if 9 is no outcome, without these rows:  --label obs --where 'obs!=9'"
        ),
        remedy="--label obs --where 'obs!=9'",
    ),
    Shape(
        "a small negative code",
        {"f.csv": csv(obs=Y, fcst=altered(P, -0.01))},
        "binary",
        "obs",
        "fcst",
        (loss(P[kept()], Y[kept()]),),
        says=(
            "f.csv: `fcst` = -0.01 in 12 of 120 rows: no probability, and the only such value: a "
            "code for missing?\n"
            "  without these rows:  --where 'fcst!=-0.01'"
        ),
        remedy="--where 'fcst!=-0.01'",
    ),
    Shape(
        "blank forecasts",
        {"f.csv": csv(obs=Y, fcst=altered(P, None))},
        "binary",
        "obs",
        "fcst",
        (loss(P[kept()], Y[kept()]),),
        says=("f.csv: `fcst` 12 of 120 values are missing (first: row 4).\n  leave these rows out:  --missing drop"),
        remedy="--missing drop",
    ),
    Shape(
        "blank observations",
        {"f.csv": csv(obs=altered(Y, None), fcst=P)},
        "binary",
        "obs",
        "fcst",
        (loss(P[kept()], Y[kept()]),),
        says=(
            "f.csv: 12 of 120 outcomes in `obs` are missing (first: row 4).\n  leave these rows out:  --missing drop"
        ),
        remedy="--missing drop",
    ),
    Shape(
        "several forecasters in columns with the date",
        {"f.csv": csv(date=DATES, Logistic=P, EMOS=OTHER, obs=Y)},
        "binary",
        "obs",
        "Logistic EMOS",
        (TWO, SECOND),
        command="compare f.csv",
    ),
    Shape(
        "classes by limits, a measured outcome",
        {"f.csv": csv(obs=RAIN, p_0=1 - P, p_1=P)},
        "wide",
        "obs",
        "p_0 p_1",
        (TWO,),
        says=(
            "f.csv: outcome `obs` is a number (0 to 10.2, 39 values), the classes are 0, 1.\n"
            "  which limits are between the classes?  --cut LIMIT        (≤ LIMIT → 0, above → 1)"
        ),
        remedy="--cut 0",
        filled=("LIMIT", "0"),
    ),
    Shape(
        "a forecast repeated in percent",
        {"f.csv": csv(obs=Y, p=P, frcst=np.round(100 * P, 1))},
        "binary",
        "obs",
        "p",
        (TWO,),
    ),
    Shape(
        "three groups with one probability",
        {"f.csv": csv(**{"group.id": K, "frcst": P})},
        "binary",
        "group.id",
        "frcst",
        (loss(P, K == 1),),
        says=(
            "f.csv: one probability column `frcst`, but `group.id` has three values (0, 1, 2). "
            "An outcome for one probability has two values.\n"
            "  if one value is the event:  --label group.id --versus-rest 1"
        ),
        remedy="--label group.id --versus-rest 1",
    ),
    Shape(
        "a weather station's numbers beside",
        {"f.csv": csv(station=["A", "B", "C"] * 40, humidity=OTHER, temp=range(N), pop=P, rain=Y)},
        "binary",
        "rain",
        "pop",
        (TWO,),
        says=(
            "f.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  probabilities `humidity`, `pop`; two values `rain`; numbers `temp`; "
            "text `station`\n"
            "  as 2 models:  veracity compare f.csv --label rain      one of them:  --label rain "
            "--positive-proba pop"
        ),
        remedy="--label rain --positive-proba pop",
    ),
    Shape(
        "rain and no rain, two columns that sum to one",
        {"f.csv": csv(event=words("dry", "wet"), dry=1 - P, wet=P)},
        "wide",
        "event",
        "dry wet",
        (TWO,),
    ),
]
