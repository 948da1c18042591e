"""Every option once: how it is written, explained and checked, what it needs, and which commands have it.

An option is a field of a record: `ReadOptions` here (how input is read), `Plan` in state/plan.py (how it is assessed),
`Outputs` in cli/_click.py (what is written); values are taken here, in numbers.py and in deciding.py. The command line,
its help, the arguments in Python, refusals and proposed commands follow from the fields. Nothing heavy is imported, so
that help is quick.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any
from unicodedata import normalize

INPUT, CASES, ESTIMATION, OUTPUT, ENGINE = GROUPS = ("Input", "Cases", "Estimation", "Output", "Engine")
NAMES = "\x1f"  # between names that were given as a list


class OptionError(ValueError):
    """A value that an option cannot have; `option` is the name of its field, `what` is wrong with it."""

    def __init__(self, option: str, what: str) -> None:
        super().__init__(f"{option}: {what}")
        self.option, self.what = option, what


def module_names(package: str, *first: str) -> list[str]:
    """Return the public modules of a package of ours, such as "read.layouts", after other names; none is imported."""
    loaded = sys.modules.get(f"veracity.{package}")
    path = loaded.__path__ if loaded else [str(Path(__file__).parents[1].joinpath(*package.split(".")))]
    return [*first, *sorted(name for _, name, _ in pkgutil.iter_modules(path) if not name.startswith("_"))]


# -- values as they are kept: from text of the command line, or from Python -------------------------------------------


def as_given(option: Option, value: Any) -> Any:
    return value


def as_column(option: Option, value: Any) -> str | None:
    """Return the name of a column; some frames name them by number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is None or isinstance(value, str):
        return value
    raise OptionError(option.name, f"{value!r:.80} is not the name of a column\n  give one name, such as 'y'")


def as_columns(option: Option, value: Any, split: bool = True) -> tuple[str, ...]:
    """Return names from a comma list or a list."""
    names = _texts(value, split)
    if isinstance(value, str | list | tuple) and len(value) and not names:
        written = "".join(map(str, value))
        raise OptionError(option.name, f"nothing is named in {written!r}\n  give names, or leave it out")
    return names


def as_labels(option: Option, value: Any) -> tuple[str, ...]:
    return as_columns(option, value)


def as_label(option: Option, value: Any) -> str | None:
    return None if value is None else canonical(value)


def as_pattern(option: Option, value: Any) -> str | None:
    """Return a comma list of names and globs; names in a list are whole."""
    return value if value is None or isinstance(value, str) else NAMES.join([*_texts(value, split=False), ""])


def as_conditions(option: Option, value: Any) -> tuple[str, ...]:
    """Return conditions on columns."""
    conditions = as_columns(option, value, split=False)
    for condition in conditions:
        if "=" not in condition:
            raise OptionError(option.name, f"{condition!r} is no condition\n  write COL=VALUE or COL!=VALUE")
    return conditions


def as_limits(option: Option, value: Any) -> tuple[float, ...]:
    """Return rising numbers."""
    wrong = OptionError(option.name, f"{value!r:.80} is no list of numbers\n  write limits such as 0.2,4.4")
    try:
        limits = tuple(float(x) for x in ([value] if isinstance(value, (int, float)) else _texts(value, split=True)))
    except (ValueError, ArithmeticError):
        raise wrong from None
    if any(x != x for x in limits) or (isinstance(value, str) and not limits):
        raise wrong
    if list(limits) != sorted(set(limits)):
        shown = ", ".join(f"{x:g}" for x in limits)
        raise OptionError(option.name, f"{shown} must rise\n  write the limits from low to high")
    return limits


def as_limits_or_raw(option: Option, value: Any) -> tuple[Any, ...]:
    """Return rising numbers, and "raw" last where it is among them."""
    words = _texts(value, split=True)
    limits = as_limits(option, tuple(word for word in words if word != "raw"))
    return (*limits, "raw") if "raw" in words else limits


def as_choice(option: Option, value: Any) -> Any:
    """Return one of the choices; None where the option may be left out."""
    if (value is None and option.default is None) or (isinstance(value, str) and value in option.choices):
        return value
    raise OptionError(option.name, f"{value!r:.80} is not one of {', '.join(map(repr, option.choices))}{option.hint}")


def as_number(option: Option, value: Any) -> float:
    """Return a float; texts and truth values are none."""
    try:
        if isinstance(value, (str, bytes, bool)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, ArithmeticError):
        raise OptionError(option.name, f"{value!r:.80} is not a number") from None


def _texts(value: Any, split: bool) -> tuple[str, ...]:
    if value is None:
        return ()
    items: Iterable[Any] = [value] if isinstance(value, (str, int, float)) else value
    split = split and not isinstance(value, list)  # names in a Python list are whole
    parts = [str(item).split(",") if split else [str(item)] for item in items]
    return tuple(part.strip() for item in parts for part in item if part.strip())


