"""Laws over the whole document: what must not change anything changes nothing, number by number, sentence by sentence.

Every leaf of the document is found by walking it, so that a new section is under the laws the day it is added. What a
law may change is listed with its reason; nothing else may differ.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import veracity as vc
from veracity.state.tally import Tally, total

N = 400
EXACT = 1e-9  # sums in another order
FITTED = 1e-6  # maps found by iteration, which stops before the last digits
ITERATIVE = re.compile(r"remedies|losses|decomposed_profile|adjustment|verdict_detail|corp|slope|spread_ratio|skill")
MADE = ("provenance",)  # how the document was made: time, command, seconds


def leaves(held: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a document with its path."""
    if isinstance(held, Mapping):
        for name, value in held.items():
            if path or name not in MADE:
                yield from leaves(value, f"{path}.{name}" if path else name)
    elif isinstance(held, (list, tuple)):
        for i, value in enumerate(held):
            yield from leaves(value, f"{path}[{i}]")
    else:
        yield path, held


def differences(found: Any, wanted: Any, allowed: str = "", near: float = EXACT) -> list[str]:
    """The leaves that differ, except those whose path matches `allowed`."""
    one, other = dict(leaves(wanted)), dict(leaves(found))
    but = re.compile(allowed) if allowed else None
    out = [f"{path}: only in one" for path in {*one} ^ {*other} if not (but and but.search(path))]
    for path in one.keys() & other.keys():
        a, b = one[path], other[path]
        if a == b or (but and but.search(path)):
            continue
        bound = max(near, FITTED) if ITERATIVE.search(path) else near
        numbers = isinstance(a, (int, float)) and isinstance(b, (int, float)) and not isinstance(a, bool)
        if numbers and (abs(a - b) <= bound * max(abs(a), abs(b)) + 1e-12 or (a != a and b != b)):
            continue
        out.append(f"{path}: {a!r} and {b!r}")
    return sorted(out)


def document(y: Any, p: Any, **options: Any) -> Any:
    return json.loads(vc.assess(y, p, **options).to_json())


