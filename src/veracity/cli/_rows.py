"""One model's forecasts, to be mapped and written: what `adjust` and `calibrate` share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from veracity.cli._engine import Counting
from veracity.cli._output import Together, check_file, to_stdout
from veracity.cli._progress import Working

if TYPE_CHECKING:
    import polars as pl

    from veracity.forecasts import Finding, Forecasts
    from veracity.maps import Fitted
    from veracity.read import Reading

ENDINGS = (".csv", ".parquet")
CHANGED = ("skipped_files", "soft_outcomes", "rescaled_rows")


class Rows(Protocol):
    """Forecasts of one model, in memory or read in parts."""

    @property
    def classes(self) -> tuple[Any, ...]: ...
    @property
    def prior(self) -> Any: ...
    @property
    def mean(self) -> Any: ...
    @property
    def rows(self) -> Forecasts: ...
    @property
    def beside(self) -> tuple[str, ...]: ...
    @property
    def findings(self) -> tuple[Finding, ...]: ...
    def adjustment(self, target: Any, *, rule: str | float) -> Fitted: ...
    def label_shift(self, trained_on: Any) -> tuple[Any, Finding]: ...
    def fit(self, name: str) -> Fitted: ...
    def basis(self, fitted: Fitted) -> str: ...
    def write(self, fitted: Fitted, path: str | Path, ending: str) -> int: ...


class Held:
    """All rows in memory, and what their files hold beside them."""

    def __init__(self, forecasts: Forecasts, others: pl.DataFrame) -> None:
        self.rows, self.others = forecasts, others
        self.classes, self.findings = forecasts.classes, forecasts.findings

    @property
    def prior(self) -> Any:
        return self.rows.prior

    @property
    def beside(self) -> tuple[str, ...]:
        return tuple(self.others.columns)

    @property
    def mean(self) -> Any:
        return self.rows.mass @ self.rows.matrix / self.rows.mass.sum()

    def adjustment(self, target: Any, *, rule: str | float) -> Fitted:
        from veracity import maps

        name, numbers = maps.adjustment(rule)
        return maps.fit(name, self.rows, target=target, **numbers)

    def label_shift(self, trained_on: Any) -> tuple[Any, Finding]:
        from veracity import maps

        return maps.em(self.rows, trained_on)

    def fit(self, name: str) -> Fitted:
        from veracity import maps

        return maps.fit(name, self.rows)

    def basis(self, fitted: Fitted) -> str:
        return f"{len(self.rows):,} rows"

    def mapped(self, fitted: Fitted) -> pl.DataFrame:
        from veracity.engines._mapped import beside, frame, in_their_order

        held = self.rows
        weight, count = held.weights is not None, held.counts is not None
        return beside(self.others, frame(held, in_their_order(fitted, held), weight=weight, count=count))

    def write(self, fitted: Fitted, path: str | Path, ending: str) -> int:
        made = self.mapped(fitted)
        if ending == ".parquet":
            made.write_parquet(path)
        else:
            made.write_csv(path)
        return len(made)


class WithoutOutcomes(Held):
    """Rows of a file that holds no outcome."""

    def __init__(self, forecasts: Forecasts, others: pl.DataFrame) -> None:
        super().__init__(replace(forecasts, outcomes=None), others)

    @property
    def prior(self) -> Any:
        raise ValueError(
            "there is no outcome to count class frequencies from\n"
            "  give them:  uniform   or a file of class,probability   (or name the outcome:  --label COL)"
        )

    def mapped(self, fitted: Fitted) -> pl.DataFrame:
        from veracity.engines._mapped import beside, columns_of, in_their_order

        return beside(self.others, columns_of(self.classes, in_their_order(fitted, self.rows)))


def is_folder(output: str) -> bool:
    return output.endswith(("/", os.sep)) or Path(output).is_dir()


def map_beside(output: str) -> Path:
    """Where the map of these rows goes."""
    path = Path(output)
    return path.with_name(f"{path.name}.map.json") if is_folder(output) else path.with_suffix(".map.json")


def check_rows_file(output: str, force: bool) -> None:
    """Refuse before the work what could not be written after it."""
    if output == "-":
        return
    if is_folder(output):
        if Path(output).is_dir() and any(Path(output).iterdir()):
            raise ValueError(f"-o {output}: the folder is not empty; give a new one")
        check_file(str(map_beside(output)), True)
        return
    if not output.lower().endswith(ENDINGS):
        raise ValueError(f"-o {output}: give a file that ends in {' or '.join(ENDINGS)}, a folder/, or -")
    check_file(output, force)


def one_model(
    files: tuple[str, ...],
    reading: Reading,
    counting: Counting,
    working: Working,
    output: str,
    *,
    outcomes: str = "needed",
    classes: Sequence[Any] | None = None,
) -> Rows:
    """The forecasts of these files, which must be of one model and hold whole rows.

    outcomes  needed; asked: if there are none, the rows will do; unused: if they cannot be read, so will the rows
    classes   of the map that will be applied
    """
    from veracity.read import Source, source
    from veracity.read.beside import KEPT
    from veracity.read.files import expanded
    from veracity.read.unlabelled import unlabelled, without_outcomes

    for option in ("group", "ideal", "feature"):
        if getattr(reading, option):
            raise ValueError(
                f"--{option}: a map is one for all rows, and needs none\n"
                "  for rows of one kind, a map of their own:  --where COL=VALUE"
            )
    paths = expanded(list(files))
    beside = "not used" if outcomes == "needed" else KEPT
    if counting.in_parts(paths) or (is_folder(output) and output != "-"):
        opened = counting.opened(paths, reading, working)
        click.echo(opened.layout.one_line(beside), err=True)
        return opened
    try:
        held = source(paths, reading)
    except ValueError:
        found = None if outcomes == "needed" else unlabelled(paths, reading, classes, asked=outcomes == "asked")
        if found is None:
            raise
        held = Source(*found, reading)
    try:
        models = held.read()
    except ValueError:
        layout = without_outcomes(held.layout) if outcomes == "unused" else None
        if layout is None:
            raise
        held = Source(held.tables, layout, reading)
        models = held.read()
    click.echo(held.layout.one_line(beside), err=True)
    if len(models) > 1:
        raise ValueError(
            f"{', '.join(files)}: {len(models)} models, {', '.join(models)}; a map belongs to one\n"
            "  choose its columns:  --positive-proba COL   or   --proba PATTERN   or its rows:  --where COL=VALUE"
        )
    (forecasts,) = models.values()
    if forecasts.probabilities is None:
        raise ValueError(f"{', '.join(files)}: only the probability of what happened is known; maps need whole rows")
    return (WithoutOutcomes if held.layout.kind == "unlabelled" else Held)(forecasts, held.beside(forecasts))


def write(rows: Rows, fitted: Fitted, output: str, together: Together) -> int:
    """Mapped rows into a file, a folder or standard output, whole or not at all; how many there are."""
    if output == "-":
        with tempfile.TemporaryDirectory() as scratch:
            path = Path(scratch, "rows.csv")
            number = rows.write(fitted, path, ".csv")
            with path.open("rb") as made:
                while chunk := made.read(1 << 20):
                    to_stdout(chunk)
        return number
    numbers: list[int] = []
    put = together.made_folder if is_folder(output) else together.made
    ending = Path(output).suffix.lower()
    put(output, lambda path: numbers.append(rows.write(fitted, path, ending)))
    return numbers[0]


def say_what_changed(rows: Rows) -> None:
    """Rows that are not in the output, or not as they were, and columns that are not."""
    from veracity.forecasts.findings import LEFT_OUT

    names = {"label", "weight", "count", *(f"p_{name}" for name in rows.classes)}
    taken = [name for name in rows.beside if name in names]
    if taken:
        click.echo(f"warning: columns of the file give way to new ones of the same name: {', '.join(taken)}", err=True)
    for finding in rows.findings:
        if finding.code in (*LEFT_OUT, *CHANGED):
            click.echo(f"warning: {finding.message}", err=True)
