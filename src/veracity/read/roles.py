"""What a column could be, by its name and by the values seen."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..data.events import EVENT_WORDS as EVENT_WORDS
from ..data.events import event_of as event_of
from . import strings
from .options import canonical

OUTCOMES = (
    *("y_true", "y", "true", "truth", "true_label", "ground_truth", "gold", "label", "target", "class", "outcome"),
    *("observed", "observation", "obs", "event", "correct_answer", "resolution", "resolved_to", "result"),
)
WEAK_OUTCOMES = ("answer", "actual", "status")
PROBABILITIES = (
    *("y_proba", "y_prob", "y_score", "proba", "prob", "probability", "p", "risk", "forecast", "frcst", "fcst"),
    *("prediction", "predicted", "confidence"),
)
PROBABILITY_WORDS = {"prob", "proba", "probability", "risk"}
BESIDE = {  # words of numbers that accompany a forecast
    *("lower", "upper", "lwr", "upr", "ci", "std", "sd", "se", "stderr", "var", "variance", "quantile", "threshold"),
    *("cutoff", "loss", "logloss", "brier", "entropy", "error", "residual", "margin"),
}
PICKS = (
    *("pred", "y_pred", "pred_label", "pred_class", "predicted_label", "predicted_class", "predicted", "prediction"),
    "predict",
)
WEIGHTS = ("sample_weight", "case_weight", "case_weights", "weight", "weights", "w")
IDS = ("id", "case_id", "row_id", "doc_id", "question_id", "patient_id", "plotid", "idx")
CASE_IDS = (*IDS, "case", "item", "question", "sample", "sample_id", "index")
MODELS = ("model", "model_id", "model_name", "forecaster")
WEAK_MODELS = ("method", "classifier", "algorithm", "system", "estimator", "expert", "source")  # if all have all cases
CASES = ("n", "count", "cases", "total")
EVENTS = ("events", "positives")
FREQUENCIES = (
    *("obs_freq", "event_rate", "observed_freq", "observed_frequency", "observed_rate", "fraction_of_positives"),
)
REALISED = ("p_true", "logprob", "token_logprob", "log_prob", "logp", "p_realised", "true_prob", "token_logprobs")
RIGHT = ("correct", "is_correct", "was_correct", "right", "is_right", "hit", "exact_match")
CONFIDENCES = ("confidence", "conf", "certainty", "model_confidence", "verbalised_confidence", "verbalized_confidence")
# outcomes that are neither the event nor its absence
VOID = {
    *("annulled", "void", "voided", "n/a", "na", "none", "cancelled", "canceled", "withdrawn", "unknown", "unresolved"),
    *("pending", "ambiguous", "invalid", "missing", "postponed", "abandoned", "undecided", "not resolved", "?", "-"),
    *("cancel", "mkt"),
}
SENTINELS = {"-1", "-9", "-99", "-999", "-9999", "-99999", "9", "99", "999", "9999", "99999"}  # codes for missing

# words of names of columns whose equal values mark dependent rows, and of names that never do
UNITS = {
    *("id", "idx", "patient", "subject", "person", "participant", "respondent", "user", "customer", "client"),
    *("household", "family", "animal", "student", "school", "hospital", "state", "county", "country", "city"),
    *("location", "station", "question"),
}
DATES = {"date", "datetime", "timestamp", "day", "dt"}
NO_UNITS = {"class", "label", "target", "model", "fold", "split", "resample", "run", "seed", "batch", "type", "row"}

MANY = 1000  # a column with more distinct values than this is no set of labels


@lru_cache(maxsize=4096)
def key_of(name: str) -> str:
    """A name as names are compared: lower case, blanks, dots and hyphens as underscores."""
    return re.sub(r"[\s.\-]+", "_", name.strip().lower()).strip("_")


def words_of(name: str) -> set[str]:
    """Return the words of a name in lower case: patientId, patient_id and PATIENT.ID hold the same."""
    return {word.lower() for word in re.findall(r"[^\W\d_a-z]+(?![a-z])|[^\W\d_]?[^\W\d_A-Z]+", name)}


def is_id(name: str) -> bool:
    """Return whether a column identifies cases, by its name."""
    return key_of(name) in IDS or "id" in words_of(name)


def named_probability(name: str) -> bool:
    return key_of(name) in PROBABILITIES or bool(PROBABILITY_WORDS & set(key_of(name).split("_")))


def without_bounds(columns: list[Column]) -> list[Column]:
    """Return the columns without bounds, errors and losses of forecasts, unless there is nothing else."""
    return [c for c in columns if not BESIDE & set(c.key.split("_"))] or columns


class Column:
    """One column of the sample: its kind and its values; `declared`: its categories, where they have an order."""

    def __init__(self, name: str, values: pl.Series, declared: tuple[str, ...] = ()) -> None:
        self.name, self.key, self.declared = name, key_of(name), declared
        self.values = strings.composed(values)
        self.numeric = values.dtype.is_numeric()

    @cached_property
    def present(self) -> pl.Series:
        """Values that are not missing; a blank text is missing."""
        kept = self.values.drop_nulls() if self.values.null_count() else self.values
        if kept.dtype == pl.String:
            return kept.filter(kept.str.contains(r"\S"))
        return kept.drop_nans() if kept.dtype.is_float() and np.isnan(kept.to_numpy()).any() else kept

    @cached_property
    def text(self) -> pl.Series:
        """Labels of all rows as text, null where missing."""
        seen = self.present.unique().to_list()
        return self.values.replace_strict(seen, [canonical(v) for v in seen], default=None, return_dtype=pl.String)

    @cached_property
    def distinct(self) -> int:
        return self.present.n_unique()

    @cached_property
    def low(self) -> float:
        return float(self.present.min()) if self.numeric and self.present.len() else np.nan  # type: ignore[arg-type]

    @cached_property
    def high(self) -> float:
        return float(self.present.max()) if self.numeric and self.present.len() else np.nan  # type: ignore[arg-type]

    @property
    def _fractional(self) -> bool:
        """Whether some value lies between whole numbers."""
        if not self.present.dtype.is_float():
            return False
        values = self.present.to_numpy()
        return bool((values[np.isfinite(values)] % 1.0).any())

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Distinct values as text, sorted; empty when there are too many or they are fractions."""
        if self._fractional or self.present.dtype.is_nested() or not 0 < self.distinct <= MANY:
            return ()
        values = self.present.unique().sort().to_list()
        return tuple(dict.fromkeys(canonical(v) for v in values))

    @cached_property
    def times(self) -> dict[str, int]:
        """Number of rows of each label."""
        found: dict[str, int] = {}
        for value, count in self.present.value_counts().iter_rows():
            found[canonical(value)] = found.get(canonical(value), 0) + count
        return found

    @property
    def within(self) -> bool:
        """Numeric, with every present value in [0, 1]."""
        return self.numeric and self.present.len() > 0 and self.low >= 0 and self.high <= 1

    def on_scale(self, scale: str) -> bool:
        """Whether all values may be forecasts on this scale."""
        if scale == "probability":
            return self.within
        return self.numeric and (scale != "percent" or (self.low >= 0 and self.high <= 100))

    @property
    def probability(self) -> bool:
        return self.within and self.distinct > 2 and self.key not in WEIGHTS

    @property
    def two_valued(self) -> bool:
        return self.distinct == 2 and len(self.labels) == 2

    @property
    def outcome_like(self) -> bool:
        """Two values, 0/½/1, or a single one that is known to be half of a pair."""
        if self.two_valued:
            return True
        if self.numeric:
            return self.within and set(self.present.unique().to_list()) <= {0, 0.5, 1}
        return len(self.labels) == 1 and event_of(self.labels) is not None

    @property
    def fractions(self) -> bool:
        return self.within and bool(((self.present > 0) & (self.present < 1)).any())


def _sums(frame: pl.DataFrame, names: list[str]) -> NDArray[np.float64]:
    """Return the sums of complete rows."""
    sums = frame.select(pl.col(names).cast(pl.Float64)).to_numpy().sum(axis=1)
    return np.asarray(sums[~np.isnan(sums)])


def share_of_sums(frame: pl.DataFrame, names: list[str], total: float = 1.0) -> float:
    """Share of complete rows whose values sum to `total` within a thousandth of it."""
    sums = _sums(frame, names)
    return float(np.mean(np.abs(sums - total) <= 1e-3 * total)) if len(sums) else 0.0


def off_one(frame: pl.DataFrame, names: list[str], total: float = 1.0) -> float:
    """How far the sums of complete rows, in parts of `total`, are from one on average."""
    sums = _sums(frame, names) / total
    return float(np.abs(sums - 1.0).mean()) if len(sums) else np.inf


def sum_to_one(frame: pl.DataFrame, names: list[str]) -> bool:
    return share_of_sums(frame, names) >= 0.99
