"""Faults while files are written: killed at each system call, errors of the disk, no room, two writers.

A file is the old one or the new one, never half of one. `VERACITY_KILLS` is how often the checkpointed run is killed.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import veracity as vc
from veracity import engines
from veracity.files import whole_files

OLD, NEW = b"old " * 5000, b"new " * 70_000
MARK = "/here-it-begins"
WRITE = f"""
import importlib.util, os, shutil, sys, time, re, contextlib, stat
spec = importlib.util.spec_from_file_location("whole_files", sys.argv[1])
whole_files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(whole_files)
data = b"new " * 70_000
os.path.exists("{MARK}")
try:
    whole_files.write_whole(sys.argv[2], data, safely=True)
except OSError as problem:
    os.write(2, str(problem).encode())
    os._exit(3)
os._exit(0)
"""
CALL = re.compile(r"^(?:\[pid\s+\d+\] |\d+ +)?(\w+)\(")


def traced(target: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = ["strace", "-f", "-qq", *options, sys.executable, "-I", "-S", "-B", "-c", WRITE]
    return subprocess.run(
        [*command, str(whole_files.__file__), str(target)], capture_output=True, text=True, timeout=120, check=False
    )


def calls_of_a_write(folder: Path) -> list[tuple[str, int]]:
    """Every system call of writing a file: its name, and the how-manieth of that name in the process it is."""
    if shutil.which("strace") is None:
        pytest.skip("strace absent")
    target = folder / "dry"
    target.write_bytes(OLD)
    log = folder / "log"
    if traced(target, "-o", str(log)).returncode:
        pytest.skip("strace may not trace here")
    seen: Counter[str] = Counter()
    begun, found = False, []
    for line in log.read_text(errors="replace").splitlines():
        if (call := CALL.match(line)) is None:
            continue
        seen[call[1]] += 1
        begun = begun or MARK in line
        if begun and call[1] not in ("exit_group", "munmap", "brk", "mmap"):
            found.append((call[1], seen[call[1]]))
    target.unlink()
    log.unlink()
    assert len(found) > 8
    assert {"rename", "write", "fsync"} <= {name for name, _ in found} or {"renameat2"} & {name for name, _ in found}
    return found


@pytest.mark.slow
def test_killed_at_each_system_call_a_file_is_old_or_new(tmp_path: Path) -> None:
    states: Counter[bytes] = Counter()
    for name, number in calls_of_a_write(tmp_path):
        target = tmp_path / "out"
        target.write_bytes(OLD)
        done = traced(target, "-o", "/dev/null", "-e", f"inject={name}:signal=KILL:when={number}")
        assert done.returncode != 0, (name, number)
        held = target.read_bytes()
        assert held in (OLD, NEW), (name, number, len(held))
        states[held[:3]] += 1
        whole_files.write_whole(target, NEW)  # the next writer removes what was left
        assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert min(states[b"old"], states[b"new"]) > 0  # killed before and after it took its place


@pytest.mark.slow
@pytest.mark.parametrize("error", ["ENOSPC", "EROFS", "EIO", "EACCES"])
def test_a_disk_error_leaves_the_old_file_and_no_temporary_one(error: str, tmp_path: Path) -> None:
    tried = 0
    for name, number in calls_of_a_write(tmp_path):
        if name not in ("openat", "write", "fsync", "rename", "renameat2", "chmod", "fchmodat"):
            continue
        target = tmp_path / "out"
        target.write_bytes(OLD)
        done = traced(target, "-o", "/dev/null", "-e", f"inject={name}:error={error}:when={number}")
        assert target.read_bytes() == (OLD if done.returncode else NEW), (name, number)
        assert [p.name for p in tmp_path.iterdir()] == ["out"], (name, number)
        tried += done.returncode == 3
    assert tried >= 4


def in_a_small_disk(tmp_path: Path, size: str, *words: str, after: str = "true") -> tuple[int, str, list[str]]:
    """Run the command with `disk` as a file system of its own; its exit code, its message, what is on the disk."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = " ".join([sys.executable, "-m", "veracity", *words])
    script = (
        f"mount -t tmpfs -o size={size} none {disk} && {after} || exit 99; {command}; code=$?; ls -A {disk}; exit $code"
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip("file systems cannot be mounted here")
    return done.returncode, done.stderr, done.stdout.split()


def forecasts(path: Path, n: int = 300) -> Path:
    rng = np.random.default_rng(3)
    path.write_text("y,p\n" + "".join(f"{int(p > 0.4)},{p:.4f}\n" for p in rng.random(n)))
    return path


@pytest.mark.slow
def test_a_full_disk_gets_nothing(tmp_path: Path) -> None:
    path = forecasts(tmp_path / "a.csv")
    words = [
        "assess",
        str(path),
        "--quiet",
        "--json",
        f"{tmp_path}/disk/out.json",
        "--report",
        f"{tmp_path}/disk/out.html",
    ]
    code, said, held = in_a_small_disk(tmp_path, "400k", *words)  # room for the document, not for the page
    assert code == 2
    assert "No space left on device; nothing was written" in said
    assert held == []


@pytest.mark.slow
def test_a_disk_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    path = forecasts(tmp_path / "a.csv")
    words = ["assess", str(path), "--quiet", "--json", f"{tmp_path}/disk/out.json"]
    code, said, held = in_a_small_disk(tmp_path, "1m", *words, after=f"mount -o remount,ro {tmp_path}/disk")
    assert code == 2
    assert "cannot write into" in said
    assert held == []


SHARED = """
import sys, time
from veracity.files.whole_files import write_whole
end = time.time() + 2
while time.time() < end:
    write_whole(sys.argv[1], sys.argv[2].encode() * 100_000)
"""


def test_two_writers_never_mix(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_bytes(b"a" * 100_000)
    writers = [subprocess.Popen([sys.executable, "-c", SHARED, str(target), letter]) for letter in "ab"]
    seen: Counter[bytes] = Counter()
    while any(writer.poll() is None for writer in writers):
        held = target.read_bytes()
        assert held in (b"a" * 100_000, b"b" * 100_000)
        seen[held[:1]] += 1
    assert [writer.returncode for writer in writers] == [0, 0]
    assert len(seen) == 2
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


KILLED = """
import os, signal, sys, threading, time
from veracity import engines
import veracity.read.parts as parts
parts.MOST_ROWS = parts.FEWEST_ROWS = 64
delay = float(sys.argv[3])
if delay:
    threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()
(a,) = engines.assess(
    sys.argv[1], options={"checkpoint_seconds": 0}, checkpoint=sys.argv[2], progress=lambda now: time.sleep(0.005)
).values()
sys.stdout.write(a.tally.to_bytes().hex())
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.slow
def test_a_run_that_is_killed_often_ends_with_the_same_bits(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    p = rng.dirichlet(np.ones(3), 6000)
    y = (rng.random(6000)[:, None] > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
    (tmp_path / "parts").mkdir()
    for i, rows in enumerate(np.array_split(np.arange(6000), 5)):
        columns = {f"p{j}": p[rows, j] for j in range(3)}
        pl.DataFrame({"label": y[rows], **columns}).write_parquet(tmp_path / "parts" / f"{i}.parquet")

    def started(state: str, delay: float) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-c", KILLED, str(tmp_path / "parts"), str(tmp_path / state), str(delay)]
        return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)

    whole = started("whole", 0.0)
    assert whole.returncode == 0, whole.stderr
    wanted, killed = int(os.environ.get("VERACITY_KILLS", "4")), 0
    delays = np.random.default_rng(9)
    rounds = 0
    while killed < wanted and rounds < 4 * wanted:
        rounds += 1
        done = started("state", float(delays.uniform(0.02, 0.35)))
        killed += done.returncode == -signal.SIGKILL
        if done.returncode == 0:  # it came to its end: once more from the beginning
            assert done.stdout == whole.stdout
    assert killed >= wanted
    last = started("state", 0.0)
    assert last.returncode == 0, last.stderr
    assert vc.Tally.from_bytes(bytes.fromhex(last.stdout)).sums.rows == 6000
    assert last.stdout == whole.stdout
    left = sorted(p.name for p in tmp_path.iterdir() if not re.fullmatch(r"\.state\.\d+\.part", p.name))
    assert left == ["parts"]


def test_a_checkpoint_that_ends_in_the_middle_is_refused(tmp_path: Path) -> None:
    data, kept = forecasts(tmp_path / "a.csv"), tmp_path / "state"
    made: list[bytes] = []

    def keep(_: Any) -> None:
        if kept.exists():
            made.append(kept.read_bytes())

    engines.assess(data, options={"checkpoint_seconds": 0}, checkpoint=kept, progress=keep)
    assert made
    for size in range(0, len(made[-1]), max(1, len(made[-1]) // 60)):
        kept.write_bytes(made[-1][:size])
        with pytest.raises(ValueError, match=r"damaged|another kind"):
            engines.assess(data, checkpoint=kept)
