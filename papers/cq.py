"""CQ: geometric accuracy, decisiveness and robustness of large classifiers, reported and measured."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from veracity import assess
from veracity.formulas import means
from veracity.inputs import Forecasts
from veracity.simulate import NETWORKS, simulate

from . import Options, _charts, _outputs, _readings
from ._moments import feasible, meets, rise
from ._rows import Figure, Row, Section, claim, fitted, identity, printed, shown, slashed, value_shown

Array = NDArray[Any]
TITLE = (
    "Use of the geometric mean (geometric accuracy), decisiveness and robustness to assess the quality of large-scale "
    "classifiers: AlexNet and DenseNet on GTSRB and ImageNet"
)
NUMBERED = ("Table 1", "Table 2", "Figure 1", "(1)", "(2)", "(3)")
NOT_REPRODUCED: dict[str, str] = {}
FLOOR = 0.005  # γ
BINS = 20  # the paper does not state B
WORDS = ("robustness", "geometric accuracy", "decisiveness")
# Table 1: prediction accuracy, then reported and measured (robustness, geometric accuracy, decisiveness)
TABLE_1 = {
    "alexnet-gtsrb": ("0.974", ("0.603", "0.913", "0.973"), ("0.679", "0.913", "0.962")),
    "densenet-gtsrb": ("0.948", ("0.437", "0.831", "0.939"), ("0.505", "0.828", "0.920")),
    "alexnet-imagenet": ("0.568", ("0.054", "0.063", "0.465"), ("0.054", "0.185", "0.444")),
    "densenet-imagenet": ("0.687", ("0.085", "0.148", "0.607"), ("0.087", "0.304", "0.573")),
}
TABLE_2 = {  # γ: robustness, geometric accuracy, decisiveness of DenseNet on GTSRB
    0.05: ("0.708", "0.863", "0.938"),
    0.01: ("0.509", "0.832", "0.938"),
    0.005: ("0.425", "0.823", "0.938"),
    0.001: ("0.255", "0.808", "0.938"),
    0.0: ("0.019", "0.790", "0.938"),
}
LOST = "the networks' outputs were not published; a simulation tuned only to the share of correct picks"
IMPOSSIBLE = "no distribution on [γ, 1] has these three means: a misprint, or a smaller floor for this one number"


def sections(options: Options) -> Iterator[Section]:
    if options.outputs is not None:
        yield from _real(_outputs.load(options.outputs), "Outputs given", compare=True)
    yield _printed_numbers()
    yield _consistency()
    yield _table_2_consistency()
    yield from _simulated(options)
    yield _readings.section(options)
    yield _bin_sensitivity(options)
    title, networks = _found(options)
    yield from _real(networks, title, compare=False)


# ---- the procedure --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Metrics:
    """Reported and measured (robustness, geometric accuracy, decisiveness) of one network, published procedure.

    spread_ratio  (3), the paper's slope: below 1 is over-confident
    """

    picks: float
    reported: Array
    measured: Array
    spread_ratio: float
    bins: list[dict[str, Any]]
    floors: dict[float, Array]  # {γ: reported means}


def metrics(f: Forecasts, bins: int = BINS) -> Metrics:
    """Return the metrics of one network by the paper's procedure."""
    a = assess(f, preset="CQ", bins=bins)
    published = a.papers.CQ

    def three(found: Any) -> Array:
        return np.array([float(found.robustness), float(found.geometric_accuracy), float(found.decisiveness)])

    floors = {row.floor: np.array([row.robustness, row.geometric_accuracy, row.decisiveness]) for row in a.floors}
    assert a.scores.accuracy is not None
    assert published is not None
    picks = float(a.scores.accuracy)
    ratio = float(published.spread_ratio)
    return Metrics(
        picks, three(a.reported), three(published.measured), ratio, [dict(b.stated()) for b in a.bins], floors
    )


# ---- implications of the printed numbers ----------------------------------------------------------------------------


