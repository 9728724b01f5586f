"""Steps of SQLite's virtual machine: a scan grows, a look-up by key does not, and nothing is counted by mistake."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.bars import BenchError
from bench.growth import Growth, Population, counting, grow, steps
from bench.runner import Ground, SliceOver, Verdict

BY_KEY = "SELECT text FROM row WHERE id = 3"
SCAN = "SELECT id FROM row WHERE text = 'text 3'"


def filled(path: Path | str, size: int) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE row (id INTEGER PRIMARY KEY, text TEXT)")
    connection.executemany("INSERT INTO row VALUES (?, ?)", ((n, f"text {n}") for n in range(size)))
    connection.commit()
    return connection


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    opened = filled(":memory:", 10)
    yield opened
    opened.close()


class Shelf:
    """A growth over one table, and how often its populations were closed."""

    def __init__(self, **queries: str) -> None:
        self.queries = queries
        self.closed = 0

    def populate(self, ground: Ground, size: int) -> Population:
        connection = filled(ground.folder / "rows.db", size)

        def close() -> None:
            self.closed += 1
            connection.close()

        def look_up(query: str) -> list[object]:
            return connection.execute(query).fetchall()

        look_ups = {name: (lambda query=query: look_up(query)) for name, query in self.queries.items()}
        return Population(connection, look_ups, close)

    def growth(self, small: int = 10, large: int = 1000) -> Growth:
        return Growth(name="g", what="w", populate=self.populate, small=small, large=large)


def opcodes(connection: sqlite3.Connection, query: str) -> int:
    """Return the number of instructions of ``query``; without a loop it takes no more steps."""
    return len(connection.execute(f"EXPLAIN {query}").fetchall())


def test_a_look_up_takes_about_the_steps_its_program_has(connection: sqlite3.Connection) -> None:
    program = opcodes(connection, BY_KEY)
    assert program / 2 <= steps(connection, lambda: connection.execute(BY_KEY).fetchall()) <= program


@given(st.integers(min_value=1, max_value=200))
def test_a_scan_takes_the_same_steps_for_every_row(rows: int) -> None:
    def scan(size: int) -> int:
        connection = filled(":memory:", size)
        taken = steps(connection, lambda: connection.execute(SCAN).fetchall())
        connection.close()
        return taken

    per_row = scan(11) - scan(10)
    assert per_row >= 2  # at least one step to compare it and one to advance
    assert scan(10 + rows) - scan(10) == per_row * rows


def test_counting_twice_gives_the_same_number(connection: sqlite3.Connection) -> None:
    def look_up() -> object:
        return connection.execute(BY_KEY).fetchall()

    look_up()
    assert steps(connection, look_up) == steps(connection, look_up)


def test_counting_ends_with_the_count(connection: sqlite3.Connection) -> None:
    with counting(connection) as count:
        connection.execute(BY_KEY).fetchall()
    taken = count()
    connection.execute(SCAN).fetchall()
    assert count() == taken > 0


def test_a_look_up_on_another_connection_is_not_cheap_but_an_error(connection: sqlite3.Connection) -> None:
    other = filled(":memory:", 10)
    with pytest.raises(BenchError, match="another connection"):
        steps(connection, lambda: other.execute(BY_KEY).fetchall())
    other.close()


def test_a_key_does_not_grow_and_a_scan_does(tmp_path: Path) -> None:
    grown = grow(Shelf(by_key=BY_KEY, scan=SCAN).growth(), Ground(tmp_path))
    assert grown.ratio("by_key") == 1.0
    assert grown.verdict("by_key") is Verdict.MET
    assert grown.ratio("scan") > 3
    assert grown.verdict("scan") is Verdict.MISSED


def test_reading_the_schema_is_not_part_of_a_look_up(tmp_path: Path) -> None:
    """A new connection reads the schema first, which takes steps."""
    filled(tmp_path / "rows.db", 10).close()
    connection = sqlite3.connect(tmp_path / "rows.db")
    fresh = steps(connection, lambda: connection.execute(BY_KEY).fetchall())
    connection.close()

    def populate(ground: Ground, size: int) -> Population:
        filled(ground.folder / "rows.db", size).close()
        opened = sqlite3.connect(ground.folder / "rows.db")
        return Population(opened, {"by key": lambda: opened.execute(BY_KEY).fetchall()}, opened.close)

    growth = Growth(name="g", what="w", populate=populate, small=10, large=20)
    assert grow(growth, Ground(tmp_path)).small["by key"] < fresh


def test_a_look_up_that_finds_nothing_proves_nothing(tmp_path: Path) -> None:
    shelf = Shelf(by_key="SELECT text FROM row WHERE id = -1")
    with pytest.raises(BenchError, match="look-up 'by_key' found nothing"):
        grow(shelf.growth(), Ground(tmp_path))
    assert shelf.closed == 1


def test_the_same_look_ups_run_on_both_populations(tmp_path: Path) -> None:
    shelf = Shelf(by_key=BY_KEY)

    def populate(ground: Ground, size: int) -> Population:
        shelf.queries = {f"key {size}": BY_KEY}
        return shelf.populate(ground, size)

    growth = Growth(name="g", what="w", populate=populate, small=10, large=20)
    with pytest.raises(BenchError, match="among few"):
        grow(growth, Ground(tmp_path))


def test_both_populations_are_closed(tmp_path: Path) -> None:
    shelf = Shelf(by_key=BY_KEY)
    grow(shelf.growth(), Ground(tmp_path))
    assert shelf.closed == 2


@pytest.mark.parametrize(("small", "large"), [(0, 10), (10, 10), (11, 10)])
def test_a_growth_that_does_not_grow_is_refused(small: int, large: int) -> None:
    with pytest.raises(BenchError, match="grows from"):
        Shelf().growth(small, large)


SIZE, BATCH = 60, 7


def build(ground: Ground, seen: list[range]) -> Population:
    """Fill a table in batches, each in a transaction of its own."""
    connection = sqlite3.connect(ground.folder / "rows.db")
    connection.execute("CREATE TABLE IF NOT EXISTS row (id INTEGER PRIMARY KEY, text TEXT)")
    try:
        for numbers in ground.number_batches(SIZE, BATCH):
            connection.executemany("INSERT OR IGNORE INTO row VALUES (?, ?)", ((n, f"text {n}") for n in numbers))
            connection.commit()
            seen.append(numbers)
    except SliceOver:
        connection.close()
        raise
    return Population(connection, {"by key": lambda: connection.execute(BY_KEY).fetchall()}, connection.close)


def test_a_growth_in_slices_builds_each_batch_once_and_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter(range(1_000))
    monkeypatch.setattr("bench.runner.time.monotonic", lambda: next(now))
    seen: list[range] = []
    reasons: list[str] = []
    while True:
        try:
            build(Ground(tmp_path, ends_at=next(now) + 4), seen).close()
            break
        except SliceOver as over:
            reasons.append(str(over))
    assert [n for numbers in seen for n in numbers] == list(range(SIZE))
    assert len(reasons) >= 2
    assert reasons[0] == "21 of 60 built so far; run it again to go on"
    build(Ground(tmp_path), seen).close()
    assert sum(map(len, seen)) == SIZE, "what is built is not built again"


def test_a_batch_that_a_killed_run_had_begun_is_built_again(tmp_path: Path) -> None:
    batches = Ground(tmp_path).number_batches(SIZE, BATCH)
    assert [next(batches), next(batches)] == [range(7), range(7, 14)]
    assert next(Ground(tmp_path).number_batches(SIZE, BATCH)) == range(7, 14)
