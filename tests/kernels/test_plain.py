"""Every number of a pass by the plainest possible code, one row at a time."""

import math
from collections import defaultdict

import numpy as np
import pytest

from veracity import kernels
from veracity.kernels import scan

KERNELS = ["numpy"] + ["native"] * (kernels.native is not None)


def entries(histogram, cell, u, c, w, true):
    record = histogram[cell]
    record["all"] += c
    record["all_sum"] += c * w * u
    record["all_weight"] += c * w
    record["all_weight2"] += c * w * w
    if true:
        record["true"] += c
        record["true_sum"] += c * w * u
        record["true_weight"] += c * w
        record["true_weight2"] += c * w * w
        if u > 0:
            record["true_log"] += c * w * math.log(u)
            record["true_power"] += c * w * u ** (-2 / 3)


def brute(p, y, grid, weights=None, counts=None):
    p = np.asarray(p, dtype=np.float64)
    one_column = p.ndim == 1
    matrix = np.column_stack([1.0 - p, p]) if one_column else p
    n, k = matrix.shape
    edges = grid.edges

    def cell(u):
        return int(np.searchsorted(edges, u, side="right")) - 1

    def histogram():
        return defaultdict(lambda: defaultdict(float))

    out = {
        "rows": 0,
        "weight": 0.0,
        "weight2": 0.0,
        "score_sums": np.zeros((4, 3)),
        "class_sums": np.zeros((k, 6)),
        "column_sums": np.zeros(k),
        "powers": np.zeros(37),
        "tiny": [],
        "realised": [],
    }
    pooled, top, classwise = histogram(), histogram(), [histogram() for _ in range(k)]
    for i in range(n):
        row, label = matrix[i].tolist(), int(y[i])
        c = 1 if counts is None else int(counts[i])
        w = 1.0 if weights is None else float(weights[i])
        u = row[label]
        pick = int(row[1] > 0.5) if one_column else row.index(max(row))
        log = -math.log(u) if u > 0 else 0.0
        brier = sum((q - (j == label)) ** 2 for j, q in enumerate(row))
        if one_column:
            brier = 2.0 * (1.0 - u) ** 2
        spherical = 1.0 - u / math.sqrt(math.fsum(q * q for q in row))
        out["rows"] += c
        out["weight"] += c * w
        out["weight2"] += c * w * w
        for s, x in enumerate((log, brier, spherical, float(pick == label))):
            out["score_sums"][s] += c * w * x, c * w * w * x, c * w * w * x * x
        out["class_sums"][label] += np.outer([1.0, log, brier], [c * w, c * w * w]).ravel()
        out["column_sums"] += c * w * np.array(row)
        if u < 1e-80:
            out["tiny"].append(i)
        else:
            out["powers"] += [c * w * math.exp(r / 9 * math.log(u)) for r in range(-18, 19)]
        out["realised"].append(u)
        entries(top, cell(row[pick]), row[pick], c, w, pick == label)
        for j, q in enumerate(row):
            entries(pooled, cell(q), q, c, w, j == label)
            at = cell(q) if k <= 50 else int(grid.nested[cell(q)])
            entries(classwise[j], at, q, c, w, j == label)
    order = sorted(range(n), key=lambda i: (out["realised"][i], i))[:20]
    return out | {"lowest": order, "pooled": pooled, "top": top, "classwise": classwise}


def check_brute(tools, histogram, expected, weighted, names, nested=False):
    assert histogram.cells.tolist() == sorted(expected)
    for name in names + ["all_weight", "true_weight", "all_weight2", "true_weight2"] * weighted:
        got, want = getattr(histogram, name), np.array([expected[cell][name] for cell in sorted(expected)])
        if nested and name.startswith("all"):  # the lowest cell is what is left of the total
            got, want = np.append(got[1:], got.sum()), np.append(want[1:], want.sum())
        tools.close(got, want)
    assert (histogram.all_weight is None) == (not weighted)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("k", [None, 2, 3, 10, 60, 200])
@pytest.mark.parametrize(("weighted", "counted"), [(False, False), (True, False), (False, True), (True, True)])
def test_every_number_by_plain_code(tools, kernel, k, weighted, counted):
    n = 300 if (k or 2) <= 10 else 60
    p, y = tools.example(k, n, seed=17)
    cells = tools.cells_for(k)
    mass = tools.masses(n, weighted, counted)
    got = scan(p, y, cells, **mass, kernel=kernel)
    want = brute(p, y, cells, **mass)
    assert got.rows == want["rows"]
    for name in ("weight", "weight2", "score_sums", "class_sums", "column_sums", "powers"):
        tools.close(getattr(got, name), want[name])
    assert got.tiny.tolist() == want["tiny"]
    assert got.lowest.tolist() == want["lowest"]
    tools.close(got.lowest_realised, [want["realised"][i] for i in want["lowest"]])
    assert all(problem.rows == 0 for problem in got.problems.values())
    assert (got.low, got.high) == (p.min(), p.max())
    few, full = ["all", "true", "all_sum"], ["true_sum", "true_log", "true_power"]
    check_brute(tools, got.pooled, want["pooled"], weighted, few + full)
    check_brute(tools, got.top, want["top"], weighted, few + full)
    for one, expected in zip(got.classwise, want["classwise"], strict=True):
        check_brute(tools, one, expected, weighted, few + full * ((k or 2) <= 50), nested=(k or 2) > 50)
