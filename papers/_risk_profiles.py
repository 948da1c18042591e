"""RP Figures 3–5: risk profiles and correct picks of the ten-dimensional experiment."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from papers import Options, _charts
from papers._experiment import (
    COVARIANCE,
    DIMENSIONS,
    RISKS,
    Experiment,
    experiments,
    harmonic,
    known_inverse,
    literal,
    normal_profile,
)
from papers._rows import Figure, Row, Section, claim, drawn, fitted, identity, shown
from veracity.formulas.means import R_GRID
from veracity.simulate import TAILS, ten_dimensions


def sections(options: Options) -> Iterator[Section]:
    a, b = experiments(options.quick, options.seed)
    c = literal(options.quick, options.seed)
    yield from (_figure(number, tail, a, b, c) for number, tail in ((3, "gaussian"), (4, "heavy"), (5, "compact")))


def _figure(number: int, tail: str, a: Experiment, b: Experiment, to_the_letter: Experiment) -> Section:
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
    rows = [fitted(row, COVARIANCE) if row.kind == "draw" else row for row in rows]
    rows += [*a.rows(tail, "A"), *b.rows(tail, "B"), *to_the_letter.rows(tail, "C (to the letter)")]
    rows += _profile_rows(tail, a, b)
    profile = _charts.curves(
        [({"dimensions": str(d)}, R_GRID, a.profiles[tail][d].mean(axis=0)) for d in DIMENSIONS],
        "r",
        "generalized mean",
        colour="dimensions",
        dash="dimensions",
        y_domain=(0.0, 1.0),
        title="a) risk profile",
        dashes=[str(d) for d in DIMENSIONS],
    )
    caption = f"r_D = {TAILS[tail]:g}, reading A: a) mean risk profiles by dimensions, b) correct picks as bars."
    figure = Figure(caption, _charts.side_by_side(profile, a.chart(tail, "b) correct picks and the three means")))
    return Section(
        f"Figure {number}", "The experiment of N17 Figure 1 (one draw in the paper, many here).", rows, [figure]
    )


def _profile_rows(tail: str, a: Experiment, b: Experiment) -> list[Row]:
    """Return rows of the risk profiles; with known parameters in closed form where possible."""
    where = "r = −2, −1, −2/3, −1/2, 0, 1/2, 1, 2"
    rows = []
    for reading, e in (("A", a), ("B", b)):
        for d in (6, 10):
            profiles = e.compared[tail][d]
            error = profiles.std(axis=0, ddof=1) / math.sqrt(len(profiles))
            rows.append(
                shown(
                    f"a) reading {reading}, {d} dimensions: mean risk profile",
                    " ".join(f"{value:.3f}" for value in profiles.mean(axis=0)),
                    f"{where}; {len(profiles)} draws, standard errors " + " ".join(f"{value:.3f}" for value in error),
                    value=float(profiles[:, 0].mean()),
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
