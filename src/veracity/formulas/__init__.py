"""The mathematics of the papers: arrays in, arrays out. Imports nothing else of veracity.

The functions that carry an equation of the papers are here by name, with the equation in `CARRIES`. The entropy of a
table of counts is `table_entropy` here, `tables.entropy` in its module.

>>> from veracity import formulas
>>> round(formulas.psep([[0.597, 0.403], [0.143, 0.857]]), 3), formulas.CARRIES["psep"].equation
(0.454, 'equation 5')
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple


class Carries(NamedTuple):
    """The equation that a function carries, and where it is."""

    paper: str
    equation: str
    module: str
    function: str


def _carried() -> dict[str, Carries]:
    known = {
        "means": {
            "N17": {
                "generalized_mean": "(1), (2), (13)", "entropy": "(6)", "divergence": "(8)", "cross_entropy": "(9)",
                "log_spread": "(10)",
            },
            "RP": {
                "scales": "Table 1, (2.1), (2.5)", "average_density_exponential": "(2.3)",
                "average_density_gaussian": "(2.4)", "log_generalized_mean": "(2.6)", "power_log": "(3.1)",
                "relative_risk_sensitivity": "(3.3)", "generalized_surprisal": "(3.2)",
                "probability_of_surprisal": "(3.4)", "mean_surprisal": "(3.5)", "risk_profile": "Figures 3–5",
            },
            "CQ": {"geometric_accuracy": "(1)", "decisiveness": "(2), ρ = 1", "robustness": "(2), ρ = −2/3"},
            "KF15": {"mean_of_score": "section 2.2"},
        },
        "densities": {"RP": {"generalized_mean_of": "(2.2)"}},
        "coupled": {
            "N17": {"renyi_entropy": "(12)", "conjugate_coupling": "section 3"},
            "RP": {
                "coupled_probabilities": "(2.7), (A.1)", "average_probability": "(2.8)", "risk_log": "(3.2)",
                "risk_exp": "(3.4)", "coupling_from_risk": "(3.6)", "risk_from_coupling": "(3.6)",
                "conjugate_risk": "Appendix", "tsallis_from_risk": "Appendix", "risk_from_tsallis": "Appendix",
                "coupled_entropy": "(A.2), (A.5)", "coupled_log": "(A.3)", "coupled_exp": "(A.4)",
                "tsallis_entropy": "section 2", "normalised_tsallis_entropy": "section 2",
            },
        },
        "distributions": {"N17": {"CoupledNormal": "(14)"}, "RP": {"CoupledExponential": "(2.9)"}},
        "rules": {"HB17": {"rule": "equations 1–3"}, "KF15": {"power": "section 2.2"}},
        "chain": {"KF15": {"Chain": "Table 2, Theorems 2 and 4"}},
        "tables": {
            "HB17": {
                "prior": "Table 1", "predictive_values": "Table 1", "category_shares": "Table 1",
                "likelihoods": "Table 1", "sensitivity": "Table 1", "specificity": "Table 1",
                "likelihood_ratios": "Table 1", "shares_from_rates": "Bayes' rule", "posterior": "Bayes' rule",
                "cell_divergences": "equation 3", "score": "equation 4", "psep": "equation 5",
                "uncertainty": "equation 6", "curve": "Figures 1–4", "tangents": "Figures 1–4",
                "resolutions": "equations 7, 8", "reliabilities": "equations 7, 9",
                "mutual_information": "equations 10, 14", "table_entropy": "equation 11",
                "conditional_entropies": "equation 12", "conditional_entropy": "equation 13",
                "normalized_mutual_information": "equation 15", "g2": "G²", "mcfadden_r2": "McFadden's R²",
                "log_likelihoods": "McFadden's R²", "saturated_logit": "logistic regression",
            },
        },
    }  # fmt: skip
    return {
        name: Carries(paper, equation, module, name.removeprefix("table_"))
        for module, papers in known.items()
        for paper, functions in papers.items()
        for name, equation in functions.items()
    }


CARRIES = _carried()
__all__ = ["CARRIES", "Carries", *CARRIES]


def __getattr__(name: str) -> object:
    if name not in CARRIES:
        raise AttributeError(f"module 'veracity.formulas' has no attribute {name!r}")
    where = CARRIES[name]
    return getattr(import_module(f"veracity.formulas.{where.module}"), where.function)


def __dir__() -> list[str]:
    return __all__
