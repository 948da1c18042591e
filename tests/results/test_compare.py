"""`compare`: paired differences, components, ranking, and what decides."""

from __future__ import annotations

import copy
import json
import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy import stats

import veracity as vc
from veracity.estimate.comparison.compare import Dependence
from veracity.inputs import prepare
from veracity.results.compare import compared
from veracity.results.schema import comparison_schema
from veracity.state.pairs import Pairs
from veracity.state.plan import Plan

Floats = NDArray[np.float64]


def softmax(z: Floats) -> Floats:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    found: Floats = e / e.sum(axis=1, keepdims=True)
    return found


def example(n: int = 600, k: int = 3, seed: int = 1) -> tuple[NDArray[np.int64], dict[str, Floats]]:
    """Outcomes of known probabilities; a model that knows them, one that is too extreme, one with noise."""
    rng = np.random.default_rng(seed)
    z = 1.3 * rng.standard_normal((n, k))
    truth = softmax(z)
    y = (truth.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    noisy = softmax(z + 0.8 * rng.standard_normal((n, k)))
    return y, {"true": truth, "sharp": softmax(2.0 * z), "noisy": noisy}


def losses(y: NDArray[np.int64], p: Floats) -> dict[str, Floats]:
    hot = np.eye(p.shape[1])[y]
    return {
        "log": -np.log(p[np.arange(len(y)), y]),
        "brier": ((p - hot) ** 2).sum(axis=1),
        "accuracy": (p.argmax(axis=1) == y).astype(float),
    }


def test_differences_are_those_of_the_rows() -> None:
    y, models = example()
    c = vc.compare(y, models)
    rows = {name: losses(y, p) for name, p in models.items()}
    for rule in ("log", "brier", "accuracy"):
        found = c.differences(rule)
        assert [(d.a, d.b) for d in found] == [("true", "sharp"), ("true", "noisy"), ("sharp", "noisy")]
        for d in found:
            x = rows[d.a][rule] - rows[d.b][rule]
            if not x.any():  # sharpening changes no pick
                assert (rule, d.p, d.reason) == ("accuracy", 1.0, "the two give every case the same")
                continue
            t = stats.ttest_1samp(x, 0.0)
            n = len(x)
            assert d.value == pytest.approx(x.mean(), rel=1e-12)
            # SciPy divides by n − 1 where the standard error here divides by n.
            assert d.z == pytest.approx(t.statistic * math.sqrt(n / (n - 1)), rel=1e-9)
            assert d.p == pytest.approx(2 * stats.t.sf(abs(d.z or 0.0), n - 1), rel=1e-9)
            low, high = t.confidence_interval(0.95)
            half = (high - low) / 2 * math.sqrt((n - 1) / n)
            assert (d.low, d.high) == pytest.approx((d.value - half, d.value + half), rel=1e-9)


def test_any_r_agrees_with_the_sums_of_the_plan() -> None:
    y, models = example()
    asked, planned = vc.compare(y, models), vc.compare(y, models, r=(-0.5,))
    for one, other in zip(asked.differences(-0.5), planned.differences(-0.5), strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-12)
        assert one.z == pytest.approx(other.z, rel=1e-9)
    assert "-0.5" in planned.record.differences
    with pytest.raises(ValueError, match="proper for r > -1"):
        asked.differences(-2.0)


def test_a_component_with_a_value_and_nothing_left_to_test_says_why() -> None:
    rng = np.random.default_rng(4)
    q = rng.dirichlet(np.ones(4), 400)
    y = (q.cumsum(axis=1) < rng.random((400, 1))).sum(axis=1)
    noisy = {f"m{i}": q * np.exp(rng.normal(0.0, 0.1 * i, q.shape)) for i in range(4)}
    c = vc.compare(y, {name: p / p.sum(axis=1, keepdims=True) for name, p in noisy.items()})
    found = [d for name in ("CL", "AL", "RL", "slope") for d in c.components(name)]
    assert any(d.z == 0.0 for d in found)
    for d in found:
        assert (d.reason is not None) == (d.z == 0.0)
        assert d.z is not None
        assert d.z * d.value >= 0.0
        if d.reason is not None:
            assert d.low is not None
            assert d.high is not None
            assert d.low < 0.0 < d.high


def test_components_are_differences_of_the_assessments() -> None:
    y, models = example()
    c = vc.compare(y, models)
    for d in c.components("CL"):
        a, b = (c.models[name]._shared.recalibration for name in (d.a, d.b))
        assert a is not None
        assert b is not None
        assert d.value == pytest.approx(a.gain("log")[0] - b.gain("log")[0], abs=1e-12)
    for d in c.components("slope"):
        a_slope, b_slope = (float(c.models[name].verdict_detail.slope) for name in (d.a, d.b))
        assert d.value == pytest.approx(a_slope - b_slope, abs=1e-9)  # Newton steps from sums in another order
    log = {(d.a, d.b): d.value for d in c.differences("log")}
    for cl, rl in zip(c.components("CL"), c.components("RL"), strict=True):
        assert cl.value + rl.value == pytest.approx(log[cl.a, cl.b], abs=1e-12)
    for d in c.components("expected_minus_realised"):
        x = [-(p * np.log(p)).sum(axis=1) + np.log(p[np.arange(len(y)), y]) for p in (models[d.a], models[d.b])]
        assert d.value == pytest.approx((x[0] - x[1]).mean(), rel=1e-10)
    with pytest.raises(ValueError, match="component: 'GL' is not one of CL, AL, RL, slope"):
        c.components("GL")


def test_ranking_names_ties_and_the_winner() -> None:
    y, models = example(3000)
    models["copy"] = softmax(np.log(models["true"]) + 1e-3 * np.random.default_rng(5).standard_normal((3000, 3)))
    c = vc.compare(y, models)
    assert set(c.ranking("log")[0]) == {"true", "copy"}
    assert {"sharp", "noisy"} == {name for tier in c.ranking("log")[1:] for name in tier}
    assert c.record.ranking["log"] == c.ranking("log")


def test_reference_is_the_second_of_every_pair() -> None:
    y, models = example()
    c, all_pairs = vc.compare(y, models, reference="sharp"), vc.compare(y, models)
    assert [(d.a, d.b) for d in c.differences("log")] == [("true", "sharp"), ("noisy", "sharp")]
    other = next(d for d in all_pairs.differences("log") if (d.a, d.b) == ("sharp", "noisy"))
    mine = c.differences("log")[1]
    assert (mine.value, mine.low, mine.high) == (-other.value, -(other.high or 0), -(other.low or 0))
    assert [(d.a, d.b) for d in c.record.deciding_rows] == [("true", "sharp"), ("noisy", "sharp")]
    with pytest.raises(ValueError, match="reference shrp: no such model; did you mean `sharp`"):
        vc.compare(y, models, reference="shrp")


def test_deciding_rows_are_the_largest_differences() -> None:
    y, models = example()
    c = vc.compare(y, models)
    rows = {name: losses(y, p)["log"] for name, p in models.items()}
    for found in c.record.deciding_rows:
        d = rows[found.a] - rows[found.b]
        sign = np.sign(d.sum())
        order = np.argsort(-sign * d, kind="stable")[: len(found.rows)]
        assert [row.row for row in found.rows] == order.tolist()
        assert [row.share for row in found.rows] == pytest.approx((d[order].cumsum() / d.sum()).tolist(), rel=1e-9)
        assert [row.outcome for row in found.rows] == [str(y[i]) for i in order]


def test_cases_needed_give_the_power() -> None:
    """With so many cases 80 % of draws see a difference of this size, by the normal approximation."""
    y, models = example()
    c = vc.compare(y, models)
    d, needed = c.differences("log")[1], c.cases_needed()[1]
    assert d.z is not None
    assert needed.cases is not None
    z = abs(d.z) * math.sqrt(needed.cases / len(y))
    assert z == pytest.approx(stats.norm.ppf(0.975) + stats.norm.ppf(0.8), rel=1e-2)  # a whole number of cases
    other = c.cases_needed(difference=2 * d.value)[1].cases
    assert other == pytest.approx(needed.cases / 4, abs=1)


def test_weights_and_counts_count_as_rows() -> None:
    y, models = example(200)
    counts = np.random.default_rng(3).integers(1, 4, len(y))
    a = vc.compare(y, models, counts=counts)
    b = vc.compare(np.repeat(y, counts), {name: np.repeat(p, counts, axis=0) for name, p in models.items()})
    for rule in ("log", "brier", "accuracy"):
        for one, other in zip(a.differences(rule), b.differences(rule), strict=True):
            assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), rel=1e-10)
    weights = counts / 7.0
    c = vc.compare(y, models, sample_weight=weights)
    rows = {name: losses(y, p)["log"] for name, p in models.items()}
    for found in c.differences("log"):
        d, w = rows[found.a] - rows[found.b], weights / weights.sum()
        error = math.sqrt((w**2 * (d - w @ d) ** 2).sum())
        assert found.value == pytest.approx(w @ d, rel=1e-12)
        assert found.z == pytest.approx(w @ d / error, rel=1e-10)


