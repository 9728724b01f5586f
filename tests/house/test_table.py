"""A table in one test runs every row and names each that fails."""

import pytest

from tests.builders.table import table


def test_every_row_runs_and_each_that_fails_is_named() -> None:
    seen = []

    @table(("number", "word"), [(1, "one"), (2, "two"), (3, "three"), (4, "four")])
    def check(number: int, word: str) -> None:
        seen.append(number)
        if number == 2:
            raise KeyError(word)
        if number == 3:
            with pytest.raises(ValueError):
                int("3")
        assert word != "four"

    with pytest.raises(AssertionError) as failed:
        check()
    assert seen == [1, 2, 3, 4]
    first, *named = str(failed.value).splitlines()
    assert first == "3 of 4 rows fail:"
    assert named[0] == "number=2, word='two': KeyError: 'two'"
    assert "number=3, word='three': Failed: DID NOT RAISE" in str(failed.value)
    assert "number=4, word='four': AssertionError" in str(failed.value)
    assert "'one'" not in str(failed.value)


def test_tables_multiply_when_stacked() -> None:
    seen = []

    @table("left", [1, 2])
    @table("right", ["a", "b"])
    def check(left: int, right: str) -> None:
        seen.append((left, right))

    check()
    assert seen == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]


def test_a_table_without_rows_or_with_unknown_columns_is_an_error() -> None:
    with pytest.raises(AssertionError, match="without rows"):
        table("number", [])
    with pytest.raises(AssertionError, match="takes no"):
        table("number", [1])(lambda word: None)


@table("number", [1, 2])
def test_fixtures_are_passed(tmp_path: object, number: int) -> None:
    assert tmp_path is not None and number in (1, 2)
