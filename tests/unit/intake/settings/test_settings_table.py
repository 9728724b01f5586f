"""Every settings file of the table: added to once, everybody's entries there, out again to the byte, or refused."""

import stat
from pathlib import Path
from typing import Any

import pytest

from custody.core.errors import InputError
from tests.builders.set_up import HOME, an_ask, set_up, take_out
from tests.settings.plain import said
from tests.settings.table import CASES, FINE, REFUSED, Case


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "home"


def written(folder: Path, case: Case) -> Path:
    """The case as a file of its own, with a mode that nobody has by default."""
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


@pytest.mark.parametrize("name", FINE)
def test_init_twice_is_init_once(name: str, tmp_path: Path, notes: Path) -> None:
    case = FINE[name]
    path = written(tmp_path, case)
    assert set_up(path, an_ask(case.agent), notes).changes
    once, manifest = path.read_bytes(), (notes / "backup/manifest.json").read_bytes()
    assert not set_up(path, an_ask(case.agent), notes).changes
    assert (path.read_bytes(), (notes / "backup/manifest.json").read_bytes()) == (once, manifest)


@pytest.mark.parametrize("name", FINE)
def test_ours_are_there_and_all_of_theirs(name: str, tmp_path: Path, notes: Path) -> None:
    case = FINE[name]
    path = written(tmp_path, case)
    ask = an_ask(case.agent)
    set_up(path, ask, notes)
    after = said(path, path.read_bytes())
    ours = [each for each in entries(after) if str(HOME) in str(each)]
    assert sorted(ours, key=str) == sorted(ask.entries, key=str)
    before = said(path, case.data or b"") if case.cleared is None else said(path, case.cleared)
    theirs = [each for each in entries(after) if each not in ours]
    assert theirs == entries(before)
    assert {**after, "hooks": 0} == {**ask.agent.fixed, **before, "hooks": 0}


@pytest.mark.parametrize("name", FINE)
def test_what_was_there_stands_in_the_same_order_byte_for_byte(name: str, tmp_path: Path, notes: Path) -> None:
    case = FINE[name]
    path = written(tmp_path, case)
    set_up(path, an_ask(case.agent), notes)
    if case.cleared is None:
        after = iter(path.read_bytes())
        assert all(byte in after for byte in case.data or b""), "a byte that was there is gone"
        said_before = (case.data or b"").removeprefix(b"\xef\xbb\xbf")
        assert path.read_bytes().endswith(b"\n") is (not said_before or said_before.endswith(b"\n"))


@pytest.mark.parametrize("name", FINE)
def test_uninstall_is_to_the_byte(name: str, tmp_path: Path, notes: Path) -> None:
    case = FINE[name]
    path = written(tmp_path, case)
    set_up(path, an_ask(case.agent), notes)
    take_out(path, case.agent, notes)
    if case.data is None:
        assert not (tmp_path / "project").exists(), "folders that were made for it go too"
    else:
        assert path.read_bytes() == (case.data if case.cleared is None else case.cleared)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert not (notes / "backup").exists()
    assert not take_out(path, case.agent, notes).changes, "twice is fine"


@pytest.mark.parametrize("name", FINE)
def test_uninstall_without_notes_takes_out_ours_and_nothing_else(name: str, tmp_path: Path, notes: Path) -> None:
    case = FINE[name]
    path = written(tmp_path, case)
    set_up(path, an_ask(case.agent), notes)
    take_out(path, case.agent, tmp_path / "no notes")
    after = said(path, path.read_bytes())
    before = said(path, case.data or b"") if case.cleared is None else said(path, case.cleared)
    assert "custody/hook" not in str(entries(after))
    assert entries(after) == entries(before)


@pytest.mark.parametrize("name", FINE)
def test_a_moved_repository_gets_its_new_place_once(name: str, tmp_path: Path, notes: Path) -> None:
    case = FINE[name]
    path = written(tmp_path, case)
    set_up(path, an_ask(case.agent, Path("/before/.git/custody")), notes)
    set_up(path, an_ask(case.agent), notes)
    assert b"/before/" not in path.read_bytes()
    take_out(path, case.agent, notes)
    if case.data is None:
        assert not path.exists()
    else:
        assert path.read_bytes() == (case.data if case.cleared is None else case.cleared)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_and_left_alone(name: str, tmp_path: Path, notes: Path) -> None:
    case = REFUSED[name]
    path = written(tmp_path, case)
    with pytest.raises(InputError, match=case.refused) as refused:
        set_up(path, an_ask(case.agent), notes)
    assert str(path) in refused.value.message
    assert "line" in refused.value.message and "column" in refused.value.message
    assert "by hand" in str(refused.value.hint) and str(HOME) in str(refused.value.hint)
    assert path.read_bytes() == case.data
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    assert not notes.exists()
