"""The answer of a monitor, and of an estimate without labels, as blocks."""

from __future__ import annotations

from veracity.results.monitor import Monitor
from veracity.show.blocks import Block, Chart, Contents, Details, FindingBlock, Heading, Sentence
from veracity.show.cells import Cell, Column, Label, Table, Value, table
from veracity.words import count, monitoring

MOST_WINDOWS = 12  # of the first screen: the last ones


def summary(result: Monitor) -> list[Block]:
    """Return the first screen."""
    record = result.record
    about = [count(record.n, "case"), count(record.number, record.updates)]
    span = f"{monitoring.date(record.start, year=True)} to {monitoring.date(record.end, year=True)}"
    heading = Heading(result.model or "Forecasts in use", " · ".join([*about, span]))
    said: list[Block] = [Sentence(*monitoring.headline(record), lead=True)]
    said += [FindingBlock(finding) for finding in record.findings]
    tables = [] if not record.delays else [_delays(result)]
    return [heading, *said, Chart("monitor", result), Contents(), _windows(result, MOST_WINDOWS), *tables]


def answer(result: Monitor) -> list[Block]:
    """Return the first screen, and every window."""
    found = summary(result)
    if len(result.record.windows) > MOST_WINDOWS:
        found.append(Details("All windows", (_windows(result, None),), folded=True))
    return found


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
        cells = (Label(monitoring.date(w.start)), Value(w.n, digits=0), *shares, Value(w.z, digits=1), *losses, *slopes)
        rows.append((*cells, monitoring.evidence(w.evidence)))
    heads = (
        "cases",
        "expected",
        "observed",
        "z",
        ("log loss", 2),
        ("expected loss", 2),
        *((("slope", 2),) if two else ()),
    )
    left_out = f"The last {len(shown)} of {len(record.windows)}." if len(shown) < len(record.windows) else ""
    notes = (left_out, monitoring.reference_note(record))
    return table(monitoring.WINDOWS, (*heads, Column("evidence")), rows, notes, first="From")


def _delays(result: Monitor) -> Table:
    rows = [(Label(what), found) for what, found in map(monitoring.delay, result.record.delays)]
    note = monitoring.delays_note(result.record)
    return table(monitoring.DELAYS, (Column(f"{result.record.updates}s"),), rows, [note], first="Change")
