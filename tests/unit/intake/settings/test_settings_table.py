"""Every settings file of the table: our entries are added once and removed to the byte, or it is rejected."""

import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from custody.core.errors import CustodyError, InputError
from tests.builders.set_up import HOME, an_ask, set_up, take_out
from tests.settings.plain import said
from tests.settings.table import CASES, FINE, REFUSED, Case

HUGE = "huge"
ORDINARY = {name: case for name, case in FINE.items() if name != HUGE}
"""The valid files; a megabyte takes long to parse and has its own test."""


def failures(cases: Mapping[str, Case], check: Callable[[Case, Path, Path], None], folder: Path) -> dict[str, str]:
    """Return every case that fails ``check``, with the reason; each has its own folder and manifest."""
    found = {}
    for number, (name, case) in enumerate(cases.items()):
        own = folder / str(number)
        own.mkdir()
        try:
            check(case, own, own / "home")
        except (AssertionError, CustodyError, LookupError, OSError, ValueError, pytest.fail.Exception) as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found


def written(folder: Path, case: Case) -> Path:
    """Write the case to its own file, with a mode that is never the default."""
    path = folder / "project" / ".agent" / case.name
    if case.data is not None:
        path.parent.mkdir(parents=True)
        path.write_bytes(case.data)
        path.chmod(0o640)
    return path


def entries(value: Any) -> list[tuple[str, Any]]:
    return [(event, entry) for event, some in value.get("hooks", {}).items() if type(some) is list for entry in some]


def test_the_table_is_long_enough() -> None:
    assert len(CASES) >= 20
    assert len({case.data for case in CASES.values()}) > 40


def test_init_twice_is_init_once(tmp_path: Path) -> None:
    def check(case: Case, folder: Path, notes: Path) -> None:
        path = written(folder, case)
        assert set_up(path, an_ask(case.agent), notes).changes
        once, manifest = path.read_bytes(), (notes / "backup/manifest.json").read_bytes()
        assert not set_up(path, an_ask(case.agent), notes).changes
        assert (path.read_bytes(), (notes / "backup/manifest.json").read_bytes()) == (once, manifest)

    assert failures(ORDINARY, check, tmp_path) == {}


def test_ours_are_there_and_all_of_theirs(tmp_path: Path) -> None:
    def check(case: Case, folder: Path, notes: Path) -> None:
        path = written(folder, case)
        ask = an_ask(case.agent)
        set_up(path, ask, notes)
        after = said(path, path.read_bytes())
        ours = [each for each in entries(after) if str(HOME) in str(each)]
        assert sorted(ours, key=str) == sorted(ask.entries, key=str)
        before = said(path, case.data or b"") if case.cleared is None else said(path, case.cleared)
        theirs = [each for each in entries(after) if each not in ours]
        assert theirs == entries(before)
        assert {**after, "hooks": 0} == {**ask.agent.fixed, **before, "hooks": 0}

    assert failures(ORDINARY, check, tmp_path) == {}


def test_what_was_there_stands_in_the_same_order_byte_for_byte(tmp_path: Path) -> None:
    def check(case: Case, folder: Path, notes: Path) -> None:
        path = written(folder, case)
        set_up(path, an_ask(case.agent), notes)
        if case.cleared is None:
            after = iter(path.read_bytes())
            assert all(byte in after for byte in case.data or b""), "a byte that was there is gone"
            said_before = (case.data or b"").removeprefix(b"\xef\xbb\xbf")
            assert path.read_bytes().endswith(b"\n") is (not said_before or said_before.endswith(b"\n"))

    assert failures(ORDINARY, check, tmp_path) == {}


def test_uninstall_is_to_the_byte(tmp_path: Path) -> None:
    def check(case: Case, folder: Path, notes: Path) -> None:
        path = written(folder, case)
        set_up(path, an_ask(case.agent), notes)
        take_out(path, case.agent, notes)
        if case.data is None:
            assert not (folder / "project").exists(), "folders that were made for it go too"
        else:
            assert path.read_bytes() == (case.data if case.cleared is None else case.cleared)
            assert stat.S_IMODE(path.stat().st_mode) == 0o640
        assert not (notes / "backup").exists()
        assert not take_out(path, case.agent, notes).changes, "twice is fine"

    assert failures(ORDINARY, check, tmp_path) == {}


def test_uninstall_without_notes_takes_out_ours_and_nothing_else(tmp_path: Path) -> None:
    def check(case: Case, folder: Path, notes: Path) -> None:
        path = written(folder, case)
        set_up(path, an_ask(case.agent), notes)
        take_out(path, case.agent, folder / "no notes")
        after = said(path, path.read_bytes())
        before = said(path, case.data or b"") if case.cleared is None else said(path, case.cleared)
        assert "custody/hook" not in str(entries(after))
        assert entries(after) == entries(before)

    assert failures(ORDINARY, check, tmp_path) == {}


def test_a_moved_repository_gets_its_new_place_once(tmp_path: Path) -> None:
    def check(case: Case, folder: Path, notes: Path) -> None:
        path = written(folder, case)
        set_up(path, an_ask(case.agent, Path("/before/.git/custody")), notes)
        set_up(path, an_ask(case.agent), notes)
        assert b"/before/" not in path.read_bytes()
        take_out(path, case.agent, notes)
        if case.data is None:
            assert not path.exists()
        else:
            assert path.read_bytes() == (case.data if case.cleared is None else case.cleared)

    assert failures(ORDINARY, check, tmp_path) == {}


def test_a_megabyte_goes_in_once_and_out_to_the_byte(tmp_path: Path) -> None:
    case, notes, ask = FINE[HUGE], tmp_path / "home", an_ask(FINE[HUGE].agent)
    assert case.data is not None
    path = written(tmp_path, case)
    assert set_up(path, ask, notes).changes
    once = path.read_bytes()
    after, before = said(path, once), said(path, case.data)
    assert sorted((each for each in entries(after) if str(HOME) in str(each)), key=str) == sorted(ask.entries, key=str)
    assert {**after, "hooks": 0} == {**ask.agent.fixed, **before, "hooks": 0}
    rest = iter(once)
    assert all(byte in rest for byte in case.data), "a byte that was there is gone"
    assert not set_up(path, ask, notes).changes
    take_out(path, case.agent, notes)
    assert path.read_bytes() == case.data
    set_up(path, ask, notes)
    take_out(path, case.agent, tmp_path / "no notes")
    assert entries(said(path, path.read_bytes())) == entries(before)


def test_what_cannot_be_read_is_refused_and_left_alone(tmp_path: Path) -> None:
    def check(case: Case, folder: Path, notes: Path) -> None:
        path = written(folder, case)
        with pytest.raises(InputError, match=case.refused) as refused:
            set_up(path, an_ask(case.agent), notes)
        assert str(path) in refused.value.message
        assert "line" in refused.value.message and "column" in refused.value.message
        assert "by hand" in str(refused.value.hint) and str(HOME) in str(refused.value.hint)
        assert path.read_bytes() == case.data
        assert [entry.name for entry in path.parent.iterdir()] == [path.name]
        assert not notes.exists()

    assert failures(REFUSED, check, tmp_path) == {}
