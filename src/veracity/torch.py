"""Assessments while a network is trained or evaluated, and the power family as a loss: `pip install 'veracity[torch]'`.

`Assess` is a metric of torchmetrics, so Lightning, Ignite and plain loops use it alike; its state is one tally.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veracity.extras import extras
from veracity.inputs import Forecasts, Names, check
from veracity.inputs.names import first_line
from veracity.records.reading import Reading
from veracity.results.assess import assessment
from veracity.results.assessment import Assessment
from veracity.state.plan import Plan
from veracity.state.tally import Tally, total

with extras():
    import torch
    from torch import Tensor
    from torchmetrics import Metric

__all__ = ["Assess", "PowerLoss"]

BUFFERED = 1 << 16  # rows that are counted together
MOST_ENTRIES = 1 << 24  # of the buffer: fewer rows of many classes


def merged(states: list[Tensor]) -> list[Tensor]:
    """Return the sum of the tallies of several processes, each as bytes."""
    whole = total(Tally.from_bytes(part.cpu().numpy().tobytes()) for part in states)
    return [_bytes(whole).to(states[0].device)]


class Assess(Metric):  # type: ignore[misc, unused-ignore]
    """Everything that can be said about the probabilities of a network, batch by batch, in bounded memory.

    `update(preds, target)` takes (n,) or (n, k) probabilities, or logits where asked; `compute()` returns scores and
    means as tensors, `assessment()` the whole.

    Parameters
    ----------
    num_classes : int, default 2
    logits : bool, default False
        Whether predictions are logits; they become probabilities by a sigmoid or a softmax in float64.
    labels : sequence of length num_classes, optional
        Names of the classes; targets are column numbers all the same.
    options
        Those of `Plan`, such as `level=0.9`.
    """

    full_state_update = False
    is_differentiable = False
    state: list[Tensor]  # one tally as bytes; none before the first rows

    def __init__(
        self,
        num_classes: int = 2,
        *,
        logits: bool = False,
        labels: Sequence[Any] | None = None,
        options: dict[str, Any] | None = None,
        **of_metric: Any,
    ) -> None:
        super().__init__(**of_metric)
        if num_classes < 2:
            raise ValueError(f"num_classes: {num_classes}; give at least 2")
        self.num_classes, self.logits = num_classes, logits
        self.labels = list(range(num_classes)) if labels is None else list(labels)
        if len(self.labels) != num_classes:
            raise ValueError(f"labels: {len(self.labels)} names for {num_classes} classes; give one for each")
        self.options = dict(options or {})
        self.plan = Plan(**self.options)
        self.add_state("state", default=[], dist_reduce_fx=merged)
        self._buffer: list[tuple[Any, Any]] = []
        self._rows = 0

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch; an empty one adds nothing."""
        p, y = self._probabilities(preds), target.detach().cpu().numpy()
        if y.dtype.kind not in "iub" or y.ndim != 1 or len(y) != len(p):
            raise ValueError(
                f"target: {y.dtype} of shape {y.shape} for {len(p)} predictions\n  give the number of the class of each"
            )
        outside = (y < 0) | (y >= self.num_classes)
        if outside.any():
            raise ValueError(
                f"target[{int(outside.argmax())}] = {y[outside][0]}: not one of {self.num_classes} classes"
            )
        if not len(y):
            return
        checked = Forecasts(p, y.astype(np.int64), tuple(self.labels), names=Names(forecast="preds"))
        try:
            check(checked)  # a bad value belongs to its batch, not to the end of the epoch
        except ValueError as problem:
            remedy = "give probabilities; if these are logits:  Assess(…, logits=True)"
            raise ValueError(f"{first_line(problem)}\n  {remedy}") from None
        self._buffer.append((p, checked.observed))
        self._rows += len(y)
        if self._rows >= min(BUFFERED, max(MOST_ENTRIES // self.num_classes, 1)):
            self._count()

    def _probabilities(self, preds: Tensor) -> Any:
        k, p = self.num_classes, preds.detach()
        if not p.is_floating_point() or (p.shape[1:] != (k,) and not (p.ndim == 1 and k == 2)):
            shape = f"(n, {k})" + (" or (n,)" if k == 2 else "")
            raise ValueError(f"preds: {p.dtype} of shape {tuple(p.shape)}\n  give floats of shape {shape}")
        if self.logits:
            p = p.double()
            p = torch.sigmoid(p) if p.ndim == 1 else torch.softmax(p, dim=1)
        elif p.dtype in (torch.float16, torch.bfloat16):
            p = p.float() / (p.float().sum(dim=1, keepdim=True) if p.ndim == 2 else 1.0)
        return p.cpu().numpy()

    def _count(self) -> None:
        """Add the buffered rows to the state."""
        if not self._rows:
            return
        p, y = (np.concatenate(columns) for columns in zip(*self._buffer, strict=True))
        tally = Tally.of(Forecasts(p, y, tuple(self.labels)), plan=self.plan)
        self._buffer, self._rows = [], 0
        self.state = [_bytes(self._tally() + tally).to(self.device)]

    def _tally(self) -> Tally:
        if not self.state:
            return Tally.zero(self.labels, self.plan)
        return Tally.from_bytes(self.state[0].cpu().numpy().tobytes())

    def sync(self, *args: Any, **kwargs: Any) -> None:
        """Count what waits before processes exchange their states, and have one to exchange."""
        self._count()
        if not self.state:
            self.state = [_bytes(self._tally()).to(self.device)]
        super().sync(*args, **kwargs)

    def forward(self, preds: Tensor, target: Tensor) -> dict[str, Tensor]:
        """Count a batch, and return the numbers of this batch alone."""
        self.update(preds, target)
        own = Assess(self.num_classes, logits=self.logits, labels=self.labels, options=self.options)
        own.update(preds, target)
        return dict(own.compute())

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        self._buffer, self._rows = [], 0

    def compute(self) -> dict[str, Tensor]:
        """Return scores and reported means by name."""
        a = self._assessed()
        readings: dict[str, Reading] = a.scores.readings() | a.reported.readings()
        return {name: torch.tensor(float(x), dtype=torch.float64) for name, x in readings.items() if x.known}

    def assessment(self) -> Assessment:
        """Return the assessment of everything that was counted, in all processes."""
        with self.sync_context(dist_sync_fn=self.dist_sync_fn, should_sync=self._to_sync, should_unsync=True):
            return self._assessed()

    def _assessed(self) -> Assessment:
        self._count()
        return assessment(self._tally())


def _bytes(tally: Tally) -> Tensor:
    return torch.frombuffer(bytearray(tally.to_bytes()), dtype=torch.uint8)


class PowerLoss(torch.nn.Module):
    """The proper score of the power family at r > −1 as a loss on logits: 0 is cross-entropy, 1 the Brier score.

    S_r(p, y) = (1 + Σ r p^(1+r) − (1 + r) p_y^r) / r, computed from log-probabilities; gradients are finite where
    logits are.

    Parameters
    ----------
    r : float, default 0
        Above −1. Below 0 surprises are punished more than by cross-entropy, above 0 less.
    reduction : {"mean", "sum", "none"}, default "mean"
    """

    def __init__(self, r: float = 0.0, reduction: str = "mean") -> None:
        super().__init__()
        if not (np.isfinite(r) and r > -1.0):
            raise ValueError(f"r: {r!r} is not above -1")
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(f"reduction: {reduction!r:.80} is not one of 'mean', 'sum', 'none'")
        self.r, self.reduction = float(r), reduction

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        """Return the loss of (n, k) logits, or of (n,) logits of the second of two classes."""
        if logits.ndim == 1:
            logits = torch.stack([-logits / 2.0, logits / 2.0], dim=1)
        log_p = torch.log_softmax(logits, dim=1)
        realised = log_p.gather(1, target.long()[:, None])[:, 0]
        if self.r == 0.0:
            losses = -realised
        else:
            r, every = self.r, torch.exp((1.0 + self.r) * log_p).sum(dim=1)
            most = float(np.log(torch.finfo(logits.dtype).max)) / 2.0  # beyond e^most a power goes on as a line
            power = torch.exp((r * realised).clamp(max=most)) * (1.0 + (r * realised - most).clamp(min=0.0))
            losses = (1.0 + r * every - (1.0 + r) * power) / r
        return losses if self.reduction == "none" else losses.mean() if self.reduction == "mean" else losses.sum()
