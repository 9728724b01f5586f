"""The life of indexed changes: which push is the current one, and whether a change is open, closed or merged."""

from collections.abc import Mapping

from custody.core.patterns import lazy_pattern
from custody.dupes.app.change_reader import OWN
from custody.dupes.app.select import ChangeSelection
from custody.dupes.model import ChangeSummary
from custody.dupes.queries import DupesTables
from custody.dupes.relations import get_squash_number

PULL_REQUEST = lazy_pattern(r"refs/(?:pull|merge-requests)/(\d+)/head")


def store_change_lives(tables: DupesTables, selection: ChangeSelection) -> None:
    """Store which change each ref names now, and the state of every change.

    A ref that moved names a new push, which supersedes the earlier one unless that was merged or another ref still
    names it. A change is closed if its refs are gone, and merged if a commit of main contains it or names its pull
    request.
    """
    rows = {row.id: row for row in tables.list_lives(OWN)}
    by_head: dict[str, int] = {row.head: row.id for row in rows.values()}
    names, before = _read_current_names(tables, selection, by_head)
    named = set(names.values())
    merges = _find_merges(tables, selection, rows, names)
    for row in rows.values():
        merged = merges.get(row.id, row.merged)
        push = next((names[name] for name in before.get(row.id, ()) if names.get(name, row.id) != row.id), 0)
        is_superseded = not merged and row.id not in named
        superseded_by = (push or row.superseded_by) if is_superseded else 0
        state = "merged" if merged else _decide_state(row, before.get(row.id, ()), names, selection)
        if (state, merged, superseded_by) != (row.state, row.merged, row.superseded_by):
            tables.put_life(row.id, state=state, merged=merged, superseded_by=superseded_by)


def _read_current_names(
    tables: DupesTables, selection: ChangeSelection, by_head: Mapping[str, int]
) -> tuple[dict[str, int], dict[int, list[str]]]:
    """Return the change that each ref names now, and the refs that named each change before."""
    stored = tables.list_names(OWN)
    now = {name: by_head[head] for name, head in selection.names.items() if head in by_head}
    for name, change in now.items():
        if stored.get(name) != change:
            tables.put_name(OWN, name, change)
    before: dict[int, list[str]] = {}
    for name, change in stored.items():
        before.setdefault(change, []).append(name)
    return now, before


def _decide_state(
    row: ChangeSummary, before: list[str] | tuple[()], names: Mapping[str, int], selection: ChangeSelection
) -> str:
    """Return whether a change is open: one of its refs exists, or it never had one that was looked for."""
    if row.id in names.values():
        return "open"
    looked_for = [name for name in before if selection.covers(name)]
    return "closed" if looked_for and len(looked_for) == len(before) else row.state


def _find_merges(
    tables: DupesTables, selection: ChangeSelection, rows: Mapping[int, ChangeSummary], names: Mapping[str, int]
) -> dict[int, str]:
    """Return the commit of main that merged each change: it contains the head, or its title names the pull request."""
    merges: dict[int, str] = {
        row.id: selection.merges[row.head] for row in rows.values() if row.head in selection.merges
    }
    numbers = {match[1]: change for name, change in names.items() if (match := PULL_REQUEST.fullmatch(name))}
    for head, title in tables.list_squashed(OWN):
        number = get_squash_number(title)
        if number in numbers:
            merges.setdefault(numbers[number], head)
    return merges
