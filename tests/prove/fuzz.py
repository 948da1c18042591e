"""Inputs nobody would send: each target draws one, and fails unless the answer is a result or a clear refusal.

A target is a function of a `random.Random`; `python -m tests.prove fuzz INPUTS` runs them in turn and counts, the
suite lets hypothesis drive them. Any exception but ValueError (TypeError for arguments of another kind) is a failure.
"""

from __future__ import annotations

import contextlib
import copy
import gzip
import io
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import numpy as np

import veracity as vc
from veracity import calibrators
from veracity.inputs import Forecasts

Target = Callable[[Random], None]

TARGETS: dict[str, Target] = {}
ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 2**31, 2**63, -(2**70), 0.5, -0.5, 1e308, -1e-300, float("inf"), float("nan"),
    "", "inf", "nan", "-inf", "a", "\x00\x1b[2J", "\ud800", [], {}, [[]], [None], [0.5, 0.5], {"value": 1}, [1, 2, 3],
)  # fmt: skip


def target(function: Target) -> Target:
    TARGETS[function.__name__] = function
    return function


# -- pieces ----------------------------------------------------------------------------------------------------------


def mutated_json(rng: Random, document: Any) -> Any:
    """The document with one to three of its places changed, removed, doubled or exchanged."""
    document = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 2, 3))):
        places = list(_places(document))
        holder, key = rng.choice(places)
        how = rng.random()
        if how < 0.6:
            holder[key] = copy.deepcopy(rng.choice(ODD))
        elif how < 0.75 and isinstance(holder, dict):
            del holder[key]
        elif how < 0.85 and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif how < 0.92 and isinstance(holder, dict):
            holder[rng.choice(("x", "value", "__class__", "n"))] = holder[key]
        else:
            other, there = rng.choice(places)
            with contextlib.suppress(LookupError, TypeError):
                holder[key] = copy.deepcopy(other[there])
    return document


def _places(held: Any) -> Iterator[tuple[Any, Any]]:
    items = held.items() if isinstance(held, dict) else enumerate(held)
    for key, value in items:
        yield held, key
        if isinstance(value, (dict, list)) and value:
            yield from _places(value)


def mutated_bytes(rng: Random, data: bytes) -> bytes:
    """The bytes with a few of them changed, cut, doubled or exchanged."""
    held = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        at = rng.randrange(len(held) + 1)
        how = rng.randrange(6)
        if how == 0 and held:
            held[min(at, len(held) - 1)] = rng.randrange(256)
        elif how == 1:
            held[at:at] = rng.choice(
                (b"\x00", b"\xff", b'"', b"\n", b",", b";", b"\xc3", b"nan", b"1e400", b"\x1b[2J", b"-")
            )
        elif how == 2:
            del held[at : at + rng.randrange(1, 40)]
        elif how == 3:
            held[at:at] = held[at : at + rng.randrange(1, 200)]
        elif how == 4 and held:
            held[min(at, len(held) - 1)] ^= 1 << rng.randrange(8)
        else:
            held = held[:at] if rng.random() < 0.1 else held
    return bytes(held)


def refused(work: Callable[[], Any], *kinds: type[BaseException]) -> Any:
    """What `work` returns; None where it refuses with a message."""
    try:
        return work()
    except (ValueError, *kinds) as problem:
        if not str(problem).strip():
            raise AssertionError("a refusal without a word") from problem
        return None


# -- tallies and checkpoints -----------------------------------------------------------------------------------------


@cache
def tallies() -> list[bytes]:
    rng = np.random.default_rng(1)
    y, p = rng.integers(0, 2, 60), rng.random(60)
    q = rng.dirichlet(np.ones(4), 60)
    z = rng.integers(0, 4, 60)
    many = rng.dirichlet(np.full(60, 0.2), 40)
    f = Forecasts.of(z, q, groups={"site": np.array(["n", "s"])[y]}, clusters=z, sample_weight=rng.random(60) + 0.1)
    made = [
        vc.Tally.of(y, p),
        vc.Tally.of(z, q, counts=rng.integers(1, 4, 60)),
        vc.Tally.of(f),
        vc.Tally.of(rng.integers(0, 60, 40), many),
        vc.Tally.of(y, np.where(p < 0.1, 0.0, p), sample_weight=p + 0.5),
    ]
    return [tally.to_bytes() for tally in made]


