"""What holds for every scoring rule; RULES is walked, so that a new rule is tested by being listed."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veracity.formulas import rules
from veracity.formulas.rules import RULES, ScoringRule, power, rule

every = pytest.mark.parametrize("rule_", RULES, ids=lambda r: r.name)
smooth = [r for r in RULES if r.key not in ("brier", "half_brier")]


def rows(seed: int, n: int = 400, k: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(k), n)


def simplex_grid(k: int, parts: int) -> np.ndarray:
    counts = [c for c in itertools.product(range(parts + 1), repeat=k) if sum(c) == parts]
    return np.array(counts) / parts


def expected_score(rule_: ScoringRule, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    scores = np.stack([rule_.score(p, np.full(p.shape[:-1], j)) for j in range(p.shape[-1])], axis=-1)
    with np.errstate(invalid="ignore"):
        return np.where(q == 0, 0.0, q * scores).sum(axis=-1)


@every
@pytest.mark.parametrize("k", [2, 3])
def test_proper_by_brute_force(rule_, k):
    grid = simplex_grid(k, 24)
    for q in grid:
        loss = expected_score(rule_, grid, q)
        best = loss.argmin()
        np.testing.assert_array_equal(grid[best], q)
        assert np.sum(loss < loss[best] + 1e-9) == 1  # strictly


@every
def test_divergence_is_zero_only_at_equality(rule_):
    grid = simplex_grid(3, 12)
    d = rule_.divergence(grid[:, None], grid[None])
    assert d.shape == (len(grid), len(grid))
    assert np.all(np.diag(d) == 0.0)
    assert np.all(d[~np.eye(len(grid), dtype=bool)] > 1e-4)


@every
def test_expected_score_is_entropy_plus_divergence(rule_):
    p, q = rows(1), rows(2)
    together = rule_.entropy(q) + rule_.divergence(p, q)
    np.testing.assert_allclose(expected_score(rule_, p, q), together, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(expected_score(rule_, q, q), rule_.entropy(q), rtol=1e-12, atol=1e-12)


@every
def test_score_is_the_divergence_from_the_corner(rule_):
    p = rows(3)
    for j in range(4):
        np.testing.assert_allclose(rule_.score(p, j), rule_.divergence(p, np.eye(4)[j]), rtol=1e-12, atol=1e-14)


@every
def test_divergence_is_the_bregman_divergence_of_generator_and_gradient(rule_):
    p, q = rows(4), rows(5)
    linear = ((q - p) * rule_.gradient(p, p)).sum(-1)
    direct = rule_.generator(q) - rule_.generator(p) - linear
    np.testing.assert_allclose(rule_.divergence(p, q), direct, rtol=1e-12, atol=1e-12)


@every
def test_gradient_is_that_of_the_generator(rule_):
    p, q = rows(6, n=50), rows(7, n=50)
    h = 1e-6
    slope = (rule_.generator(p + h * (q - p)) - rule_.generator(p - h * (q - p))) / (2 * h)
    # central differences: h² times a third derivative that the smallest p makes large, and rounding over h
    np.testing.assert_allclose(slope, ((q - p) * rule_.gradient(p, p)).sum(-1), rtol=1e-5, atol=1e-8)


@every
def test_generator_and_gradient_alone_make_the_same_rule(rule_):
    bare = ScoringRule.of("bare", rule_.generator, rule_.gradient, inverse=rule_.inverse)
    p, q = rows(26), rows(27)
    np.testing.assert_allclose(bare.divergence(p, q), rule_.divergence(p, q), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(bare.score(p, 1), rule_.score(p, 1), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(bare.entropy(p), rule_.entropy(p))
    np.testing.assert_allclose(bare.shift(p, [1e-3, 0, 0, 0]), rule_.shift(p, np.array([1e-3, 0, 0, 0]) / rule_.unit))
    with pytest.raises(ValueError, match="'bare' was given without inverse gradient"):
        ScoringRule.of("bare", rule_.generator, rule_.gradient).shift(p, [0.1, 0, 0, 0])


@every
def test_three_point_identity_row_by_row(rule_):
    one, two, three = rows(8), rows(9), rows(10)
    phi = [np.stack([rule_.score(v, j) for j in range(4)], -1) for v in (one, two)]
    right = ((phi[0] - phi[1]) * (three - two)).sum(-1)
    left = rule_.divergence(one, three) - rule_.divergence(one, two) - rule_.divergence(two, three)
    scale = 1.0 + np.abs(phi[0]).max(-1) + np.abs(phi[1]).max(-1)
    assert np.max(np.abs(left - right) / scale) < 1e-12


@every
def test_entropy_is_concave_zero_at_corners_and_largest_in_the_middle(rule_):
    np.testing.assert_allclose(rule_.entropy(np.eye(5)), 0.0, atol=1e-15)
    p, q = rows(11), rows(12)
    assert np.all(rule_.entropy((p + q) / 2) > (rule_.entropy(p) + rule_.entropy(q)) / 2)
    assert np.all(rule_.entropy(np.full(4, 0.25)) >= rule_.entropy(p))


@every
def test_bounds_are_reached_and_kept(rule_):
    low, high = rule_.bounds
    assert rule_.score([1.0, 0.0, 0.0], 0) == pytest.approx(low, abs=1e-15)
    assert rule_.score([1.0, 0.0, 0.0], 1) == pytest.approx(high, rel=1e-15)
    scores = rule_.score(rows(13), 2)
    assert np.all((scores >= low) & (scores <= high))


@every
def test_infinite_only_where_the_forecast_excludes_what_can_happen(rule_):
    with_zero, without = np.array([0.0, 0.4, 0.6]), np.array([0.2, 0.3, 0.5])
    unbounded = np.isinf(rule_.bounds[1])
    assert np.isinf(rule_.divergence(with_zero, without)) == unbounded
    assert np.isinf(rule_.score(with_zero, 0)) == unbounded
    for forecast, truth in ((without, with_zero), (with_zero, with_zero), (with_zero, np.array([0.0, 1.0, 0.0]))):
        assert np.isfinite(rule_.divergence(forecast, truth))
    assert np.isfinite(rule_.score(with_zero, 1))


@every
def test_axes_broadcast_and_give_one_number_a_row(rule_):
    p = rows(14, n=6).reshape(2, 3, 4)
    assert rule_.score(p, 0).shape == (2, 3)
    assert rule_.score(p[0, 0], [0, 1, 2]).shape == (3,)
    assert rule_.divergence(p, p[0, 0]).shape == (2, 3)
    assert rule_.divergence(p[:, None], p[None]).shape == (2, 2, 3)
    assert rule_.entropy(p).shape == (2, 3)
    assert np.ndim(rule_.score(p[0, 0], 1)) == 0
    assert rule_.shift(p, np.zeros(4)).shape == p.shape
    assert rule_.shift(p, np.zeros((3, 4))).shape == p.shape


@every
def test_shift_by_nothing_or_a_constant_changes_nothing(rule_):
    p = rows(15)
    for b in (np.zeros(4), np.full(4, 0.7), np.full((len(p), 1), -3.0)):
        # adding b and taking it away rounds the gradient, and dA/db = A^(1−r) magnifies that for r > 1
        magnified = np.maximum(p ** (2 - rule_.unit), 1.0)
        assert np.all(np.abs(rule_.shift(p, b) - p) <= 1e-13 * magnified)


@every
def test_shift_moves_the_gradient_by_b_and_a_constant(rule_):
    p = 0.7 * rows(16) + 0.3 / 4  # inside, so that no entry reaches the edge
    b = np.array([2e-3, -1e-3, 1e-3, 0.0])
    a = rule_.shift(p, b)
    np.testing.assert_allclose(a.sum(-1), 1.0, atol=1e-14)
    moved = rule_.gradient(a, a) - rule_.gradient(p, p) - rule_.unit * b
    assert np.max(np.ptp(moved, axis=-1)) < 1e-12 * np.abs(rule_.gradient(p, p)).max()
    np.testing.assert_allclose(rule_.shift(a, -b), p, rtol=0, atol=1e-12)


@every
def test_shift_is_the_row_nearest_to_the_tilted_one(rule_):
    """A minimises d(·) from the shifted gradient: g(A) − ⟨∇g(p) + unit·b, A⟩ is least on the simplex."""
    p, b = np.array([0.5, 0.3, 0.2]), np.array([0.05, 0.0, -0.04])
    a = rule_.shift(p, b)
    grid = simplex_grid(3, 60)
    tilt = rule_.gradient(p, p) + rule_.unit * b
    assert rule_.generator(a) - a @ tilt <= np.min(rule_.generator(grid) - grid @ tilt) + 1e-14


@pytest.mark.parametrize("r", [-0.95, -0.5, 0.3, 0.999, 1.3, 2.0, 3.0, 10.0])
@pytest.mark.parametrize("size", [1e-3, 0.3, 30.0])
def test_shift_keeps_its_condition_at_the_edge(r, size):
    """∇g(A) − ∇g(p) − b is one constant on the entries that are not at the edge, near it or not."""
    rng = np.random.default_rng(28)
    p = np.vstack([rng.dirichlet(np.full(6, a), 200) for a in (0.01, 1.0, 10.0)])
    b = size * rng.normal(size=6)
    a = power(r).shift(p, b)

    def link(x):
        return power(r).gradient(x, x) / power(r).unit

    inside = (a > 1e-12) & (p > 0.0)
    with np.errstate(invalid="ignore"):
        moved = link(a) - link(p) - b
    spread = np.where(inside, moved, -np.inf).max(-1) - np.where(inside, moved, np.inf).min(-1)
    scale = size + np.abs(np.where(inside, link(a), 0.0)).max(-1) + np.abs(np.where(inside, link(p), 0.0)).max(-1)
    assert np.max(spread / scale) < 1e-13


@pytest.mark.parametrize("rule_", smooth, ids=lambda r: r.name)
def test_shift_stays_in_the_simplex_under_any_push(rule_):
    p = np.vstack([rows(17, n=50), np.eye(4), [[0.5, 0.5, 0.0, 0.0]]])
    for size in (0.3, 3.0, 30.0):
        b = size * np.random.default_rng(18).normal(size=4)
        a = rule_.shift(p, b)
        assert np.all(a >= 0.0)
        np.testing.assert_allclose(a.sum(-1), 1.0, atol=1e-14)
        # where A touches the edge the gradient may lie above the asked one, never below (μ >= 0)
        with np.errstate(invalid="ignore"):  # −∞ − (−∞) where both exclude a class
            moved = rule_.gradient(a, a) - rule_.gradient(p, p) - rule_.unit * b
        held = np.where(a > 0.0, moved, -np.inf).max(-1, keepdims=True)
        edge = (a == 0.0) & (p > 0.0)
        if rule_.bounds[1] < np.inf:
            assert np.all((moved - held)[edge] > -1e-10 * (1 + size))


def test_shift_of_named_rules_is_multiplicative_and_additive():
    p, b = rows(19), np.array([0.3, -0.1, 0.0, 0.2])
    product = p * np.exp(b)
    np.testing.assert_allclose(rule("log").shift(p, b), product / product.sum(-1, keepdims=True), rtol=1e-14)
    for name in ("brier", "half_brier"):
        np.testing.assert_allclose(rule(name).shift(p, b), p + b - b.mean(), atol=1e-15)


def test_log_shift_survives_extreme_rows_and_pushes():
    a = rule("log").shift([[1e-300, 1.0 - 1e-300], [1.0, 0.0]], [2000.0, 0.0])
    np.testing.assert_array_equal(a, [[1.0, 0.0], [1.0, 0.0]])


def test_brier_takes_affine_rows_and_others_refuse_them():
    outside = np.array([1.2, -0.2])
    assert rule("brier").score(outside, 0) == pytest.approx(0.08, rel=1e-14)
    assert rule("brier").divergence(outside, [0.5, 0.5]) == pytest.approx(0.98, rel=1e-14)
    for other in smooth:
        with pytest.raises(ValueError, match=r"p: -0.2 at index 1 is negative"):
            other.score(outside, 0)


@given(st.floats(-0.95, 6.0), st.integers(0, 10_000))
def test_power_score_is_surprisal_minus_r_times_entropy(r, seed):
    """d_r(p, e_y) = −ln_r(p_y) − r·e_r(p), and every term of a divergence is at least 0."""
    from veracity.formulas.means import generalized_surprisal

    p, q = np.random.default_rng(seed).dirichlet(np.ones(3), 2)
    member = power(r)
    want = generalized_surprisal(p[1], member.unit - 1.0) - r * member.entropy(p)
    assert member.score(p, 1) == pytest.approx(want, rel=1e-11, abs=1e-12)
    assert member.divergence(p, q) >= 0.0
    terms = p ** (1 + r) - (1 + r) * q * rules.power_log(p, r) + q * rules.power_log(q, r) - q
    assert member.divergence(p, q) == pytest.approx(terms.sum(), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("r", [1e-3, 1e-5, 1e-8, 1e-13, -1e-3, -1e-5, -1e-8, -1e-13])
def test_family_runs_smoothly_through_the_log_score(r):
    p, q = rows(20), rows(21)
    near, log = power(r), rule("log")
    # the first derivative in r is of the order of Σ q (ln p)², below 100 for these rows
    for name in ("divergence", "score"):
        other = q if name == "divergence" else 0
        change = getattr(near, name)(p, other) - getattr(log, name)(p, other)
        assert np.max(np.abs(change)) < 100 * abs(r) + 1e-13
    assert np.max(np.abs(near.entropy(p) - log.entropy(p))) < 100 * abs(r) + 1e-13
    np.testing.assert_allclose(near.shift(p, [0.1, 0, 0, 0]), log.shift(p, [0.1, 0, 0, 0]), atol=10 * abs(r) + 1e-14)


def test_family_runs_smoothly_through_the_brier_score():
    p, q = rows(22), rows(23)
    for r in (1.0 - 1e-9, 1.0 + 1e-9):
        np.testing.assert_allclose(power(r).divergence(p, q), rule("brier").divergence(p, q), atol=1e-8)
        np.testing.assert_allclose(power(r).score(p, 3), rule("brier").score(p, 3), atol=1e-8)


def test_half_brier_is_half_and_power_two_three_quarters_of_brier_for_two_classes():
    p, q = rows(24, k=2), rows(25, k=2)
    whole = rule("brier").divergence(p, q)
    np.testing.assert_allclose(rule("half_brier").divergence(p, q), whole / 2, rtol=1e-15)
    np.testing.assert_allclose(rule("half_brier").divergence(p, q), (p[:, 1] - q[:, 1]) ** 2, rtol=1e-12)
    np.testing.assert_allclose(power(2.0).divergence(p, q), 0.75 * whole, atol=1e-14)


def test_log_score_does_not_depend_on_a_rounded_row_sum():
    assert rule("log").score([0.25, 0.7500001], 0) == -np.log(0.25)
    assert rule("log").divergence([0.25, 0.7500001], [1.0, 0.0]) == -np.log(0.25)


def test_rule_is_found_by_name_by_number_and_by_itself():
    assert rule("brier") is rule(1) is power(1.0)
    assert rule("log") is rule(0) is power(0.0)
    assert rule(-2 / 3) is power(-2 / 3)
    for each in RULES:
        assert rule(each) is each
        assert rule(each.key) is each
        assert pickle.loads(pickle.dumps(each)) is each
        assert each.cite
        assert each.name in repr(each)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rule("logg"), r"rule: 'logg' is not one of log, brier"),
        (lambda: rule(-1), r"r: -1 is outside \(-1, inf\)"),
        (lambda: rule(float("nan")), r"r: nan is outside"),
        (lambda: rule(float("inf")), r"r: inf is outside"),
        (lambda: rule("log").score([0.5, 0.6], 0), r"p: row sum: 1.1 is not one; classes go on the last axis"),
        (lambda: rule("log").score([0.5, 0.498], 0), r"p: row sum: 0.998 is not one"),
        (lambda: rule("log").score([[0.5, 0.5], [0.5, np.nan]], 0), r"p: nan at index \(1, 1\)"),
        (lambda: rule("log").score([0.5, 0.5], 2), r"y: 2 is no column number; the rows have 2 classes"),
        (lambda: rule("log").score([[0.5, 0.5]] * 2, [0, -1]), r"y: -1 at index 1 is no column number"),
        (lambda: rule("log").score([0.5, 0.5], 0.0), r"y: float64 values are not column numbers"),
        (lambda: rule("brier").entropy([np.inf, 0.0]), r"q: inf at index 0 is not a finite number"),
        (lambda: rule("log").divergence([0.5, 0.5], [0.7, 0.7]), r"truth: row sum: 1.4"),
        (lambda: rule("log").divergence([0.5, 0.5], [0.2, 0.3, 0.5]), r"truth: 3 classes, but forecast has 2"),
        (lambda: rule("log").divergence(rows(0, 2), rows(0, 3)), r"forecast \(2, 4\) and truth \(3, 4\)"),
        (lambda: rule("log").score([[0.5, 0.5]] * 2, [0, 1, 1]), r"shapes do not fit: p \(2,\) and y \(3,\)"),
        (lambda: rule("log").score(0.5, 0), r"p: shape \(\) has no classes on its last axis"),
        (lambda: rule("log").score(["a", "b"], 0), r"p: \['a', 'b'\] is not an array of numbers"),
        (lambda: rule("log").shift([0.5, 0.5], [np.nan, 0.0]), r"b: nan at index 0"),
        (lambda: rule("log").shift([0.5, 0.5], [1.0, 2.0, 3.0]), r"p \(2,\) and b \(3,\)"),
        (lambda: rule(None), r"r: None is not a number"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@every
def test_divergence_of_nearly_equal_rows_is_no_gain(rule_):
    p = rows(31)
    q = p * (1.0 + 1e-9 * np.random.default_rng(32).standard_normal(p.shape))
    assert rule_.divergence(p, q / q.sum(axis=-1, keepdims=True)).min() >= 0.0


def test_log_divergence_of_the_smallest_floats():
    """−½ ln ½ − ½ ln p − ½ ln ½ with p = 2^−1074: the ratio of the two would overflow."""
    got = rule("log").divergence([5e-324, 1.0], [0.5, 0.5])
    assert got == pytest.approx(0.5 * 1074 * np.log(2.0) - np.log(2.0), rel=1e-14)


def test_log_divergence_keeps_what_rows_lack_to_one():
    """Rows in float32 sum to one only nearly; Σ q ln(q/p) is what it is."""
    p, q = np.array([0.3, 0.7001]), np.array([0.5, 0.5])
    assert rule("log").divergence(p, q) == pytest.approx((q * np.log(q / p)).sum(), rel=1e-14)


@pytest.mark.parametrize("k", [2, 10, 40])
def test_the_largest_of_each_row_is_that_of_numpy(k):
    p = rows(1, k=k)
    assert (rules.largest(p) == p.max(axis=1, keepdims=True)).all()


@pytest.mark.parametrize("r", [-0.9, -2 / 3, -0.1])
def test_rows_with_given_links_are_the_same_from_any_start_above_and_nearer_in_fewer_steps(r, monkeypatch):
    p, b = rows(2), np.array([0.1, -0.2, 0.05, 0.0])
    x = power(r).gradient(p, p) / (1.0 + r)
    h = p ** (1.0 - r)
    near = -(h @ b / h.sum(axis=1))[:, None]
    steps = []
    total = rules._power_total
    monkeypatch.setattr(rules, "_power_total", lambda v, r: (steps.append(len(v)), total(v, r))[1])
    far = rules.near_power_inverse(x + b, r)
    before = sum(steps)
    assert np.abs(rules.near_power_inverse(x + b, r, near) - far).max() < 1e-14
    assert sum(steps) - before < 0.8 * before
