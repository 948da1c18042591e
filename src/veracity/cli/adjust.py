"""`veracity adjust`: match the class frequencies, and nothing else."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from veracity.cli._click import ENGINES, ESTIMATION, FILES, FORCE, READ, Command, Option, Request
from veracity.cli._mapped_rows import ROWS, SUFFIX, check_rows_file, map_file_of, one_model, warn_of_changes, write
from veracity.cli._output_files import OutputFiles, files_read, tell
from veracity.progress import ProgressBar

if TYPE_CHECKING:
    from veracity.results.recalibration_job import RecalibrationJob


OWN = (
    Option(
        ESTIMATION,
        "--to sample|uniform|em|bbse|PRIOR.csv",
        "Class frequencies to match: those of the outcomes, equal ones, an estimate from the forecasts alone under "
        "label shift (em: they were calibrated; bbse: see --reference), or a file of class,probability.",
        required=True,
    ),
    Option(
        ESTIMATION,
        "--rule log|brier|R",
        "Score whose loss is lowered: log multiplies, brier adds, a number r above -1 lies between and beyond.",
        default="log",
    ),
    Option(
        ESTIMATION,
        "--trained-on sample|uniform|PRIOR.csv",
        "For --to em: class frequencies that the model was trained on; those of the outcomes by default.",
    ),
    Option(
        ESTIMATION,
        "--reference FILE",
        "For --to bbse: forecasts of the model with outcomes from before the shift, calibrated or not.",
    ),
)


@click.command(cls=Command, params=[FILES, *READ, *OWN, ROWS, SUFFIX, FORCE, *ENGINES])
def command(
    files: tuple[str, ...],
    to: str,
    rule: str,
    trained_on: str | None,
    reference: str | None,
    output: str,
    suffix: str | None,
    force: bool,
    **options: Any,
) -> None:
    """Adjust forecasts to known class frequencies.

    Labels are not used case by case (Kull & Flach 2015). All columns stay as they are, and adjusted probabilities
    replace the forecasts; where rows are no forecasts, such as one line per class, they get columns p_CLASS. Files
    without outcomes will do, except for --to sample.

    The fitted map is written next to OUT, as its stem with .map.json; `veracity calibrate apply` applies it elsewhere.

    Where the distinct rows are many, each step of the fit is a pass over them. A file OUT is written by this machine,
    in order; into OUT/ each part is written where it is read, so the workers of a cluster must share that folder.
    Either appears whole or not at all.

    \b
    Examples:
      veracity adjust forecasts.csv --to sample -o adjusted.csv
      veracity adjust forecasts.csv --to prior.csv --rule brier -o adjusted.parquet
      veracity adjust forecasts.csv --to em --trained-on uniform -o adjusted.csv
      veracity adjust new.csv --to bbse --reference validation.csv -o adjusted.csv
      veracity adjust year/*.parquet --to sample --engine dask -o adjusted/
    """
    request = Request.taken_from(files, options)
    read = files_read(request, to, trained_on, reference)
    map_file = None if output == "-" else map_file_of(output)
    check_rows_file(output, force, read, map_file)
    if trained_on is not None and to != "em":
        raise ValueError("--trained-on: only the estimate of --to em needs it")
    if reference is not None and to != "bbse":
        raise ValueError(f"--reference {reference} has no effect; only the estimate of --to bbse needs it")
    if to == "bbse" and reference is None:
        raise ValueError(
            "--to bbse: the estimate needs forecasts with outcomes from before the shift\n  give them:  --reference "
            "FILE"
        )
    wanted_rule = number_or_name(rule)

    from veracity import calibrators

    calibrators.adjustment(wanted_rule)  # refuses a rule that has none
    with ProgressBar("reading") as working, OutputFiles(read) as outputs:
        asked = to == "sample" or (to == "em" and trained_on in (None, "sample"))
        model = one_model(request, working, outcomes="asked" if asked else "unused", suffix=suffix)
        if to == "em":
            target, finding = model.label_shift(frequencies(trained_on or "sample", model, "--trained-on"))
            tell(f"warning: {finding.message}")
        elif to == "bbse" and reference is not None:
            target, finding = model.black_box_shift(one_model(replace(request, files=(reference,)), working))
            tell(f"warning: {finding.message}")
        else:
            target = frequencies(to, model, "--to")
        fitted = model.adjustment(target, rule=wanted_rule)
        outside: int = getattr(fitted, "outside", 0)
        if outside:
            fitted = model.adjustment(target, inside=True)
            tell(
                f"warning: the shift would take {outside:,} values out of [0, 1]: each row is the nearest inside "
                f"instead, {getattr(fitted, 'edge', 0):,} values are now 0, and the means meet the target\n"
                "  without zeros:  --rule log"
            )
        if map_file is not None:
            outputs.add(map_file, fitted.to_json())
        write(model, fitted, output, outputs, suffix)
        warn_of_changes(model)
        printed = summary(model, target, fitted)
    tell(printed.rstrip("\n"), err=output == "-")


def number_or_name(rule: str) -> str | float:
    try:
        return float(rule)
    except ValueError:
        return rule


def frequencies(which: str, model: RecalibrationJob, option: str) -> Any:
    """Return class frequencies by word or from a file of class and probability."""
    import numpy as np

    if which == "sample":
        return model.prior
    if which == "uniform":
        return np.full(len(model.tally.classes), 1.0 / len(model.tally.classes))
    path = Path(which)
    if not path.is_file():
        words = "sample, uniform" + (", em, bbse" if option == "--to" else "")
        raise ValueError(f"{option} {which}: no such file; give {words} or a file of class,probability")
    given = prior_from(path)
    names = [str(c) for c in model.tally.classes]
    if set(given) != set(names):
        raise ValueError(
            f"{which}: classes {', '.join(given)}, but the forecasts are for {', '.join(names)}\n"
            "  give one line per class:  class,probability"
        )
    return np.array([given[name] for name in names])


def prior_from(path: Path) -> dict[str, float]:
    """Return {class: probability} from lines of both, or from a line of probabilities under the names."""
    from veracity.read.strings import number

    text = path.read_text(encoding="utf-8-sig")
    dialect = ";" if ";" in text else "\t" if "\t" in text else ","
    lines = [[cell.strip() for cell in line] for line in csv.reader(text.splitlines(), delimiter=dialect) if any(line)]
    if len(lines) == 2 and len(lines[0]) > 2:
        lines = [list(pair) for pair in zip(*lines, strict=False)]
    prior: dict[str, float] = {}
    for at, line in enumerate(lines):
        probability = number(line[1], comma=dialect != ",") if len(line) == 2 else None
        if probability is None:
            if at == 0 and len(line) == 2:  # the header
                continue
            raise ValueError(f"{path}: line {at + 1}, {dialect.join(line)!r} is not class{dialect}probability")
        name = line[0]
        if name in prior:
            raise ValueError(f"{path}: class {name} is given twice")
        prior[name] = probability
    if not prior:
        raise ValueError(f"{path}: no class in it\n  give one line per class:  class,probability")
    return prior


def summary(model: RecalibrationJob, target: Any, fitted: Any) -> str:
    """Return a table by class: mean forecast, target, and the weight or shift that leads from one to the other."""
    weights = getattr(fitted, "weights", None)
    moved, word = (weights, "weight") if weights is not None else (fitted.shift, "shift")
    names = [str(c) for c in model.tally.classes]
    wide = max(5, *map(len, names))
    lines = [f"{'class':<{wide}}  mean score      target  {word:>10}"]
    for row in zip(names, model.tally.mean_forecast, target, moved, strict=True):
        lines.append("{:<{wide}}  {:>10.6f}  {:>10.6f}  {:>10.6g}".format(*row, wide=wide))
    return "".join(f"{line}\n" for line in lines)
