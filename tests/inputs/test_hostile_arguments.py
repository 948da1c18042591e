"""Arguments in Python that cannot be meant: one clear error at the call, with the argument and a remedy."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest

import veracity as vc
from veracity import calibrators

N = 60
RNG = np.random.default_rng(2)
P = RNG.uniform(0.05, 0.95, N)
Y = (RNG.random(N) < P).astype(int)
NAIVE = [datetime(2024, 3, 30, 12) + timedelta(hours=7 * i) for i in range(N)]  # past a change of summer time
UTC_TIMES = [moment.replace(tzinfo=UTC) for moment in NAIVE]
NEW_YORK = [moment.astimezone(ZoneInfo("America/New_York")) for moment in UTC_TIMES]


class Stubborn:
    """An array that cannot be had, such as that of a tensor with a gradient."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no array here")

    def __len__(self) -> int:
        return N


CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "clusters of two columns": (lambda: vc.assess(Y, P, clusters=np.zeros((N, 2))), r"clusters has shape \(60, 2\)"),
    "clusters of one column": (lambda: vc.assess(Y, P, clusters=np.zeros((N, 1))), r"give clusters\[:, 0\]"),
    "clusters of pairs": (lambda: vc.assess(Y, P, clusters=[(i, 0) for i in range(N)]), "join those of a row into one"),
    "clusters of a frame": (lambda: vc.assess(Y, P, clusters=pd.DataFrame({"a": Y, "b": Y})), "clusters has shape"),
    "a set of clusters": (lambda: vc.assess(Y, P, clusters=set(range(N))), "clusters is a set: its rows have no order"),
    "generated times": (lambda: vc.assess(Y, P, time=(i for i in range(N))), "time is a generator"),
    "groups of two columns": (lambda: vc.assess(Y, P, groups=np.zeros((N, 2))), r"groups\['group'\] has shape"),
    "groups by name": (lambda: vc.assess(Y, P, groups={"a": np.zeros((N, 2))}), r"groups\['a'\] has shape"),
    "compared clusters": (lambda: vc.compare(Y, {"a": P, "b": P**2}, clusters=np.zeros((N, 2))), "clusters has shape"),
    "compared groups": (lambda: vc.compare(Y, {"a": P, "b": P**2}, groups=np.zeros((N, 2))), "has shape"),
    "days of numbers": (lambda: vc.assess(Y, P, time=np.arange(N), window="5d"), "window 5d: the times are numbers"),
    "a window of all time": (lambda: vc.assess(Y, P, time=NAIVE, window=10**40), "window: '1000000"),
    "a word for r": (lambda: vc.assess(Y, P, r="abc"), "r: 'abc' is not a number"),
    "r among words": (lambda: vc.assess(Y, P, r=[0.5, "x"]), "r: 'x' is not a number"),
    "r beyond computers": (lambda: vc.assess(Y, P, r=1e9), r"r: 1e\+09; .* computed from -20 to 20"),
    "r beyond floats": (lambda: vc.assess(Y, P, r=10**400), "r: 1000.* is not a number"),
    "r that is true": (lambda: vc.assess(Y, P, r=True), "r: True is not a number"),
    "r that is missing": (lambda: vc.assess(Y, P, r=np.nan), "r: nan; means and scores"),
    "a word for the floor": (lambda: vc.assess(Y, P, floor="0.1"), "floor: '0.1' is not a number"),
    "a list of levels": (lambda: vc.assess(Y, P, level=[0.9]), r"level: \[0.9\] is not a number"),
    "ends of no width": (lambda: vc.assess(Y, P, end_width=1e-300), "end_width: 1e-300 .* too small"),
    "a list of maps": (lambda: vc.assess(Y, P, map=["platt"]), r"map: \['platt'\] is not one of"),
    "several events": (
        lambda: vc.assess(Y, P, pos_label=pd.Series([0, 1])),
        r"(?s)pos_label=.* is not one of the labels",
    ),
    "huge weights": (lambda: vc.assess(Y, P, sample_weight=[10**400] * N), "sample_weight holds 1000"),
    "huge forecasts": (lambda: vc.assess(Y, [10**400] * N), "y_proba holds 1000"),
    "ragged forecasts": (lambda: vc.assess(Y, [[0.1, 0.9], [0.5]] * (N // 2)), "y_proba: rows of different lengths"),
    "ragged outcomes": (lambda: vc.assess([[0, 1], [1]] * (N // 2), P), "y_true: not one array"),
    "a stubborn array": (lambda: vc.assess(Y, Stubborn()), "y_proba cannot be read as an array"),
    "signalling outcomes": (lambda: vc.assess([Decimal("sNaN")] * N, P), "all 60 outcomes .* are missing"),
    "ideals that are missing": (lambda: vc.assess(Y, P, ideal=np.full(N, np.nan)), "ideal: 60 of 60 rows"),
    "ideals above one": (lambda: vc.assess(Y, P, ideal=3 * P), r"ideal\[2\] = .*: above 1"),
    "a plan of another kind": (lambda: vc.Tally.of(Y, P, plan=[1]), "plan: a list; give a Plan"),  # type: ignore[arg-type]
    "bytes of another kind": (lambda: vc.Tally.from_bytes("x"), "data: these bytes are not a tally"),  # type: ignore[arg-type]
    "a mean of stubbornness": (lambda: vc.generalized_mean(Stubborn(), 0), "is not an array of numbers"),  # type: ignore[arg-type]
    "a mean of huge numbers": (lambda: vc.generalized_mean([10**400], 0), "is not an array of numbers"),
    "a mean of a huge power": (lambda: vc.generalized_mean([0.5], 10**400), "is not an array of numbers"),
    "a rule of a huge number": (lambda: vc.rule(10**400), "is not a number"),
    "a huge target": (lambda: vc.adjust([[0.5, 0.5]], [10**400, 1]), "target: .*give one probability for each"),
    "a stubborn target": (lambda: vc.adjust([[0.5, 0.5]], Stubborn()), "target: .*give one probability for each"),  # type: ignore[arg-type]
    "ragged scores": (lambda: vc.adjust([[0.5, 0.5], [1.0]], [0.5, 0.5]), "y_proba: not one array"),
    "no name of a map": (lambda: calibrators.fit(5, vc.Forecasts.of(Y, P)), "map: 5 is not one of"),  # type: ignore[arg-type]
    "counts beyond floats": (lambda: vc.PredictionTable([[10**400, 1], [1, 1]]), "counts: "),
    "cases beyond floats": (
        lambda: vc.PredictionTable.from_tidy(["a", "b"], ["no", "yes"], [10**400, 1]),
        "n: .*numbers",
    ),
    "words as probabilities": (lambda: vc.PredictionTable.from_probabilities(["x"], [1], [1]), "p: .* not an array"),
    "tables without names": (lambda: vc.PredictionTable.pooled([1, 2]), "tables: give tables by name"),  # type: ignore[arg-type]
    "a table that is no text": (lambda: vc.PredictionTable.from_json(5), "text: a int, not JSON"),  # type: ignore[arg-type]
    "a table that is no JSON": (lambda: vc.PredictionTable.from_json("x"), "text: this is no JSON"),
    "no text": (lambda: vc.Assessment.from_json(None), "text: a NoneType, not JSON"),  # type: ignore[arg-type]
    "a model by number": (lambda: vc.compare(Y, {"a": P, "b": P**2}, reference=3), "reference"),  # type: ignore[arg-type]
    "a column by a fraction": (
        lambda: vc.assess(pl.DataFrame({"y": Y, "p": P}), label=1.5),
        "label: 1.5 is not the name",
    ),
    "a column by a list": (lambda: vc.assess(pl.DataFrame({"y": Y, "p": P}), time=["a"]), r"time: \['a'\] is not the"),
}


@pytest.mark.parametrize("case", CALLS)
def test_what_cannot_be_meant_is_refused_at_the_call(case: str) -> None:
    call, message = CALLS[case]
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def days(times: Any) -> Any:
    return vc.Forecasts.of(Y, P, time=times).time


@pytest.mark.parametrize(
    "times",
    [
        UTC_TIMES,
        NEW_YORK,
        [(UTC_TIMES, NEW_YORK)[i % 2][i] for i in range(N)],
        pd.Series(UTC_TIMES).dt.tz_convert("America/New_York"),
        pd.DatetimeIndex(UTC_TIMES).tz_convert("Europe/Berlin"),
        pl.Series(UTC_TIMES).dt.convert_time_zone("America/New_York"),
        [moment.isoformat() for moment in NEW_YORK],
        [moment.isoformat().replace("+00:00", "Z") for moment in UTC_TIMES],
    ],
    ids=["universal", "New York", "two zones", "pandas", "an index", "polars", "texts", "texts with Z"],
)
def test_times_with_zones_are_instants(times: Any) -> None:
    np.testing.assert_array_equal(days(times), days(np.array(NAIVE, "datetime64[us]")))


def test_times_with_and_without_a_zone_are_refused() -> None:
    mixed = [moment if i != 4 else moment.replace(tzinfo=None) for i, moment in enumerate(UTC_TIMES)]
    for times in (mixed, [str(moment) for moment in mixed], pd.Series(mixed, dtype=object)):
        with pytest.raises(ValueError, match=r"row 0 has a time zone .*, row 4 has none .*\n  give all of them with"):
            days(times)
    frame = pd.DataFrame({"y": Y, "p": P, "t": pd.Series(mixed, dtype=object)})
    with pytest.raises(ValueError, match="row 0 has a time zone"):
        vc.assess(frame, label="y", positive_proba="p", time="t")


def test_a_missing_time_among_times_with_zones_is_called_missing() -> None:
    for nothing in (None, pd.NaT):
        with pytest.raises(ValueError, match="1 row without a time"):
            days([nothing, *UTC_TIMES[1:]])


def test_one_number_is_a_list_of_one_risk_parameter() -> None:
    assert vc.assess(Y, P, r=0.5) == vc.assess(Y, P, r=np.array([0.5]))
    assert vc.Plan(r=0.5) == vc.Plan(r=(0.5,))  # type: ignore[arg-type]


REMOVED = object()
ODD = (None, "x", float("nan"), "inf", [], {}, -1, 1e308, 10**400, True, [[]], REMOVED)


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every value of a document, of lists the first ones."""
    if at:
        yield at
    held = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, one in held:
        yield from places(one, (*at, key))


def changed(document: Any, place: tuple[Any, ...], value: Any) -> Any:
    made = held = copy.deepcopy(document)
    for key in place[:-1]:
        held = held[key]
    if value is REMOVED:
        del held[place[-1]]
    else:
        held[place[-1]] = value
    return made


def test_a_document_of_odd_content_is_refused_or_can_be_printed() -> None:
    whole = vc.assess(Y, P, groups=np.arange(N) % 2, time=np.arange(N), window=30)
    document = json.loads(whole.to_json())
    rng = np.random.default_rng(3)
    deep = [place for place in places(document) if len(place) > 1]
    wanted = [(place, value) for place in places(document) if len(place) == 1 for value in ODD]
    wanted += [(deep[i], ODD[j]) for i, j in zip(rng.choice(len(deep), 700), rng.choice(len(ODD), 700), strict=True)]
    wanted += [(("n",), 10**400), (("baseline",), {}), (("groups", "group", "levels", "0", "n"), 10**400)]
    wanted += [(("findings", 0, "severity"), [[]])] if document["findings"] else []
    printed = refused = 0
    for place, value in wanted:
        try:
            made = vc.Assessment.from_document(changed(document, place, value))
        except ValueError:
            refused += 1
            continue
        assert str(made), (place, value)
        printed += 1
    assert printed > 50
    assert refused > 200


def test_a_damaged_table_is_a_value_error() -> None:
    document = json.loads(vc.PredictionTable([[83, 56], [2, 12]]).to_json())
    for name in ("counts", "rows", "strata", "train", "unit"):
        with pytest.raises(ValueError, match=r"."):
            vc.PredictionTable.from_json(json.dumps({**document, name: {"x": 1}}))
        with pytest.raises(ValueError, match=r"damaged \(KeyError"):
            vc.PredictionTable.from_json(json.dumps({key: held for key, held in document.items() if key != name}))
