"""SQL is only in the store and in queries; a statement, a look-up or a connection elsewhere is reported."""

from pathlib import Path

import pytest

from tools import sql

ROOT = Path(__file__).resolve().parents[2]

PLANTED = {
    "connection": "def f(store):\n    return store.db.rows",
    "connection_of_a_member": "def f(self):\n    self._store.db.close()",
    "look_up": 'def f(store, kind):\n    return store.views.look_up(kind, "", ())',
    "look_up_in": 'def f(store, kinds):\n    return store.views.look_up_in(kinds, "", ())',
    "distinct": 'def f(evidence, kind):\n    return evidence.store.views.distinct(kind, "path")',
    "records_where": 'def f(store):\n    return store.tables.records_where("", ())',
    "statement": 'SQL = "SELECT agent FROM observation"',
    "statement_with_values": 'def f(table):\n    return f"DELETE FROM {table}"',
    "condition": 'WHERE = "session = ? AND agent = ?"',
    "order": 'def f(limit):\n    return f"1 = 1 ORDER BY at_ns LIMIT {limit}"',
}


OUTSIDE = ("trust/app", "ledger", "why", "server/app")
INSIDE = ("store", "trust/queries", "server/control")


def planted(root: Path, place: str, source: str) -> list[str]:
    """Return the problems of a package that holds one file."""
    plant(root, place, source)
    return [str(problem) for problem in sql.check(root)]


def plant(root: Path, place: str, source: str) -> None:
    file = root / sql.PACKAGE / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'"""A file that may SELECT nothing."""\n\n{source}\n')


def test_the_tree_holds_sql_only_where_it_belongs() -> None:
    assert sql.check(ROOT) == []


def test_sql_outside_of_queries_is_named_once(tmp_path: Path) -> None:
    places = [f"{folder}/{kind}.py" for folder in OUTSIDE for kind in PLANTED]
    for place in places:
        plant(tmp_path, place, PLANTED[Path(place).stem])
    named = [str(problem).partition(":")[0] for problem in sql.check(tmp_path)]
    assert sorted(named) == sorted(f"{sql.PACKAGE}/{place}" for place in places)


def test_sql_in_the_store_and_in_queries_is_allowed(tmp_path: Path) -> None:
    for kind, source in PLANTED.items():
        plant(tmp_path, f"{kind}/queries.py", source)
        for folder in INSIDE:
            plant(tmp_path, f"{folder}/{kind}.py", source)
    assert sql.check(tmp_path) == []


def test_git_objects_are_looked_up_anywhere(tmp_path: Path) -> None:
    assert planted(tmp_path, "trust/app/planted.py", "def f(repository):\n    return repository.look_up([])") == []


def test_only_statements_of_other_databases_are_allowed_to_capture(tmp_path: Path) -> None:
    assert planted(tmp_path / "a", "capture/planted.py", PLANTED["statement"]) == []
    assert len(planted(tmp_path / "b", "capture/planted.py", PLANTED["connection"])) == 1


def test_the_check_says_no(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted(tmp_path, "gate/app/planted.py", PLANTED["connection"])
    assert sql.main(tmp_path) == 1
    assert "'store.db' reaches for the connection of a store" in capsys.readouterr().err
    assert sql.main(ROOT) == 0
