"""The monitor: states that continue, evidence that is what its formula says, and what calibrated means."""

from __future__ import annotations

import json

import numpy as np
import pytest

import veracity as vc
from veracity.estimate.monitoring.alternatives import TWO, MoreClasses, TwoClasses, log_odds
from veracity.estimate.monitoring.detector import AHEAD, Detector
from veracity.estimate.monitoring.reference import Days, fit_more, fitted
from veracity.results.monitor import Monitor
from veracity.results.schema import monitor_schema


def days(number, per=60, start="2026-03-02"):
    return np.datetime64(start) + np.arange(number).repeat(per)


def draw(rng, time, level=0.0, since=None):
    """Forecasts and outcomes; from `since` on the event's log-odds are moved by `level`."""
    p = rng.beta(0.8, 1.6, len(time)).clip(1e-6, 1 - 1e-6)
    moved = np.zeros(len(time)) if since is None else level * (time >= np.datetime64(since))
    truth = 1 / (1 + np.exp(-(np.log(p / (1 - p)) + moved)))
    return (rng.uniform(size=len(time)) < truth).astype(int), p


@pytest.fixture(scope="module")
def reference():
    rng = np.random.default_rng(0)
    time = days(40, start="2026-01-01")
    return (*draw(rng, time), time)


@pytest.mark.parametrize("with_reference", [True, False])
def test_thirty_daily_calls_leave_the_same_bytes_as_one_call(with_reference, reference):
    rng, time = np.random.default_rng(1), days(30)
    y, p = draw(rng, time, -0.8, "2026-03-20")
    order = rng.permutation(len(time))  # the file of all days need not be in order
    used = reference if with_reference else None
    whole = vc.monitor(y[order], p[order], time=time[order], reference=used)
    state = None
    for day in np.unique(time):
        at = time == day
        today = vc.monitor(y[at], p[at], time=time[at], reference=used if state is None else None, state=state)
        state = today.to_bytes()
    assert state == whole.to_bytes()
    assert today == whole


def test_evidence_of_one_alternative_is_the_sum_of_products_over_every_beginning():
    rng = np.random.default_rng(2)
    time = days(5, 20)
    y, p = draw(rng, time)
    held = Days.of(vc.Forecasts.of(y, p, time=time), np.floor(time.astype(float)).astype(np.int64))
    alternatives = TwoClasses(np.array([[0.0, 1.0]]), np.array([-0.5]))
    detector, alone = Detector.new(alternatives, np.ones(1), "day"), np.ones(1)
    for number in range(len(held)):
        part = held.part(number)
        detector = detector.after(alternatives.log_ratios(part.x, part.y, part.count), alone, np.zeros(1), number)
    x = log_odds(p)
    for t, (a, b) in enumerate(TWO):
        q = 1 / (1 + np.exp(-(-0.5 + a + b * (x + 0.5))))
        each = np.where(y == 1, q / p, (1 - q) / (1 - p))
        from_day = [np.prod(each[time >= day]) for day in np.unique(time)]
        before = AHEAD * 3650 * from_day[0]  # a change before the first day
        assert np.exp(detector.log_r[0, 0, t]) == pytest.approx(
            before + sum(from_day), rel=1e-9
        )  # products of 100 ratios
        assert np.exp(detector.total[0, 0, t]) == pytest.approx(from_day[0], rel=1e-9)


def test_every_alternative_is_a_distribution():
    rng = np.random.default_rng(3)
    p = rng.dirichlet([1, 2, 3, 4], 5)
    nulls = np.array([[0.1, 0.0, -0.2, 0.0, 1.1], [0.0, 0.0, 0.0, 0.0, 0.8]])
    many, one = MoreClasses(nulls, np.arange(3)), np.ones(1, np.int64)
    for row in p:
        for j in range(2):
            c = np.exp(many.log_null(np.log(row)[None], j))[0]
            ratios = np.exp([many.log_ratios(np.log(row)[None], np.array([k]), one)[j] for k in range(4)])
            assert np.allclose(c @ ratios[:, 1:], 1.0, atol=1e-12)
            assert np.allclose(many.expected(np.log(row)[None])[0] * ratios[:, 0], c, atol=1e-12)
    table = many.by_outcome(np.log(p))
    for i, k in np.ndindex(5, 4):
        assert np.allclose(table[i, k], many.log_ratios(np.log(p[[i]]), np.array([k]), one), atol=1e-12)


