"""Numbers as people read them: the digits that their uncertainty supports, never scientific notation."""

from __future__ import annotations

import math
from decimal import Decimal

from veracity.records.reading import Reading
from veracity.records.sections import Gain

ENOUGH = 3  # decimals of a score; more only where the interval is that narrow
TINY = 1e-6  # a probability of the outcome below which a single case is worth a note
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def value(reading: float | None) -> float | None:
    """Return the number of a reading, or None if it has no value."""
    if reading is None or (isinstance(reading, Reading) and not reading.known):
        return None
    return float(reading)


def finite(reading: float | None) -> float | None:
    """Return the number if it is finite, else None."""
    x = value(reading)
    return x if x is not None and math.isfinite(x) else None


def ends(reading: float | Gain | None) -> tuple[float, float] | None:
    """Return both ends of the interval, or None without an interval."""
    if not isinstance(reading, Reading | Gain) or reading.low is None or reading.high is None:
        return None
    return float(reading.low), float(reading.high)


def decimals(reading: float | Gain | None) -> int:
    """Return the decimals that show two digits of the uncertainty, or one beyond the third decimal; three where it is
    not known.

    >>> from veracity.records.reading import Reading
    >>> [decimals(Reading(0.1, 0.1 - half, 0.1 + half)) for half in (0.12, 0.022, 0.0071, 0.00071)]
    [2, 3, 3, 4]
    """
    limits = ends(reading)
    half = (limits[1] - limits[0]) / 2.0 if limits else 0.0
    if half > 0.0 and math.isfinite(half):
        first = -magnitude(half)  # the decimal of the first digit
        return min(max(min(first + 1, ENOUGH), first, 0), 5)
    size = abs(value(reading.gain if isinstance(reading, Gain) else reading) or 0.0)
    return 3 if size < 10 else 1 if size < 1000 else 0


def number(reading: float | None, digits: int | None = None) -> str:
    """Return a number with the digits its interval supports, never in scientific notation.

    >>> [number(x) for x in (0.71138, 2.6e-5, 2.6e-14, 1.0, 12.345, 98765.4, 0.0, float("inf"), None)]
    ['0.711', '0.00003', '<0.000001', '1.000', '12.3', '98,765', '0', '∞', '–']
    """
    x = value(reading)
    if x is None:
        return "–"
    if math.isnan(x):
        return "undefined"
    if math.isinf(x):
        return "∞" if x > 0 else "−∞"
    limits = ends(reading)
    if x == 0.0 and (limits is None or limits[0] == limits[1]):
        return "0"
    digits = decimals(reading) if digits is None else digits
    return rounded(x, digits) if limits is not None and limits[0] <= 0.0 <= limits[1] else _fixed(x, digits)


def _fixed(x: float, digits: int) -> str:
    size = abs(x)
    if 0 < size < 0.5 * 10**-digits:  # never a false zero
        digits = min(-magnitude(size), 6)
        text = f"{size:.{digits}f}" if size >= 1e-6 else "<0.000001"
        return f"−{text}" if x < 0 and size >= 1e-6 else text
    return rounded(x, digits)


def magnitude(x: float) -> int:
    """Return the power of ten of the first digit; 0.1 has that of 0.1 even if rounding made it a little less.

    >>> magnitude(0.1), magnitude(0.1 - 1e-16), magnitude(25.0), magnitude(0.034)
    (-1, -1, 1, -2)
    """
    return math.floor(math.log10(x) + 1e-12)


def rounded(x: float, digits: int) -> str:
    """Return a number rounded, to 0 if it is small; zero has no sign. Halves are halves whatever their last digits.

    >>> rounded(52.5, 0), rounded(52.5 + 1e-13, 0), rounded(-0.001, 2)
    ('52', '52', '0.00')
    """
    x = float(f"{x:.12g}")
    return f"−{abs(x):,.{digits}f}" if round(x, digits) < 0 else f"{abs(x):,.{digits}f}"


def in_full(x: float) -> str:
    """Return a number that was given, with all its digits and without scientific notation.

    >>> in_full(0.01), in_full(1e-06), in_full(0.0125), in_full(3.0)
    ('0.01', '0.000001', '0.0125', '3')
    """
    return f"{Decimal(repr(float(x))):f}".removesuffix(".0")


