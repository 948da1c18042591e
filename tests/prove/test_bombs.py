"""Small files that become large: refused or streamed within 2 GB and 20 s of processor time, through the command."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

MEMORY, SECONDS = 2 << 30, 20
MILLION = 1 << 20


def repeated(row: bytes, path: Path, start: bytes = b"", of: int = 8 << 30) -> None:
    """Write a gzip file that expands to the row again and again."""
    block = gzip.compress(row * (64 * MILLION // len(row)), 6, mtime=0)
    with path.open("wb") as file:
        file.write(gzip.compress(start, mtime=0) if start else b"")
        for _ in range(of // (64 * MILLION)):
            file.write(block)


def repeated_parquet(path: Path) -> None:
    schema = pa.schema([("y", pa.int8()), ("p", pa.float64())])
    rows = {"y": np.tile(np.array([0, 1], np.int8), 2**22), "p": np.tile([0.25, 0.75], 2**22)}
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for _ in range(64):
            writer.write_table(pa.table(rows, schema=schema), row_group_size=2**23)


def columns(number: int) -> Iterator[str]:
    return (f"p_{i}" for i in range(number))


MANY = 100_000
TOO_LARGE = r"expands to more than 200 times its size\n"
TOO_WIDE = r"100,001 columns; at most 65,536 are read\n"
TOO_DEEP = r"is nested too deeply\n"
# name: how it is made, what is said ("" where it is assessed)
BOMBS: dict[str, tuple[Callable[[Path], object], str]] = {
    "rows.csv.gz": (lambda p: repeated(b"1,0.7\n0,0.2\n", p, b"y,p\n"), TOO_LARGE),
    "one_value.csv.gz": (lambda p: repeated(b"0", p, b"y,p\n1,0."), TOO_LARGE),
    "rows.jsonl.gz": (lambda p: repeated(b'{"y": 1, "p": 0.7}\n', p), TOO_LARGE),
    "one_line.jsonl.gz": (lambda p: repeated(b"0", p, b'{"y": 1, "p": 0.'), TOO_LARGE),
    "rows.parquet": (repeated_parquet, ""),
    "zeros.npz": (lambda p: np.savez_compressed(p, y=np.zeros(9, np.int8), p=np.zeros((MILLION, 200))), TOO_LARGE),
    "wide.csv": (
        lambda p: p.write_text(",".join(["y", *columns(MANY)]) + "\n" + "1" + ",1e-5" * MANY + "\n"),
        TOO_WIDE,
    ),
    "wide.jsonl": (lambda p: p.write_text(json.dumps({"y": 1} | dict.fromkeys(columns(MANY), 1e-5))), TOO_WIDE),
    "wide.parquet": (lambda p: pq.write_table(pa.table({"y": [1]} | {c: [0.1] for c in columns(MANY)}), p), TOO_WIDE),
    "deep.json": (lambda p: p.write_text("[" * 10_000 + "]" * 10_000), TOO_DEEP),
    "deep.jsonl": (lambda p: p.write_text('{"y": 1, "x": ' + "[" * 10_000 + "]" * 10_000 + "}\n"), TOO_DEEP),
    "deep_objects.jsonl": (lambda p: p.write_text('{"a":' * 10_000 + "1" + "}" * 10_000 + "\n"), TOO_DEEP),
}  # fmt: skip


# A process started from here would be charged with the memory of this one, so a small one starts it and reads its bill.
STARTER = """
import os, resource, subprocess, sys
code = subprocess.run([sys.executable, "-m", "veracity", *sys.argv[2:]]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
open(sys.argv[1], "w").write(f"{code} {used.ru_utime + used.ru_stime} {used.ru_maxrss << 10}")
"""


def spent(words: list[str], folder: Path) -> tuple[int, str, float, int]:
    """Run the command: its exit code, its message, seconds of processor time, and the largest process in bytes."""
    bill = folder / "bill"
    said = subprocess.run(
        [sys.executable, "-c", STARTER, bill, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    code, seconds, memory = bill.read_text().split()
    return int(code), said.stdout.decode(), float(seconds), int(memory)


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_small_files_that_become_large_take_neither_memory_nor_time(name: str, tmp_path: Path) -> None:
    make, wanted = BOMBS[name]
    make(tmp_path / name)
    assert (tmp_path / name).stat().st_size < 40 * MILLION
    code, said, seconds, memory = spent(["assess", str(tmp_path / name), "--quiet"], tmp_path)
    assert code == (2 if wanted else 0), said
    assert re.search(wanted, said), said
    assert memory < MEMORY, f"{memory >> 20} MB"
    assert seconds < SECONDS