def _printed_numbers() -> Section:
    rows: list[Row] = []
    for name, (_, reported, measured) in TABLE_1.items():
        (r0, _, d0), (r1, _, d1) = ([float(v) for v in triple] for triple in (reported, measured))
        ratio = (d1 - r1) / (d0 - r0)
        rows.append(
            claim(f"{NETWORKS[name].title}: spread ratio (3)", "less than one", ratio < 1, f"{ratio:.4f}", value=ratio)
        )
        for word, triple in (("reported", reported), ("measured", measured)):
            r, g, d = (float(v) for v in triple)
            rows.append(
                claim(
                    f"{NETWORKS[name].title}, {word}: robustness ≤ geometric ≤ decisiveness",
                    "bounds",
                    r <= g <= d,
                    f"{r} ≤ {g} ≤ {d}",
                )
            )
    realised = np.array([0.2, 0.5, 0.9, 0.99])
    rows += [
        identity(
            "(1) cross-entropy = −ln of the geometric accuracy",
            float(means.mean_surprisal(realised, 0.0)),
            -math.log(float(means.geometric_accuracy(realised))),
        ),
        identity(
            "(2) generalized mean, ρ = −2/3",
            float(means.robustness(realised)),
            float(np.mean(realised ** (-2 / 3)) ** -1.5),
        ),
    ]
    ratio = 0.831 / 0.828
    rows.append(
        claim(
            "DenseNet, GTSRB: divergence probability",
            "below 1 (N17)",
            ratio < 1,
            f"0.831/0.828 = {ratio:.4f}",
            "below 1 holds in the population; finite bins can exceed it",
            value=ratio,
        )
    )
    return Section(
        "Table 1: what the printed numbers say", "Slopes (equation 3) and bounds from the printed triples.", rows
    )


def _consistency() -> Section:
    rows: list[Row] = []
    for name, (_, reported, measured) in TABLE_1.items():
        for word, triple in (("reported", reported), ("measured", measured)):
            r, g, d = (float(v) for v in triple)
            low, high = feasible(r, d)
            possible = low - 0.0005 <= g <= high + 0.0005
            rows.append(
                claim(
                    f"{NETWORKS[name].title}, {word}: geometric accuracy",
                    triple[1],
                    possible,
                    f"possible: {low:.4f} to {high:.4f}",
                    "" if possible else IMPOSSIBLE,
                    value=g,
                    tolerance="±0.0005",
                )
            )
    low, high = feasible(0.063, 0.465, want="robustness")
    rows.append(
        shown(
            "AlexNet, ImageNet: robustness that goes with 0.063 and 0.465",
            f"{low:.4f} to {high:.4f}",
            "printed: 0.054",
            value=low,
        )
    )
    about = (
        "Which geometric accuracies are possible at all, given the printed robustness and decisiveness: a linear "
        f"programme over every distribution of probabilities on [{FLOOR}, 1]."
    )
    return Section("Table 1: consistency", about, rows)


def _table_2_consistency() -> Section:
    gammas = [g for g in TABLE_2 if g > 0]
    rows: list[Row] = []
    for high, low in itertools.pairwise(gammas):
        r1, g1, _ = (float(v) for v in TABLE_2[low])
        r2, g2, _ = (float(v) for v in TABLE_2[high])
        by_geometric = math.log(g2 / g1) / math.log(high / low)
        by_robustness = (r1 ** (-2 / 3) - r2 ** (-2 / 3)) / (low ** (-2 / 3) - high ** (-2 / 3))
        rows.append(
            claim(
                f"share of probabilities below γ in {low:g}–{high:g}, from two columns",
                "one share",
                abs(by_geometric - by_robustness) < 0.001,
                f"{by_geometric:.4f} and {by_robustness:.4f}",
                value=by_geometric,
                tolerance="0.001",
            )
        )
    floors = {gamma: (float(TABLE_2[gamma][0]), float(TABLE_2[gamma][1])) for gamma in gammas}
    least, most = rise(floors)
    together = any(meets(floors, gamma, 0.437, 0.831) for gamma in np.geomspace(0.001, 0.05, 40))
    rows += [
        claim(
            "decisiveness at γ = 0.05 and 0.001",
            "0.938, 0.938",
            least < 0.001,  # two roundings to 0.938 differ by less
            f"must differ by {least:.6f} to {most:.6f}",
            "the other two columns leave no smaller rise (linear programme), so decisiveness was computed without the "
            "floor",
            value=least,
            tolerance="0.001",
        ),
        claim(
            "DenseNet, GTSRB at γ = 0.005 in Table 1",
            "0.437, 0.831, 0.939",
            TABLE_2[0.005] == TABLE_1["densenet-gtsrb"][1],
            "Table 2: " + ", ".join(TABLE_2[0.005]),
            "Tables 1 and 2 disagree"
            + ("" if together else ", and no γ from 0.001 to 0.05 gives .437 and .831 together: another run"),
        ),
        shown("γ = 0: robustness above 0", "no probability is exactly 0", paper="0.019"),
    ]
    return Section(
        "Table 2: consistency",
        "How the columns constrain one another: d ln g / d ln γ is the share of p below γ.",
        rows,
    )


# ---- simulations with the paper's share of correct picks ------------------------------------------------------------


