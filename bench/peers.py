"""Other libraries, where installed, for the part of an assessment that they do: CPU time of the whole ÷ theirs."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from bench import Work, race, row
from bench.assessment import Array, events
from veracity import assess


def model_diagnostics(y: Array, p: Array) -> dict[str, Work]:
    scoring, calibration = (import_module(f"model_diagnostics.{part}") for part in ("scoring", "calibration"))
    return {
        "CORP terms of log loss and Brier": lambda: [
            scoring.decompose(y, p, scoring_function=score) for score in (scoring.LogLoss(), scoring.SquaredError())
        ],
        "bias by forecast": lambda: calibration.compute_bias(y, p, feature=p),
    }


def probcal(y: Array, p: Array) -> dict[str, Work]:
    metrics = import_module("probcal.metrics")
    names = ("log_loss", "brier_score", "ece", "ece_debiased", "murphy_decomposition", "spiegelhalter_z")
    return {
        "log loss, Brier, calibration errors, Murphy's terms": lambda: [getattr(metrics, name)(y, p) for name in names]
    }


def torchmetrics(y: Array, p: Array) -> dict[str, Work]:
    torch, metrics = import_module("torch"), import_module("torchmetrics.functional.classification")
    forecasts, outcomes = torch.from_numpy(p), torch.from_numpy(y)
    return {
        "calibration errors, AUC": lambda: [
            *(metrics.binary_calibration_error(forecasts, outcomes, n_bins=15, norm=norm) for norm in ("l1", "max")),
            metrics.binary_auroc(forecasts, outcomes),
        ]
    }


def netcal(y: Array, p: Array) -> dict[str, Work]:
    metrics = import_module("netcal.metrics")
    return {"ECE, MCE, ACE": lambda: [getattr(metrics, name)(15).measure(p, y) for name in ("ECE", "MCE", "ACE")]}


PEERS = {
    "model_diagnostics": model_diagnostics,
    "probcal": probcal,
    "torchmetrics": torchmetrics,
    "netcal": netcal,
}


def run(quick: bool = False) -> dict[str, Any]:
    """No targets: each library does a part of the work only."""
    rows = 100_000 if quick else 1_000_000
    y, p = events(rows)
    table: list[dict[str, Any]] = []
    for name, works in PEERS.items():
        if find_spec(name) is None:
            table.append(row(f"{name}: not installed", None, None))
            continue
        for what, work in works(y, p).items():
            ours, theirs = race(lambda: assess(y, p), work)
            table.append(
                row(f"{rows:.0e} binary, × {name}: {what}", ours / theirs, None, ours=ours, theirs=theirs, rows=rows)
            )
    return {"table": table}
