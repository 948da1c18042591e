"""`monitor`: forecasts in use, judged update by update against a reference."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from veracity.estimate.monitoring import watch
from veracity.estimate.monitoring.conclude import concluded, moment
from veracity.estimate.monitoring.delays import expected_delays
from veracity.estimate.monitoring.reference import FEWEST_DAYS, Days, Reference, fitted
from veracity.estimate.monitoring.watch import State
from veracity.inputs import Forecasts, check, prepare
from veracity.kernels.blas import one_blas_thread
from veracity.progress import working
from veracity.records.monitoring import DAY, WEEK, MonitorRecord
from veracity.results.assess import models_of
from veracity.results.assessment import Assessment
from veracity.results.document import plain
from veracity.results.presented import Recorded
from veracity.results.schema import MONITOR
from veracity.state.tally import Tally
from veracity.types import Ints

WINDOW = re.compile(r"[1-9]\d{0,8}[dm]?")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Monitor(Recorded):
    """Whether forecasts in use are still calibrated, and since when not.

    >>> import numpy as np, veracity as vc
    >>> rng = np.random.default_rng(1)
    >>> p = rng.uniform(size=3000)
    >>> days = np.arange("2026-01-01", "2026-01-31", dtype="datetime64[D]").repeat(100)
    >>> y = rng.uniform(size=3000) < np.where(days < np.datetime64("2026-01-11"), p, p**2)
    >>> m = vc.monitor(y, p, time=days)
    >>> m.record.change.words, m.record.change.until <= m.record.alarms[0].start
    (('too high',), True)
    """

    SCHEMA, RECORD = MONITOR, "monitor"

    record: MonitorRecord
    state: State | None = None  # None where the monitor was read from a document

    @property
    def alarm(self) -> bool:
        """Whether the evidence stands above the threshold."""
        return self.record.evidence >= self.record.threshold

    def to_bytes(self) -> bytes:
        """Return the state, with which `monitor(…, state=…)` continues tomorrow."""
        if self.state is None:
            raise AttributeError("this monitor was read from a document that does not hold its state; keep the state")
        return watch.dumps(self.state)

    def rows(self) -> list[dict[str, Any]]:
        """Return the windows as a flat table."""
        return [plain(window) for window in self.record.windows]


def monitor(
    y_true: Any,
    y_proba: ArrayLike | None = None,
    *,
    time: ArrayLike | None = None,
    reference: Any = None,
    counts: ArrayLike | None = None,
    labels: Sequence[Any] | None = None,
    pos_label: object = None,
    window: str | int = "1d",
    updates: str = DAY,
    state: bytes | None = None,
    **reading: Any,
) -> Monitor:
    """Watch forecasts in use: are they still calibrated, and since when not?

    Parameters
    ----------
    y_true : array-like of shape (n,), `Forecasts` or data frame
        Outcomes, as in `assess`. The columns of a frame are recognised, or named by the reading options.
    y_proba : array-like of shape (n,) or (n, k)
        Probability of the event, or of each class.
    time : array-like of shape (n,)
        When each case took place.
    reference : Assessment, Tally, Forecasts, Monitor, or (y_true, y_proba) or (y_true, y_proba, time), optional
        Labelled forecasts of the same model whose recalibration counts as calibrated; with times of 30 days or more
        it also shows how much days differ. Default: the forecasts themselves.
    counts : array-like of int, shape (n,), optional
        Number of identical cases that each row stands for.
    labels, pos_label
        As in `assess`.
    window : str or int, default "1d"
        Length of the windows that are shown: "7d", "1m", or a number of updates.
    updates : {"day", "week"}, default "day"
        How often the evidence is looked at.
    state : bytes, optional
        What `Monitor.to_bytes()` returned for all earlier days.

    Returns
    -------
    Monitor
        Windows, alarms, what changed since when; `alarm` says whether one stands.

    Examples
    --------
    >>> import numpy as np
    >>> import veracity as vc
    >>> rng = np.random.default_rng(1)
    >>> day, p = np.repeat(np.arange(60), 40), rng.uniform(0.1, 0.5, 2400)
    >>> happened = rng.random(2400) < np.where(day < 40, p, 0.5 * p)  # half as often from day 40 on
    >>> vc.monitor(happened, p, time=day).alarm
    True
    """
    given: dict[str, Any] = {"counts": counts, "labels": labels, "pos_label": pos_label, "time": time}
    options = {name: value for name, value in given.items() if value is not None}
    if isinstance(y_true, Forecasts):
        forecasts = y_true
    elif y_proba is None:
        renamed = {{"counts": "count"}.get(name, name): value for name, value in options.items()}
        models = models_of(y_true, reading | renamed, "monitor")
        if len(models) > 1:
            raise ValueError(f"monitor: {len(models)} models ({', '.join(models)}); give the columns of one")
        forecasts = next(iter(models.values()))
    else:
        for option in reading:
            raise TypeError(f"monitor() of arrays has no option {option!r}")
        forecasts = check(prepare(y_true, y_proba, **options))
    return monitored(forecasts, reference, window=str(window), updates=updates, state=state)


@one_blas_thread
@working("monitoring")
def monitored(
    forecasts: Forecasts,
    reference: Any = None,
    *,
    window: str = "1d",
    updates: str = DAY,
    state: bytes | None = None,
    dashes: str = "",
    model: str | None = None,
) -> Monitor:
    """Return the monitor of checked forecasts; `dashes` are "--" where options were typed."""
    if updates not in (DAY, WEEK):
        raise ValueError(f"{dashes}updates: {updates!r} is not one of {DAY}, {WEEK}")
    if not WINDOW.fullmatch(window):
        raise ValueError(f"{dashes}window {window}: none of 7d (days), 1m (months), 10 (updates)")
    _refuse(forecasts, dashes)
    dates = forecasts.names.dates
    if not dates and (updates == WEEK or window.endswith("m")):
        wrong = f"updates {WEEK}" if updates == WEEK else f"window {window}"
        remedy = "leave it out: each whole number is an update"
        raise ValueError(f"{dashes}{wrong}: the times are numbers, not dates\n  {remedy}")
    classes = tuple(map(str, forecasts.classes))
    before = None if state is None else watch.loads(state)
    base = None if reference is None else reference_of(reference, classes, updates, dashes)
    if before is None:
        before = State(classes, updates, dates, base)
    else:
        _check_same(before, classes, updates, dates, base, dashes)
    days = Days.of(forecasts, watch.keys_of(np.asarray(forecasts.time, dtype=np.float64), updates))
    if before.last is not None and days.keys[0] <= before.last:
        counted = [key for key in days.keys.tolist() if key <= before.last]
        named = moment(before, counted[0])
        raise ValueError(
            f"the {updates} {named} is in the state already, which ends with {moment(before, before.last, end=True)} "
            f"({len(counted)} of {len(days)} {updates}s)\n"
            f"  give later {updates}s only, each of them whole; or begin again without the state"
        )
    after = before.after(days)
    return Monitor(record=concluded(after, window), state=after, model=model)


def _refuse(f: Forecasts, dashes: str = "") -> None:
    """Refuse forecasts that cannot be monitored."""
    if f.probabilities is None or f.outcomes is None:
        raise ValueError("only the probability of the outcome is known; a monitor needs the forecast of every class")
    if f.time is None:
        option = "--time COL" if dashes else "time="
        raise ValueError(f"a monitor needs the time of each case, and there is none\n  add {option}")
    for what, values in (("weights", f.weights), ("clusters", f.clusters)):
        if values is not None:
            soft = " (outcomes between 0 and 1 were split)" if f.split else ""
            remedy = (
                f"{dashes}soft omit leaves those outcomes out" if f.split else "leave them out; counts are possible"
            )
            raise ValueError(f"a monitor counts cases and takes no {what}{soft}\n  {remedy}")
    if f.offered is not None:
        raise ValueError("the options differ by row: a monitor needs the same classes in every case")


def reference_of(reference: Any, classes: Sequence[str], updates: str = DAY, dashes: str = "") -> Reference:
    """Return the fitted reference of labelled forecasts, however they are given."""
    if isinstance(reference, Monitor):
        if reference.state is None or reference.state.reference is None:
            raise ValueError("reference: this monitor holds none; give labelled forecasts")
        return reference.state.reference
    days = days_of_reference(reference, classes, updates, dashes)
    arrays = (days.keys, days.first, days.p, days.y, days.count)
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()
    few = updates == WEEK and len(days) < FEWEST_DAYS
    apart = days_of_reference(reference, classes, DAY, dashes) if few else None
    fitted_reference = replace(fitted(days, apart), digest=digest)
    return replace(fitted_reference, delays=expected_delays(fitted_reference, days, updates))


def days_of_reference(reference: Any, classes: Sequence[str], updates: str = DAY, dashes: str = "") -> Days:
    """Return the rows of a reference by day; of one day where it has no times."""
    f = labelled(reference)
    own = tuple(map(str, f.classes))
    if own != tuple(classes):
        new = [name for name in classes if name not in own]
        what = f"{', '.join(new)} {'is' if len(new) == 1 else 'are'} not among them" if new else "in another order"
        raise ValueError(
            f"{dashes}reference: classes {', '.join(own)}; the forecasts have {', '.join(classes)}: {what}\n"
            "  give a reference of the same model with the same classes"
        )
    if f.probabilities is None or f.outcomes is None:
        raise ValueError(f"{dashes}reference: only the probability of the outcome is known; give whole forecasts")
    keys: Ints = np.zeros(len(f), np.int64)
    if f.time is not None:
        keys = watch.keys_of(np.asarray(f.time, dtype=np.float64), updates)
    return Days.of(f, keys)


def labelled(reference: Any) -> Forecasts:
    """Return the labelled forecasts of a reference, however they are given."""
    if isinstance(reference, Forecasts):
        return reference
    if isinstance(reference, Assessment):
        if reference.tally is None:
            raise ValueError(
                "reference: this assessment was read from a document, without its cases; assess them again"
            )
        reference = reference.tally
    if isinstance(reference, Tally):
        if not reference.measurable or not len(reference.rows):
            raise ValueError("reference: this tally holds no labelled forecasts of all classes; give the cases")
        return reference.rows
    if isinstance(reference, tuple | list) and len(reference) in (2, 3):
        time = reference[2] if len(reference) == 3 else None
        return check(prepare(reference[0], reference[1], time=time))
    raise TypeError(f"reference: a {type(reference).__name__}; give an assessment, a tally, or (y_true, y_proba, time)")


def _check_same(
    before: State, classes: Sequence[str], updates: str, dates: bool, reference: Reference | None, dashes: str
) -> None:
    """Refuse a state that another monitor wrote."""
    again = "give the state of this monitor, or begin again without one"
    if before.classes != tuple(classes):
        raise ValueError(
            f"the state is of the classes {', '.join(before.classes)}, the forecasts of {', '.join(classes)}\n  {again}"
        )
    if before.updates != updates:
        raise ValueError(
            f"the state has one update a {before.updates}\n  add {dashes}updates {before.updates}, or begin again"
        )
    if before.dates != dates:
        kinds = ("dates", "numbers") if before.dates else ("numbers", "dates")
        raise ValueError(f"the times of the state are {kinds[0]}, those of the forecasts {kinds[1]}\n  {again}")
    if reference is not None and (before.reference is None or before.reference.digest != reference.digest):
        has = "no reference" if before.reference is None else "another reference"
        raise ValueError(
            f"{dashes}reference: the state has {has}\n  leave the reference out, or begin again without the state"
        )
