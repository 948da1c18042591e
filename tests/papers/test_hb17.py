"""Hughes & Burnett 2017: every table, equation, figure caption and quoted number.

Printed numbers are compared to half a unit of their last digit, from exact fractions. The paper says "all calculations
correct to 3 d.p.", but its Figs 1 and 2 were computed from forecasts rounded to 3 d.p. (0.857, 0.403); those tests do
the same and say so. Figs 3 and 4 and the text use exact fractions.
"""

from __future__ import annotations

import numpy as np
import pytest

from veracity.formulas import tables as t
from veracity.formulas.rules import rule

A = np.array([[83, 56], [2, 12]])
B = np.array([[64, 7], [2, 27]])
C1 = np.array([[98, 6], [18, 28]])
C2 = np.array([[9, 3], [3, 14]])
SCENARIOS = {"A": A, "B": B, "C1": C1, "C2": C2}
LOG, HALF_BRIER = rule("log"), rule("half_brier")


def near(value: float, printed: str) -> None:
    """Half a unit of the last printed digit."""
    digits = len(printed.partition(".")[2])
    assert abs(float(value) - float(printed)) <= 0.5 * 10.0**-digits * (1 + 1e-9), f"{value} is not {printed}"


def all_near(values: np.ndarray | list[float], printed: str) -> None:
    for value, number in zip(np.ravel(values), printed.split(), strict=True):
        near(value, number)


# -- Table 1 ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scenario", "f1", "f2", "prior"),
    [
        ("A", "0.403", "0.857", "0.444"),
        ("B", "0.099", "0.931", "0.340"),
        ("C1", "0.058", "0.609", "0.227"),
        ("C2", "0.250", "0.824", "0.586"),
    ],
)
def test_table_1_has_the_printed_predictive_values(scenario: str, f1: str, f2: str, prior: str) -> None:
    d = t.predictive_values(SCENARIOS[scenario])[:, 1]
    near(d[0], f1)
    near(d[1], f2)
    near(t.prior(SCENARIOS[scenario])[1], prior)


# -- Bayesian updating, after Madden 2006 ---------------------------------------------------------------------------


@pytest.mark.parametrize(("prevalence", "printed"), [(0.05, "0.22"), (0.36, "0.75"), (0.85, "0.97")])
def test_madden_posterior_at_prevalence(prevalence: float, printed: str) -> None:
    near(t.predictive_values(t.shares_from_rates(0.833, 0.844, prevalence))[1, 1], printed)
    # the same by updating a table that was made at another prevalence
    elsewhere = t.likelihoods(t.shares_from_rates(0.833, 0.844, 0.5))
    near(t.posterior(elsewhere, [1 - prevalence, prevalence])[1, 1], printed)


def test_sensitivity_and_specificity_come_back_from_the_table_they_make() -> None:
    n = t.shares_from_rates(0.833, 0.844, 0.36)
    assert t.sensitivity(n)[0] == pytest.approx(0.833, abs=1e-15)
    assert t.specificity(n)[0] == pytest.approx(0.844, abs=1e-15)


# -- equations ------------------------------------------------------------------------------------------------------


def test_eq_1_brier_score() -> None:
    f = t.predictive_values(A)[:, 1]
    by_hand = sum(A[i, j] * (j - f[i]) ** 2 for i in (0, 1) for j in (0, 1)) / 153
    assert t.score(A, t.predictive_values(A), HALF_BRIER) == pytest.approx(by_hand, abs=1e-15)
    near(by_hand, "0.230")


def test_eq_2_divergence_score() -> None:
    f = t.predictive_values(A)
    by_hand = -sum(A[i, j] * np.log(f[i, j]) for i in (0, 1) for j in (0, 1)) / 153
    assert t.score(A, f, LOG) == pytest.approx(by_hand, abs=1e-15)
    near(by_hand, "0.650")


