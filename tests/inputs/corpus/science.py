"""Predictions as data scientists export them."""

from __future__ import annotations

import numpy as np

from .shapes import (
    ANIMALS,
    FAIR,
    OTHER,
    PICKS,
    SECOND,
    THREE,
    TOP,
    TWO,
    K,
    N,
    P,
    Q,
    Shape,
    Y,
    classes,
    csv,
    lines,
    loss,
    named,
    words,
)

LOGITS = [float(x) for x in np.log(P / (1 - P))]
ROUNDED = np.round(Q, 2)
RESCALED = ROUNDED / ROUNDED.sum(axis=1, keepdims=True)
RESCALED_LOSS = loss(RESCALED, K)
ABOVE = np.where(np.arange(N)[:, None] == int(np.argmax(K == 0)), [1.0000001, 0, 0], Q)
ABOVE_LOSS = loss(ABOVE / ABOVE.sum(axis=1, keepdims=True), K)


SHAPES = [
    Shape("binary predictions", {"a.csv": csv(y_true=Y, y_prob=P)}, "binary", "y_true", "y_prob", (TWO,)),
    Shape(
        "predict_proba of scikit-learn with the frame's index",
        {"a.csv": csv(**{"": range(N), "0": 1 - P, "1": P, "y_test": Y})},
        "wide",
        "y_test",
        "0 1",
        (TWO,),
    ),
    Shape(
        "predict_proba of three classes with the index and numbered columns",
        {"a.csv": csv(**{"Unnamed: 0": range(N), "0": Q[:, 0], "1": Q[:, 1], "2": Q[:, 2], "target": K})},
        "wide",
        "target",
        "0 1 2",
        (THREE,),
    ),
    Shape(
        "class columns with a stem",
        {"a.csv": csv(label=named(ANIMALS), **classes("p_"))},
        "wide",
        "label",
        "p_cat p_dog p_fox",
        (THREE,),
    ),
    Shape(
        "class columns called after the classes, with the pick beside",
        {
            "a.csv": csv(
                obs=named(ANIMALS), pred=named(ANIMALS, PICKS), **classes(""), Resample=["Fold01", "Fold02"] * 60
            )
        },
        "wide",
        "obs",
        "cat dog fox",
        (THREE,),
    ),
    Shape(
        "caret: a column for Yes and one for No",
        {
            "a.csv": csv(
                obs=words("No", "Yes"), pred=words("No", "Yes", P > 0.5), No=1 - P, Yes=P, rowIndex=range(1, N + 1)
            )
        },
        "wide",
        "obs",
        "No Yes",
        (TWO,),
    ),
    Shape(
        "R export with row names, quoted",
        {"a.csv": lines('"","truth","estimate"', [f'"{i}"' for i in range(1, N + 1)], Y, P)},
        "binary",
        "truth",
        "estimate",
        (TWO,),
    ),
    Shape(
        "R write.table: row names without a name",
        {"a.txt": lines("truth estimate", range(1, N + 1), Y, P, sep=" ")},
        "binary",
        "truth",
        "estimate",
        (TWO,),
    ),
    Shape(
        "H2O predictions: predict, p0, p1",
        {"a.csv": csv(predict=(P > 0.5).astype(int), p0=1 - P, p1=P, actual=Y)},
        "wide",
        "actual",
        "p0 p1",
        (TWO,),
    ),
    Shape(
        "AutoML scores with a second score of the same cases",
        {"a.csv": csv(target=Y, xgboost=P, lightgbm=OTHER)},
        "binary",
        "target",
        "xgboost lightgbm",
        (TWO, SECOND),
    ),
    Shape(
        "recidivism with sex and race",
        {
            "compas.csv": csv(
                sex=words("Female", "Male", FAIR),
                race=["a", "b", "c"] * 40,
                age=range(20, 20 + N),
                two_year_recid=Y,
                probability=P,
            )
        },
        "binary",
        "two_year_recid",
        "probability",
        (TWO,),
        says=(
            "compas.csv: two columns could be the outcome: `sex`, `two_year_recid` (they differ "
            "in 120 of 120 rows).\n"
            "  choose:  --label two_year_recid"
        ),
        remedy="--label two_year_recid",
    ),
    Shape(
        "churn: Churn Yes or No, sex and a score",
        {
            "churn.csv": csv(
                gender=words("Female", "Male", FAIR),
                SeniorCitizen=FAIR[::-1],
                Churn=words("No", "Yes"),
                churn_probability=P,
            )
        },
        "binary",
        "Churn",
        "churn_probability",
        (TWO,),
        says=(
            "churn.csv: 3 columns could be the outcome: `gender`, `SeniorCitizen`, `Churn`.\n  choose:  --label Churn"
        ),
        remedy="--label Churn",
    ),
    Shape(
        "fraud scores with the amount",
        {"a.csv": csv(TransactionID=range(N), amount=np.round(100 * OTHER, 2), isFraud=Y, score=P)},
        "binary",
        "isFraud",
        "score",
        (TWO,),
    ),
    Shape(
        "credit default: several flags of two values",
        {"a.csv": csv(home_owner=FAIR, married=FAIR[::-1], default=Y, pd=P)},
        "binary",
        "default",
        "pd",
        (TWO,),
        says=("a.csv: 3 columns could be the outcome: `home_owner`, `married`, `default`.\n  choose:  --label default"),
        remedy="--label default",
    ),
    Shape(
        "Kaggle submission: id and probability, no outcome",
        {"submission.csv": csv(id=range(N), target=P)},
        says=(
            "submission.csv: `target` could be the forecast, but no column holds outcomes.\n"
            "  columns:  probabilities `target`; numbers `id`\n"
            "  add a column of what happened, such as 0 and 1, or give the file that holds it:  "
            "--label-file FILE"
        ),
    ),
    Shape(
        "Kaggle submission with the solution in a second file",
        {"submission.csv": csv(id=range(N), prediction=P), "solution.csv": csv(y=Y)},
        "binary",
        "y",
        "prediction",
        (TWO,),
        command="assess submission.csv --label-file solution.csv",
    ),
    Shape(
        "out-of-fold predictions with fold and weights",
        {"a.csv": csv(fold=[0, 1, 2, 3] * 30, oof_pred=P, target=Y, sample_weight=OTHER)},
        "binary",
        "target",
        "oof_pred",
        (TWO,),
    ),
    Shape(
        "MLflow table: prediction and target as words",
        {
            "a.csv": csv(
                target=named(ANIMALS),
                prediction=named(ANIMALS, PICKS),
                score_cat=Q[:, 0],
                score_dog=Q[:, 1],
                score_fox=Q[:, 2],
            )
        },
        "wide",
        "target",
        "score_cat score_dog score_fox",
        (THREE,),
    ),
    Shape(
        "label, prediction and confidence",
        {"a.csv": csv(label=named(ANIMALS), prediction=named(ANIMALS, PICKS), confidence=Q.max(axis=1))},
        "top",
        "label",
        "confidence",
        (TOP,),
    ),
    Shape(
        "label, prediction and score under other names",
        {"a.csv": csv(species=named(ANIMALS), best_guess=named(ANIMALS, PICKS), score=Q.max(axis=1))},
        "top",
        "species",
        "score",
        (TOP,),
    ),
    Shape(
        "right or wrong, and the confidence",
        {"a.csv": csv(is_correct=words("False", "True"), confidence=P)},
        "top",
        "is_correct",
        "confidence",
        (TWO,),
    ),
    Shape("logits with their name", {"a.csv": csv(label=Y, logit=LOGITS)}, "binary", "label", "logit", (TWO,)),
    Shape(
        "logits as a score",
        {"a.csv": csv(label=Y, score=LOGITS)},
        "binary",
        "label",
        "score",
        (TWO,),
        says=(
            "a.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  two values `label`; numbers `score`\n"
            "  if `score` holds logits:  veracity assess a.csv --label label --positive-proba "
            "score --scale logit"
        ),
        remedy="veracity assess a.csv --label label --positive-proba score --scale logit",
    ),
    Shape(
        "log-probabilities of classes without the word",
        {"a.csv": csv(label=named(ANIMALS), **classes("p_", q=np.log(Q)))},
        "wide",
        "label",
        "p_cat p_dog p_fox",
        (THREE,),
        says=(
            "a.csv: row 1, `p_cat` = -0.536934: below 0 (all 360 values lie between -7.77952 and "
            "-0.063009).\n"
            "  if these are log-probabilities:  --scale log"
        ),
        remedy="--scale log",
    ),
    Shape(
        "class columns rounded to two decimals",
        {"a.csv": csv(label=named(ANIMALS), **classes("p_", q=ROUNDED))},
        "wide",
        "label",
        "p_cat p_dog p_fox",
        (RESCALED_LOSS,),
        says=(
            "a.csv: class columns p_cat p_dog p_fox, but 37 of 120 rows do not sum to one "
            "(first: row 8, sum 1.01).\n"
            "  fix the file, or rescale these rows:  --normalise"
        ),
        remedy="--normalise",
    ),
    Shape(
        "votes of annotators for each class",
        {"a.csv": csv(label=K, **{f"n{j}": np.rint(50 * Q[:, j]).astype(int) + 1 for j in range(3)})},
        "wide",
        "label",
        "n0 n1 n2",
        (loss((np.rint(50 * Q) + 1) / (np.rint(50 * Q) + 1).sum(axis=1, keepdims=True), K),),
        says=(
            "a.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  numbers `label`, `n0`, `n1`, `n2`\n"
            "  if n0 n1 n2 count the votes for each class:  veracity assess a.csv --proba 'n*' "
            "--normalise"
        ),
        remedy="veracity assess a.csv --proba 'n*' --normalise",
    ),
    Shape(
        "labels counted from one, columns from zero",
        {"a.csv": csv(label=K + 1, p0=Q[:, 0], p1=Q[:, 1], p2=Q[:, 2])},
        says=(
            "a.csv: outcome `label` holds 1, 2, 3, the classes are 0, 1, 2.\n"
            "  name each column after its class: p1 p2 p3"
        ),
    ),
    Shape(
        "numbers of classes for columns that are named",
        {"a.csv": csv(target=K, setosa=Q[:, 0], versicolor=Q[:, 1], virginica=Q[:, 2])},
        says=(
            "a.csv: outcome `target` holds 0, 1, 2, the columns are called setosa versicolor "
            "virginica.\n"
            "  give both the same names: columns 0 1 2, or the names of the columns in `target`"
        ),
    ),
    Shape(
        "class before the stem",
        {"a.csv": csv(result=named(ANIMALS), cat_prob=Q[:, 0], dog_prob=Q[:, 1], fox_prob=Q[:, 2])},
        "wide",
        "result",
        "cat_prob dog_prob fox_prob",
        (THREE,),
        says=(
            "a.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  probabilities `cat_prob`, `dog_prob`, `fox_prob`; text `result`\n"
            "  for example:  veracity assess a.csv --label result --proba '*_prob'"
        ),
        remedy="veracity assess a.csv --label result --proba '*_prob'",
    ),
    Shape(
        "softmax of a network with the path of each image in quotes",
        {"a.csv": lines("path,label,p0,p1,p2", [f'"C:\\data, new\\{i}.png"' for i in range(N)], K, *Q.T)},
        "wide",
        "label",
        "p0 p1 p2",
        (THREE,),
    ),
    Shape(
        "scores of a search engine, grades 0 to 3",
        {
            "a.csv": csv(
                query=[f"q{i % 7}" for i in range(N)],
                relevance=[k + 1 if y else 0 for k, y in zip(K, Y, strict=True)],
                score=P,
            )
        },
        "binary",
        "relevance",
        "score",
        (loss(P, [k == 0 and y for k, y in zip(K, Y, strict=True)]),),
        says=(
            "a.csv: one probability column `score`, but `relevance` has four values (0, 1, 2, "
            "3). An outcome for one probability has two values.\n"
            "  if one value is the event:  --label relevance --versus-rest 1"
        ),
        remedy="--label relevance --versus-rest 1",
    ),
    Shape(
        "a value above one by rounding",
        {"a.csv": csv(label=named(ANIMALS), **classes("p_", q=ABOVE))},
        "wide",
        "label",
        "p_cat p_dog p_fox",
        (ABOVE_LOSS,),
        says=(
            "a.csv: row 3, `p_cat` = 1.0000001: above 1 (all 360 values lie between 0 and "
            "1.0000001).\n"
            "  if this is rounding, clip it where the forecasts are made, or rescale the rows:  "
            "--normalise"
        ),
        remedy="--normalise",
    ),
    Shape(
        "a regression, no probabilities",
        {"a.csv": csv(y_true=10 * OTHER, y_pred=10 * P)},
        says=(
            "a.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  numbers `y_true`, `y_pred`\n"
            "  no column holds probabilities (numbers between 0 and 1); percentages need --scale "
            "percent"
        ),
    ),
    Shape(
        "hard labels only",
        {"a.csv": csv(y_true=Y, y_pred=(P > 0.5).astype(int))},
        says=(
            "a.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  two values `y_true`, `y_pred`\n"
            "  no column holds probabilities (numbers between 0 and 1); percentages need --scale "
            "percent"
        ),
    ),
    Shape(
        "probabilities of the wrong event",
        {"a.csv": csv(survived=words("no", "yes"), p_death=1 - P)},
        "binary",
        "survived",
        "p_death",
        (TWO,),
        says=(
            "a.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  probabilities `p_death`; two values `survived`\n"
            "  if `p_death` is the probability of no:  veracity assess a.csv --label survived "
            "--positive no"
        ),
        remedy="veracity assess a.csv --label survived --positive no",
    ),
    Shape(
        "a pick under a name of its own beside class columns",
        {"a.csv": csv(species=named(ANIMALS), guess=named(ANIMALS, PICKS), **classes("p_"))},
        "wide",
        "species",
        "p_cat p_dog p_fox",
        (THREE,),
    ),
]
