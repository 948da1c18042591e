"""One model's forecasts, to be mapped and written: what `adjust` and `calibrate` share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
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
    from veracity.read.unlabelled import Unlabelled

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
    def findings(self) -> tuple[Finding, ...]: ...
    def adjustment(self, target: Any, *, rule: str | float) -> Fitted: ...
    def label_shift(self, trained_on: Any) -> tuple[Any, Finding]: ...
    def fit(self, name: str) -> Fitted: ...
    def basis(self, fitted: Fitted) -> str: ...
    def write(self, fitted: Fitted, path: str | Path, ending: str) -> int: ...


class Held:
    """All rows in memory."""

    def __init__(self, forecasts: Forecasts) -> None:
        self.rows = forecasts
        self.classes, self.findings = forecasts.classes, forecasts.findings

    @property
    def prior(self) -> Any:
        return self.rows.prior

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
        from veracity.engines._mapped import frame, in_their_order

        held = self.rows
        weight, count = held.weights is not None, held.counts is not None
        return frame(held, in_their_order(fitted, held), weight=weight, count=count)

    def write(self, fitted: Fitted, path: str | Path, ending: str) -> int:
        made = self.mapped(fitted)
        if ending == ".parquet":
            made.write_parquet(path)
        else:
            made.write_csv(path)
        return len(made)


class WithoutOutcomes(Held):
    """Rows of a file that holds no outcome; its other columns are kept."""

    def __init__(self, found: Unlabelled) -> None:
        self.rows, self.found = found.forecasts, found
        self.classes, self.findings = self.rows.classes, self.rows.findings

    @property
    def prior(self) -> Any:
        raise ValueError(
            "there is no outcome to count class frequencies from\n"
            "  give them:  uniform   or a file of class,probability   (or name the outcome:  --label COL)"
        )

    def mapped(self, fitted: Fitted) -> pl.DataFrame:
        import polars as pl

        from veracity.engines._mapped import in_their_order

        rows, others = in_their_order(fitted, self.rows), self.found.others
        made = pl.DataFrame({f"p_{name}": rows[:, j] for j, name in enumerate(map(str, self.classes))})
        both = sorted(set(made.columns) & set(others.columns))
        if both:
            raise ValueError(f"the file has columns of its own named {', '.join(both)}; rename or leave them out")
        return pl.concat([others, made], how="horizontal")


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
    labelled: bool = True,
    classes: Sequence[Any] | None = None,
) -> Rows:
    """The forecasts of these files, which must be of one model and hold whole rows.

    labelled  whether outcomes are needed; if not, `classes` are those of the map that will be applied
    """
    from veracity.read import source
    from veracity.read.files import expanded
    from veracity.read.unlabelled import unlabelled

    paths = expanded(list(files))
    if counting.in_parts(paths) or (is_folder(output) and output != "-"):
        opened = counting.opened(paths, reading, working)
        click.echo(opened.layout.one_line(), err=True)
        return opened
    try:
        held = source(paths, reading)
    except ValueError:
        found = None if labelled else unlabelled(paths, reading, classes)
        if found is None:
            raise
        click.echo(found.one_line(), err=True)
        return WithoutOutcomes(found)
    click.echo(held.layout.one_line(), err=True)
    models = held.read()
    if len(models) > 1:
        raise ValueError(
            f"{', '.join(files)}: {len(models)} models, {', '.join(models)}; a map belongs to one\n"
            "  choose its columns:  --positive-proba COL   or   --proba PATTERN   or its rows:  --where COL=VALUE"
        )
    (forecasts,) = models.values()
    if forecasts.probabilities is None:
        raise ValueError(f"{', '.join(files)}: only the probability of what happened is known; maps need whole rows")
    return Held(forecasts)


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
    """Rows that are not in the output, or not as they were."""
    from veracity.forecasts.findings import LEFT_OUT

    for finding in rows.findings:
        if finding.code in (*LEFT_OUT, *CHANGED):
            click.echo(f"warning: {finding.message}", err=True)