def test_eq_3_and_4_scores_are_bregman_divergences() -> None:
    f = t.predictive_values(A)
    for scoring in (LOG, HALF_BRIER):
        cells = t.cell_divergences(f, scoring)
        curve_ends = t.curve([0.0, 1.0], scoring)
        slope, at_0, at_1 = t.tangents(f[:, 1], scoring)
        assert cells == pytest.approx(np.column_stack([curve_ends[0] - at_0, curve_ends[1] - at_1]), abs=1e-14)
        assert (A * cells).sum() / 153 == pytest.approx(t.score(A, f, scoring), abs=1e-15)
        assert at_1 - at_0 == pytest.approx(slope, abs=1e-15)


@pytest.mark.parametrize(("scenario", "printed"), [("A", "0.454"), ("C1", "0.55"), ("C2", "0.57")])
def test_eq_5_has_the_printed_psep(scenario: str, printed: str) -> None:
    near(t.psep(t.predictive_values(SCENARIOS[scenario])), printed)


def test_eq_5_psep_can_be_negative() -> None:
    """HB17 writes 0 <= PSEP <= 1; the lower limit is -1 when the 'worst' category has the smaller share."""
    assert t.psep(t.predictive_values(A[::-1])) == pytest.approx(-t.psep(t.predictive_values(A)), abs=1e-15)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("scoring", [LOG, HALF_BRIER])
def test_eq_6_to_9_unc_res_rel(scenario: str, scoring) -> None:  # type: ignore[no-untyped-def]
    n = SCENARIOS[scenario]
    f, share = t.predictive_values(C1), t.category_shares(n)
    res, rel = share @ t.resolutions(n, scoring), share @ t.reliabilities(n, f, scoring)
    assert t.score(n, f, scoring) == pytest.approx(t.uncertainty(n, scoring) - res + rel, abs=1e-15)


def test_eq_7_uncertainty_of_the_brier_score() -> None:
    """u is not written for Brier: u(d) = d (1 - d)."""
    d = t.prior(A)[1]
    assert t.uncertainty(A, HALF_BRIER) == pytest.approx(d * (1 - d), abs=1e-15)


def test_eq_10_to_15_scenario_b() -> None:
    near(t.mutual_information(B), "0.340")
    near(t.entropy(B), "0.641")
    near(t.conditional_entropy(B), "0.301")  # eq 13 has a spurious minus sign
    assert t.mutual_information(B) == pytest.approx(t.entropy(B) - t.conditional_entropy(B), abs=1e-15)
    near(t.normalized_mutual_information(B), "0.530")


def test_g2_and_mcfadden_and_logit_of_scenario_b() -> None:
    near(t.g2(B), "67.931")
    near(t.g2(B) / 200, "0.340")
    near(t.mcfadden_r2(B), "0.530")
    b = t.saturated_logit(B)[0][:, 0]
    near(b[0], "-2.213")
    near(b[1], "4.816")
    near(1 / (1 + np.exp(-b[0])), "0.099")
    near(1 / (1 + np.exp(-b[0] - b[1])), "0.931")


def test_reliability_section_has_the_printed_information() -> None:
    near(t.mutual_information(C1), "0.177")
    near(t.mutual_information(C2), "0.172")
    near(t.conditional_entropy(C1), "0.358")
    near(t.conditional_entropy(C2), "0.506")
    near(t.entropy(C1), "0.535")
    near(t.entropy(C2), "0.678")


def test_both_versions_of_eq_6_for_scenario_c2() -> None:
    own, training, share = t.predictive_values(C2), t.predictive_values(C1), t.category_shares(C2)
    near(t.score(C2, own, LOG), "0.506")
    assert share @ t.reliabilities(C2, own, LOG) == 0.0
    near(t.score(C2, training, LOG), "0.650")
    near(t.uncertainty(C2, LOG), "0.678")
    near(share @ t.resolutions(C2, LOG), "0.172")
    near(share @ t.reliabilities(C2, training, LOG), "0.144")


# -- figures' captions ----------------------------------------------------------------------------------------------


def test_fig_1_brier_tangents_from_rounded_forecasts() -> None:
    slope, at_0, at_1 = t.tangents([0.857, 0.403], HALF_BRIER)
    all_near([*slope, *at_0, *at_1], "1.714 0.806 -0.734 -0.162 0.980 0.644")
    scores = t.cell_divergences([[0.143, 0.857], [0.597, 0.403]], HALF_BRIER)
    all_near(scores, "0.734 0.020 0.162 0.356")