def _simulated(options: Options) -> Iterator[Section]:
    rows: list[Row] = []
    figures, sharp_runs = [], {}
    for name, (picks, reported, measured) in TABLE_1.items():
        net = NETWORKS[name]
        n = 4_000 if options.quick else (20_000 if net.k < 100 else 10_000)
        for word in ("calibrated", "sharp"):
            m = metrics(simulate(f"cq-{name}-{word}", n, seed=options.seed))
            error = (
                3 * math.sqrt(float(picks) * (1 - float(picks)) / n) + 0.005
            )  # the strength is tuned to two decimals
            right = claim(
                f"{net.title}, {word}: correct picks",
                picks,
                abs(m.picks - float(picks)) < error,
                f"{m.picks:.4f}",
                value=m.picks,
                tolerance="3 standard errors + 0.005",
            )
            rows.append(fitted(right, "the strength of the simulated logits was tuned to this share"))
            for i, mean in enumerate(WORDS):
                item, paper = f"{net.title}, {word}: {mean}", f"{reported[i]} / {measured[i]}"
                text = f"{m.reported[i]:.3f} / {m.measured[i]:.3f}"
                value = float(m.measured[i])
                if word == "sharp":
                    rows.append(claim(item, paper, False, text, LOST, value=value))
                else:
                    rows.append(shown(item, text, "a calibrated network for comparison", value, paper))
            if word == "sharp":
                sharp_runs[name] = m
                rows.append(
                    claim(
                        f"{net.title}, sharp: spread ratio (3)",
                        "less than one",
                        m.spread_ratio < 1,
                        f"{m.spread_ratio:.3f}",
                        value=m.spread_ratio,
                    )
                )
                rows.append(
                    claim(
                        f"{net.title}, sharp: measured robustness not below reported",
                        f"{measured[0]} ≥ {reported[0]}",
                        bool(m.measured[0] >= m.reported[0] - 0.002),
                        f"{m.measured[0]:.3f} ≥ {m.reported[0]:.3f}",
                        tolerance="0.002",
                    )
                )
                figures.append(_bars(net.title, m))
            elif name == "alexnet-imagenet":
                rows.append(
                    claim(
                        "a calibrated classifier's decisiveness equals its prediction accuracy",
                        "equal",
                        abs(m.reported[2] - m.picks) < 0.01,
                        f"{m.reported[2]:.3f} against {m.picks:.3f}",
                        "false: calibrated decisiveness is E Σp², prediction accuracy E max p",
                        tolerance="0.01",
                    )
                )
    about = (
        f"Reported / measured with γ = {FLOOR} and B = {BINS}: softmax of normal logits with the paper's number of "
        "classes and share of correct picks; `sharp` reports the softmax of twice the logits (over-confident)."
    )
    caption = (
        "Figure 1 on simulated networks: blue, the fraction true in each bin (widths vary); green, equality; red, "
        "robustness, geometric accuracy, decisiveness (reported, measured); magenta, their spread."
    )
    yield Section(
        "Table 1 and Figure 1: simulated networks",
        about,
        rows,
        [Figure(caption, _charts.side_by_side(*figures, columns=2))],
    )
    yield _sweep("Table 2: simulated DenseNet, GTSRB", sharp_runs["densenet-gtsrb"])


def _sweep(title: str, m: Metrics) -> Section:
    rows = []
    for gamma, values in m.floors.items():
        for word, paper, value in zip(WORDS, TABLE_2[gamma], values, strict=True):
            rows.append(claim(f"γ = {gamma:g}: {word}", paper, False, f"{value:.3f}", LOST, value=float(value)))
    moves = [values[0] for values in m.floors.values()]
    rows.append(
        claim(
            "robustness falls fastest as γ falls",
            "significantly",
            moves[0] - moves[-1] > 0.3,
            f"{moves[0]:.3f} → {moves[-1]:.3f}",
            tolerance="0.3",
        )
    )
    return Section(title, "Effect of γ on the reported means.", rows)


