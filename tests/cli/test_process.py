"""The command as a process: crashes of compiled libraries, signals, closed streams, files beside each other."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from pstats import Stats
from typing import Any

import numpy as np
import pytest

from veracity import plots
from veracity.cli import _child_process, run
from veracity.cli._output_files import OutputFiles

CONTROL = "\x1b[2J\x07\u202e"
CRASH = """
import os, signal, sys
sys.argv = ["veracity", "assess", sys.argv[1], "--quiet"]
import veracity.cli
from veracity.read import text

def crash(*given):
    os.write(2, b"thread 'a' panicked at b.rs:1:2:\\nmemory allocation of 9 bytes failed\\nstack backtrace:\\n")
    os.kill(os.getpid(), signal.{how})

text._head = crash
veracity.cli.main()
"""


def forecasts(path: Path, n: int = 200, models: tuple[str, ...] = ("m",)) -> Path:
    rng = np.random.default_rng(3)
    rows = [f"{i},{m},{i % 2},{rng.random():.3f}\n" for m in models for i in range(n)]
    path.write_text("case,model,y,p\n" + "".join(rows), encoding="utf-8")
    return path


def command(*arguments: Any) -> list[str]:
    return [sys.executable, "-m", "veracity", *map(str, arguments)]


@pytest.mark.parametrize("how", ["SIGABRT", "SIGSEGV", "SIGKILL"])
def test_a_crash_while_reading_is_bad_input_and_names_the_file(how: str, tmp_path: Path) -> None:
    path = forecasts(tmp_path / "broken.csv")
    done = subprocess.run(
        [sys.executable, "-c", CRASH.replace("{how}", how), path],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[0].startswith("veracity: broken.csv: cannot be read (")
    assert ("memory runs out" if how == "SIGKILL" else "memory allocation of 9 bytes failed") in lines[0]
    assert len(lines) == 2  # what, remedy: no trace of a compiled library


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_command_that_is_ended_leaves_no_process_and_no_half_file(ending: signal.Signals, tmp_path: Path) -> None:
    path = forecasts(tmp_path / "long.csv", n=30_000)
    out = tmp_path / "out.html"

    def heard() -> None:  # whoever runs the tests may ignore the signal (nohup), and children inherit that
        if ending != signal.SIGKILL:
            signal.signal(ending, signal.SIG_DFL)

    with subprocess.Popen(
        command("assess", path, "--report", out), stderr=subprocess.PIPE, text=True, preexec_fn=heard
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("read ")
        children = _children(process.pid)
        assert len(children) == 1  # the work is done in a child
        process.send_signal(ending)
        code = process.wait(timeout=60)
    assert code == (-ending if ending == signal.SIGKILL else 128 + ending)
    deadline = time.monotonic() + 20
    while any(map(_runs, children)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_runs, children))
    assert [p.name for p in tmp_path.iterdir()] == ["long.csv"]


def test_a_profiler_sees_the_work_of_a_command_in_one_process(tmp_path: Path) -> None:
    path, profile = forecasts(tmp_path / "a.csv"), tmp_path / "calls"
    profiled = [sys.executable, "-m", "cProfile", "-o", profile, "-m", "veracity", "assess", path, "--quiet"]
    seen = {}
    for child in ("0", "1"):
        done = subprocess.run(profiled, env=os.environ | {"VERACITY_CHILD": child}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        seen[child] = profile.is_file() and any("tally.py" in file for file, _, _ in Stats(str(profile)).stats)
        profile.unlink(missing_ok=True)
    assert seen == {"0": True, "1": False}
    missing = command("assess", tmp_path / "none.csv")
    assert subprocess.run(missing, env=os.environ | {"VERACITY_CHILD": "0"}, capture_output=True).returncode == 2


def _children(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_closed_streams_lead_nowhere(closed: tuple[int, ...], tmp_path: Path) -> None:
    path, out = forecasts(tmp_path / "a.csv"), tmp_path / "out.json"
    read = path.read_bytes()

    def close() -> None:
        for number in closed:
            os.close(number)

    done = subprocess.run(
        command("assess", path, "--json", out), preexec_fn=close, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0
    assert out.read_bytes().startswith(b"{")
    assert path.read_bytes() == read
    assert b"Traceback" not in done.stderr + done.stdout


def test_control_characters_of_the_data_reach_neither_terminal_nor_files(tmp_path: Path) -> None:
    path = forecasts(tmp_path / "a.csv", models=(f"m{CONTROL}", "b"))
    outputs = {name: tmp_path / f"out.{name}" for name in ("csv", "markdown", "html")}
    asked = ["--csv", outputs["csv"], "--markdown", outputs["markdown"], "--report", outputs["html"]]
    for words in (["assess", path, *asked], ["check", path, "--require", "n>=1"]):
        done = subprocess.run(command(*words), capture_output=True, timeout=100, check=False)
        assert done.returncode == 0, done.stderr
        assert _controls(done.stdout + done.stderr) == set()
    for name, made in outputs.items():
        shown = made.read_bytes().partition(b"</main>")[0] if name == "html" else made.read_bytes()
        assert _controls(shown) == set(), name
    done = subprocess.run(
        command("assess", path, "--label", f"x{CONTROL}"), capture_output=True, timeout=100, check=False
    )
    assert done.returncode == 2
    assert _controls(done.stderr) == set()


def _controls(text: bytes) -> set[str]:
    return {c for c in text.decode() if (c < " " and c not in "\n") or c in "\x7f\u202e"}


def test_pictures_of_models_stay_in_their_folder_each_in_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {"assessment": ["reliability"], "models": []}  # one picture of each will do
    monkeypatch.setattr(plots, "names", lambda of=None: few[of] if of else ["reliability", "risk_profile"])
    path = forecasts(tmp_path / "a.csv", n=60, models=("..", "a b", "a/b", f"/tmp/x{CONTROL}"))
    folder = tmp_path / "plots"
    assert run(["assess", str(path), "--plots", str(folder), "--quiet"]) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "plots"]
    own = sorted(p.name for p in folder.iterdir() if p.is_dir())
    assert len(own) == 4
    held = [sorted(p.name for p in (folder / name).iterdir()) for name in own]
    assert held[0]
    assert all(names == held[0] for names in held)
    assert len({(folder / name / "reliability.svg").read_bytes() for name in own}) == 4
    assert _controls("".join(own).encode()) == set()


def test_a_folder_that_leads_elsewhere_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = forecasts(tmp_path / "a.csv", n=60, models=("m", "other"))
    (tmp_path / "plots").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "plots" / "m").symlink_to(tmp_path / "elsewhere")
    assert run(["assess", str(path), "--plots", str(tmp_path / "plots"), "--force", "--quiet"]) == 2
    assert "leads out of the folder" in capsys.readouterr().err
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert [p.name for p in (tmp_path / "plots").iterdir()] == ["m"]


def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path) -> None:
    path, out = forecasts(tmp_path / "a.csv"), tmp_path / "out.json"
    out.write_text("{}")
    for mode in (0o600, 0o640, 0o664):
        out.chmod(mode)
        assert run(["assess", str(path), "--json", str(out), "--force", "--quiet"]) == 0
        assert stat.S_IMODE(out.stat().st_mode) == mode
        assert len(out.read_bytes()) > 1000


def test_a_file_that_cannot_be_replaced_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "full").write_text("")
    together = OutputFiles()
    together.add(tmp_path / "a", "new")
    together.write_folder(tmp_path / "b", lambda folder: (folder / "x").write_text("x"))
    together.add(tmp_path / "c", "new")
    with pytest.raises(OSError), together:
        pass
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a", "b", "full"]


def test_an_interrupt_that_a_library_turns_into_another_error_is_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        try:
            _child_process._interrupted(2, None)
        except KeyboardInterrupt:
            raise SystemError("error return without exception set") from None

    monkeypatch.setattr(_child_process, "_last", -_child_process.AGAIN)
    monkeypatch.setattr("veracity.cli.veracity.main", interrupted)
    assert run(["assess", "x.csv"]) == 130
    assert capsys.readouterr().err == "veracity: interrupted\n"