@cache
def case(k: int) -> tuple[Any, Any]:
    """Over-confident forecasts of k classes; some are equal, none certain; float32 can hold them."""
    rng = np.random.default_rng(k)
    truth = rng.dirichlet(np.full(k, 1.5), N)
    truth[::7] = truth[0]
    y = (rng.random(N)[:, None] > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    p = truth**1.5
    p = np.round((0.98 * p / p.sum(axis=1, keepdims=True) + 0.02 / k) * 2**20) / 2**20
    p[np.arange(N), p.argmax(axis=1)] += 1.0 - p.sum(axis=1)
    return y, p


CLASSES = (2, 10)


@pytest.fixture(params=CLASSES, scope="module")
def given(request: pytest.FixtureRequest) -> tuple[Any, Any, Any]:
    y, p = case(request.param)
    return y, p, document(y, p)


def test_permuted_rows_change_nothing(given: Any) -> None:
    y, p, wanted = given
    order = np.random.default_rng(1).permutation(N)
    # Surprises and findings name rows by their place.
    assert not differences(document(y[order], p[order]), wanted, r"^surprises\[\d+\]\.row$|^findings\[\d+\]\.rows")


def test_counts_are_repeated_rows(given: Any) -> None:
    y, p, _ = given
    counts = np.random.default_rng(2).integers(1, 4, N)
    repeated = np.repeat(np.arange(N), counts)
    wanted = document(y[repeated], p[repeated])
    # Rows are numbered otherwise; a row that counts twice is listed once among the surprises.
    assert not differences(document(y, p, counts=counts), wanted, r"^surprises|^findings\[\d+\]\.rows")


def shares(k: int, n: int) -> tuple[Any, Any]:
    """Forecasts, some of them equal, with outcomes that annotators share; some cases are equal."""
    y, p = (values[:n] for values in case(k))
    votes = np.random.default_rng(k).multinomial(4, np.full(k, 1.0 / k), n) / 4.0
    soft = np.where(np.arange(n)[:, None] % 3 == 0, np.eye(k)[y], votes)
    soft[n // 2 :], p = soft[: n - n // 2], p[np.arange(n) % (n // 2)]
    return soft, p


@pytest.mark.parametrize("k", [2, 3])
def test_cases_of_shared_outcomes_are_told_apart_by_what_they_hold(k: int) -> None:
    y, p = shares(k, 60)
    weights, labels = np.random.default_rng(7).random(60) + 0.1, [f"m{j}" for j in range(k)]
    for given in ({}, {"sample_weight": weights}):
        wanted = document(y, p, labels=labels, **given)
        order = np.random.default_rng(1).permutation(60)
        shuffled = document(y[order], p[order], labels=labels, **{name: w[order] for name, w in given.items()})
        # Surprises and findings name rows by their place; which of equal surprises are listed depends on it.
        assert not differences(shuffled, wanted, r"^surprises\[\d+\]\.(row|outcome)$|^findings\[\d+\]\.rows")
    assert not differences(document(y, p, labels=labels, sample_weight=3e5 * weights), wanted)
    twice = document(np.repeat(y, 2, axis=0), np.repeat(p, 2, axis=0), labels=labels)
    found = document(y, p, labels=labels, counts=np.full(60, 2))
    assert not differences(found, twice, r"^surprises|^findings\[\d+\]\.rows")


def test_parts_of_shared_and_of_certain_outcomes_add() -> None:
    y, p = shares(2, 60)
    y[:20], labels = np.eye(2)[y[:20].argmax(axis=1)], ["a", "b"]
    wanted = document(y, p, labels=labels)
    hard = Tally.of(np.array(labels)[y[:20].argmax(axis=1)], p[:20], labels=labels)
    parts = [hard, *(Tally.of(y[i : i + 20], p[i : i + 20], labels=labels) for i in (20, 40))]
    for order in ((0, 1, 2), (2, 0, 1)):
        found = json.loads(vc.assess(total(parts[i] for i in order)).to_json())
        assert not differences(found, wanted, r"^surprises\[\d+\]\.(row|outcome)$|^findings\[\d+\]\.rows")


def test_weights_have_no_scale(given: Any) -> None:
    y, p, _ = given
    weights = np.random.default_rng(3).random(N) + 0.2
    wanted = document(y, p, sample_weight=weights)
    assert not differences(document(y, p, sample_weight=weights * 3e5), wanted)


def test_weights_have_no_scale_in_the_order_of_equal_forecasts_and_in_groups() -> None:
    y, p = case(3)
    y, p, rng = y[:60], p[np.arange(60) % 4], np.random.default_rng(4)
    weights, groups = rng.random(60) + 0.1, rng.choice(["A", "B"], 60)
    wanted = document(y, p, sample_weight=weights, groups=groups)
    assert not differences(document(y, p, sample_weight=weights * 3e5, groups=groups), wanted)


def constant(kind: str) -> tuple[Any, Any, dict[str, Any]]:
    """Forecasts whose scores do not vary, so that sums of squares cancel but for rounding."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 10, 60)
    p = {"equal": np.full((60, 10), 0.1), "right": np.eye(10)[y], "graded": np.full((60, 10), 0.3 / 9)}[kind]
    if kind == "graded":
        p[np.arange(60), y] = 0.7
    return y, p, {"groups": rng.choice(["A", "B", "C"], 60), "sample_weight": rng.random(60) + 0.1}


@pytest.mark.parametrize("kind", ["equal", "right", "graded"])
@pytest.mark.parametrize("dependence", [None, "time", "clusters"])
def test_rounding_is_no_variation(kind: str, dependence: str | None) -> None:
    y, p, given = constant(kind)
    if dependence:
        given[dependence] = np.arange(60) // 3
    wanted = document(y, p, **given)
    order = np.random.default_rng(6).permutation(60)
    shuffled = document(y[order], p[order], **{name: values[order] for name, values in given.items()})
    assert not differences(shuffled, wanted, r"^surprises|^findings\[\d+\]\.rows")
    for scale in (0.1, 3e5):
        found = document(y, p, **given | {"sample_weight": given["sample_weight"] * scale})
        assert not differences(found, wanted), scale


def test_constant_forecasts_expect_no_excess_but_that_of_the_outcomes() -> None:
    y, p = np.arange(80) % 200, np.full((80, 200), 0.005)
    profile = document(y, p, sample_weight=np.random.default_rng(9).random(80) + 0.1)["risk_profile"]
    claimed = [excess for r, excess in zip(profile["r"], profile["score_excess"], strict=True) if r >= -0.5]
    assert claimed == [0.0] * len(claimed)  # every outcome has the probability that was expected of it


@pytest.mark.parametrize(("n", "p"), [(25, [1.0 / 3.0] * 3), (3, [0.5, 0.5])])
def test_equal_cases_are_as_surprising_counted_as_repeated(n: int, p: list[float]) -> None:
    y, p_all = np.arange(n) % len(p), np.tile(p, (n, 1))
    twice = document(np.repeat(y, 2), np.repeat(p_all, 2, axis=0), floor=0.01)
    found = document(y, p_all, counts=np.full(n, 2), floor=0.01)
    assert not differences(found, twice, r"^surprises|^findings\[\d+\]\.rows")


@pytest.mark.parametrize(("rows", "failing"), [(19, 2), (20, 1), (50, 1), (51, 0)])
def test_intervals_of_equal_rows_fail_at_their_share_whatever_rounding_did_to_it(rows: int, failing: int) -> None:
    from veracity.estimate.means.reported import Profile

    for k in (3, 7, 60, 200):
        found = Profile(Tally.of(np.zeros(rows, int), np.full((rows, k), 1.0 / k), labels=list(range(k)))).failures
        assert {*found[: len(found) // 2].tolist()} == {failing}, k


def test_which_of_equal_probabilities_come_first_decides_no_sentence() -> None:
    rng = np.random.default_rng(12)
    y, p = np.repeat([0, 1, 2, 3, 4], [1, 2, 10, 20, 7]), np.tile([0.03, 0.06, 0.1, 0.15, 0.66], (40, 1))
    weights, order = rng.integers(1, 5, 40).astype(float), rng.permutation(40)
    wanted = document(y, p, sample_weight=weights)
    found = document(y[order], p[order], sample_weight=weights[order])
    assert not differences(found, wanted, r"^surprises\[\d+\]\.(row|outcome)$|^findings\[\d+\]\.rows")


def test_draws_of_what_varies_by_rounding_alone_are_made() -> None:
    from veracity.estimate.calibration.residuals import normal

    covariance = np.array([[900.0, 4e-14], [4e-14, 1e-30]])  # by rounding, a correlation beyond 1
    drawn = normal(covariance, np.random.default_rng(0))
    assert np.std(drawn, axis=0) == pytest.approx([30.0, 1e-15], rel=0.1)


@pytest.mark.parametrize("kind", ["shares of half a percent", "fits that are not unique"])
def test_weights_have_no_scale_at_the_edge_of_rounding(kind: str) -> None:
    y = np.random.default_rng(3).integers(0, 2, 200)
    p = np.full(200, 0.3) if kind.startswith("fits") else np.repeat(np.linspace(0.05, 0.95, 10), 20)
    weights = np.tile([1.0, 3.0], 100)
    wanted = document(y, p, sample_weight=weights)
    for scale in (0.3, 1e-4, 3e5, 0.7, 1.0 / 3.0):
        assert not differences(document(y, p, sample_weight=scale * weights), wanted), scale


def test_chance_in_a_bin_of_half_a_row_does_not_hang_on_its_last_digit() -> None:
    from veracity.estimate.means.binning import binned_calibration_errors

    of, sums = np.array([0]), np.array([[5.0], [2.0], [1.5]])
    below, half, above = (
        binned_calibration_errors(of, sums, 1, rows)[4, 0] for rows in (0.5 - 1e-16, 0.5, 0.5 + 2e-16)
    )
    assert below == pytest.approx(half, rel=1e-12)
    assert above == pytest.approx(half, rel=1e-12)


@pytest.mark.parametrize("n", [60, 70])
def test_equal_weights_are_as_many_rows_as_there_are(n: int) -> None:
    y, p = (values[:n] for values in case(2))
    wanted = document(y, p, sample_weight=np.ones(n))
    for weight in (0.1, 0.7, 1e-3, 3.3):
        assert not differences(document(y, p, sample_weight=np.full(n, weight)), wanted), weight


def test_pickled_assessments_say_the_same_to_the_last_bit(given: Any) -> None:
    y, p, _ = given
    for features in (p[:, 0], p[:, :2], np.array(["a", "b"])[y % 2]):
        a = vc.assess(y, p, features=features)
        again = pickle.loads(pickle.dumps(a))
        assert not differences(json.loads(again.to_json()), json.loads(a.to_json()), near=0.0)


def test_precision_does_not_matter_for_what_both_can_hold(given: Any) -> None:
    y, p, wanted = given
    assert (p.astype(np.float32) == p).all()
    assert not differences(document(y, p.astype(np.float32)), wanted)
    assert not differences(document(y, np.asfortranarray(p)), wanted)
    assert not differences(document(y.astype(np.int8), p.tolist()), wanted)


# The second of two classes is the event: its curve, its threshold and where it is too likely are told from its side.
# Bins of equal population are cut from below, and ties go up: from the other side the cuts fall one case further, which
# moves the binned terms (not the losses, which no bin enters) by a few parts in a hundred of themselves.
SWAPPED = (
    r"^classes|^curves\.roc|^curves\.sharpness|^verdict_detail|\.parameters$|"
    r"^decomposition|^decomposed_profile\.(rel|res|within)|^decisions"  # of two classes the event is the second
)


def test_renamed_classes_rename_and_change_nothing_else(given: Any) -> None:
    y, p, _ = given
    k = p.shape[1]
    names, others = ([f"{letter}{j:02}" for j in range(k)] for letter in "mx")
    wanted = json.dumps(document(np.array(names)[y], p, labels=names), ensure_ascii=False)
    renamed = re.sub(r"\bm(\d\d)\b", r"x\1", wanted)
    found = document(np.array(others)[y], p, labels=others)
    assert not differences(found, json.loads(renamed))


@pytest.mark.parametrize("k", [2, 3, 10])
def test_permuted_classes_permute_and_change_nothing_else(k: int) -> None:
    y, p = case(k)
    names = np.array([f"m{j:02}" for j in range(k)])
    order = np.roll(np.arange(k), 1)
    wanted = document(names[y], p, labels=names.tolist())
    found = document(names[y], p[:, order], labels=names[order].tolist())
    assert found["classes"] == names[order].tolist()
    assert not differences(found, wanted, SWAPPED if k == 2 else r"^classes")
    assert found["verdict"] == wanted["verdict"]


def test_cells_of_equally_rare_picks_are_shared_by_name_and_not_by_the_order_of_classes() -> None:
    rng = np.random.default_rng(11)
    names, order = np.array([f"m{j:02}" for j in range(10)]), rng.permutation(10)
    y, p = rng.integers(0, 9, 240), np.eye(10)[np.repeat(np.arange(6), 40)]
    wanted = document(names[y], p, labels=names.tolist())
    found = document(names[y], p[:, order], labels=names[order].tolist())
    assert not differences(found, wanted, r"^classes")
    assert "to m06, m07, m08, but" in wanted["adjustment"]["log"]["reason"]


def test_remedies_of_equal_gain_are_listed_by_name() -> None:
    rng = np.random.default_rng(0)
    y, p, names = rng.integers(0, 3, 80), np.full((80, 3), 1.0 / 3.0), np.array(["m0", "m1", "m2"])
    counts = rng.integers(1, 5, 80)
    found = [
        document(names[y], p, labels=names[order].tolist(), counts=counts)["remedies"]
        for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0])
    ]
    gains = {one["map"]: one["log"]["gain"] for one in found[0]}
    assert gains["confusion"] == pytest.approx(gains["tempered_confusion"], abs=1e-9)
    assert len({tuple(one["map"] for one in remedies) for remedies in found}) == 1


def test_the_order_of_classes_decides_equal_picks_and_no_score() -> None:
    names = np.array(["m00", "m01", "m02"])
    y, p = np.array([0, 0, 1, 2] * 10), np.tile([[0.4, 0.4, 0.2]], (40, 1))
    order = np.array([1, 0, 2])
    wanted = document(names[y], p, labels=names.tolist())
    found = document(names[y], p[:, order], labels=names[order].tolist())
    assert (wanted["scores"]["accuracy"]["value"], found["scores"]["accuracy"]["value"]) == (0.5, 0.25)
    for name in ("log_loss", "brier", "spherical"):
        assert not differences(found["scores"][name], wanted["scores"][name])


def test_the_order_of_rows_decides_which_equal_surprises_are_listed() -> None:
    y, p = np.array([0, 1, 2] * 20), np.full((60, 3), 1.0 / 3.0)
    wanted, found = (document(y[order], p) for order in (slice(None), np.argsort(y)))
    assert not differences(found, wanted, r"^surprises\[\d+\]\.(row|outcome)$")
    assert [told["outcome"] for told in found["surprises"]] != [told["outcome"] for told in wanted["surprises"]]


@pytest.mark.parametrize("k", CLASSES)
def test_files_of_every_kind_and_arrays_say_the_same(
    k: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from veracity.cli import run

    y, p = case(k)
    names = [f"m{j}" for j in range(k)]
    frame = pl.DataFrame({"y": [names[j] for j in y], **{f"p_{name}": p[:, j] for j, name in enumerate(names)}})
    writers: dict[str, Callable[[Path], Any]] = {
        "a.csv": frame.write_csv, "a.parquet": frame.write_parquet, "a.jsonl": frame.write_ndjson,
        "a.arrow": frame.write_ipc,
    }  # fmt: skip
    found = {}
    for name, write in writers.items():
        write(tmp_path / name)
        assert run(["assess", str(tmp_path / name), "--json", "-", "--quiet"]) == 0
        found[name] = json.loads(capsys.readouterr().out)
    found["frame"] = json.loads(vc.assess(frame, label="y").to_json())
    found["arrays"] = document(np.array(names)[y], p, labels=names)
    wanted = found.pop("a.parquet")
    # Rows are counted from 1 in files and from 0 in Python; the model is called after its file; commands name the file.
    allowed = r"^model$|\.row$|\.rows\[|^remedies\[\d+\]\.command$|^findings.*(message|rows)"
    for name, held in found.items():
        assert not differences(held, wanted, allowed), name


RUN = """
import sys, json, numpy as np, veracity as vc
held = np.load(sys.argv[1])
print(vc.assess(held["y"], held["p"]).to_json())
"""


def test_two_processes_say_the_same_to_the_last_bit(given: Any, tmp_path: Path) -> None:
    y, p, wanted = given
    np.savez(tmp_path / "held.npz", y=y, p=p)
    done = subprocess.run(
        [sys.executable, "-c", RUN, tmp_path / "held.npz"],
        capture_output=True, text=True, env=os.environ | {"PYTHONHASHSEED": "1"}, check=True,
    )  # fmt: skip
    assert not differences(json.loads(done.stdout), wanted, near=0.0)


def test_results_never_mix_two_states_of_the_callers_arrays(given: Any) -> None:
    y, p, wanted = given
    y, p, w = y.copy(), p.copy(), np.ones(N)
    a = vc.assess(y, p, sample_weight=w)
    before = document(y, p, sample_weight=w)
    _ = a.scores
    y[:], p[:], w[:] = 0, 1.0 / p.shape[1], 7.0
    assert not differences(json.loads(a.to_json()), before, near=0.0)
    assert a.n == wanted["n"]