def canonical(value: Any) -> str:
    """Return a label as text, the same for 1, 1.0, "1" and "1.0", and for é in one letter or in two."""
    text = normalize("NFC", str(value).strip())
    if isinstance(value, bool):
        return text
    try:
        as_float = float(text)
    except ValueError:
        return text
    return str(int(as_float)) if as_float.is_integer() and abs(as_float) < 1e15 else text


# -- declarations -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """An option of a record.

    help        a sentence for the help
    metavar     what stands for its value there; none for flags and choices
    take        value as it is kept: from text or from Python; refuses what cannot be meant
    among       its choices, or the function that lists them
    hint        end of its refusal
    basic       shown by --help; --help-all shows every option
    flag        its name on the command line where it is not that of the field
    array       the argument with its values in calls with arrays, where it has another name
    repeatable  may be given several times on the command line
    typed       int or float: what the command line reads
    commands    those that have it; none: all that have the record
    needs       what data must hold for it to have an effect: classes, groups or time
    kept        repeated by commands that are proposed for the same input; others change neither forecasts nor advice
    unlabelled  has a meaning for forecasts without outcomes
    """

    help: str
    metavar: str = ""
    group: str = ""
    take: Callable[[Option, Any], Any] = as_given
    among: tuple[str, ...] | Callable[[], Iterable[str]] = ()
    hint: str = ""
    basic: bool = False
    flag: str = ""
    array: str = ""
    repeatable: bool = False
    typed: type | None = None
    commands: tuple[str, ...] = ()
    needs: str = ""
    kept: bool = True
    unlabelled: bool = False
    name: str = ""  # of the field
    default: Any = None

    @property
    def choices(self) -> tuple[str, ...]:
        return self.among if isinstance(self.among, tuple) else tuple(self.among())

    @property
    def typed_as(self) -> str:
        """The option as it is typed: --versus-rest."""
        return "--" + (self.flag or self.name).replace("_", "-")

    @property
    def argument(self) -> str:
        """The argument in calls with arrays."""
        return self.array or self.name

    @property
    def names_columns(self) -> bool:
        return self.take in (as_column, as_columns)


def option(default: Any, help: str, metavar: str = "", **how: Any) -> Any:
    """Return the field of a record that is an option."""
    return field(default=default, metadata={"option": Option(help, metavar, **how)})


def options_of(record: type) -> Mapping[str, Option]:
    """Return the options of a record by the names of their fields, in their order."""
    pairs = [(each, each.metadata["option"]) for each in fields(record) if "option" in each.metadata]
    return {each.name: replace(declared, name=each.name, default=each.default) for each, declared in pairs}


def take_all(record: Any, options: Mapping[str, Option]) -> None:
    """Take every option of a record as it is kept."""
    for name, each in options.items():
        object.__setattr__(record, name, each.take(each, getattr(record, name)))


_input, _cases = partial(option, group=INPUT), partial(option, group=CASES)
_choice = partial(_input, take=as_choice)
DEPENDENCE = ("cluster", "time")  # which cases depend on each other: the verdict and what it advises follow it
EXCLUSIVE = {  # options of which one is given, and which to choose
    ("proba", "positive_proba"): "classes: {}; one probability: {}",
    DEPENDENCE: "units with many cases: {}; a series: {}",
}


def refuse_both(given: Collection[str], arrays: bool = False) -> None:
    """Refuse options of reading that exclude one another; `arrays`: they are called as arguments with arrays."""
    for pair, which in EXCLUSIVE.items():
        if set(pair) <= set(given):
            named = [READING[name].argument if arrays else name for name in pair]
            raise ValueError(f"{' and '.join(named)} exclude one another\n  {which.format(*named)}")


@dataclass(frozen=True)
class ReadOptions:
    """How the columns are to be understood; None and empty mean: recognise it."""

    label: str | None = _input(None, "Column of the observed outcome.", "COL", take=as_column, basic=True)
    proba: str | None = _input(
        None,
        "Columns with one probability per class: names or globs; * is the class, {model} the model.",
        "PATTERN",
        take=as_pattern,
        basic=True,
        unlabelled=True,
    )
    positive_proba: str | None = _input(
        None,
        "Column with the probability of the event; several columns are several models; in JSON by its path, meta.prob.",
        "COL[,COL…]",
        take=as_pattern,
        basic=True,
        unlabelled=True,
    )
    positive: str | None = _input(
        None, "Label that counts as the event.", "LABEL", take=as_label, basic=True, array="pos_label"
    )
    layout: str = _choice(
        "auto",
        "Arrangement of the columns; recognised by default.",
        among=lambda: ["auto", *(name.replace("_", "-") for name in module_names("read.layouts"))],
    )
    scale: str | None = _choice(
        None,
        "Scale of the forecasts; only % signs and column names with logit or logprob are recognised.",
        among=("probability", "percent", "logit", "log"),
        basic=True,
        unlabelled=True,
    )
    order: tuple[str, ...] = _input((), "Order of the classes.", "LABEL,…", take=as_labels, array="labels")
    pick: str | None = _input(
        None, "Column of the picked label; the probability is the confidence in this pick.", "COL", take=as_column
    )
    label_file: str | None = _input(
        None, "File with the observed outcomes, joined on the ids of both files; without ids row by row.", "FILE"
    )
    sheet: str | None = _input(None, "Sheet of an Excel workbook that has several.", "NAME")
    no_header: bool = _input(False, "The first line of a text file is a row, not the names of columns.")
    members: str | None = _input(
        None, "Columns of the members of an ensemble; needs --exceeds.", "PATTERN", take=as_pattern
    )
    exceeds: tuple[Any, ...] = _input(
        (),
        "Limits that the members exceed or not: (m + 1/3)/(M + 2/3) for m of M members; X,raw gives m/M.",
        "X[,X…]",
        take=as_limits_or_raw,
    )
    cut: tuple[float, ...] = _input((), "Limits that turn a measured outcome into classes.", "X[,X…]", take=as_limits)
    versus_rest: tuple[str, ...] = _input(
        (), "Treat these classes together as the event.", "LABEL[,LABEL…]", take=as_labels
    )
    normalise: bool = _input(False, "Rescale rows whose probabilities do not sum to one.", unlabelled=True)
    absent: str | None = _choice(
        None, "nan: a missing probability means that the class was not offered in this row.", among=("nan",)
    )
    ideal: str | None = _input(
        None, "Columns of the true probabilities, where they are known.", "PATTERN", take=as_pattern, kept=False
    )
    feature: tuple[str, ...] = _input(
        (),
        "Column that the forecaster knew, such as age; repeatable.",
        "COL",
        take=as_columns,
        repeatable=True,
        kept=False,
        array="features",
    )
    weight: str | None = _cases(
        None,
        "Importance of each row: a column, or a file with one column.",
        "COL|FILE",
        take=as_column,
        basic=True,
        array="sample_weight",
    )
    count: str | None = _cases(
        None, "Number of identical cases that the row represents.", "COL", take=as_column, basic=True, array="counts"
    )
    model: str | None = _cases(
        None, "Column that names the model; none pools all models.", "COL|none", take=as_column, basic=True
    )
    id: tuple[str, ...] = _cases(
        (), "Columns that identify a case.", "COL[,COL…]", take=as_columns, basic=True, unlabelled=True
    )
    where: tuple[str, ...] = _cases(
        (),
        "Use only these rows; also COL!=VALUE; repeatable.",
        "COL=VALUE",
        take=as_conditions,
        repeatable=True,
        basic=True,
        unlabelled=True,
    )
    missing: str = _cases(
        "error",
        "Rows with missing values: refuse or leave out.",
        take=as_choice,
        among=("error", "drop"),
        basic=True,
        unlabelled=True,
    )
    soft: str = _cases(
        "split",
        "Outcomes between 0 and 1: share the case between the classes, leave it out, or refuse.",
        take=as_choice,
        among=("split", "omit", "refuse"),
    )
    group: tuple[str, ...] = _cases(
        (),
        "Assess each value of this column as well; repeatable.",
        "COL",
        take=as_columns,
        repeatable=True,
        basic=True,
        kept=False,
        array="groups",
    )
    cluster: str | None = _cases(
        None,
        "Rows with one value here depend on each other: patients, states, answers.",
        "COL",
        take=as_column,
        basic=True,
        array="clusters",
    )
    time: str | None = _cases(
        None,
        "When each case took place; neighbours in time may depend on each other.",
        "COL",
        take=as_column,
        basic=True,
    )
    labelled: bool = True  # False: forecasts without outcomes, to be mapped and not to be assessed

    def __post_init__(self) -> None:
        take_all(self, READING)
        if bool(self.members) != bool(self.exceeds[:1] != ("raw",) and self.exceeds):
            raise ValueError("members and exceeds belong together\n  write --members PATTERN --exceeds X")
        refuse_both([name for name in READING if getattr(self, name)])

    @property
    def given(self) -> tuple[str, ...]:
        """Columns with a role by option; no layout takes them."""
        columns: list[str] = []
        for name, each in READING.items():
            value = getattr(self, name)
            if each.names_columns and value and (name, value) != ("model", "none"):
                columns += [value] if isinstance(value, str) else value
        return tuple(columns)


READING = options_of(ReadOptions)
