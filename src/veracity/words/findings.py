"""The sentence of every kind of finding, made from its fields when it is shown.

A kind whose sentence only names its fields has it in `SENTENCES`; others register a function.
"""

from __future__ import annotations

from functools import singledispatch

from veracity.records import findings_of_input as of_input
from veracity.records import findings_of_results as of_results
from veracity.records.findings import Finding
from veracity.records.verdict import Reason

from .numbers import chance, p_equals, percent
from .verdict import why_not

NAMED_FILES = 3
NAMED_CELLS = 3
WITH_INTERVALS = 10  # cases of the rarer outcome from which scores have intervals
SHIFTED = 0.05  # p below which estimated class frequencies are worth an adjustment
ENOUGH = 100  # cases a class from which they are

SENTENCES: dict[type[Finding], str] = {
    of_results.UpdatesWithoutCases: "{count:,} of {total:,} {what}s have no cases (first: {first}): passed over",
    of_results.ImpossibleOutcomes: "{count:,} of {total:,} outcomes had been ruled out (probability 0): log loss is "
    "infinite; the evidence takes them as one in a million",
    of_results.NoReference: "without a reference the forecasts are judged against themselves, and days are taken to "
    "share no common cause",
    of_results.UnknownDays: "the reference holds {days} different days, fewer than 30: days are taken to share no "
    "common cause; where they do, alarms are false more often",
    of_results.AssumedRecalibration: "assumes that forecasts mean what they meant in the reference: the same outcomes "
    "follow the same forecasts. Other cases are allowed for; a changed relation is not seen without labels",
    of_results.ForecastsShifted: "the forecasts are distributed differently from those of the reference (p = {p:.2g})",
    of_results.LabelsShifted: "class frequencies seem to differ from those of the reference (p = {p:.2g})",
    of_input.ZeroProbability: "{count:,} of {total:,} outcomes had been ruled out (probability 0): log loss is "
    "infinite and the typical probability of the outcome is 0, whatever the other rows say",
    of_input.MissingRows: "{count:,} of {total:,} rows have missing values and are left out",
    of_input.ForeignIds: "{count:,} of {total:,} {held}s in {file} belong to no row of the data and are left out",
    of_input.SoftOutcomes: "{count:,} of {total:,} outcomes are between 0 and 1: split ({option} leaves them out)",
    of_input.SoftOmitted: "{count:,} of {total:,} outcomes are between 0 and 1: left out",
    of_input.ZeroWeight: "{count:,} of {total:,} rows have weight 0 and are left out",
    of_input.ZeroCount: "{count:,} of {total:,} rows have count 0 and are left out",
    of_input.RescaledRows: "{count:,} of {total:,} rows did not sum to one and were rescaled",
    of_input.ConstantForecast: "every forecast is the same: it cannot tell cases apart",
    of_input.OneOutcome: "every outcome is {outcome}: only the overall level of the forecasts can be judged",
    of_input.RepeatedCases: "rows look dependent ({count:,} of {total:,} share their case with another); the intervals "
    "assume they are not",
    of_input.CasesNotLookedAt: "more than {count:,} rows have ids: whether cases repeat was not looked at",
    of_input.Event: "the event is {event}, the last of the sorted labels ({option} chooses)",
    of_input.AlreadyDecided: "{count:,} of {total:,} forecasts are exactly 0 or 1 and came true: already decided, they "
    "raise every mean",
    of_input.FirstTokens: "{count:,} of {total:,} log-probabilities are missing (the first token has none): left out",
    of_input.DependentTokens: "{count:,} tokens of {total:,} answers: those of one answer are not independent, the "
    "intervals take them so",
    of_input.OwnTokens: "the tokens are the model's own words: how sure it was of them, not how well it foresaw a "
    "given text",
    of_input.StandIns: "{count:,} of {total:,} log-probabilities are -9999, written for tokens that were not among the "
    "likeliest: their real values are higher",
    of_input.OtherTokens: "{count:,} of {total:,} tokens come with alternatives (top_logprobs): not used",
    of_input.SummedTokens: "log-likelihoods are sums over the tokens of an answer, not length-normalised",
    of_input.Softmax: "softmax over the answer options of each row, not length-normalised",
    of_input.NotOffered: "{count:,} of {total:,} probabilities are missing: the option was not offered there",
    of_input.PercentSigns: "written % signs: {count:,} values divided by 100",
    of_input.PickOnly: "only the pick and its confidence are given: everything here is about the pick",
    of_input.NoNumberOfCases: "the number of cases is unknown (shares are given): no intervals",
    of_input.SeparateEvents: "rows look dependent ({count:,} columns of separate yes/no events, stacked); the "
    "intervals assume they are not",
    of_input.LikelyTokens: "probabilities of the options among the likely tokens (top_logprobs) of the answer, "
    "rescaled to sum to one",
    of_input.UnlistedOptions: "in {count:,} of {total:,} rows an option was not among the likely tokens: such options "
    "share the probability that is left",
    of_input.NoAnswers: "{count:,} of {total:,} replies are no answer: left out",
    of_input.VerbalConfidence: "confidences in words: {count:,} of {total:,} values of `{column}` read as numbers",
    of_input.Ensemble: "probabilities are (m + 1/3)/(M + {classes}/3), m of M members in a class: no class is ruled "
    "out because no member is in it",
    of_input.RawShares: "probabilities are the plain share of members: exactly 0 and 1 where all members agree",
    of_input.SmallPercentages: "no forecast is above 1 %: are these probabilities already, and not percentages?",
    of_input.PerfectSeparation: "the forecast separates this outcome perfectly: is it a prediction?",
    of_results.OneRow: "there is only one row: nothing can be compared",
    of_results.OnlyCertain: "every probability is 0 or 1: are these predicted labels? Give probabilities, such as "
    "predict_proba",
    of_results.WorseThanChance: "higher forecasts go with fewer events: is this the probability of the other outcome "
    "({option})?",
    of_results.UninformativeConfidence: "its confidence carries hardly any information: picks that it is sure of are "
    "right about as often as others (area under the ROC curve {auc:.2f}, 0.5 is chance)",
    of_results.ManyBins: "{bins:,} bins for {count:,} rows: bins so small repeat the outcomes; give fewer",
    of_results.OneWeight: "all weight is on one row: no interval can be given",
    of_results.IdealGiven: "ideal as given",
    of_results.IdealFromCases: "ideal probabilities are the outcome frequencies of each case; few outcomes make them "
    "extreme",
    of_results.IdealFromFeatures: "ideal probabilities are the outcome frequencies of {distinct} distinct feature rows "
    "of {total}",
    of_results.GroupingBound: "{distinct} of {total} feature rows are distinct, too many for ideal probabilities; "
    "grouping loss is at least {log:.4g} (log), {brier:.4g} (brier), from a cross-fitted partition of the features",
    of_results.NotSeparable: "refinement = grouping + irreducible; not separable from these inputs",
    of_results.RepeatedTimes: "`{time}`: {count:,} of {total:,} cases share their time with another; cases of one time "
    "are taken together",
    of_results.GapsInTime: "`{time}`: {count:,} of {total:,} steps are longer than usual; the times on both sides are "
    "taken as neighbours",
    of_results.RepeatedForecasts: "rows seem to repeat: equal forecasts have equal outcomes more often than chance "
    "explains, so they count as one cluster each ({option} names the cases)",
    of_results.RepeatedRows: "nearly equal forecasts have equal outcomes more often than chance explains, as copies of "
    "a case would: the intervals are too narrow; name the case of each row with {option}",
    of_results.PersistentDifferences: "differences persist in time (autocorrelation {autocorrelation:.2f}): the "
    "intervals are too short",
    of_results.CoarseCells: "the cells of the map {map!r} are too coarse: calibration loss holds what rows of one cell "
    "differ by, and {left:.3g} of {loss:.3g} nats are left over; the pool (--map auto) has no cells",
    of_results.TooManyBins: "too many bins for so few rows: some measured means are undefined (--bins takes fewer)",
    of_results.MeasuredRobustness: "with {classes} classes and no minimum probability the measured pessimistic average "
    "cannot be estimated well; with a minimum probability of 0.005 it can",
    of_results.FewMisses: "fewer than {fewest} outcomes had a probability of 50 % or less: no interval of what "
    "recalibrations gain",
    of_results.ShortInterval: "a few surprises weigh so much that the interval of the pessimistic average is too short",
    of_results.OwnPicks: "each model is judged by its own picks: log loss and Brier score are about different events",
    of_results.SampledComponents: "components are compared in a sample of {count:,} of {total:,} cases",
    of_results.Orientation: "as read, the event (“{event}”) and the positive forecast (“{positive}”) are the more "
    "frequent ones, as they would be in a table that has the event and the positive test first. Is yours such a table? "
    "Then: {command}. If not, names for rows and columns say so",
    of_results.Reversed: "“{event}” was more frequent after the best forecast (“{best}”) than after the worst "
    "(“{worst}”). Rows go from best to worst and columns from no event to event: is one reversed?",
    of_results.FewCases: "A cell has fewer than {fewest} expected cases: use the exact p rather than that of G².",
}


