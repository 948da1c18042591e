"""The options of commands as click takes them, in groups, and the request that they make.

Those that commands share are declared by their records, in options/ and state/plan.py; what one command has alone
stands in its file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import click

from veracity import options as declared
from veracity.options import (
    CASES,
    ENGINE,
    ESTIMATION,
    GROUPS,
    INPUT,
    OUTPUT,
    READING,
    OptionError,
    ReadOptions,
    module_names,
)
from veracity.state.plan import PLANNED, Plan

__all__ = ["CASES", "ENGINE", "ESTIMATION", "INPUT", "OUTPUT"]

EVERY = f"{__name__}.every"  # whether the help shows all options
TYPED = f"{__name__}.typed"  # options of the command line with their values as they were written


class Option(click.Option):
    """An option of a group of the help, declared as shown there ("-o --output OUT"); `name` of its parameter.

    basic  whether --help shows it, not --help-all alone
    """

    def __init__(
        self, group: str, declared: str, help: str, name: str | None = None, *, basic: bool = True, **how: Any
    ) -> None:
        names = [word for word in declared.split() if word.startswith("-")]
        metavar = " ".join(declared.split()[len(names) :]) or None
        own = [*names, name] if name else names
        super().__init__(own, help=help, metavar=metavar, show_default="default" in how, **how)
        self.group, self.basic = group, basic

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

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the options, with --help-all after --help where that does not show every one."""
        own = super().get_params(ctx)
        if all(getattr(parameter, "basic", True) for parameter in self.params):
            return own
        return [*own, Option(OUTPUT, "--help-all", "Show all options and exit.", **HELP_ALL)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        every = ctx.meta.get(EVERY, False)
        shown: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None and (every or getattr(parameter, "basic", True)):
                shown[getattr(parameter, "group", OUTPUT)].append(record)
        for group, records in shown.items():
            if records:
                with formatter.section(group):
                    formatter.write_dl(records)


def _help_all(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[EVERY] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


HELP_ALL: Mapping[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": _help_all}


def option_of(option: declared.Option) -> Option:
    """Return a declared option as click takes it."""
    how: dict[str, Any] = {"multiple": True} if option.repeatable else {}
    if option.default is False:
        how["is_flag"] = True
    elif option.default not in (None, ()):
        how["default"] = option.default
    if option.among:
        how["type"] = click.Choice(option.choices)
    elif option.typed:
        how["type"] = option.typed
    written = f"{option.typed_as} {option.metavar}"
    listed = option.help.replace("{choices}", ", ".join(option.choices[1:]))
    return Option(option.group, written, listed, option.name, basic=option.basic, **how)


def options_for(record: Mapping[str, declared.Option], command: str = "") -> tuple[Option, ...]:
    """Return the options of a record that every command has; with a command, those that it has alone."""
    return tuple(
        option_of(each) for each in record.values() if (command in each.commands if command else not each.commands)
    )


FILES = click.Argument(["files"], nargs=-1, required=True, metavar="FILE…")
MAPS = module_names("calibrators")
READ, PLAN = options_for(READING), options_for(PLANNED)
_output = partial(declared.option, group=OUTPUT, basic=True)


@dataclass(frozen=True)
class Outputs:
    """The requested files, and how much is printed."""

    report: str | None = _output(None, "Write a page that opens in any browser offline; OUT.pdf prints it.", "OUT.html")
    json: str | None = _output(None, "Write every number as one JSON document; - is standard output.", "OUT|-")
    csv: str | None = _output(None, "Write every number as a table: name, value, low, high, method.", "OUT|-")
    markdown: str | None = _output(None, "Write a summary for a pull request or an issue.", "OUT|-")
    plots: str | None = _output(None, "Write every figure as PNG and SVG into this folder.", "DIR")
    openmetrics: str | None = _output(
        None, "Write gauges for Prometheus; - is standard output.", "OUT|-", commands=("assess", "monitor")
    )
    details: bool = _output(False, "Print every measure, not only the summary.")
    force: bool = _output(False, "Overwrite outputs that exist.")
    quiet: bool = _output(False, "Print the verdict only.")

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> Outputs:
        """Take the output options out of a command's; the others stay."""
        return cls(**{name.name: options.pop(name.name, name.default) for name in fields(cls)})

    @property
    def files(self) -> dict[str, str]:
        """Return {option: path} of the files asked for; "-" is standard output."""
        wanted = ("report", "json", "csv", "markdown", "openmetrics")
        return {name: path for name in wanted if (path := getattr(self, name)) is not None}

    @property
    def tell_hashes(self) -> bool:
        """Whether the hashes of the files that were read are asked for: each is one more pass over a file."""
        return self.details or self.json is not None or self.report is not None


OUTPUTS = options_for(declared.options_of(Outputs))
METRICS = options_for(declared.options_of(Outputs), "monitor")  # what the commands about one model write beside them
FORCE = next(option for option in OUTPUTS if option.name == "force")
ENGINES = (
    Option(
        ENGINE,
        "--engine",
        "Where the rows are read and counted: this machine or a cluster.",
        basic=False,
        type=click.Choice(module_names("engines")),
        default="local",
    ),
    Option(ENGINE, "--engine-option K=V", "Option of the engine; repeatable.", basic=False, multiple=True),
)
CHECKPOINT = Option(
    ENGINE, "--checkpoint FILE", "Save the state here; an interrupted run continues from it.", basic=False
)
ASSESS = (*READ, *PLAN, *ENGINES, CHECKPOINT)


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
    hashed: bool = False  # the provenance tells hashes of the files

    @classmethod
    def taken_from(
        cls, files: tuple[str, ...], options: dict[str, Any], quiet: bool = False, hashed: bool = False
    ) -> Request:
        """Take the options of reading, estimation and engine out of a command's; the others stay."""
        for text in options["engine_option"]:
            if "=" not in text:
                raise ValueError(f"--engine-option: {text!r} is not an option of an engine\n  write NAME=VALUE")
        pairs = [text.split("=", 1) for text in options.pop("engine_option")]
        for name, times in Counter(name for name, _ in pairs).items():
            if times > 1:
                raise ValueError(f"--engine-option {name} is given {times} times; give it once")
        planned = plan_from(options) if "floor" in options else None
        engine, checkpoint = options.pop("engine"), options.pop("checkpoint", None)
        reading = read_options_from(options)
        planned = planned and replace(planned, event=reading.positive)
        if planned is not None:  # classes and groups are known when the file has been read
            given = [name for name in ("cluster", "time") if getattr(reading, name)]
            planned.require(["classes", "groups", *given], "--")
        return cls(files, reading, planned, engine, dict(pairs), checkpoint, quiet, hashed)


def read_options_from(options: dict[str, Any]) -> ReadOptions:
    """Take the options of reading out of a command's; the others stay."""
    given = {name: options.pop(name) for name in READING}
    return ReadOptions(**{name: value for name, value in given.items() if value is not None})


def typed_input_options() -> tuple[tuple[str, ...], ...]:
    """Return the options of the running command that say how its input is read, as they were written, in their order.

    Each is a name and its value, or the name of a flag.
    """
    options: list[tuple[str, ...]] = []
    for option, value in click.get_current_context().meta.get(TYPED, ()):
        if option in READ and READING[option.name].kept:
            written = value if isinstance(value, list) else [value]
            options += [(option.opts[0],) if option.is_flag else (option.opts[0], str(one)) for one in written]
    return tuple(options)


def plan_from(options: dict[str, Any]) -> Plan:
    """Take the options of estimation out of a command's; the others stay."""
    try:
        return Plan(**{name: options.pop(name) for name in PLANNED if name in options})
    except OptionError as problem:
        raise ValueError(f"{PLANNED[problem.option].typed_as} {problem.what}") from None
