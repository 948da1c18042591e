"""Risks as clinics keep them."""

from __future__ import annotations

import numpy as np

from .shapes import (
    FAIR,
    OTHER,
    SECOND,
    THREE,
    TWO,
    N,
    P,
    Q,
    Shape,
    Y,
    altered,
    csv,
    kept,
    lines,
    loss,
    named,
    percent,
    words,
)

AGES = [40 + i % 50 for i in range(N)]
RISK = [f"{p:.3f}".replace(".", ",") for p in P]

SHAPES = [
    Shape(
        "SPSS codes: 1 dead, 2 alive",
        {"risk.csv": csv(status=2 - Y, risk=P)},
        "binary",
        "status",
        "risk",
        (TWO,),
        says=(
            "risk.csv: outcome `status` holds 1 and 2; which one does `risk` forecast?   "
            "--positive 1   or   --positive 2"
        ),
        remedy="--positive 1",
    ),
    Shape(
        "good and poor outcomes",
        {"risk.csv": csv(outcome=words("good", "poor"), risk=P)},
        "binary",
        "outcome",
        "risk",
        (TWO,),
        says=(
            "risk.csv: outcome `outcome` holds good and poor; which one does `risk` forecast?   "
            "--positive good   or   --positive poor"
        ),
        remedy="--positive poor",
    ),
    Shape(
        "benign and malignant",
        {"risk.csv": csv(diagnosis=words("benign", "malignant"), risk=P)},
        "binary",
        "diagnosis",
        "risk",
        (TWO,),
        says=(
            "risk.csv: outcome `diagnosis` holds benign and malignant; which one does `risk` "
            "forecast?   --positive benign   or   --positive malignant"
        ),
        remedy="--positive malignant",
    ),
    Shape(
        "B and M of the breast cancer data",
        {"risk.csv": csv(id=range(N), diagnosis=words("B", "M"), proba=P)},
        "binary",
        "diagnosis",
        "proba",
        (TWO,),
        says=(
            "risk.csv: outcome `diagnosis` holds B and M; which one does `proba` forecast?   "
            "--positive B   or   --positive M"
        ),
        remedy="--positive M",
    ),
    Shape(
        "sex beside the death",
        {"risk.csv": csv(sex=words("F", "M", FAIR), died=Y, risk=P)},
        "binary",
        "died",
        "risk",
        (TWO,),
        says=(
            "risk.csv: two columns could be the outcome: `sex`, `died` (they differ in 120 of "
            "120 rows).\n"
            "  choose:  --label died"
        ),
        remedy="--label died",
    ),
    Shape(
        "sex beside the death, and risks in per cent",
        {"risk.csv": csv(sex=words("F", "M", FAIR), died=Y, risk_pct=100 * P)},
        "binary",
        "died",
        "risk_pct",
        (TWO,),
        says=(
            "risk.csv: two columns could be the outcome: `sex`, `died` (they differ in 120 of "
            "120 rows).\n"
            "  choose:  --label died --scale percent"
        ),
        remedy="--label died --scale percent",
    ),
    Shape(
        "treatment and smoking beside the event",
        {
            "risk.csv": csv(
                smoker=words("No", "Yes", FAIR), treated=FAIR[::-1], relapse=words("No", "Yes"), predicted_risk=P
            )
        },
        "binary",
        "relapse",
        "predicted_risk",
        (TWO,),
        says=("risk.csv: 3 columns could be the outcome: `smoker`, `treated`, `relapse`.\n  choose:  --label relapse"),
        remedy="--label relapse",
    ),
    Shape(
        "Yes in two spellings",
        {"risk.csv": csv(Outcome=altered(words("No", "Yes"), "YES"), risk=P)},
        "binary",
        "Outcome",
        "risk",
        (loss(P, [1 if i % 10 == 3 else y for i, y in enumerate(Y)]),),
        says=(
            "risk.csv: one probability column `risk`, but `Outcome` has three values (No, YES, "
            "Yes). An outcome for one probability has two values.\n"
            "  if one value is the event:  --label Outcome --versus-rest YES,Yes"
        ),
        remedy="--label Outcome --versus-rest YES,Yes",
    ),
    Shape(
        "unknown outcomes",
        {"risk.csv": csv(Outcome=altered(words("No", "Yes"), "unknown"), risk=P)},
        "binary",
        "Outcome",
        "risk",
        (loss(P[kept()], Y[kept()]),),
        says=(
            "risk.csv: one probability column `risk`, but `Outcome` has three values (No, Yes, "
            "unknown). An outcome for one probability has two values.\n"
            "  if unknown is no outcome, without these rows:  --label Outcome --where 'Outcome!=unknown'"
        ),
        remedy="--label Outcome --where 'Outcome!=unknown'",
    ),
    Shape(
        "lost to follow-up, under their own word",
        {"risk.csv": csv(Outcome=altered(words("No", "Yes"), "lost"), risk=P)},
        "binary",
        "Outcome",
        "risk",
        (loss(P[kept()], Y[kept()]),),
        says=(
            "risk.csv: one probability column `risk`, but `Outcome` has three values (No, Yes, "
            "lost). An outcome for one probability has two values.\n"
            "  if a value is no outcome, which one?  --label Outcome --where 'Outcome!=VALUE'      if one value "
            "is the event:  --label Outcome --versus-rest Yes"
        ),
        remedy="--label Outcome --where 'Outcome!=lost'",
        filled=("VALUE", "lost"),
    ),
    Shape(
        "an empty outcome column",
        {"risk.csv": csv(id=range(N), outcome=[None] * N, risk=P)},
        says=("risk.csv: column `outcome` is empty.\n  fill it, or choose another column"),
    ),
    Shape(
        "risks of several scores",
        {"risk.csv": csv(id=range(N), died=words("no", "yes"), APACHE=P, SAPS=OTHER)},
        "binary",
        "died",
        "APACHE SAPS",
        (TWO, SECOND),
        says=(
            "risk.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  probabilities `APACHE`, `SAPS`; two values `died`; numbers `id`\n"
            "  as 2 models:  veracity compare risk.csv --label died      one of them:  --label "
            "died --positive-proba APACHE"
        ),
        remedy="veracity compare risk.csv --label died",
    ),
    Shape(
        "risks of several scores in per cent",
        {"risk.csv": csv(died=Y, APACHE=percent(P), SAPS=percent(OTHER))},
        "binary",
        "died",
        "APACHE SAPS",
        (TWO, SECOND),
        says=(
            "risk.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  probabilities `APACHE`, `SAPS`; two values `died`\n"
            "  as 2 models:  veracity compare risk.csv --label died      one of them:  --label "
            "died --positive-proba APACHE"
        ),
        remedy="veracity compare risk.csv --label died",
    ),
    Shape(
        "percentages from 0 to 100 in a column called risk",
        {"risk.csv": csv(dead=Y, risk=[round(100 * p, 1) for p in P])},
        "binary",
        "dead",
        "risk",
        (TWO,),
        says=(
            "risk.csv: row 1, `risk` = 49.2: above 1 (all 120 values lie between 1.2 and 98.7).\n"
            "  if these are percentages:  --scale percent"
        ),
        remedy="--scale percent",
    ),
    Shape(
        "one value without the % of the others",
        {"risk.csv": csv(outcome=Y, risk=[f"{100 * p:.1f}%" if i != 4 else "12.5" for i, p in enumerate(P)])},
        says=("risk.csv: row 5, `risk` = '12.5': without the % sign of the other values.\n  write it like the others"),
    ),
    Shape(
        "numbers as text in quotes",
        {"risk.csv": lines('"Outcome","risk"', [f'"{y}"' for y in Y], [f'"{p}"' for p in P])},
        "binary",
        "Outcome",
        "risk",
        (TWO,),
    ),
    Shape(
        "stage of a disease with its probabilities",
        {"risk.csv": csv(stage=named(["I", "II", "III"]), **{"P(I)": Q[:, 0], "P(II)": Q[:, 1], "P(III)": Q[:, 2]})},
        "wide",
        "stage",
        "P(I) P(II) P(III)",
        (THREE,),
        says=(
            "risk.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  probabilities `P(I)`, `P(II)`, `P(III)`; text `stage`\n"
            "  for example:  veracity assess risk.csv --label stage --proba 'P(*)'"
        ),
        remedy="veracity assess risk.csv --label stage --proba 'P(*)'",
    ),
    Shape(
        "plant disease at two sites, model and expert",
        {
            "risk.csv": csv(
                site=["x", "y"] * 60, year=[2020, 2021, 2022] * 40, epidemic=Y, model_risk=P, expert_risk=OTHER
            )
        },
        "binary",
        "epidemic",
        "model_risk expert_risk",
        (TWO, SECOND),
        says=(
            "risk.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  probabilities `model_risk`, `expert_risk`; two values `site`, "
            "`epidemic`; numbers `year`\n"
            "  as 2 models:  veracity compare risk.csv --label epidemic      one of them:  "
            "--label epidemic --positive-proba model_risk"
        ),
        remedy="veracity compare risk.csv --label epidemic",
    ),
    Shape(
        "outcomes and risks below words for missing",
        {"risk.csv": lines("died,risk", altered(Y, "#N/A"), P)},
        "binary",
        "died",
        "risk",
        (loss(P[kept()], Y[kept()]),),
        says=(
            "risk.csv: 12 of 120 outcomes in `died` are missing (first: row 4).\n"
            "  leave these rows out:  --missing drop"
        ),
        remedy="--missing drop",
    ),
    Shape(
        "survival times instead of outcomes",
        {"risk.csv": csv(time_days=[100 + 7 * i for i in range(N)], risk=P)},
        says=(
            "risk.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  probabilities `risk`; numbers `time_days`\n"
            "  name both:  veracity assess risk.csv --label COL --positive-proba risk"
        ),
    ),
    Shape(
        "bounds of the risk beside it",
        {"risk.csv": csv(outcome=Y, prob_lower=0.8 * P, prob=P, prob_upper=0.2 + 0.8 * P)},
        "binary",
        "outcome",
        "prob",
        (TWO,),
    ),
    Shape(
        "bounds of the risk, no known outcome",
        {"risk.csv": csv(died=Y, risk_lower=0.8 * P, risk=P, risk_upper=0.2 + 0.8 * P)},
        "binary",
        "died",
        "risk",
        (TWO,),
        says=(
            "risk.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  probabilities `risk_lower`, `risk`, `risk_upper`; two values `died`\n"
            "  for example:  veracity assess risk.csv --label died --positive-proba risk"
        ),
        remedy="veracity assess risk.csv --label died --positive-proba risk",
    ),
    Shape(
        "a rule with two risks",
        {"risk.csv": csv(died=Y, rule=np.where(P > 0.5, 0.7, 0.3))},
        "binary",
        "died",
        "rule",
        (loss(np.where(P > 0.5, 0.7, 0.3), Y),),
        says=(
            "risk.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  two values `died`; numbers `rule`\n"
            "  for example:  veracity assess risk.csv --label died --positive-proba rule"
        ),
        remedy="veracity assess risk.csv --label died --positive-proba rule",
    ),
    Shape(
        "odds instead of probabilities",
        {"risk.csv": csv(died=Y, odds=P / (1 - P))},
        says=(
            "risk.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  two values `died`; numbers `odds`\n"
            "  no column holds probabilities (numbers between 0 and 1); percentages need --scale "
            "percent"
        ),
    ),
    Shape(
        "several conditions, each with its risk",
        {"risk.csv": csv(stroke=Y, sepsis=FAIR, p_stroke=P, p_sepsis=OTHER)},
        "binary",
        "stroke",
        "p_stroke",
        (TWO,),
        says=(
            "risk.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  probabilities `p_stroke`, `p_sepsis`; two values `stroke`, `sepsis`\n"
            "  one of them:  veracity assess risk.csv --label stroke --positive-proba p_stroke   "
            "or   veracity assess risk.csv --label sepsis --positive-proba p_sepsis"
        ),
        remedy="veracity assess risk.csv --label stroke --positive-proba p_stroke",
    ),
]