@singledispatch
def sentence_of(finding: Finding) -> str:
    """Return the sentence of a finding, without its rows.

    >>> sentence_of(of_input.MissingRows(2, 200, (17, 91)))
    '2 of 200 rows have missing values and are left out'
    """
    return SENTENCES[type(finding)].format(**vars(finding))


@sentence_of.register
def _(finding: of_input.DependentRows) -> str:
    rows = f"{'' if finding.whole else 'first '}{finding.seen:,} rows"
    values = f"`{finding.column}`: {finding.values:,} values, {rows}"
    return f"rows look dependent ({values}); add {finding.option}, the intervals may be too narrow without"


@sentence_of.register
def _(finding: of_input.NoConfidenceStated) -> str:
    examples = ", ".join(map(repr, finding.examples))
    values = f"{finding.count:,} of {finding.total:,} values of `{finding.column}`"
    return f"{values} state no confidence ({examples}): left out"


@sentence_of.register
def _(finding: of_input.SkippedFiles) -> str:
    shown = ", ".join(finding.files[:NAMED_FILES]) + (", …" if finding.count > NAMED_FILES else "")
    return f"{finding.count:,} of the files could not be read and are left out: {shown}"


@sentence_of.register
def _(finding: of_results.OneClass) -> str:
    return why_not(Reason.SINGLE_CLASS)


