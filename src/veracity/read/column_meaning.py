"""What a column could be, by its name and by the values seen."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.inputs.events import EVENT_WORDS as EVENT_WORDS
from veracity.inputs.events import event_of as event_of

from ..options import canonical
from . import strings

OUTCOMES = (
    *("y_true", "y", "true", "truth", "true_label", "ground_truth", "gold", "label", "target", "class", "outcome"),
    *("observed", "observation", "obs", "event", "correct_answer", "resolution", "resolved_to", "result"),
)
WEAK_OUTCOMES = ("answer", "actual", "status")
AMBIGUOUS_OUTCOMES = ("answer", "status")  # as often the answer of a model, or the state of a file
# words of names by which columns that may be the outcome are ranked
TRUTH_WORDS = {
    *("resolution", "resolved", "result", "real", "truth", "true", "gold", "correct", "outcome", "observed", "obs"),
    *("actual", "target", "happened"),
}
PREDICTION_WORDS = {"pred", "preds", "predict", "predicted", "prediction", "predictions", "decision", "status", "guess"}
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
# words of the names of files of forecasts, and of files of their outcomes
FORECAST_FILES = {
    *("y", "p", "prob", "probs", "proba", "probas", "probability", "probabilities", "pred", "preds", "prediction"),
    *("predictions", "score", "scores", "forecast", "forecasts", "hat"),
}
OUTCOME_FILES = {"y", "true", "truth", "label", "labels", "target", "targets", "gold", "outcome", "outcomes", "actual"}
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
TIMES = {"time", "timestamp", "date", "datetime", "year", "epoch", "created", "updated"}
# words of names that identify rows, and of those that do unless they number labels, as class_id does
KEYS = {"uuid", "guid", "uid", "hash", "url", "slug"}
NUMBERS = {"id", "index", "idx"}
LABEL_WORDS = {"class", "label", "category", "target", "outcome", "group"}
COUNTERS = {"count", "counts", "number", "num", "n", "votes", "rank", "age", "visits", "clicks", "days", "goals"}
NO_UNITS = {"class", "label", "target", "model", "fold", "split", "resample", "run", "seed", "batch", "type", "row"}

INSTANT = re.compile(r"^\d{4}-\d\d?-\d\d?([T ]\d\d?:\d\d.*)?$|^\d\d?[./]\d\d?[./]\d{2,4}( .*)?$|^\d\d?:\d\d(:\d\d)?$")
TOKEN = re.compile(r"^(?=.*\d)(?=.*[A-Za-z])[0-9A-Za-z_-]{12,}$")  # one word of letters and digits: a key
EPOCH = (8e8, 5e9)  # seconds from 1995 to 2128
YEARS = (1900, 2100)
DAYS = (19000101, 21001231)  # days written as one number
SENTENCE = 6  # words from which texts are sentences, no labels
FEWEST_NUMBERED = 20  # rows from which consecutive numbers, each once, number the rows
SMALL = 20  # whole numbers that are no higher are no percentages
LOOKED_AT = 1000  # texts whose form is looked at
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


def named_confidence(name: str) -> bool:
    return "confidence" in key_of(name) or key_of(name) in CONFIDENCES


def rank_of_name(name: str) -> int:
    """Return 0 for the name of a truth, 1 for one that tells nothing, 2 for the name of a prediction."""
    words = words_of(name)
    if any(word.startswith("correct") for word in words):
        return 0
    return 2 if words & PREDICTION_WORDS else 0 if words & TRUTH_WORDS else 1


def is_probability_of(name: str, outcome: str) -> bool:
    """Return whether a name says that its column holds the probability of an outcome: p_correct of is_correct."""
    words, event = set(key_of(name).split("_")), set(key_of(outcome).split("_")) - {"is", "was"}
    return bool(event) and event < words and words - event <= {"p", *PROBABILITY_WORDS}


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
        counts: dict[str, int] = {}
        for value, count in self.present.value_counts().iter_rows():
            counts[canonical(value)] = counts.get(canonical(value), 0) + count
        return counts

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

    def _all_like(self, form: re.Pattern[str]) -> bool:
        """Whether the texts have this form, as far as the first of them tell."""
        seen = self.present.head(LOOKED_AT)
        return self.values.dtype == pl.String and seen.len() > 0 and all(form.match(text.strip()) for text in seen)

    @property
    def _whole(self) -> bool:
        return self.numeric and self.present.len() > 0 and not self._fractional

    @cached_property
    def time_stamp(self) -> bool:
        """Points in time: dates, texts of dates, or numbers that their size or their name tells."""
        if self.values.dtype.is_temporal() or self._all_like(INSTANT):
            return True
        if not self.numeric or not self.present.len() or (self.two_valued and event_of(self.labels) is not None):
            return False
        if any(unit * EPOCH[0] <= self.low and self.high <= unit * EPOCH[1] for unit in (1, 1e3, 1e6, 1e9)):
            return True
        written = any(low <= self.low and self.high <= high for low, high in (YEARS, DAYS))
        return bool(words_of(self.name) & TIMES) or (self._whole and written)

    @cached_property
    def identifies(self) -> bool:
        """Names or numbers of rows: by the name of the column, by their form, or because they count the rows."""
        words, rows = words_of(self.name), self.present.len()
        named = words & KEYS or (words & NUMBERS and not words & LABEL_WORDS) or self.key in IDS
        if named or (2 * self.distinct > rows and self._all_like(TOKEN)):
            return True
        return self._whole and rows >= FEWEST_NUMBERED and self.distinct == rows == self.high - self.low + 1

    @cached_property
    def free_text(self) -> bool:
        """Sentences."""
        if self.values.dtype != pl.String or not self.present.len():
            return False
        words = self.present.head(LOOKED_AT).str.count_matches(r"\S+").median()
        return float(words or 0) >= SENTENCE  # type: ignore[arg-type]

    @property
    def no_label(self) -> bool:
        """A time stamp, an id or free text: never taken for an outcome or a pick unasked."""
        return self.time_stamp or self.identifies or self.free_text

    @property
    def counter(self) -> bool:
        """Whole numbers that count or rank something, by their name or because they are small; no percentages."""
        return self._whole and (self.high <= SMALL or bool(words_of(self.name) & COUNTERS) or self.no_label)

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
