"""Files made to fill the memory or to take for ever are refused at once."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from veracity.read import read

MUCH = 80 << 20  # bytes; a real bomb is longer, and no more of it is looked at
EXPANDS = "expands to more than 200 times its size\n  no table of forecasts does; if it is one, unpack it first"
COLUMNS = "70,000 columns; at most 65,536 are read\n  keep the columns that are needed"
NESTED = "is nested too deeply\n  a row holds numbers, words and short lists"
NAMES = [f"c{i}" for i in range(70_000)]


def gzipped(start: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(gzip.compress(start + b"0" * MUCH, 1))


# a frame whose header declares 2^40 bytes
ZSTANDARD = b"\x28\xb5\x2f\xfd\xe0" + (1 << 40).to_bytes(8, "little") + b"\0" * 100


HOSTILE: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "one endless line": ("x.csv.gz", gzipped(b"y,p\n"), f": {EXPANDS}"),
    "one endless value of JSON": ("x.jsonl.gz", gzipped(b'{"y": "'), f": {EXPANDS}"),
    "a declared size": ("x.csv.zst", lambda path: path.write_bytes(ZSTANDARD), f": {EXPANDS}"),
    "arrays of zeros": (
        "x.npz",
        lambda path: np.savez_compressed(path, y=np.zeros(MUCH // 8), p=np.zeros(MUCH // 8)),
        f": {EXPANDS}",
    ),
    "columns of text": (
        "x.csv",
        lambda path: path.write_text(",".join(NAMES) + ("\n" + ",".join("0" * len(NAMES))) * 3),
        f": {COLUMNS}",
    ),
    "columns of JSON": (
        "x.jsonl",
        lambda path: path.write_text((json.dumps(dict.fromkeys(NAMES, 0.5)) + "\n") * 3),
        f": {COLUMNS}",
    ),
    "columns of Parquet": (
        "x.parquet",
        lambda path: pl.DataFrame([[0.5]] * len(NAMES), schema=NAMES).write_parquet(path),
        f": {COLUMNS}",
    ),
    "nested lists in a line": (
        "x.jsonl",
        lambda path: path.write_text('{"a": ' + "[" * 10_000 + "]" * 10_000 + "}\n"),
        f": row 1 {NESTED}",
    ),
    "nested lists in a document": ("x.json", lambda path: path.write_text("[" * 10_000 + "]" * 10_000), f" {NESTED}"),
    "nested objects": (
        "x.json",
        lambda path: path.write_text('{"a":' * 10_000 + "1" + "}" * 10_000),
        f": row 1 {NESTED}",
    ),
    "a quote that is never closed": (
        "x.csv",
        lambda path: path.write_text('y,p\n"' + "0,0.5\n" * 300_000),
        ": the rows cannot be told apart\n  is a quote left open? Values with quotes need them doubled",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_refused_before_memory_is_taken(kind: str, tmp_path: Path) -> None:
    name, make, message = HOSTILE[kind]
    make(tmp_path / name)
    with pytest.raises(ValueError) as error:
        read(tmp_path / name)
    assert str(error.value) == name + message
