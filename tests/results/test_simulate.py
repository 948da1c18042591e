"""Simulations: named, seeded, written as files that can be assessed."""

import re

import numpy as np
import polars as pl
import pytest

from veracity.cli import run
from veracity.formulas.distributions import CoupledNormal
from veracity.formulas.means import generalized_mean
from veracity.simulate import EXAMPLES, SIMULATIONS, random_task, simulate, ten_dimensions

SMALL = [name for name in SIMULATIONS if "imagenet" not in name]


@pytest.mark.parametrize("name", SMALL)
def test_every_source_gives_checked_forecasts(name):
    source = SIMULATIONS[name]
    n = source.n if source.fixed else 60
    f = simulate(name, n, seed=3)
    assert len(f) == n
    assert f.matrix.shape == (n, f.k)
    np.testing.assert_allclose(f.matrix.sum(axis=1), 1.0, atol=1e-12)
    assert ((f.matrix >= 0) & (f.matrix <= 1)).all()
    assert ((f.outcomes >= 0) & (f.outcomes < f.k)).all()


def test_the_same_seed_gives_the_same_draw():
    one, again, other = (simulate("n17-mean-3", 50, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.matrix, again.matrix)
    np.testing.assert_array_equal(one.outcomes, again.outcomes)
    assert not np.array_equal(one.matrix, other.matrix)


@pytest.mark.parametrize("name", ["dirichlet-3-calibrated", "cq-densenet-gtsrb-calibrated", "n17-matched"])
def test_calibrated_sources_are_calibrated(name):
    f = simulate(name, 20_000, seed=5)
    gap = f.matrix[np.arange(len(f)), f.outcomes] - (f.matrix**2).sum(axis=1)  # mean 0 when calibrated
    assert abs(gap.mean()) < 4 * gap.std() / np.sqrt(len(f))


def test_sharp_sources_are_over_confident():
    f = simulate("dirichlet-10-sharp", 20_000)
    top = f.matrix.max(axis=1)
    assert top.mean() > (f.matrix.argmax(axis=1) == f.outcomes).mean() + 0.02


@pytest.mark.parametrize(
    ("name", "picks"),
    [
        ("alexnet-gtsrb", 0.974),
        ("densenet-gtsrb", 0.948),
        ("alexnet-imagenet", 0.568),
        ("densenet-imagenet", 0.687),
    ],
)
def test_networks_have_the_papers_share_of_correct_picks(name, picks):
    n = 10_000 if "gtsrb" in name else 3_000
    p = simulate(f"cq-{name}-calibrated", n, seed=11).matrix
    best = p.max(axis=1)  # calibrated: its mean is the share of correct picks
    assert best.mean() == pytest.approx(picks, abs=3 * best.std() / np.sqrt(n) + 0.001)


def test_calibrated_alexnet_has_the_means_of_the_paper():
    # One dispersion, tuned to the share of correct picks alone: robustness, geometric accuracy, decisiveness.
    f = simulate("cq-alexnet-imagenet-calibrated", 6_000, seed=2)
    means = generalized_mean(np.maximum(f.realised, 0.005), [-2 / 3, 0, 1])
    np.testing.assert_allclose(means, [0.053, 0.188, 0.458], atol=0.012)  # 3 standard errors


def test_reading_b_pools_the_covariance():
    fitted, x, y = ten_dimensions(np.random.default_rng(0), "B", 10)
    assert fitted.scales[0] is fitted.scales[1]
    assert (x.shape, y.shape) == ((20, 10), (20,))
    with pytest.raises(ValueError, match="reading: 'D'"):
        ten_dimensions(np.random.default_rng(0), "D")


def test_distances_of_nested_features_agree_with_the_density():
    from veracity.formulas.distributions import CoupledNormal

    fitted, x, _ = ten_dimensions(np.random.default_rng(1), "A", 20)
    for d in (2, 6, 10):
        green, orange = (
            CoupledNormal(m[:d], s[:d, :d], -0.0).logpdf(x[:, :d])
            for m, s in zip(fitted.means, fitted.scales, strict=True)
        )
        np.testing.assert_allclose(
            fitted.log_odds(fitted.distances(x), "gaussian", d), orange - green, rtol=1e-9, atol=1e-9
        )


def test_random_tasks_follow_table_4():
    scores, target = random_task(np.random.default_rng(0), 100, 5)
    np.testing.assert_allclose(scores.sum(axis=1), 1.0, atol=1e-12)
    assert target.sum() == pytest.approx(1.0)


def test_unknown_names_and_sizes_are_refused():
    with pytest.raises(ValueError, match="did you mean 'n17-matched'"):
        simulate("n17-mached")
    with pytest.raises(ValueError, match="n: 0 rows"):
        simulate("n17-matched", 0)
    with pytest.raises(ValueError, match="a table of 8 rows, not 9"):
        simulate("kf15-model-1", 9)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["n17-tail-0", "dirichlet-3-sharp", "kf15-model-1", "hb17-a", "kf15-task-10"])
def test_files_are_read_back_as_drawn(tmp_path, name, ending, capsys):
    from veracity.read import read

    path = tmp_path / f"drawn.{ending}"
    assert run(["simulate", name, "--seed", "4", "-o", str(path)]) == 0
    assert "veracity assess" in capsys.readouterr().err
    drawn, found = simulate(name, seed=4), next(iter(read([path]).values()))
    np.testing.assert_array_equal(found.matrix, drawn.matrix)
    np.testing.assert_array_equal(found.outcomes, drawn.outcomes)


