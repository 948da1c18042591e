"""CBPE of NannyML, in an environment of its own: `PYTHON bench/cbpe.py FOLDER`, see `bench.estimate`.

FOLDER holds reference0.npz, new0.npz, … (p of shape (n, k), y); accuracy and AUC by CBPE go to cbpe.json beside them.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

METRICS = {"accuracy": "accuracy", "roc_auc": "auc"}


def frame(path: Path) -> Any:
    import pandas as pd

    held = np.load(path)
    p = held["p"]
    columns = {f"p{j}": p[:, j] for j in range(p.shape[1])}
    return pd.DataFrame({**columns, "prediction": p.argmax(axis=1), "y": held["y"]})


def estimated(reference: Any, new: Any) -> dict[str, float]:
    import nannyml

    k = sum(name.startswith("p") and name != "prediction" for name in reference)
    found = nannyml.CBPE(
        y_pred_proba="p1" if k == 2 else {j: f"p{j}" for j in range(k)},
        y_pred="prediction",
        y_true="y",
        metrics=list(METRICS),
        problem_type="classification_binary" if k == 2 else "classification_multiclass",
        chunk_number=1,
    )
    table = found.fit(reference).estimate(new.drop(columns="y")).filter(period="analysis").to_df()
    return {METRICS[name]: float(table[(name, "value")].iloc[0]) for name in METRICS}


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    draws = range(len(list(folder.glob("new*.npz"))))
    found = [estimated(frame(folder / f"reference{i}.npz"), frame(folder / f"new{i}.npz")) for i in draws]
    (folder / "cbpe.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
