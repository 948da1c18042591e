"""Nothing depends on the names or the order of clusters, groups, models and classes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import veracity as vc
from veracity.estimate.calibration.verdict import judge

Floats = NDArray[np.float64]

DRAWS = 40
NAMES = ("case 1", "zebra", "a", "9", "Ärzte", "0", "m", "k", "Z", "b", "q", "x")


def renamed(values: Any, rng: np.random.Generator) -> NDArray[Any]:
    """Return labels with other names, which sort in another order."""
    known, place = np.unique(values, return_inverse=True)
    new = rng.permutation([f"‹{rng.choice(NAMES)} {i}›" for i in range(len(known))])
    return np.asarray(new[place.ravel()])


def drawn(seed: int, k: int, number: int = 20, size: int = 25, digits: int | None = None) -> tuple[Any, Floats, Any]:
    """Outcomes, forecasts and clusters whose cases depend on each other; `digits` makes forecasts repeat."""
    rng = np.random.default_rng(seed)
    g, n = np.repeat(np.arange(number), size), number * size
    z = rng.normal(size=(n, k)) + 0.7 * rng.normal(size=(number, k))[g]
    q = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    y = (rng.random(n)[:, None] > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
    p = q ** rng.choice([1.0, 1.2, 0.85])
    p = p / p.sum(axis=1, keepdims=True)
    if digits is not None:
        p = np.round(0.9 * p + 0.1 / k, digits) + 0.05
        p = p / p.sum(axis=1, keepdims=True)
    return y, p, g


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the numbers and words of a document by their places."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from leaves(one, f"{path}.{name}")
    elif isinstance(value, list):
        for i, one in enumerate(value):
            yield from leaves(one, f"{path}[{i}]")
    else:
        yield path, value


def same(one: Any, other: Any, rel: float = 1e-12, back: dict[str, str] | None = None) -> None:
    """Compare two documents; `back` says what new names were before."""
    texts = [a.to_json() for a in (one, other)]
    a, b = (json.loads(text) for text in texts)
    for document in (a, b):
        document.pop("provenance", None)
    b = restored(b, back or {})
    mine, theirs = dict(leaves(a)), dict(leaves(b))
    assert mine.keys() == theirs.keys()
    for path, value in mine.items():
        found = theirs[path]
        if isinstance(value, float) and isinstance(found, float):
            assert math.isclose(value, found, rel_tol=rel, abs_tol=rel), (path, value, found)
        else:
            assert value == found, (path, value, found)


def restored(value: Any, back: dict[str, str]) -> Any:
    """Return a document with the names of before, mappings in the order of these names."""
    if isinstance(value, dict):
        named = {back.get(name, name): restored(one, back) for name, one in value.items()}
        return dict(sorted(named.items())) if named.keys() & set(back.values()) else named
    if isinstance(value, list):
        return [restored(one, back) for one in value]
    if isinstance(value, str):
        for new, old in back.items():
            value = value.replace(new, old)
    return value


@pytest.mark.parametrize("k", [2, 4])
def test_a_verdict_does_not_depend_on_the_names_of_clusters(k: int) -> None:
    for seed in range(DRAWS):
        y, p, g = drawn(seed, k)
        rng = np.random.default_rng(seed)
        found = [judge(p, y, range(k), clusters=c) for c in (g, 19 - g, renamed(g, rng), renamed(g, rng))]
        assert all(one == found[0] for one in found[1:]), seed


@pytest.mark.parametrize("case", ["two", "repeated", "four", "weighted", "grouped", "bootstrap"])
def test_a_document_does_not_depend_on_the_names_of_clusters(case: str) -> None:
    for seed in range(DRAWS // 5):
        k = 4 if case == "four" else 2
        y, p, g = drawn(seed, k, digits=1 if case in ("repeated", "bootstrap", "grouped") else None)
        rng = np.random.default_rng(seed)
        options: dict[str, Any] = {"weighted": {"sample_weight": rng.gamma(2.0, size=len(y))}}.get(case, {})
        options |= {"bootstrap": {"bootstrap": 99}, "grouped": {"groups": {"site": g % 3}}}.get(case, {})
        same(*(vc.assess(y, p, clusters=c, **options) for c in (g, renamed(g, rng))))


def test_clusters_in_parts_do_not_depend_on_their_names() -> None:
    for seed in range(5):
        y, p, g = drawn(seed, 3, digits=1)
        names, made = renamed(g, np.random.default_rng(seed)), []
        for c in (g, names):
            parts = [vc.Tally.of(vc.Forecasts.of(y[i::4], p[i::4], clusters=c[i::4])) for i in range(4)]
            made.append(vc.assess(parts[0] + parts[1] + (parts[2] + parts[3])))
        same(*made)
        whole = vc.assess(y, p, clusters=names)
        for test in ("level", "confidence", "shape"):
            assert getattr(whole.verdict_detail, test).p == getattr(made[1].verdict_detail, test).p
        assert float(whole.losses("log").CL) == pytest.approx(float(made[1].losses("log").CL), rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("clusters", [False, True])
def test_groups_do_not_depend_on_their_names(clusters: bool) -> None:
    for seed in range(DRAWS // 4):
        y, p, g = drawn(seed, 2, digits=1 if seed % 2 else None)
        rng = np.random.default_rng(seed)
        site = np.array(["a", "b", "c", "d"])[(g if seed % 4 < 2 else rng.integers(0, 1 << 20, len(y))) % 4]
        new = renamed(site, rng)
        back = dict(zip(new.tolist(), site.tolist(), strict=True))
        options: dict[str, Any] = {"clusters": g} if clusters else {}
        one, other = (vc.assess(y, p, groups={"site": s}, **options) for s in (site, new))
        same(one, other, back=back)
        assert one.groups["site"].differ is not None
        assert one.groups["site"].differ.p == other.groups["site"].differ.p


@pytest.mark.parametrize("case", ["independent", "repeated", "clusters", "bootstrap"])
@pytest.mark.parametrize("k", [2, 4])
def test_a_document_does_not_depend_on_the_names_of_classes(case: str, k: int) -> None:
    for seed in range(DRAWS // 10):
        y, p, g = drawn(seed, k, digits=1 if case in ("repeated", "bootstrap") else None)
        old = [f"c{j}" for j in range(k)]
        new = [f"kind {n}" for n in np.random.default_rng(seed).permutation(NAMES)[:k]]
        options: dict[str, Any] = {"clusters": {"clusters": g}, "bootstrap": {"bootstrap": 99}}.get(case, {})
        one, other = (vc.assess(np.array(c)[y], p, labels=c, **options) for c in (old, new))
        same(one, other, back=dict(zip(new, old, strict=True)))


@pytest.mark.parametrize("case", ["independent", "repeated", "clusters"])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_verdict_and_losses_do_not_depend_on_the_order_of_classes(case: str, k: int) -> None:
    for seed in range(DRAWS // 8):
        y, p, g = drawn(seed, k, digits=1 if case == "repeated" else None)
        names = np.array([f"c{j}" for j in range(k)])
        order = np.random.default_rng(seed).permutation(k)
        options: dict[str, Any] = {"clusters": g} if case == "clusters" else {}
        one = vc.assess(names[y], p, labels=names.tolist(), **options)
        other = vc.assess(names[y], p[:, order], labels=names[order].tolist(), **options)
        assert one.verdict_detail.word == other.verdict_detail.word
        for test in ("level", "confidence", "shape"):
            assert getattr(one.verdict_detail, test).p == getattr(other.verdict_detail, test).p, (seed, test)
        for name in ("L", "CL", "RL", "AL"):
            # The maps are fitted by steps that end at 1e-8, and sums over classes are rounded otherwise.
            found = [float(a.losses("log").readings()[name]) for a in (one, other)]
            assert found[1] == pytest.approx(found[0], rel=1e-6, abs=1e-8), (seed, name)


@pytest.mark.parametrize("clusters", [False, True])
def test_a_comparison_does_not_depend_on_the_names_and_the_order_of_models(clusters: bool) -> None:
    for seed in range(DRAWS // 8):
        y, p, g = drawn(seed, 2)
        rng = np.random.default_rng(seed)
        models = {name: p[:, 1] ** e for name, e in (("a", 1.0), ("b", 1.3), ("c", 0.8))}
        new = dict(zip(models, rng.permutation(["net x", "net y", "net z"]).tolist(), strict=True))
        given = {new[name]: models[name] for name in rng.permutation(list(models)).tolist()}
        options: dict[str, Any] = {"clusters": g} if clusters else {}
        one, other = vc.compare(y, models, **options), vc.compare(y, given, **options)
        for name, a in one.models.items():
            same(a, other.models[new[name]], back={new[name]: name})
        told = {(new[d.a], new[d.b]): d for d in one.differences("log")}
        for d in other.differences("log"):
            known = told.get((d.a, d.b)) or told[d.b, d.a]
            sign = 1.0 if (d.a, d.b) in told else -1.0
            assert d.value == pytest.approx(sign * known.value, rel=1e-9, abs=1e-15)
            assert d.p_adjusted == pytest.approx(known.p_adjusted, rel=1e-9)
        tiers = [{new[model] for model in tier} for tier in one.ranking("log")]
        assert tiers == [set(tier) for tier in other.ranking("log")]
