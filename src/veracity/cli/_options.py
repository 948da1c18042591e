"""The options that commands share, in groups, and the request that they make.

Choices come from listing folders: importing the modules would make --help slow.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from veracity.read import ReadOptions
    from veracity.state.plan import Plan

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]

INPUT, CASES, ESTIMATION, OUTPUT, ENGINE = GROUPS = ("Input", "Cases", "Estimation", "Output", "Engine")


class Option(click.Option):
    """An option that is shown in a group."""

    def __init__(self, *names: Any, group: str = OUTPUT, **how: Any) -> None:
        super().__init__(*names, **how)
        self.group = group


class Command(click.Command):
    """A command whose help shows its options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        shown: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                shown[getattr(parameter, "group", OUTPUT)].append(record)
        for group, records in shown.items():
            if records:
                with formatter.section(group):
                    formatter.write_dl(records)


def option(group: str, *names: str, **how: Any) -> Decorator:
    """Return the decorator that adds an option to a group."""
    return click.option(*names, cls=Option, group=group, **how)


def choice(*values: str) -> dict[str, Any]:
    return {"type": click.Choice(values), "default": values[0], "show_default": True}


def names_in(folder: str) -> list[str]:
    """Return the public modules of a folder of the package."""
    path = str(Path(__file__).parents[1] / folder)
    return sorted(name for _, name, _ in pkgutil.iter_modules([path]) if not name.startswith("_"))