def test_fig_1_has_the_printed_tangents_and_scores() -> None:
    slope, at_0, at_1 = t.tangents([6 / 7, 56 / 139], HALF_BRIER)
    all_near([*slope, *at_0, *at_1], "1.714286 0.805755 -0.734694 -0.162310 0.979592 0.643445")
    scores = t.cell_divergences([[1 / 7, 6 / 7], [83 / 139, 56 / 139]], HALF_BRIER)
    all_near(scores, "0.734694 0.020408 0.162310 0.356555")


def test_fig_2_log_tangents_from_rounded_forecasts() -> None:
    slope, at_0, at_1 = t.tangents([0.857, 0.403], LOG)
    all_near([*slope, *at_0, *at_1], "1.791 -0.393 -1.945 -0.516 -0.154 -0.909")


def test_fig_2_has_the_printed_tangents_and_scores() -> None:
    slope, at_0, at_1 = t.tangents([6 / 7, 56 / 139], LOG)
    all_near([*slope, *at_0, *at_1], "1.791759 -0.393489 -1.945910 -0.515633 -0.154151 -0.909122")
    scores = t.cell_divergences([[1 / 7, 6 / 7], [83 / 139, 56 / 139]], LOG)
    all_near(scores, "1.945910 0.154151 0.515633 0.909122")


def test_fig_3_has_the_printed_resolution() -> None:
    slope, _, _ = t.tangents(t.prior(A)[1], LOG)
    near(slope, "-0.223")
    near(slope, "-0.223144")
    near(t.resolutions(A, LOG)[1], "0.369")
    near(t.resolutions(A, LOG)[0], "0.004")
    near(t.category_shares(A) @ t.resolutions(A, LOG), "0.037")


def test_fig_4_has_the_printed_reliability() -> None:
    slope, _, _ = t.tangents(t.predictive_values(C1)[:, 1], LOG)
    near(slope[1], "0.442")
    near(slope[0], "-2.793")
    near(slope[1], "0.441833")
    near(slope[0], "-2.793208")
    reliability = t.reliabilities(C2, t.predictive_values(C1), LOG)
    near(reliability[1], "0.108")
    near(reliability[0], "0.195")


def test_figs_3_and_4_are_from_exact_fractions() -> None:
    """Rounded to three decimals, as Figs 1 and 2 are, the prior and the forecast would give other printed numbers."""
    slope, _, _ = t.tangents([0.444, 0.058], LOG)
    near(slope[0], "-0.225")  # printed -0.223
    near(slope[1], "-2.788")  # printed -2.793
    near(LOG.divergence([0.556, 0.444], [0.597, 0.403]), "0.00343")  # prints 0.003; the paper has 0.004
    near(LOG.divergence(t.prior(A), t.predictive_values(A)[0]), "0.004")


@pytest.mark.parametrize("f", [0.01, 56 / 139, 0.5, 6 / 7, 0.99])
def test_where_tangents_meet_the_ends(f: float) -> None:
    """Brier: -f² and 1 - (1 - f)²; entropy: ln(1 - f) and ln f."""
    _, at_0, at_1 = t.tangents(f, HALF_BRIER)
    assert (at_0, at_1) == pytest.approx((-(f**2), 1 - (1 - f) ** 2), abs=1e-15)
    _, at_0, at_1 = t.tangents(f, LOG)
    assert (at_0, at_1) == pytest.approx((np.log(1 - f), np.log(f)), abs=1e-14)


# -- theory section 5 -----------------------------------------------------------------------------------------------

