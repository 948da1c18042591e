"""Makes the bundled forecasts: cross-validated probabilities of three models on scikit-learn's digits.

    .venv/bin/python demo/make_predictions.py

Each row of a file is one of 1,797 handwritten digits: `label` is what it shows, `p_0` … `p_9` what the model thought
before it had seen that digit. Gaussian naive Bayes is over-confident by nature (it counts related pixels as
independent evidence), a random forest under-confident (it averages votes), logistic regression nearly right.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

HERE = Path(__file__).parent
DIGITS = 7  # of each probability; rows still sum to one exactly as printed

MODELS = {
    "logistic_regression": make_pipeline(StandardScaler(), LogisticRegression(C=3.0, max_iter=4000)),
    "naive_bayes": GaussianNB(var_smoothing=0.3),
    "random_forest": RandomForestClassifier(n_estimators=200, random_state=0),
}


def rounded(p: np.ndarray) -> np.ndarray:
    """Whole units of 10^-DIGITS that sum to one: floors, then one more unit for the largest remainders.

    Nothing that the model called possible becomes impossible: the smallest unit is the least, taken from the largest.
    """
    unit = 10**DIGITS
    p = p / p.sum(axis=1, keepdims=True)
    whole = np.floor(p * unit)
    whole[(whole == 0) & (p > 0)] = 1
    whole[np.arange(len(p)), p.argmax(axis=1)] += unit - whole.sum(axis=1)
    return whole / unit


def text(value: float) -> str:
    return f"{value:.{DIGITS}f}".rstrip("0").rstrip(".") or "0"


def main() -> None:
    pixels, label = load_digits(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for name, model in MODELS.items():
        p = rounded(cross_val_predict(model, pixels, label, cv=folds, method="predict_proba"))
        lines = [",".join(["label", *(f"p_{k}" for k in range(10))])]
        lines += [",".join([str(y), *map(text, row)]) for y, row in zip(label, p, strict=True)]
        (HERE / f"{name}.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
