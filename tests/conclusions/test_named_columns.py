"""Naming a column that joins no cases moves no loss: folds follow what the cases hold."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from bench._truth import draw, stated, truth
from veracity.cli import run

JOINS_NOTHING = ("--id case", "--id case,day", "--group region", "--group day", "--id case --group region")
ALONE = "--cluster case"  # another variance, and the same folds
JOINS = ("--cluster region", "--time day", "--id region")


def written(path: Path, kind: str, n: int) -> Path:
    rng = np.random.default_rng([35, n])
    if kind == "eleven":  # distinct forecasts of many equal cases, whose folds are drawn at once
        p1 = rng.integers(1, 10, n) / 10.0
        p, y = np.column_stack([1.0 - p1, p1]), (rng.random(n) < p1**1.3).astype(int)
    else:
        q = truth(kind, n, rng)
        p, y = stated(q, "T", 1.4), draw(q, rng)
    columns = [f"p_{j}" for j in range(p.shape[1])]
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["outcome", *columns, "case", "region", "day"])
        table.writerows([y[i], *p[i].tolist(), f"c{i}", "abcdefghijkl"[i * 7 % 12], i // 9] for i in range(n))
    return path


@pytest.mark.parametrize(("kind", "n"), [("bin", 400), ("k3", 300), ("eleven", 900)])
def test_losses_are_those_of_the_rows_whatever_column_is_named(
    kind: str, n: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "forecasts.csv", kind, n)

    def losses(options: str) -> tuple[float, ...]:
        assert run(["assess", str(path), "--label", "outcome", "--json", "-", *options.split()]) in (0, None)
        found = json.loads(capsys.readouterr().out)["losses"]
        return tuple(found[rule][name]["value"] for rule in ("log", "brier") for name in ("CL", "AL", "RL"))

    whole = losses("")
    for options in (*JOINS_NOTHING, ALONE):
        assert losses(options) == pytest.approx(whole, abs=1e-12), options
    for options in JOINS:
        assert losses(options) != pytest.approx(whole, abs=1e-12), options
