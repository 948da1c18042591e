"""Laws of adjustment: existence, exactness, least loss, and refusals."""

from __future__ import annotations

from itertools import chain as joined
from itertools import combinations

import numpy as np
import pytest

import veracity as vc
from veracity import calibrators
from veracity.calibrators import _dual_solver
from veracity.calibrators.multiplicative import fit_chunks
from veracity.estimate.loss.losses import losses
from veracity.formulas.rules import rule as rule_of
from veracity.inputs import Forecasts

RS = [-0.9, -2 / 3, -0.3, 0.0, 0.5, 1.0, 1.5, 2.0]


def task(seed: int, n: int, k: int, spread: float = 1.0) -> Forecasts:
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet(np.full(k, spread), n)
    outcomes = np.array([rng.choice(k, p=p) for p in rng.dirichlet(np.ones(k), n)])
    return Forecasts(scores, outcomes, tuple(range(k)))


def softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("r", RS)
@pytest.mark.parametrize("seed", range(5))
def test_means_hit_the_target_and_the_loss_splits(r, seed):
    f = task(seed, 60, 2 + seed, 0.8)
    fitted = calibrators.fit("coherent", f, r=r)
    a, rule = fitted(f.probabilities), rule_of(r)
    assert np.abs(a.mean(axis=0) - f.prior).max() < 1e-12
    assert a.min() >= 0
    assert a.sum(axis=1) == pytest.approx(np.ones(len(f)), abs=1e-14)
    remainder = fitted.multipliers(f.probabilities)[np.arange(len(f)), f.outcomes].mean()
    before, gone, after = (
        rule.score(f.probabilities, f.outcomes).mean(),
        rule.divergence(f.probabilities, a).mean(),
        rule.score(a, f.outcomes).mean(),
    )
    assert before == pytest.approx(gone + after + remainder, abs=1e-12 if r <= 1 else 1e-10)
    assert after <= before + 1e-12
    assert remainder >= 0
    if r <= 0:
        assert remainder == 0
        assert fitted.edge == 0


def test_r_0_is_multiplicative_and_r_1_inside_is_not_additive():
    f = task(1, 40, 3, 0.5)
    log = calibrators.fit("multiplicative", f)(f.probabilities)
    assert calibrators.fit("coherent", f, r=0.0)(f.probabilities) == pytest.approx(log, abs=1e-12)
    assert calibrators.fit("coherent", f, r=1e-7)(f.probabilities) == pytest.approx(log, abs=1e-6)
    additive, inside = calibrators.fit("additive", f), calibrators.fit("coherent", f, r=1.0)
    assert additive.outside > 0
    assert inside.outside == 0
    assert inside.edge > 0
    assert additive(f.probabilities).mean(axis=0) == pytest.approx(f.prior, abs=1e-15)


def test_additive_agrees_with_coherent_where_nothing_leaves_the_simplex():
    scores = np.array([[0.5, 0.3, 0.2], [0.4, 0.3, 0.3]])
    target = [0.4, 0.35, 0.25]
    f = Forecasts(scores, None, (0, 1, 2))
    inside = calibrators.fit("coherent", f, r=1.0, target=target)
    assert inside.edge == 0
    assert inside(scores) == pytest.approx(vc.adjust(scores, target, "brier")(scores), abs=1e-12)


def test_adjustment_loss_is_minus_the_minimum_of_the_dual():
    f = task(3, 50, 4)
    fitted = calibrators.fit("multiplicative", f)
    z = np.log((f.probabilities * np.exp(fitted.shift)).sum(axis=1)).mean() - f.prior @ fitted.shift
    loss = rule_of("log").divergence(f.probabilities, fitted(f.probabilities)).mean()
    assert loss == pytest.approx(-z, abs=1e-13)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 100, 1000])
@pytest.mark.parametrize("k", [2, 3, 10, 50])
def test_adjustment_of_confident_scores_meets_its_target(n, k):
    rng = np.random.default_rng([n, k])
    for _ in range(5 if n * k >= 5000 else 20):
        scores, target = softmax(20 * rng.standard_normal((n, k))), rng.random(k)
        target /= target.sum()
        fitted = vc.adjust(scores, target)
        assert np.abs(fitted(scores).mean(axis=0) - target).max() < 1e-12
        assert fitted.steps <= 60


