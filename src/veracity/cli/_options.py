"""The options that commands share, in groups, and the request that they make.

Choices come from listing folders: importing the modules would make --help slow.
"""

from __future__ import annotations

import pkgutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from veracity.read import ReadOptions
    from veracity.state.plan import Plan

INPUT, CASES, ESTIMATION, OUTPUT, ENGINE = GROUPS = ("Input", "Cases", "Estimation", "Output", "Engine")

TYPED = f"{__name__}.typed"  # options of the command line with their values as they were written

Declared = Mapping[str, str | tuple[str, Mapping[str, Any]]]  # {declaration: help, or (help, how)}


class Option(click.Option):
    """An option of a group of the help, declared as shown there ("-o --output OUT"); `name` of its parameter."""

    def __init__(self, group: str, declared: str, help: str, name: str | None = None, **how: Any) -> None:
        names = [word for word in declared.split() if word.startswith("-")]
        metavar = " ".join(declared.split()[len(names) :]) or None
        own = [*names, name] if name else names
        super().__init__(own, help=help, metavar=metavar, show_default="default" in how, **how)
        self.group = group

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """Return the value; one without a letter is refused: commands would take it for an option left out."""
        values = value if isinstance(value, list | tuple) else [value]
        if any(isinstance(each, str) and not each.strip() for each in values):
            raise click.UsageError(f"{self.opts[0]} is empty; give {self.make_metavar(ctx)}, or leave it out", ctx)
        return super().process_value(ctx, value)


