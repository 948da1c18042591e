"""Refusals whose remedies have been tried: the options that settle how a table is read.

A layout that nearly fits raises a `Refusal` with proposals. Only those that read the first rows of the table, and whose
forecasts pass every check, are printed. A value that only the user knows, such as a limit, is printed as a placeholder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from veracity.inputs.names import Names, as_typed

from ..options import NAMES, READING, ReadOptions
from .column_meaning import Column, event_of

Attempt = Callable[[ReadOptions], None]  # raises ValueError if the table cannot be read with these options
Completed = tuple[ReadOptions, Mapping[str, str]]  # options that were tried, and those printed as placeholders

DEPTH = 3  # a proposal may itself be refused, and settled by further options, so many times
FEW = 50  # rows below which the relation of an outcome to the forecasts, or its absence, proves nothing


def placeholder(limits: int) -> str:
    """Return what stands for limits that the user must give.

    >>> placeholder(3)
    'LIMIT1,LIMIT2,LIMIT3'
    """
    return {1: "LIMIT", 2: "LOW,HIGH"}.get(limits) or ",".join(f"LIMIT{i}" for i in range(1, limits + 1))


@dataclass(frozen=True)
class Proposal:
    """Options that may settle a refusal. `verb`: print the whole command, not only the further options.

    asked  options whose value only the user knows, as they are printed: {"cut": "LOW,HIGH"}. The value in `options`
           stands in for it while the others are tried.
    """

    when: str
    options: dict[str, Any]
    verb: str = ""
    note: str = ""  # follows the options
    likely: float = 0.0  # agreement with the forecasts: the likeliest completes another proposal
    asked: Mapping[str, str] = field(default_factory=dict)

    def added_to(self, options: ReadOptions) -> ReadOptions:
        """Return the options with these as well; conditions on rows are added to those given."""
        where = (*options.where, *self.options.get("where", ()))
        return replace(options, **(self.options | {"where": where}))


class Refusal(ValueError):
    """A table that can be read in more than one way, or in none, with proposals that may settle it.

    otherwise  the remedy if no proposal works
    listing    a separate line before the remedy
    most       number of proposals that are printed
    file       its name, where it is a file
    """

    def __init__(
        self, what: str, *proposals: Proposal, otherwise: str = "", listing: str = "", most: int = 2, file: str = ""
    ) -> None:
        super().__init__((f"{file}: " if file else "") + what + (f"\n  {otherwise}" if otherwise else ""))
        self.what, self.proposals, self.otherwise, self.listing, self.most = what, proposals, otherwise, listing, most

    def settled(self, names: Names, options: ReadOptions, attempt: Attempt) -> ValueError:
        """Return the error that is shown, with the proposals that work."""
        proposals: list[tuple[Proposal, Completed]] = []
        for proposal in self.proposals:
            completion = completed(proposal.added_to(options), attempt, asked=proposal.asked)
            if completion is not None and completion not in [other for _, other in proposals]:
                proposals.append((proposal, completion))
            if len(proposals) == self.most:
                break
        shown: dict[str, list[str]] = {}
        for proposal, completion in proposals:
            tried, asked = completion
            text = command(names, tried, proposal.verb, asked) if proposal.verb else flags(names, tried, options, asked)
            text += f"        ({proposal.note})" if proposal.note else ""
            shown.setdefault(proposal.when, []).append(text)
        # a proposal without an occasion follows the sentence itself
        here = "   or   ".join(shown.pop("", []))
        by_when = {when + ("" if when.endswith("?") else ":"): "   or   ".join(texts) for when, texts in shown.items()}
        remedies = [f"{when}  {texts}" for when, texts in by_when.items()]
        remedy = "      ".join(remedies) or ("" if here else self.otherwise)
        lines = [self.what + (f"   {here}" if here else ""), *(line for line in (self.listing, remedy) if line)]
        return names.error("\n  ".join(lines))


def completed(
    options: ReadOptions, attempt: Attempt, depth: int = DEPTH, asked: Mapping[str, str] | None = None
) -> Completed | None:
    """Return options with which the table can be read: these, or with what else they need; None if nothing helps."""
    asked = asked or {}
    try:
        attempt(options)
    except Refusal as refusal:
        for proposal in sorted(refusal.proposals, key=lambda p: -p.likely) if depth else ():
            completion = completed(proposal.added_to(options), attempt, depth - 1, {**asked, **proposal.asked})
            if completion is not None:
                return completion
    except ValueError:
        pass
    else:
        return options, asked
    if depth and options.missing == "error":
        return completed(replace(options, missing="drop"), attempt, 0, asked)
    return None


# -- options as they are typed --------------------------------------------------------------------------------------


def quoted(word: str) -> str:
    """Return a word as a shell needs it."""
    if "'" in word:
        return '"' + "".join("\\" + c if c in '\\"$`!' else c for c in word) + '"'
    return f"'{word}'" if any(c in word for c in ' *?[]{}|;&()$<>"!#`~\\') or not word else word


def flags(names: Names, options: ReadOptions, given: ReadOptions, asked: Mapping[str, str] | None = None) -> str:
    """Return the options that differ from those given, as this caller writes them; those `asked` as placeholders."""
    parts: list[str] = []
    for option, declared in READING.items():
        value, before = getattr(options, option), getattr(given, option)
        if value in (before, None, ()):
            continue
        if asked and option in asked:
            parts.append(flag(names, option, asked[option]))
        elif declared.repeatable:
            new = [one for one in value if one not in before]
            parts += [flag(names, option, one) for one in new]
        elif value is True:
            parts.append(flag(names, option, True))
        elif isinstance(value, tuple):
            texts = [f"{v:.12g}" if isinstance(v, float) else v for v in value]
            parts.append(flag(names, option, ",".join(texts)))
        else:
            parts.append(flag(names, option, str(value).strip(NAMES).replace(NAMES, ",")))
    return (" " if names.style == "file" else ", ").join(parts)


def flag(names: Names, name: str, value: Any) -> str:
    """Return an option as this caller writes it."""
    return names.option(name, quoted(str(value)) if names.style == "file" and value is not True else value)


def command(names: Names, options: ReadOptions, verb: str = "assess", asked: Mapping[str, str] | None = None) -> str:
    """Return the whole command with all options."""
    words = flags(names, options, ReadOptions(), asked)
    if names.style == "file":
        return f"veracity {verb} {quoted(as_typed(names.file))} {words}".rstrip()
    return f"{'assess' if verb == 'compare' else verb}(frame, {words})"


# -- which columns may be the outcome of which forecasts ------------------------------------------------------------


@dataclass(frozen=True)
class Agreement:
    """How well an outcome goes with forecasts: AUC, or the share of right picks.

    by_chance  what columns without relation reach
    claimed    what the forecasts claim: calibrated ones reach no more, a decision made from them does
    """

    value: float
    error: float = np.inf  # standard error
    by_chance: float = 0.5
    claimed: float = 1.0

    @property
    def chance(self) -> bool:
        return self.value - self.by_chance < 2.0 * self.error

    @property
    def opposite(self) -> bool:
        return self.by_chance - self.value > 2.0 * self.error

    @property
    def beyond(self) -> bool:
        return self.value - self.claimed > 2.0 * self.error


def agreement(outcome: Column, forecasts: Sequence[Column], classes: Sequence[str] = ()) -> Agreement:
    """Return the agreement of an outcome with one probability column per model, or with one per class."""
    if classes:
        return _right_picks(outcome, forecasts, classes)
    pair = event_of(outcome.labels) if outcome.labels else None
    measured = outcome.numeric and not outcome.two_valued
    agreements = [_correlated(outcome, p) if measured else _auc(outcome, p, pair) for p in forecasts]
    return max(agreements, key=lambda each: (not each.chance, each.value), default=Agreement(0.5))


@dataclass(frozen=True)
class Separation:
    """Forecasts that tell two outcomes apart without exception: those of one are at most `low`, of the other at least
    `high`.
    """

    low: float
    high: float


def separation(outcome: Column, p: Column) -> Separation | None:
    """Return how a forecast separates the two values of an outcome; None if it does not, or if few rows tell."""
    if not (p.numeric and outcome.two_valued):
        return None
    both = _together(outcome.text, p)
    first, second = (both["p"].filter(both["y"] == label).to_numpy() for label in outcome.labels)
    if both.height < FEW or not (len(first) and len(second)):
        return None
    below, above = sorted((first, second), key=lambda side: float(side.min()))
    low, high = float(below.max()), float(above.min())
    return Separation(low, high) if low < high else None


def _together(outcome: pl.Series, p: Column) -> pl.DataFrame:
    both = pl.DataFrame({"y": outcome, "p": p.values.cast(pl.Float64, strict=False).fill_nan(None)})
    return both.drop_nulls()


def _auc(outcome: Column, p: Column, pair: tuple[str, str] | None) -> Agreement:
    """Return the AUC of the event; if the words do not tell which is the event, of the one that it suits."""
    both, labels = _together(outcome.text, p), outcome.labels
    event = pair[1] if pair else labels[-1] if labels else ""
    happened = (both["y"] == event).to_numpy()
    n, m = len(happened), int(happened.sum())
    if m in (0, n):
        return Agreement(0.5)
    ranks = both["p"].rank("average").to_numpy()
    auc = float((ranks[happened].sum() - m * (m + 1) / 2) / (m * (n - m)))
    auc = auc if pair else max(auc, 1.0 - auc)
    claimed = _claimed_auc(np.sort(both["p"].to_numpy())) if p.within else 1.0
    return Agreement(auc, float(np.sqrt((n + 1) / (12.0 * m * (n - m)))), claimed=claimed)


def _claimed_auc(p: NDArray[np.float64]) -> float:
    """Return the AUC that calibrated forecasts, in rising order, have on average."""
    absent = np.cumsum(1.0 - p)
    pairs = p.sum() * absent[-1]
    return float(np.sum(p * (absent - 0.5 * (1.0 - p))) / pairs) if pairs > 0 else 1.0


def _correlated(outcome: Column, p: Column) -> Agreement:
    both = _together(outcome.values.cast(pl.Float64).fill_nan(None), p)
    if both.height < 3 or both["y"].n_unique() < 2 or both["p"].n_unique() < 2:
        return Agreement(0.5)
    rho = float(np.corrcoef(both["y"].to_numpy(), both["p"].to_numpy())[0, 1])
    return Agreement((1.0 + rho) / 2.0, 0.5 / float(np.sqrt(both.height)))


def _right_picks(outcome: Column, forecasts: Sequence[Column], classes: Sequence[str]) -> Agreement:
    p = np.column_stack([c.values.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy() for c in forecasts])
    complete = ~np.isnan(p).any(axis=1)
    picks: NDArray[Any] = np.array(list(classes), dtype=object)[np.argmax(p[complete], axis=1)] if len(p) else p[:0]
    labels = outcome.text.to_numpy()[complete]
    if not len(labels):
        return Agreement(0.0)
    # what picks without relation to the outcome would reach
    expected = float(sum(np.mean(labels == c) * np.mean(picks == c) for c in classes))
    error = float(np.sqrt(max(expected * (1 - expected), 1e-9) / len(labels)))
    return Agreement(float(np.mean(labels == picks)), error, expected)