@pytest.mark.parametrize("r", [-0.9, -2 / 3, -0.3, 0.3, 0.5, 1.0, 1.5])
def test_every_r_copes_with_confident_sparse_and_certain_scores(r):
    rng = np.random.default_rng(0)
    for kind in range(15):
        n, k = int(rng.integers(1, 60)), int(rng.integers(2, 8))
        scores = softmax((6 if r < 0 else 20) * rng.standard_normal((n, k)))
        if kind % 3 == 1:
            scores = np.eye(k)[rng.integers(0, k, n)]
        if kind % 3 == 2:
            scores = scores * (rng.random((n, k)) < 0.8) + np.eye(k)[scores.argmax(axis=1)] * 1e-3
            scores /= scores.sum(axis=1, keepdims=True)
        target = rng.dirichlet(np.ones(k))
        if r < 0 and status_by_subsets(scores, target) == "infeasible":
            with pytest.raises(vc.InfeasibleTarget):
                vc.adjust(scores, target, r)
            continue
        fitted = calibrators.fit("coherent", Forecasts(scores, None, tuple(range(k))), r=r, target=target)
        # below zero the shift of a score of 1e-12 has 1e10 as its size: its rounding is seen in the means
        assert np.abs(fitted(scores).mean(axis=0) - target).max() < (1e-12 if r > 0 else 1e-6)


def test_adjustment_of_extreme_scores_has_the_exact_weights():
    for e, most, log_ratio in ((1e-15, 8, -34.133311), (1e-300, 91, -690.370063)):
        fitted = vc.adjust([[1 - e, e], [e, 1 - e]], [0.3, 0.7])
        assert fitted.shift[0] - fitted.shift[1] == pytest.approx(log_ratio, abs=5e-7)
        assert fitted.steps <= most
    one = vc.adjust([[0.2, 0.3, 0.5]], [0.6, 0.3, 0.1])
    assert one([[0.2, 0.3, 0.5]])[0] == pytest.approx([0.6, 0.3, 0.1], abs=1e-15)
    assert one.weights == pytest.approx(np.array([3, 1, 0.2]) / 0.2, rel=1e-12)