def _bins(ctx: click.Context, parameter: click.Parameter, value: str) -> int | str:
    if value == "auto":
        return value
    try:
        return int(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is neither auto nor a whole number", ctx, parameter) from None


MAPS = names_in("maps")
LAYOUTS = ("auto", "wide", "long", "binary", "pairs", "top", "realised", "counts", "lm-eval")

_READ = (
    option(INPUT, "--label", metavar="COL", help="Column of the observed outcome."),
    option(
        INPUT,
        "--proba",
        metavar="PATTERN",
        help="Columns with one probability per class: names or globs; * is the class, {model} the model.",
    ),
    option(
        INPUT,
        "--positive-proba",
        metavar="COL[,COL…]",
        help="Column with the probability of the event; several columns are several models.",
    ),
    option(INPUT, "--positive", metavar="LABEL", help="Label that counts as the event."),
    option(INPUT, "--layout", **choice(*LAYOUTS), help="Arrangement of the columns; recognised by default."),
    option(
        INPUT,
        "--scale",
        type=click.Choice(["probability", "logit", "log", "percent"]),
        help="Scale of the forecasts; only % signs and column names with logit or logprob are recognised.",
    ),
    option(INPUT, "--order", metavar="LABEL,…", help="Order of the classes."),
    option(INPUT, "--cut", metavar="X[,X…]", help="Limits that turn a measured outcome into classes."),
    option(INPUT, "--versus-rest", metavar="LABEL[,LABEL…]", help="Treat these classes together as the event."),
    option(INPUT, "--normalise", is_flag=True, help="Rescale rows whose probabilities do not sum to one."),
    option(
        INPUT,
        "--absent",
        type=click.Choice(["nan"]),
        help="nan: a missing probability means that the class was not offered in this row.",
    ),
    option(INPUT, "--ideal", metavar="PATTERN", help="Columns of the true probabilities, where they are known."),
    option(INPUT, "--feature", metavar="COL", multiple=True, help="What the forecaster knew of the case; repeatable."),
    option(CASES, "--weight", metavar="COL|FILE", help="Importance of each row: a column, or a file with one column."),
    option(CASES, "--count", metavar="COL", help="Number of identical cases that the row represents."),
    option(CASES, "--model", metavar="COL|none", help="Column that names the model; none pools all models."),
    option(CASES, "--id", metavar="COL[,COL…]", help="Columns that identify a case."),
    option(
        CASES, "--where", metavar="COL=VALUE", multiple=True, help="Use only these rows; also COL!=VALUE; repeatable."
    ),
    option(CASES, "--missing", **choice("error", "drop"), help="Rows with missing values: refuse or leave out."),
    option(
        CASES,
        "--soft",
        **choice("split", "omit", "refuse"),
        help="Outcomes between 0 and 1: share the case between the classes, leave it out, or refuse.",
    ),
    option(
        CASES, "--group", metavar="COL", multiple=True, help="Assess each value of this column as well; repeatable."
    ),
)
READ_NAMES = (
    *("label", "proba", "positive_proba", "positive", "layout", "scale", "weight", "count", "model", "id", "where"),
    *("missing", "soft", "normalise", "cut", "versus_rest", "order", "absent", "group", "ideal", "feature"),
)

_PLAN = (
    option(ESTIMATION, "--floor", type=float, default=0.0, show_default=True, help="Minimum probability."),
    option(ESTIMATION, "--end-width", type=float, default=0.005, show_default=True, help="Width of the two end bins."),
    option(
        ESTIMATION,
        "--bins",
        callback=_bins,
        metavar="auto|N",
        default="auto",
        show_default=True,
        help="Number of bins of the calibration curve.",
    ),
    option(ESTIMATION, "--preset", type=click.Choice(["CQ", "N17"]), help="Follow the procedure of a paper."),
    option(
        ESTIMATION,
        "--map",
        type=click.Choice(["auto", *MAPS]),
        metavar="NAME",
        default="auto",
        show_default=True,
        help=f"Recalibration of the losses: auto is cross-fitted; the papers' in-sample ones are {', '.join(MAPS)}.",
    ),
    option(ESTIMATION, "--r", type=float, multiple=True, metavar="R", help="Further risk parameter; repeatable."),
    option(ESTIMATION, "--level", type=float, default=0.95, show_default=True, help="Level of the intervals."),
    option(ESTIMATION, "--bootstrap", type=int, metavar="N", help="Intervals by resampling the cases N times."),
    option(ESTIMATION, "--seed", type=int, default=0, show_default=True, help="Seed of all random numbers."),
)

_ENGINE = (
    option(
        ENGINE,
        "--engine",
        type=click.Choice(names_in("engines")),
        default="local",
        show_default=True,
        help="Where the rows are read and counted: this machine or a cluster.",
    ),
    option(ENGINE, "--engine-option", metavar="K=V", multiple=True, help="Option of the engine; repeatable."),
)
_CHECKPOINT = option(
    ENGINE, "--checkpoint", metavar="FILE", help="Save the state here; an interrupted run continues from it."
)

_OUTPUT = (
    option(OUTPUT, "--report", metavar="OUT.html", help="Write a page that opens in any browser, offline."),
    option(OUTPUT, "--json", metavar="OUT|-", help="Write every number as one JSON document; - is standard output."),
    option(OUTPUT, "--csv", metavar="OUT|-", help="Write every number as a table: name, value, low, high, method."),
    option(OUTPUT, "--markdown", metavar="OUT|-", help="Write a summary for a pull request or an issue."),
    option(OUTPUT, "--plots", metavar="DIR", help="Write every figure as PNG and SVG into this folder."),
    option(OUTPUT, "--details", is_flag=True, help="Print every measure, not only the summary."),
    option(OUTPUT, "--force", is_flag=True, help="Overwrite outputs that exist."),
    option(OUTPUT, "--quiet", is_flag=True, help="Print the verdict only."),
)


def _all(*options: Decorator) -> Callable[[Decorated], Decorated]:
    def decorate(command: Decorated) -> Decorated:
        for one in reversed(options):
            command = one(command)
        return command

    return decorate


files_argument = click.argument("files", nargs=-1, required=True, metavar="FILE…")
read_options = _all(*_READ)
plan_options = _all(*_PLAN)
engine_options = _all(*_ENGINE)
output_options = _all(*_OUTPUT)
assess_options = _all(*_READ, *_PLAN, *_ENGINE, _CHECKPOINT)


@dataclass(frozen=True)
class Outputs:
    """The files that were asked for, and how much is printed."""

    report: str | None = None
    json: str | None = None
    csv: str | None = None
    markdown: str | None = None
    plots: str | None = None
    details: bool = False
    force: bool = False
    quiet: bool = False

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> Outputs:
        """Take the output options out of a command's; the others stay."""
        return cls(**{name.name: options.pop(name.name) for name in fields(cls) if name.name in options})

    @property
    def files(self) -> dict[str, str]:
        """Return {option: path} of the files asked for; "-" is standard output."""
        wanted = {"report": self.report, "json": self.json, "csv": self.csv, "markdown": self.markdown}
        return {name: path for name, path in wanted.items() if path is not None}

    @property
    def to_stdout(self) -> bool:
        return "-" in self.files.values()


@dataclass(frozen=True)
class Request:
    """What a command was asked to do with which files."""

    files: tuple[str, ...]
    reading: ReadOptions
    plan: Plan | None = None
    engine: str = "local"
    engine_options: Mapping[str, str] = field(default_factory=dict)
    checkpoint: str | None = None
    quiet: bool = False

    @classmethod
    def taken_from(cls, files: tuple[str, ...], options: dict[str, Any], quiet: bool = False) -> Request:
        """Take the options of reading, estimation and engine out of a command's; the others stay."""
        for text in options["engine_option"]:
            if "=" not in text:
                raise ValueError(f"--engine-option: {text!r} is no option of an engine\n  write NAME=VALUE")
        own = {text.partition("=")[0]: text.partition("=")[2] for text in options.pop("engine_option")}
        plan = plan_from(options) if "floor" in options else None
        engine, checkpoint = options.pop("engine"), options.pop("checkpoint", None)
        return cls(files, read_options_from(options), plan, engine, own, checkpoint, quiet)


def read_options_from(options: dict[str, Any]) -> ReadOptions:
    """Take the options of reading out of a command's; the others stay."""
    from veracity.read import ReadOptions

    given = {name: options.pop(name) for name in READ_NAMES}
    for name in ("id", "cut", "versus_rest", "order"):
        given[name] = given[name] or ()
    return ReadOptions(**given)


def plan_from(options: dict[str, Any]) -> Plan:
    """Take the options of estimation out of a command's; the others stay."""
    from veracity.state.plan import Plan

    names = ("floor", "end_width", "bins", "preset", "map", "level", "bootstrap", "r")
    try:
        return Plan(**{name: options.pop(name) for name in names}, random_state=options.pop("seed"))
    except ValueError as problem:
        argument, _, what = str(problem).partition(": ")
        named = "seed" if argument == "random_state" else argument.replace("_", "-")
        raise ValueError(f"--{named} {what}") from None
