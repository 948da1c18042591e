"""Sentences about forecasts in use: calibrated until when, alarm since when, and what to expect of a monitor."""

from __future__ import annotations

from collections.abc import Sequence

from veracity.records.monitoring import Alarm, Change, Delay, EstimateRecord, MonitorRecord, Needed, PlanRecord
from veracity.records.reading import Reading

from .labels import BAD, GOOD, NOTICE, Said
from .numbers import MONTHS, count, number, p_equals, percent
from .text import capital, listing
from .verdict import two_percents

NO_ALARM, MISCALIBRATED = "No alarm", "miscalibrated"
REFERENCE_TABLE = "Reference"
WINDOWS = "Windows"
DELAYS = "Expected delays"


def date(day: str, year: bool = False) -> str:
    """Return a day as people write it; a time that is no date as it is.

    >>> date("2026-03-12"), date("2026-03-12", year=True), date("17")
    ('12 Mar', '12 Mar 2026', '17')
    """
    parts = day.split("-")
    if len(parts) != 3 or not all(parts):
        return day
    text = f"{int(parts[2])} {MONTHS[int(parts[1]) - 1]}"
    return f"{text} {parts[0]}" if year else text


def day_of(record: MonitorRecord, day: str) -> str:
    """Return a day, with its year where the record spans several."""
    return date(day, record.start[:4] != record.end[:4])


def span(record: MonitorRecord, year: bool = False) -> str:
    """Return the days of a record, from the first to the last; one day alone."""
    first, last = (date(day, True) if year else day_of(record, day) for day in (record.start, record.end))
    return first if first == last else f"{first} to {last}"


def headline(record: MonitorRecord) -> Said:
    """Return the one sentence of a monitor."""
    change = record.change
    if change is None:
        return _without_alarm(record)
    words = listing(change.words) or MISCALIBRATED
    about = f" for {change.class_name}" if change.class_name is not None else ""
    expected, observed = two_percents(change.expected, change.observed)
    verb = expected_as(record)
    if change.typical:
        shares = f"the outcome was to be given {expected} typically, and was given {observed}"
    else:
        shares = f"{expected} {verb}, {observed} observed"
    alarm = first_alarm(record.alarms, change)
    when = f"alarm on {day_of(record, alarm.start)}"
    if change.until is None:
        text = f"{capital(words)}{about} since the beginning ({day_of(record, change.since)}): {shares}; {when}."
    else:
        text = f"Calibrated until {day_of(record, change.until)}; since then {words}{about}: {shares}; {when}."
    return Said(BAD, "Alarm", text)


def expected_as(record: MonitorRecord) -> str:
    """Return what the expected share of the event is: that of the forecasts themselves, or by the reference."""
    return "predicted" if record.reference is None and len(record.classes) == 2 else "expected"


def first_alarm(alarms: Sequence[Alarm], change: Change) -> Alarm:
    """Return the first alarm that the change gave; evidence may fall below its line for a day or two."""
    return next((alarm for alarm in alarms if alarm.start >= change.since), alarms[-1])


def _without_alarm(record: MonitorRecord) -> Said:
    total = record.n
    expected = sum(w.expected * w.n for w in record.windows) / total
    observed = sum(w.observed * w.n for w in record.windows) / total
    days = count(record.number, record.updates)
    before, after = two_percents(expected, observed)
    shares = f"{before} {expected_as(record)}, {after} observed"
    looked = f"{days} ({span(record)}, {count(total, 'case')})"
    if len(record.classes) > 2:
        shares = f"the evidence is {evidence(record.evidence)}, the line {evidence(record.threshold)}"
    past = record.alarms
    earlier = ""
    if past:
        ends = day_of(record, past[-1].start), day_of(record, past[-1].end or record.end)
        earlier = " There was an alarm from {} to {}.".format(*ends)
    return Said(NOTICE if past else GOOD, NO_ALARM, f"No miscalibration found in {looked}: {shares}.{earlier}")


def evidence(x: float) -> str:
    r"""Return evidence in words: whole numbers, none beyond those that matter.

    >>> evidence(0.034), evidence(12.3), evidence(3650), evidence(2.5e12)
    ('0.03', '12', '3,650', '>\xa0100,000')
    """
    if x > 1e5:
        return ">\u00a0100,000"
    return f"{x:,.0f}" if x >= 10 else number(x, 2)


