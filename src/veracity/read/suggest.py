"""Refusals whose remedies have been tried: the options that settle how a table is read.

A layout that nearly fits raises a `Refusal` with proposals. Only those that read the first rows of the table, and whose
forecasts pass every check, are printed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..data.names import Names
from .options import NAMES, ReadOptions
from .roles import Column, event_of

Attempt = Callable[[ReadOptions], None]  # raises ValueError if the table cannot be read with these options

DEPTH = 3  # a proposal may itself be refused, and settled by further options, so many times
FLAGS = ("normalise", "no_header")


@dataclass(frozen=True)
class Proposal:
    """Options that may settle a refusal. `verb`: print the whole command, not only the further options."""

    when: str
    options: dict[str, Any]
    verb: str = ""
    note: str = ""  # follows the options
    likely: float = 0.0  # agreement with the forecasts: the likeliest completes another proposal

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
        found: list[tuple[Proposal, ReadOptions]] = []
        for proposal in self.proposals:
            made = completed(proposal.added_to(options), attempt)
            if made is not None and made not in [other for _, other in found]:
                found.append((proposal, made))
            if len(found) == self.most:
                break
        shown: dict[str, list[str]] = {}
        for proposal, made in found:
            text = command(names, made, proposal.verb) if proposal.verb else flags(names, made, options)
            text += f"        ({proposal.note})" if proposal.note else ""
            shown.setdefault(proposal.when, []).append(text)
        # a proposal without an occasion follows the sentence itself
        here = "   or   ".join(shown.pop("", []))
        remedies = [f"{when}:  {'   or   '.join(texts)}" for when, texts in shown.items()]
        remedy = "      ".join(remedies) or ("" if here else self.otherwise)
        lines = [self.what + (f"   {here}" if here else ""), *(line for line in (self.listing, remedy) if line)]
        return names.error("\n  ".join(lines))


def completed(options: ReadOptions, attempt: Attempt, depth: int = DEPTH) -> ReadOptions | None:
    """Return options with which the table can be read: these, or with what else they need; None if nothing helps."""
    try:
        attempt(options)
    except Refusal as refusal:
        for proposal in sorted(refusal.proposals, key=lambda p: -p.likely) if depth else ():
            made = completed(proposal.added_to(options), attempt, depth - 1)
            if made is not None:
                return made
    except ValueError:
        pass
    else:
        return options
    if depth and options.missing == "error":
        return completed(replace(options, missing="drop"), attempt, 0)
    return None


# -- options as they are typed --------------------------------------------------------------------------------------


def quoted(word: str) -> str:
    """Return a word as a shell needs it."""
    if "'" in word:
        return '"' + "".join("\\" + c if c in '\\"$`!' else c for c in word) + '"'
    return f"'{word}'" if any(c in word for c in ' *?[]{}|;&()$<>"!#`~\\') or not word else word


def flags(names: Names, options: ReadOptions, given: ReadOptions) -> str:
    """Return the options that differ from those given, as this caller writes them."""
    parts: list[str] = []
    for field in fields(ReadOptions):
        value, before = getattr(options, field.name), getattr(given, field.name)
        if value in (before, None, ()) or field.name == "labelled":
            continue
        if field.name in ("where", "group", "feature"):
            new = [each for each in value if each not in before]
            parts += [flag(names, field.name, each) for each in new]
        elif field.name in FLAGS:
            parts.append(flag(names, field.name, True))
        elif isinstance(value, tuple):
            texts = [f"{v:.12g}" if isinstance(v, float) else v for v in value]
            parts.append(flag(names, field.name, ",".join(texts)))
        else:
            parts.append(flag(names, field.name, str(value).strip(NAMES).replace(NAMES, ",")))
    return (" " if names.style == "file" else ", ").join(parts)


def flag(names: Names, name: str, value: Any) -> str:
    """Return an option as this caller writes it."""
    return names.option(name, quoted(str(value)) if names.style == "file" and value is not True else value)


def command(names: Names, options: ReadOptions, verb: str = "assess") -> str:
    """Return the whole command with all options."""
    words = flags(names, options, ReadOptions())
    if names.style == "file":
        return f"veracity {verb} {quoted(names.file)} {words}".rstrip()
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
    found = [_correlated(outcome, p) if measured else _auc(outcome, p, pair) for p in forecasts]
    return max(found, key=lambda each: (not each.chance, each.value), default=Agreement(0.5))


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
    said = outcome.text.to_numpy()[complete]
    if not len(said):
        return Agreement(0.0)
    # what picks without relation to the outcome would reach
    expected = float(sum(np.mean(said == c) * np.mean(picks == c) for c in classes))
    error = float(np.sqrt(max(expected * (1 - expected), 1e-9) / len(said)))
    return Agreement(float(np.mean(said == picks)), error, expected)
