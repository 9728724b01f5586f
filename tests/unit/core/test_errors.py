"""Each family of errors has its exit status and HTTP status."""

from collections.abc import Iterator

from custody.core.errors import (
    EXIT,
    CustodyError,
    GitError,
    InputError,
    Outcome,
    RulesError,
    SpoolError,
    StoreError,
    WorldError,
    exit_status_from_error,
    http_status_from_error,
)
from tests.builders.table import table


def families(base: type[CustodyError]) -> Iterator[type[CustodyError]]:
    for family in base.__subclasses__():
        yield family
        yield from families(family)


@table(
    ("error", "status", "http"),
    [
        (InputError("no such path"), 2, 422),
        (RulesError("trust.half_life_days", "must be above 0"), 2, 422),
        (WorldError("no network"), 3, 503),
        (GitError("git said no"), 3, 503),
        (StoreError("locked"), 3, 503),
        (SpoolError("disk full"), 3, 503),
        (CustodyError("of no family"), 4, 500),
        (ValueError("a bug"), 4, 500),
        (RecursionError(), 4, 500),
        (KeyboardInterrupt(), 4, 500),
    ],
)
def test_the_table(error: BaseException, status: int, http: int) -> None:
    assert (exit_status_from_error(error), http_status_from_error(error)) == (status, http)


def test_every_error_we_raise_on_purpose_is_somebodys_turn() -> None:
    known = list(families(CustodyError))
    assert {InputError, WorldError, RulesError, StoreError} <= set(known)
    for family in known:
        # A function that fails in a worker is our bug, wherever it ran.
        assert exit_status_from_error(family.__new__(family)) in (2, 3) or family.__name__ == "WorkError", (
            family.__name__
        )


def test_a_verb_that_ran_to_its_end_gives_nought_or_one() -> None:
    assert EXIT == {Outcome.FINE: 0, Outcome.FOUND: 1}
    assert set(EXIT) == set(Outcome)


def test_an_error_carries_its_message_and_what_to_do_next() -> None:
    error = InputError("cannot find 'a.py'", hint="paths are relative to the root")
    assert (error.message, error.hint, str(error)) == (
        "cannot find 'a.py'",
        "paths are relative to the root",
        "cannot find 'a.py'",
    )
    assert InputError("it").hint is None


def test_a_rules_error_names_the_rule() -> None:
    error = RulesError("trust.tier_lines_max", "needs one entry per tier", hint="add one")
    assert error.rule == "trust.tier_lines_max"
    assert (error.message, error.hint) == ("'trust.tier_lines_max' needs one entry per tier", "add one")