def test_levels_of_more_classes_are_as_uncertain_as_their_frequencies_and_one_for_all_is_no_error():
    rng = np.random.default_rng(0)
    p = np.full((3000, 3), 1 / 3) * np.exp(rng.normal(0, 0.01, (3000, 3)))
    p /= p.sum(axis=1, keepdims=True)
    _, covariance = fit_more(np.log(p), rng.integers(0, 3, 3000), np.ones(3000))
    assert np.allclose(covariance[:3, :3].sum(axis=0), 0.0, atol=1e-9)
    # the log-odds of a class against the mean of all have the variance (k − 1)/n
    assert np.allclose(np.diag(covariance)[:3], 2 / 3000, rtol=0.05)


def test_sums_of_days_and_of_parts_add():
    rng = np.random.default_rng(4)
    x, y, count = rng.normal(size=300), rng.integers(0, 2, 300), rng.integers(1, 4, 300)
    alternatives = TwoClasses(np.array([[0.0, 1.0], [0.1, 0.9]]), np.zeros(2))
    whole = alternatives.log_ratios(x, y, count)
    parts = sum(alternatives.log_ratios(x[i::3], y[i::3], count[i::3]) for i in range(3))
    repeated = alternatives.log_ratios(x.repeat(count), y.repeat(count), np.ones(count.sum(), np.int64))
    assert np.allclose(parts, whole, atol=1e-11)  # sums of 600 terms
    assert np.allclose(repeated, whole, atol=1e-11)


def test_a_known_miscalibration_of_the_reference_does_not_alarm_but_that_of_the_forecasts_does(reference):
    rng, time = np.random.default_rng(5), days(60)
    (y_ref, p_ref, t_ref), (y, p) = reference, draw(rng, time)
    bent = [1 / (1 + np.exp(-(1.8 * np.log(q / (1 - q)) + 0.5))) for q in (p_ref, p)]
    assert not vc.monitor(y, bent[1], time=time, reference=(y_ref, bent[0], t_ref)).alarm
    alone = vc.monitor(y, bent[1], time=time).record
    assert alone.change.until is None
    assert "over-confident" in alone.change.words


def test_a_change_of_slope_alone_is_told_by_what_the_outcome_was_given(reference):
    rng, time = np.random.default_rng(15), days(30, 100)
    p = rng.beta(0.8, 1.6, len(time)).clip(1e-4, 1 - 1e-4)
    x = np.log(p / (1 - p))
    happened = 1 / (1 + np.exp(-np.where(time < np.datetime64("2026-03-12"), x, 0.4 * x - 0.3)))
    made = vc.monitor((rng.uniform(size=len(p)) < happened).astype(int), p, time=time)
    change, late = made.record.change, time >= np.datetime64(made.record.change.since)
    assert change.words == ("over-confident",)
    assert change.typical
    assert change.expected == pytest.approx(np.exp(np.mean((p * np.log(p) + (1 - p) * np.log(1 - p))[late])), rel=1e-9)
    assert change.observed < change.expected
    assert "over-confident: the outcome was to be given 6" in made.to_markdown()
    calm = vc.monitor(*draw(rng, time), time=time)
    assert "% predicted, " in calm.to_markdown()


def test_the_reference_may_be_an_assessment_a_tally_or_the_cases(reference):
    rng, time = np.random.default_rng(6), days(10)
    y, p = draw(rng, time)
    y_ref, p_ref, t_ref = reference
    assessed = vc.assess(y_ref, p_ref, time=t_ref)
    made = [vc.monitor(y, p, time=time, reference=one).to_bytes() for one in (reference, assessed, assessed.tally)]
    assert made[0] == made[1] == made[2]


