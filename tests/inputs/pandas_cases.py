"""What frames and series of pandas must give, whichever version it is and with pyarrow or without it.

Run by `test_pandas.py` in several environments, of which some have no pytest:  python -W error pandas_cases.py 3 no
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from veracity import Forecasts, assess, compare
from veracity.read import ReadOptions, frame

N = 240
NAMES = ["low", "mid", "high"]
RNG = np.random.default_rng(24)
Q = RNG.dirichlet([1.0, 1.0, 1.0], N)
K = np.array([RNG.choice(3, p=q) for q in Q])
WORDS = [NAMES[k] for k in K]
CLASSES = {f"p_{name}": Q[:, j] for j, name in enumerate(NAMES)}
SITE = ["north" if i % 3 else "south" for i in range(N)]
UNIT = [f"unit {i // 8}" for i in range(N)]
WHEN = pd.Series(pd.date_range("2024-01-01", periods=N, freq="D"))
LOSS = float(-np.mean(np.log(Q[np.arange(N), K])))


def table(**more: Any) -> Any:
    return pd.DataFrame({"y": WORDS, **CLASSES, **more})


def loss(made: Any) -> float:
    return float(made.scores.log_loss)


def near(found: float, wanted: float = LOSS) -> None:
    assert abs(found - wanted) < 1e-12, (found, wanted)


def refused(call: Callable[[], Any]) -> str:
    try:
        call()
    except ValueError as error:
        return str(error)
    raise AssertionError("not refused")


def holed(values: Any, *rows: int) -> list[Any]:
    return [None if i in rows else value for i, value in enumerate(values)]


def text_of_every_type_is_an_outcome() -> None:
    for kind in (None, object, "string", "category"):
        words = pd.Series(WORDS, dtype=kind)
        near(loss(assess(words, Q[:, [2, 0, 1]])))
        near(loss(assess(words, pd.DataFrame(Q, columns=NAMES))))
        near(loss(assess(table().assign(y=words))))


def ordered_categories_keep_their_order() -> None:
    words = pd.Categorical(WORDS, categories=NAMES, ordered=True)
    near(loss(assess(words, Q)))
    near(loss(assess(pd.Series(words), Q)))
    near(loss(assess(pd.DataFrame({"y": words, **{f"p{j}": Q[:, j] for j in range(3)}}))))


def numbers_of_every_type_are_read() -> None:
    happened, p = K > 0, 1.0 - Q[:, 0]
    wanted = float(-np.mean(np.log(np.where(happened, p, 1.0 - p))))
    for kind in ("int64", "Int64", "boolean", bool, "UInt8", float):
        near(
            loss(assess(pd.DataFrame({"y": pd.Series(happened).astype(kind), "p": pd.array(p, dtype="Float64")}))),
            wanted,
        )
        near(loss(assess(pd.Series(happened).astype(kind), pd.Series(p))), wanted)
    near(loss(assess(pd.DataFrame({"y": np.where(happened, "yes", "no"), "p": p}))), wanted)


def missing_outcomes_and_probabilities_are_found() -> None:
    held = table().assign(y=pd.Series(holed(WORDS, 3)), p_low=pd.Series(holed(Q[:, 0], 7), dtype=float))
    assert refused(lambda: assess(held)).startswith("1 of 240 outcomes in `y` are missing (first: row 3), and 1 of 720")
    (left,) = frame(held, ReadOptions(missing="drop")).values()
    assert len(left) == N - 2
    words = pd.Series(holed(WORDS, 3))
    assert refused(lambda: assess(words, Q)).startswith("1 of 240 outcomes in y_true are missing (first: row 3)")
    assert len(Forecasts.of(words, Q[:, [2, 0, 1]], missing="drop")) == N - 1
    assert len(Forecasts.of(pd.Series(holed(WORDS, 3), dtype="category"), Q[:, [2, 0, 1]], missing="drop")) == N - 1


def groups_and_clusters_are_text() -> None:
    for kind in (None, object, "string", "category"):
        site, unit = pd.Series(SITE, dtype=kind), pd.Series(UNIT, dtype=kind)
        f = Forecasts.of(pd.Series(WORDS), pd.DataFrame(Q, columns=NAMES), groups={"site": site}, clusters=unit)
        (g,) = frame(table(site=site, unit=unit), ReadOptions(label="y", group="site", cluster="unit")).values()
        for made in (f, g):
            assert list(made.groups["site"]) == SITE
            assert made.clusters is not None
        assert np.array_equal(f.clusters, g.clusters)
        assert len(np.unique(f.clusters)) == N // 8


def missing_clusters_are_refused() -> None:
    for kind in (None, object, "string", "category"):
        unit = pd.Series(holed(UNIT, 5, 6), dtype=kind)
        wanted = "2 of 240 rows without a cluster (first: row 5)"
        assert wanted in refused(lambda unit=unit: assess(pd.Series(WORDS), Q[:, [2, 0, 1]], clusters=unit))
        assert wanted in refused(lambda unit=unit: assess(table(unit=unit), label="y", cluster="unit"))


def times_are_read() -> None:
    wanted = assess(K, Q, time=np.arange(N)).scores.log_loss
    for times in (WHEN, WHEN.astype(str), WHEN.dt.as_unit("s"), WHEN.dt.as_unit("ns")):
        for a in (assess(K, Q, time=times), assess(table(day=times), label="y", time="day")):
            near(loss(a))
            assert abs(a.scores.log_loss.low - wanted.low) < 1e-12
    zoned = table(at=WHEN.dt.tz_localize("Europe/Zurich"), lead=pd.to_timedelta(np.arange(N), unit="h"))
    near(loss(assess(zoned)))


def other_columns_do_no_harm() -> None:
    mixed = pd.Series([1, "a", None] * (N // 3), dtype=object)
    near(
        loss(
            assess(table(note=mixed, quarter=pd.period_range("1960Q1", periods=N, freq="Q"), range=pd.cut(Q[:, 0], 4)))
        )
    )
    near(loss(assess(table(site=pd.Series(SITE)), label="y", where="site!=east")))
    near(loss(assess(pd.DataFrame({"y": K, **{j: Q[:, j] for j in range(3)}}))))


def models_of_a_frame_are_compared() -> None:
    other = {f"b_{name}": (Q[:, j] + 1.0) / 4.0 for j, name in enumerate(NAMES)}
    held = pd.DataFrame({"y": WORDS, **{f"a_{name}": Q[:, j] for j, name in enumerate(NAMES)}, **other})
    made = compare(held, proba="{model}_*")
    near(loss(made.models["a"]))
    near(loss(compare(pd.Series(WORDS), {"a": Q[:, [2, 0, 1]], "b": Q}).models["a"]))


CASES = (
    text_of_every_type_is_an_outcome,
    ordered_categories_keep_their_order,
    numbers_of_every_type_are_read,
    missing_outcomes_and_probabilities_are_found,
    groups_and_clusters_are_text,
    missing_clusters_are_refused,
    times_are_read,
    other_columns_do_no_harm,
    models_of_a_frame_are_compared,
)


def main(version: str, pyarrow: str) -> None:
    """Run all cases with this major version of pandas, and print their names."""
    assert pd.__version__.startswith(f"{version}."), pd.__version__
    assert (importlib.util.find_spec("pyarrow") is not None) == (pyarrow == "yes")
    for case in CASES:
        case()
        print(case.__name__)


if __name__ == "__main__":
    main(*sys.argv[1:])
