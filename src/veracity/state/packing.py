"""Tallies as bytes with a checksum. No code is stored; reading checks everything."""

from __future__ import annotations

from typing import Any
from zlib import crc32

from veracity.inputs import Forecasts, Names
from veracity.inputs.forecasts import COLUMNS
from veracity.kernels import Histogram
from veracity.kernels.grid import Grid
from veracity.records.findings import Finding, kind_of
from veracity.state.analysis_rows import AnalysisRows
from veracity.state.checks import check, check_finding
from veracity.state.clusters import SCORES, ClusterScores, ClusterSums
from veracity.state.lowest_rows import Low
from veracity.state.plain_bytes import Damaged, dumps_checked, loads_checked
from veracity.state.plan import Plan
from veracity.state.sums import Sums
from veracity.state.tally import Tally, grid_of

KIND = b"veracity tally 7\n"


def pack(tally: Tally) -> bytes:
    """Return the bytes of a tally."""
    return dumps_checked(KIND, _state(tally))


def _state(tally: Tally) -> dict[str, Any]:
    return {
        "grid": fingerprint(tally.grid),
        "plan": tally.plan,
        "classes": tally.classes,
        "sums": tally.sums,
        "histograms": [tally.pooled, tally.top, *tally.classwise],
        "lowest": tally.lowest,
        "findings": [packed_finding(finding) for finding in tally.findings],
        "cases": tally.cases,
        "complete": tally.analysis.complete,
        "beyond": tally.analysis.hash_limit,
        "rows": {name: getattr(tally.analysis.rows, name) for name in COLUMNS},
        "names": tally.names,
        "flags": [tally.picks_only, tally.shares_only, tally.analysis.rows.split],
        "by_key": tally.by_key,
        "groups": {c: {v: _state(t) for v, t in levels.items()} for c, levels in tally.groups.items()},
    }


def unpack(data: bytes) -> Tally:
    """Return the tally of these bytes; whatever else is given is a ValueError."""
    if not isinstance(data, bytes) or not data.startswith(KIND):
        raise ValueError("data: these bytes are not a tally of this version; give what Tally.to_bytes() returned")
    try:
        return _tally(loads_checked(KIND, data))
    except Damaged as problem:
        why = str(problem)
    except (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as problem:
        why = f"{type(problem).__name__} {problem}"
    raise ValueError(f"data: the tally is damaged ({why}); make it again")


def _tally(state: dict[str, Any]) -> Tally:
    plan, classes = Plan(**state["plan"]), tuple(state["classes"])
    cells = grid_of(plan, len(classes))
    if state["grid"] != fingerprint(cells):
        raise ValueError("data: the tally was counted on another grid, by another version; make it again")
    pooled, top, *classwise = (Histogram(**h) for h in state["histograms"])
    picks_only, shares_only, split = (bool(flag) for flag in state["flags"])
    rows = {name: state["rows"][name] for name in COLUMNS}
    tally = Tally(
        plan=plan,
        classes=classes,
        sums=Sums(**state["sums"]),
        pooled=pooled,
        top=top,
        classwise=tuple(classwise),
        lowest=tuple(Low(float(p), int(i), int(y), int(n), float(w), case) for p, i, y, n, w, case in state["lowest"]),
        findings=tuple(stored_finding(f) for f in state["findings"]),
        cases=int(state["cases"]),
        analysis=AnalysisRows(
            Forecasts(classes=classes, picks_only=picks_only, shares_only=shares_only, split=split, **rows),
            bool(state["complete"]),
            None if state["beyond"] is None else int(state["beyond"]),
        ),
        names=Names(**state["names"] | {"columns": tuple(state["names"]["columns"])}),
        picks_only=picks_only,
        shares_only=shares_only,
        by_key=None if state["by_key"] is None else _keyed(**state["by_key"]),
        groups={c: {v: _tally(t) for v, t in levels.items()} for c, levels in state["groups"].items()},
    )
    check(tally, cells)
    return tally


def fingerprint(cells: Grid) -> int:
    """Return a number that differs between grids: tallies add only on the same cells."""
    return crc32(cells.nested_edges.tobytes(), crc32(cells.edges.tobytes()))


def packed_finding(finding: Finding) -> dict[str, Any]:
    """Return a finding as plain values: its code and its fields."""
    return {"code": finding.code, **vars(finding)}


def stored_finding(stored: dict[str, Any]) -> Finding:
    """Return the finding of plain values; those that no finding has are a ValueError."""
    kind = kind_of(stored["code"])
    finding = kind(**{name: _tuples(value) for name, value in stored.items() if name != "code"})
    check_finding(finding)
    return finding


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _keyed(sums: dict[str, Any], weight2: float, plain: Any) -> ClusterScores:
    scores = ClusterScores(ClusterSums(**sums), float(weight2), plain)
    lengths = {len(sums[name]) for name in ("keys", "cases", "weight", "values")}
    if len(lengths) > 1 or len(plain) != len(SCORES):
        raise Damaged("sums by key of several lengths")
    return scores
