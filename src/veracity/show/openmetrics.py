"""A result as OpenMetrics text, which Prometheus and its relatives read: gauges, one line each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from veracity.records.reading import Reading
from veracity.results.assess import Assessments
from veracity.results.assessment import Assessment
from veracity.results.monitor import Monitor

Sample = tuple[Mapping[str, str], float | None]

HELP = {
    "veracity_cases": "Cases that were counted.",
    "veracity_predicted": "Mean probability as stated, of the last window.",
    "veracity_expected": "Mean probability by the reference, of the last window.",
    "veracity_observed": "Share that happened, of the last window.",
    "veracity_log_loss": "Log loss of the last window.",
    "veracity_expected_log_loss": "Log loss that the reference expects of the last window.",
    "veracity_evidence": "Evidence of a change of calibration.",
    "veracity_evidence_threshold": "Evidence at which the alarm is given.",
    "veracity_alarm": "1 while the alarm stands.",
    "veracity_last_update_timestamp_seconds": "End of the last update.",
    "veracity_score": "Score of all cases.",
    "veracity_score_low": "Lower end of the interval of a score.",
    "veracity_score_high": "Upper end of the interval of a score.",
    "veracity_calibration_slope": "Calibration slope; below 1 the forecasts are too extreme.",
    "veracity_verdict": "1 for the verdict that holds.",
}


def render(result: Assessment | Assessments | Monitor) -> str:
    """Return the metrics of a monitor, or of one or several assessments."""
    if isinstance(result, Monitor):
        return _text(_of_monitor(result))
    models = result.models if isinstance(result, Assessments) else {result.model or "forecasts": result}
    by_metric: dict[str, list[Sample]] = {}
    for name, one in models.items():
        for metric, samples in _of_assessment(str(name), one).items():
            by_metric.setdefault(metric, []).extend(samples)
    return _text(by_metric)


def _of_monitor(result: Monitor) -> dict[str, list[Sample]]:
    record, last = result.record, result.record.windows[-1]
    of = {"model": result.model or "forecasts"}
    values: dict[str, float | None] = {
        "veracity_cases": float(record.n),
        "veracity_predicted": last.predicted,
        "veracity_expected": last.expected,
        "veracity_observed": last.observed,
        "veracity_log_loss": last.log_loss,
        "veracity_expected_log_loss": last.expected_log_loss,
        "veracity_evidence": record.evidence,
        "veracity_evidence_threshold": record.threshold,
        "veracity_alarm": float(result.alarm),
        "veracity_last_update_timestamp_seconds": _seconds(record.end),
    }
    return {name: [(of, value)] for name, value in values.items()}


def _of_assessment(model: str, a: Assessment) -> dict[str, list[Sample]]:
    of = {"model": model}
    scores = {name: x for name, x in a.scores.readings().items() if x.known}
    ends: dict[str, list[Sample]] = {"veracity_score": [], "veracity_score_low": [], "veracity_score_high": []}
    for name, reading in scores.items():
        where = {**of, "score": name}
        ends["veracity_score"].append((where, float(reading)))
        ends["veracity_score_low"].append((where, reading.low))
        ends["veracity_score_high"].append((where, reading.high))
    slope = a.calibration_slope
    value = float(slope) if isinstance(slope, Reading) and slope.known else None
    verdict: list[Sample] = [({**of, "verdict": str(a.verdict)}, 1.0)]
    return {
        "veracity_cases": [(of, float(a.n))],
        **ends,
        "veracity_calibration_slope": [(of, value)],
        "veracity_verdict": verdict,
    }


def _seconds(day: str) -> float | None:
    """Return the end of a day in Unix time; None for times that are no dates."""
    try:
        return datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() + 86_400.0
    except ValueError:
        return None


def _text(by_metric: Mapping[str, Sequence[Sample]]) -> str:
    return "\n".join([*_lines(by_metric), "# EOF"]) + "\n"


def _lines(by_metric: Mapping[str, Sequence[Sample]]) -> Iterable[str]:
    for name, samples in by_metric.items():
        known = [(labels, value) for labels, value in samples if value is not None and not math.isnan(value)]
        if known:
            yield f"# TYPE {name} gauge"
            yield f"# HELP {name} {HELP[name]}"
            for labels, value in known:
                pairs = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
                yield f"{name}{{{pairs}}} {_number(value)}"


def _number(x: float) -> str:
    return ("+Inf" if x > 0 else "-Inf") if math.isinf(x) else repr(float(x))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
