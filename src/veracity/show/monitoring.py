"""The answer of a monitor, and of an estimate without labels, as blocks."""

from __future__ import annotations

from veracity import words
from veracity.results.estimate import Estimate
from veracity.results.monitor import Monitor
from veracity.show.blocks import Block, Chart, Contents, Details, Heading, Sentence
from veracity.show.cells import Cell, Column, Interval, Label, Statistic, Table, Value, table
from veracity.words import count, monitoring

MOST_WINDOWS = 12  # of the first screen: the last ones


def summary(result: Monitor) -> list[Block]:
    """Return the first screen."""
    record = result.record
    about = [count(record.n, "case"), count(record.number, record.updates)]
    heading = Heading(result.model or "Forecasts in use", " · ".join([*about, monitoring.span(record, year=True)]))
    lead: list[Block] = [Sentence(*monitoring.headline(record), lead=True)]
    lead += [Sentence(*words.note(finding)) for finding in record.findings]
    tables = [] if not record.delays else [_delays(result)]
    return [heading, *lead, Chart("monitor", result), Contents(), _windows(result, MOST_WINDOWS), *tables]


def answer(result: Monitor) -> list[Block]:
    """Return the first screen, and every window."""
    shown = summary(result)
    if len(result.record.windows) > MOST_WINDOWS:
        shown.append(Details("All windows", (_windows(result, None),), folded=True))
    return shown


def _windows(result: Monitor, most: int | None) -> Table:
    record = result.record
    shown = record.windows if most is None else record.windows[-most:]
    two = len(record.classes) == 2
    rows: list[tuple[Cell, ...]] = []
    for w in shown:
        shares = (Value(w.expected, percent=True, digits=0), Value(w.observed, percent=True, digits=0))
        losses = (Value(w.log_loss, digits=3), Value(w.expected_log_loss, digits=3))
        slope = Value(w.slope, digits=2) if w.slope is not None else ""
        slopes = (slope,) if two else ()
        cells = (Label(monitoring.date(w.start)), Value(w.n, digits=0), *shares, Statistic(w.z), *losses, *slopes)
        rows.append((*cells, monitoring.evidence(w.evidence)))
    heads = (
        "cases",
        monitoring.expected_as(record),
        "observed",
        ("z", 2),
        ("log loss", 2),
        ("expected loss", 2),
        *((("slope", 2),) if two else ()),
    )
    left_out = f"The last {len(shown)} of {len(record.windows)}." if len(shown) < len(record.windows) else ""
    notes = (left_out, monitoring.reference_note(record))
    return table(monitoring.WINDOWS, (*heads, Column("evidence")), rows, notes, first="From")


def _delays(result: Monitor) -> Table:
    rows = [(Label(what), delay) for what, delay in map(monitoring.delay, result.record.delays)]
    note = monitoring.delays_note(result.record)
    return table(monitoring.DELAYS, (Column(f"{result.record.updates}s"),), rows, [note], first="Change")


SCORES = {"log_loss": "Log loss", "brier": "Brier score (0–2)", "accuracy": "Accuracy", "auc": "AUC"}


def estimate(result: Estimate) -> list[Block]:
    """Return the answer of an estimate without labels."""
    record = result.record
    about = [count(record.n, "forecast"), f"reference of {count(record.reference_n, 'case')}"]
    shown: list[Block] = [Heading(result.model or "Forecasts without outcomes", " · ".join(about))]
    shown.append(Sentence(*monitoring.estimated(record), lead=True))
    shown += [Sentence(*words.note(finding)) for finding in record.findings]
    rows = []
    for name, reading in record.scores.items():
        percent = name == "accuracy"
        own = Value(record.self_expected[name], percent=percent, digits=1 if percent else 3)
        rows.append((Label(SCORES.get(name, name)), Value(reading, percent), Interval(reading, percent), own))
    columns = ("estimate", words.level(0.95), "by the forecasts themselves")
    note = "By the forecasts themselves: what they would score if each were right, which over-confident ones believe."
    shown.append(table("Estimated scores", columns, rows, [note], first="Score"))
    shown.append(Contents())
    if record.net_benefit:
        pairs = record.net_benefit.items()
        benefit = [(Label(f"acting from {100 * float(t):g} %"), Value(x, digits=3), Interval(x)) for t, x in pairs]
        shown.append(table("Net benefit", ("estimate", words.level(0.95)), benefit, first="Threshold"))
    before = record.reference_frequencies
    shares = [
        (Label(name), Value(before[name], percent=True, digits=1), Value(x, True), Interval(x, True))
        for name, x in record.frequencies.items()
    ]
    notes = [monitoring.shifts(record)]
    heads = ("reference", "estimate", words.level(0.95))
    shown.append(table("Class frequencies", heads, shares, notes, first="Class"))
    return shown
