"""Outcomes beside time stamps, ids, texts and decisions that were made from the forecasts."""

from __future__ import annotations

import numpy as np

from .shapes import FAIR, TWO, K, N, P, Q, Shape, Y, altered, csv, loss, named, npy, words

TIMES = 1_600_000_000_000 + 86_400_000 * (np.arange(N) // 9)
KEYS = [f"{i * 7919:08x}-4f2a-4c0d-9b1e-{i:012x}" for i in range(N)]
DECIDED = (P > 0.5).astype(int)
LETTERS = named("ABC")
SAID = altered(LETTERS, "A", 4)
RIGHT = np.array([a == b for a, b in zip(LETTERS, SAID, strict=True)])

SHAPES = [
    Shape(
        "a dump of prediction markets with times of closing and resolution",
        {
            "m.csv": csv(
                id=KEYS,
                createdTime=TIMES - 1000,
                closeTime=TIMES,
                probability=P,
                resolution=words("NO", "YES"),
                resolutionTime=np.where(FAIR == 1, TIMES, TIMES[::-1]),
            )
        },
        "binary",
        "resolution",
        "probability",
        (TWO,),
        command="assess m.csv --label resolution",
    ),
    Shape(
        "a dump of prediction markets, some resolved to the market's price",
        {
            "m.csv": csv(
                closeTime=TIMES,
                probability=P,
                resolution=altered(words("NO", "YES"), "MKT"),
                resolutionTime=np.where(FAIR == 1, TIMES, TIMES[::-1]),
            )
        },
        "binary",
        "resolution",
        "probability",
        (loss(P[np.arange(N) % 10 != 3], Y[np.arange(N) % 10 != 3]),),
        says=(
            "m.csv: one probability column `probability`, but `resolution` has three values (MKT, NO, YES). An outcome "
            "for one probability has two values.\n"
            "  if MKT is no outcome, without these rows:  --label resolution --where 'resolution!=MKT'"
        ),
        remedy="--label resolution --where 'resolution!=MKT'",
    ),
    Shape(
        "credit scores with the decision and the default",
        {"c.csv": csv(customer_id=range(N), p_default=P, approved=1 - DECIDED, defaulted=Y)},
        "binary",
        "defaulted",
        "p_default",
        (TWO,),
    ),
    Shape(
        "credit scores with nothing but the decision",
        {"c.csv": csv(customer_id=range(N), p_default=P, rejected=DECIDED)},
        "binary",
        "rejected",
        "p_default",
        (loss(P, DECIDED),),
    ),
    Shape(
        "a label that is a threshold of the forecast beside another outcome",
        {"c.csv": csv(p_default=P, label=DECIDED, defaulted=Y)},
        "binary",
        "defaulted",
        "p_default",
        (TWO,),
        says=(
            "c.csv: two columns could be the outcome: `label`, `defaulted` (they differ in "
            f"{(DECIDED != Y).sum()} of 120 rows); the forecast separates `label` perfectly: is it a prediction?\n"
            "  choose:  --label defaulted"
        ),
        remedy="--label defaulted",
    ),
    Shape(
        "a status of risk beside what happened",
        {"r.csv": csv(patient_id=range(N), risk=P, status=words("low", "high", DECIDED), died=Y)},
        "binary",
        "died",
        "risk",
        (TWO,),
    ),
    Shape(
        "decisions of a court with the probability of one side under the name of a confidence",
        {
            "court.csv": csv(
                docket=range(N),
                predicted=words("affirm", "reverse", FAIR),
                outcome=words("affirm", "reverse"),
                confidence=P,
            )
        },
        "binary",
        "outcome",
        "confidence",
        (TWO,),
        says=(
            "court.csv: `confidence` beside the label `outcome` and the pick `predicted` is below ½ in "
            f"{(P < 0.5).sum()} of 120 rows: the probability of one label, or the confidence in the pick?\n"
            "  of a label:  --label outcome --positive-proba confidence --positive reverse"
        ),
        remedy="--label outcome --positive-proba confidence --positive reverse",
    ),
    Shape(
        "two answers of a language model beside the correct one",
        {"g.csv": csv(answer=SAID, Answer=altered(LETTERS, "B", 5), correct_answer=LETTERS, confidence=P)},
        "top",
        "correct_answer",
        "confidence",
        (loss(P, RIGHT),),
        says=(
            "g.csv: 2 columns could be the pick beside `correct_answer`: `answer`, `Answer`.\n"
            "  choose:  --label correct_answer --pick answer   or   --label correct_answer --pick Answer"
        ),
        remedy="--label correct_answer --pick answer",
    ),
    Shape(
        "the probability of being correct, graded",
        {"g.csv": csv(question=[f"What is {i}?" for i in range(N)], gold=LETTERS, answer=SAID, p_correct=P, correct=Y)},
        "binary",
        "correct",
        "p_correct",
        (TWO,),
    ),
    Shape(
        "years and ids of two values beside what happened",
        {"s.csv": csv(season=2023 + FAIR, group_uid=FAIR[::-1], p=P, won=Y)},
        "binary",
        "won",
        "p",
        (TWO,),
    ),
    Shape(
        "an array of probabilities with the outcomes in the file beside",
        {"y_prob.npy": npy(P), "y_true.npy": npy(Y)},
        "binary",
        "y",
        "p",
        (TWO,),
        says="y_prob.npy: one column `p`, no outcome.\n  if y_true.npy holds the outcomes:  --label-file y_true.npy",
        remedy="--label-file y_true.npy",
    ),
    Shape(
        "a class that has no column",
        {"z.csv": csv(label=np.where(FAIR == 1, 0, K + 1), p_1=Q[:, 0], p_2=Q[:, 1], p_3=Q[:, 2])},
        says=(
            f"z.csv: row {int(np.argmax(FAIR == 1)) + 1}, `label` = 0: none of the classes 1, 2, 3 ({FAIR.sum()} of "
            "120 rows).\n"
            "  correct the outcome, or choose the columns of all classes:  --proba PATTERN"
        ),
    ),
]
