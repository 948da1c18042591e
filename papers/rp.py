"""RP: reduced perplexity, the risk profile, and the coupled algebra behind it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from veracity.formulas import coupled, means
from veracity.formulas.coupled import CoupledExponential, CoupledNormal
from veracity.simulate import TAILS, ten_dimensions

from . import Options, _charts
from ._rows import Figure, Row, Section, claim, drawn, identity, printed, shown
from ._ten import DIMENSIONS, RISKS, Experiment, experiment, harmonic, known_inverse, normal_profile

TITLE = "K. P. Nelson, Reduced perplexity: a simplified perspective on assessing probabilistic forecasts"
P = np.array([0.5, 0.3, 0.15, 0.05])
Q = np.array([0.4, 0.3, 0.2, 0.1])


def sections(options: Options) -> Iterator[Section]:
    yield _table_1()
    yield _figure_1()
    yield _average_densities()
    yield _means_and_entropies()
    yield _figure_2()
    yield _risk_profile()
    draws = 200 if options.quick else 500
    a, b = (experiment(reading, draws, options.seed) for reading in ("A", "B"))
    yield from (_figure(number, tail, a, b) for number, tail in ((3, "gaussian"), (4, "heavy"), (5, "compact")))
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
        identity("perplexity = 1/average density = exp(entropy)", 1.0 / average, math.exp(f.entropy())),
        identity(
            "entropy = log of the inverse density at mean plus standard deviation", f.entropy(), -float(f.logpdf(1.0))
        ),
    ]
    caption = "The standard normal; the average meets each curve at the mean plus the standard deviation."
    return Section("Figure 1", "", rows, [Figure(caption, _charts.beside(*charts))])


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
            identity(f"(2.8) r = {r:.3g}: mean with escort weights", float(escort @ P**r) ** (1 / r), mean),
            identity(f"(2.8) r = {r:.3g}: mean of power −r with weights p", means.generalized_mean(P, -r, P), mean),
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
        data = _charts.data(
            **{
                "x, 2 r_D − r": np.concatenate([x, r]),
                "density": np.concatenate([f.pdf(x), wgm]),
                "curve": ["density"] * len(x) + ["generalized mean"] * len(r),
                "order": np.concatenate([np.arange(len(x))] * 2),
            }
        )
        mark = _charts.data(x=[r_d], y=[f.generalized_mean()])
        charts.append(
            _charts.lines(
                data,
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
    return Section("Figure 2", about, rows, [Figure(caption, _charts.beside(*charts))])


def _risk_profile() -> Section:
    happened = np.array([0.1, 0.4, 0.9, 0.95])
    rows = []
    for r in (-2 / 3, 0.5, 1.0):
        s = -float(np.mean(coupled.risk_log(happened, r)))
        rows.append(
            identity(
                f"(3.5) r = {r:.3g}: exp_r(−S_r) = generalized mean",
                float(coupled.risk_exp(-s, r)),
                means.generalized_mean(happened, r),
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
            True,
            "a forecaster of a true 0.8 who maximises the −2/3 mean reports "
            f"{0.8**0.6 / (0.8**0.6 + 0.2**0.6):.2f} (odds to the power 0.6)",
        ),
    ]
    return Section("Equations (3.1)–(3.6)", "The risk profile.", rows)


def _figure(number: int, tail: str, a: Experiment, b: Experiment) -> Section:
    rows: list[Row] = []
    if tail == "gaussian":
        rows += [
            drawn("b) correct picks at 6 dimensions", "84%", a.picks(tail, 6)),
            drawn("b) geometric accuracy at 6 dimensions", "63%", a.mean_of(tail, 6, "accuracy")),
            claim(
                "geometric accuracy is reduced beyond 6 dimensions",
                "reduced",
                bool(a.mean_of(tail, 10, "accuracy").mean() < a.mean_of(tail, 6, "accuracy").mean()),
                f"{a.mean_of(tail, 6, 'accuracy').mean():.3f} → {a.mean_of(tail, 10, 'accuracy').mean():.3f} at 10",
            ),
            claim(
                "a) more dimensions, more decisive",
                "increases",
                bool(np.all(np.diff([a.mean_of(tail, d, "decisiveness").mean() for d in DIMENSIONS]) > 0)),
                " → ".join(f"{a.mean_of(tail, d, 'decisiveness').mean():.3f}" for d in DIMENSIONS),
            ),
            drawn("robustness at 10 dimensions", "0.00", a.mean_of(tail, 10, "robustness")),
        ]
    if tail == "heavy":
        rows += [
            drawn(f"a) geometric accuracy at {d} dimensions", "0.69", a.mean_of(tail, d, "accuracy"))
            for d in (6, 8, 10)
        ]
        rows += [
            claim(
                "caption: geometric accuracy holds from 6 to 8 dimensions",
                "6 to 8 (text: 6–10)",
                False,
                " → ".join(f"{a.mean_of(tail, d, 'accuracy').mean():.3f}" for d in (6, 8, 10)),
                "caption and text of the paper differ; the mean is level from 6 to 10 dimensions",
            ),
            drawn("b) correct picks at 10 dimensions", "86%", a.picks(tail, 10)),
            claim(
                "robustness above the Gaussian's",
                "improved significantly",
                all(
                    np.median(a.mean_of(tail, d, "robustness")) > np.median(a.mean_of("gaussian", d, "robustness"))
                    for d in DIMENSIONS
                ),
                f"median at 6: {np.median(a.mean_of(tail, 6, 'robustness')):.3f} against "
                f"{np.median(a.mean_of('gaussian', 6, 'robustness')):.3f}",
            ),
        ]
    if tail == "compact":
        zero = max(a.mean_of(tail, d, which).max() for d in DIMENSIONS for which in ("accuracy", "robustness"))
        rows += [
            drawn("b) correct picks at 4 dimensions", "75%", a.picks(tail, 4)),
            drawn("b) correct picks at 10 dimensions", "67%", a.picks(tail, 10)),
            claim("geometric accuracy and robustness", "0", zero == 0.0, f"{zero:g}"),
        ]
    for reading, e in (("A", a), ("B", b)):
        for d in DIMENSIONS:
            m = e.results[tail][d]
            rows.append(
                shown(
                    f"reading {reading}, {d} dimensions: correct picks",
                    f"{m[:, 0].mean():.3f} (sd {m[:, 0].std(ddof=1):.3f})",
                    f"decisiveness {m[:, 1].mean():.3f}, geometric accuracy {m[:, 2].mean():.3f} "
                    f"(sd {m[:, 2].std(ddof=1):.3f}), robustness {np.median(m[:, 3]):.3g}",
                    value=float(m[:, 0].mean()),
                )
            )
    rows += _profile_rows(tail, a, b)
    columns: dict[str, list[Any]] = {k: [] for k in ("r", "generalized mean", "dimensions", "order")}
    for d in DIMENSIONS:
        columns["r"] += list(means.R_GRID)
        columns["generalized mean"] += list(a.profiles[tail][d])
        columns["dimensions"] += [str(d)] * len(means.R_GRID)
        columns["order"] += list(range(len(means.R_GRID)))
    profile = _charts.lines(
        _charts.data(**columns),
        "r",
        "generalized mean",
        colour="dimensions",
        dash="dimensions",
        y_domain=(0.0, 1.0),
        title="a) risk profile",
        dashes=[str(d) for d in DIMENSIONS],
    )
    picks = [a.picks(tail, d).mean() for d in DIMENSIONS]
    marks = {
        "decisiveness": [a.mean_of(tail, d, "decisiveness").mean() for d in DIMENSIONS],
        "geometric accuracy": [a.mean_of(tail, d, "accuracy").mean() for d in DIMENSIONS],
        "robustness": [float(np.median(a.mean_of(tail, d, "robustness"))) for d in DIMENSIONS],
    }
    caption = (
        f"r_D = {TAILS[tail]:g}, reading A: a) mean risk profiles by number of dimensions, b) bars: correct picks."
    )
    figure = Figure(caption, _charts.beside(profile, _bars(picks, marks)))
    return Section(
        f"Figure {number}", "The experiment of N17 Figure 1 (one draw in the paper, many here).", rows, [figure]
    )


def _profile_rows(tail: str, a: Experiment, b: Experiment) -> list[Row]:
    """Risk profiles as numbers; with known parameters in closed form where there is one."""
    where = "r = −2, −1, −2/3, −1/2, 0, 1/2, 1, 2"
    rows = []
    for reading, e in (("A", a), ("B", b)):
        for d in (6, 10):
            drawn = e.compared[tail][d]
            error = drawn.std(axis=0, ddof=1) / math.sqrt(len(drawn))
            rows.append(
                shown(
                    f"a) reading {reading}, {d} dimensions: mean risk profile",
                    " ".join(f"{value:.3f}" for value in drawn.mean(axis=0)),
                    f"{where}; {len(drawn)} draws, standard errors " + " ".join(f"{value:.3f}" for value in error),
                    value=float(drawn[:, 0].mean()),
                )
            )
    if tail != "gaussian":
        return rows
    for d in (2, 6, 10):
        one, two = normal_profile(d / 2.0, math.sqrt(d), (-1.0, -2.0))
        rows += [
            identity(f"known parameters, {d} dimensions: mean of power −1 is 1/2", float(one), known_inverse(d, 1)),
            identity(f"known parameters, {d} dimensions: power −2, (3 + e^d)^(−1/2)", float(two), known_inverse(d, 2)),
        ]
    for reading in ("A", "B"):
        fitted = [ten_dimensions(np.random.default_rng(seed), reading, 1)[0] for seed in range(100)]
        found = {d: np.array([harmonic(one, d) for one in fitted]) for d in DIMENSIONS}
        rows.append(
            shown(
                f"reading {reading}: mean of power −1 over all x, {', '.join(map(str, DIMENSIONS))} dimensions",
                " ".join(f"{values.mean():.4f}" for values in found.values()),
                "closed form, 100 fitted models; its integral diverges, so that it is 0, in "
                + ", ".join(f"{(values == 0).mean():.0%}" for values in found.values())
                + " of them: there the profile of a finite test has no limit but 0 from r = −1 down",
                value=float(found[6].mean()),
            )
        )
    at = RISKS.index(0.0)
    rows.append(
        identity(
            "the profile at r = 0 is the geometric accuracy",
            float(a.compared[tail][6][:, at].mean()),
            float(a.mean_of(tail, 6, "accuracy")[: len(a.compared[tail][6])].mean()),
        )
    )
    return rows


def _bars(picks: list[Any], marks: dict[str, list[Any]]) -> Any:
    import altair as alt

    unit = alt.Scale(domain=(0, 1))
    x = alt.X("dimensions:O", axis=alt.Axis(labelAngle=0))
    bars = (
        alt.Chart(_charts.data(dimensions=DIMENSIONS, picks=picks), title="b) correct picks and the three means")
        .mark_bar(color="#f0c4b4")
        .encode(x=x, y=alt.Y("picks:Q", scale=unit, title="share, probability"))
    )
    long = _charts.data(
        dimensions=[d for _ in marks for d in DIMENSIONS],
        value=[v for values in marks.values() for v in values],
        mean=[name for name in marks for _ in DIMENSIONS],
    )
    shapes = alt.Shape(
        "mean:N",
        sort=None,
        title=None,
        scale=alt.Scale(domain=list(marks), range=["triangle-up", "square", "triangle-down"]),
    )
    dots = (
        alt.Chart(long)
        .mark_point(filled=True, size=60, color="#333", opacity=1)
        .encode(x=x, y=alt.Y("value:Q", scale=unit), shape=shapes)
    )
    return (bars + dots).properties(width=240, height=200)


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
