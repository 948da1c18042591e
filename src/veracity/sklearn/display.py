"""An assessment drawn with matplotlib, as scikit-learn draws its own curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._optional_dependencies import check_matplotlib_support

from veracity.results.assess import assess
from veracity.results.assessment import Assessment
from veracity.words import event_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RELIABILITY, RISK_PROFILE = KINDS = ("reliability", "risk_profile")


class AssessmentDisplay:
    """Reliability curve or risk profile of a classifier; `from_estimator` and `from_predictions` make one.

    Attributes
    ----------
    assessment : Assessment
        What is drawn, with every number.
    ax_, figure_, lines_
        Matplotlib objects, after `plot`.

    >>> display = AssessmentDisplay(assess([0, 1, 1], [0.2, 0.7, 0.9]), kind="risk_profile")
    >>> round(display.assessment.scores.log_loss, 4)
    0.2284
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, assessment: Assessment, *, kind: str = RELIABILITY, name: str | None = None) -> None:
        if kind not in KINDS:
            raise ValueError(f"kind: {kind!r:.80} is not one of {', '.join(map(repr, KINDS))}")
        self.assessment, self.kind, self.name = assessment, kind, name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        kind: str = RELIABILITY,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **line: Any,
    ) -> Self:
        """Draw the forecasts of a fitted classifier for labelled cases; `line` are options of the matplotlib line."""
        if not hasattr(estimator, "predict_proba"):
            own = type(estimator).__name__
            raise AttributeError(f"{own} has no predict_proba\n  give it one:  Recalibrated({own}(…))")
        p = np.asarray(estimator.predict_proba(X))
        labels = np.asarray(estimator.classes_).tolist()
        drawn = cls(
            assess(y, p, labels=labels, sample_weight=sample_weight), kind=kind, name=name or type(estimator).__name__
        )
        return drawn.plot(ax, **line)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_proba: ArrayLike,
        *,
        kind: str = RELIABILITY,
        sample_weight: ArrayLike | None = None,
        labels: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **line: Any,
    ) -> Self:
        """Draw forecasts beside outcomes; `line` are options of the matplotlib line."""
        return cls(assess(y_true, y_proba, labels=labels, sample_weight=sample_weight), kind=kind, name=name).plot(
            ax, **line
        )

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **line: Any) -> Self:
        """Draw on the axes, or on new ones."""
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots()
        label = name or self.name
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        draw = self._draw_reliability if self.kind == RELIABILITY else self._draw_profile
        self.lines_ = draw(ax, ({} if label is None else {"label": label}) | line)
        if label is not None:
            ax.legend(loc="best")
        return self

    def _draw_reliability(self, ax: Axes, line: dict[str, Any]) -> list[Any]:
        curves, classes = self.assessment.curves, self.assessment.classes
        two = len(classes) == 2
        points = [p for p in (curves.classwise.get(str(classes[1]), ()) if two else curves.top_label) if p.count]
        if not points:
            raise ValueError(f"there is no reliability curve: {self.assessment.verdict}")
        columns = ("forecast", "observed", "observed_low", "observed_high", "band_low", "band_high")
        x, y, low, high, least, most = np.array([[getattr(p, c) for c in columns] for p in points]).T
        ax.fill_between(x, least, most, color="0.85", label="by chance" if not ax.lines else None)
        ax.plot([0, 1], [0, 1], color="0.5", linewidth=1)
        dots: dict[str, Any] = {"marker": "o", "markersize": 4} | line
        lines = ax.plot(x, y, **dots)
        ax.vlines(x, low, high, color=lines[0].get_color(), linewidth=1)
        event = event_name(str(classes[1])) if two else "the pick"
        observed = f"Observed share of {event}" if two else "Share of picks that were right"
        ax.set(xlim=(0, 1), ylim=(0, 1), xlabel=f"Predicted probability of {event}", ylabel=observed, aspect="equal")
        return list(lines)

    def _draw_profile(self, ax: Axes, line: dict[str, Any]) -> list[Any]:
        profile = self.assessment.risk_profile
        r = np.asarray(profile.r)
        first = not ax.lines
        given: dict[str, Any] = {"label": "given"} | line
        lines = ax.plot(r, profile.reported, **given)
        colour = lines[0].get_color()
        if profile.reported_low is not None and profile.reported_high is not None:
            low, high = (np.array(ends, dtype=float) for ends in (profile.reported_low, profile.reported_high))
            ax.fill_between(r, low, high, color=colour, alpha=0.15)
        for values, style, title in ((profile.expected, "--", "expected"), (profile.measured, ":", "recalibrated")):
            if values is not None:
                curve = np.array(values, dtype=float)
                lines += ax.plot(r, curve, style, color=colour, label=title if first else None)
        ax.set(ylim=(0, 1), xlabel="Risk parameter r", ylabel="Mean probability of the outcome")
        ax.legend(loc="best")
        return list(lines)