def test_clusters_and_times_are_those_of_the_formulas() -> None:
    from veracity.formulas import differences as formulas

    y, models = example(300)
    rng = np.random.default_rng(9)
    rows = {name: losses(y, p)["log"] for name, p in models.items()}
    groups, order = rng.integers(0, 40, 300), rng.permutation(300)
    clustered, timed = vc.compare(y, models, clusters=groups), vc.compare(y, models, time=order)
    for found, other in zip(clustered.differences("log"), timed.differences("log"), strict=True):
        u = formulas.influences(rows[found.a] - rows[found.b])
        error = formulas.cluster_error(np.bincount(groups, weights=u))[0]
        assert found.z == pytest.approx(found.value / error, rel=1e-9)
        error, df = formulas.cosine_error(u[np.argsort(order)])
        assert other.z == pytest.approx(other.value / error[0], rel=1e-9)
        assert other.p == pytest.approx(2 * stats.t.sf(abs(other.z or 0.0), df), rel=1e-9)
    assert clustered.record.method == "paired t, 40 clusters"
    assert timed.record.method == "paired t in time, 18 equally weighted cosines"


def test_infinite_losses_are_named_and_not_tested() -> None:
    y, models = example(400)
    wrong = models["noisy"].copy()
    wrong[7] = np.eye(3)[(y[7] + 1) % 3]
    c = vc.compare(y, {**models, "noisy": wrong})
    by_pair = {(d.a, d.b): d for d in c.differences("log")}
    lost = by_pair["true", "noisy"]
    assert lost.value == -math.inf
    assert (lost.low, lost.p, lost.p_adjusted) == (None, None, None)
    assert lost.reason == "infinite in 1 case: not tested"
    assert by_pair["true", "sharp"].p is not None
    assert c.ranking("log")[-1] == ("noisy",)
    assert all(d.p is not None for d in c.differences("brier"))