@sentence_of.register
def _(finding: of_results.Empty) -> str:
    return why_not(Reason.EMPTY)


@sentence_of.register
def _(finding: of_results.FewEvents) -> str:
    outcomes = "outcome is" if finding.count == 1 else "outcomes are"
    told = "read the intervals, not the values" if finding.count >= WITH_INTERVALS else "the values are mostly chance"
    return f"only {finding.count} {outcomes} {finding.outcome}: {told}"


@sentence_of.register
def _(finding: of_results.PicksBelowChance) -> str:
    return (
        f"its picks are right in {percent(finding.share, 1)} of the cases, less often than by chance "
        f"({percent(finding.chance, 1)}): are the columns in the order of the classes?"
    )


@sentence_of.register
def _(finding: of_results.Surprises) -> str:
    return f"the {finding.count} least expected outcomes make up {percent(finding.share, 0)} of the log loss"


@sentence_of.register
def _(finding: of_results.InfiniteCalibrated) -> str:
    return (
        f"the map {finding.map!r} rules out some outcomes ({', '.join(finding.steps)} infinite): the smoothed maps and "
        "the pool (--map auto) rule nothing out"
    )


@sentence_of.register
def _(finding: of_results.TooFewForMaps) -> str:
    named = (f"{name} ({cases:,} cases)" for name, cases in zip(finding.maps, finding.needed, strict=True))
    return f"too few cases for some recalibrations, which were not tried: {', '.join(named)}"


@sentence_of.register
def _(finding: of_results.HeavyTail) -> str:
    instead = _instead(finding.value, finding.floored, "with a minimum probability of 0.5 %")
    return f"a few rows with very low probabilities decide the pessimistic average, so it has no interval{instead}"


@sentence_of.register
def _(finding: of_results.RowsDecide) -> str:
    one = finding.count == 1
    instead = _instead(finding.value, finding.without, f"without {'it' if one else 'them'}")
    return f"{'one case decides' if one else f'{finding.count} cases decide'} the pessimistic average{instead}"


def _instead(value: float, other: float, how: str) -> str:
    """Return what a mean is and would be, in words, where these differ."""
    is_now, would_be = chance(value), chance(other)
    return f": it is {is_now}, but {would_be} {how}" if is_now != would_be else ""


@sentence_of.register
def _(finding: of_results.LabelShift) -> str:
    values = ", ".join(f"{c} {p:.4g}" for c, p in zip(finding.classes, finding.frequencies, strict=True))
    calibrated = " and that the scores were calibrated there" if finding.needs_calibration else ""
    differ = f"from those before by more than chance ({p_equals(finding.p)})"
    # papers/questions/prior.py measures these rules.
    if finding.p > SHIFTED:
        pays = (
            f"They do not differ {differ}: where nothing changed, adjusting by such an estimate raises the log loss. "
            "Keep the forecasts unless the shift is known."
        )
    elif finding.cases < ENOUGH * len(finding.classes):
        pays = (
            f"They differ {differ}, but {finding.cases:,.0f} cases are few: below {ENOUGH} a class such an estimate "
            "loses more than it gains unless the shift is large. Keep the forecasts unless the shift is known."
        )
    elif finding.needs_calibration:
        pays = (
            f"They differ {differ}: adjustment pays if the scores were calibrated, and can cost more than the shift if "
            "they were not; --to bbse does without that."
        )
    else:
        pays = f"They differ {differ}: adjustment pays where a shift is plausible."
    return (
        f"class frequencies were estimated from the scores ({values}), assuming that only they changed since training "
        f"(label shift){calibrated}; labels can check it, scores alone cannot. {pays}"
    )


@sentence_of.register
def _(finding: of_results.RuledOut) -> str:
    times = "A share of" if finding.times is None else "Once" if finding.times == 1 else f"{finding.times:,.6g} times"
    return (
        f"{times} “{finding.outcome}” followed forecast “{finding.category}”, which gave it probability 0. The log "
        "loss is infinite because of it, and stays so; the Brier score stays finite."
    )


@sentence_of.register
def _(finding: of_results.EmptyCell) -> str:
    cells = [f"“{outcome}” after “{category}”" for outcome, category in finding.cells[:NAMED_CELLS]]
    listed = ", ".join(cells) + (", …" if len(finding.cells) > NAMED_CELLS else "")
    return (
        f"Never happened: {listed}. Such cells add nothing to scores and information (0·ln 0 = 0), and make logistic "
        "coefficients infinite."
    )


@sentence_of.register
def _(finding: of_results.PsepUnused) -> str:
    share = percent(finding.share, 0)
    few = f"{finding.unused:,.6g} of {finding.cases:,.6g} cases" if finding.cases else f"{share} of the cases"
    return f"PSEP compares the worst with the best category only and leaves {few} unused."
