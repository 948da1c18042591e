"""Crafted states, maps and checkpoints, one wrong thing each: refused by name, not computed with."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

import veracity as vc
from veracity import calibrators, engines
from veracity.inputs import Forecasts
from veracity.read import read
from veracity.records.findings import Finding
from veracity.records.findings_of_input import MissingRows, OneOutcome
from veracity.state.packing import pack


def tally() -> vc.Tally:
    rng = np.random.default_rng(5)
    return vc.Tally.of(rng.integers(0, 3, 50), rng.dirichlet(np.ones(3), 50), sample_weight=rng.random(50) + 0.5)


def changed(values: Any, at: Any, to: Any) -> Any:
    made = np.array(values)
    made[at] = to
    return made


def with_rows(t: vc.Tally, **columns: Any) -> vc.Tally:
    return replace(t, analysis=replace(t.analysis, rows=replace(t.analysis.rows, **columns)))


DAMAGE = {
    "a count below 0": lambda t: replace(t, pooled=replace(t.pooled, all=changed(t.pooled.all, 0, -1))),
    "more true entries than entries": lambda t: replace(t, top=replace(t.top, true=t.top.all + 1)),
    "cells out of order": lambda t: replace(t, top=replace(t.top, cells=t.top.cells[::-1].copy())),
    "a cell beyond the grid": lambda t: replace(t, top=replace(t.top, cells=changed(t.top.cells, -1, 2**30))),
    "cells of another kind": lambda t: replace(t, top=replace(t.top, cells=t.top.cells.astype(np.int64))),
    "counts of another kind": lambda t: replace(t, top=replace(t.top, all=t.top.all.astype(float))),
    "a histogram shorter than its cells": lambda t: replace(t, top=replace(t.top, all_sum=t.top.all_sum[:-1])),
    "an undefined sum of a cell": lambda t: replace(t, top=replace(t.top, all_sum=changed(t.top.all_sum, 0, np.nan))),
    "probabilities above 1 in a cell": lambda t: replace(t, top=replace(t.top, all_sum=t.top.all_sum + 9)),
    "one weight without the other": lambda t: replace(t, top=replace(t.top, true_weight=None)),
    "more picks than rows": lambda t: replace(t, top=replace(t.top, all=t.top.all * 2)),
    "a histogram too few": lambda t: replace(t, classwise=tuple(t.classwise)[:-1]),
    "an undefined score": lambda t: replace(t, sums=replace(t.sums, score=changed(t.sums.score, (0, 0), np.nan))),
    "an infinite weight": lambda t: replace(t, sums=replace(t.sums, weight=float("inf"))),
    "a weight below 0": lambda t: replace(t, sums=replace(t.sums, weight=-1.0)),
    "sums of another shape": lambda t: replace(t, sums=replace(t.sums, column=t.sums.column[:-1])),
    "classes that weigh more than all": lambda t: replace(t, sums=replace(t.sums, by_class=t.sums.by_class * 3)),
    "more zeros than rows": lambda t: replace(t, sums=replace(t.sums, zeros=51)),
    "other rows than outcomes": lambda t: replace(t, sums=replace(t.sums, rows=49)),
    "more cases than rows": lambda t: replace(t, cases=51),
    "an outcome that is no class": lambda t: with_rows(t, outcomes=changed(t.analysis.rows.outcomes, 0, 3)),
    "an outcome below 0": lambda t: with_rows(t, outcomes=changed(t.analysis.rows.outcomes, 0, -1)),
    "a row that counts 0 times": lambda t: with_rows(t, counts=changed(t.analysis.rows.counts, 0, 0)),
    "rows that count too often": lambda t: with_rows(t, counts=t.analysis.rows.counts + 1),
    "a probability above 1": lambda t: with_rows(t, probabilities=t.analysis.rows.probabilities * 2 - 1 / 3),
    "a row that sums to less": lambda t: with_rows(t, probabilities=changed(t.analysis.rows.probabilities, 0, 0.1)),
    "rows that sum to 0.998": lambda t: with_rows(t, probabilities=t.analysis.rows.probabilities * 0.998),
    "an undefined probability": lambda t: with_rows(t, probabilities=changed(t.analysis.rows.probabilities, 0, np.nan)),
    "a column too few": lambda t: with_rows(t, probabilities=t.analysis.rows.probabilities[:, :2].copy()),
    "rows of several lengths": lambda t: with_rows(t, weights=t.analysis.rows.weights[:-1]),
    "a negative weight of a row": lambda t: with_rows(t, weights=-t.analysis.rows.weights),
    "a lowest row that is not counted": lambda t: replace(t, lowest=(t.lowest[0]._replace(p=1e-9),)),
    "a lowest row above 1": lambda t: replace(t, lowest=(t.lowest[0]._replace(p=1.5),)),
    "two classes of one name": lambda t: replace(t, classes=(0, 1, 1)),
    "a finding of no kind": lambda t: replace(t, findings=(Finding(),)),
    "a finding of something else": lambda t: replace(t, findings=(OneOutcome(outcome=3),)),  # type: ignore[arg-type]
    "a finding of half a row": lambda t: replace(t, findings=(MissingRows(0.5),)),  # type: ignore[arg-type]
}  # fmt: skip


def test_the_damaged_files_were_readable_before() -> None:
    assert vc.Tally.from_bytes(pack(tally())) == tally()


@pytest.mark.parametrize("what", DAMAGE)
def test_a_state_that_no_pass_can_have_written_is_refused(what: str) -> None:
    data = pack(DAMAGE[what](tally()))
    with pytest.raises(ValueError, match=r"^data: the tally is damaged \(.+\); make it again$"):
        vc.Tally.from_bytes(data)


@pytest.mark.parametrize(
    ("what", "to"),
    [
        ("dtype", "|O"),
        ("dtype", "<c16"),
        ("dtype", "<f8,<f8"),
        ("shape", [-1]),
        ("shape", [2**62, 4]),
        ("shape", [10**9]),
    ],
)
def test_arrays_of_other_kinds_and_sizes_are_refused(what: str, to: Any) -> None:
    data = pack(tally())
    start = data.index(b"\n") + 5
    size = int.from_bytes(data[start : start + 8], "little")
    head = json.loads(data[start + 8 : start + 8 + size])
    head["histograms"][1]["all"][("array", "dtype", "shape").index(what)] = to  # "list" is the first of a list
    text = json.dumps(head).encode()
    body = len(text).to_bytes(8, "little") + text + data[start + 8 + size :]
    with pytest.raises(ValueError, match="damaged"):
        vc.Tally.from_bytes(data[: start - 4] + crc32(body).to_bytes(4, "little") + body)


def fitted(name: str, k: int) -> dict[str, Any]:
    rng = np.random.default_rng(6)
    y, p = rng.integers(0, k, 300), rng.dirichlet(np.ones(k), 300)
    held: dict[str, Any] = json.loads(calibrators.fit(name, Forecasts.of(y, p)).to_json())
    return held


@pytest.mark.parametrize(
    ("name", "k", "parameter", "to"),
    [
        ("prior", 3, "frequencies", [0.5, 0.5, 0.5]),
        ("prior", 3, "frequencies", [1.5, -0.5, 0.0]),
        ("temperature", 3, "temperature", 0.0),
        ("temperature", 3, "temperature", -1.0),
        ("temperature", 3, "temperature", "nan"),
        ("temperature", 3, "temperature", None),
        ("confusion", 3, "matrix", [[1, 0, 0], [0, 1, 0], [0, 0.5, 0]]),
        ("confusion", 3, "matrix", [[1, 0, 0]]),
        ("vector", 3, "slopes", [1.0, "nan", 1.0]),
        ("vector", 3, "slopes", [1.0]),
        ("matrix", 3, "intercepts", [0.0, "inf", 0.0]),
        ("isotonic", 2, "values", [[0.0, 2.0]]),
        ("isotonic", 2, "knots", [[0.5, 0.1]]),
        ("isotonic", 3, "values", []),
        ("bins", 2, "edges", [[0.9, 0.1]]),
        ("bins", 3, "numbers", [[99], [0], [0]]),
        ("bins", 2, "means", [[0.5, 0.6]]),
        ("grouped", 2, "means", [[1.0, 1.0]]),
        ("grouped", 2, "seen", [["nan", 0.5]] + [[0.5, 0.5]] * 299),
        ("grouped", 2, "decimals", "a"),
        ("grouped", 2, "decimals", 2.5),
        ("grouped", 2, "decimals", 2**70),
        ("multiplicative", 3, "shift", ["-inf", "-inf", "-inf"]),
        ("multiplicative", 3, "shift", [0.0, 0.0]),
        ("additive", 3, "shift", [0.5, 0.5, 0.5]),
        ("coherent", 3, "r", -2.0),
        ("platt", 2, "coefficients", [[1.0]]),
        ("beta", 2, "coefficients", [[1.0, 1.0, "nan"]]),
    ],
)
def test_a_map_whose_rows_are_no_distributions_is_refused(name: str, k: int, parameter: str, to: Any) -> None:
    held = fitted(name, k)
    assert calibrators.from_json(json.dumps(held)).name == name
    held["parameters"][parameter] = to
    with pytest.raises(ValueError, match=rf"^map {name}: .+fit it again$"):
        calibrators.from_json(json.dumps(held))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "3", "null", "[" * 100_000, '{"schema": "veracity/map/1"}',
     '{"schema": 1, "map": [], "classes": 3, "parameters": 0}',
     '{"schema": "veracity/map/1", "map": "prior", "classes": ["a", "a"], "parameters": {"frequencies": [0.5, 0.5]}}',
     '{"schema": "veracity/map/1", "map": "prior", "classes": ["a", "b"], "parameters": [1]}'],
)  # fmt: skip
def test_invalid_maps_and_documents_raise_value_errors(text: str) -> None:
    with pytest.raises(ValueError, match="map"):
        calibrators.from_json(text)
    with pytest.raises(ValueError, match=r"text|schema|assessment"):
        vc.Assessment.from_json(text)


@pytest.mark.parametrize("classes", [["nan", float("nan")], [1, 1.0], [None, 1], "ab", ["a"]])
def test_a_map_of_classes_that_are_no_different_names_is_refused(classes: Any) -> None:
    with pytest.raises(ValueError, match=r"^map prior: classes are not a list of different names$"):
        calibrators.from_json(json.dumps(fitted("prior", 2) | {"classes": classes}))


@pytest.mark.parametrize("rows", [[float("nan")], ["3"], [None], 3, [1.5]])
def test_a_finding_of_rows_that_are_no_numbers_is_refused_with_the_place(rows: Any) -> None:
    held = json.loads(vc.assess([0, 1] * 20, [0.0, 0.7] * 19 + [0.7, 0.0]).to_json())
    assert held["findings"]
    held["findings"][0]["rows"] = rows
    with pytest.raises(ValueError, match=r"^findings\[0\]\.rows"):
        vc.Assessment.from_json(json.dumps(held))


def test_a_crafted_checkpoint_is_refused_with_the_remedy(tmp_path: Path) -> None:
    data, kept = tmp_path / "a.csv", tmp_path / "state"
    data.write_text("y,p\n" + "1,0.7\n0,0.2\n" * 50)
    made: list[bytes] = []

    def keep(_: Any) -> None:
        if kept.exists():
            made.append(kept.read_bytes())

    engines.assess(data, options={"checkpoint_seconds": 0}, checkpoint=kept, progress=keep)
    assert made
    start = made[-1].index(b"\n") + 5
    size = int.from_bytes(made[-1][start : start + 8], "little")
    head = json.loads(made[-1][start + 8 : start + 8 + size])
    for change in ({"rows": -5}, {"part": "x"}, {"skip": None}, {"of": 3}, {"of": {}}):
        text = json.dumps(head | change).encode()
        body = len(text).to_bytes(8, "little") + text + made[-1][start + 8 + size :]
        kept.write_bytes(made[-1][: start - 4] + crc32(body).to_bytes(4, "little") + body)
        with pytest.raises(ValueError, match=r"state is damaged \(.*\)\n  delete it to begin again"):
            engines.assess(data, checkpoint=kept)


def test_a_checkpoint_that_is_no_file_is_not_read(tmp_path: Path) -> None:
    data, queue = tmp_path / "a.csv", tmp_path / "queue"
    data.write_text("y,p\n" + "1,0.7\n0,0.2\n" * 50)
    os.mkfifo(queue)
    writer = os.open(queue, os.O_RDWR)
    os.write(writer, b"x")
    with pytest.raises(ValueError, match="queue is a file of another kind"):
        engines.assess(data, checkpoint=queue)
    assert os.read(writer, 9) == b"x"
    os.close(writer)


def test_json_holds_no_control_characters_and_reads_back() -> None:
    names = ["a\x9b2J", "b\u202ec", "d\u2028e", "f\x7f"]
    made = vc.assess(np.tile(names, 9), np.full((36, 4), 0.25), labels=names)
    text = made.to_json()
    assert text.replace("\n", "").isprintable()
    assert vc.Assessment.from_json(text) == made


def test_an_encrypted_archive_of_arrays_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "held.npz"
    np.savez(path, y=np.array([0, 1]), p=np.array([0.2, 0.7]))
    data = bytearray(path.read_bytes())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark)
        while at >= 0:
            data[at + flags] |= 1  # says that the member is encrypted
            at = data.find(mark, at + 4)
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"held\.npz: no plain arrays in it"):
        read(path)