def _bin_sensitivity(options: Options) -> Section:
    n = 4_000 if options.quick else 20_000
    rows: list[Row] = []
    for name in ("densenet-gtsrb", "alexnet-imagenet"):
        net = NETWORKS[name]
        f = simulate(f"cq-{name}-calibrated", n if net.k < 100 else n // 2, seed=options.seed)
        spread = []
        for bins in (10, 20, 50, 100):
            m = metrics(f, bins)
            spread.append(m.measured)
            text = slashed(m.measured)
            note = "robustness / geometric accuracy / decisiveness; reported " + slashed(m.reported)
            rows.append(shown(f"{net.title}, calibrated, B = {bins}: measured", text, note, value=float(m.measured[0])))
        widest = np.ptp(np.array(spread), axis=0)
        text = slashed(widest)
        rows.append(shown(f"{net.title}: range over B", text, "the paper does not state B", value=float(widest[0])))
    return Section("Sensitivity to the number of bins", "Measured means of calibrated networks for several B.", rows)


# ---- real networks --------------------------------------------------------------------------------------------------


def _found(options: Options) -> tuple[str, dict[str, Forecasts]]:
    """Return title and forecasts: real networks of `--data`, otherwise the demo's models, otherwise simulated ones."""
    files: list[Path] = []
    if options.data is not None:
        places = ("cifar_netcal", "cifar10_vgg_verified_calibration")
        files = [path for place in places for path in sorted(Path(options.data, place).glob("*.parquet"))]
    title = "Real networks"
    if options.quick:
        files = [path for path in files if "100.parquet" not in path.name]  # ten classes: a second each
    if not files:
        title, files = "Bundled models", sorted(Path("demo").glob("*.csv"))
    if not files:
        names = ("dirichlet-10-calibrated", "dirichlet-10-sharp")
        return "Simulated models", {name: simulate(name, 5000, seed=options.seed) for name in names}
    return title, {path.stem: _outputs.one_model(path) for path in files}


def _real(networks: dict[str, Forecasts], title: str, *, compare: bool) -> Iterator[Section]:
    rows, sweep, figures = [], [], []
    for name, f in networks.items():
        m = metrics(f)
        figures.append(_bars(name, m))
        if compare and name.lower() in TABLE_1:
            picks, reported, measured = TABLE_1[name.lower()]
            rows.append(printed(f"{name}: prediction accuracy", picks, m.picks))
            for i, word in enumerate(WORDS):
                impossible = (
                    IMPOSSIBLE if (name.lower(), i) in (("alexnet-imagenet", 1), ("densenet-imagenet", 1)) else ""
                )
                rows.append(printed(f"{name}: {word}, reported", reported[i], float(m.reported[i]), impossible))
                rows.append(printed(f"{name}: {word}, measured", measured[i], float(m.measured[i])))
        else:
            rows.append(value_shown(f"{name}: prediction accuracy", m.picks, 4))
            for i, word in enumerate(WORDS):
                text = f"{m.reported[i]:.3f} / {m.measured[i]:.3f}"
                rows.append(shown(f"{name}: {word}, reported / measured", text, value=float(m.measured[i])))
        note = "below 1: over-confident" if m.spread_ratio < 1 else "above 1: under-confident"
        rows.append(value_shown(f"{name}: spread ratio", m.spread_ratio, 3, note))
        ends = m.bins[0], m.bins[-1]
        rows.append(
            identity(
                f"{name}: bins hold every true entry",
                float(sum(b["true"] for b in m.bins)),
                float(len(f)),
                note=_ends(*ends),
            )
        )
        for gamma, values in m.floors.items():
            note = "robustness / geometric accuracy / decisiveness"
            sweep.append(shown(f"{name}, γ = {gamma:g}", slashed(values), note))
    caption = (
        f"{title}: fraction true by reported probability; red: reported against measured means; magenta: their spread."
    )
    yield Section(
        f"{title}: Table 1 and Figure 1",
        f"γ = {FLOOR}, B = {BINS}.",
        rows,
        [Figure(caption, _charts.side_by_side(*figures, columns=2))],
    )
    yield Section(f"{title}: Table 2", "Effect of γ on the reported means.", sweep)


def _ends(first: dict[str, Any], last: dict[str, Any]) -> str:
    return f"first bin {first['true']} of {first['count']}, last bin {last['true']} of {last['count']}"


def _bars(title: str, m: Metrics) -> Any:
    """Return one panel of Figure 1: bins, the line of equality, the three means and their spread."""
    bars = _charts.data(
        low=[b["low"] for b in m.bins],
        high=[b["high"] for b in m.bins],
        fraction=[b["true"] / b["count"] if b["count"] else 0.0 for b in m.bins],
        zero=[0.0] * len(m.bins),
    )
    histogram = (
        alt.Chart(bars)
        .mark_rect(color=_charts.BLUE, opacity=0.45, stroke=_charts.BLUE, strokeWidth=0.4)
        .encode(
            x=alt.X("low:Q", scale=_charts.UNIT, title="reported probability"),
            x2="high:Q",
            y=alt.Y("zero:Q", scale=_charts.UNIT, title="measured probability"),
            y2="fraction:Q",
        )
    )
    marks = _charts.data(x=m.reported, y=m.measured)
    ends = _charts.data(x=m.reported[[0, 2]], y=m.measured[[0, 2]])
    spread = alt.Chart(ends).mark_line(color="#c2187a", strokeWidth=2).encode(x="x:Q", y="y:Q")
    layers = (
        histogram,
        _charts.diagonal(colour=_charts.GREEN),
        spread,
        _charts.points(marks, "x", "y", colour="#d00000"),
    )
    return alt.layer(*layers, title=f"{title}: spread ratio {m.spread_ratio:.3f}").properties(width=280, height=230)