def test_document_returns_whole_and_fits_its_schema(reference):
    import jsonschema

    rng, time = np.random.default_rng(7), days(20)
    y, p = draw(rng, time, -1.5, "2026-03-10")
    made = vc.monitor(y, p, time=time, reference=reference, window="7d")
    assert made.alarm
    jsonschema.validate(json.loads(made.to_json()), monitor_schema())
    again = Monitor.from_json(made.to_json())
    assert again == made
    assert again.to_markdown() == made.to_markdown()
    with pytest.raises(AttributeError, match="does not hold its state"):
        again.to_bytes()


def test_days_that_differ_make_the_evidence_weaker():
    rng, time = np.random.default_rng(8), days(60, 300)
    p = rng.beta(0.8, 1.6, len(time)).clip(1e-6, 1 - 1e-6)
    keys = np.arange(60).repeat(300)
    found = []
    for sd in (0.0, 0.4):
        x = np.log(p / (1 - p)) + sd * rng.standard_normal(60).repeat(300)
        y = (rng.uniform(size=len(x)) < 1 / (1 + np.exp(-x))).astype(int)
        found.append(fitted(Days.of(vc.Forecasts.of(y, p), keys)))
    assert found[0].variance < 0.02
    assert 0.1 < found[1].variance < 0.25  # .16


def test_weeks_differ_at_most_as_days_where_they_are_too_few_to_tell():
    rng, time = np.random.default_rng(9), days(60, 100, "2026-01-05")
    p = rng.beta(0.8, 1.6, len(time)).clip(1e-6, 1 - 1e-6)
    x = np.log(p / (1 - p)) + 0.4 * rng.standard_normal(60).repeat(100)
    y = (rng.uniform(size=len(x)) < 1 / (1 + np.exp(-x))).astype(int)
    new = (*draw(rng, days(14)), days(14))
    daily, weekly = (
        vc.monitor(new[0], new[1], time=new[2], reference=(y, p, time), updates=updates).record.reference
        for updates in ("day", "week")
    )
    assert weekly.day_sd == pytest.approx(daily.day_sd, rel=1e-9)
    assert (daily.days, weekly.days) == (60, 9)
    assert weekly.phi > 3 * daily.phi > 3


BAD = {
    "no time": ({"time": None}, "needs the time of each case"),
    "a day already counted": ({"state": "own"}, "2026-03-02 is in the state already"),
    "another reference": ({"state": "own", "reference": "other"}, "the state has another reference"),
    "a state of other updates": ({"state": "own", "updates": "week"}, "the state has one update a day"),
    "bytes of something else": ({"state": b"nothing"}, "no state of a monitor"),
    "damaged bytes": ({"state": "cut"}, "damaged"),
    "a window of no kind": ({"window": "2h"}, "none of 7d"),
    "weights": ({"weights": True}, "takes no weights"),
    "a reference of other classes": ({"reference": "names"}, "reference: classes a, b"),
}


@pytest.mark.parametrize("name", BAD)
def test_input_that_cannot_be_monitored_is_refused_with_the_reason(name, reference):
    changed, message = BAD[name]
    rng, time = np.random.default_rng(9), days(10)
    y, p = draw(rng, time)
    given = {"time": time, "reference": reference, **changed}
    first = vc.monitor(y, p, time=time, reference=reference).to_bytes()
    state = {"own": first, "cut": first[:-5]}.get(given.get("state", ""), given.get("state"))
    given |= {"state": state} if state is not None else {}
    if given.get("state") is not None and isinstance(changed.get("state"), str) and "reference" not in changed:
        given.pop("reference")
    if given.get("reference") == "other":
        given["reference"] = (reference[0][::-1], reference[1], reference[2])
    if given.get("reference") == "names":
        given["reference"] = vc.Forecasts.of(np.where(reference[0] == 1, "b", "a"), reference[1])
    if given.pop("weights", False):
        y = vc.Forecasts.of(y, p, time=time, sample_weight=rng.uniform(1, 2, len(y)))
        p = None
        given.pop("time")
    with pytest.raises(ValueError, match=message):
        vc.monitor(y, p, **given)
