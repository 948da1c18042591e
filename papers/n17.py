"""N17: the generalized mean of model and source probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veracity.simulate import EXAMPLES, TAILS, TwoClasses, simulate

from . import Options, _charts
from ._experiment import COVARIANCE, DIMENSIONS, experiments, literal
from ._n17_equations import equations, histogram
from ._population import Population
from ._rows import Figure, Row, Section, claim, drawn, fitted, printed, shown, value_shown

Array = NDArray[Any]
TITLE = (
    "K. P. Nelson (2017), Assessing probabilistic inference by comparing the generalized mean of the model and source "
    "probabilities, Entropy 19(6), 286"
)
NUMBERED = (*(f"Figure {i}" for i in range(1, 8)), *(f"({i})" for i in range(1, 20)), "Theorem 1")
NOT_REPRODUCED: dict[str, str] = {}
NAMES = ("decisiveness", "geometric accuracy", "robustness")
FIGURES = {  # by the captions: steeper than 45 degrees is over-confident
    "matched": ("Figure 3", "on the diagonal"),
    "mean-1": ("Figure 5a", "less than 45°"),
    "mean-3": ("Figure 5b", "greater than 45°"),
    "variance-0.5": ("Figure 6a", "greater than 45°"),
    "variance-2": ("Figure 6b", "less than 45°"),
    "tail-0": ("Figure 6c", "greater than 45°"),
    "tail-0-orange": ("Figure 6c, only the orange model", "greater than 45°"),
    "tail-0.5": ("Figure 6d", "less than 45°"),
    "tail-0.5-orange": ("Figure 6d, only the orange model", "less than 45°"),
    "amplitude-2": ("Amplitude error (announced, never shown)", ""),
}


def sections(options: Options) -> Iterator[Section]:
    yield equations()
    yield _figure_1(options)
    yield _figure_2_or_4("Figure 2", "matched", "A perfectly matched model: source and model coincide.")
    yield _model_versus_source("matched", options)
    yield _figure_2_or_4("Figure 4", "mean-1", "The orange model's mean is 1 instead of 2.")
    yield from (_model_versus_source(name, options) for name in FIGURES if name != "matched")
    yield _figure_7(options)


# ---- Figure 1 -------------------------------------------------------------------------------------------------------


def _figure_1(options: Options) -> Section:
    a, b = experiments(options.quick, options.seed)
    best = np.argmax([a.mean_of("gaussian", d, "accuracy") for d in DIMENSIONS], axis=0)
    at_six = float((best == DIMENSIONS.index(6)).mean())
    best_b = DIMENSIONS[int(np.argmax([b.mean_of("gaussian", d, "accuracy").mean() for d in DIMENSIONS]))]
    zero = a.mean_of("compact", 2, "accuracy")
    rows = [
        fitted(
            drawn("(a) Gaussian, geometric accuracy at 6 dimensions", "0.63", a.mean_of("gaussian", 6, "accuracy")),
            COVARIANCE,
        ),
        claim(
            "(a) geometric accuracy is largest at 6 dimensions",
            "6",
            at_six > 0.5,
            f"in {at_six:.0%} of draws (reading A); mean largest at {best_b} (reading B)",
            "the shape of one draw: under reading A the maximum is at 4 or 6 dimensions about equally often",
        ),
        fitted(
            drawn("(a) Gaussian, robustness at 10 dimensions", "0.00", a.mean_of("gaussian", 10, "robustness")),
            COVARIANCE,
        ),
        *(
            fitted(
                drawn(
                    f"(b) heavy tail, geometric accuracy at {d} dimensions", "0.69", a.mean_of("heavy", d, "accuracy")
                ),
                COVARIANCE,
            )
            for d in (6, 8, 10)
        ),
        claim(
            "(c) compact support, geometric accuracy at 2 dimensions", "0", bool((zero == 0).all()), f"{zero.max():g}"
        ),
        claim(
            "(c) κ of the compact model",
            "0.095",
            False,
            "κ = −0.095",
            "misprint: compact support needs κ < 0; −0.095 > −1/10, so it has a density in ten dimensions",
        ),
        *(row for tail in TAILS for row in a.rows(tail, "A")),
        *(row for tail in TAILS for row in b.rows(tail, "B")),
        *(row for tail in TAILS for row in literal(options.quick, options.seed).rows(tail, "C (to the letter)")),
    ]
    about = (
        f"Means over {len(zero)} draws (the paper shows one). Not stated in the paper and found by fit: a full "
        "covariance is estimated (reading A: 25 points per class; B: 25 in all, pooled), r_D is the same in every "
        "dimension (κ = −r_D/(2 + d r_D)), 1000 test points per class, ties count half."
    )
    chart = _charts.side_by_side(*(a.chart(tail, f"{tail} (r_D = {r:g})") for tail, r in TAILS.items()))
    caption = "Reading A: bars are correct picks; marks are decisiveness, geometric accuracy, robustness (median)."
    return Section("Figure 1", about, rows, [Figure(caption, chart)])


# ---- Figures 2 and 4: densities, posteriors, ROC --------------------------------------------------------------------


def _figure_2_or_4(title: str, name: str, about: str) -> Section:
    case = EXAMPLES[name][1]
    population = Population(case)
    actual, predicted = population.area(case.source), population.area(case.model)
    rows = [
        value_shown("share of correct picks", population.classified),
        value_shown("area under the actual ROC curve", actual),
        value_shown("area under the predicted ROC curve", predicted),
    ]
    if name == "matched":
        equal = abs(actual - predicted) < 1e-9
        top = 1.0 / (1.0 + math.exp(-float(case.log_odds(1.0 + math.sqrt(3.0)))))
        rows += [
            claim("(d) actual and predicted ROC curve", "equal", equal, f"{actual:.6f}", tolerance="1e-09"),
            value_shown("largest posterior, at x = 1 + √3", top, note="posteriors return to the prior"),
        ]
    else:
        matched = Population(EXAMPLES["matched"][1])
        rows += [
            claim(
                "(d) actual ROC curve better than predicted",
                "better",
                actual > predicted,
                f"{actual:.3f} > {predicted:.3f}",
            ),
            claim(
                "classification only slightly modified",
                "slightly",
                0 < matched.classified - population.classified < 0.03,
                f"{population.classified:.4f} instead of {matched.classified:.4f}",
                tolerance="0.03",
            ),
            claim(
                "(c) posteriors are under-confident",
                "under-confident",
                population.slope(population.true) < 1,
                f"slope {population.slope(population.true):.3f}",
            ),
        ]
    caption = "(b) likelihoods, (c) posteriors, (d) ROC curves; solid: source (actual), dashed: model (predicted)."
    return Section(title, about, rows, [Figure(caption, _densities(case, population))])


def _densities(case: TwoClasses, population: Population) -> Any:
    x = np.linspace(-6.0, 8.0, 281)
    likelihoods, posteriors = [], []
    for of, pair, log_odds in (("source", case.source, case.true_log_odds), ("model", case.model, case.log_odds)):
        orange = 1.0 / (1.0 + np.exp(-log_odds(x)))
        for label, density, posterior in (("green", pair[0], 1.0 - orange), ("orange", pair[1], orange)):
            likelihoods.append(({"class": label, "of": of}, x, density.pdf(x)))
            posteriors.append(({"class": label, "of": of}, x, posterior))
    style: dict[str, Any] = {
        "colour": "class",
        "colours": {"green": _charts.GREEN, "orange": _charts.ORANGE},
        "dash": "of",
        "dashes": ["source", "model"],
        "width": 230,
    }
    thresholds = np.linspace(0.005, 0.995, 100)
    rates = []
    for word, pair in (("actual", case.source), ("predicted", case.model)):
        false, true = population.roc(pair, thresholds)
        rates.append(({"ROC": word}, [1.0, *false, 0.0], [1.0, *true, 0.0]))
    dashes = ["actual", "predicted"]
    return _charts.side_by_side(
        _charts.curves(likelihoods, "x", "density", **style),
        _charts.curves(posteriors, "x", "posterior", **style),
        _charts.curves(rates, "false positive rate", "true positive rate", dash="ROC", dashes=dashes, width=200),
    )


# ---- Figures 3, 5, 6: model versus source ---------------------------------------------------------------------------


def _model_versus_source(name: str, options: Options) -> Section:
    title, orientation = FIGURES[name]
    about, case = EXAMPLES[name]
    population = Population(case)
    n = 5_000 if options.quick else 20_000
    model, source, bins = histogram(simulate(f"n17-{name}", n, seed=options.seed))
    slope = population.slope(population.true)
    kinds = {
        "true posterior": population.true,
        "per class, 0.01 bins": population.calibrated,
        "pooled, 0.01 bins": population.pooled,
    }
    rows = []
    for i, word in enumerate(NAMES):
        note = f"simulated, {n:,} rows: model {model[i]:.4f}, source {source[i]:.4f}"
        rows.append(value_shown(f"{word}, model", population.model[i], note=note))
        rows += [value_shown(f"{word}, source: {kind}", values[i]) for kind, values in kinds.items()]
    for kind, values in kinds.items():
        rows.append(value_shown(f"divergence probability, {kind}", population.model[1] / values[1]))
        rows.append(value_shown(f"slope model/source, {kind}", population.slope(values), 4))
    rows += [
        value_shown("share of correct picks", population.classified),
        value_shown("area under the actual ROC curve", population.area(case.source)),
        value_shown("area under the predicted ROC curve", population.area(case.model)),
    ]
    rows += _claims(name, orientation, population, slope)
    caption = (
        f"{title}: model versus source. Bubbles: bins of {n:,} simulated forecasts by class; brown: decisiveness, "
        "geometric accuracy (large) and robustness of the population."
    )
    chart = _charts.model_versus_source(bins, population.true, population.model)
    return Section(title, about, rows, [Figure(caption, chart)])


def _claims(name: str, orientation: str, population: Population, slope: float) -> list[Row]:
    if name == "matched":
        gap = float(np.abs(population.model - population.true).max())
        text = f"largest gap {gap:.1g}"
        return [claim("all three means lie on the diagonal", orientation, gap < 1e-9, text, tolerance="1e-09")]
    rows = [
        claim(
            "geometric accuracy below the diagonal",
            "below",
            population.model[1] < population.true[1],
            f"{population.model[1]:.4f} < {population.true[1]:.4f}",
        )
    ]
    if orientation:
        over = orientation.startswith("greater")
        text = f"{math.degrees(math.atan(slope)):.1f}° (slope {slope:.3f})"
        rows.append(claim("orientation of the three means", orientation, (slope > 1) == over, text))
    if name == "variance-2":
        rows.append(
            claim(
                "caption: variance 2.0",
                "over-confident",
                slope > 1,
                "under-confident",
                "misprint: an orientation below 45° is under-confident",
            )
        )
    if name.startswith("amplitude"):
        falls = bool(population.model[0] < population.true[0] and population.model[2] < population.true[2])
        rows.append(
            claim(
                "over-confidence raises the arithmetic mean",
                "raises",
                not (falls and slope > 1),
                f"slope {slope:.2f}, yet both means fall",
                "false for an amplitude error",
            )
        )
    return rows


# ---- Figure 7 -------------------------------------------------------------------------------------------------------


def _figure_7(options: Options) -> Section:
    case = EXAMPLES["tail-0"][1]
    plotted, whole = Population(case, low=-7.0, high=9.0), Population(case)
    ratio = float(plotted.model[1] / plotted.true[1])
    reading = "both classes with κ = 0 models and the source cut to x in [−7, 9], found by fit"
    cut = "the cut of the source at [−7, 9]; the whole line gives 0.55, 0.61, 0.89"
    n = 2_000
    model, source, _ = histogram(simulate("n17-tail-0", n, seed=options.seed))
    literal = Population(EXAMPLES["tail-0-orange"][1])
    rows = [
        fitted(printed("P_model", "0.56", float(plotted.model[1])), cut),
        fitted(printed("P_source", "0.62", float(plotted.true[1])), cut),
        fitted(printed("P_div", "0.90", ratio), cut),
        shown(
            "whole line: P_model, P_source, P_div",
            f"{whole.model[1]:.6f}, {whole.true[1]:.6f}, {whole.model[1] / whole.true[1]:.6f}",
            "without the cut the roundings are 0.55, 0.61, 0.89",
            value=float(whole.model[1]),
        ),
        shown(
            "whole line, source per class in 0.01 bins: P_source, P_div",
            f"{whole.calibrated[1]:.6f}, {whole.model[1] / whole.calibrated[1]:.6f}",
            value=float(whole.calibrated[1]),
        ),
        shown(
            "only the orange model κ = 0 (as the text says): P_model, P_source, P_div",
            f"{literal.model[1]:.6f}, {literal.true[1]:.6f}, {literal.model[1] / literal.true[1]:.6f}",
            "the histogram sees calibration only: with 0.01 bins the source is "
            f"{literal.calibrated[1]:.3f} and P_div {literal.model[1] / literal.calibrated[1]:.3f}",
            value=float(literal.model[1]),
        ),
        shown(
            f"simulated, {n:,} rows, 0.01 bins",
            f"{model[1]:.3f}, {source[1]:.3f}, {model[1] / source[1]:.3f}",
            "few true events a bin inflate the source probability",
            value=float(model[1]),
        ),
        value_shown("P_model with q_lim = 0.005", Population(case, 0.005).model[1]),
        value_shown("P_model with q_lim = 0.02", Population(case, 0.02).model[1]),
        value_shown("P_model without precision limit", _unlimited(case), note="robustness is 0: E q^(−2/3) diverges"),
        claim(
            "P_div is always below 1",
            "always",
            False,
            "true in the population, not in finite bins",
            "one bin gives P_source = 1/M and P_div > 1; so do bins with few cases",
        ),
    ]
    return Section("Figure 7", f"The reading that gives the printed numbers: {reading}.", rows, [_projection(plotted)])


def _unlimited(case: TwoClasses) -> float:
    """Return the geometric accuracy without clipping: by symmetry twice one class's integral of ln q."""
    from scipy.integrate import quad

    def integrand(x: float) -> float:
        return float(case.source[1].pdf(x)) * -float(np.logaddexp(0.0, -case.log_odds(x)))

    return math.exp(
        sum(quad(integrand, a, b, epsabs=1e-11, limit=400)[0] for a, b in ((-np.inf, -10), (-10, 10), (10, np.inf)))
    )


def _projection(population: Population) -> Figure:
    import altair as alt

    model, source = float(population.model[1]), float(population.true[1])
    unit, wider = alt.Scale(domain=(0, 1), nice=False), alt.Scale(domain=(0, 1.25), nice=False)
    ray = _charts.data(source=[0.0, source, 1.0], model=[0.0, model, model / source])
    marks = _charts.data(
        source=[source, 1.0],
        model=[model, model / source],
        text=[f"model {model:.2f}, source {source:.2f}", f"P_div {model / source:.2f}"],
    )
    chart = alt.layer(
        _charts.diagonal(),
        alt.Chart(ray)
        .mark_line(color=_charts.BROWN)
        .encode(
            x=alt.X("source:Q", scale=wider, title="source probability"),
            y=alt.Y("model:Q", scale=unit, title="model probability"),
        ),
        _charts.points(marks, "source", "model", colour=_charts.BROWN, shape="diamond", size=120),
        _charts.labels(marks, "source", "model", "text"),
    ).properties(width=400, height=320)
    return Figure("The divergence probability is the projection of the geometric accuracy to a source of 1.", chart)
