"""A table of cases checked in one test: all rows run, and the test names each row that fails."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import signature

import pytest

Check = Callable[..., None]
SHOWN_MAX = 150
"""Characters of a value in a report: a row may hold a megabyte."""


def table(names: str | Sequence[str], rows: Iterable[object]) -> Callable[[Check], Check]:
    """Run a test's body for each row, with ``names`` as ``pytest.mark.parametrize`` reads them.

    Fixtures are set up once for all rows, so the body may not change what they return.
    """
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    cases = [tuple(row) if len(columns) > 1 and isinstance(row, Sequence) else (row,) for row in rows]
    assert cases, "a table without rows checks nothing"

    def loop_over(check: Check) -> Check:
        @wraps(check)
        def run_all(*args: object, **fixtures: object) -> None:
            failures = []
            for case in cases:
                row = dict(zip(columns, case, strict=True))
                try:
                    check(*args, **fixtures, **row)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - the other rows still run
                    failures.append((row, error))
            if failures:
                shown = "\n".join(f"{_describe(row)}: {type(error).__name__}: {error}" for row, error in failures)
                raise AssertionError(f"{len(failures)} of {len(cases)} rows fail:\n{shown}") from failures[0][1]

        whole = signature(check)
        kept = [value for name, value in whole.parameters.items() if name not in columns]
        assert len(kept) + len(columns) == len(whole.parameters), f"the test takes no {columns}"
        run_all.__dict__["__signature__"] = whole.replace(parameters=kept)
        return run_all

    return loop_over


def _describe(row: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r:.{SHOWN_MAX}}" for name, value in row.items())