def test_equal_models_do_not_differ() -> None:
    y, models = example(100)
    c = vc.compare(y, {"a": models["true"], "b": models["true"].copy()})
    d = c.differences("log")[0]
    assert (d.value, d.p, d.reason) == (0.0, 1.0, "the two give every case the same")
    assert c.ranking("log") == (("a", "b"),)
    assert c.cases_needed()[0].cases is None


def test_document_goes_both_ways_and_fits_the_schema() -> None:
    y, models = example(300)
    c = vc.compare(y, models, groups={"site": np.arange(300) % 2}, time=np.arange(300))
    text = c.to_json()
    jsonschema.Draft202012Validator(comparison_schema()).validate(json.loads(text))
    back = vc.Comparison.from_json(text)
    assert back == c
    assert back.differences("brier") == c.differences("brier")
    assert back.ranking("log") == c.ranking("log")
    assert back.components("CL") == c.components("CL")
    assert back.cases_needed() == c.cases_needed()
    with pytest.raises(AttributeError, match="make it again from the forecasts"):
        back.differences(0.3)
    assert pickle.loads(pickle.dumps(c)) == c == copy.deepcopy(c)
    assert set(c.record.groups["site"]) == {"0", "1"}
    with pytest.raises(ValueError, match="not 'veracity/comparison/2'"):
        vc.Comparison.from_json("{}")