def share(x: float) -> str:
    """Return a share in percent with the digits of its distance from 0 and 1, or as 1 in so many where it is tiny.

    >>> share(0.254), share(0.0034), share(0.00001), share(0.9997), share(0.99999999)
    ('25 %', '0.3 %', '1 in 100,000', '99.97 %', '>99.99 %')
    """
    if 0.0 < x < 0.001:
        return chance(x)
    if 0.9999 <= x < 1.0:
        return f">{99.99} %"
    rest = 100.0 * min(x, 1.0 - x)
    return f"{rounded(100.0 * x, 0 if rest == 0.0 or rest >= 0.995 else -magnitude(rest))} %"


def percent(reading: float | None, digits: int | None = None) -> str:
    """Return a share in percent, with the digits its interval supports; never 0 % or 100 % where it is not.

    >>> [percent(x) for x in (0.838, 0.0, 1.0, 0.00001)], percent(0.9999, 0), percent(0.33, 0)
    (['83.8 %', '0.0 %', '100.0 %', '<0.1 %'], '>99 %', '33 %')
    """
    x = value(reading)
    if x is None or not math.isfinite(x):
        return number(reading)
    digits = min(max(decimals(reading) - 2, 0), 3) if digits is None else digits
    least = 10.0**-digits
    if 0 < x < 0.005 * least:
        return f"<{least:.{digits}f} %"
    if 1 - 0.005 * least < x < 1:
        return f">{100 - least:.{digits}f} %"
    return f"{_fixed(100 * x, digits)} %"


def interval(reading: float | Gain | None, as_percent: bool = False, digits: int | None = None) -> str:
    """Return the interval as text; empty without an interval.

    >>> from veracity.records.reading import Reading
    >>> interval(Reading(1.1, 1.006, 1.198)), interval(Reading(0.67, 0.649, 0.696), True)
    ('1.006–1.198', '64.9–69.6 %')
    >>> interval(Reading(0.007, 0.00008, 0.014)), interval(Reading(0.045, 0.0002, 0.089))
    ('0–0.014', '0.0002–0.089')
    """
    limits = ends(reading)
    if limits is None:
        return ""
    scale = 100.0 if as_percent else 1.0
    if digits is None:
        digits = min(max(decimals(reading) - 2, 0), 3) if as_percent else decimals(reading)
    low, high = (_end(scale * end, digits) if math.isfinite(end) else "∞" if end > 0 else "−∞" for end in limits)
    between = " to " if low.startswith("−") else "–"
    return f"{low}{between}{high}{' %' if as_percent else ''}"


def _end(x: float, digits: int) -> str:
    """Return an end of an interval; one that is next to 0 beside the digits shown is 0."""
    return "0" if abs(x) < 0.1 * 10.0**-digits else _fixed(x, digits)


def why(reading: float | None) -> str:
    """Return why a reading has no number or no interval, empty where it does not say."""
    return (reading.reason or "") if isinstance(reading, Reading) else ""


def count(n: float, noun: str, many: str = "") -> str:
    """
    >>> count(1, "finding"), count(1889, "row")
    ('1 finding', '1,889 rows')
    """
    return f"{n:,.0f} {noun if n == 1 else many or noun + 's'}"


def level(share: float | None) -> str:
    """
    >>> level(0.95)
    '95 %'
    """
    return f"{100 * (share or 0.95):g} %"


def day(moment: str | None) -> str:
    """Return the day of a date in ISO 8601; empty without a date.

    >>> day("2026-11-08T01:02:03+00:00"), day(None)
    ('8 Nov 2026', '')
    """
    if not moment:
        return ""
    year, month, number_of_day = (int(part) for part in str(moment)[:10].split("-"))
    return f"{number_of_day} {MONTHS[month - 1]} {year}"


def chance(p: float) -> str:
    """Return a probability in words that need no scientific notation.

    >>> chance(0.031), chance(2e-5), chance(1e-12), chance(0.0)
    ('3.1 %', '1 in 50,000', 'less than one in a million', '0')
    """
    if p == 0:
        return "0"
    if p < TINY:
        return "less than one in a million"
    return f"1 in {float(f'{1 / p:.2g}'):,.0f}" if p < 0.001 else percent(p, 1)


def p_value(p: float | None) -> str:
    """Return a p-value with the digits that matter.

    >>> [p_value(p) for p in (0.00001, 0.0123, 0.42, None)]
    ['< 0.001', '0.012', '0.42', '–']
    """
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def p_known(p: float | None) -> str:
    """Return a p-value for a table, empty where nothing was tested."""
    return "" if p is None else p_value(p)


def p_equals(p: float) -> str:
    """
    >>> p_equals(0.00001), p_equals(0.0123)
    ('p < 0.001', 'p = 0.012')
    """
    shown = p_value(p)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"
