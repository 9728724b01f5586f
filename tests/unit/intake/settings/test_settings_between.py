"""Other programs edit the file that has our entries: removing ours keeps every other edit."""

import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from custody.intake.settings import AGENTS
from custody.intake.settings.settings import make_settings_removal_edit
from tests.builders.set_up import HOME, an_ask, set_up, take_out
from tests.settings.plain import said
from tests.settings.table import FINE
from tests.unit.intake.settings.strategies import settings_files

Redo = Callable[[str, int], str]


@given(settings_files(), st.sampled_from(["claude-code", "cursor", "gemini"]))
def test_any_settings_come_back_to_the_byte(data: bytes, agent: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, notes = Path(folder, "settings.json"), Path(folder, "notes")
        path.write_bytes(data)
        set_up(path, an_ask(agent), notes)
        once = path.read_bytes()
        set_up(path, an_ask(agent), notes)
        assert path.read_bytes() == once
        assert theirs(said(path, once)) == {**AGENTS[agent].fixed, **theirs(said(path, data))}
        take_out(path, agent, notes)
        assert path.read_bytes() == data


# Edits of a text by others; a number chooses the position. Each leaves valid JSON, and marks that must survive.


def _first_of_all(text: str, number: int) -> str:
    at = text.index("{") + 1
    value = {"first": number} if number % 2 else [number]
    return f'{text[:at]} "new {number}": {json.dumps(value)}, /* keep {number} */{text[at:]}'


def _comment_line(text: str, number: int) -> str:
    """Add a comment to the end of a line outside our entries."""
    lines = text.split("\n")
    fit = [at for at in range(len(lines)) if _depth("\n".join(lines[: at + 1])) <= 3]
    at = fit[number % len(fit)]
    lines[at] = lines[at].rstrip("\r") + f" // keep {number}"
    return "\n".join(lines)


def _depth(text: str) -> int:
    bare = re.sub(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', "", text, flags=re.DOTALL)
    return bare.count("{") + bare.count("[") - bare.count("}") - bare.count("]")


def _entry_before(text: str, number: int) -> str:
    """Add an entry before all others of an event."""
    events = [at for at in _places(text, "[") if text[:at].rstrip().endswith(('"Stop":', '"PreToolUse":'))]
    if not events:
        return text
    at = events[number % len(events)] + 1
    rest = text[at:].lstrip()
    comma = "" if rest.startswith("]") else ","
    return f'{text[:at]}{{"hooks": [{{"type": "command", "command": "keep {number}"}}]}}{comma}{text[at:]}'


def _entry_behind(text: str, number: int) -> str:
    """Add an entry after ours, as a person would."""
    ours = [
        at for at in _places(text, "]") if text[:at].rstrip().endswith("}") and "custody/hook" in text[at - 600 : at]
    ]
    if not ours:
        return text
    at = ours[number % len(ours)]
    if not text[:at].rstrip().endswith(('|| :"\n          }', "]}", "]\n      }", "]\n        }")):
        return text
    return f'{text[:at]}, {{"hooks": [{{"type": "command", "command": "keep {number}"}}]}}{text[at:]}'


def _blank_lines(text: str, number: int) -> str:
    return text.replace("\n", "\n" * (1 + number % 3))


def _reformatted(text: str, number: int) -> str:
    """Read and rewrite the whole file, like a program that loses comments."""
    value = said(Path("x.json"), text.encode())
    return json.dumps(value, indent=[None, 2, 4, "\t"][number % 4])


def _one_deleted(text: str, number: int) -> str:
    """Remove one of our entries by hand."""
    value = said(Path("x.json"), text.encode())
    for event, entries in value.get("hooks", {}).items():
        if len(event) % 2 == number % 2 and any("custody/hook" in str(entry) for entry in entries):
            value["hooks"][event] = [entry for entry in entries if "custody/hook" not in str(entry)]
            return json.dumps(value, indent=2)
    return text


def _places(text: str, sign: str) -> list[int]:
    return [at for at, each in enumerate(text) if each == sign]


REDO: tuple[Redo, ...] = (
    _first_of_all,
    _comment_line,
    _entry_before,
    _entry_behind,
    _blank_lines,
    _reformatted,
    _one_deleted,
)


edits_of_others = st.lists(
    st.tuples(st.sampled_from(REDO), st.integers(0, 200)), min_size=1, max_size=4, unique_by=lambda edit: edit[1]
)


@settings(max_examples=120)
@given(settings_files(), edits_of_others)
def test_later_edits_by_others_are_kept(data: bytes, edits: list[tuple[Redo, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, notes = Path(folder, "settings.json"), Path(folder, "notes")
        path.write_bytes(data)
        set_up(path, an_ask(), notes)
        edited = _edited(path.read_bytes().decode(), edits)
        path.write_text(edited, newline="")
        for where in (notes, notes.with_name("lost")):
            after = make_settings_removal_edit(path, AGENTS["claude-code"], _note(where, path)).after
            assert after is not None
            assert theirs(said(path, after)) == theirs(said(path, edited.encode()))
            assert b"custody/hook" not in after
            text = iter(edited.encode())
            assert all(byte in text for byte in after), "nothing is written that was not there"
            assert after.count(b"keep ") == edited.count("keep "), "a comment or an entry of theirs is gone"


def _note(notes: Path, path: Path) -> Any:
    from custody.intake.settings import Manifest

    return Manifest.of(notes).notes.get(str(path))


def _edited(text: str, edits: list[tuple[Redo, int]]) -> str:
    for redo, number in edits:
        again = redo(text, number)
        try:
            said(Path("x.json"), again.encode())
        except (ValueError, IndexError):
            continue  # a position inside a string or a comment: no editor would write there
        text = again
    return text


def theirs(value: Any) -> Any:
    """Return the content without our entries and without empty objects."""
    hooks = {}
    for event, entries in value.get("hooks", {}).items():
        some = [spared(entry) for entry in entries] if isinstance(entries, list) else entries
        kept = [entry for entry in some if entry is not None] if isinstance(some, list) else some
        if kept:
            hooks[event] = kept
    rest = {key: each for key, each in value.items() if key != "hooks"}
    return rest | ({"hooks": hooks} if hooks else {})


def spared(entry: Any) -> Any:
    """Return an entry without our handlers; None if it has no other."""
    if str(HOME) not in str(entry):
        return entry
    handlers = [handler for handler in entry.get("hooks", []) if str(HOME) not in str(handler)]
    return entry | {"hooks": handlers} if handlers else None


@pytest.mark.parametrize("name", [name for name, case in FINE.items() if case.name != "config.toml" and case.data])
def test_claude_codes_own_writing_keeps_us_removable(name: str, tmp_path: Path) -> None:
    """Grant a permission in a session: the agent reads the file and writes it again."""
    case = FINE[name]
    path, notes = tmp_path / case.name, tmp_path / "notes"
    path.write_bytes(case.data or b"")
    set_up(path, an_ask(case.agent), notes)
    value = said(path, path.read_bytes())
    value["permissions"] = {"allow": ["granted"]}
    path.write_text(json.dumps(value, indent=2))
    assert not set_up(path, an_ask(case.agent), notes).changes
    take_out(path, case.agent, notes)
    after = said(path, path.read_bytes())
    before = said(path, (case.data if case.cleared is None else case.cleared) or b"")
    assert theirs(after) == theirs(before | {"permissions": {"allow": ["granted"]}})


def test_a_file_that_was_made_for_us_goes_only_if_it_is_still_ours(tmp_path: Path) -> None:
    path, notes = tmp_path / "a" / "hooks.json", tmp_path / "notes"
    set_up(path, an_ask("cursor"), notes)
    text = path.read_text()
    path.write_text("// mine now\n" + text)
    take_out(path, "cursor", notes)
    assert path.read_text() == "// mine now\n"
    set_up(path, an_ask("cursor"), notes)
    path.write_text(path.read_text().replace('"stop": [', '"stop": [{"command": "mine"},'))
    take_out(path, "cursor", notes)
    assert said(path, path.read_bytes()) == {"version": 1, "hooks": {"stop": [{"command": "mine"}]}}


def test_toml_that_others_edited_keeps_their_edits(tmp_path: Path) -> None:
    path, notes = tmp_path / "config.toml", tmp_path / "notes"
    path.write_bytes(FINE["codex, toml with comments and inline tables"].data or b"")
    set_up(path, an_ask("codex"), notes)
    text = path.read_text()
    renamed = text.replace("[features]", "# more\n[features]\nweb = true").replace(
        "[[hooks.Stop]]\n", "# before ours\n[[hooks.Stop]]\n"
    )
    path.write_text(renamed + '\n[tui]\ntheme = "dark"\n')
    take_out(path, "codex", notes)
    after = path.read_text()
    assert "custody" not in after
    assert "# more\n[features]\nweb = true" in after and "# before ours\n" in after
    value = said(path, after.encode())
    assert value["tui"] == {"theme": "dark"} and list(value["hooks"]) == ["PreToolUse", "state"]
