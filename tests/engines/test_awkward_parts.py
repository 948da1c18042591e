"""Parts that somebody would have to think of: rows that cannot be used in uneven pieces, and parts without outcomes.
What is said of the row, and what is counted, must not depend on how the rows are cut."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest

from veracity.cli import run
from veracity.engines import Engine
from veracity.kernels import native
from veracity.read import ReadOptions, parts, read
from veracity.state.tally import Tally

BAD = [np.nan, np.inf, -np.inf, -5e-324, -0.5, 1.0 + 2.0**-52, 1.5, 1e300]
GOOD = [0.0, -0.0, 5e-324, 2.0**-40, 2.0**-14, 0.5, 1.0 - 2.0**-14, 1.0 - 2.0**-53, 1.0]


@pytest.fixture(params=[(1, 1), (7, 1), (64, 8), (64, 100)], ids=str)
def uneven(request: pytest.FixtureRequest) -> Iterator[None]:
    """Batches, and parts counted by place, of so few rows."""
    rows, paired = request.param
    with ExitStack() as small:
        for name, value in (("MOST_ROWS", rows), ("FEWEST_ROWS", 1)):
            small.enter_context(patch.object(parts, name, value))
        small.enter_context(patch.object(native, "PAIRED", paired))
        yield


def forecasts(k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(k)
    p = np.concatenate([rng.random(200), np.array(GOOD * 4)]) if k == 2 else rng.dirichlet(np.ones(k), 200)
    return p, rng.integers(0, k, len(p))


def stored(folder: Path, p: np.ndarray, y: Any, ending: str) -> list[Path]:
    """Two files of different length, in row groups of 17."""
    columns = {"p": p} if p.ndim == 1 else {f"p_{j}": p[:, j] for j in range(p.shape[1])}
    frame = pl.DataFrame({"y": y, **columns})
    files = []
    for name, part in (("a", frame[:131]), ("b", frame[131:])):
        files.append(folder / f"{name}{ending}")
        if ending == ".csv":
            part.write_csv(files[-1])
        else:
            part.write_parquet(files[-1], row_group_size=17)
    return files


def streamed(files: list[Path], **reading: Any) -> Tally:
    engine = Engine()
    (found,) = engine.count(engine.open(files, ReadOptions(**reading))).tallies().values()
    return found


def refused(count: Any) -> str:
    """File, row, column and value of a refusal; how many such there are depends on the batch."""
    with pytest.raises(ValueError, match="row") as problem:
        count()
    first = str(problem.value).splitlines()[0]
    return re.sub(r" \((all|values) .*|[\d,]+ of [\d,]+| \([\d,]+ of.*", "", first)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
@pytest.mark.parametrize("k", [2, 3])
def test_the_same_row_is_refused(uneven: None, tmp_path: Path, k: int, ending: str) -> None:
    rng = np.random.default_rng(3)
    for bad in BAD:
        p, y = forecasts(k)
        p[(int(rng.choice([0, 63, 64, 130, 131, len(p) - 1])), 0)[: p.ndim]] = bad
        files = stored(tmp_path, p, y, ending)
        assert refused(partial(streamed, files)) == refused(partial(read, files))


@pytest.mark.parametrize("k", [2, 3, 60])
def test_the_same_rows_are_counted(uneven: None, tmp_path: Path, k: int) -> None:
    p, y = forecasts(k)
    found = streamed(stored(tmp_path, p, y, ".parquet"))
    whole = Tally.of(y, p)
    assert (found.sums.rows, found.sums.zeros, found.cases) == (whole.sums.rows, whole.sums.zeros, whole.cases)
    for mine, yours in zip(
        (found.pooled, found.top, *found.classwise), (whole.pooled, whole.top, *whole.classwise), strict=True
    ):
        for name in ("cells", "all", "true"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(yours, name), err_msg=name)
    np.testing.assert_allclose(found.sums.powers, whole.sums.powers, rtol=1e-12)
    np.testing.assert_allclose(found.sums.score, whole.sums.score, rtol=1e-12)


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
@pytest.mark.parametrize("k", [2, 3])
def test_a_part_without_outcomes(tmp_path: Path, k: int, ending: str) -> None:
    """Of recent cases nobody knows the outcome yet: these rows are left out, not everything."""
    p, y = forecasts(k)
    files = stored(tmp_path, p, [int(v) if i < 131 else None for i, v in enumerate(y)], ending)
    found = streamed(files, missing="drop")
    assert found.sums.rows == 131
    missing = len(p) - 131
    assert [(f.code, f.count) for f in found.findings if f.code == "missing_rows"] == [("missing_rows", missing)]
    with pytest.raises(
        ValueError, match=rf"b{ending}: {missing} of {missing} outcomes in `y` are missing \(first: row 1\)"
    ):
        streamed(files)
    for order in (files, files[::-1]) if ending == ".csv" else (files,):
        (held,) = read(order, ReadOptions(missing="drop")).values()
        assert np.array_equal(held.outcomes, y[:131])


@pytest.mark.parametrize("known", [131, 200])
@pytest.mark.parametrize("first", [0, 1])
def test_rows_left_out_are_counted_among_all(uneven: None, tmp_path: Path, known: int, first: int) -> None:
    """A file of which no row is left out counts too, also where nothing is left of the other."""
    p, y = forecasts(2)
    files = stored(tmp_path, p, [int(v) if i < known else None for i, v in enumerate(y)], ".parquet")
    files = files[first:] + files[:first]
    reading = {"label": "y", "positive_proba": ("p",), "missing": "drop"}
    message = f"{len(p) - known} of {len(p)} rows have missing values and are left out"
    assert message in [finding.message for finding in streamed(files, **reading).findings]
    (held,) = read(files, ReadOptions(**reading)).values()
    assert (len(held), [finding.message for finding in held.findings if finding.total]) == (known, [message])


@pytest.mark.parametrize("files", [1, 3])
def test_swapped_columns_are_refused_however_the_rows_are_cut(
    tmp_path: Path, files: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """One part may hold forecasts of 0 and 1 alone by chance; where all do, they look like outcomes."""
    rng = np.random.default_rng(1)
    risk = rng.random(90).round(3)
    died = (rng.random(90) < risk).astype(int)
    paths = [tmp_path / f"{i}.csv" for i in range(files)]
    for path, rows in zip(paths, np.array_split(np.arange(90), files), strict=True):
        pl.DataFrame({"risk": risk[rows], "died": died[rows]}).write_csv(path)

    assert run(["assess", *map(str, paths), "--label", "risk", "--positive-proba", "died"]) == 2
    said = capsys.readouterr().err
    assert "risk holds fractions and died only whole numbers: the two look swapped." in said
    assert "--label died --positive-proba risk" in said
    assert run(["assess", *map(str, paths), "--label", "died", "--positive-proba", "risk"]) == 0
