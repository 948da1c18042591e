"""Recognition of layouts: ordered rules, the first that fits wins; two readings are refused with a ready command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..data import Finding
from . import roles
from .classes import ClassSet, class_sets, given_sets
from .files import Table
from .layouts import Layout, run_of
from .reading import UNLABELLED, ReadOptions, items_of, labels_of
from .refusals import short
from .roles import Column
from .unclear import Unclear
from .unlabelled import unlabelled


def recognise(table: Table, reading: ReadOptions, stem: str, preset: Layout | None = None) -> Layout:
    """The layout of a table, by options first and rules after."""
    # Separate events are a group that has no column.
    by_event = "event" in reading.group and "event" not in table.columns
    if by_event:
        reading = replace(reading, group=tuple(name for name in reading.group if name != "event"))
    if reading.layout == UNLABELLED:
        found = unlabelled(table, reading, stem)
    else:
        search = Search(table, reading, stem)
        found = search.preset(preset) if preset is not None else search.run()
    if by_event and found.kind != "events":
        table.column("event")  # there is none
    if table.kinds:
        used = [c for c in found.columns if "percent" in table.kinds.get(c, "")]
        if used:
            count = sum(table.sample[c].count() for c in used)
            found = replace(found, findings=(*found.findings, Finding.of("percent_signs", count)))
    return replace(found, files=(table.name,), facts=table.facts, rows=table.rows)


class Search(Unclear):
    """One search for a reading of one table: options first, then the rules in their order."""

    # ---------------------------------------------------------------- the order of the rules

    def run(self) -> Layout:
        table, reading = self.table, self.reading
        rules: dict[str, Callable[[], Layout | None]] = {
            "counts": self.counts,
            "long": self.long,
            "pairs": self.pairs,
            "wide": self.wide,
            "top": self.top,
            "binary": self.binary,
            "realised": self.realised,
        }
        if reading.layout != "auto":
            if reading.layout == "lm-eval":
                raise table.error(
                    "no log-probabilities of answer options here.",
                    "lm-eval is a layout of JSON lines (resps and target)",
                )
            found = self.wide() if reading.proba and reading.layout == "wide" else rules[reading.layout]()
            if found is None:
                raise table.error(
                    f"the columns do not fit the layout {reading.layout}: {self._listing()}",
                    "name the columns with --label and --proba, or leave --layout out"
                    if table.style == "file"
                    else "name the columns with label= and proba=, or leave layout out",
                )
            return self._models(found)
        if reading.proba:
            found = self.wide()
            assert found is not None
            return self._models(found)
        if reading.positive_proba:
            found = self.binary()
            assert found is not None
            return self._models(found)
        for rule in rules.values():
            found = rule()
            if found is not None:
                self._only_reading(found)
                return self._models(found)
        raise self._refusal()

    def preset(self, found: Layout) -> Layout:
        wanted = self.reading.layout
        if wanted not in ("auto", found.kind):
            raise self.table.error(f"these JSON lines hold {found.kind}, not {wanted}.", "leave --layout out")
        model = self.reading.model or found.model_column
        models = tuple((self.stem, columns) for _, columns in found.models)
        unused = tuple((name, why) for name, why in found.unused if name not in self.reading.given)
        column = None if model == "none" else model
        return self._models(replace(found, models=models, unused=unused, model_column=column))

    # ---------------------------------------------------------------- rule 2: counts

    def counts(self) -> Layout | None:
        n = self._first(roles.CASES, lambda c: c.numeric)
        events = self._first(roles.EVENTS, lambda c: c.numeric)
        frequency = self._first(roles.FREQUENCIES, lambda c: c.within)
        if n and events:
            over = (self.table.sample[events] > self.table.sample[n]).fill_null(False)
            p = self._one_probability(exclude=(n, events))
            if p is None:
                return None
            if over.any():
                row = int(over.arg_max() or 0)
                raise self.table.error(
                    f"row {row + self.table.first_row}: {self.table.sample[events][row]:g} `{events}` of "
                    f"{self.table.sample[n][row]:g} `{n}`.",
                    "there cannot be more events than cases",
                )
            found = Layout("counts", ((self.stem, (p,)),), (0, 1), roles={"n": n, "events": events}, outcome=events)
            return self._done(found, f"{events} of {n} cases (rule 2)", why="probability of the event")
        if frequency and "wide" not in self.reading.layout:
            p = self._one_probability(exclude=(frequency,))
            if p is None:
                return None
            if not self.reading.weight and not self.reading.count:
                shares = [c for c, col in self.pool.items() if col.within and c not in (p, frequency)]
                if n:
                    raise self.table.error(
                        f"`{frequency}` is a frequency: the number of cases of each row is needed.",
                        f"choose:  {self.table.option('count', n)}",
                    )
                raise self.table.error(
                    f"`{frequency}` is a frequency: the share of cases of each row is needed.",
                    "choose:  " + "      ".join(self.table.option("weight", c) for c in shares[:3])
                    if shares
                    else f"give it with {self.table.option('weight', 'COL')}",
                )
            found = Layout("counts", ((self.stem, (p,)),), (0, 1), roles={"frequency": frequency}, outcome=frequency)
            if not self.reading.count:
                found = replace(found, findings=(Finding.of("no_number_of_cases"),))
            return self._done(found, "observed frequency (rule 2)", why="probability of the event")
        if n and len(self.pool) == 3 and not self.reading.label:
            forecast, outcome = (c for c in self.pool if c != n)
            if self.pool[outcome].numeric and not self.pool[forecast].numeric:
                forecast, outcome = outcome, forecast
            if self.pool[outcome].outcome_like and self.pool[forecast].within and not self.pool[outcome].fractions:
                found = self._binary(outcome, [forecast])
                found = replace(found, kind="counts", roles={"count": n}, unused=())
                return replace(found, why=f"{n} is the number of cases (rule 2)")
            if self.pool[outcome].labels and self.pool[forecast].labels and not self.pool[forecast].probability:
                raise self.table.error(
                    f"forecast categories by outcomes with their number `{n}`: a table, not single forecasts.",
                    f"veracity table {self.table.name}" if self.table.style == "file" else "PredictionTable(counts)",
                )
        return None

    # ---------------------------------------------------------------- rule 3: long

    def long(self) -> Layout | None:
        named = {c.plain: name for name, c in self.all.items()}
        if {"predicted_label", "predicted"} <= set(named):
            klass, value = named["predicted_label"], named["predicted"]
        elif {"output_type_id", "value"} <= set(named):
            klass, value = named["output_type_id"], named["value"]
        else:
            return None
        outcome = self.reading.label or next((named[c] for c in roles.OUTCOMES if c in named), None)
        if not self.all[value].numeric:
            return None
        labels = self.all[klass].labels
        if named.get("output_type_id") == klass:
            self._hub_of_classes(klass, outcome)
        if outcome is None:
            return None
        model = self._model_column()
        rest = [c for c in self.all if c not in (klass, value, outcome, model, *self._aside())]
        case = self.reading.id or tuple(rest)
        labels = self._ordered(labels)
        found = Layout(
            "long",
            ((self.stem, (value,)),),
            labels_of(labels),
            outcome,
            labels=labels,
            roles={"class": klass, "value": value},
            case=case,
            model_column=model,
        )
        note = f"{len(labels)} classes: {' '.join(labels)}"
        return self._done(found, note, why=f"one row per case and class in {klass} (rule 3)", keep=case)

    # ---------------------------------------------------------------- rule 4: pairs

    def pairs(self) -> Layout | None:
        pairs = [(c, f"{c}_outcome") for c in self.pool if f"{c}_outcome" in self.pool]
        pairs = [(p, o) for p, o in pairs if self.pool[p].numeric and self.pool[o].within]
        if not pairs or self.reading.label or self.reading.proba or self.reading.positive_proba:
            return None
        forecast, outcome = [p for p, _ in pairs], [o for _, o in pairs]
        if len(pairs) == 1:
            return self._binary(outcome[0], forecast)
        sample = self.table.sample
        if roles.sum_to_one(sample, forecast) and roles.sum_to_one(sample, outcome):
            order = self._ordered(tuple(forecast))
            if self.reading.positive is not None and len(order) == 2:
                order = tuple(sorted(order, key=lambda c: c == self.reading.positive))
            kept = tuple(f"{c}_outcome" for c in order)
            found = Layout("pairs", ((self.stem, tuple(order)),), tuple(order), outcomes=kept)
            return self._done(found, "one column per class", why="pairs X, X_outcome (rule 4); rows sum to one")
        found = Layout("pairs", ((self.stem, tuple(forecast)),), (0, 1), outcomes=tuple(outcome), roles={})
        found = replace(found, findings=(Finding.of("separate_events", len(forecast)),))
        why = "pairs X, X_outcome (rule 4) that do not sum to one: separate yes/no events"
        return self._done(replace(found, kind="events"), "event = 1", why=why)

    # ---------------------------------------------------------------- rule 5: wide

    def wide(self) -> Layout | None:
        table, reading = self.table, self.reading
        if reading.proba:
            sets = given_sets(self._matched("proba", reading.proba), self)
            if len(sets) == 1 and len(sets[0].columns) == 1:
                return self._binary(self._outcome_for_one(sets[0].columns), list(sets[0].columns))
        else:
            sets = class_sets(self)
        if not sets:
            meant = [s for s in class_sets(self, loose=True) if len(s.classes) > 2]
            if len(meant) == 1:
                raise self._sums_off(meant[0])
            return None
        if len(sets) > 1 and not reading.proba:
            first, second = sets[:2]
            where = " and ".join(f"{s.columns[0]}…{s.columns[-1]}" for s in (first, second))
            pattern = "{model}" + _common_end(first.stem, second.stem) + "*"
            raise table.error(
                f"two sets of class columns: {where}.",
                f"as two models:  {table.command(('proba', pattern))}      "
                f"one of them:  {table.option('proba', first.stem + '*')}",
            )
        chosen = sets[0]
        if any(set(s.classes) != set(chosen.classes) for s in sets):
            raise table.error(
                f"the models have different classes: {' '.join(chosen.classes)} and {' '.join(sets[1].classes)}.",
                "name the columns of one of them",
            )
        outcome, labels = self._outcome_of(chosen)
        if outcome is None:
            return None
        return self._wide(sets, outcome, labels)

    def _wide(self, sets: list[ClassSet], outcome: str, labels: tuple[str, ...]) -> Layout:
        chosen = sets[0]
        order = self._ordered(chosen.classes)
        if len(order) == 2 and not self.reading.order:
            pair = roles.event_of(order)
            positive = self.reading.positive
            if positive is not None and positive not in order:
                raise self.table.error(f"no class {positive}: the classes are {' '.join(order)}.", "name one of them")
            event = positive if positive is not None else pair[1] if pair else order[1]
            order = tuple(sorted(order, key=lambda c: c == event))
        elif self.reading.positive is not None and len(order) != 2:
            raise self.table.error(
                f"--positive is for two classes; there are {len(order)}.",
                f"one class against the others:  {self.table.option('versus_rest', self.reading.positive)}",
            )
        models = tuple((s.model or self.stem, tuple(s.columns[s.classes.index(c)] for c in order)) for s in sets)
        classes = labels_of(order)
        found = Layout("wide", models, classes, outcome, labels=order, scale=self._scale_of(chosen))
        if self.reading.cut:
            note = self._cut_note(order)
        else:
            seen = self.all[outcome].labels
            note = f"{len(order)} classes: {short(seen or order)}"
            if seen and set(seen) < set(order):
                note = f"{len(order)} classes: {short(order)} (never: {short([c for c in order if c not in seen])})"
            if self.reading.versus_rest:
                note += f"; event = {' or '.join(self.reading.versus_rest)} against the rest"
            elif len(order) == 2:
                other = "" if self.reading.positive else f" ({self.table.option('positive', order[0])} for the other)"
                note += f"; event = {order[1]}{other}"
        return self._done(found, note, why=chosen.why)

    def _outcome_of(self, chosen: ClassSet) -> tuple[str | None, tuple[str, ...]]:
        table, reading = self.table, self.reading
        taken = set(chosen.columns)
        if reading.label:
            column = self.all[table.column(reading.label)]
            if not reading.cut and column.numeric and not column.labels:
                raise self._needs_cut(column, chosen)
            if column.labels and not set(column.labels) & set(chosen.classes) and not (reading.cut or reading.where):
                raise self._called_otherwise(column, chosen.columns)
            return column.name, column.labels
        fits = [
            c
            for name, c in self.pool.items()
            if name not in taken and c.labels and set(c.labels) <= set(chosen.classes) and not self._is_pick(c)
        ]
        if reading.cut:
            fits = [c for name, c in self.pool.items() if name not in taken and c.plain in roles.OUTCOMES and c.numeric]
        if len(fits) > 1:
            known = [c for c in fits if c.plain in roles.OUTCOMES]
            fits = known if len(known) == 1 else fits
        if len(fits) > 1:
            raise self._two_outcomes(fits)
        if fits:
            return fits[0].name, fits[0].labels
        named = [c for n, c in self.pool.items() if n not in taken and c.plain in roles.OUTCOMES]
        if len(named) == 1:
            raise self._other_labels(named[0], chosen)
        if reading.proba:
            raise table.error(
                f"class columns {run_of(chosen.columns)}, but no column holds only {short(chosen.classes)}.",
                f"name the outcome:  {table.option('label', 'COL')}   columns: {run_of(list(self.pool))}",
            )
        return None, ()

    # ---------------------------------------------------------------- rule 6: top

    def top(self) -> Layout | None:
        confidence = self._first(("confidence",), lambda c: c.numeric)
        if confidence is None:
            return None
        right = self._first(roles.RIGHT, lambda c: c.outcome_like)
        finding = (Finding.of("pick_only"),)
        if right:
            labels = roles.event_of(self.all[right].labels) or ("0", "1")
            found = Layout(
                "top", ((self.stem, (confidence,)),), ("wrong", "right"), right, labels=labels, findings=finding
            )
            return self._done(found, "event = the pick was right", why="confidence of the pick (rule 6)")
        pick = self._first(roles.PICKS, lambda c: bool(c.labels))
        label = self.reading.label or self._first((*roles.OUTCOMES, *roles.WEAK_OUTCOMES), lambda c: bool(c.labels))
        if pick and label and set(self.all[pick].labels) & set(self.all[label].labels):
            found = Layout(
                "top", ((self.stem, (confidence,)),), ("wrong", "right"), label, roles={"pick": pick}, findings=finding
            )
            return self._done(found, f"event = {label} is {pick}", why="confidence of the pick (rule 6)")
        return None

    # ---------------------------------------------------------------- rule 7: binary

    def binary(self) -> Layout | None:
        reading = self.reading
        if reading.positive_proba:
            columns = [c for _, _, c in self._matched("positive_proba", reading.positive_proba)]
            return self._binary(self._outcome_for_one(columns), columns)
        outcome = self._named_outcome()
        if outcome is not None:
            columns = self._event_columns(outcome)
            self._event_or_realised(outcome, columns)
            return self._binary(outcome, columns) if columns else None
        two = [c for c in self.pool.values() if c.two_valued and not self._is_pick(c)]
        columns = self._event_columns(None)
        unnamed = [c for c in self.pool.values() if c.probability]
        if len(columns) != 1 or len(unnamed) > 1:
            return None
        self._no_other_outcome(columns)
        if roles.plain(columns[0]) in roles.REALISED and reading.layout != "binary":
            return None
        two = [c for c in two if c.name not in columns]
        if len(two) == 1:
            self._not_swapped(two[0], columns[0])
            return self._binary(two[0].name, columns)
        if len(two) > 1:
            raise self._two_outcomes(two)
        several = [c for c in self.pool.values() if c.name not in columns and self._few_labels(c)]
        if len(several) == 1:
            raise self._more_than_two(several[0], columns[0])
        return None

    def _no_other_outcome(self, columns: Any) -> None:
        """An outcome by its name that has three values or more: no other column may take its place unasked."""
        named = [c for c in self.pool.values() if c.plain in roles.OUTCOMES and self._few_labels(c)]
        if named and named[0].name not in columns:
            raise self._more_than_two(named[0], columns[0])

    def _few_labels(self, column: Column) -> bool:
        return 3 <= len(column.labels) <= 20 and not self._is_pick(column) and column.plain not in roles.IDS

    def _named_outcome(self) -> str | None:
        if self.reading.label:
            return self.table.column(self.reading.label)
        known = [c for c in self.pool.values() if c.plain in roles.OUTCOMES and (c.outcome_like or self.reading.cut)]
        if self.reading.versus_rest:
            known = [c for c in self.pool.values() if c.plain in roles.OUTCOMES and c.labels]
        known = known or [c for c in self.pool.values() if c.plain in roles.WEAK_OUTCOMES and c.two_valued]
        if len(known) > 1:
            raise self._two_outcomes(known)
        return known[0].name if known else None

    def _outcome_for_one(self, columns: Any) -> str:
        outcome = self._named_outcome()
        if outcome is not None:
            return outcome
        self._no_other_outcome(columns)
        two = [c for c in self.pool.values() if c.two_valued and c.name not in columns and not self._is_pick(c)]
        if len(two) == 1:
            return two[0].name
        if two:
            raise self._two_outcomes(two)
        raise self.table.error(
            "no column with two values for the outcome.",
            f"name it:  {self.table.option('label', 'COL')}   columns: {run_of(list(self.pool))}",
        )

    def _event_columns(self, outcome: str | None) -> list[str]:
        """Columns that could be the probability of the event."""
        pool = [c for c in self.pool.values() if c.name != outcome]
        if self.scale == "percent":
            fits = [c for c in pool if c.numeric and c.distinct > 2 and c.low >= 0 and c.high <= 100]
            named = [c for c in fits if roles.named_probability(c.name)]
            return [c.name for c in (named or fits)]
        if self.scale in ("logit", "log"):
            fits = [c for c in pool if c.numeric and c.distinct > 2]
            named = [c for c in fits if roles.named_probability(c.name) or self.scale in c.plain]
            return [c.name for c in (named or fits)]
        fits = [c for c in pool if c.probability]
        named = [c for c in fits if roles.named_probability(c.name)]
        logits = [c for c in pool if c.numeric and "logit" in c.plain.split("_")]
        if not fits and len(logits) == 1:
            return [logits[0].name]
        if not fits:  # a forecast by name that is out of range is still the forecast: the check says what is wrong
            fits = [c for c in pool if c.numeric and roles.named_probability(c.name)]
            return [c.name for c in fits] if len(fits) == 1 else []
        return [c.name for c in (named or fits)]

    def _binary(self, outcome: str, columns: list[str]) -> Layout:
        column = self.all[outcome]
        labels: tuple[str, ...] = ("0", "1")
        classes: tuple[Any, ...] = (0, 1)
        reading = self.reading
        if reading.cut:
            if len(reading.cut) != 1:
                raise self.table.error(
                    f"{len(reading.cut)} limits for one probability column.", "one limit makes two classes"
                )
            note = f"event = above {reading.cut[0]:g}"
        elif reading.versus_rest:
            note = f"event = {' or '.join(reading.versus_rest)}"
        elif column.fractions or (column.numeric and set(column.labels) <= {"0", "1"} and reading.positive is None):
            note = "event = 1"
        else:
            labels = self._event(column, columns)
            classes = labels_of(labels)
            note = f"event = {labels[1]}"
        if self.table.whole and not column.fractions and not reading.cut and not reading.versus_rest:
            hits = column.times.get(labels[1], 0)
            note += f" ({hits:,} of {column.present.len():,})"
        models = tuple((self.stem if len(columns) == 1 else c, (c,)) for c in columns)
        scale = self.scale
        if not reading.scale and len(columns) == 1:
            words = roles.plain(columns[0]).split("_")
            scale = "logit" if "logit" in words else "log" if {"logprob", "logp"} & set(words) else scale
        why = "" if len(columns) == 1 else "one model per column (rule 7)"
        return self._done(Layout("binary", models, classes, outcome, labels=labels, scale=scale), note, why=why)

    def _event(self, column: Column, columns: list[str]) -> tuple[str, str]:
        labels, positive = column.labels, self.reading.positive
        if positive is not None:
            if positive not in labels:
                raise self.table.error(
                    f"outcome `{column.name}` holds {short(labels)}, not {positive}.",
                    "name the value that is the event",
                )
            others = [v for v in labels if v != positive]
            if len(others) > 1:
                raise self._more_than_two(column, columns[0])
            return (others[0] if others else "other"), positive
        if len(labels) > 2 or not labels:
            raise self._more_than_two(column, columns[0])
        pair = roles.event_of(labels)
        if pair is None:
            options = "   or   ".join(self.table.option("positive", v) for v in labels)
            raise self.table.error(
                f"outcome `{column.name}` holds {' and '.join(labels)}; "
                f"which one does `{columns[0]}` forecast?   {options}"
            )
        return pair

    # ---------------------------------------------------------------- rule 8: realised

    def realised(self) -> Layout | None:
        column = self._first(roles.REALISED, lambda c: c.numeric)
        if self.reading.layout == "realised" and column is None:
            given = self.reading.positive_proba or self.reading.proba
            column = self.table.column(items_of(given, self.table.columns)[0]) if given else self._one_probability(())
        if column is None:
            return None
        self._event_or_realised(self._named_outcome(), [column])
        scale = self.reading.scale or ("log" if "log" in roles.plain(column) else "probability")
        found = Layout("realised", ((self.stem, (column,)),), scale=scale)
        return self._done(
            found, "", why="probability of what happened only (rule 8): it cannot be compared with frequencies"
        )


def _common_end(a: str, b: str) -> str:
    end = ""
    while len(end) < min(len(a), len(b)) and a[-len(end) - 1] == b[-len(end) - 1]:
        end = a[-len(end) - 1] + end
    return end