def test_many_classes_of_scores_of_many_sizes():
    """Conjugate gradients do not arrive here."""
    k, n = 300, 600
    rng = np.random.default_rng(0)
    logits = 3.0 * rng.standard_normal((n, k))
    scores = np.exp(1.5 * (logits - logits.max(axis=1, keepdims=True)))
    scores /= scores.sum(axis=1, keepdims=True)
    outcomes = np.array([rng.choice(k, p=row) for row in scores])
    tiny, at = 10.0 ** -rng.uniform(10, 40, n // 20), rng.integers(0, k, n // 20)
    scores[: n // 20] = tiny[:, None]
    scores[np.arange(n // 20), at] = 1.0 - tiny * (k - 1)
    target = np.bincount(outcomes, minlength=k) / n
    np.testing.assert_allclose(vc.adjust(scores, target)(scores).mean(axis=0), target, atol=2e-12)
    f = Forecasts(scores, outcomes, tuple(range(k)))
    assert losses(f, "log", None, map="grouped").AL > 0.0


def test_many_classes_need_no_matrix():
    f = task(7, 900, 230, 0.3)
    fitted = calibrators.fit("multiplicative", f)
    assert np.abs(fitted(f.probabilities).mean(axis=0) - f.prior).max() < 1e-12


@pytest.mark.parametrize(
    ("scores", "target", "classes", "need", "have"),
    [
        ([[1, 0], [1, 0], [0.5, 0.5]], [0.5, 0.5], (1,), 0.5, 1 / 3),
        ([[1, 0, 0], [0, 0.5, 0.5]], [0.4, 0.3, 0.3], (1, 2), 0.6, 0.5),
        ([[0.5, 0.5, 0]], [0.4, 0.4, 0.2], (2,), 0.2, 0),
        ([[1, 0], [0.5, 0.5]], [0, 1], (1,), 1, 0.5),
    ],
)
@pytest.mark.parametrize("r", [0, -0.5])
def test_infeasible_targets_name_classes_need_and_have(scores, target, classes, need, have, r):
    with pytest.raises(vc.InfeasibleTarget, match="no adjustment exists") as caught:
        vc.adjust(scores, target, r)
    assert caught.value.classes == classes
    assert caught.value.need == pytest.approx(need, abs=1e-12)
    assert caught.value.have == pytest.approx(have, abs=1e-12)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("r", [0, -0.5])
def test_boundary_gives_the_limit(r):
    fitted = vc.adjust([[1, 0], [0.5, 0.5]], [0.5, 0.5], r)
    assert fitted([[1, 0], [0.5, 0.5]]) == pytest.approx(np.eye(2), abs=1e-15)
    assert fitted.steps == 0


def test_boundary_weights_run_away_and_components_are_free():
    assert vc.adjust([[1, 0], [0.5, 0.5]], [0.5, 0.5]).weights.tolist() == [1, np.inf]
    scores = np.array([[0.5, 0.5, 0, 0], [0.2, 0.8, 0, 0], [0, 0, 0.3, 0.7], [0, 0, 0.9, 0.1]])
    fitted = vc.adjust(scores, [0.2, 0.3, 0.1, 0.4])
    assert np.abs(fitted(scores).mean(axis=0) - [0.2, 0.3, 0.1, 0.4]).max() < 1e-12
    assert len(np.unique(fitted.block)) == 2


def status_by_subsets(scores: np.ndarray, target: np.ndarray) -> str:
    """The existence condition itself, over every set of classes that the target does not rule out."""
    kept = np.flatnonzero(target > 0)
    support, n = scores[:, kept] > 0, len(scores)
    sets = joined.from_iterable(combinations(range(len(kept)), size) for size in range(1, len(kept) + 1))
    tight = False
    for chosen in map(list, sets):
        touching = support[:, chosen].any(axis=1)
        h = round(touching.sum() - n * target[kept[chosen]].sum(), 9)
        if h < 0:
            return "infeasible"
        others = np.setdiff1d(np.arange(len(kept)), chosen)
        tight |= h == 0 and bool((touching & support[:, others].any(axis=1)).any())
    return "boundary" if tight else "weights"


@pytest.mark.parametrize("seed", range(8))
def test_existence_is_decided_as_by_all_subsets(seed):
    rng = np.random.default_rng(seed)
    seen = set()
    for _ in range(60):
        n, k = rng.integers(1, 9), rng.integers(2, 6)
        scores = rng.random((n, k)) * (rng.random((n, k)) < 0.5)
        scores[scores.sum(axis=1) == 0] = 1.0
        scores /= scores.sum(axis=1, keepdims=True)
        target = rng.multinomial(n, np.full(k, 1 / k)) / n
        wanted = status_by_subsets(scores, target)
        seen.add(wanted)
        if wanted == "infeasible":
            with pytest.raises(vc.InfeasibleTarget) as caught:
                vc.adjust(scores, target)
            assert caught.value.need > caught.value.have
            continue
        fitted = vc.adjust(scores, target)
        assert ("boundary" if fitted.level.any() else "weights") == wanted
        assert np.abs(fitted(scores).mean(axis=0) - target).max() < 1e-12
        assert (fitted(scores)[scores == 0] == 0).all()
    assert seen == {"infeasible", "boundary", "weights"}


def test_boundary_splits_the_loss_too():
    scores = np.array([[0.6, 0.4, 0], [1, 0, 0], [0.3, 0.3, 0.4], [0.2, 0.2, 0.6]])
    outcomes = np.array([1, 0, 2, 2])
    f = Forecasts(scores, outcomes, (0, 1, 2))
    fitted, rule = calibrators.fit("multiplicative", f), rule_of("log")
    assert fitted.level.any()
    a = fitted(scores)
    assert rule.score(scores, outcomes).mean() == pytest.approx(
        rule.divergence(scores, a).mean() + rule.score(a, outcomes).mean(), abs=1e-12
    )


def test_outcomes_that_had_a_chance_are_always_feasible():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        scores = rng.random((12, 4)) * (rng.random((12, 4)) < 0.6)
        outcomes = rng.integers(0, 4, 12)
        scores[np.arange(12), outcomes] += 0.2
        scores /= scores.sum(axis=1, keepdims=True)
        f = Forecasts(scores, outcomes, (0, 1, 2, 3))
        assert np.abs(calibrators.fit("multiplicative", f)(scores).mean(axis=0) - f.prior).max() < 1e-12


def test_weights_that_are_no_whole_numbers_reach_the_limit_too():
    scores = np.array([[1, 0], [0.5, 0.5], [0.5, 0.5]])
    f = Forecasts(scores, np.array([0, 1, 1]), (0, 1), weights=np.array([0.1, 0.3, 0.7]))
    a = calibrators.fit("multiplicative", f)(scores)
    assert f.mass @ a / f.mass.sum() == pytest.approx(f.prior, abs=1e-12)
    with pytest.raises(vc.InfeasibleTarget):
        calibrators.fit("multiplicative", f, target=[0.05, 0.95])


def test_counts_are_rows_and_weights_are_scale_free():
    f = task(5, 30, 3)
    counts = np.random.default_rng(5).integers(1, 4, 30)
    many = Forecasts(np.repeat(f.probabilities, counts, axis=0), np.repeat(f.outcomes, counts), f.classes)
    few = Forecasts(f.probabilities, f.outcomes, f.classes, counts=counts)
    scaled = Forecasts(f.probabilities, f.outcomes, f.classes, weights=counts * 0.37)
    for name in ("multiplicative", "additive", "coherent"):
        a = calibrators.fit(name, many)(f.probabilities)
        assert calibrators.fit(name, few)(f.probabilities) == pytest.approx(a, abs=1e-12)
        assert calibrators.fit(name, scaled)(f.probabilities) == pytest.approx(a, abs=1e-12)


def test_streams_give_what_arrays_give():
    f = task(6, 500, 4, 0.7)
    shares = np.full(500, 1 / 500)

    def passes():
        return ((f.probabilities[i : i + 33], shares[i : i + 33]) for i in range(0, 500, 33))

    streamed = fit_chunks(passes, 500.0, f.prior, f.classes)
    whole = calibrators.fit("multiplicative", f)
    assert streamed.shift - streamed.shift[0] == pytest.approx(whole.shift - whole.shift[0], abs=1e-11)
    assert streamed.steps == whole.steps


def test_one_column_means_the_second_class():
    p = np.array([0.2, 0.7, 0.9])
    both = np.column_stack([1 - p, p])
    for rule in ("log", "brier", 0.5):
        fitted = vc.adjust(p, [0.5, 0.5], rule)
        assert fitted(p) == pytest.approx(vc.adjust(both, [0.5, 0.5], rule)(both), abs=1e-13)
        assert fitted(p) == pytest.approx(vc.adjust(p, 0.5, rule)(both), abs=1e-13)
    assert vc.adjust(p, 0.5, vc.rule("log")).weights.shape == (2,)


def test_values_outside_are_counted_never_clipped():
    scores = np.array([[0.05, 0.95], [0.9, 0.1]])
    fitted = vc.adjust(scores, [0.2, 0.8], "brier")
    assert fitted.outside == 2
    assert fitted.edge == 0
    assert fitted(scores)[0] == pytest.approx([0.05 - 0.275, 0.95 + 0.275], abs=1e-12)


def test_a_class_the_target_rules_out_is_dropped():
    scores = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    for rule in ("log", 0.5, -0.5):
        a = vc.adjust(scores, [0.5, 0.5, 0], rule)(scores)
        assert (a[:, 2] == 0).all()
        assert a.mean(axis=0) == pytest.approx([0.5, 0.5, 0], abs=1e-12)
    with pytest.raises(ValueError, match="rules out"):
        vc.adjust(scores, [0.5, 0.5, 0])([[0, 0, 1]])


GOOD = [[0.6, 0.4], [0.3, 0.7]]


@pytest.mark.parametrize(
    ("scores", "target", "rule", "words"),
    [
        (GOOD, [0.5, 0.6], "log", "sum to 1.1, not to 1"),
        (GOOD, [1.5, -0.5], "log", r"-0.5 for class 1 is not a probability"),
        (GOOD, [0.5, np.nan], "log", "nan for class 1"),
        (GOOD, [0.2, 0.3, 0.5], "log", r"shape \(3,\) does not fit the 2 classes"),
        (GOOD, "uniform", "log", "no numbers"),
        ([[0.6, 0.4], [0, 0]], [0.5, 0.5], "log", "row 1 is all zeros"),
        ([[0.6, 0.4], [-0.1, 1.1]], [0.5, 0.5], "log", "row 1 holds -0.1"),
        ([[0.6, 0.4], [np.inf, 0]], [0.5, 0.5], "log", "row 1 holds inf"),
        ([[0.6, 0.4], [0.9, 0.9]], [0.5, 0.5], "brier", "row 1 sums to 1.8"),
        ([0.2, 1.2], [0.5, 0.5], "log", "row 1 holds 1.2"),
        ([["a", "b"]], [0.5, 0.5], "log", "not numbers"),
        ([[1.0]], [1.0], "log", "shape"),
        (GOOD, [0.5, 0.5], -1, "r"),
        (GOOD, [0.5, 0.5], "spherical", "power family"),
        (GOOD, [0.5, 0.5], "logg", "not one of"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(scores, target, rule, words):
    with pytest.raises(ValueError, match=words):
        vc.adjust(scores, target, rule)


def shifted_sample(prior_here: np.ndarray, n: int = 4000) -> tuple[Forecasts, np.ndarray]:
    """Calibrated scores of a model trained at equal frequencies, on cases drawn at others."""
    rng = np.random.default_rng(11)
    k = len(prior_here)
    outcomes = rng.choice(k, size=n, p=prior_here)
    x = rng.standard_normal((n, k)) + 2 * np.eye(k)[outcomes]
    return Forecasts(softmax(2 * x), None, tuple(range(k))), np.full(k, 1 / k)


def test_label_shift_is_found_from_scores_alone():
    here = np.array([0.6, 0.3, 0.1])
    forecasts, trained_on = shifted_sample(here)
    found, finding = calibrators.em(forecasts, trained_on)
    assert found == pytest.approx(here, abs=0.03)
    assert found.sum() == pytest.approx(1, abs=1e-12)
    assert finding.severity == "warning"
    assert "label shift" in finding.message
    # the estimate is the fixed point: adjusting to it by its own weights returns it
    a = forecasts.probabilities * found / trained_on
    assert (a / a.sum(axis=1, keepdims=True)).mean(axis=0) == pytest.approx(found, abs=1e-8)


def test_an_estimate_outside_the_simplex_is_refused():
    scores = np.tile([0.6, 0.3, 0.1], (50, 1))
    with pytest.raises(ValueError, match="leaves the simplex"):
        calibrators.em(Forecasts(scores, None, ("a", "b", "c")), [1 / 3, 1 / 3, 1 / 3])
    with pytest.raises(ValueError, match="frequency 0"):
        calibrators.em(Forecasts(scores, None, ("a", "b", "c")), [0.5, 0.5, 0])


@pytest.mark.parametrize("r", [0.3, 0.5, 0.8, 1.0])
def test_few_steps_between_the_log_and_the_brier_score(r):
    for seed in range(12):
        f = task(seed, 80, 2 + seed % 6)
        target = np.random.default_rng(seed).dirichlet(np.ones(f.k))
        assert calibrators.fit("coherent", f, r=r, target=target).steps <= 11


@pytest.mark.parametrize("rule", ["log", "brier", 0.5, -0.5])
def test_adjustment_keeps_rows_apart_and_together(rule):
    """So calibrated scores may be grouped by S or by A, as long as no class is ruled out."""
    rows = np.random.default_rng(8).dirichlet(np.ones(3), 40)
    scores = rows[np.random.default_rng(9).integers(0, 40, 300)]
    outcomes = np.random.default_rng(10).integers(0, 3, 300)
    a = calibrators.adjust(scores, np.bincount(outcomes, minlength=3) / 300, rule)(scores)
    by_s, by_a = (np.unique(np.asarray(x).round(12), axis=0, return_inverse=True)[1].ravel() for x in (scores, a))
    assert len(set(zip(by_s, by_a, strict=True))) == by_s.max() + 1 == by_a.max() + 1


@pytest.fixture
def passes(monkeypatch):
    """The passes over the rows that the solver asks for."""
    seen = []
    moments = _dual_solver.moments
    monkeypatch.setattr(
        _dual_solver, "moments", lambda *given, **options: (seen.append(1), moments(*given, **options))[1]
    )
    return seen


@pytest.mark.parametrize("seed", [1, 3, 5])
def test_scores_next_to_zero_are_adjusted_for_every_r_in_few_passes(passes, seed):
    """Shifts reach 1e11 at r = −2/3 and 40 at r = 0: from those of a neighbouring r it took 76,207 passes, in vain."""
    scores = np.maximum(np.random.default_rng(seed).dirichlet(np.full(5, 0.03), 7), 1e-60)
    a = vc.assess(np.arange(7) % 5, scores / scores.sum(axis=1, keepdims=True))
    assert None not in a.decomposed_profile.adjustment
    assert len(passes) < 1000


def test_scores_of_1e_300_are_adjusted_to_the_target(passes):
    smallest = 1e-300
    scores = np.array([[1 - 1e-9, 1e-9, smallest], [1e-70, 1.0, smallest], [1.0, 1e-20, 1e-80], [0.6, 0.4, smallest]])
    rows = Forecasts(scores, np.array([2, 2, 0, 1]), (0, 1, 2))
    adjusted = calibrators.mapped_rows(calibrators.fit("coherent", rows, r=-0.9), rows)
    assert adjusted.mean(axis=0) == pytest.approx([0.25, 0.25, 0.5], abs=1e-12)
    assert len(passes) < 100


def test_solver_gives_up_after_its_steps(monkeypatch):
    monkeypatch.setattr(_dual_solver, "MOST_STEPS", 1)
    scores = np.random.default_rng(2).dirichlet(np.full(4, 0.1), 50)
    with pytest.raises(calibrators.InfeasibleTarget, match="no adjustment found in 1 step"):
        calibrators.fit("coherent", Forecasts(scores, np.arange(50) % 4, (0, 1, 2, 3)), r=-0.9)