LISTED = {
    "A": """psep 0.454265 bs 0.229759 unc_bs 0.246914 res_bs 0.017155 ds 0.650000262 unc 0.686962 res 0.036961
        res1 0.003525 res2 0.368936 h1 0.674161 h2 0.410116 r2 0.053804 g2 11.310162 x2 10.629805 b0 -0.393489
        b1 2.185248 ll -99.450040 null -105.105121""",
    "B": """psep 0.832443 bs 0.081719 unc_bs 0.224400 res_bs 0.142681 ds 0.301381 unc 0.641035 res 0.339655
        res1 0.158933 res2 0.782110 h1 0.321977 h2 0.250955 r2 0.529853 g2 67.930951 x2 63.583208 b0 -2.212973
        b1 4.815663 ll -30.138072 null -64.103548""",
    "C1": """psep 0.551003 bs 0.110736 unc_bs 0.175289 res_bs 0.064553 ds 0.358189 unc 0.535217 res 0.177028
        res1 0.107277 res2 0.334727 h1 0.220570 h2 0.669328 r2 0.330759 g2 53.108408 x2 55.240041 b0 -2.793208
        b1 3.235041 ll -53.728370 null -80.282574""",
    "C2": """psep 0.573529 bs 0.162779 unc_bs 0.242568 res_bs 0.079789 ds 0.505862 unc 0.678209 res 0.172347
        res1 0.232977 res2 0.129549 h1 0.562335 h2 0.465999 r2 0.254121 g2 9.996127 x2 9.539144 b0 -1.098612
        b1 2.639057 ll -14.670009 null -19.668072""",
}


def numbers(n: np.ndarray, f: np.ndarray) -> dict[str, float]:
    share = t.category_shares(n)
    b = t.saturated_logit(n)[0][:, 0]
    log_likelihood, null = t.log_likelihoods(n)
    resolutions, left = t.resolutions(n, LOG), t.conditional_entropies(n)
    return {
        "psep": t.psep(t.predictive_values(n)),
        "bs": t.score(n, f, HALF_BRIER),
        "unc_bs": t.uncertainty(n, HALF_BRIER),
        "res_bs": share @ t.resolutions(n, HALF_BRIER),
        "rel_bs": share @ t.reliabilities(n, f, HALF_BRIER),
        "ds": t.score(n, f, LOG),
        "unc": t.uncertainty(n, LOG),
        "res": share @ resolutions,
        "rel": share @ t.reliabilities(n, f, LOG),
        "res1": resolutions[0],
        "res2": resolutions[1],
        "rel1": t.reliabilities(n, f, LOG)[0],
        "rel2": t.reliabilities(n, f, LOG)[1],
        "h1": left[0],
        "h2": left[1],
        "r2": t.mcfadden_r2(n),
        "g2": t.g2(n),
        "x2": t.x2(n),
        "b0": b[0],
        "b1": b[1],
        "ll": log_likelihood,
        "null": null,
    }


def named(listed: str, found: dict[str, float]) -> None:
    words = listed.split()
    for name, value in zip(words[::2], words[1::2], strict=True):
        near(found[name], value)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_values_from_exact_inputs(scenario: str) -> None:
    n = SCENARIOS[scenario]
    found = numbers(n, t.predictive_values(n))
    named(LISTED[scenario], found)
    for name in ("rel_bs", "rel", "rel1", "rel2"):
        assert found[name] == 0.0


def test_values_of_c2_with_the_forecasts_of_c1() -> None:
    found = numbers(C2, t.predictive_values(C1))
    named(
        """bs 0.205137 unc_bs 0.242568 res_bs 0.079789 rel_bs 0.042359 ds 0.650263 unc 0.678209 res 0.172347
        rel 0.144401 res1 0.232977 res2 0.129549 rel1 0.195390 rel2 0.108408""",
        found,
    )
    near(t.psep(t.predictive_values(C1)), "0.551003")  # of the forecasts; of the outcomes it is C2's


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_identities_of_the_saturated_model(scenario: str) -> None:
    """They hold with the forecast category as a factor, not with a linear term in f."""
    n = SCENARIOS[scenario]
    total = n.sum()
    assert t.g2(n) == pytest.approx(2 * total * t.mutual_information(n), rel=1e-13)
    assert t.mcfadden_r2(n) == pytest.approx(t.normalized_mutual_information(n), abs=1e-14)
    assert -t.log_likelihoods(n)[0] / total == pytest.approx(t.conditional_entropy(n), abs=1e-14)
