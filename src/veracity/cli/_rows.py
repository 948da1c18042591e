"""Reading one model's forecasts and writing mapped ones: what `adjust` and `calibrate` share."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import click

from veracity.cli._output import check_file

if TYPE_CHECKING:
    from veracity.forecasts import Forecasts
    from veracity.read import Reading

ENDINGS = (".csv", ".parquet")


def check_rows_file(output: str, force: bool) -> None:
    if output == "-":
        return
    if not output.lower().endswith(ENDINGS):
        raise ValueError(f"-o {output}: give a file that ends in {' or '.join(ENDINGS)}, or -")
    check_file(output, force)


def one_model(files: tuple[str, ...], reading: Reading) -> Forecasts:
    """The forecasts of these files, which must be of one model and hold whole rows."""
    from veracity.read import source

    opened = source(list(files), reading)
    click.echo(opened.layout.one_line(), err=True)
    models = opened.read()
    if len(models) > 1:
        raise ValueError(
            f"{', '.join(files)}: {len(models)} models, {', '.join(models)}; a map belongs to one\n"
            "  choose its columns:  --positive-proba COL   or   --proba PATTERN   or its rows:  --where COL=VALUE"
        )
    (forecasts,) = models.values()
    if forecasts.probabilities is None:
        raise ValueError(f"{', '.join(files)}: only the probability of what happened is known; maps need whole rows")
    return forecasts


def checked_probabilities(rows: Any, forecasts: Forecasts) -> None:
    """Refuse to hand out as probabilities what lies outside [0, 1]."""
    import numpy as np

    bad = (rows < 0.0) | (rows > 1.0)
    if bad.any():
        first = np.argwhere(bad)[0]
        raise ValueError(
            f"{int(bad.sum()):,} values would leave [0, 1] (first: row {forecasts.row(int(first[0]))}, class "
            f"{forecasts.classes[first[1]]}, {rows[tuple(first)]:.6g}): no probabilities; nothing was written\n"
            "  keep them inside:  --rule log"
        )


def content(forecasts: Forecasts, rows: Any, output: str) -> bytes:
    """Outcome and mapped probabilities as a file that `veracity assess` reads."""
    import numpy as np
    import polars as pl

    columns: dict[str, Any] = {}
    names = [str(c) for c in forecasts.classes]
    if forecasts.outcomes is not None:
        columns["label"] = np.asarray(names)[forecasts.outcomes]
    columns |= {f"p_{name}": rows[:, j] for j, name in enumerate(names)}
    for name, held in (("weight", forecasts.weights), ("count", forecasts.counts)):
        if held is not None:
            columns[name] = held
    frame, buffer = pl.DataFrame(columns), io.BytesIO()
    if output.lower().endswith(".parquet"):
        frame.write_parquet(buffer)
    else:
        frame.write_csv(buffer)
    return buffer.getvalue()