def crafted_tally(rng: Random) -> bytes:
    """A tally with a valid checksum whose head or numbers were changed."""
    data = rng.choice(tallies())
    start = data.index(b"\n") + 1
    body = data[start + 4 :]
    size = int.from_bytes(body[:8], "little")
    head, rest = json.loads(body[8 : 8 + size]), bytearray(body[8 + size :])
    if rng.random() < 0.6:
        head = mutated_json(rng, head)
    else:
        for _ in range(rng.choice((1, 2, 8))):
            at = rng.randrange(len(rest) // 8) * 8
            value = rng.choice((-1, 0, 1, 2**31, 2**62, -(2**63), rng.randrange(2**40)))
            number = rng.choice((np.nan, np.inf, -1.0, 2.0, 1e300, -0.0))
            rest[at : at + 8] = np.array([value if rng.random() < 0.5 else number]).astype(
                np.int64 if rng.random() < 0.5 and math.isfinite(number) and abs(number) < 2**62 else np.float64
            ).tobytes()  # fmt: skip
    text = json.dumps(head).encode()
    body = len(text).to_bytes(8, "little") + text + bytes(rest)
    return data[:start] + crc32(body).to_bytes(4, "little") + body


@target
def tally(rng: Random) -> None:
    data = crafted_tally(rng) if rng.random() < 0.8 else mutated_bytes(rng, rng.choice(tallies()))
    held = refused(lambda: vc.Tally.from_bytes(data))
    if held is None:
        return
    again = vc.Tally.from_bytes(held.to_bytes())
    assert again == held
    if rng.random() < 0.05:  # the whole answer of a state that was accepted
        with np.errstate(all="ignore"):
            vc.assess(held).document()
        refused(lambda: held + vc.Tally.from_bytes(rng.choice(tallies())))


@cache
def checkpoint_of() -> tuple[Any, bytes, str]:
    from veracity.engines._checkpoint import Checkpoint
    from veracity.engines._sums import Tallies
    from veracity.read import Part, ReadOptions
    from veracity.read.parts import Batch
    from veracity.state.plan import Plan

    folder = tempfile.mkdtemp(prefix="veracity-fuzz-")
    path = Path(folder, "state")
    held = Checkpoint(path, [Part("x")], ReadOptions(), Plan())
    total = Tallies(Plan())
    rng = np.random.default_rng(7)
    total.take(Batch([Forecasts.of(rng.integers(0, 2, 60), rng.random(60))], 60))
    held.write(total, 1, 20, 60)
    return held, path.read_bytes(), folder


@target
def checkpoint(rng: Random) -> None:
    from veracity.engines._sums import Tallies
    from veracity.state.plan import Plan

    held, data, _ = checkpoint_of()
    start = data.index(b"\n") + 1
    body = data[start + 4 :]
    if rng.random() < 0.5:
        size = int.from_bytes(body[:8], "little")
        text = json.dumps(mutated_json(rng, json.loads(body[8 : 8 + size]))).encode()
        body = len(text).to_bytes(8, "little") + text + body[8 + size :]
    else:
        size = 8 + int.from_bytes(body[:8], "little")
        inner = body[size:]
        length = int.from_bytes(inner[:8], "little")
        text = json.dumps(mutated_json(rng, json.loads(inner[8 : 8 + length]))).encode()
        body = body[:size] + len(text).to_bytes(8, "little") + text + inner[8 + length :]
    body = mutated_bytes(rng, body) if rng.random() < 0.1 else body
    held.path.write_bytes(data[:start] + crc32(body).to_bytes(4, "little") + body)
    found = refused(lambda: held.resume(Tallies(Plan())))
    assert found is None or all(number >= 0 for number in found)


# -- maps and documents ----------------------------------------------------------------------------------------------


@cache
def fitted_maps() -> list[dict[str, Any]]:
    rng = np.random.default_rng(2)
    made = []
    for k in (2, 4):
        p = rng.dirichlet(np.ones(k), 200).round(2)
        p[:, -1] = np.abs(1.0 - p[:, :-1].sum(axis=1)).round(6)
        names = np.array([f"c{i}" for i in range(k)])
        f = Forecasts.of(names[rng.integers(0, k, 200)], p / p.sum(axis=1, keepdims=True), labels=names.tolist())
        made += [json.loads(calibrators.fit(name, f).to_json()) for name in calibrators.names()]
    return made


@target
def fitted_map(rng: Random) -> None:
    document = rng.choice(fitted_maps())
    text = json.dumps(mutated_json(rng, document))
    if rng.random() < 0.1:
        text = mutated_bytes(rng, text.encode()).decode(errors="replace")
    held = refused(lambda: calibrators.from_json(text))
    if held is None:
        return
    k = held.k
    rows = np.random.default_rng(rng.randrange(2**32)).dirichlet(np.full(k, rng.choice((0.05, 1.0, 20.0))), 16)
    with np.errstate(all="ignore"):
        mapped = refused(lambda: held(rows))
    if mapped is not None:
        assert mapped.shape == (16, k)
        assert np.allclose(mapped.sum(axis=1), 1.0, atol=1e-6), (document["map"], mapped.sum(axis=1))
        assert document["map"] == "additive" or (mapped >= 0.0).all(), document["map"]
    assert calibrators.from_json(held.to_json()).name == held.name


@cache
def documents() -> list[dict[str, Any]]:
    rng = np.random.default_rng(3)
    y, q = rng.integers(0, 2, 80), rng.dirichlet(np.ones(3), 80)
    made = [
        vc.assess(y, rng.random(80), groups={"site": np.array(["n", "s"])[y]}),
        vc.assess(rng.integers(0, 3, 80), q),
        vc.assess(y, np.where(y == 1, 0.0, 0.3)),
    ]
    return [json.loads(a.to_json()) for a in made]


@target
def document(rng: Random) -> None:
    text = json.dumps(mutated_json(rng, rng.choice(documents())))
    if rng.random() < 0.1:
        text = mutated_bytes(rng, text.encode()).decode(errors="replace")
    held = refused(lambda: vc.Assessment.from_json(text))
    if held is None:
        return
    try:
        again = vc.Assessment.from_json(held.to_json())
        assert again.to_json() == held.to_json()
        if rng.random() < 0.1:
            repr(held)
    except AttributeError as problem:  # a section that the document does not hold
        if "does not hold this" not in str(problem):
            raise


# -- kernel, arrays --------------------------------------------------------------------------------------------------


def any_matrix(rng: Random) -> tuple[Any, Any, Any, Any]:
    """Forecasts of any shape, dtype and memory order, mostly valid; outcomes; weights; counts."""
    draw = np.random.default_rng(rng.randrange(2**32))
    n, k = rng.choice((1, 2, 7, 33, 200)), rng.choice((1, 2, 2, 3, 5, 51, 130))
    p: Any = draw.dirichlet(np.full(k, rng.choice((0.02, 0.5, 5.0))), n)
    if rng.random() < 0.2:
        p[draw.random((n, k)) < 0.1] = rng.choice((0.0, 1.0, 1e-300, -1e-9, np.nan, np.inf, 1.0000001, 5e-324))
    p = p.astype(rng.choice((np.float64, np.float64, np.float32, np.float16)))
    if k == 2 and rng.random() < 0.5:
        p = p[:, 1]
    how = rng.randrange(5)
    if how == 1:
        p = np.asfortranarray(p)
    elif how == 2:
        p = np.repeat(p, 2, axis=0)[::2]
    elif how == 3:
        p = p[::-1]
    elif how == 4:
        held = np.empty(p.nbytes + 1, np.uint8)[1:].view()
        held[:] = np.frombuffer(np.ascontiguousarray(p).tobytes(), np.uint8)
        p = np.frombuffer(held.tobytes(), p.dtype).reshape(p.shape)
    y: Any = draw.integers(0, max(k, 1), n)
    if rng.random() < 0.1:
        y = y + rng.choice((-1, 1, 2**31))
    y = y.astype(rng.choice((np.int64, np.int32, np.int8, np.uint8, np.int16))) if abs(y).max() < 120 else y
    weights = draw.random(n) + 0.01 if rng.random() < 0.3 else None
    counts = draw.integers(1, 5, n) if rng.random() < 0.3 else None
    return p, y, weights, counts


@target
def kernel(rng: Random) -> None:
    from veracity import kernels
    from veracity.kernels.grid import grid

    p, y, weights, counts = any_matrix(rng)
    cells = grid((0.005, 0.1, 0.9), coarse=p.ndim == 2 and p.shape[1] > 128)
    with np.errstate(all="ignore"):
        numpy = refused(lambda: kernels.scan(p, y, cells, weights=weights, counts=counts, kernel="numpy"))
        if kernels.native is None:
            return
        threads = rng.choice((1, 1, 2, 5))
        native = refused(
            lambda: kernels.scan(p, y, cells, weights=weights, counts=counts, kernel="native", threads=threads)
        )
    assert (numpy is None) == (native is None)
    if numpy is None:
        return
    assert (numpy.rows, {k: v.rows for k, v in numpy.problems.items()}) == (
        native.rows, {k: v.rows for k, v in native.problems.items()},
    )  # fmt: skip
    for ours, theirs in zip(
        (numpy.pooled, numpy.top, *numpy.classwise), (native.pooled, native.top, *native.classwise), strict=True
    ):
        for name in ("cells", "all", "true"):
            assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    np.testing.assert_allclose(native.score_sums, numpy.score_sums, rtol=1e-9, atol=1e-12)  # sums in another order
    assert np.array_equal(native.lowest, numpy.lowest)


@target
def assess(rng: Random) -> None:
    p, y, weights, counts = any_matrix(rng)
    if len(p) > 40 and rng.random() < 0.8:
        p, y = p[:40], y[:40]
        weights, counts = (None if v is None else v[:40] for v in (weights, counts))
    labels = None if rng.random() < 0.7 else rng.choice(([0, 1], ["a", "b"], [1, 1], "ab", [None, 2]))
    if rng.random() < 0.1:
        y = rng.choice((y[:-1], y.astype(float) + 0.5, list("ab") * 20, None, y.astype(object), np.zeros((2, 2))))
    with np.errstate(all="ignore"):
        a = refused(lambda: vc.assess(y, p, sample_weight=weights, counts=counts, labels=labels), TypeError)
        if a is None:
            return
        _ = a.reported, a.measured, a.calibration_error
        if rng.random() < 0.03:
            text = a.to_json()
            assert vc.Assessment.from_json(text).to_json() == text


# -- files -----------------------------------------------------------------------------------------------------------


@cache
def files() -> list[tuple[str, bytes]]:
    rng = np.random.default_rng(4)
    y, p = rng.integers(0, 2, 20), rng.random(20)
    q = rng.dirichlet(np.ones(3), 20).round(6)
    q[:, 2] = 1.0 - q[:, 0] - q[:, 1]
    z = rng.integers(0, 3, 20)
    plain = "y,p\n" + "".join(f"{a},{b:.4f}\n" for a, b in zip(y, p, strict=True))
    wide = 'label;"p_a";p_b;p_c\n' + "".join(
        f"{'abc'[c]};{';'.join(f'{v:.6f}'.replace('.', ',') for v in row)}\n" for c, row in zip(z, q, strict=True)
    )
    lines = "".join(
        json.dumps({"y": int(a), "p": round(float(b), 4), "t": "x,\n"}) + "\n" for a, b in zip(y, p, strict=True)
    )
    logs = "".join(json.dumps({"tokens": ["a"], "logprobs": [-0.5, -1.0]}) + "\n" for _ in range(5))
    room = io.BytesIO()
    np.savez(room, y=z, p=q)
    counts = "outcome,n\nyes,3\nno,4\n"
    return [
        ("a.csv", plain.encode()),
        ("a.tsv", plain.replace(",", "\t").encode("utf-16")),
        ("b.csv", wide.encode()),
        ("a.csv.gz", gzip.compress(plain.encode(), mtime=0)),
        ("a.jsonl", lines.encode()),
        ("b.jsonl", logs.encode()),
        ("a.npz", room.getvalue()),
        ("c.csv", counts.encode()),
    ]


@cache
def folder() -> Path:
    return Path(tempfile.mkdtemp(prefix=f"veracity-fuzz-{os.getpid()}-"))


@target
def reader(rng: Random) -> None:
    """Text, JSON lines and arrays; damaged Parquet and Arrow files can end the process (docs/limits.md)."""
    from veracity import read

    name, data = rng.choice(files())
    path = folder() / name
    path.write_bytes(mutated_bytes(rng, data))
    source = refused(lambda: read.open([str(path)], read.ReadOptions()))
    if source is not None:
        refused(source.read)


@target
def compared_files(rng: Random) -> None:
    """The command that compares two files, one of them damaged."""
    from veracity.cli import run

    data = dict(files())["a.csv"]
    paths = [folder() / "one.csv", folder() / "two.csv"]
    paths[0].write_bytes(data)
    paths[1].write_bytes(mutated_bytes(rng, data.replace(b"0.1", b"0.2")))
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(["compare", *map(str, paths), "--quiet"])
    assert code in (0, 2), code
    assert "this should not happen" not in err.getvalue(), err.getvalue()
    assert (code == 0) == bool(out.getvalue())


@target
def words(rng: Random) -> None:
    """Requirements and counts that are typed."""
    from veracity.cli import run
    from veracity.results.check import Requirement

    text = mutated_bytes(rng, rng.choice((b"scores.log_loss<=0.4", b"83,56;2,12", b"m:n>=1e3"))).decode(
        errors="replace"
    )
    refused(lambda: Requirement.parse(text))
    if "\0" not in text and rng.random() < 0.05:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            assert run(["table", f"--counts={text}", "--quiet"]) in (0, 2)
        assert "this should not happen" not in err.getvalue(), err.getvalue()
