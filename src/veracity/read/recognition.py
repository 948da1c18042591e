"""Recognition of layouts: each is asked in its order; two complete readings are refused with a ready command."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from veracity.inputs import Percentages, check
from veracity.inputs.names import many, run_of
from veracity.records import findings_of_input as of_input
from veracity.records.layout import Layout, Rejection, Remark, Unused

from ..options import ReadOptions, canonical
from . import column_meaning as meaning
from . import layouts, unlabelled
from .build import Builder
from .classes import given_sets
from .column_meaning import Column
from .files import table_of
from .free_columns import Columns
from .patterns import items_of
from .proposals import Proposal, Refusal, separation
from .refused_columns import is_decided, refuse_missing
from .refused_layouts import listing, require_every_sign, unclear
from .refused_options import refuse_without_effect
from .table import Table, filtered, of_frame

IN_ORDER = ("classes", "labels", "outcomes")  # one for each class
FEWEST_UNITS = 10  # clusters or times that intervals need
REPEATED = 0.1  # share of rows with an equal value elsewhere from which rows look dependent
TRIED_ROWS, TRIED_ENTRIES, TRIED_FEWEST = 20_000, 2_000_000, 200  # of a proposal before it is printed


def recognise(table: Table, options: ReadOptions, model: str) -> Layout:
    """Return how the columns of a table are understood; `model`: a name where the table holds only one."""
    try:
        return _recognised(table, options, model)
    except Refusal as refusal:
        raise refusal.settled(table.names(), options, lambda tried: attempt(table, tried, model)) from None


def attempt(table: Table, options: ReadOptions, model: str) -> None:
    """Read and check the first rows with these options; raises ValueError if that fails."""
    if options.label_file and not table.labels and table.path is not None:
        table = table_of(table.path, options, table.name)
    rows = min(TRIED_ROWS, max(TRIED_FEWEST, TRIED_ENTRIES // max(1, len(table.columns))))
    known = {"preset": table.preset, "empty": table.empty, "declared": table.declared}
    few = of_frame(table.sample.head(rows), table.name, table.style, **known)
    few.labels = table.labels
    few = filtered(few, options)
    layout = _recognised(few, options, model)
    if options.weight not in few.columns:  # a file of weights
        options = replace(options, weight=None)
    builder = Builder(few, layout, options)
    for start, numbers, frame in builder.frames(rows):
        for forecasts in builder.forecasts(frame, start, numbers, True):
            try:
                check(forecasts)
            except Percentages as problem:
                raise Refusal(str(problem), Proposal("if these are percentages", {"scale": "percent"})) from None


def _recognised(table: Table, options: ReadOptions, model: str) -> Layout:
    # Separate events are a group that has no column.
    by_event = "event" in options.group and "event" not in table.columns
    if by_event:
        options = replace(options, group=tuple(name for name in options.group if name != "event"))
    columns = Columns(table, options, model)
    if not (options.proba or options.positive_proba):
        _refuse_second_division(columns, [c for c in table.columns if "percent" in table.kinds.get(c, "")])
        for column in columns.free.values() if options.scale == "percent" else ():
            require_every_sign(columns, column)  # or another column would be taken
    layout = _match(columns) if options.labelled else unlabelled.match(columns)
    refuse_without_effect(columns, layout)
    if by_event and not layout.stacked:
        table.column("event")  # refuses: there is no such column
    layout = _with_spoken(table, options, layout)
    if layout.no_answers and options.missing == "error":
        silent = layout.no_answers
        raise Refusal(
            f"{len(silent):,} of {table.rows + len(silent):,} replies are no answer: none of the options "
            f"{', '.join(layout.labels)} is among their likely tokens (first: row {silent[0]}).",
            Proposal("leave these rows out", {"missing": "drop"}),
            file=table.names().file,
        )
    percent = [c for c in layout.columns if "percent" in table.kinds.get(c, "")]
    _refuse_second_division(columns, percent)
    if percent:
        count = sum(table.sample[c].count() for c in percent)
        layout = replace(layout, findings=(*layout.findings, of_input.PercentSigns(count)))
    return replace(layout, files=(table.name,), format=table.format, rows=table.rows if table.counted else 0)


def _refuse_second_division(columns: Columns, written: Sequence[str]) -> None:
    """Refuse --scale percent for columns written with % signs, which are divided by 100 as they are read."""
    if written and columns.options.scale == "percent":
        given = "--scale percent" if columns.table.style == "file" else "scale='percent'"
        signs = f"`{written[0]}` is written with % signs, which are read as such: {given} would divide by 100 again."
        raise columns.refuse(signs, otherwise=f"leave {given} out")


def _match(columns: Columns) -> Layout:
    asked, preset = iter(_asked(columns).items()), columns.table.preset
    models = () if preset is None else tuple((columns.model, names) for _, names in preset.models)
    for name, layout in asked:
        match = layout.match(columns) if preset is None else replace(preset, models=models)
        if match is not None and _is_sane(columns, match):
            match = replace(match, layout=name)
            if not (match.certain or columns.forced or columns.options.label):
                _refuse_rival(columns, match, asked)
            _refuse_namesakes(columns, match)
            refuse_missing(columns, match.models)
            match = _with_models(columns, _with_remarks(columns, _in_order(columns, match)))
            return _with_separation(columns, _with_dependence(columns, _with_extras(columns, match)))
    if not columns.forced:
        raise unclear(columns)
    words = ("--label", "--proba", "--layout") if columns.table.style == "file" else ("label=", "proba=", "layout")
    raise columns.refuse(
        f"the columns do not fit the layout {columns.options.layout}.",
        otherwise="name the columns with {} and {}, or leave {} out".format(*words),
        listing=listing(columns),
    )


def _with_spoken(table: Table, options: ReadOptions, layout: Layout) -> Layout:
    """Add the findings about confidences in words; other values are refused, or counted and left out."""
    for name in (name for name in layout.forecasts if name in table.said):
        words = table.said[name]
        mute = table.sample[name].is_null() & words.is_not_null()
        stated, without = table.sample[name].count(), int(mute.sum())
        spoken = of_input.VerbalConfidence(stated, words.len(), column=name)
        layout = replace(layout, findings=(*layout.findings, spoken))
        if not without:
            continue
        first = int(mute.arg_max() or 0)
        if options.missing == "error":
            raise Refusal(
                f"{without:,} of {words.len():,} values of `{name}` state no confidence "
                f"(first: row {first + table.first_row}, {words[first]!r}).",
                Proposal("leave these rows out", {"missing": "drop"}),
                file=table.names().file,
            )
        examples = tuple(words.filter(mute).unique(maintain_order=True).head(3).to_list())
        note = of_input.NoConfidenceStated(without, words.len(), column=name, examples=examples)
        layout = replace(layout, findings=(*layout.findings, note))
    return layout


def _is_sane(columns: Columns, layout: Layout) -> bool:
    """Whether the forecasts are numbers in columns of their own."""
    numeric = all(name in columns.all and columns.all[name].numeric for name in layout.forecasts)
    return numeric and not {layout.outcome, *layout.outcomes} & set(layout.forecasts)


def _asked(columns: Columns) -> dict[str, Any]:
    """Return the layouts to be asked: all, or the one that was given or that an option belongs to."""
    wanted, preset = columns.options.layout, columns.table.preset
    if preset is not None:
        if wanted not in ("auto", preset.layout):
            raise columns.error(f"these JSON lines hold {preset.layout}, not {wanted}.", "leave --layout out")
        wanted = preset.layout
    if wanted != "auto":
        return {wanted: layouts.load(wanted)}
    known = layouts.by_precedence()
    only = {n: m for n, m in known.items() if getattr(columns.options, getattr(m, "OPTION", ""), None)}
    picks = {"top": known["top"]} if columns.options.pick else {}  # asked first, whatever else would fit
    return picks | (only or known)


def _refuse_rival(columns: Columns, match: Layout, later: Iterable[tuple[str, Any]]) -> None:
    """Refuse if the columns left over are a second complete reading: only the user can choose."""
    rest = columns.without(match.columns)
    for _, layout in later:
        try:
            rival = layout.match(rest)
        except ValueError:  # not complete
            continue
        if rival is not None and rival.outcome and len(rival.models) == 1:
            forecast = rival.forecasts[0]
            raise columns.refuse(
                f"two readings: classes {run_of(match.models[0][1])} with outcome `{match.outcome}`, "
                f"or `{forecast}` with outcome `{rival.outcome}`.",
                Proposal("choose", {"label": match.outcome}),
                Proposal("choose", {"positive_proba": forecast}),
                Proposal("choose", {"label": rival.outcome, "positive_proba": forecast}),
            )


def _refuse_namesakes(columns: Columns, layout: Layout) -> None:
    """Refuse a forecast or an outcome that shares its name with another column, unless an option names it."""
    options, same = columns.options, columns.table.same
    named = {options.label, *items_of(options.positive_proba or "", ()), *items_of(options.proba or "", ())}
    for name in (*layout.forecasts, layout.outcome, *layout.outcomes):
        others = [other for other, shared in same.items() if name in (shared, other)]
        both = [same.get(str(name), str(name)), *others]
        if others and not named & set(both):
            role = "label" if name in (layout.outcome, *layout.outcomes) else "positive_proba"
            raise columns.refuse(
                f"{'two' if len(both) == 2 else len(both)} columns are called `{both[0]}`, and they differ.",
                *(Proposal("choose", {role: each}) for each in both),
                otherwise="give every column a name of its own",
                most=3,
            )


def _in_order(columns: Columns, layout: Layout) -> Layout:
    """Return one column per class in the order of the options, where the layout has not done so."""
    order, classes = (
        [canonical(c) for c in columns.options.order],
        [canonical(c) for c in layout.labels or layout.classes],
    )
    per_class = all(len(own) == len(classes) for _, own in layout.models) and not (layout.derived or layout.stacked)
    if classes == order or sorted(classes) != sorted(order) or not per_class:
        return layout
    place = [classes.index(name) for name in order]
    changed: dict[str, Any] = {
        name: tuple(entries[i] for i in place) for name in IN_ORDER if (entries := getattr(layout, name))
    }
    models = tuple((model, tuple(own[i] for i in place)) for model, own in layout.models)
    return replace(layout, models=models, **changed)


def _with_remarks(columns: Columns, layout: Layout) -> Layout:
    """Add the columns that are not used, with remarks, and the number of cases of each class."""
    used = {*layout.columns, *columns.options.given}
    unused: list[Unused] = []
    remark: Remark | None = None
    for name, column in columns.all.items():
        if name in used:
            continue
        pick = columns.is_pick(column) and bool(column.labels)
        twin = _percent_of(columns, column, layout)
        if not pick and _is_rejected(columns, column, layout):
            remark = Remark(name)
        if column.key in meaning.WEIGHTS and not columns.options.weight:
            remark = Remark(name, columns.option("weight", name))
        reason = Rejection.PERCENT if twin else Rejection.PICK if pick else None
        unused.append(Unused(name, reason, twin or ""))
    return replace(layout, unused=tuple(unused), remark=remark, class_counts=_class_counts(columns, layout))


def _is_rejected(columns: Columns, column: Column, layout: Layout) -> bool:
    """Whether a column could be the outcome, had it not been made from the forecasts."""
    guessed = layout.outcome and not columns.options.label and len(layout.classes) == 2 and not layout.derived
    if not guessed or not column.two_valued or column.no_label:
        return False
    return is_decided(columns, column, [own[-1] for _, own in layout.models])


def _class_counts(columns: Columns, layout: Layout) -> tuple[tuple[str, int], ...]:
    few = bool(layout.outcome) and len(layout.labels) <= 4 and not layout.undivided
    if not columns.table.whole or not few or columns.options.cut:
        return ()
    column = columns.all[str(layout.outcome)]
    seen = column.times if column.labels else {"": 0}
    if not set(seen) <= set(layout.labels):
        return ()
    return tuple(sorted((label, seen.get(label, 0)) for label in layout.labels))


def _percent_of(columns: Columns, column: Column, layout: Layout) -> str | None:
    """Return the forecast column of which another holds the percentages."""
    if not column.numeric or column.high <= 1:
        return None
    for _, (first, *others) in layout.models:
        values = columns.all[first]
        if not others and values.numeric:
            apart = (column.values - 100 * values.values).abs().max()
            if apart is not None and float(apart) < 1e-6:  # type: ignore[arg-type]
                return first
    return None


def _with_models(columns: Columns, layout: Layout) -> Layout:
    """Add the model column, unless rows of one model repeat a case."""
    options, table = columns.options, columns.table
    if not layout.may_have_models or len(layout.models) > 1:
        return layout
    column, layout = columns.model_column() or layout.model_column, replace(layout, model_column=None)
    if column is None or options.model == "none":
        return layout
    if not options.model and not options.id and table.whole:
        rest = [c for c in columns.all if c not in layout.columns]
        if table.sample.select(rest).is_duplicated().any():
            unused = tuple(Unused(u.column, Rejection.REPEATED) if u.column == column else u for u in layout.unused)
            return replace(layout, unused=unused)
    unused = tuple(u for u in layout.unused if options.id and u.column != column)
    models = tuple((name, layout.forecasts) for name in columns.model_names(column))
    case = columns.case_columns([*layout.columns, column])
    return replace(layout, models=models, model_column=column, case=case, unused=unused)


def _with_dependence(columns: Columns, layout: Layout) -> Layout:
    """Add the finding that rows look dependent: a column named like a unit or a date repeats its values."""
    options, sample = columns.options, columns.table.sample
    several = layout.undivided or layout.stacked or layout.shares_only or "n" in layout.roles or options.count
    if several or options.cluster or options.time or options.id:
        return layout
    if layout.model_column:
        sample = sample.filter(sample[layout.model_column] == sample[layout.model_column][0])
    taken = {*layout.forecasts, layout.outcome, *layout.outcomes, layout.model_column, *layout.roles.values()}
    taken |= {*options.given}
    for option, wanted in (("cluster", meaning.UNITS), ("time", meaning.DATES)):
        for name in [name for name in columns.all if name not in taken]:
            words, values = meaning.words_of(name), sample[name].drop_nulls()
            if not words & wanted or words & meaning.NO_UNITS or values.dtype.is_nested():
                continue
            distinct, shared = values.n_unique(), int(values.is_duplicated().sum())
            if distinct >= FEWEST_UNITS and shared >= REPEATED * sample.height:
                note = of_input.DependentRows(
                    shared,
                    sample.height,
                    column=name,
                    values=distinct,
                    seen=sample.height,
                    whole=columns.table.whole,
                    option=columns.option(option, name),
                )
                return replace(layout, findings=(*layout.findings, note))
    return layout


def _with_separation(columns: Columns, layout: Layout) -> Layout:
    """Add the finding that the forecast tells the outcomes apart in every row: they may be predictions."""
    options, name = columns.options, str(layout.outcome)
    special = layout.derived or layout.undivided or layout.stacked or "pick" in layout.roles or "events" in layout.roles
    if not layout.outcome or not layout.classes or special or options.cut or options.versus_rest:
        return layout
    classes = layout.labels if len(layout.labels) > 2 else ()
    for _, own in layout.models[: 1 if layout.model_column else None]:
        forecasts = own if classes else own[-1:]
        if is_decided(columns, columns.all[name], forecasts, classes):
            parted = None if classes else separation(columns.all[name], columns.all[own[-1]])
            low, high = (parted.low, parted.high) if parted else (None, None)
            rows, forecast = columns.all[name].present.len(), run_of(forecasts)
            note = of_input.PerfectSeparation(rows, rows, column=name, forecast=forecast, low=low, high=high)
            return replace(layout, findings=(*layout.findings, note))
    return layout


def _with_extras(columns: Columns, layout: Layout) -> Layout:
    """Add the columns of the case and of the true probabilities."""
    options = columns.options
    layout = layout if layout.case else replace(layout, case=options.id)
    if not options.ideal:
        return layout
    matched, forecast = columns.matched("ideal", options.ideal), layout.models[0][1]
    ideal = tuple(c for _, _, c in matched)
    if len(ideal) != len(forecast):
        raise columns.error(
            f"the ideal has {many(len(ideal), 'column')}, the forecast {len(forecast)}.", "one for each class"
        )
    if layout.labels and len(ideal) > 1:
        (given,) = given_sets([(None, k, c) for _, k, c in matched], columns)
        if set(given.classes) != set(layout.labels):
            raise columns.error(
                f"the ideal has the classes {' '.join(given.classes)}, the forecast {' '.join(layout.labels)}.",
                f"let * stand for the class:  {columns.option('ideal', 'q_*')}",
            )
        ideal = given.ordered(layout.labels)
    return replace(layout, ideal=ideal)