class Command(click.Command):
    """A command whose help shows its options in groups, and that takes an option once unless it is repeatable."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        values, _, order = self.make_parser(ctx).parse_args(list(args))
        ctx.meta[TYPED] = [(option, values[option.name]) for option in dict.fromkeys(order) if option.name in values]
        for option, times in Counter(order).items():
            single = isinstance(option, click.Option) and not (option.multiple or option.is_flag)
            if single and times > 1 and not ctx.resilient_parsing:
                listed = ", its values separated by commas" if "," in (option.metavar or "") else ""
                raise click.UsageError(f"{option.opts[0]} is given {times} times; give it once{listed}", ctx)
        return super().parse_args(ctx, args)

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


def declare(group: str, options: Declared) -> tuple[Option, ...]:
    """Return the options of a group."""
    held = {name: (said, {}) if isinstance(said, str) else said for name, said in options.items()}
    return tuple(Option(group, name, said, **how) for name, (said, how) in held.items())


def choice(*values: str) -> dict[str, Any]:
    return {"type": click.Choice(values), "default": values[0]}


FLAG, MANY, WHOLE = {"is_flag": True}, {"multiple": True}, {"type": int}
MAPS = names_in("calibrators")
LAYOUTS = ("auto", *(name.replace("_", "-") for name in names_in("read/layouts")))

FILES = click.Argument(["files"], nargs=-1, required=True, metavar="FILE…")
_INPUT: Declared = {
    "--label COL": "Column of the observed outcome.",
    "--proba PATTERN": "Columns with one probability per class: names or globs; * is the class, {model} the model.",
    "--positive-proba COL[,COL…]": "Column with the probability of the event; several columns are several models.",
    "--positive LABEL": "Label that counts as the event.",
    "--layout": ("Arrangement of the columns; recognised by default.", choice(*LAYOUTS)),
    "--scale": (
        "Scale of the forecasts; only % signs and column names with logit or logprob are recognised.",
        {"type": click.Choice(["probability", "logit", "log", "percent"])},
    ),
    "--order LABEL,…": "Order of the classes.",
    "--pick COL": "Column of the picked label; the probability is the confidence in this pick.",
    "--label-file FILE": "File with the observed outcomes, joined on the ids of both files; without ids row by row.",
    "--no-header": ("The first line of a text file is a row, not the names of columns.", FLAG),
    "--members PATTERN": "Columns of the members of an ensemble; needs --exceeds.",
    "--exceeds X[,X…]": "Limits that the members exceed or not: (m + 1/3)/(M + 2/3) for m of M members; X,raw gives "
    "m/M.",
    "--cut X[,X…]": "Limits that turn a measured outcome into classes.",
    "--versus-rest LABEL[,LABEL…]": "Treat these classes together as the event.",
    "--normalise": ("Rescale rows whose probabilities do not sum to one.", FLAG),
    "--absent": (
        "nan: a missing probability means that the class was not offered in this row.",
        {"type": click.Choice(["nan"])},
    ),
    "--ideal PATTERN": "Columns of the true probabilities, where they are known.",
    "--feature COL": ("Column that the forecaster knew, such as age; repeatable.", MANY),
}
_CASES: Declared = {
    "--weight COL|FILE": "Importance of each row: a column, or a file with one column.",
    "--count COL": "Number of identical cases that the row represents.",
    "--model COL|none": "Column that names the model; none pools all models.",
    "--id COL[,COL…]": "Columns that identify a case.",
    "--where COL=VALUE": ("Use only these rows; also COL!=VALUE; repeatable.", MANY),
    "--missing": ("Rows with missing values: refuse or leave out.", choice("error", "drop")),
    "--soft": (
        "Outcomes between 0 and 1: share the case between the classes, leave it out, or refuse.",
        choice("split", "omit", "refuse"),
    ),
    "--group COL": ("Assess each value of this column as well; repeatable.", MANY),
    "--cluster COL": "Rows with one value here depend on each other: patients, states, answers.",
    "--time COL": "When each case took place; neighbours in time may depend on each other.",
}
READ = (*declare(INPUT, _INPUT), *declare(CASES, _CASES))
UNREAD = ("ideal", "feature", "group", "cluster", "time")  # change no probability and no outcome
_ESTIMATION: Declared = {
    "--floor": (
        "Least probability that counts in the three means; 0, or that of the preset (CQ: 0.005, N17: 0.01).",
        {"type": float},
    ),
    "--end-width": ("Width of the bins next to 0 and 1; 0.005 by default.", {"type": float}),
    "--bins auto|N": ("Number of bins of the calibration curve.", {"callback": _bins, "default": "auto"}),
    "--preset": ("Measure by the procedure of a paper as well.", {"type": click.Choice(["CQ", "N17"])}),
    "--map NAME": (
        f"Recalibration of the losses: auto is cross-fitted; the papers' in-sample ones are {', '.join(MAPS)}.",
        choice("auto", *MAPS),
    ),
    "--r R": (
        "Further risk parameter (1: Brier score, 0: log loss, below: misses count more); repeatable.",
        {"type": float, "multiple": True},
    ),
    "--level": ("Level of the intervals.", {"type": float, "default": 0.95}),
    "--bootstrap N": ("Intervals by resampling the cases N times.", WHOLE),
    "--shrink": ("Draw log losses of small groups towards the mean of all groups, or not.", choice("auto", "none")),
    "--window 30d|12m|N": "Readings in windows of days, months or N cases; needs --time.",
    "--lags L": ("Intervals in time by Bartlett weights of L lags instead of cosines.", WHOLE),
    "--seed": ("Seed of all random numbers.", {"type": int, "default": 0}),
}
PLAN = declare(ESTIMATION, _ESTIMATION)
FORCE = Option(OUTPUT, "--force", "Overwrite outputs that exist.", is_flag=True)
OUTPUTS = (
    Option(OUTPUT, "--report OUT.html", "Write a page that opens in any browser, offline; OUT.pdf prints it."),
    Option(OUTPUT, "--json OUT|-", "Write every number as one JSON document; - is standard output."),
    Option(OUTPUT, "--csv OUT|-", "Write every number as a table: name, value, low, high, method."),
    Option(OUTPUT, "--markdown OUT|-", "Write a summary for a pull request or an issue."),
    Option(OUTPUT, "--plots DIR", "Write every figure as PNG and SVG into this folder."),
    Option(OUTPUT, "--details", "Print every measure, not only the summary.", is_flag=True),
    FORCE,
    Option(OUTPUT, "--quiet", "Print the verdict only.", is_flag=True),
)
_ENGINE: Declared = {
    "--engine": (
        "Where the rows are read and counted: this machine or a cluster.",
        {"type": click.Choice(names_in("engines")), "default": "local"},
    ),
    "--engine-option K=V": ("Option of the engine; repeatable.", MANY),
}
ENGINES = declare(ENGINE, _ENGINE)
CHECKPOINT = Option(ENGINE, "--checkpoint FILE", "Save the state here; an interrupted run continues from it.")
ASSESS = (*READ, *PLAN, *ENGINES, CHECKPOINT)


@dataclass(frozen=True)
class Outputs:
    """The requested files, and how much is printed."""

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
        return cls(**{name.name: options.pop(name.name) for name in fields(cls)})

    @property
    def files(self) -> dict[str, str]:
        """Return {option: path} of the files asked for; "-" is standard output."""
        wanted = ("report", "json", "csv", "markdown")
        return {name: path for name in wanted if (path := getattr(self, name)) is not None}


@dataclass(frozen=True)
class Request:
    """The files and options of one command."""

    files: tuple[str, ...]
    reading: ReadOptions
    plan: Plan | None = None
    engine: str = "local"
    engine_options: Mapping[str, str] = field(default_factory=dict)
    checkpoint: str | None = None
    quiet: bool = False

    @classmethod
    def taken_from(cls, files: tuple[str, ...], options: dict[str, Any], quiet: bool = False, **plan: Any) -> Request:
        """Take the options of reading, estimation and engine out of a command's; the others stay.

        `plan` holds options of estimation that the command has beyond the common ones.
        """
        for text in options["engine_option"]:
            if "=" not in text:
                raise ValueError(f"--engine-option: {text!r} is not an option of an engine\n  write NAME=VALUE")
        pairs = [text.split("=", 1) for text in options.pop("engine_option")]
        for name, times in Counter(name for name, _ in pairs).items():
            if times > 1:
                raise ValueError(f"--engine-option {name} is given {times} times; give it once")
        planned = plan_from(options, **plan) if "floor" in options else None
        engine, checkpoint = options.pop("engine"), options.pop("checkpoint", None)
        reading = read_options_from(options)
        if planned is not None:  # classes and groups are known when the file has been read
            given = [name for name in ("cluster", "time") if getattr(reading, name)]
            planned.require(["classes", "groups", *given], "--")
        return cls(files, reading, planned, engine, dict(pairs), checkpoint, quiet)


def read_options_from(options: dict[str, Any]) -> ReadOptions:
    """Take the options of reading out of a command's; the others stay."""
    from veracity.read import ReadOptions

    given = {option.name: options.pop(option.name) for option in READ}
    return ReadOptions(**{name: value for name, value in given.items() if name and value is not None})


def typed_input_options() -> tuple[tuple[str, ...], ...]:
    """Return the options of the running command that say how its input is read, as they were written, in their order.

    Each is a name and its value, or the name of a flag.
    """
    found: list[tuple[str, ...]] = []
    for option, value in click.get_current_context().meta.get(TYPED, ()):
        if option in READ and option.name not in UNREAD:
            written = value if isinstance(value, list) else [value]
            found += [(option.opts[0],) if option.is_flag else (option.opts[0], str(one)) for one in written]
    return tuple(found)


def plan_from(options: dict[str, Any], **more: Any) -> Plan:
    """Take the options of estimation out of a command's; the others stay."""
    from veracity.state.plan import Plan

    given = {option.name: options.pop(option.name) for option in PLAN} | more
    try:
        return Plan(random_state=given.pop("seed"), **given)
    except ValueError as problem:
        argument, _, what = str(problem).partition(": ")
        named = "seed" if argument == "random_state" else argument.replace("_", "-")
        raise ValueError(f"--{named} {what}") from None
