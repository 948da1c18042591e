"""`veracity.torch`: batch by batch and in several processes the same numbers as at once, in bounded memory."""

from __future__ import annotations

import pickle
import resource
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veracity as vc

torch = pytest.importorskip("torch", reason="torch is in an environment of its own: requirements/torch.txt")
pytest.importorskip("torchmetrics", reason="torchmetrics is in an environment of its own: requirements/torch.txt")

from veracity.torch import Assess, PowerLoss  # noqa: E402


def data(n: int, k: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), n)
    return (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, k - 1), p


def counted(y: Any, p: Any, sizes: list[int], **how: Any) -> Assess:
    metric = Assess(p.shape[1] if p.ndim == 2 else 2, **how)
    start = 0
    for size in sizes:
        metric.update(torch.tensor(p[start : start + size]), torch.tensor(y[start : start + size]))
        start += size
    assert start == len(y)
    return metric


def test_batches_give_the_assessment_of_the_whole() -> None:
    y, p = data(1000, 3)
    metric = counted(y, p, [400, 0, 599, 1])
    assert metric.assessment() == vc.assess(y, p)
    a, found = vc.assess(y, p), metric.compute()
    assert found["log_loss"].item() == a.scores.log_loss
    assert found["robustness"].item() == a.reported.robustness
    assert [part.dtype for part in metric.state] == [torch.uint8]
    again = pickle.loads(pickle.dumps(metric))
    assert again.compute()["brier"].item() == a.scores.brier
    metric.reset()
    assert metric.assessment().n == 0
    first = metric(torch.tensor(p[:400]), torch.tensor(y[:400]))
    assert first["log_loss"].item() == vc.assess(y[:400], p[:400]).scores.log_loss
    metric(torch.tensor(p[400:]), torch.tensor(y[400:]))
    assert metric.compute()["log_loss"].item() == pytest.approx(float(a.scores.log_loss), rel=1e-14)


def test_logits_and_half_precision() -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(0, 3, (500, 3))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    y = rng.integers(0, 3, 500)
    metric = counted(y, z, [500], logits=True)
    assert metric.compute()["log_loss"].item() == pytest.approx(float(vc.assess(y, p).scores.log_loss), rel=1e-12)
    half = Assess(3)
    half.update(torch.tensor(p).half(), torch.tensor(y))
    assert half.compute()["log_loss"].item() == pytest.approx(float(vc.assess(y, p).scores.log_loss), rel=1e-2)


def _process(rank: int, port: int, y: Any, p: Any, sizes: list[list[int]], out: str) -> None:
    torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    start = sum(sizes[0]) if rank else 0
    stop = start + sum(sizes[rank])
    metric = counted(y[start:stop], p[start:stop], sizes[rank])
    found = {name: value.item() for name, value in metric.compute().items()}
    whole = metric.assessment()
    if rank == 0:
        Path(out).write_bytes(pickle.dumps((found, whole.n, whole.tally.pooled.all.tolist())))
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("sizes", [[[200, 0, 150], [1, 249]], [[600], []]])
def test_two_processes_with_unequal_and_empty_batches_give_what_one_gives(sizes: Any, tmp_path: Path) -> None:
    y, p = data(600, 3)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    out = str(tmp_path / "found.pickle")
    torch.multiprocessing.spawn(_process, (port, y, p, sizes, out), nprocs=2)
    found, n, cells = pickle.loads(Path(out).read_bytes())
    one = counted(y, p, [600])
    assert n == 600
    assert cells == one.assessment().tally.pooled.all.tolist()
    for name, value in one.compute().items():
        assert found[name] == pytest.approx(value.item(), rel=1e-12, abs=1e-12), name


def test_memory_is_bounded_with_a_thousand_classes() -> None:
    rng = np.random.default_rng(0)
    metric, batch = Assess(1000), rng.dirichlet(np.ones(1000), 4096).astype(np.float32)
    y = rng.integers(0, 1000, 4096)
    peaks = []
    for _ in range(12):
        metric.update(torch.tensor(batch), torch.tensor(y))
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert metric._rows * 1000 <= 1 << 24
    assert peaks[-1] - peaks[-5] < 200_000  # kilobytes: 12 × 4096 rows alone would be as many more each time


@pytest.mark.parametrize("r", [0.0, 1.0, 0.5, -0.5, -0.9])
def test_the_power_loss_is_the_score_with_finite_gradients(r: float) -> None:
    rng = np.random.default_rng(2)
    logits = torch.tensor(rng.normal(0, 3, (50, 4)), requires_grad=True)
    target = torch.tensor(rng.integers(0, 4, 50))
    p = torch.softmax(logits, 1).detach().numpy()
    p /= p.sum(axis=1, keepdims=True)
    expected = vc.rule(r).score(p, target.numpy())
    np.testing.assert_allclose(PowerLoss(r, "none")(logits, target).detach().numpy(), expected, rtol=1e-10)
    assert PowerLoss(r)(logits, target).item() == pytest.approx(expected.mean(), rel=1e-10)
    if r > -0.9:
        assert torch.autograd.gradcheck(PowerLoss(r), (logits, target))
    for dtype in (torch.float32, torch.float64):
        hard = (100 * logits.detach()).to(dtype).requires_grad_()
        PowerLoss(r)(hard, target).backward()
        assert torch.isfinite(hard.grad).all()
    two = torch.tensor([3.0, -2.0])
    rows = torch.stack([torch.zeros(2), two], dim=1)
    assert PowerLoss(r)(two, torch.tensor([1, 1])).item() == pytest.approx(
        PowerLoss(r)(rows, torch.tensor([1, 1])).item(), rel=1e-5
    )


LOGITS = torch.tensor([[0.2, 0.8], [3.0, -2.0]])
GOOD = torch.tensor([[0.2, 0.8], [0.5, 0.5]])
BAD = {
    "if these are logits:  Assess(…, logits=True)": lambda: Assess().update(
        torch.tensor([[0.2, 0.8], [3.0, -2.0]]), torch.tensor([0, 1])
    ),
    "missing values": lambda: Assess().update(torch.tensor([0.2, torch.nan]), torch.tensor([0, 1])),
    "target[1] = 2: not one of 2 classes": lambda: Assess().update(GOOD, torch.tensor([0, 2])),
    "target: float32": lambda: Assess().update(GOOD, torch.tensor([0.0, 1.0])),
    "give floats of shape (n, 3)": lambda: Assess(3).update(GOOD, torch.tensor([0, 1])),
    "num_classes: 1": lambda: Assess(1),
    "labels: 3 names for 2 classes": lambda: Assess(labels=["a", "b", "c"]),
    "r: -1.0 is not above -1": lambda: PowerLoss(-1.0),
    "reduction: 'max'": lambda: PowerLoss(0.0, "max"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_batches_are_refused_when_they_come(what: str) -> None:
    with pytest.raises(ValueError) as error:
        BAD[what]()
    assert what in str(error.value)
