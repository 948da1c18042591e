"""What the papers measure: their procedures, source probabilities by a curve, both sides of every class."""

from __future__ import annotations

from collections.abc import Iterator

from veracity import words
from veracity.measures import MEANS, quantity
from veracity.records.papers import CurveMeans, SourceCurve
from veracity.records.reading import Reading
from veracity.results.assessment import Assessment
from veracity.show.cells import Cell, Interval, Label, Table, Value, described, named_in_papers, table
from veracity.words import finite

MOST_CLASSES = 10


def tables(a: Assessment) -> Iterator[Table]:
    """Yield the measured means by the paper that a preset names and by the curve asked for, and both sides by class."""
    yield from at_r(a)
    if a.papers.asked is not None:
        paper, published = a.papers.asked
        notes = [words.PUBLISHED.format(paper=paper, floor=f"{a.floor:g}"), *spread_ratio(published.spread_ratio)]
        yield _measured(a, f"By the procedure of {paper}", published, notes)
    curve = a.papers.curve
    if curve is not None:
        groups = "all classes together" if list(curve.points) == [""] else "each class by itself"
        notes = [words.BY_CURVE.format(groups=groups), *spread_ratio(curve.spread_ratio)]
        yield _measured(a, f"Source by {words.CURVES[curve.curve]}", curve, notes)
    if a.papers.asked is not None or curve is not None:
        yield from both_sides(a)


def at_r(a: Assessment) -> Iterator[Table]:
    """Yield the generalized means at the r that were asked for."""
    if not a.means_at:
        return
    rows: list[tuple[Cell, ...]] = []
    for one in a.means_at.values():
        sides = (one.reported, one.expected, one.measured)
        rows.append((Label(f"r = {words.in_full(one.r)}"), *(c for x in sides for c in (Value(x), Interval(x)))))
    level = (words.level(a.level), 1)
    columns = ("it gave", level, "it expected", level, "recalibrated", level)
    reasons = {f"r = {words.in_full(one.r)}": words.why(one.reported) for one in a.means_at.values()}
    notes = [words.AT_R, *(f"{name}: {reason}." for name, reason in reasons.items() if reason)]
    yield table("Means at other r", columns, rows, notes, first="Mean at", empty=False)


def both_sides(a: Assessment) -> Iterator[Table]:
    """Yield the three means of model and source over the cases of each class, the largest classes of many."""
    classes = sorted(a.papers.classes.items(), key=lambda item: -item[1].n)[:MOST_CLASSES]
    if not classes:
        return
    names = [name for name in a.papers.classes if name in dict(classes)]
    rows: list[tuple[Cell, ...]] = []
    for name in names:
        one = a.papers.classes[name]
        for mean, label in MEANS.items():
            model, source = (side.number(mean) for side in (one.model, one.source))
            sides = (Value(model, percent=True, digits=1), Value(source, percent=True, digits=1))
            rows.append((Label(f"{name}: {label}"), Value(one.n, digits=0), *sides))
    notes = [words.BOTH_SIDES]
    notes += (
        [f"The largest {len(names)} of {len(a.papers.classes)} classes."] if len(names) < len(a.papers.classes) else []
    )
    yield table("Model and source by class", ("cases", "model", "source"), rows, notes, first="Class", empty=False)


def _measured(a: Assessment, title: str, means: CurveMeans | SourceCurve, notes: list[str]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name in MEANS:
        sides = (a.reported.reading(name), means.measured.reading(name), means.divergence.reading(name))
        rows.append((Label(MEANS[name]), *(cell for one in sides for cell in (Value(one), Interval(one)))))
    level = (words.level(a.level), 1)
    columns = ("reported", level, "measured", level, "reported ÷ measured", level)
    return table(title, columns, rows, notes, empty=False)


def spread_ratio(reading: Reading | None) -> list[str]:
    """Return the line of a spread ratio; nothing where there is none."""
    if finite(reading) is None:
        return []
    ratio = quantity("spread_ratio")
    _, spread, limits = described(ratio, reading)
    between = f" ({limits.text})" if limits.text else ""
    return [f"{named_in_papers(ratio)} {spread.text}{between}: {ratio.gloss[:1].lower()}{ratio.gloss[1:]}"]
