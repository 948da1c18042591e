"""One model's forecasts, to be mapped and written: what `adjust` and `calibrate` share."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from veracity.cli._engine import Counting
from veracity.cli._output import Together, check_file, to_stdout
from veracity.cli._progress import Working
from veracity.words import count

if TYPE_CHECKING:
    import polars as pl

    from veracity.data import Finding, Forecasts
    from veracity.maps import Fitted
    from veracity.read import Match, ReadOptions

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
    def beside(self) -> dict[str, Any]: ...
    @property
    def numbered(self) -> tuple[str, ...]: ...
    @property
    def labelled(self) -> bool: ...
    @property
    def cases(self) -> int: ...
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
    def beside(self) -> dict[str, Any]:
        return dict(self.others.schema)

    @property
    def numbered(self) -> tuple[str, ...]:
        return ("weight",) * (self.rows.weights is not None) + ("count",) * (self.rows.counts is not None)

    @property
    def labelled(self) -> bool:
        return self.rows.outcomes is not None

    @property
    def cases(self) -> int:
        return len(self.rows) if self.rows.counts is None else int(self.rows.counts.sum())

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
        return count(len(self.rows), "row")

    def mapped(self, fitted: Fitted) -> pl.DataFrame:
        from veracity.engines._mapped import beside, frame, in_their_order

        held, also = self.rows, {name: name in self.numbered for name in ("weight", "count")}
        return beside(self.others, frame(held, in_their_order(fitted, held), **also))

    def write(self, fitted: Fitted, path: str | Path, ending: str) -> int:
        made = self.mapped(fitted)
        if ending == ".parquet":
            made.write_parquet(path)
        else:
            from veracity.engines._mapped import not_for_csv

            made.drop(not_for_csv(made.schema)).write_csv(path)
        return len(made)


class WithoutOutcomes(Held):
    """Rows of a file that holds no outcome."""

    def __init__(self, forecasts: Forecasts, others: pl.DataFrame) -> None:
        super().__init__(replace(forecasts, outcomes=None), others)

    @property
    def prior(self) -> Any:
        from veracity.engines._one_model import NO_OUTCOME

        raise ValueError(NO_OUTCOME)


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
    reading: ReadOptions,
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
    for option in ("group", "ideal", "feature"):
        if getattr(reading, option):
            raise ValueError(
                f"--{option}: a map is one for all rows, and needs none\n"
                "  for rows of one kind, a map of their own:  --where COL=VALUE"
            )
    from veracity.read.files import expanded

    paths = expanded(list(files))
    in_parts = counting.in_parts(paths) or (is_folder(output) and output != "-")
    opened = Streamed(counting, paths, working) if in_parts else InMemory(paths, reading, files)
    beside = "not used" if outcomes == "needed" else "kept"
    return _read(opened, reading, outcomes, classes, lambda layout: click.echo(layout.one_line(beside), err=True))


class Opened(Protocol):
    """Files that can be read in more than one way."""

    def recognised(self, reading: ReadOptions) -> Match: ...
    def may_hold_outcomes(self, layout: Match) -> bool: ...
    def rows(self) -> Rows: ...


def _read(
    opened: Opened, reading: ReadOptions, outcomes: str, classes: Sequence[Any] | None, tell: Callable[[Match], None]
) -> Rows:
    """With outcomes, or without where there are none or where nobody needs them; `tell` says how they are read."""
    from veracity.read.unlabelled import NoForecasts, options_of_forecasts, options_without_outcomes

    try:
        layout = opened.recognised(reading)
    except ValueError:
        other = None if outcomes == "needed" else options_without_outcomes(reading, classes)
        if other is None:
            raise
        found = False
        with suppress(NoForecasts):
            layout = opened.recognised(other)
            found = outcomes == "unused" or not opened.may_hold_outcomes(layout)
        if not found:
            raise
    tell(layout)
    try:
        return opened.rows()
    except ValueError:
        other = options_of_forecasts(reading, layout) if outcomes == "unused" else None
        if other is None:
            raise
        tell(opened.recognised(other))
        return opened.rows()


class InMemory:
    """Files that are read whole."""

    def __init__(self, paths: list[Path], reading: ReadOptions, files: tuple[str, ...]) -> None:
        from veracity.read import opened

        self.tables, self.files = opened(paths, reading), files  # once: standard input comes only once

    def recognised(self, reading: ReadOptions) -> Match:
        from veracity.read import source_of

        self.source = source_of(self.tables, reading)
        return self.source.layout

    def may_hold_outcomes(self, layout: Match) -> bool:
        from veracity.read.unlabelled import may_be_outcome

        sample = self.tables[0].sample
        return any(may_be_outcome(sample[name], layout.classes) for name, _ in layout.unused)

    def rows(self) -> Rows:
        models, named = self.source.read(), ", ".join(self.files)
        if len(models) > 1:
            raise ValueError(
                f"{named}: {len(models)} models, {', '.join(models)}; a map belongs to one\n"
                "  choose its columns:  --positive-proba COL   or   --proba PATTERN   or its rows:  --where COL=VALUE"
            )
        (forecasts,) = models.values()
        if forecasts.probabilities is None:
            raise ValueError(f"{named}: only the probability of what happened is known; maps need whole rows")
        kind = Held if self.source.layout.labelled else WithoutOutcomes
        return kind(forecasts, self.source.beside(forecasts))


class Streamed:
    """Files that are read in parts."""

    def __init__(self, counting: Counting, paths: list[Path], working: Working) -> None:
        self.counting, self.paths, self.working = counting, paths, working

    def recognised(self, reading: ReadOptions) -> Match:
        self.input = self.counting.opened(self.paths, reading, self.working)
        return self.input.layout

    def may_hold_outcomes(self, layout: Match) -> bool:
        return bool(layout.unused)  # only the rows that were looked at could tell

    def rows(self) -> Rows:
        _ = self.input.tally  # every value is looked at
        return self.input


def write(rows: Rows, fitted: Fitted, output: str, together: Together) -> int:
    """Mapped rows into a file, a folder or standard output, whole or not at all; how many there are."""
    from veracity.engines._mapped import not_for_csv

    lost = [] if is_folder(output) or output.lower().endswith(".parquet") else not_for_csv(rows.beside)
    if lost:
        click.echo(f"warning: CSV cannot hold {', '.join(lost)}: left out; write .parquet to keep them", err=True)
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
    from veracity.data.findings import LEFT_OUT

    names = {*(["label"] if rows.labelled else []), *rows.numbered, *(f"p_{name}" for name in rows.classes)}
    taken = [name for name in rows.beside if name in names]
    if taken:
        click.echo(f"warning: columns of the file give way to new ones of the same name: {', '.join(taken)}", err=True)
    for finding in rows.findings:
        if finding.code in (*LEFT_OUT, *CHANGED):
            click.echo(f"warning: {finding.message}", err=True)
