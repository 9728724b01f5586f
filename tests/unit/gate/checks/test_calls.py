"""The reasons about calls before a risky file was changed."""

from msgspec.structs import replace

from custody.gate.model import CallsBeforeEdit, MissingEvidence
from tests.unit.gate.builders import UNSEEN, a_change, agents, codes, rules_with, verdict


def with_calls(calls: tuple[CallsBeforeEdit, ...] | MissingEvidence | None, **rules: object) -> list[str]:
    return codes(replace(a_change(agents()), calls=calls), rules_with(None, **rules))


def test_a_check_that_is_off_or_has_no_risky_file_reports_nothing() -> None:
    assert with_calls(None) == with_calls(()) == []


def test_calls_below_the_bound_are_unusual_and_named() -> None:
    before = CallsBeforeEdit("src/auth/login.py", "s1", 0.019, ("Bash curl", "Read .env"))
    assert with_calls((before,)) == ["GRAPH-UNUSUAL"]
    assert with_calls((before,), call_chance_min=0.019) == []
    (reason,) = verdict(replace(a_change(agents()), calls=(before,))).reasons
    assert reason.sentence == (
        "before 'src/auth/login.py' was changed, session s1 called Bash curl, Read .env; such calls have a probability"
        " of 1.90%"
    )
    assert [spot.path for spot in reason.spots] == ["src/auth/login.py"]


def test_what_could_not_be_looked_up_is_said() -> None:
    assert with_calls(UNSEEN) == ["GRAPH-UNSEEN"]
