"""Temporary folders go to memory only where they fit and programs may run."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.house import memory_folder
from tests.house.memory_folder import IN_MEMORY_BYTES_MIN, can_hold_temporary_folders, use_temporary_folder_in_memory


@pytest.fixture
def roomy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that seems to have room."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1, 0, IN_MEMORY_BYTES_MIN))
    monkeypatch.setattr(memory_folder, "IN_MEMORY", tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_a_folder_needs_room_programs_and_write_access(roomy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert can_hold_temporary_folders(roomy)
    real = os.statvfs(roomy)
    for flag in (os.ST_NOEXEC, os.ST_RDONLY):
        values = (*real[:8], real.f_flag | flag, real.f_namemax)
        monkeypatch.setattr(os, "statvfs", lambda _, values=values: os.statvfs_result(values))
        assert not can_hold_temporary_folders(roomy)
    monkeypatch.undo()
    assert not can_hold_temporary_folders(roomy / "missing")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1, 0, IN_MEMORY_BYTES_MIN - 1))
    assert not can_hold_temporary_folders(roomy)


def test_a_set_folder_stays_and_others_may_pass_through_ours(roomy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/elsewhere")
    use_temporary_folder_in_memory()
    assert (os.environ["TMPDIR"], list(roomy.iterdir())) == ("/elsewhere", [])
    monkeypatch.delenv("TMPDIR")
    use_temporary_folder_in_memory()
    (ours,) = roomy.iterdir()
    assert (os.environ["TMPDIR"], tempfile.gettempdir(), ours.stat().st_mode & 0o777) == (str(ours), str(ours), 0o711)
    monkeypatch.setenv("TMPDIR", "so that it is put back")
