"""Networks' outputs from a folder: logits or probabilities with labels, as npz, npy, Parquet or CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from veracity.inputs import Forecasts

ENDINGS = (".npz", ".npy", ".parquet", ".csv")
LABELS = ("labels", "label", "targets", "target", "y", "y_true", "truth", "val_labels")
OUTPUTS = ("logits", "outputs", "probabilities", "softmax", "scores", "predictions")  # named after their folder


def load(folder: Path) -> dict[str, Forecasts]:
    """Return {network: forecasts} of a folder and its subfolders.

    A file holds outputs and labels together (as `veracity assess` reads them), or outputs only, with a file called
    `labels` next to it. Values that are no probabilities are taken as logits.
    """
    if not folder.is_dir():
        raise ValueError(f"--outputs {folder}: no such folder\n  give the one with a file for each network")
    found: dict[str, Forecasts] = {}
    for place in [folder, *sorted(p for p in folder.iterdir() if p.is_dir())]:
        files = sorted(p for p in place.iterdir() if p.suffix in ENDINGS)
        labels = next((p for p in files if p.stem.lower() in LABELS), None)
        for path in files:
            if path == labels:
                continue
            name = place.name if path.stem.lower() in OUTPUTS else path.stem
            found[name] = one_model(path) if labels is None else _with_labels(path, labels)
    if not found:
        raise ValueError(
            f"--outputs {folder}: no file ends in {', '.join(ENDINGS)}; give one file per network with logits and "
            "labels, or logits with a file `labels` next to it"
        )
    return found


def one_model(path: Path) -> Forecasts:
    """Return the forecasts of a file with outputs and labels of one network."""
    from veracity.read import read

    models = read([path])
    if len(models) != 1:
        raise ValueError(f"{path.name}: {len(models)} models in one file; give one file per network")
    return next(iter(models.values()))


def _with_labels(path: Path, labels: Path) -> Forecasts:
    values, y = _array(path), _array(labels).reshape(-1)
    if values.ndim != 2 or len(values) != len(y):
        raise ValueError(f"{path.name}: shape {values.shape} does not fit {len(y)} labels in {labels.name}")
    probabilities = bool(((values >= 0) & (values <= 1)).all() and np.abs(values.sum(axis=1) - 1).max() < 1e-3)
    return Forecasts.of(
        y,
        values,
        normalise=probabilities,
        scale="probability" if probabilities else "logit",
        labels=range(values.shape[1]),
    )


def _array(path: Path) -> Any:
    """Return the only array of a file."""
    if path.suffix == ".npy":
        return np.load(path, allow_pickle=False)
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as held:
            if len(held.files) != 1:
                raise ValueError(
                    f"{path.name}: {len(held.files)} arrays ({', '.join(held.files)}); one is expected here"
                )
            return held[held.files[0]]
    import polars as pl

    frame = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path)
    return frame.to_numpy()