def test_groups_hold_the_differences_of_their_rows() -> None:
    y, models = example(300)
    site = np.where(np.arange(300) < 120, "north", "south")
    c = vc.compare(y, models, groups={"site": site})
    for name, found in c.record.groups["site"].items():
        alone = vc.compare(y[site == name], {m: p[site == name] for m, p in models.items()}, labels=[0, 1, 2])
        for one, other in zip(found, alone.differences("log"), strict=True):
            assert (one.value, one.z) == pytest.approx((other.value, other.z), rel=1e-9)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "few clusters": ({"clusters": np.arange(100) % 9}, "cluster: 9 clusters; intervals need at least 10"),
    "few times": ({"time": np.arange(100) % 5}, "time: 5 different times; intervals in time need at least 10"),
    "window without time": ({"window": "10"}, "window 10 has no effect without time\n  add time="),
    "clusters and time": (
        {"clusters": np.arange(100) // 5, "time": np.arange(100)},
        "clusters and time exclude one another\n  units with many cases: clusters; a series: time",
    ),
    "lags without time": ({"lags": 3}, "lags 3 has no effect without time\n  add time="),
    "too many lags": ({"lags": 100, "time": np.arange(100)}, "lags 100: there are only 100 times"),
    "horizon and lags": (
        {"lags": 3, "horizon": 2, "time": np.arange(100)},
        "horizon: lags are given too\n  give one of them",
    ),
    "missing time": (
        {"time": np.where(np.arange(100) == 4, np.nan, np.arange(100.0))},
        "time: 1 row without a time (first: row 5).",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_dependence_is_refused_with_its_reason(case: str) -> None:
    y, models = example(100)
    options, message = BAD[case]
    with pytest.raises(ValueError) as caught:
        vc.compare(y, models, **options)
    assert str(caught.value).startswith(message)


def test_one_model_or_other_classes_are_refused() -> None:
    y, models = example(50)
    with pytest.raises(ValueError, match="a comparison needs two"):
        vc.compare(y, {"true": models["true"]})
    with pytest.raises(TypeError, match="give the probabilities of each model by name"):
        vc.compare(y, models["true"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="has no option 'colour'"):
        vc.compare(y, models, colour=1)


def test_repeated_times_and_gaps_are_findings() -> None:
    y, models = example(100)
    time = np.arange(100.0)
    time[50:] += 20
    time[3] = 2
    codes = {f.code: f for f in vc.compare(y, models, time=time).record.findings}
    assert codes["repeated_times"].message == (
        "`time`: 2 of 100 cases share their time with another; cases of one time are taken together"
    )
    assert codes["gaps_in_time"].count == 2  # after the repeated time, and of 20
    slow = np.repeat(np.random.default_rng(3).random(10) < 0.5, 10).astype(int)
    p = np.where(np.repeat(np.arange(10) % 2 == 0, 10), 0.8, 0.3)
    found = vc.compare(slow, {"a": p, "b": np.full(100, 0.5)}, time=np.arange(100)).record.findings
    assert "persistent_differences" in {f.code for f in found}


@pytest.mark.parametrize("cut", [1, 2, 7])
def test_pairs_in_parts_and_in_any_order_are_those_of_the_whole(cut: int) -> None:
    """Cases of one model may come before those of another, in another order; sums agree to rounding."""
    from dataclasses import replace

    from veracity.estimate.comparison.paired import Scorer
    from veracity.inputs import prepare
    from veracity.results.compare import _keys

    y, models = example(500)
    site, person = {"site": np.arange(500) % 3}, np.arange(500) % 60
    held = {n: prepare(y, p, groups=site, clusters=person) for n, p in models.items()}
    keyed = {n: replace(f, model=n, case=_keys(f)) for n, f in held.items()}
    scorer = Scorer(3, True)
    whole = Pairs(tuple(models), scorer)
    whole.take(keyed.values())
    rng = np.random.default_rng(cut)
    states = []
    for f in keyed.values():
        order = rng.permutation(500)
        for piece in np.array_split(order, cut):
            part = Pairs(tuple(models), scorer)
            part.take([f.take(piece)])
            states.append(part.to_bytes())
    total = Pairs(tuple(models), scorer)
    for i in rng.permutation(len(states)):
        total.add_bytes(states[i])
    assert whole.moments is not None
    assert total.moments is not None
    assert total.moments.cases == whole.moments.cases == 500
    assert total.moments.pairs == pytest.approx(whole.moments.pairs, rel=1e-12)
    assert total.moments.keyed is not None
    assert whole.moments.keyed is not None
    assert total.moments.keyed.values == pytest.approx(whole.moments.keyed.values, rel=1e-12)
    assert total.groups["site"]["1"].pairs == pytest.approx(whole.groups["site"]["1"].pairs, rel=1e-12)
    mine, theirs = (pairs.samples["sharp"].rows() for pairs in (total, whole))
    assert mine is not None
    assert theirs is not None
    assert np.array_equal(mine.matrix, theirs.matrix)


def real(shared: Path, name: str) -> tuple[Any, dict[str, Any], Any, Any]:
    """Outcomes, models, times and clusters of a public set; games have a second model that is tamer by a fifth."""
    if name.endswith("games"):
        d = pl.read_csv(shared / "fivethirtyeight_checking" / f"{name}.csv").filter(pl.col("prob1_outcome") != 0.5)
        p = d["prob1"].to_numpy()
        tame = 1 / (1 + ((1 - p) / p) ** 0.8)
        y = d["prob1_outcome"].cast(pl.Int64).to_numpy()
        return y, {"elo": p, "tame": tame}, d["date"].to_numpy().astype("datetime64[D]"), d["team1"].to_numpy()
    if name == "cifar-10":
        frames = [pl.read_parquet(shared / "cifar_netcal" / f"{net}-{name}.parquet") for net in NETWORKS]
        models = {net: f.drop("label").to_numpy() for net, f in zip(NETWORKS, frames, strict=True)}
        place = np.arange(frames[0].height)
        return frames[0]["label"].to_numpy(), models, place, place % 137
    file, label, time, names = {
        "niamey": ("niamey_precip_2016/niamey.csv", "obs", "date", ("Logistic", "EMOS", "EPC")),
        "recession": ("recession_spf_probit/recession.csv", "recession", "dt", ("spf", "probit")),
    }[name]
    d = pl.read_csv(shared / file)
    y = d[label].cast(pl.Int64).to_numpy()
    return y, {m: d[m].to_numpy() for m in names}, d[time].to_numpy(), np.arange(len(y)) // 7


NETWORKS = ("lenet-5", "wideresnet-16-4")


@pytest.mark.shared
@pytest.mark.parametrize("name", ["recession", "niamey", "cifar-10", "mlb_games", "nba_games", "nfl_games"])
def test_differences_of_real_forecasts_equal_other_libraries(shared: Path, name: str) -> None:
    """statsmodels with HAC and cluster covariance, SciPy, and Harvey, Leybourne & Newbold written out; 1e-9."""
    y, models, time, cluster = real(shared, name)
    moment = np.unique(time, return_inverse=True)[1]
    group = np.unique(cluster, return_inverse=True)[1]
    n, times, clusters = len(y), int(moment.max()) + 1, int(group.max()) + 1
    binary = next(iter(models.values())).ndim == 1
    rows = {m: losses(y, np.column_stack([1 - p, p]) if binary else p.astype(float)) for m, p in models.items()}

    def ols(x: Floats, kind: str, **options: Any) -> float:
        fit = sm.OLS(x, np.ones(len(x))).fit(cov_type=kind, cov_kwds={"use_correction": False, **options})
        return float(fit.bse[0])

    def horizon(x: Floats, h: int) -> float:
        e = x - x.mean()
        gamma = [float(e[k:] @ e[: len(e) - k]) / len(e) for k in range(h)]
        variance = (gamma[0] + 2 * sum(gamma[1:])) / len(e)
        return math.sqrt(variance / ((len(e) + 1 - 2 * h + h * (h - 1) / len(e)) / len(e)))

    designs: dict[str, tuple[dict[str, Any], Any, float]] = {
        "independent": ({}, lambda d, t: stats.sem(d) * math.sqrt((n - 1) / n), n - 1),
        "clusters": (
            {"clusters": cluster},
            lambda d, t: ols(d, "cluster", groups=group) * math.sqrt(clusters / (clusters - 1)),
            clusters - 1,
        ),
        "lags": ({"time": time, "lags": 4}, lambda d, t: ols(t, "HAC", maxlags=4), math.inf),
        "horizon": ({"time": time, "horizon": 2}, lambda d, t: horizon(t, 2), times - 1),
    }
    for options, error, df in designs.values():
        c = vc.compare(y, models, labels=[0, 1] if binary else None, **options)
        for rule in ("log", "brier"):
            for found in c.differences(rule):
                d = rows[found.a][rule] - rows[found.b][rule]
                in_time = np.bincount(moment, weights=d - d.mean()) * times / n + d.mean()  # of one time together
                z = d.mean() / error(d, in_time)
                assert found.value == pytest.approx(d.mean(), rel=1e-9)
                assert found.z == pytest.approx(z, rel=1e-9)
                tail = stats.norm.sf(abs(z)) if math.isinf(df) else stats.t.sf(abs(z), df)
                assert found.p == pytest.approx(2 * tail, rel=1e-8, abs=1e-300)  # far tails magnify the error of z


@pytest.mark.shared
def test_reference_numbers_of_the_recession_forecasts(shared: Path) -> None:
    d = pl.read_csv(shared / "recession_spf_probit" / "recession.csv")
    y, models = d["recession"].to_numpy(), {name: d[name].to_numpy() for name in ("spf", "probit")}
    independent = vc.compare(y, models).differences("log")[0]
    lagged = vc.compare(y, models, time=d["dt"].to_numpy(), lags=4).differences("log")[0]
    # Printed to ten decimals.
    assert independent.value == pytest.approx(-0.1404077242, abs=5e-11)
    assert independent.z == pytest.approx(-2.8546606427, abs=5e-11)
    assert lagged.z == pytest.approx(-2.2291641682, abs=5e-11)


def test_only_models_that_are_clearly_worse_are_said_to_be_beaten() -> None:
    """A model of a lower tier may differ from the best one by chance: its difference varies more."""
    unclear = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = rng.normal(0, 2, 178)
        y = (rng.random(178) < 1 / (1 + np.exp(-x))).astype(int)
        odds = {
            "good": x,
            "blur": x + rng.normal(0, 0.5, 178),
            "bad": 0.4 * x,
            "wild": 1.6 * x + rng.normal(0, 1.5, 178),
        }
        c = vc.compare(y, {name: 1 / (1 + np.exp(-z)) for name, z in odds.items()})
        best = c.ranking("log")[0][0]
        beaten = " ".join(str(c).partition("beats")[2].partition("(log loss)")[0].partition("ties with")[0].split())
        for d in c.differences("log"):
            other = d.b if d.a == best else d.a
            if best in (d.a, d.b) and d.p_adjusted is not None and d.p_adjusted >= 0.05:
                unclear += 1
                assert f"{other} by" not in beaten
    assert unclear > 5


def test_picks_are_said_to_be_different_events_only_where_they_are() -> None:
    rng = np.random.default_rng(4)
    stated = rng.choice([0.3, 0.6, 0.9], 300)
    right, other = ((rng.random(300) < q).astype(int) for q in (stated**2, stated))

    def codes(outcomes: NDArray[np.int64]) -> list[str]:
        picks = {"stated": prepare(right, stated), "squared": prepare(outcomes, stated**2)}
        models = {name: replace(f, picks_only=True) for name, f in picks.items()}
        return [finding.code for finding in compared(models, Plan(), Dependence()).record.findings]

    assert codes(right) == []
    assert codes(other) == ["own_picks"]
