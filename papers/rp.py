"""RP: reduced perplexity, the risk profile, and the coupled algebra behind it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from veracity.formulas import coupled, means
from veracity.formulas.distributions import CoupledExponential, CoupledNormal

from . import Options, _charts, _risk_profiles
from ._rows import Figure, Row, Section, claim, identity, printed, shown

TITLE = "K. P. Nelson, Reduced perplexity: a simplified perspective on assessing probabilistic forecasts"
NUMBERED = (
    "Table 1",
    *(f"Figure {i}" for i in range(1, 6)),
    *(f"({part}.{i})" for part, last in ((2, 9), (3, 6), ("A", 8)) for i in range(1, last + 1)),
)
NOT_REPRODUCED: dict[str, str] = {}
P = np.array([0.5, 0.3, 0.15, 0.05])
Q = np.array([0.4, 0.3, 0.2, 0.1])


def sections(options: Options) -> Iterator[Section]:
    yield _table_1()
    yield _figure_1()
    yield _average_densities()
    yield _means_and_entropies()
    yield _figure_2()
    yield _risk_profile()
    yield from _risk_profiles.sections(options)
    yield _appendix()


def _table_1() -> Section:
    entropy, divergence, cross = means.entropy(P), means.divergence(Q, P), means.cross_entropy(Q, P)
    products = {
        "entropy": (entropy, float(np.prod(P**P))),
        "divergence": (divergence, float(np.prod((Q / P) ** P))),
        "cross-entropy": (cross, float(np.prod(Q**P))),
    }
    rows: list[Row] = []
    for name, (nats, probability) in products.items():
        scales = means.scales(nats)
        rows += [
            shown(f"{name}, entropy scale", f"{nats:.6f}", value=float(nats)),
            identity(f"{name}, perplexity scale: product form", float(scales.perplexity), 1.0 / probability),
            identity(f"{name}, probability scale: product form", float(scales.probability), probability),
        ]
    rows += [
        identity("entropy scale adds", float(cross), float(entropy + divergence)),
        identity(
            "(2.5) probability scale multiplies",
            products["cross-entropy"][1],
            products["entropy"][1] * products["divergence"][1],
        ),
    ]
    about = f"Entropy functions on the perplexity and probability scales, for p = {_list(P)}, q = {_list(Q)}."
    return Section("Table 1", about, rows)


def _figure_1() -> Section:
    f = CoupledNormal()
    x = np.linspace(-3.0, 3.0, 241)
    curves = {"density": f.pdf(x), "inverse density": 1.0 / f.pdf(x), "log of inverse density": -f.logpdf(x)}
    average = f.generalized_mean()
    levels = {"density": average, "inverse density": 1.0 / average, "log of inverse density": f.entropy()}
    titles = {"density": "average density", "inverse density": "perplexity", "log of inverse density": "entropy"}
    charts = []
    for name, values in curves.items():
        keep = values < 12.0
        curve = _charts.data(x=x[keep], y=values[keep], order=np.arange(keep.sum()))
        level = _charts.data(x=[-3.0, 3.0], y=[levels[name]] * 2, order=[0, 1])
        mark = _charts.data(x=[1.0], y=[levels[name]])
        charts.append(
            _charts.lines(curve, "x", "y", title=f"{name}; {titles[name]} {levels[name]:.3f}", width=200, height=180)
            + _charts.lines(level, "x", "y", width=200, height=180).mark_line(color=_charts.ORANGE, strokeDash=[5, 3])
            + _charts.points(mark, "x", "y", colour=_charts.ORANGE)
        )
    rows = [
        identity("average density = density at mean plus standard deviation", average, float(f.pdf(1.0))),
        identity("(2.2) perplexity = 1/average density = exp(entropy)", 1.0 / average, math.exp(f.entropy())),
        identity(
            "entropy = log of the inverse density at mean plus standard deviation", f.entropy(), -float(f.logpdf(1.0))
        ),
    ]
    caption = "The standard normal; the average meets each curve at the mean plus the standard deviation."
    return Section("Figure 1", "", rows, [Figure(caption, _charts.side_by_side(*charts))])


def _average_densities() -> Section:
    exponential, normal = CoupledExponential(0.0, 2.0), CoupledNormal(0.0, 2.0)
    half, r = CoupledExponential(0.0, 1.0, 0.5), -1 / 3
    printed_weight = _integral(lambda x: half.pdf(x) * coupled.risk_log(half.pdf(x), r))
    total = _integral(lambda x: half.pdf(x) ** (1 - r))
    escort = _integral(lambda x: half.pdf(x) ** (1 - r) / total * coupled.risk_log(half.pdf(x), r))
    as_printed, right = float(coupled.risk_exp(printed_weight, r)), float(coupled.risk_exp(escort, r))
    heavy = CoupledNormal(0.0, 1.0, 0.5)
    wrong_form = float(coupled.risk_exp(-0.5, -2 / 3)) / heavy.normaliser
    rows = [
        identity(
            "(2.1) P_avg = 1/perplexity = Π p^p",
            float(means.scales(means.entropy(P)).probability),
            float(np.prod(P**P)),
        ),
        identity("(2.3) exponential, σ = 2: 1/(σ e)", exponential.generalized_mean(), 1 / (2 * math.e)),
        identity("(2.4) Gaussian, σ = 2: density at μ + σ", normal.generalized_mean(), float(normal.pdf(2.0))),
        claim(
            "(2.4) as printed",
            "√(2πσ)",
            False,
            f"{1 / (math.sqrt(2 * math.pi * math.e) * 2):.6f}",
            "misprint: √(2π) σ, and the third member is at x = μ + σ",
        ),
        claim(
            "(2.6), second use",
            "Σ w p^r",
            False,
            "(Σ w p^r)^(1/r)",
            "misprint: the exponent 1/r is missing; numbers (2.6), (2.8), (2.9), (3.1) are used more than once",
        ),
        *(
            identity(
                f"(2.9) coupled Gaussian, r_D = {r_d:.3g}: mean at r_D = density at μ + σ (by quadrature)",
                _normal_mean(r_d),
                float(CoupledNormal(0.0, 1.0, coupled.coupling_from_risk(r_d)).pdf(1.0)),
                1e-7,
            )
            for r_d in (-2 / 3, 0.5, 1.0)
        ),
        *(
            identity(
                f"(2.9) in {d} dimensions, κ = 0.25: density at squared distance {d}",
                CoupledNormal(np.zeros(d), np.eye(d), 0.25).generalized_mean(),
                float(CoupledNormal(np.zeros(d), np.eye(d), 0.25).pdf(np.ones(d))),
                note="in d dimensions the average density is the density at Q = d, not at μ + σ",
            )
            for d in (2, 10)
        ),
        claim(
            "(2.9) coupled exponential, κ = 0.5",
            "1/(σ exp_r(1))",
            False,
            f"printed {as_printed:.6f}, with escort weight {right:.6f}",
            f"misprint: the weight is the escort density, and the value exp_r(−1)/σ = {coupled.risk_exp(-1.0, r):.6f}",
            value=right,
        ),
        identity("coupled exponential: density at μ + σ", half.generalized_mean(), float(coupled.risk_exp(-1.0, r))),
        claim(
            "(2.9) Gaussian form",
            "exp_r(−x²/2σ²)",
            False,
            f"{wrong_form:.6f} instead of {float(heavy.pdf(1.0)):.6f} at x = σ",
            "misprint: (exp_κ(x²/σ²))^(−1/2); exp_r of (3.4) has r/(2+2r) instead of r/(2+r), and ln is ln_r",
            value=float(heavy.pdf(1.0)),
        ),
    ]
    return Section("Equations (2.1)–(2.9)", "Average densities, with the misprints corrected.", rows)


def _means_and_entropies() -> Section:
    rows = [
        identity(
            "(2.6) σ of the log-probabilities",
            means.log_spread(P, P),
            math.sqrt(P @ np.log(P) ** 2 - (P @ np.log(P)) ** 2),
        )
    ]
    for r in (-2 / 3, 0.5, 1.0):
        escort = coupled.coupled_probabilities(P, r)
        mean = coupled.average_probability(P, r)
        rows += [
            identity(f"(2.7), (2.8) r = {r:.3g}: mean with escort weights", float(escort @ P**r) ** (1 / r), mean),
            identity(
                f"(2.8) r = {r:.3g}: mean of power −r with weights p", float(means.generalized_mean(P, -r, P)), mean
            ),
            identity(f"r = {r:.3g}: Rényi entropy gives it", math.exp(-coupled.renyi_entropy(P, r)), mean),
            identity(
                f"r = {r:.3g}: Tsallis entropy gives it", (1 + r * coupled.tsallis_entropy(P, r)) ** (-1 / r), mean
            ),
            identity(
                f"r = {r:.3g}: normalised Tsallis entropy gives it",
                (1 - r * coupled.normalised_tsallis_entropy(P, r)) ** (1 / r),
                mean,
            ),
        ]
    return Section("Equations (2.6)–(2.8)", f"One generalized mean behind all entropies, for p = {_list(P)}.", rows)


def _figure_2() -> Section:
    rows, charts = [], []
    for panel, r_d, mu in (("a", 0.0, -1.0), ("b", -2 / 3, -5 / 3), ("c", 1.0, 0.0)):
        f = CoupledNormal(mu, 1.0, coupled.coupling_from_risk(r_d))
        rows.append(
            identity(
                f"{panel}) r_D = {r_d:.3g}, μ = {mu:.3g}: mean at r_D = density at μ + σ",
                f.generalized_mean(),
                float(f.pdf(mu + 1.0)),
            )
        )
        x = np.linspace(-5.0, 3.0, 321)
        r = np.linspace(-5.0, 3.0, 321)
        wgm = np.array([f.generalized_mean(float(2 * r_d - v)) for v in r])  # plotted against 2 r_D - r
        mark = _charts.data(x=[r_d], y=[f.generalized_mean()])
        charts.append(
            _charts.curves(
                [({"curve": "density"}, x, f.pdf(x)), ({"curve": "generalized mean"}, r, wgm)],
                "x, 2 r_D − r",
                "density",
                colour="curve",
                dash="curve",
                colours={"density": _charts.BLUE, "generalized mean": _charts.ORANGE},
                y_domain=(0.0, 0.5),
                width=210,
                title=f"{panel}) r_D = {r_d:.3g}, μ = {mu:.3g}",
            )
            + _charts.points(mark, "x", "y", colour="#444")
        )
    caption = "Coupled Gaussians and their generalized means; they meet at r = r_D, the density at mean plus scale."
    about = "The paper calls the curve a weighted geometric mean; it is the weighted generalized mean."
    return Section("Figure 2", about, rows, [Figure(caption, _charts.side_by_side(*charts))])


def _risk_profile() -> Section:
    realised = np.array([0.1, 0.4, 0.9, 0.95])
    rows = [
        identity(
            "(3.1) average surprisal −(1/N) Σ ln p gives the geometric mean",
            math.exp(-float(means.mean_surprisal(realised, 0.0))),
            float(np.prod(realised) ** 0.25),
        )
    ]
    for r in (-2 / 3, 0.5, 1.0):
        s = -float(np.mean(coupled.risk_log(realised, r)))
        rows.append(
            identity(
                f"(3.4), (3.5) r = {r:.3g}: exp_r(−S_r) = generalized mean",
                float(coupled.risk_exp(-s, r)),
                float(means.generalized_mean(realised, r)),
            )
        )
        slope, bend = (1 + r) * 0.4 ** (r - 1), (1 + r) * (r - 1) * 0.4 ** (r - 2)
        rows.append(
            identity(
                f"(3.3) r = {r:.3g}: relative risk sensitivity of ln_r",
                float(means.relative_risk_sensitivity(0.4, slope, bend)),
                r,
            )
        )
    rows += [
        claim("(3.2) last member", "−Σ ln_r p", False, "−(1/N) Σ ln_r p", "misprint: 1/N is missing"),
        claim(
            "(3.6) coefficient",
            "r/(2 + r)",
            False,
            "r = −0.15: " + ", ".join(f"{coupled.coupling_from_risk(-0.15, d=d):.4f} (d = {d})" for d in (1, 10)),
            "misprint: r/(2 + d r), as the appendix has it",
            value=coupled.coupling_from_risk(-0.15, d=10),
        ),
        claim(
            "the generalized surprisal is local but no longer proper",
            "not proper",
            abs(_best_report(0.8, -2 / 3) - 0.8) > 0.01,
            f"a forecaster of a true 0.8 who maximises the −2/3 mean reports {_best_report(0.8, -2 / 3):.2f}",
            note="odds to the power 0.6",
        ),
    ]
    return Section("Equations (3.1)–(3.6)", "The risk profile.", rows)


def _appendix() -> Section:
    a, b = np.array([0.7, 0.2, 0.1]), np.array([0.6, 0.4])
    rows = [
        printed("κ of r = 1 (−1/3)", "-0.3333", coupled.coupling_from_risk(1.0)),
        printed("conjugate κ (1/2)", "0.5", coupled.conjugate_coupling(-1 / 3)),
        printed("conjugate r (−2/3)", "-0.6667", coupled.risk_from_coupling(0.5)),
        identity("the dual is an involution", coupled.conjugate_risk(coupled.conjugate_risk(0.7)), 0.7),
        identity("q = 1 − r", coupled.tsallis_from_risk(0.3), 0.7),
        claim(
            "tail of the density",
            "x^(−α/r)",
            False,
            "x^(α/r)",
            "misprint: with r < 0 the exponent α/r is the decaying one",
        ),
        identity("(A.1) coupled states", *_coupled_states()),
    ]
    for alpha, d in ((1, 1), (2, 1), (2, 3)):
        for kappa in (-0.2, 0.5):
            h = [coupled.coupled_entropy(p, kappa, alpha=alpha, d=d) for p in (a, b, np.outer(a, b).ravel())]
            rows.append(
                identity(
                    f"(A.2) κ = {kappa:g}, α = {alpha}, d = {d}: non-additivity",
                    h[2],
                    h[0] + h[1] + kappa * h[0] * h[1],
                )
            )
            r = coupled.risk_from_coupling(kappa, alpha, d)
            whole = coupled.coupled_entropy(P, kappa, alpha=alpha, d=d)
            rows.append(
                identity(
                    f"(A.5), (A.6) κ = {kappa:g}, α = {alpha}, d = {d}: coupled entropy gives the generalized mean",
                    float(1 / coupled.coupled_exp(whole, kappa, alpha=alpha, d=d)),
                    coupled.average_probability(P, r),
                )
            )
    rows += [
        identity("(A.3) total information, κ = 0.5", _total_information(0.5, 1, 1), 1.0, 1e-6),
        identity(
            "(A.3) with α = 2, d = 1, κ = 0.5: α/(1 + (d − α)κ)",
            _total_information(0.5, 2, 1),
            4.0,
            1e-4,
            note="1 only for α = d = 1",
        ),
        claim("(A.4)", "(1 + κx)^((1+κ)/κ)", False, "(1 + κx)₊^((1+κ)/κ)", "misprint: the positive part is missing"),
        claim("(A.5) inner exponent, last line", "−ακ/(1+κ)", False, "−ακ/(1+dκ)", "misprint: d is missing"),
        claim("(A.6) first outer exponent", "(1+ακ)/(ακ)", False, "(1+dκ)/(−ακ)", "misprint: d and the sign"),
        identity(
            "(A.7) equal weights stay equal", float(coupled.coupled_probabilities(np.full(8, 0.125), 0.7)[0]), 0.125
        ),
        claim("(A.8) outer exponent", "(1+ακ)/(−ακ)", False, "(1+dκ)/(−ακ)", "misprint: d instead of α"),
    ]
    return Section("Appendix", "Coupled states, entropies, logarithm and exponential.", rows)


def _best_report(p: float, r: float) -> float:
    """Return the reported probability that minimises the expected generalized surprisal when the true one is p."""
    from scipy.optimize import minimize_scalar

    def surprisal(q: float) -> float:
        return -float(p * coupled.risk_log(q, r) + (1 - p) * coupled.risk_log(1 - q, r))

    return float(minimize_scalar(surprisal, bounds=(1e-6, 1 - 1e-6), method="bounded").x)


def _coupled_states() -> tuple[float, float]:
    r = 0.4
    others = np.array([P[i] * np.prod(np.delete(P, i) ** r) for i in range(len(P))])
    return float(coupled.coupled_probabilities(P, r)[0]), float(others[0] / others.sum())


def _normal_mean(r: float) -> float:
    from scipy.integrate import quad

    f = CoupledNormal(0.0, 1.0, coupled.coupling_from_risk(r))
    reach = f.support()[1]
    total = 2 * quad(lambda x: float(f.pdf(x)) ** (1 - r), 0.0, reach, epsabs=0.0, epsrel=1e-10, limit=400)[0]
    return float(total ** (-1 / r))


def _integral(function: Any) -> float:
    from scipy.integrate import quad

    return float(sum(quad(lambda x: float(function(x)), a, b, limit=400)[0] for a, b in ((0.0, 5.0), (5.0, np.inf))))


def _total_information(kappa: float, alpha: float, d: int) -> float:
    from scipy.integrate import quad

    # p = e^-t turns the singularity at p = 0 into an exponential tail.
    return float(
        quad(
            lambda t: float(coupled.coupled_log(math.exp(t), kappa, alpha=alpha, d=d)) * math.exp(-t), 0, 300, limit=400
        )[0]
    )


def _list(p: Any) -> str:
    return "(" + ", ".join(f"{v:g}" for v in p) + ")"
