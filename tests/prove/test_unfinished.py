"""Temporary files of writers that share a folder: never mixed, never led elsewhere, removed with their writer."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from veracity.cli._output_files import OutputFiles
from veracity.files import whole_files
from veracity.files.whole_files import Unfinished, write_whole

BEGIN = """
import sys, time
from pathlib import Path
from veracity.cli._output_files import OutputFiles

def stop(path):
    made = path / "x" if path.is_dir() else path
    made.write_text("half")
    print(path.name, flush=True)
    time.sleep(600)

with OutputFiles() as files:
    getattr(files, sys.argv[1])(sys.argv[2], stop)
"""


def test_threads_that_write_one_file_leave_it_whole(tmp_path: Path) -> None:
    target, size = tmp_path / "out", 300_000
    contents = [letter.encode() * size for letter in "abcd"]
    write_whole(target, contents[0])
    failures: list[BaseException] = []

    def written(content: bytes) -> None:
        try:
            for _ in range(40):
                write_whole(target, content)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=written, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    mixed = 0
    while any(thread.is_alive() for thread in threads):
        mixed += target.read_bytes() not in contents
    assert failures == []
    assert mixed == 0
    assert target.read_bytes() in contents
    assert os.listdir(tmp_path) == ["out"]


def test_a_link_laid_in_the_way_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    precious, target = tmp_path / "precious", tmp_path / "out"
    precious.write_text("precious")
    tokens = iter(["0" * 16, "1" * 16])
    monkeypatch.setattr("secrets.token_hex", lambda _: next(tokens))  # the name was guessed
    for name in (f".out.{os.getpid()}.part", f".out.{'0' * 16}.part"):
        (tmp_path / name).symlink_to(precious)
    write_whole(target, b"new")
    assert (target.read_text(), precious.read_text()) == ("new", "precious")
    assert not target.is_symlink()


def test_a_pipe_laid_in_the_way_does_not_stop_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / f".out.{'0' * 16}.part")
    write_whole(tmp_path / "out", b"new")
    assert (tmp_path / "out").read_bytes() == b"new"


@pytest.mark.parametrize("kind", ["write_file", "write_folder"])
def test_what_killed_writers_left_is_removed_and_what_others_write_is_not(kind: str, tmp_path: Path) -> None:
    target = tmp_path / "out"
    command = [sys.executable, "-c", BEGIN, kind, str(target)]
    writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        names = [writer.stdout.readline().strip() for writer in writers if writer.stdout is not None]
        assert sorted(os.listdir(tmp_path)) == sorted(names)
        assert len(set(names)) == 2
        other = tmp_path / ".else.0123456789abcdef.part"
        other.write_text("of another file")
        writers[0].send_signal(signal.SIGKILL)
        writers[0].wait()
        with OutputFiles() as files:
            files.add(target, "whole")
        assert sorted(os.listdir(tmp_path)) == sorted([names[1], other.name, "out"])
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    write_whole(target, b"again")
    assert sorted(os.listdir(tmp_path)) == [other.name, "out"]


def test_a_file_taken_for_abandoned_is_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, plain, removed = tmp_path / "out", whole_files.fcntl.flock, []

    def late(descriptor: int, how: int) -> None:
        if not removed:  # another writer looks between making the file and locking it
            removed.extend(tmp_path.glob(".out.*.part"))
            removed[0].unlink()
        plain(descriptor, how)

    monkeypatch.setattr(whole_files.fcntl, "flock", late)
    write_whole(target, b"whole")
    assert len(removed) == 1
    assert target.read_bytes() == b"whole"


def test_a_file_has_the_mode_of_its_target_from_the_start(tmp_path: Path) -> None:
    target = tmp_path / "out"
    before = os.umask(0o027)
    try:
        for mode in (None, 0o600, 0o664, 0o440):
            if mode is not None:
                target.chmod(mode)
            expected = 0o640 if mode is None else mode
            with Unfinished(target) as unfinished:
                assert stat.S_IMODE(unfinished.path.stat().st_mode) == expected | stat.S_IWUSR
                unfinished.write(b"x")
                unfinished.finish()
            assert stat.S_IMODE(target.stat().st_mode) == expected
    finally:
        os.umask(before)


def test_a_name_of_many_bytes_can_be_written(tmp_path: Path) -> None:
    target = tmp_path / ("é" * 120 + ".json")
    write_whole(target, b"{}")
    assert target.read_bytes() == b"{}"