def test_the_command_lists_refuses_and_writes_to_standard_output(tmp_path, capfd):
    assert run(["simulate", "--list"]) == 0
    listed = capfd.readouterr().out
    assert all(name in listed for name in SIMULATIONS)
    assert run(["simulate", "kf15-model-2", "-o", "-"]) == 0
    assert capfd.readouterr().out.startswith("label,p_first,p_second,x1,x2\nfirst,0.9,0.1")
    assert run(["simulate", "n17-matched", "-o", str(tmp_path / "x.txt")]) == 2
    assert "ends in .csv or .parquet" in capfd.readouterr().err
    taken = tmp_path / "x.csv"
    taken.write_text("mine")
    assert run(["simulate", "n17-matched", "-o", str(taken)]) == 2
    assert taken.read_text() == "mine"
    assert run(["simulate", "n17-matched", "-n", "5", "-o", str(taken), "--force"]) == 0
    assert pl.read_csv(taken).height == 5
    capfd.readouterr()


def test_examples_cover_the_figures():
    assert {"matched", "mean-1", "mean-3", "variance-0.5", "variance-2", "tail-0", "tail-0.5"} <= set(EXAMPLES)


# ---- own parameters -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("n17-matched", {}),
        ("n17-mean-1", {"mean": 1.0}),
        ("n17-variance-2", {"variance": 2.0}),
        ("n17-amplitude-2", {"amplitude": 2.0}),
        ("n17-tail-0", {"model_kappa": 0.0}),
    ],
)
def test_own_parameters_give_the_papers_sources(name, parameters):
    """The means of 40,000 rows of either agree within four standard errors."""
    one, other = (simulate(name, 40_000, seed=1).realised, simulate("n17", 40_000, seed=2, **parameters).realised)
    gap = np.log(np.maximum(one, 0.01)).mean() - np.log(np.maximum(other, 0.01)).mean()
    assert abs(gap) < 4 * np.log(np.maximum(one, 0.01)).std() * np.sqrt(2 / 40_000)


def test_the_ideal_of_own_parameters_is_the_posterior_by_scipy():
    from scipy import stats

    f = simulate("n17", 500, seed=3, kappa=0.25, dimension=3, training=20)
    again = np.random.default_rng(3)
    drawn = [stats.multivariate_t(np.full(3, centre), np.eye(3), df=4) for centre in (0.0, 2.0)]
    assert f.ideal.shape == (500, 2)
    assert f.matrix.shape == (500, 2)
    # The rows are those of the generator: training, classes, then points of both classes.
    source = [CoupledNormal(np.full(3, centre), 1.0, 0.25) for centre in (0.0, 2.0)]
    train = [one.rvs(20, again) for one in source]
    y = again.integers(0, 2, 500)
    points = [one.rvs(500, again) for one in source]
    x = np.where((y == 1)[:, None], points[1], points[0])
    odds = np.exp(drawn[1].logpdf(x) - drawn[0].logpdf(x))
    np.testing.assert_allclose(f.ideal[:, 1], odds / (1 + odds), rtol=1e-9)
    model = [stats.multivariate_t(t.mean(axis=0), np.cov(t, rowvar=False) / 2, df=4) for t in train]
    odds = np.exp(model[1].logpdf(x) - model[0].logpdf(x))
    np.testing.assert_allclose(f.matrix[:, 1], odds / (1 + odds), rtol=1e-9)


def test_own_parameters_are_written_with_their_ideal(tmp_path, capsys):
    path = tmp_path / "own.csv"
    assert run(["simulate", "n17", "--kappa", "0.2", "--mean", "1", "-n", "400", "-o", str(path)]) == 0
    assert "--proba 'p_*' --ideal 'ideal_*'" in capsys.readouterr().err
    f = simulate("n17", 400, kappa=0.2, mean=1.0)
    frame = pl.read_csv(path)
    np.testing.assert_allclose(frame["ideal_1"].to_numpy(), f.ideal[:, 1], rtol=1e-12)
    assert run(["assess", str(path), "--proba", "p_*", "--ideal", "ideal_*", "--quiet"]) == 0


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        (
            "n17",
            {"kappa": -0.5, "dimension": 2},
            "kappa: -0.5 has no density in 2 dimensions\n  give a number above -0.5",
        ),
        ("n17", {"kappa": -2.0}, "kappa: -2 has no density in 1 dimension\n  give a number above -1"),
        ("n17", {"kappa": 0.5, "training": 25}, "kappa: 0.5 is without covariance"),
        ("n17", {"kappa": 0.1, "dimension": 5, "training": 6}, "training: 6 points have no covariance of 5 dimensions"),
        ("n17", {"kappa": 0.1, "mean": 1.0, "training": 25}, "training: mean and variance are estimated from it"),
        ("n17", {"variance": 0.0}, "variance: 0 is not above 0"),
        ("n17", {"dimension": 0}, "dimension: 0 is not a whole number from 1"),
        ("n17-mean-1", {"kappa": 0.1}, "kappa: n17-mean-1 has its own\n  only n17 takes parameters"),
    ],
)
def test_bad_parameters_are_refused_with_a_remedy(name, parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        simulate(name, 50, **parameters)