def delay(one: Delay) -> tuple[str, str]:
    """Return a change, and how long it takes to find it.

    >>> delay(Delay("level", -0.3, 18.0, 200, 100))
    ('Level off by −0.3 (log-odds)', '18')
    >>> delay(Delay("slope", 0.6, None, 200, 100))
    ('Slope 0.6 (too extreme)', 'more than 200')
    """
    sign = "−" if one.size < 0.0 else "+"
    how = "too extreme" if one.size < 1.0 else "too cautious"
    what = f"Level off by {sign}{abs(one.size):g} (log-odds)" if one.what == "level" else f"Slope {one.size:g} ({how})"
    return what, f"more than {one.most}" if one.updates is None else f"{one.updates:.0f}"


def delays_note(record: MonitorRecord) -> str:
    """Return what the expected delays are."""
    cases = count(record.delays[0].cases, "case")
    return (
        f"Median number of {record.updates}s with {cases} until the alarm, simulated with forecasts of the reference. "
        f"While forecasts stay calibrated, at most about 5 % of years have a false alarm."
    )


def reference_note(record: MonitorRecord) -> str:
    """Return what counts as calibrated."""
    reference = record.reference
    if reference is None:
        return "Judged against the forecasts themselves."
    days = f", {count(reference.days, record.updates)}" if reference.days > 1 else ""
    level = f", intercept {reference.intercept:+.2f}".replace("-", "−") if len(record.classes) == 2 else ""
    fit = f"{count(reference.cases, 'case')}{days}: slope {reference.slope:.2f}{level}"
    sentence = f"Judged against the reference's own recalibration ({fit})"
    if reference.day_sd is None:
        return f"{sentence}."
    differ = f"{record.updates}s differ by about {reference.day_sd:.2f} log-odds"
    return f"{sentence}; {differ}, so evidence is divided by {reference.phi:.1f} on a usual {record.updates}."


def caption(record: MonitorRecord) -> str:
    """Return what the picture of a monitor shows."""
    outside = sum(
        w.low is not None and w.high is not None and not w.low <= w.observed <= w.high for w in record.windows
    )
    windows = count(len(record.windows), "window")
    share = f"{outside} of {windows} lie outside the 95 % band of calibrated forecasts (1 in 20 does by chance)."
    line = evidence(record.threshold)
    if record.change is not None:
        alarm = first_alarm(record.alarms, record.change)
        return f"{share} The evidence crossed its line of {line} on {day_of(record, alarm.start)}."
    return f"{share} The evidence is {evidence(record.evidence)}; the alarm is given at {line}."


def estimated(record: EstimateRecord) -> Said:
    """Return the one sentence of an estimate without labels."""
    loss = record.scores["log_loss"]
    text = f"Log loss about {number(loss)}{_between(loss)}, accuracy about {percent(record.scores['accuracy'])}"
    text += f", on {count(record.n, 'case')} without outcomes, if the reference's recalibration still holds."
    return Said(NOTICE, "Estimated", text)


def _between(reading: Reading) -> str:
    from .numbers import interval

    limits = interval(reading)
    return f" ({limits})" if limits else ""


def shifts(record: EstimateRecord) -> str:
    """Return what the two alarms say."""
    forecasts, labels = record.forecast_shift.p, record.label_shift.p
    first = "differ" if forecasts is not None and forecasts <= 0.01 else "do not clearly differ"
    second = "differ" if labels is not None and labels <= 0.01 else "do not clearly differ"
    return (
        f"The forecasts {first} from the reference's ({p_equals(forecasts or 0.0)}); class frequencies {second} "
        f"({p_equals(labels or 0.0)}, if only these changed)."
    )


NEEDS = {
    "verdict": "a verdict",
    "comparison": "a comparison with the corrected forecasts",
    "monitor": "a monitor without a reference",
}


def plan(record: PlanRecord) -> str:
    """Return the cases that are needed, as lines for a terminal."""
    what = delay(Delay(record.error, record.size, None, 0, 0))[0]
    source = f"base rate {percent(record.baseline, 1)}, AUC {record.auc:g}, seen with {percent(record.power, 0)} power"
    lines = [f"{what}: {source}", ""]
    lines += [f"  {NEEDS[one.what]:<42} {_cases(one)}" for one in record.needed]
    return "\n".join(lines) + "\n"


def _cases(one: Needed) -> str:
    if one.cases is None:
        return "more cases than can be planned for"
    text = f"{_about(one.cases)} cases ({_about(one.events or 0)} events)"
    if one.updates is None or one.per_update is None:
        return text
    return f"{text}: {count(one.updates, 'day')} of {count(one.per_update, 'case')}"


def _about(n: int) -> str:
    """Return a number with two digits.

    >>> _about(1234), _about(57), _about(8)
    ('1,200', '57', '8')
    """
    digits = max(len(str(n)) - 2, 0)
    return f"{round(n, -digits):,}"
