"""Games, elections, markets and tournaments of questions."""

from __future__ import annotations

import json

import numpy as np

from .shapes import (
    FAIR,
    OTHER,
    SECOND,
    THREE,
    TWO,
    K,
    N,
    P,
    Q,
    Shape,
    Y,
    altered,
    csv,
    kept,
    loss,
    named,
    records,
    words,
)

GAMES = {
    "date": [f"2024-0{1 + i % 9}-11" for i in range(N)],
    "team1": ["A", "B", "C", "D"] * 30,
    "team2": ["E", "F", "G", "H"] * 30,
}
RESULT = ["home", "draw", "away"]
VOID = loss(P[kept()], Y[kept()])

SHAPES = [
    Shape(
        "two teams with their outcomes",
        {"g.csv": csv(**GAMES, prob1=P, prob1_outcome=Y, prob2=1 - P, prob2_outcome=1 - Y)},
        "pairs",
        "prob1_outcome prob2_outcome",
        "prob1 prob2",
        (TWO,),
    ),
    Shape(
        "home, draw and away with outcomes",
        {
            "g.csv": csv(
                prob1=Q[:, 0],
                prob1_outcome=1 * (K == 0),
                probtie=Q[:, 1],
                probtie_outcome=1 * (K == 1),
                prob2=Q[:, 2],
                prob2_outcome=1 * (K == 2),
            )
        },
        "pairs",
        "prob1_outcome probtie_outcome prob2_outcome",
        "prob1 probtie prob2",
        (THREE,),
    ),
    Shape(
        "ties as half a win",
        {"g.csv": csv(prob1=P, prob1_outcome=altered(1.0 * Y, 0.5), prob2=1 - P, prob2_outcome=altered(1.0 - Y, 0.5))},
        "pairs",
        "prob1_outcome prob2_outcome",
        "prob1 prob2",
        (float(-np.mean(np.where(kept(), np.log(np.where(Y == 1, P, 1 - P)), 0.5 * np.log(P) + 0.5 * np.log(1 - P)))),),
    ),
    Shape(
        "football games with a neutral ground",
        {"g.csv": csv(**GAMES, neutral=FAIR, home_win_prob=P, home_win=Y)},
        "binary",
        "home_win",
        "home_win_prob",
        (TWO,),
        says=(
            "g.csv: two columns could be the outcome: `neutral`, `home_win` (they differ in 60 "
            "of 120 rows).\n"
            "  choose:  --label home_win"
        ),
        remedy="--label home_win",
    ),
    Shape(
        "football results in words with a neutral ground",
        {"g.csv": csv(neutral=FAIR, result=named(RESULT), home=Q[:, 0], draw=Q[:, 1], away=Q[:, 2])},
        "wide",
        "result",
        "home draw away",
        (THREE,),
    ),
    Shape(
        "football results as H, D, A with prob_ columns",
        {"g.csv": csv(FTR=named("HDA"), FTHG=[1, 2, 0] * 40, prob_H=Q[:, 0], prob_D=Q[:, 1], prob_A=Q[:, 2])},
        "wide",
        "FTR",
        "prob_H prob_D prob_A",
        (THREE,),
    ),
    Shape(
        "one probability, a result of three",
        {"g.csv": csv(result=named(RESULT), neutral=FAIR, p_home=P)},
        "binary",
        "result",
        "p_home",
        (loss(P, K == 0),),
        says=(
            "g.csv: one probability column `p_home`, but `result` has three values (away, draw, "
            "home). An outcome for one probability has two values.\n"
            "  if one value is the event:  --label result --versus-rest home"
        ),
        remedy="--label result --versus-rest home",
    ),
    Shape(
        "betting odds",
        {"g.csv": csv(FTR=named("HDA"), B365H=1 / Q[:, 0], B365D=1 / Q[:, 1], B365A=1 / Q[:, 2])},
        says=(
            "g.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  numbers `B365H`, `B365D`, `B365A`; text `FTR`\n"
            "  no column holds probabilities (numbers between 0 and 1); percentages need --scale "
            "percent"
        ),
    ),
    Shape(
        "Metaculus: resolution and community prediction",
        {
            "q.csv": csv(
                question_id=range(N),
                title=[f"Will {i} happen?" for i in range(N)],
                resolution=altered(words("no", "yes"), "annulled"),
                community_prediction=P,
            )
        },
        "binary",
        "resolution",
        "community_prediction",
        (VOID,),
        says=(
            "q.csv: one probability column `community_prediction`, but `resolution` has three "
            "values (annulled, no, yes). An outcome for one probability has two values.\n"
            "  if annulled is no outcome, without these rows:  --label resolution --where "
            "'resolution!=annulled'"
        ),
        remedy="--label resolution --where 'resolution!=annulled'",
    ),
    Shape(
        "Metaculus with ambiguous questions, the event named",
        {"q.csv": csv(resolution=altered(words("no", "yes"), "ambiguous"), community_prediction=P)},
        "binary",
        "resolution",
        "community_prediction",
        (VOID,),
        command="assess q.csv --versus-rest yes",
        says=(
            "q.csv: outcome `resolution` also holds ambiguous (12 of 120 rows): neither the "
            "event nor its absence.\n"
            "  without these rows:  --where 'resolution!=ambiguous'"
        ),
        remedy="--where 'resolution!=ambiguous'",
    ),
    Shape(
        "Manifold: YES, NO, MKT and CANCEL",
        {
            "m.csv": csv(
                id=[f"x{i}" for i in range(N)],
                question=[f"Will {i}?" for i in range(N)],
                probability=P,
                resolution=altered(words("NO", "YES"), "CANCEL"),
            )
        },
        "binary",
        "resolution",
        "probability",
        (VOID,),
        says=(
            "m.csv: one probability column `probability`, but `resolution` has three values "
            "(CANCEL, NO, YES). An outcome for one probability has two values.\n"
            "  if CANCEL is no outcome, without these rows:  --label resolution --where "
            "'resolution!=CANCEL'"
        ),
        remedy="--label resolution --where 'resolution!=CANCEL'",
    ),
    Shape(
        "Manifold as JSON lines",
        {
            "m.jsonl": records(
                id=[f"x{i}" for i in range(N)], outcomeType=["BINARY"] * N, probability=P, resolution=words("NO", "YES")
            )
        },
        "binary",
        "resolution",
        "probability",
        (TWO,),
    ),
    Shape(
        "resolutions true and false",
        {
            "q.jsonl": "".join(
                json.dumps({"forecast": float(p), "resolved_to": bool(y)}) + "\n" for p, y in zip(P, Y, strict=True)
            )
        },
        "binary",
        "resolved_to",
        "forecast",
        (TWO,),
    ),
    Shape(
        "forecasters below one another, one question each row",
        {
            "t.csv": csv(
                question_id=[*range(N)] * 2,
                forecaster=["ann"] * N + ["ben"] * N,
                forecast=[*P, *OTHER],
                outcome=[*Y] * 2,
            )
        },
        "binary",
        "outcome",
        "forecast",
        (TWO, SECOND),
    ),
    Shape(
        "Good Judgment: answer options a and b",
        {"t.csv": csv(ifp_id=range(N), user_id=[1, 2] * 60, answer_option=["a"] * N, value=P, outcome=words("b", "a"))},
        "binary",
        "outcome",
        "value",
        (TWO,),
        says=(
            "t.csv: outcome `outcome` holds a and b; which one does `value` forecast?   "
            "--positive a   or   --positive b"
        ),
        remedy="--positive a",
    ),
    Shape(
        "a prediction market with n/a outcomes",
        {"m.csv": csv(outcome=altered(words("no", "yes"), "n/a"), price=P)},
        "binary",
        "outcome",
        "price",
        (VOID,),
        says=(
            "m.csv: 12 of 120 outcomes in `outcome` are missing (first: row 4).\n"
            "  leave these rows out:  --missing drop"
        ),
        remedy="--missing drop",
    ),
    Shape(
        "void outcomes called not to be events",
        {"m.csv": csv(outcome=altered(words("lost", "won"), "void"), p_win=P)},
        "binary",
        "outcome",
        "p_win",
        (VOID,),
        says=(
            "m.csv: one probability column `p_win`, but `outcome` has three values (lost, void, "
            "won). An outcome for one probability has two values.\n"
            "  if one value is the event:  --label outcome --versus-rest won --where 'outcome!=void'"
        ),
        remedy="--label outcome --versus-rest won --where 'outcome!=void'",
    ),
    Shape(
        "states of an election, shares of the vote beside",
        {"e.csv": csv(state=[f"S{i}" for i in range(N)], win_prob=P, vote_share=OTHER, won=Y)},
        "binary",
        "won",
        "win_prob",
        (TWO,),
        says=(
            "e.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  probabilities `win_prob`, `vote_share`; two values `won`; text `state`\n"
            "  for example:  veracity assess e.csv --label won --positive-proba win_prob"
        ),
        remedy="veracity assess e.csv --label won --positive-proba win_prob",
    ),
    Shape(
        "elections with the party that won",
        {"e.csv": csv(state=[f"S{i}" for i in range(N)], p_dem=P, p_rep=1 - P, winner=words("rep", "dem"))},
        "wide",
        "winner",
        "p_dem p_rep",
        (TWO,),
    ),
    Shape(
        "elections with candidates below one another",
        {
            "e.csv": csv(
                state=np.repeat(range(N), 2),
                candidate=["A", "B"] * N,
                probability=np.column_stack([P, 1 - P]).ravel(),
                probability_outcome=np.column_stack([Y, 1 - Y]).ravel(),
            )
        },
        "pairs",
        "probability_outcome",
        "probability",
        (TWO,),
    ),
    Shape(
        "confidence in an answer, not in True",
        {
            "quiz.csv": csv(
                truth=words("False", "True", FAIR),
                answer=[
                    t if r else ("True" if t == "False" else "False")
                    for t, r in zip(words("False", "True", FAIR), Y, strict=True)
                ],
                confidence=0.5 + P / 2,
            )
        },
        "top",
        "truth",
        "confidence",
        (loss(0.5 + P / 2, Y),),
    ),
    Shape(
        "a confidence in one of two answers that is often below one half",
        {"quiz.csv": csv(truth=words("False", "True"), answer=words("False", "True", FAIR), confidence=P)},
        "binary",
        "truth",
        "confidence",
        (TWO,),
        says=(
            "quiz.csv: `confidence` beside the label `truth` and the pick `answer` is below ½ in 61 of 120 rows: the "
            "probability of one label, or the confidence in the pick?\n"
            "  of a label:  --label truth --positive-proba confidence"
        ),
        remedy="--label truth --positive-proba confidence",
    ),
    Shape(
        "percentages of several people",
        {"pct.csv": csv(rained=Y, Anna=(100 * P).round().astype(int), Ben=(100 * OTHER).round().astype(int))},
        "binary",
        "rained",
        "Anna Ben",
        (loss((100 * P).round() / 100, Y), loss((100 * OTHER).round() / 100, Y)),
        command="compare pct.csv",
        says=(
            "pct.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  two values `rained`; numbers `Anna`, `Ben`\n"
            "  if Anna Ben hold percentages of as many models:  veracity compare pct.csv --label "
            "rained --positive-proba Anna,Ben --scale percent"
        ),
        remedy="veracity compare pct.csv --label rained --positive-proba Anna,Ben --scale percent",
    ),
    Shape(
        "horse races: several runners, one winner",
        {"r.csv": csv(race=np.repeat(range(40), 3), horse=range(N), win_prob=P, won=Y, odds=1 / OTHER)},
        "binary",
        "won",
        "win_prob",
        (TWO,),
    ),
    Shape(
        "chess: score of a draw is half",
        {"c.csv": csv(expected=P, result=altered(1.0 * Y, 0.5))},
        "binary",
        "result",
        "expected",
        (float(-np.mean(np.where(kept(), np.log(np.where(Y == 1, P, 1 - P)), 0.5 * np.log(P) + 0.5 * np.log(1 - P)))),),
    ),
    Shape(
        "the winner, and P(home) with P(away)",
        {"g.csv": csv(winner=words("away", "home"), **{"P(home)": P, "P(away)": 1 - P})},
        "wide",
        "winner",
        "P(home) P(away)",
        (TWO,),
        says=(
            "g.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  probabilities `P(home)`, `P(away)`; two values `winner`\n"
            "  for example:  veracity assess g.csv --label winner --proba 'P(*)'"
        ),
        remedy="veracity assess g.csv --label winner --proba 'P(*)'",
    ),
    Shape(
        "parties before the stem",
        {"e.csv": csv(dem_win_prob=P, rep_win_prob=1 - P, winner=words("rep", "dem"))},
        "wide",
        "winner",
        "dem_win_prob rep_win_prob",
        (TWO,),
        says=(
            "e.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  probabilities `dem_win_prob`, `rep_win_prob`; two values `winner`\n"
            "  for example:  veracity assess e.csv --label winner --proba '*_win_prob'"
        ),
        remedy="veracity assess e.csv --label winner --proba '*_win_prob'",
    ),
    Shape(
        "both sides of an event",
        {"g.csv": csv(won=Y, yes_price=P, no_price=1 - P)},
        "binary",
        "won",
        "yes_price",
        (TWO,),
        says=(
            "g.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  probabilities `yes_price`, `no_price`; two values `won`\n"
            "  for example:  veracity assess g.csv --label won --positive-proba yes_price"
        ),
        remedy="veracity assess g.csv --label won --positive-proba yes_price",
    ),
]
