"""Arrays, JSON and Parquet, and several models or parts."""

from __future__ import annotations

import json

import numpy as np

from .shapes import (
    ANIMALS,
    FAIR,
    OTHER,
    PICKS,
    SECOND,
    THREE,
    TWO,
    K,
    N,
    P,
    Q,
    Shape,
    Y,
    classes,
    csv,
    frame,
    loss,
    named,
    npy,
    npz,
    parquet,
    records,
)

FEELINGS = ["NEG", "NEU", "POS"]
SENTIMENT = "".join(
    json.dumps({"text": f"t{i}", "label": FEELINGS[k], "scores": dict(zip(FEELINGS, q, strict=True))}) + "\n"
    for i, (q, k) in enumerate(zip(Q.tolist(), K, strict=True))
)
PIPELINE = "".join(
    json.dumps({"label": FEELINGS[k], "pred": [{"label": f, "score": p} for f, p in zip(FEELINGS, q, strict=True)]})
    + "\n"
    for q, k in zip(Q.tolist(), K, strict=True)
)

SHAPES = [
    Shape(
        "tidymodels: .pred_<class> and .pred_class",
        {"a.csv": csv(Species=named(ANIMALS), **{".pred_class": named(ANIMALS, PICKS)}, **classes(".pred_"))},
        "wide",
        "Species",
        ".pred_cat .pred_dog .pred_fox",
        (THREE,),
    ),
    Shape(
        "models in columns beside a probability of their own stem",
        {"a.csv": csv(y=Y, prob_xgb=P, prob_lgbm=OTHER)},
        "binary",
        "y",
        "prob_xgb prob_lgbm",
        (TWO, SECOND),
    ),
    Shape(
        "image file, label and softmax in one list column",
        {"a.parquet": parquet(image=[f"{i}.png" for i in range(N)], label=K, probs=Q.tolist())},
        "wide",
        "label",
        "probs_0 probs_1 probs_2",
        (THREE,),
    ),
    Shape(
        "list column of logits",
        {"a.parquet": parquet(label=K, logits=np.log(Q).tolist())},
        "wide",
        "label",
        "logits_0 logits_1 logits_2",
        (THREE,),
    ),
    Shape(
        "softmax outputs in float16",
        {"a.npz": npz(probs=Q.astype(np.float16), labels=K)},
        "wide",
        "labels",
        "p0 p1 p2",
        (loss(Q.astype(np.float16), K),),
    ),
    Shape(
        "arrays in two files",
        {"probs.npy": npy(Q), "labels.npy": npy(K)},
        "wide",
        "y",
        "p0 p1 p2",
        (THREE,),
        command="assess probs.npy --label-file labels.npy",
    ),
    Shape(
        "an array without its labels",
        {"probs.npy": npy(Q)},
        says=(
            "probs.npy: class columns p0 p1 p2, but no column holds outcomes of these classes.\n"
            "  name it:  --label COL   another file holds it:  --label-file FILE   (adjust and "
            "calibrate apply do without)"
        ),
    ),
    Shape("arrays of one npz file", {"a.npz": npz(y_true=Y, y_prob=P)}, "binary", "y_true", "y_prob", (TWO,)),
    Shape(
        "two models of three classes in one file",
        {"a.csv": csv(label=named(ANIMALS), **classes("nb_"), **classes("rf_", q=Q[:, [0, 1, 2]]))},
        "wide",
        "label",
        "nb_cat nb_dog nb_fox rf_cat rf_dog rf_fox",
        (THREE, THREE),
        says=(
            "a.csv: two sets of class columns: nb_cat…nb_fox and rf_cat…rf_fox.\n"
            "  as two models:  veracity assess a.csv --proba '{model}_*'      one of them:  "
            "--proba 'nb_*'"
        ),
        remedy="veracity assess a.csv --proba '{model}_*'",
    ),
    Shape(
        "models below one another with ids",
        {"a.csv": csv(id=[*range(N)] * 2, model=["a"] * N + ["b"] * N, y=[*Y] * 2, p=[*P, *OTHER])},
        "binary",
        "y",
        "p",
        (TWO, SECOND),
    ),
    Shape(
        "models below one another, ids given",
        {"a.csv": csv(id=[*range(N)] * 2, model=["a"] * N + ["b"] * N, y=[*Y] * 2, p=[*P, *OTHER])},
        "binary",
        "y",
        "p",
        (TWO, SECOND),
        command="compare a.csv --id id",
    ),
    Shape(
        "models in two files with the same cases, assessed",
        {"a.csv": csv(id=range(N), y=Y, p=P), "b.csv": csv(id=range(N), y=Y, p=OTHER)},
        "binary",
        "y",
        "p",
        (TWO, SECOND),
        command="assess a.csv b.csv",
        says=(
            "a.csv and b.csv hold the same cases: parts of one set, or models?\n"
            "  as models:  veracity compare a.csv b.csv      as parts, each case counted again:  "
            "--model none"
        ),
        remedy="veracity compare a.csv b.csv",
    ),
    Shape(
        "parts of one set in two files",
        {
            "a.csv": csv(id=range(N // 2), y=Y[: N // 2], p=P[: N // 2]),
            "b.csv": csv(id=range(N // 2, N), y=Y[N // 2 :], p=P[N // 2 :]),
        },
        "binary",
        "y",
        "p",
        (TWO,),
        command="assess a.csv b.csv",
    ),
    Shape(
        "models in two files, compared",
        {"a.csv": csv(id=range(N), y=Y, p=P), "b.csv": csv(id=range(N), y=Y, p=OTHER)},
        "binary",
        "y",
        "p",
        (TWO, SECOND),
        command="compare a.csv b.csv",
    ),
    Shape("flat JSON lines", {"a.jsonl": records(id=range(N), label=Y, proba=P)}, "binary", "label", "proba", (TWO,)),
    Shape(
        "an array of JSON objects",
        {"a.json": "[" + records(id=range(N), label=Y, proba=P).strip().replace("\n", ",") + "]"},
        "binary",
        "label",
        "proba",
        (TWO,),
    ),
    Shape(
        "JSON with one list per column",
        {"a.json": '{"y": ' + str(Y.tolist()) + ', "p": ' + str(P.tolist()) + "}"},
        "binary",
        "y",
        "p",
        (TWO,),
    ),
    Shape(
        "JSON of a pandas frame, column by column",
        {"a.json": frame(y=Y, p=P).to_pandas().to_json()},
        "binary",
        "y",
        "p",
        (TWO,),
    ),
    Shape(
        "JSON of a pandas frame, orient split; MLflow's evaluation table",
        {"a.json": frame(id=range(N), target=Y, score=P).to_pandas().to_json(orient="split")},
        "binary",
        "target",
        "score",
        (TWO,),
    ),
    Shape(
        "JSON with a list of labels and a list of rows",
        {"a.json": '{"labels": ' + str(K.tolist()) + ', "probs": ' + str(Q.tolist()) + "}"},
        "wide",
        "labels",
        "probs_0 probs_1 probs_2",
        (THREE,),
    ),
    Shape(
        "JSON of a prediction service: rows in a list beside other values",
        {
            "a.json": json.dumps(
                {
                    "model": "m",
                    "instance_predictions": [{"y": y, "p": p} for y, p in zip(Y.tolist(), P.tolist(), strict=True)],
                }
            )
        },
        "binary",
        "y",
        "p",
        (TWO,),
    ),
    Shape(
        "JSON with indents: a list of predictions, each with its probabilities in a list",
        {
            "a.json": json.dumps(
                {"predictions": [{"truth": y, "probs": q} for y, q in zip(K.tolist(), Q.tolist(), strict=True)]},
                indent=1,
            )
        },
        "wide",
        "truth",
        "probs_0 probs_1 probs_2",
        (THREE,),
    ),
    Shape(
        "JSON lines with the price of a market among other values of an object",
        {
            "a.jsonl": "".join(
                json.dumps(
                    {"resolution": y, "metadata": {"source": f"s{i % 7}", "market": {"prob": p}, "volume": 90 + i}}
                )
                + "\n"
                for i, (y, p) in enumerate(zip(Y.tolist(), P.tolist(), strict=True))
            )
        },
        "binary",
        "resolution",
        "metadata.market.prob",
        (TWO,),
        command="assess a.jsonl --positive-proba metadata.market.prob",
    ),
    Shape(
        "lists in the cells of a CSV, as pandas writes them",
        {"a.csv": csv(id=range(N), label=K, probs=[str(q.tolist()) for q in Q])},
        "wide",
        "label",
        "probs_0 probs_1 probs_2",
        (THREE,),
    ),
    Shape(
        "lists in the cells of a CSV, as NumPy writes them",
        {"a.csv": csv(label=K, probs=["[" + " ".join(map(repr, q.tolist())) + "]" for q in Q])},
        "wide",
        "label",
        "probs_0 probs_1 probs_2",
        (THREE,),
    ),
    Shape(
        "lists in the cells of a CSV, one of them too short",
        {"a.csv": csv(label=K, probs=[str(q.tolist()[: 2 if i == 6 else 3]) for i, q in enumerate(Q)])},
        says=f"a.csv: row 7, `probs_0` = '{Q[6].tolist()[:2]}': not a number.\n  correct the value, or leave it empty",
    ),
    Shape(
        "JSON over several lines with one list per column",
        {"a.json": '{\n"y": ' + str(Y.tolist()) + ',\n"p": ' + str(P.tolist()) + "\n}"},
        "binary",
        "y",
        "p",
        (TWO,),
    ),
    Shape(
        "outcomes marked by 1 in the column of their class",
        {"a.csv": csv(**{f"y_{c}": (j == K).astype(int) for j, c in enumerate(ANIMALS)}, **classes("p_"))},
        "pairs",
        "y_cat y_dog y_fox",
        "p_cat p_dog p_fox",
        (THREE,),
    ),
    Shape(
        "Keras: lists of targets and predictions in JSON lines",
        {"a.jsonl": records(y_true=np.eye(3, dtype=int)[K], y_pred=Q)},
        "pairs",
        "y_true_0 y_true_1 y_true_2",
        "y_pred_0 y_pred_1 y_pred_2",
        (THREE,),
    ),
    Shape(
        "a label and a list of predictions in JSON lines",
        {"a.jsonl": records(y_true=K, y_pred=Q)},
        "wide",
        "y_true",
        "y_pred_0 y_pred_1 y_pred_2",
        (THREE,),
    ),
    Shape(
        "an object of scores in JSON lines",
        {"a.jsonl": SENTIMENT},
        "wide",
        "label",
        "scores.NEG scores.NEU scores.POS",
        (THREE,),
    ),
    Shape(
        "a pipeline of transformers: labels with their scores",
        {"a.jsonl": PIPELINE},
        "lm-eval",
        "label",
        "pred.NEG pred.NEU pred.POS",
        (THREE,),
    ),
    Shape(
        "methods below one another that have all cases",
        {"a.csv": csv(case=[*range(N)] * 2, method=["a"] * N + ["b"] * N, y=[*Y] * 2, p=[*P, *OTHER])},
        "binary",
        "y",
        "p",
        (TWO, SECOND),
    ),
    Shape(
        "methods of measurement, one for each case",
        {"a.csv": csv(case=range(N), method=["a", "b"] * 60, y=Y, p=P)},
        "binary",
        "y",
        "p",
        (TWO,),
    ),
    Shape(
        "an outcome without relation to the forecasts",
        {"a.csv": csv(died=FAIR, risk_score=P)},
        "binary",
        "died",
        "risk_score",
        (loss(P, FAIR),),
        says=(
            "a.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  probabilities `risk_score`; two values `died`\n"
            "  if `died` is the outcome, though the forecasts show no relation to it:  veracity "
            "assess a.csv --label died --positive-proba risk_score"
        ),
        remedy="veracity assess a.csv --label died --positive-proba risk_score",
    ),
    Shape(
        "a forecast beside a column without relation",
        {"a.csv": csv(sold=Y, model_p=P, discount=FAIR * 0.25 + P[::-1] * 0.5)},
        "binary",
        "sold",
        "model_p",
        (TWO,),
        says=(
            "a.csv: not clear which column is the outcome and which the forecast.\n"
            "  columns:  probabilities `model_p`, `discount`; two values `sold`\n"
            "  for example:  veracity assess a.csv --label sold --positive-proba model_p"
        ),
        remedy="veracity assess a.csv --label sold --positive-proba model_p",
    ),
    Shape(
        "losses and entropies beside the score",
        {"a.csv": csv(label=Y, score=P, brier=(Y - P) ** 2, entropy=P * (1 - P))},
        "binary",
        "label",
        "score",
        (TWO,),
    ),
    Shape(
        "mean and standard deviation of an ensemble of networks",
        {"a.csv": csv(target=Y, mean=P, std=0.3 * OTHER)},
        "binary",
        "target",
        "mean",
        (TWO,),
    ),
]
